"""What changes an answer most: bars from the answer to where each input, one step down or up, takes it."""

from collections.abc import Callable
from typing import NamedTuple

from calc.plots.one_step_away import Moved, Report, Scenario, moved
from calc.plots.plot import LIMIT, TEXT, Plot, Row, Spec, across, beside, label, layer, specification, tooltip

MOST = 5  # inputs that are shown, those first that change most
LINE, EDGES = 44, 96  # of the height: a bar with its words above it, and the axis
DOWN, UP = "var(--calc-recurrent-state)", "var(--calc-kv-cache)"


class Quantity(NamedTuple):
    """What is looked at: its axis, its measure in a report, its words, and whether only what fits has it."""

    axis: str
    measure: Callable[[Report], float | None]
    show: Callable[[float], str]
    fits: bool = False


def sensitivity(
    scenario: Scenario, report: Report, quantity: Quantity, *, what: str, limit: float | None = None
) -> Plot:
    """Return the inputs whose steps change a quantity most; `what` it is called, and `limit` what it may reach.

    Only inputs that the scenario names are moved: those that a form asks.
    """
    own = quantity.measure(report)
    assert own is not None
    found = []
    for name, ends in moved(scenario, report["scenario"], quantity.measure):
        if any(end.value != own for end in ends):
            found.append((name, ends))
    found.sort(key=lambda pair: -max((abs(end.value - own) for end in drawn(pair[1], quantity)), default=0.0))
    shown = found[:MOST]
    said = [words(name, ends, quantity) for name, ends in shown]
    case = f"{what} of {report['model']['name'] or 'the model'}"
    lines = [(str(line), name, drawn(ends, quantity)) for line, (name, ends) in enumerate(shown)]
    reached = [own, *(end.value for _, _, ends in lines for end in ends), *([limit] if limit else [])]
    share = (own - min(reached)) / (max(reached) - min(reached) or 1)
    marks: dict[str, list[Row]] = {
        "bars": [
            {
                "line": line,
                "bar": name,
                "from": own,
                "to": end.value,
                "colour": side(end.value, own),
                "shown": told(end, quantity),
            }
            for line, name, ends in lines
            for end in ends
        ],
        "names": [
            {"line": line, **beside(0, -20), "label": words_of}
            for (line, _, _), words_of in zip(lines, said, strict=True)
        ],
        "own": [{"value": own, **beside(share, -9), "label": f"yours: {quantity.show(own)}"}],
        "limit": [{"value": limit}] if limit else [],
    }
    return Plot(
        caption=f"What changes it most, one step down or up: {case}",
        summary=f"{case} is {quantity.show(own)}{f' of {quantity.show(limit)}' if limit else ''}. {'; '.join(said)}.",
        specification=drawing(quantity),
        data=marks,
        headings=("Input", "To", what, "Fits"),
        rows=[
            [name, end.to, quantity.show(end.value), "yes" if end.fits else "no"]
            for name, ends in shown
            for end in ends
        ],
    )


def side(value: float, own: float) -> str:
    """Return the colour of a bar to where a step takes the answer: of less, or of more."""
    return UP if value > own else DOWN


def drawn(ends: list[Moved], quantity: Quantity) -> list[Moved]:
    """Return the ends that have a bar: all, or those that fit."""
    return [end for end in ends if end.fits or not quantity.fits]


def words(name: str, ends: list[Moved], quantity: Quantity) -> str:
    """Return an input with where each step takes the answer."""
    return f"{name} {', '.join(told(end, quantity) for end in ends)}"


def told(end: Moved, quantity: Quantity) -> str:
    """Return where a step takes the answer."""
    return f"{end.to}: {quantity.show(end.value) if end.fits or not quantity.fits else 'does not fit'}"


def drawing(quantity: Quantity) -> Spec:
    """Return the specification: bars from the answer to where steps take it, their words above them."""
    lines = [str(line) for line in range(MOST)]
    y: Spec = {"field": "line", "type": "nominal", "axis": None, "scale": {"domain": lines, "paddingInner": 0.6}}
    x = across("from", quantity.axis, scale={"nice": False, "zero": False})
    bars: Spec = {"x": x, "x2": {"field": "to"}, "y": y, "color": {"field": "colour", "type": "nominal", "scale": None}}
    return specification(
        layer("bars", "bar", {**bars, **tooltip(bar="Input", shown="To")}),
        layer("own", "rule", {"x": {**x, "field": "value"}}, color=TEXT),
        layer("limit", "rule", {"x": {**x, "field": "value"}}, color=LIMIT, strokeDash=[6, 3]),
        label("own", {"x": {**x, "field": "value"}, "y": {"value": 0}}, baseline="bottom"),
        label("names", {"y": y, "x": {"value": 0}}, baseline="middle"),
        height=EDGES + LINE * MOST,
    )
