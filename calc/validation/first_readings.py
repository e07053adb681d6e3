"""How well questions in one line were read at first sight: draws of lines that were written down before."""

import csv

from calc.catalog.entries import DATA

READINGS = DATA / "questions" / "first_readings.csv"


def draws() -> list[dict[str, str]]:
    """Return the draws of lines, each written down with what it means before it was read, the oldest first."""
    with READINGS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def lines_of(figure: str) -> int:
    """Return how many lines of all draws were "right" at first sight, wrong and "silent", or written down ("lines").

    Draws in which a figure was not counted have none of it.
    """
    return sum(int(draw[figure]) for draw in draws() if draw[figure])
