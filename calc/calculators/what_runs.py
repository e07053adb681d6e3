"""What runs on my hardware? Models that fit and are fast enough on devices that a reader has, the largest first."""

from calc.architecture.parameters import parameters_total
from calc.calculators.asked import in_format
from calc.calculators.calculator import Calculator, Preset
from calc.calculators.hosting import MOST_GIB, size_bytes
from calc.calculators.html import text
from calc.calculators.inputs import Amount, Choice, Number, Report, amount
from calc.calculators.options import (
    EACH,
    FORMAT,
    LEFT,
    NOT_KNOWN,
    devices,
    each_answer,
    found_first,
    model_name,
    model_of,
    option_table,
    ordered,
    rate,
    weights,
)
from calc.calculators.planned import (
    first_cells,
    options_of,
    plan_html,
    planned,
    planning,
    shown_count,
    so_fast,
    taken_out,
)
from calc.calculators.rendering import Verdict, spoken
from calc.calculators.will_it_fit import CALCULATOR as WILL_IT_FIT
from calc.catalog import catalog
from calc.scenario.fields import PUBLISHED, USUAL
from calc.scenario.model import known_architecture
from calc.units import show_large_count

KINDS = (
    ("text", "Models that write"),
    ("task", "Models for one task: speech, pages, translation"),
    ("encoder", "Models that read: embeddings, classes"),
)
RANKS = (
    ("size", "Largest"),
    ("speed", "Tokens written a second"),
    ("margin", "Most memory left"),
)
FIRST = {"size": "the largest", "speed": "the fastest", "margin": "what leaves most memory"}
BILLION = 10**9
READ_ALONG = 5  # tokens a second

INPUTS = (
    Choice("accelerator", "GPU or computer", "What you have.", "rtx-4090", kind="accelerators"),
    Number("accelerators", "Number of them", "The model is divided over them.", "1", least=1, most=64),
    Number("context_tokens", "Context", "Tokens of prompt and answer together.", "8192", least=1, most=100_000_000),
    so_fast(),
    Amount(
        "host_memory",
        "Host memory",
        "In GiB: what the GPUs do not hold stays there, under llama.cpp. Empty for the GPUs alone.",
        "",
        least=1,
        most=MOST_GIB,
    ),
    Choice(
        "why_not", "Why not …?", "One model alone: does it run, or what is in its way?", "", kind="models", empty="All"
    ),
    Choice("rank_by", "Best first by", "Of those that run.", "size", options=RANKS, topic="Which models"),
    Choice("kind", "Kind", "What a model does.", "text", options=KINDS, topic="Which models"),
    Amount("least", "At least", "Billions of parameters.", "", least=0, most=100_000, topic="Which models"),
    Amount("most", "At most", "Billions of parameters.", "", least=0, most=100_000, topic="Which models"),
    Choice(
        "weights",
        "Number format",
        "Of the weights.",
        "",
        kind="weights",
        empty="The most that fits",
        topic="Which models",
    ),
    shown_count("Which models", "15"),
    Number(
        "sequences",
        "Readers at once",
        "Each holds a cache of its own.",
        "1",
        least=1,
        most=1_000_000,
        topic="Load and engine",
    ),
    Choice("engine", "Engine", "Which program runs it.", USUAL, kind="usual-engines", topic="Load and engine"),
)

PRESETS = (
    Preset("A computer with an RTX 4090", {}),
    Preset("Two RTX 3090", {"accelerator": "rtx-3090", "accelerators": "2", "context_tokens": "16384"}),
    Preset("A Mac with 64 GB, ten tokens a second", {"accelerator": "m4-max-64gb", "tokens_per_s_each": "10"}),
    Preset(
        "An RTX 3060 in a computer with 64 GB, ten tokens a second",
        {"accelerator": "rtx-3060-12gb", "host_memory": "64", "tokens_per_s_each": "10"},
    ),
    Preset("Eight gigabytes", {"accelerator": "rtx-2080", "context_tokens": "4096"}),
    Preset("One H100 for 32 readers", {"accelerator": "h100-sxm-80gb", "sequences": "32"}),
    Preset("Llama 3.3 70B on an RTX 5090?", {"accelerator": "rtx-5090", "why_not": "llama-3.3-70b"}),
)


def question(read: dict[str, object]) -> dict[str, object]:
    """Return the question that a form asks."""
    have = taken_out(read, ("accelerator", "accelerators"))
    if "host_memory" in read:
        have["host"] = {"memory": size_bytes(taken_out(read, ("host_memory",)), "host_memory")}
    chosen = taken_out(read, ("least", "most", "kind", "why_not"))
    ends = {"least": 0.0, "most": 100_000.0} | chosen
    sizes = [amount(ends, name) * BILLION for name in ("least", "most")]
    wanted: dict[str, object] = {"models": {"parameters": sizes, "kind": chosen["kind"]}}
    if "why_not" in chosen:
        wanted = {"model": chosen["why_not"]}
    need = taken_out(read, ("tokens_per_s_each",))
    read.setdefault("weights", "any")
    return {"want": "models", "have": have, "need": need, **wanted, **read}


def headline(report: Report) -> Verdict:
    """Return what runs best, or that nothing does."""
    have, listed = report["question"]["have"], options_of(report)
    place = devices(have)
    if not listed:
        one = report["question"].get("model")
        said = f"{model_name({'model': one})} does not run on {place}." if one else f"Nothing runs so on {place}."
        return False, said, "What is in the way stands below."
    first = listed[0]
    name, bits = model_of(first), in_format(first["scenario"].get("weights", PUBLISHED))
    if "model" in report["question"]:
        return found_first(first, f"{name} runs on {place} {bits}:", f"{each_answer(first)} for each reader.")
    rank = report["question"]["rank_by"]
    many = "one model runs" if len(listed) == 1 else f"{len(listed)} models run"
    more = len(listed) == report["question"]["count"]  # it looks for no more than it shows
    count = f"At least {many}" if more else many.capitalize()
    slow = (
        ", slower than people read: At least so fast asks for more" if (rate(first) or READ_ALONG) < READ_ALONG else ""
    )
    rest = f"The first is {name} {bits}, {each_answer(first)}{slow}."
    return found_first(first, f"{count} on {place}, {FIRST[rank]} first.", rest)


def size(option: Report) -> str:
    """Return how many parameters an option's model has."""
    model = option["scenario"]["model"]
    if not isinstance(model, str):
        return NOT_KNOWN
    count = parameters_total(known_architecture(catalog(), model))
    return ordered(count, show_large_count(count))


def render(report: Report) -> str:
    """Return the answer's HTML."""
    columns = (FORMAT, ("Parameters", size), EACH, LEFT)
    caption = f"What runs on {devices(report['question']['have'])}"
    listed = option_table(options_of(report), "Model", model_of, WILL_IT_FIT, columns=columns, caption=caption)
    return plan_html(headline(report), report, listed if options_of(report) else "", ASSUMPTIONS)


ASSUMPTIONS = [
    "Of each model the format with the most bits that fits and is fast enough, not below four.",
    "Speeds are typical ones; each name leads to the case with its range.",
    "A tight case is likely to fit and not certain: fewer tokens or bits make it sure.",
]


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    return first_cells(report, lambda one: text(model_of(one)), weights, each_answer)


CALCULATOR = Calculator(
    id="what-runs",
    title="What runs on my hardware?",
    question="Which models run on these devices, in which format, and how fast?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=question,
    render=render,
    status=spoken(headline),
    headings=("The first", "Format", "Each answer"),
    row=row,
    answer=planned,
    steps=planning,
)
