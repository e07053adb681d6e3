"""Firefox and WebKit as their makers let programs drive them: Marionette over a socket, WebDriver over HTTP.

Both come from Debian: `firefox-esr`, and `webkit2gtk-driver` with `xvfb`, for WebKit needs a screen.
"""

import json
import os
import shutil
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

FIREFOX, WEBKIT = shutil.which("firefox-esr") or shutil.which("firefox"), shutil.which("WebKitWebDriver")
MINI = next(iter(Path("/usr/lib").glob("*/webkit2gtk-4*/MiniBrowser")), None)
SCREEN = shutil.which("Xvfb")
START_S, ANSWER_S = 60, 120


class Driver(ABC):
    """A browser that goes to addresses and runs scripts in their pages."""

    @abstractmethod
    def go(self, address: str) -> None:
        """Load a page."""

    @abstractmethod
    def run(self, script: str, *arguments: object) -> Any:
        """Return what the body of a function returns in the page."""

    def wait(self, condition: str, *arguments: object) -> None:
        """Wait until an expression holds in the page; raises TimeoutError with the expression where it never does."""
        end = time.monotonic() + ANSWER_S
        while not self.run(f"return Boolean({condition})", *arguments):
            if time.monotonic() > end:
                raise TimeoutError(condition)
            time.sleep(0.1)


class Firefox(Driver):
    """Firefox over Marionette: JSON with its length before it."""

    def __init__(self, port: int) -> None:
        self.socket = connected(port)
        self.stream = self.socket.makefile("rb")
        self._read()
        self._ask("WebDriver:NewSession")

    def _read(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            length += self.stream.read(1)
        return json.loads(self.stream.read(int(length[:-1])))

    def _ask(self, command: str, **arguments: object) -> Any:
        message = json.dumps([0, 1, command, arguments]).encode()
        self.socket.sendall(b"%d:%s" % (len(message), message))
        _, _, error, result = self._read()
        assert error is None, error
        return result

    def go(self, address: str) -> None:
        """Load a page."""
        self._ask("WebDriver:Navigate", url=address)

    def run(self, script: str, *arguments: object) -> Any:
        """Return what the body of a function returns in the page."""
        return self._ask("WebDriver:ExecuteScript", script=script, args=list(arguments))["value"]


class WebKit(Driver):
    """WebKitGTK over WebDriver."""

    def __init__(self, port: int) -> None:
        connected(port).close()
        self._address = f"http://127.0.0.1:{port}/session"
        options = {"webkitgtk:browserOptions": {"binary": str(MINI), "args": ["--automation"]}}
        self._address += "/" + self._ask("", {"capabilities": {"alwaysMatch": options}})["sessionId"]

    def _ask(self, path: str, content: dict[str, object]) -> Any:
        request = Request(f"{self._address}{path}", json.dumps(content).encode(), method="POST")
        with urlopen(request, timeout=ANSWER_S) as reply:
            return json.load(reply)["value"]

    def go(self, address: str) -> None:
        """Load a page."""
        self._ask("/url", {"url": address})

    def run(self, script: str, *arguments: object) -> Any:
        """Return what the body of a function returns in the page."""
        return self._ask("/execute/sync", {"script": script, "args": list(arguments)})


def connected(port: int) -> socket.socket:
    """Return a connection to what has just been started."""
    end = time.monotonic() + START_S
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def free_port() -> int:
    """Return a port that nobody listens at."""
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def started(command: list[str], **environment: str) -> Iterator[None]:
    """Run a program until it is no longer needed."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    program = subprocess.Popen(command, env=os.environ | environment, **quiet)  # type: ignore[call-overload]
    try:
        yield
    finally:
        program.terminate()
        program.wait()


@contextmanager
def firefox(folder: Path) -> Iterator[Driver]:
    """Firefox with a profile of its own in a folder."""
    port = free_port()
    (folder / "user.js").write_text(f'user_pref("marionette.port", {port});\n', encoding="utf-8")
    with started([str(FIREFOX), "--headless", "--marionette", "--no-remote", "--profile", str(folder)]):
        driver = Firefox(port)
        with closing(driver.socket), closing(driver.stream):
            yield driver


@contextmanager
def webkit(folder: Path) -> Iterator[Driver]:
    """WebKit on a screen that nobody sees, with its data in a folder."""
    port, screen = free_port(), f":{90 + os.getpid() % 1000}"
    homes = {name: str(folder) for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")}
    with started([str(SCREEN), screen]), started([str(WEBKIT), f"--port={port}"], DISPLAY=screen, **homes):
        yield WebKit(port)
