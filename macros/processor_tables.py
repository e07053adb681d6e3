"""Tables of processors against accelerators, and of models that stand in two memories."""

from typing import Any

from calc import estimate
from calc.calculators.html import element, table, text
from calc.calculators.rendering import source_html
from calc.catalog import catalog
from calc.estimate import read_asked
from calc.performance.processor import processor_tokens_per_s, token_bytes
from calc.scenario import Reader
from calc.units import show_count, show_decimal, show_gib, show_number
from macros.inline import Report, opening, step
from macros.links import calculator_link
from macros.markdown import block

TOKENS = {"prompt_tokens": 512, "output_tokens": 256}


def processor_speed(processor: str, model: str, weights: str) -> tuple[float, float, float, str]:
    """Return a processor's tokens a second for one sequence, low, typical and high, with the working."""
    record, share = catalog().processor(processor), catalog().coefficient("processor-read-share")
    demand = read_asked(Reader({"model": model, "weights": weights, **TOKENS})).demand
    read = token_bytes(demand=demand, context_tokens=demand.tokens - TOKENS["output_tokens"] // 2)
    low, typical, high = (
        processor_tokens_per_s(processor=record, read_bytes=read, share=end)
        for end in (share.low, share.value, share.high)
    )
    numbers = f"{share.value:g} × {record.bandwidth:,.0f} / {read:,.0f}"
    working = step(
        f"Writing on {record.name}",
        r"\frac{e \cdot BW}{M_{\text{read}}}",
        numbers,
        f"{show_number(typical)} tokens/s",
    )
    return low, typical, high, working


def processor_number(processor: str, model: str, weights: str) -> str:
    """Return how fast a processor writes for one reader, inline, with the working."""
    _, typical, _, working = processor_speed(processor, model, weights)
    return opening(f"{show_number(typical)} tokens/s", working)


def processor_bandwidth(processor: str) -> str:
    """Return the bandwidth of a processor's memory, inline; a reader who presses it sees channels and rate."""
    record = catalog().processor(processor)
    channels, rate = record.facts["memory_channels"], record.facts["memory_rate"]
    shown = f"{record.bandwidth / 1e9:,.1f} GB/s"
    numbers = f"{channels.value} × 64 × {rate.show()} / 8"
    return opening(shown, step(f"Bandwidth of {record.name}", r"\frac{n \cdot 64 \cdot r}{8}", numbers, shown))


def coefficient(name: str) -> str:
    """Return a measured coefficient that is a share, inline; a reader who presses it sees what it rests on."""
    record = catalog().coefficient(name)
    said = text(f"{record.summary} {record.rows}. Its range is {record.low:g} to {record.high:g}. ")
    return opening(f"{record.value:g}", element("span", said + source_html(record.source), class_="calc-step"))


def processor_table(model: str, weights: str, accelerators: tuple[str, ...]) -> str:
    """Return how fast one sequence of a model is written by the catalogue's processors and by some accelerators."""
    rows = []
    for record in catalog().processors():
        low, typical, high, _ = processor_speed(record.id, model, weights)
        rows.append(
            [
                element("a", text(record.name), href=catalog().source(record.source).url, rel="noopener"),
                "processor",
                f"{record.bandwidth / 1e9:,.0f} GB/s",
                show_number(low),
                show_number(typical),
                show_number(high),
                "–",
            ]
        )
    for name in accelerators:
        device = catalog().accelerator(name)
        asked: dict[str, Any] = {"model": model, "weights": weights, "engine": "llama.cpp", "accelerator": device.id}
        report: Report = estimate({**asked, **TOKENS})
        speed = report["speed"]["decode_tokens_per_s"]
        rows.append(
            [
                calculator_link("speed", device.name, **asked, **TOKENS),
                "accelerator",
                f"{(device.quantity('bandwidth') or 0) / 1e9:,.0f} GB/s",
                *(show_number(speed[end]) for end in ("low", "typical", "high")),
                show_number(report["speed"]["prefill_tokens_per_s"]["typical"]),
            ]
        )
    headings = ("Device", "What it is", "Bandwidth", "Writes, low", "Typical", "High", "Reads")
    named = f"{catalog().model(model).name} in {catalog().weights_format(weights).name}"
    caption = f"{named} under llama.cpp, one sequence: tokens a second"
    return block(table(headings, rows, caption=caption, words=2))


def offload_table(model: str, weights: str, accelerator: str, layers: tuple[int, ...]) -> str:
    """Return how a model's speed falls with the layers that stay in the host's memory (llama.cpp's -ngl)."""
    asked: dict[str, Any] = {"model": model, "weights": weights, "engine": "llama.cpp", "accelerator": accelerator}
    rows = []
    for count in layers:
        report: Report = estimate({**asked, **TOKENS, "gpu_layers": count})
        memory, speed = report["memory"], report["speed"]
        rows.append(
            [
                f"{count} of {report['model']['layers']}",
                show_gib(memory["device_bytes"]),
                "yes" if memory["fits"] else "no",
                show_decimal(memory["host_bytes"]),
                show_number(speed["decode_tokens_per_s"]["typical"]),
                show_count(speed["prefill_tokens_per_s"]["typical"]),
            ]
        )
    headings = (
        "Layers on the card",
        "On the card",
        "Fits",
        "In the host's memory",
        "Writes a second",
        "Reads a second",
    )
    record = catalog().accelerator(accelerator)
    named = f"{catalog().model(model).name} in {catalog().weights_format(weights).name} on one {record.name}"
    return block(table(headings, rows, caption=f"{named}, the rest read by the processor"))


def offload_check_table(accelerator: str, rows: tuple[tuple[str, int, float], ...], source_id: str) -> str:
    """Return measured speeds with layers in the host's memory beside the computed ones.

    A row is a model in Q4_K_M, the layers on the card, and the tokens a second that somebody measured.
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
