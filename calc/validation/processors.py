"""Work on many rows or sources, spread over all processors where a process can be copied."""

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

Part = TypeVar("Part")
Made = TypeVar("Made")
_inherited: list[Callable[[Any], Any]] = []  # what copies of this process do: no process could send it to another


def spread(work: Callable[[Part], Made], parts: Sequence[Part], *, at_once: int = 1) -> list[Made]:
    """Return what `work` makes of each part, in their order; a processor takes so many neighbours `at_once`."""
    if "fork" not in multiprocessing.get_all_start_methods():
        return [work(part) for part in parts]
    _inherited[:] = [work]
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("fork")) as processes:
        return list(processes.map(worked, parts, chunksize=at_once))


def worked(part: Any) -> Any:
    """Return what the work that this process was begun with makes of a part."""
    return _inherited[0](part)
