"""How likely it is that something fits: where what is computed stands in the range of what such runs need."""

from collections.abc import Iterable, Mapping
from math import atan, ceil, erf, exp, log, pi, sqrt, tan
from typing import Any, NamedTuple

END = 1.2815515655446004  # of a range of 80 %, in standard deviations of a normal distribution
LIKELY = 0.5  # from here on it fits as computed
SURE = 0.95  # from here on it surely fits; below it is tight
DEVIATES = 1.6449  # standard deviations of a normal distribution, that so many stay below


class Room(NamedTuple):
    """What is left, and by how much the range of what is needed goes beyond it."""

    spare: int
    upper: int
    pooled: bool  # of a cache that an engine sets aside, and not of the device

    @property
    def margin(self) -> float:
        """Bytes that have to be left for it to fit surely."""
        return self.upper * (tan(pi * (SURE - LIKELY)) if self.pooled else DEVIATES / END)

    def chance(self, room_bytes: int) -> float:
        """Return how likely it is that what is needed fits."""
        if self.pooled:
            return chance_of_cache(spare_bytes=self.spare, upper_bytes=self.upper)
        return chance_of_fitting(room_bytes=room_bytes, spare_bytes=self.spare, upper_bytes=self.upper)

    def lacking(self, room_bytes: int) -> int:
        """Return the bytes that are missing until it surely fits; not above 0 where it does."""
        if self.pooled:
            return ceil(self.margin) - self.spare
        return sure_bytes(needed_bytes=room_bytes - self.spare, upper_bytes=self.upper) - room_bytes


def chance_of_cache(*, spare_bytes: float, upper_bytes: float) -> float:
    """Return how likely it is that a cache which an engine sets aside has room, if it is computed with bytes to spare.

    Such errors have long tails: what a start holds that nothing is known of takes it from the cache, a driver's graphs
    or another program's share. Of sources a quarter have less than the range says, and twice as far beyond it half of
    those: a Cauchy distribution, whose upper quartile is the range's end.

    >>> [round(chance_of_cache(spare_bytes=spare, upper_bytes=1e9), 3) for spare in (0, 1e9, 3e9, 6.5e9)]
    [0.5, 0.75, 0.898, 0.951]
    """
    return 0.5 + atan(spare_bytes / upper_bytes) / pi if upper_bytes > 0 else float(spare_bytes >= 0)


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


def room_of(memory: Mapping[str, Any]) -> Room:
    """Return what a report has in memory left, of the cache that is set aside where one is."""
    parts = ((part["id"], part["bytes"]) for part in memory["parts"])
    if (free := free_cache(parts, fits=memory["fits"])) is not None:
        return Room(free, memory["kv_pool_bytes_range"][1] - memory["kv_pool_bytes"], pooled=True)
    return Room(memory["headroom_bytes"], memory["device_bytes_range"][1] - memory["device_bytes"], pooled=False)


def chance_in(memory: Mapping[str, Any]) -> float:
    """Return how likely it is that what a report has in memory fits: not at all, if others than the device lack it."""
    room = room_of(memory)
    if memory["fits"] is not True and room.spare >= 0:
        return 0.0
    return room.chance(memory["capacity_bytes"])


def is_sure(memory: Mapping[str, Any]) -> bool:
    """Return whether what a report has in memory surely fits; also where nothing says how much there is."""
    return bool(memory.get("chance", 1.0) >= SURE)
