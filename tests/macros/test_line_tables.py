"""Lines at first sight: the numbers of the page are those of the file, and add up."""

import csv
from pathlib import Path

from calc.validation.first_readings import draws
from macros.line_tables import first_reading_share, first_reading_table

LINES = Path(__file__).parents[1] / "data" / "lines.csv"


def test_draws_add_up() -> None:
    """No more lines are right or silently wrong than there are; the page says their sum."""
    for draw in draws():
        known = [int(draw[name]) for name in ("right", "corrected", "silent") if draw[name]]
        assert sum(known) <= int(draw["lines"]), draw
    assert first_reading_share("lines") == f"{sum(int(draw['lines']) for draw in draws()):,}"
    assert first_reading_table().count("<tr>") == len(draws()) + 1


def test_the_last_draw_is_kept_whole() -> None:
    """Its lines are all among those that are read at every test."""
    with LINES.open(encoding="utf-8", newline="") as file:
        kept = sum(row["written"] == "forty-fifth" for row in csv.DictReader(file))
    assert kept == int(draws()[-1]["lines"])
