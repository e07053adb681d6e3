"""Room for the caches of sequences that pause, beside the devices: in the host's memory or on its disk."""

from typing import NamedTuple

HOST, DISK = "host", "disk"


class CacheStore(NamedTuple):
    """What an engine may keep of caches outside of its devices."""

    to: str  # HOST or DISK
    size_bytes: int  # of all devices together
    bandwidth: float | None  # bytes a second that a disk is read at; None: memory, which the link to the device bounds
