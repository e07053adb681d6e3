"""Searching for what fits: the fewest devices for a demand, and the most sequences on given devices."""

from bisect import bisect_left
from collections.abc import Callable
from math import ceil, inf
from typing import TypeVar

from calc.catalog import Catalog
from calc.memory.budget import Demand, Layout, load_budget
from calc.planning.layout import MOST_DEVICES, best_layout, fullest, loads, tensor_degrees

MOST_SEQUENCES = 10**7
MOST_IN_MACHINE = 8  # of one host
LINES = 6  # that narrow a range before it is halved
T = TypeVar("T")


def devices_needed(demand: Demand, capacity_bytes: int) -> Layout | None:
    """Return the layout of the fewest devices of a capacity that hold the demand; None if `MOST_DEVICES` do not.

    Only tensor and pipeline parallelism are searched: data parallelism repeats the weights, so it
    never needs fewer devices.
    The search begins at what the weights and the cache alone need, since no layout stores them in less.
    """
    single = fullest(demand, Layout())[1]
    least = max(1, single.held // max(capacity_bytes, 1))
    most = min(demand.architecture.layer_count * max(tensor_degrees(demand.architecture)), MOST_DEVICES)

    def fitting(count: int) -> Layout | None:
        found = best_layout(demand, count)
        return found if found is not None and fullest(demand, found)[1].total <= capacity_bytes else None

    return fewest(least, most, fitting)


def fewest(least: int, most: int, fitting: Callable[[int], T | None]) -> T | None:
    """Return what `fitting` finds on the fewest devices, from `least` to `most`, where it finds anything; else None.

    Numbers are doubled until one is enough; then each is tried from the last one that was not.

    >>> fewest(3, 100, lambda count: f"enough on {count}" if count >= 17 else None)
    'enough on 17'
    """
    low, high = least - 1, least
    while low < most and (last := fitting(high)) is None:
        low, high = high, min(2 * high, most)
    if low >= most:
        return None
    between = (fitting(count) for count in range(low + 1, high))
    return next((found for found in between if found is not None), last)


def last(holds: Callable[[int], bool], guess: int = 1) -> int:
    """Return the last count from 1 on, up to `MOST_SEQUENCES`, for which something holds that holds for 1.

    A guess that is right, or nearly, saves most of the search.

    >>> last(lambda count: count <= 70, 64), last(lambda count: count <= 70)
    (70, 70)
    """
    low, high, step = 1, MOST_SEQUENCES, 1
    if guess > 1 and holds(guess):
        low = guess
    elif guess > 1:
        high = guess
    while low + step < high:
        place = low + step if high == MOST_SEQUENCES else max(high - step, low + 1)
        if holds(place):
            low = place
            if high != MOST_SEQUENCES:
                break
        else:
            high = place
            if low + step == place:
                break
        step *= 2
    return low + bisect_left(range(low + 1, high), True, key=lambda count: not holds(count))


def in_one_machine(device: str, facts: Catalog) -> int | None:
    """Return how many of a device stand in a machine of one host, None for one that stands alone."""
    machines = [machine.devices for machine in facts.machines() if machine.accelerator == device]
    return max((devices for devices in machines if 1 < devices <= MOST_IN_MACHINE), default=None)


def in_whole_machines(count: int, device: str, facts: Catalog) -> int:
    """Return how many devices one has for so many at least: servers' are had by the machine where one is not enough."""
    each = in_one_machine(device, facts) if facts.accelerator(device).segment == "data-center" else None
    return count if each is None or count <= each else ceil(count / each) * each


def most_sequences(demand: Demand, layout: Layout, capacity_bytes: int) -> int:
    """Return the most sequences that fit at once on the fullest device; 0 if not even one does."""
    held = loads(demand, layout)

    def size(count: int) -> int:
        asked = demand._replace(sequences=count)
        return max(load_budget(demand=asked, load=load, layout=layout).total for load in held)

    return most_that_fit(size, capacity_bytes, 1, MOST_SEQUENCES - 1)


def most_that_fit(size: Callable[[int], int], capacity_bytes: int, least: int, most: int, *, each: int = 0) -> int:
    """Return the largest count from `least` to `most` whose size fits; 0 if none does. `size` must not fall.

    Sizes are nearly straight lines, so each try stands where a line through both ends meets the capacity. An end that
    stays while the other moves twice counts half from then on, which bounds the tries where lines bend (Dowell and
    Jarratt, 1971: the Illinois method). Where sizes are level, what lies behind is halved. `each` is what sizes are
    known to grow by at least, which says where to begin.

    >>> most_that_fit(lambda count: 10 + 3 * count, 100, 1, 1000)
    30
    """
    if most < least or (low_size := size(least)) > capacity_bytes:
        return 0
    low, high = least, min(most, least + (capacity_bytes - low_size) // each + 1 if each else least * 2 + 1)
    while (high_size := size(high)) <= capacity_bytes:
        if high == most:
            return most
        slope = max((high_size - low_size) // (high - low), 1)
        low, low_size = high, high_size
        high = min(most, max(high * 2, high + (capacity_bytes - high_size) // slope + 1))
    room, beyond, stayed, level = float(capacity_bytes - low_size), float(high_size - capacity_bytes), 0, False
    while high - low > 1:
        part = 0.5 if level else room / (room + beyond)
        middle = min(max(low + int(part * (high - low)), low + 1), high - 1)
        if (middle_size := size(middle)) <= capacity_bytes:
            level, low_size = middle_size == low_size, middle_size
            low, room = middle, float(capacity_bytes - middle_size)
            beyond, stayed = beyond / 2 if stayed > 0 else beyond, 1
        else:
            level, high, beyond = False, middle, float(middle_size - capacity_bytes)
            room, stayed = room / 2 if stayed < 0 else room, -1
    return low


def first_that_fits(lacking: Callable[[int], float], part: Callable[[int], float], places: int) -> int | None:
    """Return the first of so many places at which nothing is lacking, None where the last one lacks something.

    Each needs less than the one before: of what is divided ever further it has a smaller `part`. Needs are nearly
    straight lines in that part, so a few tries stand where a line through both ends meets what there is, with the
    Illinois method as above. Where it is not known how much is lacking (inf), places are doubled.

    >>> first_that_fits(lambda place: 10 + 1000 / (place + 1) - 45, lambda place: 1 / (place + 1), 4096)
    28
    """
    low, high, stayed, lines = 0, places - 1, 0, LINES
    spare = -lacking(high)
    if spare < 0 or (over := lacking(low)) <= 0:
        return None if spare < 0 else low
    while high - low > 1:
        middle = min(2 * low + 1, (low + high) // 2)
        if over < inf and lines:
            least = part(high) + (part(low) - part(high)) * spare / (over + spare)
            middle = low + 1 + bisect_left(range(low + 1, high - 1), True, key=lambda place: part(place) <= least)
            lines -= 1
        elif over < inf:
            middle = (low + high) // 2
        if (found := lacking(middle)) <= 0:
            high, spare = middle, -found
            over, stayed = over / 2 if stayed > 0 else over, 1
        else:
            low, over = middle, found
            spare, stayed = spare / 2 if stayed < 0 else spare, -1
    return high
