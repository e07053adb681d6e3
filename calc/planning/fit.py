"""Searching for what fits: the fewest devices for a demand, and the most sequences on given devices."""

from collections.abc import Callable
from typing import TypeVar

from calc.memory.budget import Budget, Demand, Layout, load_budget
from calc.planning.layout import MOST_DEVICES, best_layout, fullest, loads, tensor_degrees

MOST_SEQUENCES = 10**7
T = TypeVar("T")


def devices_needed(demand: Demand, capacity_bytes: int) -> tuple[int, Layout, Budget] | None:
    """Return the fewest devices of a capacity that hold the demand, with the layout; None if `MOST_DEVICES` do not.

    Only tensor and pipeline parallelism are searched: data parallelism repeats the weights, so it
    never needs fewer devices.
    The search begins at what the weights and the cache alone need, since no layout stores them in less.
    """
    single = fullest(demand, Layout())[1]
    least = max(1, single.held // max(capacity_bytes, 1))
    most = min(demand.architecture.layer_count * max(tensor_degrees(demand.architecture)), MOST_DEVICES)

    def fitting(count: int) -> tuple[Layout, Budget] | None:
        found = best_layout(demand, count)
        return found if found is not None and found[1].total <= capacity_bytes else None

    found = fewest(least, most, fitting)
    return (found[0], *found[1]) if found else None


def fewest(least: int, most: int, fitting: Callable[[int], T | None]) -> tuple[int, T] | None:
    """Return the fewest devices, from `least` to `most`, with what `fitting` finds on them; None if it finds nothing.

    Numbers are doubled until one is enough; then each is tried from the last one that was not.

    >>> fewest(3, 100, lambda count: "enough" if count >= 17 else None)
    (17, 'enough')
    """
    low, high = least - 1, least
    while low < most and fitting(high) is None:
        low, high = high, min(2 * high, most)
    between = ((count, fitting(count)) for count in range(low + 1, high + 1)) if low < most else ()
    return next(((count, found) for count, found in between if found is not None), None)


def most_sequences(demand: Demand, layout: Layout, capacity_bytes: int) -> int:
    """Return the most sequences that fit at once on the fullest device; 0 if not even one does."""

    held = loads(demand, layout)

    def fits(count: int) -> bool:
        asked = demand._replace(sequences=count)
        return all(load_budget(demand=asked, load=load, layout=layout).total <= capacity_bytes for load in held)

    if not fits(1):
        return 0
    low, high = 1, 2
    while high < MOST_SEQUENCES and fits(high):
        low, high = high, high * 2
    high = min(high, MOST_SEQUENCES)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
