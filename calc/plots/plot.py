"""What a plot is, and the parts of Vega-Lite that all of them are made of.

A plot is drawn when the site is built and again in the page, from one specification. Colours are the style sheet's
variables, so both schemes follow; nothing is told by colour alone: lines have dashes and names, dots have shapes.
Numbers are written by Python, in the words of the rest of the guide; Vega only places them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

Row = dict[str, object]
Spec = dict[str, object]

WIDTH, HEIGHT = 400, 290  # of the whole drawing, which a page scales; a phone shows it at three quarters
FONT_SIZE = 15
TEXT, FAINT, GRID = "currentColor", "var(--md-default-fg-color--light)", "var(--md-default-fg-color--lightest)"
GROUND = "var(--md-default-bg-color)"
LIMIT = "var(--calc-over)"
COLOURS = [
    f"var(--calc-{name})" for name in ("weights", "kv-cache", "recurrent-state", "logits", "activations", "workspaces")
]
DASHES = [[1, 0], [9, 3], [3, 3], [12, 3, 3, 3], [6, 6], [2, 5]]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
WHOLE: Spec = {"format": ",", "labelOverlap": "parity", "labelSeparation": 8}  # an axis of whole numbers
CONFIG: Spec = {
    "aria": False,  # the drawing has one text alternative and a table, which say more than its hundred marks
    "mark": {"aria": False},
    "background": None,
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": TEXT,
        "titleColor": TEXT,
        "domainColor": FAINT,
        "tickColor": FAINT,
        "gridColor": GRID,
        "labelFontSize": FONT_SIZE,
        "titleFontSize": FONT_SIZE,
        "titleFontWeight": "normal",
    },
    "legend": {"labelColor": TEXT, "labelFontSize": FONT_SIZE, "labelLimit": 0, "orient": "bottom", "title": None},
    "text": {"color": TEXT, "fontSize": FONT_SIZE},
    "line": {"strokeWidth": 2.5},
    "rule": {"strokeWidth": 1.5},
}


class Plot(NamedTuple):
    """A plot: its specification and data, and what stands beside it in words and numbers."""

    caption: str
    summary: str  # what one would see, for those who do not
    specification: Spec  # Vega-Lite; its data sets are named and empty
    data: dict[str, list[Row]]
    headings: tuple[str, ...]
    rows: list[list[str]]  # of the table of the data

    def whole(self) -> Spec:
        """Return the specification with its data."""
        return {**self.specification, "description": self.summary, "datasets": self.data}


def specification(*layers: Spec, height: int = HEIGHT, **more: object) -> Spec:
    """Return layers over common axes as one specification, of a size that does not depend on the data."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": WIDTH,
        "height": height,
        "padding": 4,
        "autosize": {"type": "fit", "contains": "padding"},
        "layer": list(layers),
        "config": CONFIG,
        **more,
    }


def layer(data: str, mark: str, encoding: Spec, *, params: Sequence[Spec] = (), **more: object) -> Spec:
    """Return marks for each row of a data set."""
    found: Spec = {"data": {"name": data}, "mark": {"type": mark, **more}, "encoding": encoding}
    return {**found, "params": list(params)} if params else found


def across(field: str, title: str, **more: object) -> Spec:
    """Return a quantity from left to right, its title below."""
    return quantity(field, {"title": title, "tickCount": 5}, more)


def upward(field: str, title: str, **more: object) -> Spec:
    """Return a quantity from bottom to top, its title above, where a narrow drawing has room for it."""
    place = {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleX": 0, "titleY": -10}
    return quantity(field, {"title": title, "tickCount": 5, **place}, more)


def quantity(field: str, axis: Spec, more: Spec) -> Spec:
    """Return a quantity's encoding; `scale` and further parts of `axis` are among what `more` has."""
    own = more.pop("axis", {})
    assert isinstance(own, dict)
    return {"field": field, "type": "quantitative", "axis": {"format": ",~f", **axis, **own}, **more}


def powers() -> Spec:
    """Return an axis of a logarithmic quantity: its numbers as they are, and no lines for those between."""
    return {"format": ",~g", "grid": False}


def logarithmic(base: int = 10, **more: object) -> Spec:
    """Return a logarithmic scale that ends where the data do."""
    return {"type": "log", "base": base, "nice": False, **more}


def beside(share: float, below: int = 0) -> Row:
    """Return on which side of a mark its words stand, by where it lies between the left edge, 0, and the right, 1."""
    side = {"align": "left", "dx": 8} if share < 0.5 else {"align": "right", "dx": -8}
    return {**side, "dy": below}


def series(
    *, dashes: bool = False, shapes: bool = False, names: Sequence[str] = (), legend: Spec | None = None
) -> Spec:
    """Return what tells series apart: colours, and dashes or shapes, in the order of `names`, else of the data.

    A legend needs the names: with them its colours and shapes are one.
    """
    told: Spec = {"field": "series", "type": "nominal", "sort": None, "legend": legend}
    ranges: dict[str, Sequence[object]] = {"color": COLOURS}
    if dashes:
        ranges["strokeDash"] = DASHES
    if shapes:
        ranges["shape"] = SHAPES
    domain: Spec = {"domain": list(names)} if names else {}
    return {
        channel: {**told, "scale": {**domain, "range": list(values[: len(names) or None])}}
        for channel, values in ranges.items()
    }


def tooltip(**titles: str) -> Spec:
    """Return what is shown of a mark under the pointer: fields with the words before them."""
    return {"tooltip": [{"field": field, "type": "nominal", "title": title} for field, title in titles.items()]}


def label(data: str, encoding: Spec, **more: Any) -> Spec:
    """Return a text at each row, in the words of its field `label`, on the side that `beside` gave."""
    side: dict[str, Any] = {name: {"expr": f"datum.{name}"} for name in ("align", "dx", "dy")}
    return layer(data, "text", {**encoding, "text": {"field": "label", "type": "nominal"}}, **side, **more)


def chosen(field: str = "series") -> Spec:
    """Return the parameter by which a reader picks entries of the legend."""
    return {"name": "chosen", "select": {"type": "point", "fields": [field]}, "bind": "legend"}


def faded(alone: float = 1.0) -> Spec:
    """Return the opacity of marks: whole, faint where the reader has picked others in the legend."""
    return {"opacity": {"condition": {"param": "chosen", "value": alone}, "value": 0.12}}
