"""Checking grids."""

from calc.catalog.checking.check import Check, Rules, with_fields
from calc.catalog.entries import Entry, Tables

GRID_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "grams_per_kwh": (int, float),
    "year": (int,),
    "source": (str,),
    "checked": (str,),
}
POSSIBLE = (1, 1500)  # grams: from water and wind alone to old coal


@with_fields(GRID_RULES)
def check_grid(check: Check, where: str, entry: Entry, _: Tables) -> None:
    """Check one grid."""
    check.number(f"{where}.grams_per_kwh", entry["grams_per_kwh"], *POSSIBLE)
    check.number(f"{where}.year", entry["year"], 2000, 2100)
