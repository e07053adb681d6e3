"""How certain an answer is: whether what is asked fits and starts, likely does, or does not, and why that is open."""

from collections.abc import Mapping
from typing import Any, Literal

from calc.calculators.inputs import Report
from calc.planning.chance import SURE
from calc.units import show_number

Fits = bool | Literal["tight"] | None  # whether it fits or can be; None where that is not the question
UNCOUNTED = "That it fits is not certain: not all of its memory is counted."


def surely(chance: float) -> Fits:
    """Return whether what fits as computed surely does, or is tight: likely to fit, and not certain."""
    return True if chance >= SURE else "tight"


def fitting(memory: Mapping[str, Any]) -> Fits:
    """Return whether what is asked fits, and how surely."""
    return memory["fits"] and surely(memory["chance"])


def it_fits(memory: Mapping[str, Any]) -> str:
    """Return the same of what fits, as a headline begins."""
    return "It fits" if fitting(memory) is True else "It likely fits"  # much may be left where little is known


def fit_word(memory: Mapping[str, Any]) -> str:
    """Return the same as it stands in a table."""
    return {True: "fits", "tight": "likely fits", False: "does not fit"}[fitting(memory)]


def unless_tight(memory: Mapping[str, Any]) -> str:
    """Return how many runs need more than there is where it is tight, as a sentence after another; empty elsewhere."""
    if fitting(memory) != "tight":
        return ""
    more = show_number(100 * (1 - memory["chance"]), 2)
    return f" That it fits is not certain: {more} % of such runs need more memory."


def starting(report: Report) -> Fits:
    """Return whether what is asked fits and is known to start, and how surely: what nobody measured is not certain."""
    fits = fitting(report["memory"])
    return "tight" if fits is True and unless_started(report) else fits


def unless_started(report: Report) -> str:
    """Return why it is not certain that something starts, as a sentence after another; empty where its like did.

    Of engines it is known what they run, of frameworks only what they do not.
    """
    if not report["memory"].get("counted", True):
        return f" {UNCOUNTED}"
    if report["runs"] is None and "engine" in report["scenario"]:
        return " That it starts is not certain: nobody is known to say that it runs."
    if report["measured"]["started"]:
        return ""
    return f" That it starts is not certain: nothing like it was measured{as_old(report)}."


def unless_sure(report: Report) -> str:
    """Return why it is not certain that something fits and starts, as a sentence after another."""
    return unless_tight(report["memory"]) or unless_started(report)


def as_old(report: Report) -> str:
    """Return of which versions nothing is measured, where a reader named one: newer ones say nothing of it."""
    named = "engine" in report["scenario"] and "engine_version" not in report["defaults"]
    return " in this version or an older one" if named else ""
