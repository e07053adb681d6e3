"""Drawings of links: a ring that adds up, and how devices in a machine reach each other."""

from calc.calculators.html import element, text
from calc.catalog import catalog
from macros.markdown import block

__all__ = ["cards_figure", "ring_figure", "switched_figure"]

WIDTH = 420


def svg(drawn: str, height: int, summary: str, width: int = WIDTH) -> str:
    """Return a drawing with a text for those who do not see it."""
    return element("svg", drawn, viewBox=f"0 0 {width} {height}", role="img", aria_label=summary)


def figure(drawing: str, caption: str) -> str:
    """Return a drawing with what stands under it."""
    return block(element("figure", drawing + element("figcaption", text(caption)), class_="figure"))


def label(content: str, x: float, y: float, anchor: str = "middle", class_: str | None = None) -> str:
    """Return a text in a drawing."""
    return element("text", text(content), x=f"{x:g}", y=f"{y:g}", text_anchor=anchor, class_=class_)


def box(x: float, y: float, width: float, height: float, content: str, class_: str = "figure-box") -> str:
    """Return a box with a text in its middle."""
    drawn = element("rect", x=f"{x:g}", y=f"{y:g}", width=f"{width:g}", height=f"{height:g}", rx="4", class_=class_)
    return drawn + (label(content, x + width / 2, y + height / 2 + 5) if content else "")


def wire(x1: float, y1: float, x2: float, y2: float, class_: str = "figure-wire") -> str:
    """Return a line between two places."""
    return element("line", x1=f"{x1:g}", y1=f"{y1:g}", x2=f"{x2:g}", y2=f"{y2:g}", class_=class_)


PIECES = ("a", "b", "c", "d")


def wire_to(path: str) -> str:
    """Return a wire that ends in a tip."""
    return element("path", d=path, class_="figure-wire", marker_end="url(#ring-tip)")


def ring_figure() -> str:
    """Return an all-reduce around a ring of four: the pieces before, between its two halves, and after."""
    stages = (
        ("Before", [[f"{piece}{rank + 1}" for piece in PIECES] for rank in range(4)]),
        (
            "After three steps",
            [[f"Σ{piece}" if (rank + 1) % 4 == at else "" for at, piece in enumerate(PIECES)] for rank in range(4)],
        ),
        ("After six steps", [[f"Σ{piece}" for piece in PIECES] for _ in range(4)]),
    )
    drawn, cell, height = "", 31, 24
    for index, (title, ranks) in enumerate(stages):
        top = index * 158
        drawn += label(title, 4, top + 16, "start", class_="figure-title")
        for rank, pieces in enumerate(ranks):
            y = top + 26 + rank * (height + 6)
            drawn += label(f"GPU {rank + 1}", 62, y + 17, "end")
            for at, piece in enumerate(pieces):
                class_ = "figure-summed" if piece.startswith("Σ") else "figure-box" if piece else "figure-empty"
                drawn += box(72 + at * (cell + 4), y, cell, height, content=piece, class_=class_)
            if index < 2 and rank < 3:  # to the next one
                drawn += wire_to(f"M222 {y + 15:g}V{y + height + 12:g}")
        if index < 2:  # and from the last to the first
            first, last = top + 26 + height / 2, top + 26 + 3 * (height + 6) + height / 2
            drawn += wire_to(f"M230 {last:g}h18V{first:g}h-16")
        if index < 2:
            words = ("Three times, each GPU sends one", "piece on and adds what it gets:", "reduce-scatter.")
            again = ("Three times more, each sends on", "a finished piece:", "all-gather.")
            for line, content in enumerate((words, again)[index]):
                drawn += label(content, 268, top + 56 + line * 19, "start", class_="figure-small")
    tip = element("path", d="M0 0L8 4L0 8z", class_="figure-tip")
    marker = element(
        "marker",
        tip,
        id="ring-tip",
        viewBox="0 0 8 8",
        refX="7",
        refY="4",
        markerWidth="7",
        markerHeight="7",
        orient="auto",
    )
    summary = (
        "An all-reduce around a ring of four GPUs. Each begins with four pieces of its own. In three steps each sends"
        " a piece to the next and adds what it receives; then each has one finished sum. In three further steps the"
        " finished sums go around, and all have all four."
    )
    caption = (
        "In each step every GPU sends a quarter of the message and receives one. Six steps make six quarters:"
        " twice three quarters of the message."
    )
    return figure(svg(element("defs", marker) + drawn, 474, summary, 480), caption)


def switched_figure() -> str:
    """Return eight devices on switches: each reaches each other one at its full rate."""
    drawn = ""
    for at in range(8):
        x, top = 8 + (at % 4) * 104, 8 if at < 4 else 156
        drawn += wire(x + 46, 48 if at < 4 else 156, x + 46, 84 if at < 4 else 120, class_="figure-wide")
        drawn += box(x, top, 92, 40, content=f"GPU {at}")
    drawn += box(8, 84, 404, 36, content="NVSwitch", class_="figure-summed")
    link = catalog().link("nvlink-4")
    drawn += label(f"NVLink: {link.one_way.show()} one way, from each to all", 210, 216, class_="figure-small")
    summary = "Eight GPUs, each joined by NVLink to switches in the middle; any two reach each other at the full rate."
    return figure(svg(drawn, 224, summary), "Eight GPUs on switches: a pair has as much between it as all eight.")


def cards_figure() -> str:
    """Return eight cards on PCIe: they share what is between the processors."""
    drawn = wire(160, 92, 260, 92, class_="figure-wide")
    for at in range(8):
        x = 4 + at * 52
        drawn += wire(x + 22, 132, 106 if at < 4 else 314, 110)
        drawn += box(x, 132, 44, 36, content=str(at))
    drawn += box(52, 74, 108, 36, content="Processor", class_="figure-summed") + box(
        260, 74, 108, 36, content="Processor", class_="figure-summed"
    )
    drawn += box(52, 8, 108, 36, content="Memory") + box(260, 8, 108, 36, content="Memory")
    drawn += wire(106, 44, 106, 74) + wire(314, 44, 314, 74)
    link = catalog().link("pcie-4-x16")
    drawn += label(f"PCIe 4.0: {link.one_way.show()} one way, for each card", 210, 192, class_="figure-small")
    drawn += label("Without peer access: up to the memory and down again", 210, 212, class_="figure-small")
    summary = (
        "Eight cards, four on each of two processors. Messages between cards pass the processor, or both of them, and"
        " the host's memory where cards may not read each other's."
    )
    return figure(
        svg(drawn, 220, summary), "Eight cards on PCIe: what is between them is shared, and the way is longer."
    )
