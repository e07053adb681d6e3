"""Grids: what the electricity of a country sends into the air."""

from typing import NamedTuple

from calc.catalog.entries import Entry


class Grid(NamedTuple):
    """A country's electricity: grams of CO2 equivalents a kWh over the life of its plants, as the mean of a year."""

    id: str
    name: str
    aliases: tuple[str, ...]
    grams_per_kwh: float
    year: int
    source: str
    checked: str


def make_grid(entry_id: str, entry: Entry) -> Grid:
    """Return a grid's record from its checked table."""
    return Grid(id=entry_id, **{**entry, "aliases": tuple(entry["aliases"])})  # type: ignore[arg-type]
