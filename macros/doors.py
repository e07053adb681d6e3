"""The pictures of the first page: how large things are beside what they have to fit into, as bars."""

from typing import Any

from calc import plan
from calc.calculators.html import element, text
from calc.calculators.sizes import size_gib
from calc.catalog import catalog
from calc.estimate import estimate
from calc.units import show_dollars
from macros.markdown import block

__all__ = ["door_formats", "door_hardware", "door_models"]

WIDTH, ROW, BAR, VALUE = 300, 36, 13, 84  # of a picture, of a bar with its name, and of the number behind it
Bar = tuple[str, float, str]  # what it is, how long, and that in words


def bars(drawn: list[Bar], summary: str, limit: tuple[float, str] | None = None) -> str:
    """Return bars, each under what it is, with a line where a limit is."""
    most = max([length for _, length, _ in drawn] + ([limit[0]] if limit else []))
    scale = (WIDTH - VALUE) / most
    parts = ""
    for number, (name, length, said) in enumerate(drawn):
        top = number * ROW
        kind = "door-over" if limit is not None and length > limit[0] else "door-bar"
        parts += label(name, 0, top + 12) + label(said, WIDTH, top + 28, end=True)
        parts += element("rect", x=0, y=top + 17, width=round(scale * length), height=BAR, class_=kind)
    height = len(drawn) * ROW
    if limit:
        place = round(scale * limit[0])
        parts += element("line", x1=place, x2=place, y1=14, y2=height, class_="door-limit")
        parts += label(f"The line: {limit[1]}", 0, height + 14)
    box = f"0 0 {WIDTH} {height + 18}"
    return block(element("svg", parts, viewBox=box, role="img", aria_label=summary, class_="door"))


def label(said: str, x: int, y: int, *, end: bool = False) -> str:
    """Return words in a picture, which begin or end at a place."""
    return element("text", text(said), x=x, y=y, class_="door-end" if end else None)


def door_models(accelerator: str, *models: str, weights: str, context_tokens: int) -> str:
    """Return what models take in a number format, beside the memory of a device."""
    device = catalog().accelerator(accelerator)
    drawn = [(catalog().model(name).name, *taken(name, weights, context_tokens)) for name in models]
    limit = (device.capacity_bytes, f"{device.name}: {size_gib(device.capacity_bytes)}")
    said = ", ".join(f"{name} {size}" for name, _, size in drawn)
    return bars(drawn, f"{said}; {limit[1]}", limit)


def door_formats(model: str, *formats: str, context_tokens: int) -> str:
    """Return what a model takes in several number formats."""
    drawn = [(catalog().weights_format(name).name, *taken(model, name, context_tokens)) for name in formats]
    return bars(drawn, f"{catalog().model(model).name}: " + ", ".join(f"{name} {size}" for name, _, size in drawn))


def door_hardware(model: str, count: int, **question: object) -> str:
    """Return the cheapest rents of an hour of what serves a model."""
    found: Any = plan({"want": "hardware", "model": model, "weights": "any", "count": count, **question})
    drawn = []
    for option in found["options"]:
        scenario, rent = option["scenario"], option["cost"]["rent_per_hour"]
        name = f"{scenario.get('accelerators', 1)} × {catalog().accelerator(scenario['accelerator']).name}"
        drawn.append((name, rent or 0.0, f"{show_dollars(rent)}/h" if rent else "not known"))
    return bars(drawn, ", ".join(f"{name} {said}" for name, _, said in drawn))


def taken(model: str, weights: str, context_tokens: int) -> tuple[float, str]:
    """Return the bytes that a model takes without an engine, and the same in words."""
    report: Any = estimate({"model": model, "weights": weights, "context_tokens": context_tokens})
    size = report["memory"]["device_bytes"]
    return size, size_gib(size)
