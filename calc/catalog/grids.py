"""Grids: what the electricity of a country sends into the air."""

from typing import NamedTuple

from calc.catalog.check import Check, Entry, Tables, check_reference
from calc.catalog.schema import Rules

GRID_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "grams_per_kwh": (int, float),
    "year": (int,),
    "source": (str,),
    "checked": (str,),
}
POSSIBLE = (1, 1500)  # grams: from water and wind alone to old coal


class Grid(NamedTuple):
    """A country's electricity: grams of CO2 equivalents a kWh over the life of its plants, as the mean of a year."""

    id: str
    name: str
    aliases: tuple[str, ...]
    grams_per_kwh: float
    year: int
    source: str
    checked: str


def check_grid(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one grid."""
    if check.fields(where, entry, GRID_RULES):
        check_reference(check, f"{where}.source", entry["source"], tables)
        check.number(f"{where}.grams_per_kwh", entry["grams_per_kwh"], *POSSIBLE)
        check.number(f"{where}.year", entry["year"], 2000, 2100)


def make_grid(entry_id: str, entry: Entry) -> Grid:
    """Return a grid's record from its checked table."""
    return Grid(id=entry_id, **{**entry, "aliases": tuple(entry["aliases"])})  # type: ignore[arg-type]
