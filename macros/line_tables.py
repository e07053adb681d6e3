"""How well questions in one line were read before anybody had looked at how they are."""

from calc.calculators.html import table, text
from calc.units import show_count
from calc.validation.first_readings import draws, lines_of
from macros.markdown import block

__all__ = ["first_reading_share", "first_reading_table"]


def first_reading_share(figure: str) -> str:
    """Return how many lines of all draws were "right" at first sight or wrong and "silent", or the "lines", counted."""
    return show_count(lines_of(figure))


def first_reading_table() -> str:
    """Return each draw with how many lines were read rightly, corrected since, and misread without a word of it."""
    names = ("lines", "right", "corrected", "silent")
    rows = [[text(draw["draw"]), *(text(draw[name] or "not counted") for name in names)] for draw in draws()]
    headings = ("Lines of", "Lines", "Right as written down", "Right once that was corrected", "Misread in silence")
    return block(table(headings, rows, caption="Lines at first sight, the oldest first", words=1))
