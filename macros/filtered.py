"""Tables that a reader can filter and sort: an element around a whole table, and the script that it needs."""

from calc.calculators.html import element, searched, text
from macros.links import module
from macros.markdown import block

SCRIPT = "assets/table/table.mjs"


def filtered(table: str, *, things: str) -> str:
    """Return a table with a search field and headers that sort, where scripts run; `things` are what rows are called.

    The script stands beside the table, so that pages without one do not load it.
    """
    script = module(SCRIPT)
    return block(element("div", searched(table, things) + script, class_="filtered"))


def sortable(value: float | str, shown: str) -> str:
    """Return a cell whose order is that of `value`, whatever words show it; `shown` is HTML already."""
    return element("data", shown, value=value if isinstance(value, str) else f"{value:.12g}")


def missing() -> str:
    """Return a cell for what there is not; it comes last in either order."""
    return text("–")
