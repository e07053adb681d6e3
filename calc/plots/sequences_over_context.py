"""Context against sequences: the field of what fits on the devices, with the reader's own case in it."""

from math import log

from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.planning.fit import MOST_SEQUENCES
from calc.plots.memory_over_context import context_end
from calc.plots.one_step_away import lower_caches
from calc.plots.placed import Placed, in_words, place
from calc.plots.plot import (
    GROUND,
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
    specification,
    tooltip,
    upward,
)
from calc.units import show_count

STEPS = 12  # from the shortest to the longest context
SHORTER = 128  # of the longest context, that the drawing begins at
LEAST, MOST = 64, 4096  # sequences up to which is drawn, as far as they fit
ANY = "any number"
FITS = "var(--calc-good)"
LOWER = "var(--calc-kv-cache)"

Edge = dict[int, int]  # the most sequences by the tokens of each


def draw(**scenario: object) -> Plot:
    """Return how many sequences of which length fit: the field under an edge. Raises ScenarioError without a device."""
    placed = place(scenario)
    if placed.accelerator is None:
        raise ScenarioError("accelerator", "is missing: what fits depends on it")
    lengths = sampled(placed)
    edge = edge_of(placed, lengths)
    lower = next(iter(lower_caches(placed.asked.engine, placed.demand.keys.id)), None)
    others = edge_of(place({**scenario, "kv_cache": lower, "kv_cache_v": None}), lengths) if lower else {}
    own, tokens = placed.demand.sequences, placed.demand.tokens
    top = max(LEAST, 4 * own, min(MOST, max(edge.values())))
    said = words(own, tokens, edge)
    name = f"{placed.asked.model_name}{placed.where()}"
    cache = catalog().number_format(lower).name if lower else ""
    x, y = log(tokens / lengths[0]) / log(lengths[-1] / lengths[0]), log(own) / log(top)
    data: dict[str, list[Row]] = {
        "field": marks(edge, top),
        "edge": marks(edge, top),
        "lower": marks(others, top),
        "own": [
            {
                "tokens": tokens,
                "sequences": own,
                **beside(x, -16 if y < 0.9 else 16),
                "label": "yours",
                "shown": said,
            }
        ],
        "names": names(edge, others, cache, top),
        "frame": [{"tokens": lengths[0], "sequences": 1}, {"tokens": lengths[-1], "sequences": top}],
    }
    headings = ("Tokens each", "Sequences that fit", *([f"With the cache in {cache}"] if others else []))
    return Plot(
        caption=f"What fits, context against sequences: {name}",
        summary=f"Sequences of {name} that fit at once. {said}",
        specification=drawing(),
        data=data,
        headings=headings,
        rows=[
            [show_count(length), figure(edge[length]), *([figure(others[length])] if others else [])]
            for length in lengths
        ],
    )


def sampled(placed: Placed) -> list[int]:
    """Return the lengths that are looked at, the reader's own among them."""
    own, end = placed.demand.tokens, context_end(placed)
    start = max(min(end // SHORTER, own), 1)
    return sorted({round(start * (end / start) ** (step / STEPS)) for step in range(STEPS + 1)} | {own})


def edge_of(placed: Placed, lengths: list[int]) -> Edge:
    """Return the most sequences of each length that fit."""
    return {tokens: placed.most_sequences(tokens) for tokens in lengths}


def words(own: int, tokens: int, edge: Edge) -> str:
    """Return how the reader's case lies in the field."""
    most = edge[tokens]
    verdict = "fits" if own <= most else "does not fit"
    up_to = f"{counted(most)} of this length fit" if most else "not even one of this length fits"
    return f"Yours, {in_words(own)} of {show_count(tokens)} tokens, {verdict}: {up_to}."


def counted(most: int) -> str:
    """Return the most sequences in words; where nothing is kept of them, memory bounds no number."""
    return in_words(most) if most < MOST_SEQUENCES - 1 else ANY


def figure(most: int) -> str:
    """Return the same as a cell of the table."""
    return show_count(most) if most < MOST_SEQUENCES - 1 else ANY


def marks(edge: Edge, top: int) -> list[Row]:
    """Return the points of an edge where something fits, no higher than the drawing."""
    return [
        {"tokens": tokens, "sequences": min(most, top), "least": 1, "shown": f"{show_count(tokens)}: {counted(most)}"}
        for tokens, most in edge.items()
        if most
    ]


def names(edge: Edge, others: Edge, cache: str, top: int) -> list[Row]:
    """Return the words in the drawing: where all fits, and the edge of a cache in fewer bits."""
    first = next(iter(edge))
    found: list[Row] = [{"tokens": first, "sequences": 1.3, **beside(0), "label": "fits" if any(edge.values()) else ""}]
    visible = [(tokens, most) for tokens, most in others.items() if 1 <= most < top]
    if visible:
        tokens, most = visible[len(visible) // 2]
        found.append({"tokens": tokens, "sequences": most, **beside(0, -8), "label": f"cache in {cache}"})
    return found


def drawing() -> Spec:
    """Return the specification: the field, its edge and that of a smaller cache, and the reader's own point."""
    x = across("tokens", "Tokens in the context", scale=logarithmic(2), axis=WHOLE)
    y = upward("sequences", "Sequences at once", scale=logarithmic(2), axis=WHOLE)
    told = tooltip(shown="Tokens: most sequences")
    return specification(
        layer("frame", "point", {"x": x, "y": y}, opacity=0, color=TEXT),
        layer("field", "area", {"x": x, "y": y, "y2": {"field": "least"}}, color=FITS, opacity=0.22),
        layer("edge", "line", {"x": x, "y": y}, color=FITS),
        layer("lower", "line", {"x": x, "y": y}, color=LOWER, strokeDash=[6, 4]),
        layer("edge", "point", {"x": x, "y": y, **told}, filled=True, size=30, color=FITS, opacity=1),
        label("names", {"x": x, "y": y}, baseline="bottom"),
        layer("own", "point", {"x": x, "y": y, **told}, size=130, stroke=TEXT, strokeWidth=2, fill=GROUND, opacity=1),
        label("own", {"x": x, "y": y}, baseline="middle"),
    )
