"""True bits per weight against the size of a model: how far from its name a format is."""

from typing import Any

from calc.calculators.sizes import size_gb
from calc.catalog import catalog
from calc.estimate import estimate
from calc.plots.plot import (
    Plot,
    Row,
    Spec,
    across,
    beside,
    label,
    layer,
    logarithmic,
    powers,
    series,
    specification,
    tooltip,
    upward,
)
from calc.units import show_large_count

Report = dict[str, Any]


def draw(*, models: tuple[str, ...], formats: tuple[str, ...]) -> Plot:
    """Return a line for each format over models, the smallest first."""
    found = {(model, name): estimate({"model": model, "weights": name}) for model in models for name in formats}
    counts = {model: count_of(found[model, formats[0]]) for model in models}
    ordered = sorted(models, key=counts.__getitem__)
    points = [point(model, name, found[model, name]) for name in formats for model in ordered]
    ends = [point(ordered[-1], name, found[ordered[-1], name]) for name in formats]
    spaced(ends, [bits_of(found[ordered[-1], name]) for name in formats])
    names = [catalog().weights_format(name).name for name in formats]
    rows = [
        [catalog().model(model).name, show_large_count(counts[model])]
        + [f"{bits_of(found[model, name]):.2f}" for name in formats]
        for model in ordered
    ]
    first, last = (catalog().model(model).name for model in (ordered[0], ordered[-1]))
    said = (
        f"{name} {bits_of(found[ordered[0], key]):.2f} and {bits_of(found[ordered[-1], key]):.2f}"
        for key, name in zip(formats, names, strict=True)
    )
    summary = f"Bits per weight of {first} and of {last}: {'; '.join(said)}."
    caption = "Bits per weight over the whole model, against its parameters"
    data: dict[str, list[Row]] = {"points": points, "ends": ends}
    return Plot(caption, summary, drawing(), data, headings=("Model", "Parameters", *names), rows=rows)


def count_of(report: Report) -> int:
    """Return the parameters of a report's model."""
    return int(report["model"]["parameters_total"])


def bytes_of(report: Report) -> int:
    """Return the bytes of a report's weights."""
    return next(int(part["bytes"]) for part in report["memory"]["parts"] if part["id"] == "weights")


def bits_of(report: Report) -> float:
    """Return the bits per weight of a report's model."""
    return 8 * bytes_of(report) / count_of(report)


def point(model: str, name: str, report: Report) -> Row:
    """Return a model in a format as a point, with its words."""
    shown = catalog().weights_format(name).name
    return {
        "series": shown,
        "model": catalog().model(model).name,
        "parameters": count_of(report) / 1e9,
        "bits": bits_of(report),
        "shown": f"{bits_of(report):.2f}",
        "size": size_gb(bytes_of(report)),
        **beside(0),
        "label": shown,
    }


def spaced(ends: list[Row], bits: list[float], room: float = 0.42) -> None:
    """Move names at the ends of lines, at `bits`, up so that none stands on another; `room` is a line of words."""
    above = float("-inf")
    for place, row in sorted(zip(bits, ends, strict=True), key=lambda pair: pair[0]):
        above = max(place, above + room)
        row["at"] = above


def drawing() -> Spec:
    """Return the specification: lines with dashes and dots, named where they end."""
    x = across("parameters", "Parameters, billion", scale=logarithmic(), axis=powers())
    y = upward("bits", "Bits per weight", scale={"zero": False, "nice": False})
    told = tooltip(model="Model", series="Format", shown="Bits per weight", size="Weights")
    lines, dots = series(dashes=True), series(shapes=True)
    at = {**y, "field": "at"}
    return specification(
        layer("points", "line", {"x": x, "y": y, **lines}),
        layer("points", "point", {"x": x, "y": y, **dots, **told}, filled=True, size=40, opacity=1),
        label("ends", {"x": {"value": "width"}, "y": at, "color": lines["color"]}, baseline="middle"),
        height=340,
    )
