"""Accelerators by what they hold and how fast they read it, told apart by their maker."""

from calc.catalog import catalog
from calc.catalog.records import Accelerator
from calc.plots.plot import (
    FAINT,
    Plot,
    Row,
    Spec,
    across,
    beside,
    chosen,
    faded,
    label,
    layer,
    logarithmic,
    powers,
    series,
    specification,
    tooltip,
    upward,
)
from calc.units import GB, GIB

HEIGHT = 360
TIMES = (0.01, 0.1)  # seconds in which all memory is read, that have a line


def draw(*, segments: tuple[str, ...] = (), names: tuple[str, ...] = ()) -> Plot:
    """Return a dot for each accelerator, of some segments or of all; `names` are the ids of those with words."""
    found = [
        record
        for record in catalog().accelerators()
        if record.quantity("bandwidth") and (not segments or record.segment in segments)
    ]
    every = [record.vendor for record in found]
    vendors = sorted(set(every), key=lambda vendor: (-every.count(vendor), vendor))
    labelled = [catalog().accelerator(name) for name in names]
    data: dict[str, list[Row]] = {
        "devices": [dot(record) for record in found],
        "names": [{**dot(record), **beside(share(record, found), -11), "label": record.name} for record in labelled],
    }
    least, most = min(found, key=capacity), max(found, key=capacity)
    fastest = max(found, key=bandwidth)
    summary = (
        f"{len(found)} accelerators, from {least.name} with {least.facts['memory'].show()} to {most.name} with "
        f"{most.facts['memory'].show()}. The fastest memory is that of {fastest.name} with "
        f"{fastest.facts['bandwidth'].show()}."
    )
    rows = [
        [record.name, record.vendor, record.facts["memory"].show(), record.facts["bandwidth"].show(), turns(record)]
        for record in found
    ]
    caption = "Accelerators by memory and bandwidth; on a broken line all memory is read in the same time"
    headings = ("Device", "Maker", "Memory", "Bandwidth", "Reads all of it in")
    data["turns"] = [row for seconds in TIMES for row in same_time(seconds, found)]
    short, long = (same_time(seconds, found) for seconds in TIMES)
    data["times"] = [
        {**short[0], **beside(0, -12), "label": ms(TIMES[0])},
        {**long[-1], **beside(1), "label": ms(TIMES[1])},
    ]
    return Plot(caption, summary, drawing(vendors), data, headings=headings, rows=rows)


def capacity(record: Accelerator) -> float:
    """Return the bytes that a device has."""
    return record.quantity("memory") or 0


def bandwidth(record: Accelerator) -> float:
    """Return the bytes a second that a device reads."""
    return record.quantity("bandwidth") or 0


def turns(record: Accelerator) -> str:
    """Return how long a device takes to read all of its memory once, which no token is written faster in."""
    return f"{1000 * capacity(record) / bandwidth(record):.1f} ms"


def ms(seconds: float) -> str:
    """Return a time in milliseconds."""
    return f"{1000 * seconds:.0f} ms"


def share(record: Accelerator, found: list[Accelerator]) -> float:
    """Return where a device lies between the least and the most memory: 0 in the left half, 1 in the right one."""
    return float(capacity(record) ** 2 > min(map(capacity, found)) * max(map(capacity, found)))


def dot(record: Accelerator) -> Row:
    """Return a device as a dot, with its words."""
    return {
        "series": record.vendor,
        "name": record.name,
        "gib": capacity(record) / GIB,
        "rate": bandwidth(record) / GB,
        "memory": record.facts["memory"].show(),
        "reads": record.facts["bandwidth"].show(),
        "turn": turns(record),
    }


def same_time(seconds: float, found: list[Accelerator]) -> list[Row]:
    """Return the line on which all memory is read in some seconds, within the drawing."""
    sizes, rates = [capacity(record) for record in found], [bandwidth(record) for record in found]
    first, last = max(min(sizes), seconds * min(rates)), min(max(sizes), seconds * max(rates))
    return [{"turn": str(seconds), "gib": size / GIB, "rate": size / seconds / GB} for size in (first, last)]


def drawing(vendors: list[str]) -> Spec:
    """Return the specification: dots by maker, some with words, and the lines of the same time."""
    x = across("gib", "Memory, GiB", scale=logarithmic(2), axis=powers())
    y = upward("rate", "Bandwidth, GB/s", scale=logarithmic(), axis=powers())
    dots = {"x": x, "y": y, **series(shapes=True, names=vendors, legend={"columns": 3}), **faded()}
    words = tooltip(name="Device", memory="Memory", reads="Bandwidth", turn="Reads all of it in")
    lines = {"x": x, "y": y, "detail": {"field": "turn", "type": "nominal"}}
    return specification(
        layer("turns", "line", lines, color=FAINT, strokeDash=[4, 4], strokeWidth=1),
        label("times", {"x": x, "y": y}, baseline="bottom", fill=FAINT),
        layer("devices", "point", {**dots, **words}, params=[chosen()], size=45, strokeWidth=1.5),
        label("names", {"x": x, "y": y}, baseline="middle"),
        height=HEIGHT,
    )
