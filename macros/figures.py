"""Drawings as SVG: lines over two logarithmic axes, with a legend in words and a text for those who do not see it."""

from math import log2
from typing import NamedTuple

from calc.calculators.html import element, text
from macros.markdown import block

WIDTH, HEIGHT = 420, 300
LEFT, RIGHT, TOP, BOTTOM = 66, 30, 12, 44  # room for the axes' words


class Line(NamedTuple):
    """One line: its name in the legend and its points."""

    name: str
    points: list[tuple[float, float]]


class Dots(NamedTuple):
    """One group of points: its name in the legend and its points."""

    name: str
    points: list[tuple[float, float]]


class Axis(NamedTuple):
    """A logarithmic axis: its marks, each a value with its words, from the least to the most, and what it counts."""

    title: str
    marks: list[tuple[float, str]]

    def place(self, value: float) -> float:
        """Return where a value lies between the first mark, 0, and the last, 1."""
        first, last = log2(self.marks[0][0]), log2(self.marks[-1][0])
        return (log2(value) - first) / (last - first)


class Frame(NamedTuple):
    """Two axes and where a pair of values lies between them."""

    across: Axis
    up: Axis

    def x(self, value: float) -> float:
        """Return how far from the left a value lies."""
        return round(LEFT + self.across.place(value) * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        """Return how far from the top a value lies."""
        return round(HEIGHT - BOTTOM - self.up.place(value) * (HEIGHT - TOP - BOTTOM), 1)

    def draw(self) -> str:
        """Return the marks of both axes and the words of the lower one."""
        drawn = ""
        for value, words in self.up.marks:
            place = self.y(value)
            drawn += element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=f"{place}", y2=f"{place}", class_="figure-grid")
            drawn += element("text", text(words), x=LEFT - 6, y=f"{place + 5}", text_anchor="end")
        for value, words in self.across.marks:
            drawn += element("text", text(words), x=f"{self.x(value)}", y=HEIGHT - BOTTOM + 18, text_anchor="middle")
        middle = (LEFT + WIDTH - RIGHT) // 2
        return drawn + element("text", text(self.across.title), x=middle, y=HEIGHT - 6, text_anchor="middle")


def line_figure(lines: list[Line], across: Axis, up: Axis, *, caption: str, summary: str) -> str:
    """Return a figure of lines; `caption` stands under it, `summary` says what one would see."""
    frame = Frame(across, up)
    drawn = frame.draw()
    for index, line in enumerate(lines):
        points = " ".join(f"{frame.x(a)},{frame.y(b)}" for a, b in line.points)
        drawn += element("polyline", points=points, class_=f"figure-line figure-line-{index}")
    legend = "".join(legend_entry(index, line.name) for index, line in enumerate(lines))
    return whole_figure(drawn, legend, caption, summary)


def whole_figure(drawn: str, legend: str, caption: str, summary: str, height: int = HEIGHT) -> str:
    """Return a drawing with its legend, if it has one, and what stands under it."""
    drawing = element("svg", drawn, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=summary)
    said = element("figcaption", text(caption))
    listed = element("ul", legend) if legend else ""
    return block(element("figure", drawing + listed + said, class_="figure"))


def legend_entry(index: int, name: str) -> str:
    """Return a line's piece and its name."""
    piece = element("line", x1=0, x2=40, y1=6, y2=6, class_=f"figure-line figure-line-{index}")
    drawing = element("svg", piece, viewBox="0 0 40 12", aria_hidden="true")
    return element("li", drawing + text(name))


# The shapes of groups of dots, drawn from where the dot lies: ring, cross, square, triangle, plus.
SHAPES = (
    "m-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0",
    "m-2.5-2.5l5 5m0-5l-5 5",
    "m-2-2h4v4h-4z",
    "m0-3l3 5h-6z",
    "m-3 0h6m-3-3v6",
)


def scatter_figure(groups: list[Dots], across: Axis, up: Axis, *, caption: str, summary: str) -> str:
    """Return a figure of dots over two equal axes, with the lines where both values are equal, half and twice.

    Each group is one path, so that a thousand dots stay small. `caption` and `summary` are those of `line_figure`.
    """
    frame = Frame(across, up)
    drawn = frame.draw() + "".join(ratio_line(frame, ratio) for ratio in (1, 0.5, 2))
    for index, group in enumerate(groups):
        places = dict.fromkeys(f"M{frame.x(a):g} {frame.y(b):g}" for a, b in group.points)
        dots = "".join(place + SHAPES[index] for place in places)
        drawn += element("path", d=dots, class_=f"figure-dots figure-dots-{index}")
    legend = ""
    for index, group in enumerate(groups):
        piece = element("path", d=f"M6 6{SHAPES[index]}", class_=f"figure-dots figure-dots-{index}")
        drawing = element("svg", piece, viewBox="0 0 12 12", class_="figure-dot", aria_hidden="true")
        legend += element("li", drawing + text(group.name))
    drawn += element("text", text(up.title), x=LEFT + 6, y=TOP + 12)
    return whole_figure(drawn, legend, caption, summary)


def ratio_line(frame: Frame, ratio: float) -> str:
    """Return the line on which the upper value is `ratio` times the lower one, within the axes."""
    least, most = frame.across.marks[0][0], frame.across.marks[-1][0]
    first, last = max(least, least / ratio), min(most, most / ratio)
    places = {"x1": first, "x2": last, "y1": first * ratio, "y2": last * ratio}
    drawn = {name: f"{(frame.x if name[0] == 'x' else frame.y)(value)}" for name, value in places.items()}
    return element("line", class_="figure-equal" if ratio == 1 else "figure-equal figure-twice", **drawn)
