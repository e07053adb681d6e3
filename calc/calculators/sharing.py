"""Two models on one card: up to four models on one device, what is left, and from which context on it breaks."""

from collections.abc import Iterator

from calc.architecture.parameters import parameters_total
from calc.calculators.calculator import Calculator, Preset
from calc.calculators.html import table, text
from calc.calculators.inputs import Choice, Input, Number
from calc.calculators.rendering import Report, answer_html, bars_html, facts_html, verdict_html
from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.estimate import read_asked
from calc.memory.budget import Layout
from calc.planning import sharing
from calc.planning.serving_report import Served
from calc.planning.serving_warnings import serving_warnings
from calc.planning.sharing import Sharing, Tenant
from calc.scenario import Reader
from calc.units import MIB, show_count, show_gib

FIRST, SECOND, THIRD, FOURTH = "", "_2", "_3", "_4"
ASKED = ("model", "weights", "engine", "context_tokens", "sequences")
OWN_PROCESS, ONE_PROCESS = "several", "one"


def whole_inputs(suffix: str, name: str, model: str, weights: str, context: str, help_: str) -> tuple[Input, ...]:
    """Return the inputs of a model of which everything can be said."""
    return (
        Choice(f"model{suffix}", f"{name} model", help_, model, kind="models"),
        Choice(
            f"weights{suffix}",
            f"{name} model's weights",
            "The number format they are kept in.",
            weights,
            kind="weights",
        ),
        Choice(
            f"engine{suffix}", f"{name} model's engine", "The program that runs it.", "transformers", kind="engines"
        ),
        Number(f"context_tokens{suffix}", f"{name} model's context", "Tokens of a sequence.", context, 1, 100_000_000),
        Number(f"sequences{suffix}", f"{name} model's sequences at once", "Texts or conversations.", "1", 1, 1_000_000),
    )


def short_inputs(suffix: str, name: str) -> tuple[Input, ...]:
    """Return the inputs of a further model, which may be none."""
    help_ = "Under transformers, with one sequence of the second model's context."
    return (
        Choice(f"model{suffix}", f"{name} model", help_, "", kind="models", empty="None"),
        Choice(
            f"weights{suffix}", f"{name} model's weights", "The number format they are kept in.", "fp16", kind="weights"
        ),
    )


INPUTS: tuple[Input, ...] = (
    Choice("accelerator", "GPU", "Compared by the memory that its driver reports.", "rtx-4090", kind="accelerators"),
    Number("display", "Kept for a display", "MiB: a desktop takes some hundreds; 0 for none.", "512", 0, 65_536),
    Choice(
        "processes",
        "Processes",
        "Each process has a context of the driver.",
        OWN_PROCESS,
        options=((OWN_PROCESS, "One for each model"), (ONE_PROCESS, "One for all models")),
    ),
    *whole_inputs(FIRST, "First", "llama-3-8b", "fp16", "8192", "The parameters follow from its config.json."),
    *whole_inputs(SECOND, "Second", "bart-large-mnli", "fp32", "1024", "A classifier or encoder keeps no cache."),
    *short_inputs(THIRD, "Third"),
    *short_inputs(FOURTH, "Fourth"),
)

PRESETS = (
    Preset("Llama 3 8B and a classifier on an RTX 4090", {}),
    Preset("… with the whole of 128 thousand tokens", {"model": "llama-3.1-8b", "context_tokens": "131072"}),
    Preset("… the language model under vLLM", {"engine": "vllm"}),
    Preset(
        "… in 4 bit under llama.cpp, with four conversations of 16 thousand tokens",
        {"weights": "q4_k_m", "engine": "llama.cpp", "context_tokens": "16384", "sequences": "4"},
    ),
    Preset(
        "A chat model and an embedding model on an RTX 3060",
        {
            "accelerator": "rtx-3060-12gb",
            "model": "qwen2.5-7b",
            "weights": "q4_k_m",
            "engine": "llama.cpp",
            "model_2": "bge-m3",
            "weights_2": "fp16",
            "context_tokens_2": "8192",
        },
    ),
    Preset(
        "Chat, embeddings, speech and pictures on an RTX 5090",
        {
            "accelerator": "rtx-5090",
            "model": "qwen2.5-14b",
            "weights": "q4_k_m",
            "engine": "llama.cpp",
            "model_2": "bge-m3",
            "weights_2": "fp16",
            "model_3": "whisper-large-v3",
            "model_4": "clip-vit-large-patch14",
        },
    ),
)


def scenarios(values: dict[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    """Iterate over the scenarios of the models that were chosen, each with the suffix of its inputs."""
    for suffix in (FIRST, SECOND, THIRD, FOURTH):
        if f"model{suffix}" not in values:
            continue
        usual = {"engine": "transformers", "context_tokens": values["context_tokens_2"], "sequences": 1}
        asked = {name: values.get(f"{name}{suffix}", usual.get(name)) for name in ASKED}
        yield suffix, {**asked, "accelerator": values["accelerator"]}


def read_tenant(suffix: str, scenario: dict[str, object]) -> tuple[Tenant, Report]:
    """Return a model with what is asked of it, and what a report says of the model.

    Raises ScenarioError for the input of that model.
    """
    try:
        reader = Reader({name: value for name, value in scenario.items() if name not in ("accelerator", "sequences")})
        asked = read_asked(reader)
    except ScenarioError as error:
        head, _, rest = error.field.partition(".")
        raise ScenarioError(f"{head}{suffix}" + (f".{rest}" if rest else ""), error.message) from None
    demand = asked.demand._replace(sequences=int(str(scenario["sequences"])))
    if not demand.architecture.writes:
        demand = demand._replace(prompt_tokens=demand.tokens)
    serving = asked.serving(catalog().accelerator(str(scenario["accelerator"])))
    assert serving is not None
    model = {
        "id": asked.model_id or None,
        "name": asked.model_name,
        "given": reader.filled["model"],
        "parameters_total": parameters_total(demand.architecture),
    }
    return Tenant(asked.model_name, serving, demand), model


def share(values: dict[str, object]) -> Report:
    """Return the report on models that share a device."""
    read = [(suffix, *read_tenant(suffix, scenario)) for suffix, scenario in scenarios(values)]
    tenants = [tenant for _, tenant, _ in read]
    names = numbered([tenant.name for tenant in tenants])
    accelerator = catalog().accelerator(str(values["accelerator"]))
    found = sharing.share(
        tenants=tenants,
        accelerator=accelerator,
        display_bytes=int(str(values["display"])) * MIB,
        one_process=values["processes"] == ONE_PROCESS,
    )
    models = {f"model{suffix}": model for suffix, _, model in read}
    held = [
        tenant_report(tenant, name, found, index)
        for index, (tenant, name) in enumerate(zip(tenants, names, strict=True))
    ]
    return {
        "scenario": {**values, "model": models["model"]["given"]},
        "model": models["model"],
        "models": models,
        "memory": {
            "parts": list(bar_parts(found, names)),
            "device_bytes": found.needed + found.display + found.reserved,
            "capacity_bytes": found.capacity,
        },
        "tenants": held,
        "left_bytes": found.left,
        "available_bytes": found.available,
        "fits": found.left >= 0,
        "missing_at_defaults_bytes": found.missing_at_defaults(),
        "speed": None,
        "steps": [step.as_dict() for step in sharing.sharing_steps(found, names)],
        "warnings": list(warnings(tenants, names)),
    }


def numbered(names: list[str]) -> list[str]:
    """Return names of which no two are the same.

    >>> numbered(["A", "B", "A"])
    ['A', 'B', 'A (2)']
    """
    before = [names[:place].count(name) for place, name in enumerate(names)]
    return [f"{name} ({count + 1})" if count else name for name, count in zip(names, before, strict=True)]


def tenant_report(tenant: Tenant, name: str, found: Sharing, index: int) -> Report:
    """Return what a report says of one of the models."""
    held, room = found.holdings[index], found.room(index)
    accelerator = tenant.serving.accelerator
    assert accelerator is not None
    return {
        "name": name,
        "engine": tenant.serving.engine.name,
        **held._asdict(),
        "needed": held.needed,
        "sequences": tenant.demand.sequences,
        "context_tokens": tenant.demand.tokens,
        "cache_tokens": sharing.cache_tokens(tenant, held, room),
        "longest_context": sharing.longest_context(tenant, room),
        "most_sequences": sharing.most_sequences(tenant, room),
        "fraction": sharing.fitted_fraction(tenant, accelerator, room),
        "default_fraction": tenant.serving.engine.values.get("memory_fraction"),
    }


def bar_parts(found: Sharing, names: list[str]) -> Iterator[Report]:
    """Iterate over the parts of the device as a bar shows them: the system's, then each model's."""
    yield {"id": "communication_buffers", "label": "Kept by the driver", "bytes": found.reserved}
    yield {"id": "logits", "label": "Display", "bytes": found.display}
    contexts = sum(held.context for held in found.holdings) - found.saved
    yield {"id": "runtime_context", "label": "Contexts of the processes", "bytes": contexts}
    for name, held in zip(names, found.holdings, strict=True):
        yield {"id": "weights", "label": f"{name}: weights", "bytes": held.weights}
        yield {"id": "kv_cache", "label": f"{name}: cache", "bytes": held.cache}
        yield {"id": "activations", "label": f"{name}: working memory", "bytes": held.working}


def warnings(tenants: list[Tenant], names: list[str]) -> Iterator[Report]:
    """Iterate over what is risky about each model under its engine; one that writes no text is at home here."""
    layout = Layout()
    for tenant, name in zip(tenants, names, strict=True):
        case, runtime = tenant.serving.fullest(tenant.demand, layout)
        served = Served(tenant.serving, tenant.demand, layout, case, runtime, None)
        for warning in serving_warnings(served):
            if warning.code in ("format-of-another-engine", "engine-not-on-device", "share-too-small"):
                yield {**warning._asdict(), "message": f"{name}: {warning.message}"}


def verdict(report: Report) -> tuple[bool, str, str]:
    """Return whether the models fit together, and the answer in a headline and a sentence."""
    name = catalog().accelerator(report["scenario"]["accelerator"]).name
    together = listed([tenant["name"] for tenant in report["tenants"]])
    spare, had = show_gib(abs(report["left_bytes"])), show_gib(report["available_bytes"])
    if not report["fits"]:
        return (
            False,
            f"They do not fit together, {spare} are missing:",
            f"{together} need more than the {had} that " + (f"one {name} has for them."),
        )
    rest = f"{together} leave that much of the {had} that one {name} has for them."
    growing = [tenant for tenant in report["tenants"] if tenant["cache_tokens"]]
    if growing:
        first = growing[0]
        rest += (
            f" {first['name']} can have {show_count(first['cache_tokens'])} tokens in its cache, in all its sequences."
        )
    if report["missing_at_defaults_bytes"] > 0 and any(tenant["claimed"] for tenant in report["tenants"]):
        return True, f"They fit with {spare} to spare, but not with the engine's default share:", rest
    return True, f"They fit, with {spare} to spare:", rest


def listed(names: list[str]) -> str:
    """Return names in a sentence.

    >>> listed(["A", "B", "C"])
    'A, B and C'
    """
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def parts_table(report: Report) -> str:
    """Return what each model needs, by part."""
    rows = [
        ("Weights", "weights"),
        ("Cache", "cache"),
        ("Working memory", "working"),
        ("Context of its process", "context"),
        ("Needed", "needed"),
    ]
    heads = ("Part", *(text(tenant["name"]) for tenant in report["tenants"]))
    body = [[label, *(show_gib(tenant[key]) for tenant in report["tenants"])] for label, key in rows]
    return table(heads, body, caption="What each model needs of the device", class_="calc-parts")


def limits_table(report: Report) -> str:
    """Return from where on it breaks: for each model that keeps a cache, when the others stay as they are."""
    rows = []
    for tenant in report["tenants"]:
        if tenant["cache_tokens"] is None:
            rows.append([text(tenant["name"]), "keeps none", "–", "–"])
            continue
        rows.append(
            [
                text(tenant["name"]),
                show_count(tenant["cache_tokens"]),
                show_count(tenant["longest_context"]),
                show_count(tenant["most_sequences"]),
            ]
        )
    heads = ("Model", "Tokens of cache", "Longest context", "Most sequences")
    return table(heads, rows, caption="The most that fits, when the other models stay as they are", class_="calc-parts")


def notes(report: Report) -> str:
    """Return what engines take beside what they need."""
    items = []
    for tenant in report["tenants"]:
        if tenant["claimed"]:
            items.append(share_note(tenant))
        if tenant["kept"]:
            items.append(
                f"{text(tenant['name'])}: the allocator of its process may keep up to "
                f"<strong>{show_gib(tenant['kept'])}</strong> more where it has the device alone. "
                "It gives them back to its own process only."
            )
    left = show_gib(max(report["left_bytes"], 0))
    return facts_html([f"Left: <strong>{left}</strong>", *items])


def share_note(tenant: Report) -> str:
    """Return what an engine that takes a share has to be told."""
    usual = tenant["default_fraction"]
    own = f"its default share of {usual:g}" if usual else "the share that it chooses itself"
    taken = f"{text(tenant['engine'])} with {own} takes <strong>{show_gib(tenant['claimed'])}</strong>, needed or not"
    if not tenant["fraction"]:
        return f"{taken}."
    return f"{taken}. Beside the others its share may be <strong>{tenant['fraction']:.2f}</strong> at most."


def assumptions(report: Report) -> list[str]:
    """Return what the answer takes for granted."""
    one = report["scenario"]["processes"] == ONE_PROCESS
    return [
        "All models stay on the device all the time, and all are at their peak at the same moment.",
        "All models run in one process, which has one context." if one else "Each model runs in a process of its own.",
        "A sequence reaches its full length. A classifier or encoder passes over its text once and keeps no cache.",
        "Attention is computed in tiles and keeps no score matrix.",
        "Engines with their own settings but for the share of the device, which is set so that all fit.",
        "How fast they are while they compute at the same time is not in the answer.",
    ]


def render(report: Report) -> str:
    """Return the answer's HTML."""
    facts = parts_table(report) + notes(report) + limits_table(report)
    line = verdict_html(*verdict(report))
    return answer_html(line, report, bars=bars_html(report), facts=facts, assumptions=assumptions(report))


def status(report: Report) -> str:
    """Return the answer as one sentence for a screen reader."""
    _, headline, rest = verdict(report)
    return f"{headline} {rest}"


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    needed = sum(tenant["needed"] for tenant in report["tenants"])
    tokens = next((tenant["cache_tokens"] for tenant in report["tenants"] if tenant["cache_tokens"]), 0)
    word = "fit" if report["fits"] else "do not fit"
    return show_gib(needed), word, show_count(tokens)


CALCULATOR = Calculator(
    id="sharing",
    title="Two models on one card",
    question="Do these models fit on one device together, and how much cache is left?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=dict,
    render=render,
    status=status,
    headings=("Needed together", "They", "Cache tokens of the first"),
    row=row,
    answer=share,
)
