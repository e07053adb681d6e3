"""What people reckon with by heart, to stand beside what is computed: memory as a multiple of the weights."""

from collections.abc import Iterable
from math import ceil


def rule_bytes(*, parameters: int, multiple: float, width: float = 2) -> float:
    """Return a multiple of the weights, which take `width` bytes each.

    >>> rule_bytes(parameters=7_000_000_000, multiple=6)
    84000000000.0
    """
    return float(multiple * width * parameters)


def added_multiples(multiples: Iterable[str]) -> float:
    """Return the sum of multiples as a list has them; an empty one is none.

    >>> added_multiples(["1", "", "2.5"])
    3.5
    """
    return sum(float(multiple or 0) for multiple in multiples)


def devices_by_memory(size_bytes: float, *, capacity_bytes: float, reserve: float = 0.0) -> int:
    """Return how many devices hold so much by their memory alone, each with a share of it left to other things.

    No device is as useful as that: caches, working memory and an even division come on top.

    >>> devices_by_memory(140e9, capacity_bytes=80e9), devices_by_memory(140e9, capacity_bytes=80e9, reserve=0.2)
    (2, 3)
    """
    return ceil(size_bytes / (capacity_bytes * (1 - reserve)))
