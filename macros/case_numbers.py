"""Numbers of models that share a device, and of speed-ups: inline, each opening its working."""

from typing import Any

from calc.calculators import CALCULATORS
from calc.calculators.html import element
from calc.calculators.rendering import step_html
from calc.units import show_count, show_gib, show_number
from macros.inline import opening

Report = dict[str, Any]
OF_ALL = ("left_bytes", "available_bytes")
OF_ONE = ("weights", "cache", "working", "context", "needed", "kept", "claimed")
COUNTS = ("cache_tokens", "longest_context", "most_sequences")


def shared(what: str, of: int = 1, **inputs: object) -> str:
    """Return a number of models that share a device, as the calculator *Two models on one card* has it, inline.

    `what`: "left_bytes" or "available_bytes" of the device, or of the model `of` (1 is the first) "weights", "cache",
    "working", "context", "needed", "kept", "claimed", "cache_tokens", "longest_context", "most_sequences", "fraction".
    """
    report = CALCULATORS["sharing"].report({name: str(value) for name, value in inputs.items()})
    if what in OF_ALL:
        return opening(show_gib(report[what]), working(report))
    tenant = report["tenants"][of - 1]
    if what in OF_ONE:
        shown = show_gib(tenant[what])
    elif what in COUNTS:
        shown = show_count(tenant[what])
    elif what == "fraction":
        shown = f"{tenant['fraction']:.2f}"
    else:
        raise ValueError(
            f"{what!r} is not a number of it; there are {', '.join((*OF_ALL, *OF_ONE, *COUNTS))}, fraction"
        )
    return opening(shown, working(report))


def gained(what: str, **inputs: object) -> str:
    """Return a number of a speed-up, as the calculator *What is a speed-up worth?* has it, inline.

    `what`: "factor", "reduction", "saved_hours", or "before" or "after" with "a_day", such as "after.a_day".
    """
    report = CALCULATORS["speed-up"].report({name: str(value) for name, value in inputs.items()})
    where, _, key = what.partition(".")
    value = report[where][key] if key else report[where]
    shown = f"{100 * value:.1f} %" if what == "reduction" else show_number(value)
    return opening(shown, working(report))


def working(report: Report) -> str:
    """Return the steps of a report for a number that opens."""
    steps = (step_html(step).replace("<li", "<span").replace("</li", "</span") for step in report["steps"])
    return element("span", "".join(steps))
