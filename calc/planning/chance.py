"""How likely it is that something fits: where what is computed stands in the range of what such runs need."""

from collections.abc import Iterable, Mapping
from math import atan, ceil, exp, log, pi, tan
from typing import Any

LIKELY = 0.5  # from here on it fits as computed
SURE = 0.95  # from here on it surely fits; below it is tight
END = tan(0.4 * pi)  # of a range of 80 %, in half widths of Cauchy's distribution
STRETCH = tan((SURE - 0.5) * pi) / END  # times that range which so many stay below


def chance_within(widths: float) -> float:
    """Return how likely an error stays below so many times the range of 80 %, by Cauchy's distribution.

    Beyond the range are whole parts that were not known of, and not small errors that add up: tails are as long as
    those of errors at first sight (`calc.validation.tails`).

    >>> [round(chance_within(widths), 3) for widths in (0, 1, STRETCH)]
    [0.5, 0.9, 0.95]
    """
    return 0.5 + atan(END * widths) / pi


def chance_of_fitting(*, room_bytes: float, spare_bytes: float, upper_bytes: float) -> float:
    """Return how likely it is that what is needed fits, whose errors are ratios: their logarithms have a distribution.

    More is missed upwards than downwards, so the upper side has its own width: `upper_bytes` is by how much the upper
    end of the range of 80 % is above the value, with a tenth beyond it.

    >>> round(chance_of_fitting(room_bytes=80e9, spare_bytes=2e9, upper_bytes=2e9), 3)
    0.9
    """
    needed = room_bytes - spare_bytes
    if upper_bytes <= 0 or needed <= 0:
        return 1.0 if spare_bytes >= 0 else 0.0
    return chance_within(log(room_bytes / needed) / log(1 + upper_bytes / needed))


def sure_bytes(*, needed_bytes: float, upper_bytes: float) -> int:
    """Return the bytes of a device on which what is needed surely fits.

    >>> sure_bytes(needed_bytes=78e9, upper_bytes=2e9)
    82158257220
    """
    if upper_bytes <= 0 or needed_bytes <= 0:
        return ceil(needed_bytes)
    return ceil(needed_bytes * exp(STRETCH * log(1 + upper_bytes / needed_bytes)))


def free_cache(parts: Iterable[tuple[str, int]], *, fits: bool | None) -> int | None:
    """Return the bytes that are free of a cache which an engine sets aside: that is the room, and not the device's.

    None where no cache is set aside, or where it is too small.
    """
    return next((size for part, size in parts if part == "kv_pool_free"), None) if fits else None


def room_of(memory: Mapping[str, Any]) -> tuple[int, int]:
    """Return the bytes that are left, and by how much the range of what is needed goes beyond it."""
    return pool_room(memory) or device_room(memory)


def pool_room(memory: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the same of a cache that is set aside; None where there is none, or where it is too small."""
    free = free_cache(((part["id"], part["bytes"]) for part in memory["parts"]), fits=memory["fits"])
    return None if free is None else (free, memory["kv_pool_bytes_range"][1] - memory["kv_pool_bytes"])


def chance_in(memory: Mapping[str, Any]) -> float:
    """Return how likely it is that what a report has in memory fits: not at all, if others than the device lack it.

    Where an engine sets a cache aside, what is needed has to fit into it, and it on the device beside all the rest.
    """
    device = device_room(memory)
    if memory["fits"] is not True and device[0] >= 0:
        return 0.0
    return least_chance(memory["capacity_bytes"], pool_room(memory), device)


def device_room(memory: Mapping[str, Any]) -> tuple[int, int]:
    """Return the bytes that are left of the device, and by how much the range of what it holds goes beyond that."""
    return memory["headroom_bytes"], memory["device_bytes_range"][1] - memory["device_bytes"]


def least_chance(room: int, pool: tuple[int, int] | None, device: tuple[int, int]) -> float:
    """Return how likely everything fits into so many bytes: as likely as what is least likely to.

    Of the device, and of a cache that is set aside on it, are told the bytes that are left, and by how much the upper
    end of a range is above the value. Errors of a cache are bytes of the device, and no ratios.
    """
    fitting = chance_of_fitting(room_bytes=room, spare_bytes=device[0], upper_bytes=device[1])
    return fitting if pool is None else min(fitting, chance_within(pool[0] / pool[1]))


def is_sure(memory: Mapping[str, Any]) -> bool:
    """Return whether what a report has in memory surely fits; also where nothing says how much there is."""
    return bool(memory.get("chance", 1.0) >= SURE)
