"""Points of cost against speed as a drawing: each is a link, and those that no other beats are joined."""

from math import ceil, floor, log10
from typing import NamedTuple

from calc.calculators.html import element, text
from calc.units import show_number

WIDTH, HEIGHT = 640, 348
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 32, 52
STEPS = (1, 2, 5), (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)  # the first that has enough within an axis
LEAST_TICKS = 3
ROOM = 1.15  # beside the outermost points


class Point(NamedTuple):
    """An option: what it costs, how fast it is, its name, where it leads, and whether no other beats it in both."""

    cost: float
    speed: float
    name: str
    address: str
    best: bool


class Axis(NamedTuple):
    """A logarithmic axis from one pixel to another."""

    least: float
    most: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        share = log10(value / self.least) / log10(self.most / self.least)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        """Return the ones, twos and fives within the axis, or more of its numbers where it has few of these."""
        powers = range(floor(log10(self.least)), ceil(log10(self.most)) + 1)
        found: list[float] = []
        for steps in STEPS:
            every = [step * 10.0**power for power in powers for step in steps]
            found = [value for value in every if self.least <= value <= self.most]
            if len(found) >= LEAST_TICKS:
                break
        return found


def axis(values: list[float], start: float, end: float) -> Axis:
    """Return the axis that holds all values, with some room."""
    return Axis(min(values) / ROOM, max(values) * ROOM, start, end)


def scatter_html(points: list[Point], across: str) -> str:
    """Return the drawing, of the speed over what is named `across`; it needs no script."""
    x = axis([point.cost for point in points], LEFT, WIDTH - RIGHT)
    y = axis([point.speed for point in points], HEIGHT - BOTTOM, TOP)
    drawn = "".join(mark(f"{x.at(value)}", f"{HEIGHT - BOTTOM}", value, "x") for value in x.ticks())
    drawn += "".join(mark(f"{LEFT}", f"{y.at(value)}", value, "y") for value in y.ticks())
    drawn += element("text", text(across), x=(LEFT + WIDTH) // 2, y=HEIGHT - 6, class_="scatter-axis")
    drawn += element("text", text("Tokens a second"), x=LEFT - 52, y=TOP - 14, class_="scatter-axis scatter-up")
    joined = sorted((x.at(point.cost), y.at(point.speed)) for point in points if point.best)
    line = " ".join(f"{across_at},{up_at}" for across_at, up_at in joined)
    drawn += element("polyline", points=line, class_="scatter-frontier")
    drawn += "".join(dot(point, x, y) for point in points)
    label = f"{across} against tokens a second: {len(points)} options, {len(joined)} that no other beats in both"
    shown = element("svg", drawn, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="group", aria_label=label, class_="scatter")
    caption = element(
        "figcaption", text("Each point opens its case. No other is both cheaper and faster than those on the line.")
    )
    return element("figure", shown + caption, class_="scatter-figure")


def mark(at_x: str, at_y: str, value: float, which: str) -> str:
    """Return a tick's line across the drawing and its number."""
    shown = element("text", text(f"{value:,.10g}"), x=at_x, y=at_y, class_=f"scatter-tick scatter-{which}")
    across, upward = (at_x, TOP) if which == "x" else (WIDTH - RIGHT, at_y)
    return element("line", x1=at_x, y1=upward, x2=across, y2=at_y, class_="scatter-grid") + shown


def dot(point: Point, x: Axis, y: Axis) -> str:
    """Return a point as a link with its figures."""
    said = f"{point.name}: {show_number(point.cost)}, {show_number(point.speed)}"
    circle = element("circle", element("title", text(said)), cx=f"{x.at(point.cost)}", cy=f"{y.at(point.speed)}", r=6)
    class_ = "scatter-best" if point.best else "scatter-other"
    # The theme writes the `href` of every link of a page anew, which a link in a drawing does not let it.
    return element("a", circle, aria_label=said, class_=class_, **{"xlink:href": point.address})
