"""Will it fit: a model in a number format, with its cache, on a number of devices."""

from collections.abc import Mapping

from calc.calculators import hosting, several
from calc.calculators.calculator import Calculator, Preset
from calc.calculators.certainty import fit_word
from calc.calculators.engines import (
    bare_bytes,
    bounded_by_memory,
    does_not_run,
    engine_assumptions,
    engine_facts,
    engine_of,
    engine_verdict,
    first_repair,
    keeps_cache,
    place,
    repairs_html,
    subject,
)
from calc.calculators.html import text
from calc.calculators.inputs import Choice, Number, Report
from calc.calculators.memory_bar import bars_html
from calc.calculators.rendering import Verdict, answer_html, facts_html, parts_html, spoken, whole_machines
from calc.calculators.serving_inputs import (
    adapters,
    cache_formats,
    scenario,
    shared_prefix,
    shown_inputs,
    speculation,
)
from calc.calculators.sizes import size_gib
from calc.calculators.starting import start_html
from calc.catalog import catalog
from calc.units import show_count

TIMED = ("adapters_served", "cache_offload", "speculation")  # whose warnings and facts speak of time
BASES = {"driver": "as its driver reports", "program": "of its memory, what a program gets"}
INPUTS = (
    Choice("model", "Model", "The parameters follow from its config.json.", "llama-3.1-8b", kind="models"),
    Choice("weights", "Number format of the weights", "Fewer bits need less memory.", "published", kind="weights"),
    Number(
        "context_tokens",
        "Context",
        "Tokens of prompt and answer together, for each sequence.",
        "8192",
        least=1,
        most=100_000_000,
    ),
    Number(
        "sequences",
        "Sequences at once",
        "Each one in progress holds a cache of its own.",
        "1",
        least=1,
        most=1_000_000,
        topic="Load and cache",
    ),
    *cache_formats("Load and cache"),
    shared_prefix("Load and cache"),
    *speculation("Drafts"),
    *adapters("Adapters"),
    Choice(
        "accelerator",
        "GPU",
        "Compared by the memory that its driver reports.",
        "rtx-4090",
        kind="accelerators",
    ),
    Number("accelerators", "Number of GPUs", "The model is divided over them.", "1", least=1, most=4096),
    Choice(
        "engine",
        "Engine",
        "Adds what it takes itself. Usual are llama.cpp on Macs and consumer cards, vLLM on others.",
        "usual",
        kind="usual-engines",
        empty="None: what the mathematics needs",
        topic="Engine",
    ),
    *shown_inputs("Engine"),
    *several.UNLIKE_INPUTS,
    *hosting.INPUTS,
)

PRESETS = (
    Preset("Llama 3.1 8B on an RTX 4090", {}),
    Preset("… in 4 bit on an RTX 3060", {"weights": "q4_k_m", "accelerator": "rtx-3060-12gb"}),
    Preset(
        "Qwen3 32B in AWQ on an RTX 3090 under vLLM",
        {"model": "qwen3-32b", "weights": "awq", "accelerator": "rtx-3090", "engine": "vllm"},
    ),
    Preset(
        "Llama 3.3 70B in 4 bit on two RTX 3090",
        {"model": "llama-3.3-70b", "weights": "q4_k_m", "accelerator": "rtx-3090", "accelerators": "2"},
    ),
    Preset("gpt-oss 120B on one H100", {"model": "gpt-oss-120b", "accelerator": "h100-sxm-80gb"}),
    Preset(
        "Llama 3.3 70B in 6 bit on a Mac with 64 GB",
        {"model": "llama-3.3-70b", "weights": "q6_k", "accelerator": "m4-max-64gb"},
    ),
    Preset(
        "Llama 3.3 70B for 32 readers on four H100",
        {"model": "llama-3.3-70b", "sequences": "32", "accelerator": "h100-sxm-80gb", "accelerators": "4"},
    ),
    Preset(
        "DeepSeek-V3 on eight H200",
        {"model": "deepseek-v3", "accelerator": "h200-sxm-141gb", "accelerators": "8"},
    ),
    Preset("Llama 3.1 8B on an RTX 4090, the mathematics alone", {"engine": ""}),
)


def verdict(report: Report) -> Verdict:
    """Return whether it fits, and the answer in a headline and a sentence."""
    engine = engine_of(report)
    if engine is not None:
        return engine_verdict(report, engine)
    memory, scenario = report["memory"], report["scenario"]
    count, where = scenario["accelerators"], place(report)
    amounts = f"{size_gib(memory['device_bytes'])} of {size_gib(memory['capacity_bytes'])}"
    on_each = f"{amounts} {where}" if count == 1 else f"{amounts} on the fullest device, {where}"
    spare = size_gib(abs(memory["headroom_bytes"]))
    if memory["fits"]:
        return True, f"It fits, with {spare} to spare:", f"{subject(report)} takes {on_each}."
    return False, f"It does not fit, {spare} are missing:", f"{subject(report)} needs {on_each}.{first_repair(report)}"


def room(report: Report) -> str:
    """Return what else the devices would hold, as a list of facts."""
    memory = report["memory"]
    items = engine_facts(report) if engine_of(report) else []
    items += several.facts(report)
    if engine_of(report) and not several.lists(report):
        items.append(f"What the mathematics alone needs: <strong>{size_gib(bare_bytes(report))}</strong>")
    if memory["max_sequences"] and bounded_by_memory(report):
        most = show_count(memory["max_sequences"])
        items.append(f"Most sequences of this length at once: <strong>{most}</strong>")
    if memory["max_sequences"] and keeps_cache(report):
        tokens = show_count(memory["kv_pool_tokens"])
        items.append(f"Tokens that the cache can hold in all: <strong>{tokens}</strong>")
    if memory["devices_needed"]:
        needed = f"<strong>{show_count(memory['devices_needed'])}</strong>"
        items.append(f"Fewest devices of this kind: {needed}{whole_machines(report)}")
    items.append(f"All devices together: <strong>{size_gib(memory['sum_over_devices_bytes'])}</strong>")
    return facts_html(items)


def assumptions(report: Report) -> list[str]:
    """Return what the answer takes for granted."""
    scenario = report["scenario"]
    has = [] if hosting.alone(report) or several.lists(report) else [device_memory(scenario["accelerator"])]
    stored = [
        "The weights have the sizes that they have in the file. A file says nothing of devices: over several of them "
        "embeddings, layers and head are each divided as their parameters are."
    ]
    none = ["No engine: what the mathematics needs. A real engine adds its context, its buffers and its reserve."]
    engine = engine_of(report)
    return [
        *(stored if scenario["weights"] == "stored" else []),
        *(none if engine is None else engine_assumptions(engine)),
        f"Every sequence reaches its full {show_count(scenario['context_tokens'])} tokens at the same time.",
        f"The prompt is read in pieces of {show_count(scenario['batched_tokens'])} tokens at most.",
        "Attention is computed in tiles and keeps no score matrix.",
        *has,
    ]


def device_memory(accelerator: str) -> str:
    """Return the memory that a device has, and who says so."""
    memory = catalog().accelerator(accelerator).memory_fact
    return f"The device has {text(memory.show())} ({BASES.get(memory.basis, memory.basis)})."


def render(report: Report) -> str:
    """Return the answer's HTML."""
    facts = repairs_html(report) + parts_html(report) + room(report) + start_html(report)
    line = verdict(report)
    said, leads = assumptions(report), (("How fast is it?", "speed"),)
    return answer_html(line, report, bars=bars_html(report), facts=facts, assumptions=said, leads=leads)


def timed(asked: Mapping[str, object]) -> bool:
    """Return whether an answer says anything of time: most are about memory alone, and a third of the work less."""
    return isinstance(asked.get("accelerator"), list) or any(name in asked for name in TIMED)


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    memory = report["memory"]
    word = "does not run" if does_not_run(report) else fit_word(memory)
    engine = engine_of(report)
    under = engine.name if engine else "none"
    sizes = [size_gib(size) for size in (memory["device_bytes"], bare_bytes(report), memory["capacity_bytes"])]
    return under, *sizes, word


CALCULATOR = Calculator(
    id="will-it-fit",
    title="Will it fit?",
    question="Does this model, with its cache, fit on these GPUs, and by how much?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=lambda values: several.scenario(hosting.scenario(scenario(values))),
    render=render,
    status=spoken(verdict),
    headings=("Engine", "Used on each GPU", "Mathematics alone", "It has", "Answer"),
    row=row,
    timed=timed,
)
