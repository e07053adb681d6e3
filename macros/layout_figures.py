"""The drawing of parallel layouts: what each of four devices stores, computes with, and reads of the batch."""

from typing import NamedTuple

from calc.calculators.html import element, text
from macros.figures import whole_figure

__all__ = ["layout_figure"]

WIDE, TALL, STEP, ROW = 120, 56, 145, 92  # a box, from one box to the next, from one layout to the next
DEVICES = 4
WHOLE, ROWS, COLUMNS, EXPERTS = "whole", "rows", "columns", "experts"  # how a box is divided


class Layout(NamedTuple):
    """A way to divide work: its name, and how its three boxes are divided."""

    name: str
    stored: str
    computed: str
    batch: str
    words: str  # for those who do not see it


LAYOUTS = (
    Layout("Data parallelism", WHOLE, WHOLE, ROWS, words="each stores all layers and reads sequences of its own"),
    Layout(
        "ZeRO-3, FSDP",
        COLUMNS,
        WHOLE,
        ROWS,
        words="each stores a part of a layer, gathers the rest, reads its sequences",
    ),
    Layout(
        "Tensor parallelism", COLUMNS, COLUMNS, WHOLE, words="each has a part of every matrix, and all read all tokens"
    ),
    Layout("Pipeline", ROWS, ROWS, WHOLE, words="each has some of the layers, and every token passes all of them"),
    Layout(
        "Context parallelism", WHOLE, WHOLE, COLUMNS, words="each stores all layers and reads a part of every sequence"
    ),
    Layout(
        "Expert parallelism", EXPERTS, EXPERTS, ROWS, words="each has other experts, a copy of the rest, its sequences"
    ),
)
TITLES = ("Each stores", "computes with", "reads")
SIDES = ("layers ↓", "layers ↓", "texts ↓ tokens →")


def cells(way: str) -> list[tuple[float, float, float, float, int | None]]:
    """Return the parts of a box: place and size as shares of it, and the device; None for all devices."""
    if way == WHOLE:
        return [(0, 0, 1, 1, None)]
    part = 1 / DEVICES
    if way == ROWS:
        return [(0, part * device, 1, part, device) for device in range(DEVICES)]
    if way == COLUMNS:
        return [(part * device, 0, part, 1, device) for device in range(DEVICES)]
    return [(0, 0, 1, 1 / 3, None), *((part * device, 1 / 3, part, 2 / 3, device) for device in range(DEVICES))]


def box(way: str, left: float, top: float) -> str:
    """Return a box with its parts, each marked with its device."""
    drawn = ""
    for across, down, wide, tall, device in cells(way):
        x, y = left + across * WIDE, top + down * TALL
        kind = "figure-all" if device is None else f"figure-device-{device}"
        drawn += element(
            "rect",
            x=f"{x:g}",
            y=f"{y:.1f}",
            width=f"{wide * WIDE:g}",
            height=f"{tall * TALL:.1f}",
            class_=f"figure-part {kind}",
        )
        words = "all" if device is None else str(device + 1)
        middle = y + tall * TALL / 2 + 4.5
        drawn += element("text", words, x=f"{x + wide * WIDE / 2:g}", y=f"{middle:.1f}", class_="figure-mark")
    return drawn


def layout_figure() -> str:
    """Return the figure of parallel layouts over four devices, one under the other."""
    drawn = ""
    for column, (title, side) in enumerate(zip(TITLES, SIDES, strict=True)):
        drawn += element("text", text(title), x=column * STEP, y=14, class_="figure-peak")
        drawn += element("text", text(side), x=column * STEP, y=30, class_="figure-side")
    for row, layout in enumerate(LAYOUTS):
        top = 40 + row * ROW
        drawn += element("text", text(layout.name), x=0, y=top + 16)
        for column, way in enumerate((layout.stored, layout.computed, layout.batch)):
            drawn += box(way, column * STEP, top + 24)
    summary = "What four devices share. " + " ".join(f"{layout.name}: {layout.words}." for layout in LAYOUTS)
    caption = "What each of four devices stores, computes with and reads of a batch. “All” is whole on every device."
    return whole_figure(drawn, "", caption, summary, height=40 + ROW * len(LAYOUTS))
