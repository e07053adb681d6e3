"""Memory against context, for several numbers of sequences, with the device's limit and the reader's own case."""

from math import log

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
from calc.units import GIB, show_count, show_gib

TIMES = (1, 4, 16)  # the scenario's own sequences, and more
LONGER = 16  # times the scenario's own context, that the drawing reaches at most
SHORTER = 128  # of the longest context, that the drawing begins at
STEPS = 14  # from the shortest to the longest
ROOM = 1.25  # of the limit, that is drawn


def draw(**scenario: object) -> Plot:
    """Return the memory of the fullest device for a scenario of inference at other contexts."""
    placed = place(scenario)
    used, limit = placed.need(placed.demand)
    plot = over_context(placed, limit)
    name = f"{placed.asked.model_name}{placed.where()}"
    most = context_end(placed)
    said = "; ".join(reach(placed, count, most) for count in counts(placed)) if limit else ""
    summary = (
        f"At {show_count(placed.demand.tokens)} tokens it is {show_gib(used)}. {said + '.' if said else ''}".strip()
    )
    return plot._replace(caption=f"Memory against context: {name}", summary=f"Memory of {name}. {summary}")


def reach(placed: Placed, sequences: int, most: int) -> str:
    """Return how long the contexts of some sequences may be, in words."""

    def fits(tokens: int) -> bool:
        return placed.need(placed.demand_of(tokens=tokens, sequences=sequences)).fits

    tokens = last(fits, most)
    if not tokens:
        return f"{in_words(sequences)}: does not fit"
    return f"{in_words(sequences)}: fits up to {show_count(tokens)} tokens{' and more' if tokens == most else ''}"


def counts(placed: Placed) -> list[int]:
    """Return the numbers of sequences that have a line."""
    return [placed.demand.sequences * times for times in TIMES]


def context_end(placed: Placed) -> int:
    """Return the longest context that is drawn: the model's own, unless the scenario's is far from it or beyond it."""
    own = placed.demand.tokens
    return max(own, min(placed.asked.context_limit or LONGER * own, LONGER * own))


def over_context(placed: Placed, limit: int | None, *, cache_alone: bool = False) -> Plot:
    """Return the drawing without its words: lines, limit and the scenario's own point."""

    def size(tokens: int, sequences: int) -> int:
        demand = placed.demand_of(tokens=tokens, sequences=sequences)
        if cache_alone:
            budget = placed.budget(demand)
            return budget.kv_cache + budget.recurrent_state
        return placed.need(demand).used_bytes

    own_tokens, end = placed.demand.tokens, context_end(placed)
    start = max(min(end // SHORTER, own_tokens), 1)
    lengths = sorted({round(start * (end / start) ** (step / STEPS)) for step in range(STEPS + 1)} | {own_tokens})
    found = {count: [(tokens, size(tokens, count)) for tokens in lengths] for count in counts(placed)}
    own = next(value for tokens, value in found[placed.demand.sequences] if tokens == own_tokens)
    top = max(ROOM * limit, 1.1 * own) if limit else 1.05 * found[placed.demand.sequences][-1][1]
    data: dict[str, list[Row]] = {
        "points": [
            point(tokens, count, value) for count, points in found.items() for tokens, value in points if value <= top
        ],
        "lines": [row for count, points in found.items() for row in line(count, points, top)],
        "ends": [
            {**line(count, points, top)[-1], **beside(1), "label": in_words(count)} for count, points in found.items()
        ],
        "own": [
            {
                **point(own_tokens, placed.demand.sequences, own),
                **beside(log(own_tokens / start) / (log(end / start) or 1), 5 if 5 * own > top else -26),
                "label": f"{show_count(own_tokens)}: {show_gib(own)}",
            }
        ],
        "limit": [{"gib": limit / GIB, **beside(0, -4), "label": f"limit: {show_gib(limit)}"}] if limit else [],
        "frame": [{"tokens": start, "gib": 0}, {"tokens": end, "gib": top / GIB}],
    }
    headings = ("Tokens", *(in_words(count) for count in found))
    rows = [[show_count(tokens), *(show_gib(dict(found[count])[tokens]) for count in found)] for tokens in lengths]
    return Plot("", "", drawing(), data, headings, rows)


def point(tokens: int, count: int, value: int) -> Row:
    """Return a point of a line, with its words."""
    return {
        "series": in_words(count),
        "tokens": tokens,
        "gib": value / GIB,
        "shown": show_gib(value),
        "length": f"{show_count(tokens)} tokens",
    }


def line(count: int, points: list[tuple[int, int]], top: float) -> list[Row]:
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
