"""The memory of the fullest device as one bar of parts, with the limit that they may reach drawn where it is."""

from calc.calculators.html import element, text
from calc.calculators.inputs import Report
from calc.calculators.sizes import size_gib
from calc.catalog import catalog

HEIGHT, LINE, WORDS = 24, 2, 16  # pixels: of the bar, of a limit's line, and of the words of a limit
SAID = "Memory of the fullest device"
NOT_HELD = "outside_share"  # of a device that would do, not of this one


def bars_html(report: Report) -> str:
    """Return the parts in proportion, the limits that they may reach as lines with names, and a legend in words."""
    memory = report["memory"]
    parts = [(part["id"], part["label"], part["bytes"]) for part in memory["parts"] if part["bytes"]]
    parts = [part for part in parts if part[0] != NOT_HELD]
    total, capacity = sum(size for _, _, size in parts), memory.get("capacity_bytes", 0)
    scale = max(total, capacity)
    if capacity > total:
        parts.append(("free", "Free", capacity - total))
    drawn, legend, left = "", "", 0.0
    for part_id, label, size in parts:
        share = 100 * size / scale
        drawn += element(
            "rect", x=f"{left:.2f}%", y=WORDS, width=f"{share:.2f}%", height=HEIGHT, class_=f"part-{part_id}"
        )
        legend += element("li", f"{swatch(part_id)} {text(label)} {size_gib(size)}")
        left += share
    frame = element("rect", x=0, y=WORDS, width="100%", height=HEIGHT, class_="part-frame")
    named = limits(report, total)
    drawn += frame + "".join(limit(name, size, scale, below=below) for name, size, below in named)
    height = WORDS + HEIGHT + (WORDS if any(below for _, _, below in named) else 0)
    # A group and no picture: its limits and the list below are read, with sizes in the unit that a reader chose.
    drawing = element("svg", drawn, width="100%", height=height, role="group", aria_label=SAID)
    return element("div", drawing + element("ul", legend, class_="calc-legend"), class_="calc-bars")


def swatch(part_id: str) -> str:
    """Return a square in the colour of a part."""
    square = element("rect", width=12, height=12, class_=f"part-{part_id}")
    return element("svg", square, width=12, height=12, aria_hidden="true")


def limits(report: Report, total: int) -> list[tuple[str, int, bool]]:
    """Return the limits that are drawn, in words, their bytes, and whether their words stand below the bar.

    An engine's share of the device is a limit in any case, the device's end where the parts go beyond it.
    """
    memory, found = report["memory"], []
    capacity = memory.get("capacity_bytes", 0)
    share = memory.get("limit_bytes", capacity)
    if capacity and total > capacity:
        found.append((f"The device has {size_gib(capacity)}", capacity, False))
    if share < capacity:
        engine = catalog().engine(report["scenario"]["engine"]).name
        found.append((f"{engine} may take {size_gib(share)}", share, True))
    return found


def limit(name: str, size: int, scale: int, *, below: bool) -> str:
    """Return a limit's line across the bar, with its name on the side where there is room."""
    share = 100 * size / scale
    top = WORDS if below else WORDS - 4
    line = element("rect", x=f"{min(share, 99.5):.2f}%", y=top, width=LINE, height=HEIGHT + 4, class_="part-limit")
    anchor = "end" if share > 50 else "start"
    y = WORDS + HEIGHT + 13 if below else 10
    return line + element("text", text(name), x=f"{share:.2f}%", y=y, text_anchor=anchor, class_="calc-limit")
