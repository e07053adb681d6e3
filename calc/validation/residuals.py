"""The errors of a row under what was estimated with its source and without it."""

from collections.abc import Iterable
from typing import NamedTuple


class Residual(NamedTuple):
    """The errors of one row, as logarithms of predicted over measured."""

    id: str
    source: str
    engine: str
    phase: str
    bucket: str
    inside: float  # under coefficients estimated from all rows
    outside: float | None  # from the rows of all other sources; None where there are none
    covered: bool | None = None  # whether it lies in a range made without its source; None: of a factor either way
    first: float | None = None  # as it was predicted before anybody had looked at it; None where that is not known
    others: int = 0  # sources besides its own that have rows in the bucket


def counted(residuals: Iterable[Residual]) -> list[Residual]:
    """Return errors with how many other sources have rows in the bucket of each."""
    found = list(residuals)
    having: dict[str, set[str]] = {}
    for row in found:
        having.setdefault(row.bucket, set()).add(row.source)
    return [row._replace(others=len(having[row.bucket]) - 1) for row in found]


def sources(residuals: Iterable[Residual]) -> int:
    """Return of how many sources errors are."""
    return len({row.source for row in residuals})
