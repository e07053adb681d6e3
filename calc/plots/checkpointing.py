"""What checkpointing trades: memory of a device against the tokens that it trains on in a second."""

from typing import Any

from calc.calculators.sizes import size_gib
from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.estimate import estimate
from calc.plots.plot import (
    LIMIT,
    Plot,
    Row,
    Spec,
    across,
    beside,
    label,
    layer,
    series,
    specification,
    tooltip,
    upward,
)
from calc.units import GIB, show_count

Report = dict[str, Any]
KINDS = ("none", "selective", "full")
ROOM = 1.1  # of the largest, that is drawn


def draw(*, micro_batches: tuple[int, ...] = (1, 2), **scenario: object) -> Plot:
    """Return the kinds of checkpointing of a scenario of training, for some micro-batches."""
    asked = {**scenario, "workload": "training"}
    reports: dict[tuple[int, str], Report] = {
        (batch, kind): estimate({**asked, "micro_batch": batch, "checkpointing": kind}, repairs=False)
        for batch in micro_batches
        for kind in KINDS
    }
    first = next(iter(reports.values()))
    if not first["speed"]:
        raise ScenarioError("accelerator", "is missing, or no source has its rates: a speed is that of a device")
    device = catalog().accelerator(first["scenario"]["accelerator"])
    points = [point(batch, kind, report) for (batch, kind), report in reports.items()]
    limit = device.capacity_bytes
    top = ROOM * max(limit, *(bytes_of(report) for report in reports.values())) / GIB
    data: dict[str, list[Row]] = {
        "points": points,
        "names": [
            {**row, **words(row, points[0])} for row in points if row["kind"] == "none" or row in points[: len(KINDS)]
        ],
        "limit": [{"gib": limit / GIB, **beside(0, -4), "label": f"limit: {size_gib(limit)}"}],
        "frame": [{"rate": points[0]["rate"], "gib": edge} for edge in (0, top)],
    }
    name = f"{first['model']['name']}, {device.name}"
    rows = [[str(row[key]) for key in ("series", "kind", "shown", "speed")] for row in points]
    least, most = points[2], points[0]
    summary = (
        f"Checkpointing of {name}: without it {most['shown']} and {most['speed']}, with every layer checkpointed "
        f"{least['shown']} and {least['speed']}."
    )
    caption = f"Memory of a device against its speed, by checkpointing: {name}. Best is at the bottom right"
    headings = ("Micro-batch", "Checkpointing", "Memory of a device", "Speed of a device")
    return Plot(caption, summary, drawing(), data, headings=headings, rows=rows)


def bytes_of(report: Report) -> int:
    """Return the memory of a run's fullest device."""
    return int(report["memory"]["device_bytes"])


def point(batch: int, kind: str, report: Report) -> Row:
    """Return a kind of checkpointing as a point, with its words."""
    rate = report["speed"]["tokens_per_s_per_device"]["typical"]
    return {
        "series": "1 sequence" if batch == 1 else f"{batch} sequences",
        "kind": kind,
        "rate": rate,
        "gib": bytes_of(report) / GIB,
        "shown": size_gib(bytes_of(report)),
        "speed": f"{show_count(rate)} tokens/s",
    }


def words(row: Row, first: Row) -> Row:
    """Return what stands beside a point: below the first line, on which no other line's points lie, else above.

    The upper end of a line has its name too.
    """
    if row["kind"] == "none":
        return {**beside(1, 8 if row is first else -22), "label": f"none, {row['series']}"}
    return {**beside(0), "label": row["kind"]}


def drawing() -> Spec:
    """Return the specification: a line for each micro-batch, its points named, and the device's limit."""
    x = across("rate", "Tokens/s of a device", scale={"zero": False, "nice": True}, axis={"format": ",~f"})
    y = upward("gib", "Memory, GiB", scale={"nice": False, "domainMin": 0})
    told = tooltip(series="Micro-batch", kind="Checkpointing", shown="Memory", speed="Speed")
    lines, dots = series(dashes=True), series(shapes=True)
    return specification(
        layer("frame", "point", {"x": x, "y": y}, opacity=0, color="currentColor"),
        layer("limit", "rule", {"y": y}, color=LIMIT, strokeDash=[6, 3]),
        label("limit", {"y": y, "x": {"value": 0}}, baseline="bottom", fill=LIMIT),
        layer("points", "line", {"x": x, "y": y, "order": {"field": "rate"}, **lines}),
        layer("points", "point", {"x": x, "y": y, **dots, **told}, filled=True, size=80, opacity=1),
        label("names", {"x": x, "y": y, "color": lines["color"]}, baseline="top"),
    )
