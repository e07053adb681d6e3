"""How surely what is served fits, by the numbers of its report and without making one, and what it lacks to be sure."""

from calc.planning.chance import Room, free_cache
from calc.planning.served import Served
from calc.planning.serving_report import pool_range, total_range


def chance_of(served: Served) -> float:
    """Return how likely what is served fits."""
    room = capacity_of(served)
    return 0.0 if room is None else spread_of(served, room).chance(room)


def lacking_of(served: Served) -> int:
    """Return the bytes that are missing until what is served surely fits; not above 0 where it does."""
    room = capacity_of(served) or 0
    return spread_of(served, room).lacking(room)


def spread_of(served: Served, room: int) -> Room:
    """Return the same as `room_of` has of a report: the bytes left, and by how much the range goes beyond them."""
    runtime = served.runtime
    free = free_cache(((amount.id, amount.bytes) for amount in runtime.amounts), fits=runtime.fits)
    if free is not None:
        return Room(free, pool_range(served, free)[1] - free, pooled=True)
    upper = total_range(served, runtime.device, True)[1] - runtime.device
    return Room(room - runtime.device, upper, pooled=False)


def capacity_of(served: Served) -> int | None:
    """Return the memory of the fullest device, or of a host that works alone; None where nobody says it."""
    alone = served.serving.host if served.serving.placement.alone else None
    return alone.usable_bytes if alone else served.runtime.capacity


def bytes_left(served: Served) -> int | None:
    """Return the bytes that are left, as `room_of` has them of a report; None where nobody says how many there are."""
    room = capacity_of(served)
    return None if room is None else spread_of(served, room).spare
