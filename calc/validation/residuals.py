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
    known: bool  # whether another source has rows in the bucket
    covered: bool | None = None  # whether it lies in a range made without its source; None: of a factor either way
    first: float | None = None  # as it was predicted before anybody had looked at it; None where that is not known


def known_rows(found: Iterable[tuple[str, str]]) -> dict[str, bool]:
    """Return for each bucket whether more than one source has rows in it; given are sources and buckets of rows."""
    having: dict[str, set[str]] = {}
    for source, bucket in found:
        having.setdefault(bucket, set()).add(source)
    return {bucket: len(sources) > 1 for bucket, sources in having.items()}
