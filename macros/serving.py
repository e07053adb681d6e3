"""What a maintainer sees while the guide is served: each save once, and what went wrong in the open page."""

import logging
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from calc.calculators.html import element, text
from calc.validation import recorded
from macros.opened import OpenPage

MADE = ("assets/runtime", "assets/vega", "__pycache__")  # folders that a build itself writes
Start = Callable[[str, list[tuple[str, str]]], object]
_serving = [False]


class Complaints(logging.Handler):
    """Keeps what MkDocs complains about in a build."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a warning or an error."""
        self.said.append(record.getMessage())


def on_startup(command: str, **_: Any) -> None:
    """While serving, write nothing into folders that are watched, and compare no predictions again after a save."""
    _serving[0] = command == "serve"
    if _serving[0]:
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        recorded.freeze()


def on_serve(server: Any, config: Any, **_: Any) -> Any:
    """Watch what people write, and show in the open page why a build failed."""
    server.unwatch(config.docs_dir)
    for path in map(Path, (config.docs_dir, *config.watch)):
        for place in [path, *sorted(folder for folder in path.rglob("*") if folder.is_dir())]:
            if not place.as_posix().endswith(MADE):
                server.watch(str(place), recursive=False)
    config.watch.clear()
    complaints = Complaints()
    opened = OpenPage(server, tried(server.builder, complaints))
    server.builder = opened.build_first
    server.set_app(explained(server, complaints, opened.asked))
    return server


def tried(build: Callable[[], None], complaints: Complaints) -> Callable[[], bool]:
    """Return a build that keeps why it failed and returns whether it did not, so that open pages load again."""
    log = logging.getLogger("mkdocs")

    def builder() -> bool:
        complaints.said.clear()
        log.addHandler(complaints)  # for this build alone: the server warns of each address that it does not have
        try:
            build()
        except (Exception, SystemExit) as error:
            complaints.said = complaints.said or [str(error)]
            print(f"The build failed, as the open page says:\n{chr(10).join(complaints.said)}", file=sys.stderr)
        else:
            complaints.said.clear()
        finally:
            log.removeHandler(complaints)
        return not complaints.said

    return builder


def explained(
    server: Any, complaints: Complaints, asked: Callable[[str], None]
) -> Callable[[dict[str, Any], Start], Iterable[bytes]]:
    """Return the server's answers, with what went wrong in place of pages while there is something.

    `asked` is told of each page before it is answered.
    """

    def app(environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
        path = str(environ["PATH_INFO"])
        is_page = "livereload" not in path and "." not in path.rpartition("/")[2]
        if is_page:
            asked(path)
        if not complaints.said or not is_page:
            found: Iterable[bytes] = server.serve_request(environ, start_response)
            return found
        page = server._inject_js_into_html(error_page(complaints.said).encode(), server._visible_epoch)
        start_response("500 Internal Server Error", [("Content-Type", "text/html; charset=utf-8")])
        return [page]

    return app


def error_page(said: list[str]) -> str:
    """Return the page that says why there is none; it loads again by itself after the next save."""
    told = "".join(element("pre", text(line)) for line in said)
    body = element("h1", "The build failed") + told + element("p", "This page loads again when a file is saved.")
    return f"<!doctype html><html lang=en><head><title>The build failed</title></head><body>{body}</body></html>"
