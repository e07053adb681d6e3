"""A second process for a build in which much is new: it renders the pages that take long first, and keeps them.

It is a copy of the build, made where all facts are read. The build begins with the pages that take the least time. Both
claim each page that they render by a file. Where the build comes to a page that is claimed, all others are rendered,
and it waits for this one; where the copy comes to one, it is done.
"""

import atexit
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from mkdocs.structure.files import Files

from macros import kept

_second: list[int] = []  # its process, in the build
_helps = [False]  # this is the copy


def helps() -> bool:
    """Return whether this is the second process."""
    return _helps[0]


def begin() -> None:
    """Start the second process, where there is a second processor and a way to copy this one."""
    end()
    if (os.cpu_count() or 1) < 2 or not hasattr(os, "fork"):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a server's other thread only answers
        process = os.fork()
    if process:
        _second.append(process)
        atexit.register(end)
    else:
        _helps[0] = True
        quiet = os.open(os.devnull, os.O_WRONLY)  # what is wrong with a page, the build says where it renders it
        for stream in (1, 2):
            os.dup2(quiet, stream)


def leave() -> None:
    """End the second process from within."""
    os._exit(0)


def end() -> None:
    """End the second process, and forget what it had claimed."""
    for process in _second:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    _second.clear()
    for claim in kept.FOLDER.glob("*.claim"):
        claim.unlink(missing_ok=True)


def ended() -> bool:
    """Return whether the second process has ended by itself."""
    if _second and os.waitpid(_second[0], os.WNOHANG)[0]:
        _second.clear()
    return not _second


def awaited(file: Path) -> kept.Kept | None:
    """Return a page that the second process renders, once it has; None where it is for this process to render."""
    while _second and not claimed(file):
        if ended():
            return kept.kept(file)
        time.sleep(0.01)
        if found := kept.kept(file):
            return found
    return None


def claimed(file: Path) -> bool:
    """Claim a page that is kept in a file; return whether nobody else had."""
    kept.FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        file.with_suffix(".claim").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def release(file: Path) -> None:
    """Give a page back that is rendered."""
    file.with_suffix(".claim").unlink(missing_ok=True)


def rested() -> None:
    """Wait until the second process has rendered what it claimed."""
    while not ended():
        time.sleep(0.01)


def turned(files: Files, seconds: Mapping[str, float], last: Callable[[str], object]) -> Files:
    """Return files in the order in which this process renders them; at the end those whose text other pages decide."""
    waiting = {file.src_uri for file in files if file.src_uri.endswith(".md") and last(file.content_string)}
    quickest = sorted(files, key=lambda file: seconds.get(file.url, 0))
    return Files(sorted(quickest[::-1] if helps() else quickest, key=lambda file: file.src_uri in waiting))


def order(files: Files, names: Iterable[str]) -> None:
    """Put files into an order by their names."""
    for file in [found for name in names if (found := files.get_file_from_path(name))]:
        files.remove(file)
        files.append(file)
