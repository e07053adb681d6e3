"""Tables that a reader can filter and sort: an element around a whole table, and the script that it needs."""

from collections.abc import Sequence
from typing import NamedTuple

from calc.calculators.html import element, searched, text
from macros.links import module
from macros.markdown import block

SCRIPT = "assets/table/table.mjs"


class Bound(NamedTuple):
    """What a reader may ask of a column's numbers: that they are at least so many of a unit, or at most."""

    column: str
    unit: str
    scale: float = 1  # of the unit, in what the cells are ordered by
    most: bool = False


def filtered(table: str, *, things: str, bounds: Sequence[Bound] = ()) -> str:
    """Return a table with a search field and headers that sort, where scripts run; `things` are what rows are called.

    The script stands beside the table, so that pages without one do not load it.
    """
    script, fields = module(SCRIPT), "".join(bound_field(bound) for bound in bounds)
    return block(element("div", searched(table, things, fields) + script, class_="filtered"))


def boxed(table: str) -> str:
    """Return a table in a box that is no higher than a screen, in which its headings stay in sight."""
    return element("div", table, class_="filtered")


def bound_field(bound: Bound) -> str:
    """Return the field of a bound, with its unit behind it."""
    field = element(
        "input",
        type="text",
        inputmode="decimal",
        autocomplete="off",
        data_column=bound.column,
        data_scale=f"{bound.scale:.12g}",
        data_most=bound.most,
    )
    side = "at most" if bound.most else "at least"
    return element("label", text(f"{bound.column}, {side} ") + field + text(f" {bound.unit}"))


def sortable(value: float | str, shown: str) -> str:
    """Return a cell whose order is that of `value`, whatever words show it; `shown` is HTML already."""
    return element("data", shown, value=value if isinstance(value, str) else f"{value:.12g}")


def missing() -> str:
    """Return a cell for what there is not; it comes last in either order."""
    return text("–")
