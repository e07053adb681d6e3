"""Memory of a training run's fullest device against the number of devices, for what ZeRO divides over them."""

from typing import Any

from calc.calculators.sizes import size_gib
from calc.catalog import catalog
from calc.estimate import estimate
from calc.plots.plot import (
    LIMIT,
    WHOLE,
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
from calc.units import GIB, show_count

Report = dict[str, Any]
STAGES = {
    "none": "Nothing divided",
    "zero-1": "ZeRO-1",
    "zero-2": "ZeRO-2",
    "zero-3": "ZeRO-3",
}
DEVICES = (1, 2, 4, 8, 16, 32, 64)


def draw(*, devices: tuple[int, ...] = DEVICES, accelerator: str = "", **scenario: object) -> Plot:
    """Return the memory of a scenario of training on some numbers of devices, with each stage of ZeRO."""
    asked = {"gradient_dtype": "bf16", **scenario, "workload": "training"}  # the same at each stage, to compare
    reports: dict[tuple[str, int], Report] = {
        (stage, count): estimate({**asked, "sharding": stage, "accelerators": count}, repairs=False)
        for stage in STAGES
        for count in devices
    }
    sizes = {key: int(report["memory"]["device_bytes"]) for key, report in reports.items()}
    model = next(iter(reports.values()))["model"]["name"]
    points = [point(stage, count, sizes[stage, count]) for stage in STAGES for count in devices]
    ends = [
        {**point(stage, devices[-1], sizes[stage, devices[-1]]), **beside(1, -6), "label": STAGES[stage]}
        for stage in STAGES
    ]
    data: dict[str, list[Row]] = {"points": points, "ends": ends, "limit": []}
    where = ""
    if accelerator:
        record = catalog().accelerator(accelerator)
        where = f", {record.name}"
        words = f"{record.name}: {size_gib(record.capacity_bytes)}"
        data["limit"] = [{"gib": record.capacity_bytes / GIB, **beside(1, -4), "label": words}]
    rows = [[show_count(count), *(size_gib(sizes[stage, count]) for stage in STAGES)] for count in devices]
    said = "; ".join(f"{name}: {size_gib(sizes[stage, devices[-1]])}" for stage, name in STAGES.items())
    first = size_gib(sizes["none", devices[0]])
    summary = f"Training {model}: {first} on {devices[0]} device; on each of {devices[-1]}: {said}."
    caption = f"Memory of each device against the devices of a training run: {model}{where}"
    return Plot(caption, summary, drawing(), data, headings=("Devices", *STAGES.values()), rows=rows)


def point(stage: str, count: int, size: int) -> Row:
    """Return a point of a stage's line, with its words."""
    return {
        "series": STAGES[stage],
        "devices": count,
        "counted": show_count(count),
        "gib": size / GIB,
        "shown": size_gib(size),
    }


def drawing() -> Spec:
    """Return the specification: lines by stage with a legend, as they begin at one point, and the device's limit."""
    x = across("devices", "Devices", scale=logarithmic(2), axis=WHOLE)
    y = upward("gib", "Memory of each, GiB", scale=logarithmic(), axis=powers())
    told = tooltip(series="Divided", counted="Devices", shown="Each takes")
    lines, dots = series(dashes=True), series(shapes=True)
    return specification(
        layer("limit", "rule", {"y": {**y, "field": "gib"}}, color=LIMIT, strokeDash=[6, 3]),
        label("limit", {"y": y, "x": {"value": "width"}}, baseline="bottom", fill=LIMIT),
        layer("points", "line", {"x": x, "y": y, **lines}),
        layer("points", "point", {"x": x, "y": y, **dots, **told}, filled=True, size=50, opacity=1),
        label("ends", {"x": x, "y": y, "color": lines["color"]}, baseline="bottom"),
        height=340,
    )
