"""How likely it is that something fits: where what is computed stands in the range of what such runs need."""

from collections.abc import Iterable, Mapping
from math import ceil, erf, exp, log, sqrt
from typing import Any

END = 1.2815515655446004  # of a range of 80 %, in standard deviations of a normal distribution
LIKELY = 0.5  # from here on it fits as computed
SURE = 0.95  # from here on it surely fits; below it is tight
DEVIATES = 1.6449  # standard deviations of a normal distribution, that so many stay below


def chance_of_fitting(*, room_bytes: float, spare_bytes: float, upper_bytes: float) -> float:
    """Return how likely it is that what is needed fits, if logarithms of errors are normal above what is computed.

    Errors of memory are ratios, and more is missed upwards than downwards, so the upper side has its own width:
    `upper_bytes` is by how much the upper end of the range of 80 % is above the value, with a tenth beyond it.

    >>> round(chance_of_fitting(room_bytes=80e9, spare_bytes=2e9, upper_bytes=2e9), 3)
    0.9
    """
    needed = room_bytes - spare_bytes
    if upper_bytes <= 0 or needed <= 0:
        return 1.0 if spare_bytes >= 0 else 0.0
    return (1 + erf(END * log(room_bytes / needed) / log(1 + upper_bytes / needed) / sqrt(2))) / 2


def sure_bytes(*, needed_bytes: float, upper_bytes: float) -> int:
    """Return the bytes of a device on which what is needed surely fits.

    >>> sure_bytes(needed_bytes=78e9, upper_bytes=2e9)
    80576319013
    """
    if upper_bytes <= 0 or needed_bytes <= 0:
        return ceil(needed_bytes)
    return ceil(needed_bytes * exp(DEVIATES / END * log(1 + upper_bytes / needed_bytes)))


def free_cache(parts: Iterable[tuple[str, int]], *, fits: bool | None) -> int | None:
    """Return the bytes that are free of a cache which an engine sets aside: that is the room, and not the device's.

    None where no cache is set aside, or where it is too small.
    """
    return next((size for part, size in parts if part == "kv_pool_free"), None) if fits else None


def room_of(memory: Mapping[str, Any]) -> tuple[int, int]:
    """Return the bytes that are left, and by how much the range of what is needed goes beyond it."""
    parts = ((part["id"], part["bytes"]) for part in memory["parts"])
    if (free := free_cache(parts, fits=memory["fits"])) is not None:
        return free, memory["kv_pool_bytes_range"][1] - memory["kv_pool_bytes"]
    return device_room(memory)


def chance_in(memory: Mapping[str, Any]) -> float:
    """Return how likely it is that what a report has in memory fits: not at all, if others than the device lack it.

    Where a cache is set aside it has to be large enough, and what lies outside of it has to find room on the device.
    """
    spare, upper = room_of(memory)
    if memory["fits"] is not True and spare >= 0:
        return 0.0
    return least_chance(memory["capacity_bytes"], (spare, upper), device_room(memory))


def device_room(memory: Mapping[str, Any]) -> tuple[int, int]:
    """Return the bytes that are left of the device, and by how much the range of what it holds goes beyond that."""
    return memory["headroom_bytes"], memory["device_bytes_range"][1] - memory["device_bytes"]


def least_chance(room: int, *spreads: tuple[int, int]) -> float:
    """Return how likely everything fits into so many bytes: as likely as what is least likely to.

    `spreads` are the bytes that are left of something, and by how much the upper end of its range is above the value.
    """
    return min(chance_of_fitting(room_bytes=room, spare_bytes=spare, upper_bytes=upper) for spare, upper in spreads)


def is_sure(memory: Mapping[str, Any]) -> bool:
    """Return whether what a report has in memory surely fits; also where nothing says how much there is."""
    return bool(memory.get("chance", 1.0) >= SURE)
