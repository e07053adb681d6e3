"""The page that is open while the guide is served: a save shows in it first, and in all others after that.

An entry of the catalogue decides what dozens of pages say, and they take a while. So a site is built in which all but
the open page are as they were, and of it only this page and files are shown. Then all are built, and whoever asks for
another page waits for that.
"""

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from macros import kept


class OpenPage:
    """The page that was last asked for, and the builds that begin with it; `build` returns whether all was well."""

    def __init__(self, server: Any, build: Callable[[], bool]) -> None:
        self.server, self.build = server, build
        self.path: str | None = None
        self.whole = threading.Event()  # no page is as it was
        self.whole.set()

    @property
    def address(self) -> str:
        """The page as MkDocs calls it."""
        return (self.path or "").removeprefix(self.server.mount_path)

    def asked(self, path: str) -> None:
        """Note which page is open, and wait for all pages where it is another."""
        if path != self.path:
            self.whole.wait()
        self.path = path

    def build_first(self) -> None:
        """Build the open page and show it, then the others, if any of them is now another."""
        self.whole.clear()
        try:
            if self.path is not None:
                kept.show_first(self.address)
            well = self.build()
            if kept.go_on() and well:
                self.build_others()
        finally:
            self.whole.set()

    def build_others(self) -> None:
        """Build all pages while the open one is shown, which loads again where that changes it."""
        root, first = self.server.root, f"{self.server.root}.first"
        Path(root).rename(first)
        self.server.root = first
        with self.server._epoch_cond:
            self.server._visible_epoch = self.server._wanted_epoch
            self.server._epoch_cond.notify_all()
        try:
            self.build()
        finally:
            self.server.root = root
            if read(root, self.address) != read(first, self.address):
                self.server._wanted_epoch += 1
            shutil.rmtree(first)


def read(root: str, address: str) -> bytes:
    """Return a built page, empty where there is none."""
    file = Path(root, address, "index.html")
    return file.read_bytes() if file.exists() else b""
