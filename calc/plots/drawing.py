"""The plots by name: each is a module with a function `draw`, imported when it is asked for."""

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Protocol

from calc.calculators import CALCULATORS
from calc.calculators.html import table, text
from calc.errors import ScenarioError, nearest
from calc.plots.in_unit import in_unit
from calc.plots.plot import Plot


class Draw(Protocol):
    """A plot's function: what it draws comes by name, often the fields of a scenario."""

    def __call__(self, **asked: Any) -> Plot: ...


class Plots(Mapping[str, Draw]):
    """The plots by id, in alphabetical order. A page has one or two, and the browser imports those that live."""

    ids = (
        "bandwidth-and-capacity",
        "bits-over-size",
        "break-even",
        "cache-by-model",
        "cache-over-context",
        "checkpointing",
        "format-ladder",
        "latency-over-load",
        "links",
        "loss-frontier",
        "memory-bars",
        "memory-over-context",
        "memory-sensitivity",
        "pass-timeline",
        "predicted-and-measured",
        "rate-ratio",
        "roofline",
        "sequences-over-context",
        "speed-over-batch",
        "speed-sensitivity",
        "step-timeline",
        "zero-stages",
    )

    def __getitem__(self, name: str) -> Draw:
        if name not in self.ids:
            raise KeyError(name)
        found: Draw = import_module(f"calc.plots.{name.replace('-', '_')}").draw
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __len__(self) -> int:
        return len(self.ids)


PLOTS = Plots()


def draw(name: str, **asked: object) -> Plot:
    """Return the plot of that id. Raises ScenarioError with the nearest known ones, or for what is asked wrongly."""
    if name not in PLOTS:
        raise ScenarioError("plot", f"{name!r} is not a plot{nearest(name, PLOTS)}; there are {', '.join(PLOTS)}")
    return PLOTS[name](**asked)


def draw_beside(name: str, calculator_id: str, changed: Mapping[str, str]) -> Plot:
    """Return the plot of what a calculator's form holds, where `changed` are the fields unlike their defaults."""
    return draw(name, **CALCULATORS[calculator_id].asked(dict(changed)))


def answer(request: str) -> str:
    """Return a plot's next data: JSON in, JSON out, and never an exception for what a reader typed.

    In: `{"plot": id, "calculator": id, "fields": {name: text}, "unit"}`. Out: `{"ok": true, "data", "caption",
    "summary", "table"}`, or `{"ok": false, "status"}`.
    """
    asked: dict[str, Any] = json.loads(request)
    fields = {str(name): str(value) for name, value in asked["fields"].items()}
    try:
        plot = in_unit(draw_beside(asked["plot"], asked["calculator"], fields), str(asked.get("unit", "")))
    except ScenarioError as error:
        return json.dumps({"ok": False, "status": f"{error.field}: {error.message}"})
    said = {"caption": plot.caption, "summary": plot.summary, "table": table_html(plot)}
    return json.dumps({"ok": True, "data": plot.data, **said})


def table_html(plot: Plot) -> str:
    """Return the table of a plot's data."""
    rows = [[text(cell) for cell in row] for row in plot.rows]
    return table(plot.headings, rows, caption=plot.caption)
