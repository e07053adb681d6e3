"""A plot in the unit that a reader chose for sizes: its words, its axes, and the fields that those measure."""

from collections.abc import Iterator
from typing import Any

from calc.calculators.html import in_words
from calc.plots.plot import Plot, Row
from calc.units import GB, GIB

WRITTEN, OTHER = "GiB", "GB"


def in_unit(plot: Plot, unit: str) -> Plot:
    """Return a plot whose words say sizes as they were written, or all in "GB" or all in "GiB".

    Its axes are in GiB unless all is in GB. The table keeps sizes that bring both.
    """
    fields = size_fields(plot) if unit == OTHER else set()
    return plot._replace(
        caption=in_words(plot.caption, unit),
        summary=in_words(plot.summary, unit),
        specification=renamed(plot.specification) if fields else plot.specification,
        data={name: [in_row(row, fields, unit) for row in rows] for name, rows in plot.data.items()},
    )


def in_row(row: Row, fields: set[str], unit: str) -> Row:
    """Return a row of a plot's data with its words, and those of its numbers that are sizes, in a unit."""
    found: Row = {}
    for name, value in row.items():
        if isinstance(value, str):
            found[name] = in_words(value, unit)
        else:
            found[name] = value * GIB / GB if name in fields and isinstance(value, int | float) else value
    return found


def size_fields(plot: Plot) -> set[str]:
    """Return the fields that an axis in GiB measures."""
    found: set[str] = set()
    for encoding in encodings(plot.specification):
        for channel in ("x", "y"):
            measured = encoding.get(channel, {})
            if WRITTEN in ((measured.get("axis") or {}).get("title") or ""):
                ends = (measured, encoding.get(f"{channel}2", {}))
                found |= {end["field"] for end in ends if "field" in end}
    return found


def encodings(specification: Any) -> Iterator[dict[str, Any]]:
    """Iterate over the encodings of all layers of a specification."""
    for part in specification.get("layer", ()):
        yield part.get("encoding", {})
        yield from encodings(part)


def renamed(part: Any) -> Any:
    """Return a part of a specification with the other unit in the titles of its axes."""
    if isinstance(part, list):
        return [renamed(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    return {
        name: inner.replace(WRITTEN, OTHER) if name == "title" and isinstance(inner, str) else renamed(inner)
        for name, inner in part.items()
    }
