"""How well questions in one line were read before anybody had looked at how they are."""

import csv

from calc.calculators.html import table, text
from calc.catalog.entries import DATA
from calc.units import show_count
from macros.markdown import block

__all__ = ["first_reading_share", "first_reading_table"]

READINGS = DATA / "questions" / "first_readings.csv"


def draws() -> list[dict[str, str]]:
    """Return the draws of lines, each written down with what it means before it was read."""
    with READINGS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def first_reading_share(figure: str) -> str:
    """Return how many lines of all draws were "right" at first sight or wrong and "silent", or the "lines", counted."""
    known = [int(draw[figure]) for draw in draws() if draw[figure]]
    return show_count(sum(known))


def first_reading_table() -> str:
    """Return each draw with how many lines were read rightly, corrected since, and misread without a word of it."""
    names = ("lines", "right", "corrected", "silent")
    rows = [[text(draw["draw"]), *(text(draw[name] or "not counted") for name in names)] for draw in draws()]
    headings = ("Lines of", "Lines", "Right as written down", "Right once that was corrected", "Misread in silence")
    return block(table(headings, rows, caption="Lines at first sight, the oldest first", words=1))
