"""KV cache: what the keys and values of a conversation take, by token, by sequence and in all."""

from calc.calculators.calculator import Calculator, Preset
from calc.calculators.html import table, text
from calc.calculators.inputs import Choice, Number, Report
from calc.calculators.rendering import answer_html, part_bytes, spoken
from calc.calculators.serving_inputs import cache_formats
from calc.calculators.sizes import size_binary, size_gib
from calc.units import GIB, show_binary, show_count, show_decimal

INPUTS = (
    Choice(
        "model",
        "Model",
        "Layers, KV heads and head size follow from its config.json.",
        "llama-3.1-8b",
        kind="models",
    ),
    Number("context_tokens", "Context", "Tokens of prompt and answer together.", "8192", least=1, most=100_000_000),
    Number(
        "sequences", "Sequences at once", "Each one in progress holds a cache of its own.", "1", least=1, most=1_000_000
    ),
    *cache_formats(),
)

PRESETS = (
    Preset("Llama 3.1 8B, 8 thousand tokens", {}),
    Preset("… its whole context", {"context_tokens": "131072"}),
    Preset("… in FP8", {"context_tokens": "131072", "kv_cache": "fp8"}),
    Preset("… keys in 8 bit, values in 4", {"context_tokens": "131072", "kv_cache": "q8_0", "kv_cache_v": "q4_0"}),
    Preset("Llama 2 7B, every head its own", {"model": "llama-2-7b", "context_tokens": "4096"}),
    Preset("Falcon 7B, one head for all", {"model": "falcon-7b", "context_tokens": "2048"}),
    Preset("Gemma 2 9B, windows in every second layer", {"model": "gemma-2-9b"}),
)


def cache_bytes(report: Report) -> int:
    """Return the bytes of the whole cache."""
    return part_bytes(report, "kv_cache")


def sequence_bytes(report: Report) -> int:
    """Return the bytes of one sequence's cache."""
    return cache_bytes(report) // int(report["memory"]["sequences"])


def headline(report: Report) -> tuple[str, str]:
    """Return the answer in a headline and a sentence."""
    scenario = report["scenario"]
    count = report["memory"]["sequences"]
    sequences = "one sequence" if count == 1 else f"{show_count(count)} sequences"
    rest = f"for {sequences} of {show_count(scenario['context_tokens'])} tokens in {report['model']['name']}."
    return f"The cache takes {whole_size(report)}", rest


def whole_size(report: Report) -> str:
    """Return the size of the whole cache, of a small one in a smaller unit."""
    held = cache_bytes(report)
    return size_gib(held) if held >= GIB / 10 else size_binary(held)


def amounts(report: Report) -> str:
    """Return the table of what a token, a sequence and all sequences take."""
    tokens = report["scenario"]["context_tokens"]
    rows = [
        ["One token, on average over the context", sequence_bytes(report) / tokens],
        ["One sequence", sequence_bytes(report)],
        ["All sequences", cache_bytes(report)],
    ]
    state = part_bytes(report, "recurrent_state")
    if state:
        rows.append(["Beside it: the state of the recurrent layers, however long the context", state])
    body = [[text(name), show_binary(size), show_decimal(size), f"{show_count(size)} B"] for name, size in rows]
    return table(("For", "Binary", "Decimal", "Bytes"), body, caption="Size of the KV cache", class_="calc-parts")


def layers_text(report: Report) -> str:
    """Return how many of the layers have which attention."""
    model = report["model"]
    if not model["attention_layers"]:
        return f"No attention in {model['layers']} layers"
    some = model["attention_layers"] < model["layers"]
    count = f"{model['attention_layers']} of {model['layers']}" if some else f"{model['layers']}"
    return f"{text(model['attention'])} in {count} layers"


def assumptions(report: Report) -> list[str]:
    """Return what the answer takes for granted."""
    return [
        f"{layers_text(report)}, as in the model's config.",
        "A layer with a window keeps the tokens in its window only; some engines keep all of them.",
        "No padding to pages or cells, and no engine's reserve.",
    ]


def render(report: Report) -> str:
    """Return the answer's HTML."""
    kept = ("kv_cache", "recurrent_state")
    steps = [step for part in report["memory"]["parts"] if part["id"] in kept for step in part["steps"]]
    shown = {**report, "steps": steps}
    return answer_html((None, *headline(report)), shown, facts=amounts(report), assumptions=assumptions(report))


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    tokens = report["scenario"]["context_tokens"]
    return size_binary(sequence_bytes(report) / tokens), whole_size(report)


CALCULATOR = Calculator(
    id="kv-cache",
    title="KV cache",
    question="How much memory do the keys and values of a conversation take?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=dict,
    render=render,
    status=spoken(headline),
    headings=("A token", "All sequences"),
    row=row,
)
