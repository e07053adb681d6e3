"""Memory against context, for several numbers of sequences, with the device's limit and the reader's own case."""

from collections.abc import Callable
from itertools import pairwise
from math import log

from calc.calculators.sizes import size_gib
from calc.memory.budget import Demand
from calc.plots.placed import Placed, in_words, last, place
from calc.plots.plot import (
    GROUND,
    LIMIT,
    TEXT,
    WHOLE,
    Plot,
    Row,
    Spec,
    across,
    beside,
    label,
    layer,
    logarithmic,
    series,
    specification,
    tooltip,
    upward,
)
from calc.units import GIB, show_count

Points = list[tuple[int, int]]  # tokens of a context, and bytes

TIMES = (1, 4, 16)  # the scenario's own sequences, and more
LONGER = 16  # times the scenario's own context, that the drawing reaches at most
SHORTER = 128  # of the longest context, that the drawing begins at
STEPS = 10  # from the shortest to the longest
ROOM = 1.25  # of the limit, that is drawn


def draw(**scenario: object) -> Plot:
    """Return the memory of the fullest device for a scenario of inference at other contexts."""
    placed = place(scenario)
    used, limit = placed.need(placed.demand)
    sizes = sampled(placed, lambda demand: placed.need(demand).used_bytes)
    said = "; ".join(reach(placed, count, points, limit) for count, points in sizes.items()) if limit else ""
    name = f"{placed.asked.model_name}{placed.where()}"
    summary = f"Memory of {name}. At {show_count(placed.demand.tokens)} tokens it is {size_gib(used)}."
    plot = over_context(placed, sizes, limit)
    return plot._replace(caption=f"Memory against context: {name}", summary=f"{summary} {said}." if said else summary)


def reach(placed: Placed, sequences: int, points: Points, limit: int) -> str:
    """Return how long the contexts of some sequences may be, in words."""

    def fits(tokens: int) -> bool:
        return placed.need(placed.demand_of(tokens=tokens, sequences=sequences)).fits

    most, name = points[-1][0], in_words(sequences)
    if fits(most):
        return f"{name}: fits up to {show_count(most)} tokens and more"
    low, high, guess = 0, most, 0.0
    for (tokens, used), (after, more) in pairwise(points):
        if used <= limit < more and fits(tokens):
            low, guess = tokens, tokens + (limit - used) / (more - used) * (after - tokens)
    tokens = last(fits, low, high, int(guess))
    return f"{name}: fits up to {show_count(tokens)} tokens" if tokens else f"{name}: does not fit"


def counts(placed: Placed) -> list[int]:
    """Return the numbers of sequences that have a line."""
    return [placed.demand.sequences * times for times in TIMES]


def context_end(placed: Placed) -> int:
    """Return the longest context that is drawn: the model's own, unless the scenario's is far from it or beyond it."""
    own = placed.demand.tokens
    return max(own, min(placed.asked.context_limit or LONGER * own, LONGER * own))


def sampled(placed: Placed, size: Callable[[Demand], int]) -> dict[int, Points]:
    """Return what each number of sequences takes, from the shortest context that is drawn to the longest."""
    own, end = placed.demand.tokens, context_end(placed)
    start = max(min(end // SHORTER, own), 1)
    lengths = sorted({round(start * (end / start) ** (step / STEPS)) for step in range(STEPS + 1)} | {own})
    return {
        count: [(tokens, size(placed.demand_of(tokens=tokens, sequences=count))) for tokens in lengths]
        for count in counts(placed)
    }


def over_context(placed: Placed, found: dict[int, Points], limit: int | None) -> Plot:
    """Return the drawing without its words: lines, limit and the scenario's own point."""
    tokens, alone = placed.demand.tokens, found[placed.demand.sequences]
    lengths = [length for length, _ in alone]
    start, end, own = lengths[0], lengths[-1], dict(alone)[tokens]
    firsts = [points[0][1] for points in found.values()]
    top = max(ROOM * limit, 1.1 * own) if limit else max(1.05 * alone[-1][1], 1.2 * max(firsts)) or GIB
    place = log(tokens / start) / (log(end / start) or 1)
    data: dict[str, list[Row]] = {
        "points": [
            point(length, count, value) for count, points in found.items() for length, value in points if value <= top
        ],
        "lines": [row for count, points in found.items() for row in line(count, points, top)],
        "ends": [
            {**line(count, points, top)[-1], **beside(1), "label": in_words(count)} for count, points in found.items()
        ],
        "own": [
            {
                **point(tokens, placed.demand.sequences, own),
                **beside(place, 5 if 5 * own > top else -26),
                "label": f"{show_count(tokens)}: {size_gib(own)}",
            }
        ],
        "limit": [{"gib": limit / GIB, **beside(0, -4), "label": f"limit: {size_gib(limit)}"}] if limit else [],
        "frame": [{"tokens": start, "gib": 0}, {"tokens": end, "gib": top / GIB}],
    }
    headings = ("Tokens", *(in_words(count) for count in found))
    rows = [[show_count(length), *(size_gib(dict(points)[length]) for points in found.values())] for length in lengths]
    return Plot("", "", drawing(), data, headings=headings, rows=rows)


def point(tokens: int, count: int, value: int) -> Row:
    """Return a point of a line, with its words."""
    return {
        "series": in_words(count),
        "tokens": tokens,
        "gib": value / GIB,
        "shown": size_gib(value),
        "length": f"{show_count(tokens)} tokens",
    }


def line(count: int, points: Points, top: float) -> list[Row]:
    """Return a line up to where it leaves the drawing: at the right edge, or between two points at the top."""
    drawn: list[tuple[float, float]] = []
    for tokens, value in points:
        if value > top:
            before, low = drawn[-1] if drawn else (tokens, top)
            drawn.append((before + (top - low) / (value - low) * (tokens - before), top))
            break
        drawn.append((tokens, value))
    return [{"series": in_words(count), "tokens": tokens, "gib": value / GIB} for tokens, value in drawn]


def drawing() -> Spec:
    """Return the specification: lines that end at the frame, their names, the limit, and the scenario's own point."""
    x = across("tokens", "Tokens in the context", scale=logarithmic(2), axis=WHOLE)
    y = upward("gib", "Memory, GiB", scale={"nice": False, "domainMin": 0})
    told = tooltip(series="Sequences", length="Context", shown="Memory")
    lines, dots = series(dashes=True), series(shapes=True)
    return specification(
        layer("frame", "point", {"x": x, "y": y}, opacity=0, color=TEXT),
        layer("limit", "rule", {"y": y}, color=LIMIT, strokeDash=[6, 3]),
        label("limit", {"y": y, "x": {"value": 0}}, baseline="bottom", fill=LIMIT),
        layer("lines", "line", {"x": x, "y": y, **lines}),
        layer("points", "point", {"x": x, "y": y, **dots, **told}, filled=True, size=40, opacity=1),
        label("ends", {"x": x, "y": y, "color": lines["color"]}, baseline="top"),
        layer("own", "point", {"x": x, "y": y, **told}, size=130, stroke=TEXT, strokeWidth=2, fill=GROUND, opacity=1),
        label("own", {"x": x, "y": y}, baseline="top"),
    )
