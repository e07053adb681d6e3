"""Memory by its parts, as bars: models in their formats side by side, with the limit of a device."""

from collections.abc import Iterable
from typing import Any

from calc.calculators.sizes import size_gib
from calc.catalog import catalog
from calc.estimate import estimate
from calc.memory.runtime import NOT_USED
from calc.plots.plot import (
    GROUND,
    LIMIT,
    Plot,
    Row,
    Spec,
    across,
    beside,
    chosen,
    faded,
    label,
    layer,
    series,
    specification,
    tooltip,
)
from calc.units import GIB, show_count

Report = dict[str, Any]
PARTS = {
    "Weights": ("weights",),
    "Cache": ("kv_cache", "recurrent_state"),
    "Working set": ("activations", "logits"),
}
REST = "Engine"  # all other parts, but not cache that is set aside and not in use
LINE, EDGES = 52, 110  # of the height: a bar with its words above it, and the axis with the legend


def draw(*, models: Iterable[str], formats: Iterable[str] = ("bf16",), **scenario: object) -> Plot:
    """Return a bar for each model in each format, under a scenario of inference that gives the rest."""
    shown = []
    for model in models:
        for weights in formats:
            report: Report = estimate({**scenario, "model": model, "weights": weights}, repairs=False)
            name = f"{report['model']['name']}, {catalog().weights_format(report['scenario']['weights']).name}"
            sizes = sizes_of(report)
            shown.append((name, sizes))
    kinds = [kind for kind in (*PARTS, REST) if any(sizes[kind] for _, sizes in shown)]
    rows = [[name, *(size_gib(sizes[kind]) for kind in kinds), size_gib(sum(sizes.values()))] for name, sizes in shown]
    memory, asked = report["memory"], report["scenario"]
    limit = memory.get("capacity_bytes")
    device = catalog().accelerator(asked["accelerator"]).name if limit else ""
    data: dict[str, list[Row]] = {
        "parts": [part for name, sizes in shown for part in parts_of(name, sizes, kinds)],
        "names": [{"bar": name, **beside(0, -18), "label": bar_words(name, sizes)} for name, sizes in shown],
        "limit": [{"gib": limit / GIB, **beside(0, -8), "label": f"{device}: {size_gib(limit)}"}] if limit else [],
    }
    case = f"{sequence_words(asked)}{f', {device}' if device else ''}"
    summary = f"Memory, {case}. {'; '.join(bar_words(name, sizes) for name, sizes in shown)}."
    headings = ("Model and format", *kinds, "Together")
    height = EDGES + LINE * len(shown)
    return Plot(f"Memory by part: {case}", summary, drawing(kinds, height), data, headings=headings, rows=rows)


def sizes_of(report: Report) -> dict[str, int]:
    """Return the bytes of a report's parts by kind."""
    parts = {part["id"]: part["bytes"] for part in report["memory"]["parts"] if part["id"] not in NOT_USED}
    sizes = {kind: sum(parts.pop(part, 0) for part in ids) for kind, ids in PARTS.items()}
    return {**sizes, REST: sum(parts.values())}


def parts_of(name: str, sizes: dict[str, int], kinds: list[str]) -> list[Row]:
    """Return a bar's parts, each from where the one before it ends."""
    rows: list[Row] = []
    left = 0
    for kind in kinds:
        end = left + sizes[kind]
        share = f"{100 * sizes[kind] / sum(sizes.values()):.1f} %"
        rows.append(
            {
                "bar": name,
                "series": kind,
                "from": left / GIB,
                "to": end / GIB,
                "shown": f"{size_gib(sizes[kind])}, {share}",
            }
        )
        left = end
    return rows


def bar_words(name: str, sizes: dict[str, int]) -> str:
    """Return what a bar is and how long."""
    return f"{name}: {size_gib(sum(sizes.values()))}"


def sequence_words(asked: Report) -> str:
    """Return which conversations a scenario has."""
    tokens = f"{show_count(asked['context_tokens'])} tokens"
    return f"one sequence of {tokens}" if asked["sequences"] == 1 else f"{asked['sequences']} sequences of {tokens}"


def drawing(kinds: list[str], height: int) -> Spec:
    """Return the specification: bars whose parts stand in the order of the legend, with their words above them."""
    y = {"field": "bar", "type": "nominal", "sort": None, "axis": None, "scale": {"paddingInner": 0.62}}
    x = across("from", "GiB")
    parts = {"x": x, "x2": {"field": "to"}, "y": y, **series(names=kinds, legend={"columns": 2}), **faded()}
    told = tooltip(bar="Model", series="Part", shown="Takes")
    limit: Spec = {"x": {**x, "field": "gib"}}
    return specification(
        layer("parts", "bar", {**parts, **told}, params=[chosen()], stroke=GROUND, strokeWidth=1),
        layer("limit", "rule", limit, color=LIMIT, strokeDash=[6, 3]),
        label("limit", {"x": {"value": 0}, "y": {"value": 0}}, baseline="bottom", fill=LIMIT),
        label("names", {"y": y, "x": {"value": 0}}, baseline="middle"),
        height=height,
    )
