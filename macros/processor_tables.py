"""Tables of processors against accelerators, and of models that stand in two memories."""

from typing import Any

from calc import estimate
from calc.calculators.html import element, table, text
from calc.calculators.rendering import source_html
from calc.calculators.sizes import size_decimal, size_gib
from calc.catalog import catalog
from calc.units import show_count, show_number, show_seconds
from macros.inline import Report, opening, step, steps_inline
from macros.links import calculator_link
from macros.markdown import block

__all__ = [
    "coefficient",
    "engine_value",
    "offload_check_table",
    "offload_table",
    "processor_bandwidth",
    "processor_number",
    "processor_table",
]

TOKENS = {"prompt_tokens": 512, "output_tokens": 256}


def on_processor(processor: str, model: str, weights: str) -> Report:
    """Return the report on a model that a processor works on alone, for one sequence."""
    asked = {"model": model, "weights": weights, "engine": "llama.cpp", "gpu_layers": 0, **TOKENS}
    found: Report = estimate({**asked, "host": {"processor": processor}})
    return found


def processor_number(processor: str, model: str, weights: str) -> str:
    """Return how fast a processor writes for one reader, inline, with the working."""
    report = on_processor(processor, model, weights)
    shown = f"{show_number(report['speed']['decode_tokens_per_s']['typical'])} tokens/s"
    steps = [found for found in report["steps"] if "decoding step" in found["name"]]
    return opening(shown, element("span", steps_inline(steps)))


def processor_bandwidth(processor: str) -> str:
    """Return the bandwidth of a processor's memory, inline; a reader who presses it sees channels and rate."""
    record = catalog().processor(processor)
    channels, rate = record.facts["memory_channels"], record.facts["memory_rate"]
    shown = f"{record.bandwidth / 1e9:,.1f} GB/s"
    numbers = f"{channels.value} × 64 × {rate.show()} / 8"
    return opening(shown, step(f"Bandwidth of {record.name}", r"\frac{n \cdot 64 \cdot r}{8}", numbers, shown))


def engine_value(engine: str, name: str) -> str:
    """Return a coefficient of an engine, inline; a reader who presses it sees what it is and what it rests on."""
    record = catalog().engine(engine).coefficient(name)
    shown = show_seconds(record.value) if name.endswith("_s") else f"{record.value:g}"
    return opening(shown, element("span", text(record.reason) + source_html(record.source), class_="calc-step"))


def coefficient(name: str) -> str:
    """Return a measured coefficient that is a share, inline; a reader who presses it sees what it rests on."""
    record = catalog().coefficient(name)
    said = text(f"{record.summary} {record.rows}. Its range is {record.low:g} to {record.high:g}. ")
    return opening(f"{record.value:g}", element("span", said + source_html(record.source), class_="calc-step"))


def processor_table(model: str, weights: str, processors: tuple[str, ...], accelerators: tuple[str, ...]) -> str:
    """Return how fast one sequence of a model is read and written by some processors and accelerators."""
    rows = []
    for record in sorted(map(catalog().processor, processors), key=lambda found: found.bandwidth):
        report = on_processor(record.id, model, weights)
        writes, reads = (report["speed"][f"{name}_tokens_per_s"] for name in ("decode", "prefill"))
        rows.append(
            [
                element("a", text(record.name), href=catalog().source(record.source).url, rel="noopener"),
                "processor",
                f"{record.bandwidth / 1e9:,.0f} GB/s",
                *(show_number(writes[end]) for end in ("low", "typical", "high")),
                show_number(reads["typical"]),
            ]
        )
    for name in accelerators:
        device = catalog().accelerator(name)
        asked: dict[str, Any] = {"model": model, "weights": weights, "engine": "llama.cpp", "accelerator": device.id}
        found: Report = estimate({**asked, **TOKENS}, repairs=False)
        speed = found["speed"]["decode_tokens_per_s"]
        rows.append(
            [
                calculator_link("speed", device.name, **asked, **TOKENS),
                "accelerator",
                f"{(device.quantity('bandwidth') or 0) / 1e9:,.0f} GB/s",
                *(show_number(speed[end]) for end in ("low", "typical", "high")),
                show_number(found["speed"]["prefill_tokens_per_s"]["typical"]),
            ]
        )
    headings = ("Device", "What it is", "Bandwidth", "Writes, low", "Typical", "High", "Reads")
    named = f"{catalog().model(model).name} in {catalog().weights_format(weights).name}"
    caption = f"{named} under llama.cpp, one sequence: tokens a second"
    return block(table(headings, rows, caption=caption, words=2))


PLACED = {
    "gpu_layers": ("Layers on the card", "the rest"),
    "experts_on_host": ("Layers whose experts are not", "their experts"),
}


def offload_table(model: str, weights: str, accelerator: str, counts: tuple[int, ...], what: str = "gpu_layers") -> str:
    """Return how a model's speed falls with the layers, or the experts, that stay in the host's memory.

    `what` is "gpu_layers" (llama.cpp's -ngl) or "experts_on_host" (--n-cpu-moe).
    """
    asked: dict[str, Any] = {"model": model, "weights": weights, "engine": "llama.cpp", "accelerator": accelerator}
    rows, host = [], ""
    for count in counts:
        report: Report = estimate({**asked, **TOKENS, what: count}, repairs=False)
        memory, speed = report["memory"], report["speed"]
        if "host" in report["scenario"]:
            host = f" beside a {catalog().processor(report['scenario']['host']['processor']).name}"
        rows.append(
            [
                f"{count} of {report['model']['layers']}",
                size_gib(memory["device_bytes"]),
                "yes" if memory["fits"] else "no",
                size_decimal(memory["host_bytes"]),
                show_number(speed["decode_tokens_per_s"]["typical"]),
                show_count(speed["prefill_tokens_per_s"]["typical"]),
            ]
        )
    first, rest = PLACED[what]
    headings = (first, "On the card", "Fits", "In the host's memory", "Writes a second", "Reads a second")
    record = catalog().accelerator(accelerator)
    named = f"{catalog().model(model).name} in {catalog().weights_format(weights).name} on one {record.name}{host}"
    return block(table(headings, rows, caption=f"{named}, {rest} in the host's memory", words=(0, 2)))


def offload_check_table(
    accelerator: str, rows: tuple[tuple[str, int, float], ...], source_id: str, host: dict[str, str]
) -> str:
    """Return measured speeds with layers in the host's memory beside the computed ones.

    A row is a model in Q4_K_M, the layers on the card, and the tokens a second that somebody measured beside a host.
    """
    cells = []
    for model, layers, measured in rows:
        report: Report = estimate(
            {
                "model": model,
                "weights": "q4_k_m",
                "engine": "llama.cpp",
                "accelerator": accelerator,
                "gpu_layers": layers,
                "host": host,
                **TOKENS,
            }
        )
        speed = report["speed"]["decode_tokens_per_s"]
        ends = f"{show_number(speed['low'])} to {show_number(speed['high'])}"
        cells.append(
            [
                text(catalog().model(model).name),
                f"{layers} of {report['model']['layers']}",
                show_number(measured),
                show_number(speed["typical"]),
                ends,
            ]
        )
    headings = ("Model", "Layers on the card", "Measured", "Computed", "Four of five lie in")
    link = element("a", "measured", href=catalog().source(source_id).url, rel="noopener")
    named = catalog().accelerator(accelerator).name
    found = table(headings, cells, caption=f"Tokens written a second, Q4_K_M on one {named}")
    return block(found) + block(element("p", f"As {link} by others.", class_="table-source"))
