"""Work that is done in steps: a page says how far it is, answers others between two of them, and may let go of it."""

import gc
from collections.abc import Generator
from typing import TypeVar

Found = TypeVar("Found")
Steps = Generator[int, None, Found]  # each step says how many ways were looked at


def finished(steps: Steps[Found]) -> Found:
    """Return what steps come to, taken one after the other.

    >>> def counting():
    ...     yield 1
    ...     return "done"
    >>> finished(counting())
    'done'
    """
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Found = end.value
            return found


def kept(steps: Steps[Found]) -> Steps[Found]:
    """Take steps that keep what they make until their end, in which next to nothing refers to itself.

    To look again and again through all of it for what does takes a quarter of the time of the widest searches.
    """
    looks = gc.isenabled()
    gc.disable()
    try:
        return (yield from steps)
    finally:
        if looks:
            gc.enable()
