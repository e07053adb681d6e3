"""Effective bits: what a number format takes for each weight of a whole model, block by block."""

from calc.calculators.asked import format_words
from calc.calculators.calculator import Calculator, Preset
from calc.calculators.html import element, table, text
from calc.calculators.inputs import Choice, Report
from calc.calculators.rendering import answer_html, spoken
from calc.calculators.sizes import size_gb
from calc.catalog import catalog
from calc.memory.effective_bits import StoredBlock, effective_bits, file_blocks, stored_blocks
from calc.memory.weights_working import BLOCK_LABELS
from calc.scenario.fields import STORED
from calc.scenario.formats import chosen_weights
from calc.scenario.model import read_model, read_stored
from calc.units import show_count, show_gb, show_gib, show_large_count

COMPARED = ("bf16", "fp8", "int8", "awq", "nf4-dq", "q8_0", "q6_k", "q5_k_m", "q4_k_m", "iq4_xs", "q3_k_m", "q2_k")
GROUPS = {"32": 32, "64": 64, "128": 128, "256": 256}

INPUTS = (
    Choice("model", "Model", "Its shape decides how much stays 16 bit.", "llama-3.1-8b", kind="models"),
    Choice("weights", "Number format of the weights", "As a file or a quantiser names it.", "q4_k_m", kind="weights"),
    Choice(
        "group_size",
        "Group",
        "Weights that share a scale, where the format lets you choose.",
        "",
        options=tuple((size, size) for size in GROUPS),
        empty="The format's own",
        topic="Details of the format",
    ),
    Choice(
        "importance_matrix",
        "Importance matrix",
        "For llama.cpp's mixtures: some choose other types with one.",
        "",
        options=(("yes", "With one"), ("no", "Without")),
        empty="As usual for the mixture",
        topic="Details of the format",
    ),
)

PRESETS = (
    Preset("Llama 3.1 8B in Q4_K_M", {}),
    Preset("… in AWQ", {"weights": "awq"}),
    Preset("… in AWQ with groups of 32", {"weights": "awq", "group_size": "32"}),
    Preset("Llama 3.2 1B in AWQ, a small model", {"model": "llama-3.2-1b", "weights": "awq"}),
    Preset("Llama 3.3 70B in IQ2_XS", {"model": "llama-3.3-70b", "weights": "iq2_xs"}),
    Preset("gpt-oss 120B as it is published", {"model": "gpt-oss-120b", "weights": "mxfp4"}),
    Preset("DeepSeek V3 as it is published", {"model": "deepseek-v3", "weights": "fp8-block"}),
)


def scenario(read: dict[str, object]) -> dict[str, object]:
    """Return the scenario: the model's weights alone, with one token."""
    weights: object = read["weights"]
    if "group_size" in read:
        weights = {"format": weights, "group_size": GROUPS[str(read["group_size"])]}
    elif "importance_matrix" in read:
        weights = {"format": weights, "importance_matrix": read["importance_matrix"] == "yes"}
    return {"model": read["model"], "weights": weights, "context_tokens": 1}


def blocks_of(report: Report, weights: object = None) -> list[StoredBlock]:
    """Return what the report's model stores, in the report's format or in another one."""
    facts, model = catalog(), report["scenario"]["model"]
    found = read_model(model, facts)
    if (weights or report["scenario"]["weights"]) == STORED:
        sizes = read_stored(model)
        return [] if sizes is None else file_blocks(architecture=found.architecture, weights=sizes)
    stored, group = chosen_weights(weights or report["scenario"]["weights"], found, facts)
    return stored_blocks(architecture=found.architecture, weights=stored, group=group)


def headline(report: Report) -> tuple[str, str]:
    """Return the answer in a headline and a sentence."""
    blocks = blocks_of(report)
    size = sum(block.stored_bytes for block in blocks)
    count = show_large_count(sum(block.parameters for block in blocks))
    weights = report["scenario"]["weights"]
    stored = "its file" if weights == STORED else format_words(weights)
    rest = f"{report['model']['name']} in {stored} stores {count} parameters"
    return f"{effective_bits(blocks):.3f} bits per weight:", f"{rest} in {show_gb(size)} ({show_gib(size)})."


def blocks_html(blocks: list[StoredBlock]) -> str:
    """Return the table of blocks."""
    total = sum(block.stored_bytes for block in blocks)
    rows = [
        [
            text(BLOCK_LABELS.get(block.block, block.block)),
            text(block.format_name),
            show_count(block.parameters),
            f"{block.bits:.3f}",
            size_gb(block.stored_bytes),
            f"{100 * block.stored_bytes / total:.1f} %",
        ]
        for block in blocks
    ]
    parameters = sum(block.parameters for block in blocks)
    rows.append(["Total", "", show_count(parameters), f"{effective_bits(blocks):.3f}", size_gb(total), "100.0 %"])
    headings = ("Block", "Stored in", "Parameters", "Bits per weight", "Size", "Share")
    return table(headings, rows, caption="What is stored, by block", words=2)


def compared_html(report: Report) -> str:
    """Return the same model in the formats that people choose from."""
    rows = []
    for name in COMPARED:
        blocks = blocks_of(report, name)
        size = sum(block.stored_bytes for block in blocks)
        cells = [text(catalog().weights_format(name).name), f"{effective_bits(blocks):.3f}", show_gb(size)]
        rows.append([*cells, show_gib(size)])
    caption = f"{report['model']['name']} in other formats"
    return table(("Format", "Bits per weight", "GB", "GiB"), rows, caption=caption)


def assumptions(report: Report) -> list[str]:
    """Return what the answer takes for granted."""
    weights = report["scenario"]["weights"]
    if weights == STORED:
        return ["The file says how large its tensors are; nothing is estimated."]
    stored = catalog().weights_format(str(weights["format"] if isinstance(weights, dict) else weights))
    return [
        text(stored.summary),
        "A file also holds the vocabulary and a header, some megabytes; in files of llama.cpp towers are left out.",
        "A model that its maker stores in several formats is taken as if one quantiser had made it.",
    ]


def render(report: Report) -> str:
    """Return the answer's HTML."""
    line = (None, *headline(report))
    facts = blocks_html(blocks_of(report)) + element("div", compared_html(report), class_="calc-compared")
    return answer_html(line, report, facts=facts, assumptions=assumptions(report))


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    blocks = blocks_of(report)
    return f"{effective_bits(blocks):.3f}", size_gb(sum(block.stored_bytes for block in blocks))


CALCULATOR = Calculator(
    id="effective-bits",
    title="Effective bits per weight",
    question="How many bits does a weight of this model really take?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=scenario,
    render=render,
    status=spoken(headline),
    headings=("Bits per weight", "Size"),
    row=row,
)
