"""How surely what is served fits, by the numbers of its report and without making one, and what it lacks to be sure."""

from math import ceil

from calc.memory.runtime import ALLOCATED, RESERVED
from calc.planning.chance import STRETCH, free_cache, least_chance, sure_bytes
from calc.planning.served import Served
from calc.planning.serving_report import pool_spread, range_above


def chance_of(served: Served) -> float:
    """Return how likely what is served fits."""
    room = capacity_of(served)
    if room is None or served.runtime.beyond_piece > 0:
        return 0.0
    return least_chance(room, free_spread(served), device_spread(served, room))


def lacking_of(served: Served) -> int:
    """Return the bytes that are missing until what is served surely fits; not above 0 where it does."""
    room, pool = capacity_of(served) or 0, free_spread(served)
    spare, upper = device_spread(served, room)
    lacking = sure_bytes(needed_bytes=room - spare, upper_bytes=upper) - room
    if served.runtime.beyond_piece > 0:
        lacking = max(lacking, served.runtime.beyond_piece)
    return lacking if pool is None else max(lacking, ceil(STRETCH * pool[1]) - pool[0])


def sure_on_larger(served: Served) -> int:
    """Return the bytes on which what is served surely fits at the least, on a device of the maker with more memory.

    An engine that sets no pool aside allocates as much there, and its allocator keeps no less, whatever the driver
    holds. Others have steps by the device's size: of them nothing is known.
    """
    if served.runtime.pool is not None:
        return 0
    size = served.runtime.scoped(ALLOCATED, RESERVED)
    return sure_bytes(needed_bytes=size, upper_bytes=range_above(served, size))


def free_spread(served: Served) -> tuple[int, int] | None:
    """Return the same as `pool_room` has of a report: bytes free of a cache, and by how much its range goes beyond."""
    runtime = served.runtime
    free = free_cache(((amount.id, amount.bytes) for amount in runtime.amounts), fits=runtime.fits)
    return None if free is None else (free, pool_spread(served))


def device_spread(served: Served, room: int) -> tuple[int, int]:
    """Return the same of the whole device, whatever is set aside on it."""
    held = served.runtime.device
    return room - held, range_above(served, held)


def capacity_of(served: Served) -> int | None:
    """Return the memory of the fullest device, or of a host that works alone; None where nobody says it."""
    alone = served.serving.host if served.serving.placement.alone else None
    return alone.usable_bytes if alone else served.runtime.capacity


def bytes_left(served: Served) -> int | None:
    """Return the bytes that are left, as `room_of` has them of a report; None where nobody says how many there are."""
    room = capacity_of(served)
    return None if room is None else (free_spread(served) or device_spread(served, room))[0]
