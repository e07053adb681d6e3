"""Tokens a second against the sequences that are served at once: all together, and each of them."""

from math import log

from calc.plots.placed import in_words, place
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
    powers,
    series,
    specification,
    tooltip,
    upward,
)
from calc.plots.served import Report, timed
from calc.units import show_count, show_number

TOGETHER, EACH = "All sequences together", "Each sequence"
LEAST, MOST = 64, 1024  # sequences up to which is drawn, as far as they fit
NEAR_END = 0.6  # of the drawing's width
KEYS = ("low", "typical", "high")


def draw(**scenario: object) -> Plot:
    """Return the decoding speeds of a scenario of inference for other numbers of sequences."""
    placed = place(scenario)
    found = timed(placed)
    own, most = placed.demand.sequences, found.most
    end = max(LEAST, 4 * own, min(MOST, 2 * most))
    batches = sorted({2**power for power in range(end.bit_length()) if 2**power <= end} | {own})
    speeds = {count: rates(found.report(count), count) for count in batches}
    points = [point(name, count, speeds[count][name]) for name in (TOGETHER, EACH) for count in batches]
    shown = show_number(speeds[own][TOGETHER]["typical"])
    limit: Row = {"sequences": max(most, 1), **beside(log(max(most, 1)) / log(batches[-1]), -4), "label": room(most)}
    last = {name: next(row for row in reversed(points) if row["series"] == name) for name in (TOGETHER, EACH)}
    data: dict[str, list[Row]] = {
        "points": points,
        "ends": [{**row, **beside(1, -12), "label": name} for name, row in last.items()],
        "own": [
            {
                **point(TOGETHER, own, speeds[own][TOGETHER]),
                **own_side(log(own) / log(batches[-1])),
                "label": f"{in_words(own)}: {shown} tokens/s",
            }
        ],
        "limit": [limit] if most <= batches[-1] else [],
    }
    name = f"{placed.asked.model_name}{placed.where()}"
    rows = [
        [show_count(count), *(show_number(speeds[count][series]["typical"]) for series in (TOGETHER, EACH))]
        for count in batches
    ]
    first, final = (speeds[count][TOGETHER]["typical"] for count in (batches[0], batches[-1]))
    summary = (
        f"Tokens a second of {name}: all sequences together from {show_number(first)} with 1 to {show_number(final)} "
        f"with {show_count(batches[-1])}, each from {show_number(first)} to {show_number(final / batches[-1])}. "
        f"{in_words(own).capitalize()}: {shown}. {room(most).capitalize()}."
    )
    caption = f"Tokens written a second against sequences at once: {name}; four of five measurements lie in the bands"
    headings = ("Sequences", f"{TOGETHER}, tokens/s", f"{EACH}, tokens/s")
    return Plot(caption, summary, drawing(), data, headings=headings, rows=rows)


def own_side(share: float) -> Row:
    """Return where the words of the scenario's point stand: under the line, which rises, or over it near its end."""
    return beside(0, 8 if share else 26) if share < NEAR_END else beside(1, -22)


def room(most: int) -> str:
    """Return how many sequences fit, in words."""
    return f"{show_count(most)} fit" if most else "none fits"


def rates(speed: Report, count: int) -> dict[str, dict[str, float]]:
    """Return the tokens a second of all sequences and of each, with their ranges."""
    together = speed["decode_tokens_per_s"]
    return {TOGETHER: together, EACH: {key: together[key] / count for key in KEYS}}


def point(name: str, count: int, rate: dict[str, float]) -> Row:
    """Return a point of a line, with its words."""
    shown = f"{show_number(rate['typical'])} tokens/s ({show_number(rate['low'])} to {show_number(rate['high'])})"
    return {"series": name, "sequences": count, "counted": in_words(count), "shown": shown, **rate}


def drawing() -> Spec:
    """Return the specification: bands, lines and their names, the most that fit, and the scenario's own point."""
    x = across("sequences", "Sequences at once", scale=logarithmic(2), axis=WHOLE)
    y = upward("typical", "Tokens/s", scale=logarithmic(), axis=powers())
    told = tooltip(series="Speed of", counted="With", shown="Speed")
    lines, dots = series(dashes=True), series(shapes=True)
    low, high = {**y, "field": "low"}, {"field": "high"}
    return specification(
        layer("points", "area", {"x": x, "y": low, "y2": high, "color": lines["color"]}, opacity=0.18),
        layer("limit", "rule", {"x": x}, color=LIMIT, strokeDash=[6, 3]),
        label("limit", {"x": x, "y": {"value": "height"}}, baseline="bottom", fill=LIMIT),
        layer("points", "line", {"x": x, "y": y, **lines}),
        layer("points", "point", {"x": x, "y": y, **dots, **told}, filled=True, size=40, opacity=1),
        label("ends", {"x": x, "y": y, "color": lines["color"]}, baseline="bottom"),
        layer("own", "point", {"x": x, "y": y, **told}, size=130, stroke=TEXT, strokeWidth=2, fill=GROUND, opacity=1),
        label("own", {"x": x, "y": y}, baseline="top"),
    )
