"""The maintainer's loop: what is watched, and what a failed build shows."""

import logging
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mkdocs.livereload import LiveReloadServer

from macros import kept
from macros.opened import OpenPage
from macros.serving import Complaints, explained, on_serve, tried

ROOT = Path(__file__).parent.parent.parent


class Server:
    """What of MkDocs' server the loop touches."""

    def __init__(self) -> None:
        self.watched: set[str] = set()
        self.builder, self.app, self._visible_epoch = (lambda: None), None, 1

    def watch(self, path: str, *, recursive: bool = True) -> None:
        """Note what is watched; a folder without those in it."""
        assert not recursive
        self.watched.add(path)

    def unwatch(self, path: str) -> None:
        """Nothing was watched before."""

    def set_app(self, app: Any) -> None:
        """Take what answers."""
        self.app = app

    def serve_request(self, _: object, start: Any) -> list[bytes]:
        """Answer as if the page were there."""
        start("200 OK", [])
        return [b"the page"]

    def _inject_js_into_html(self, content: bytes, _: int) -> bytes:
        return content


def test_what_a_build_writes_is_not_watched(tmp_path: Path) -> None:
    """Folders of pages and of the catalogue are; runtime, Vega and compiled code would start a second build."""
    for folder in ("docs/memory", "docs/assets/runtime", "docs/assets/vega", "docs/assets/plot", "calc/a/__pycache__"):
        (tmp_path / folder).mkdir(parents=True)
    server = Server()
    config = SimpleNamespace(docs_dir=str(tmp_path / "docs"), watch=[str(tmp_path / "calc")])
    on_serve(server, config)
    shown = {Path(path).relative_to(tmp_path).as_posix() for path in server.watched}
    assert shown == {"docs", "docs/memory", "docs/assets", "docs/assets/plot", "calc", "calc/a"}
    assert config.watch == []


def test_one_save_makes_one_build(tmp_path: Path) -> None:
    """MkDocs' own server builds once for a saved file, though a build writes runtime, Vega and compiled code itself."""
    made = [tmp_path / name for name in ("docs/assets/runtime", "docs/assets/vega", "calc/__pycache__")]
    for folder in (*made, tmp_path / "calc/catalog/data"):
        folder.mkdir(parents=True)
    saved = tmp_path / "calc/catalog/data/links.toml"
    saved.write_text("a = 1")
    built = threading.Semaphore(0)

    def build() -> None:
        for folder in made:
            (folder / "made.txt").write_text(str(time.monotonic()))
        built.release()

    server = LiveReloadServer(build, "127.0.0.1", 0, str(tmp_path), polling_interval=0.05, shutdown_delay=0.05)
    server.watch(str(tmp_path / "docs"))  # as MkDocs does before it asks
    on_serve(server, SimpleNamespace(docs_dir=str(tmp_path / "docs"), watch=[str(tmp_path / "calc")]))
    serving = threading.Thread(target=server.serve)
    try:
        serving.start()
        time.sleep(0.3)  # until it has looked at all files once
        assert not built.acquire(blocking=False)
        saved.write_text("a = 22")
        assert built.acquire(timeout=30)
        assert not built.acquire(timeout=1.0)
    finally:
        server.shutdown(wait=True)
        serving.join()


@pytest.mark.parametrize("error", [ValueError("a <b> is wrong"), SystemExit("a <b> is wrong")])
def test_a_failed_build_shows_in_the_page(error: BaseException, capsys: pytest.CaptureFixture[str]) -> None:
    """Every page says what went wrong, as text, until a build succeeds; files and the reload itself still answer."""
    outcomes: list[BaseException | None] = [error, None]
    complaints = Complaints()

    def build() -> None:
        if found := outcomes.pop(0):
            raise found

    told: list[str] = []
    builder, app = tried(build, complaints), explained(Server(), complaints, told.append)
    said: list[str] = []

    def asked(path: str) -> bytes:
        return b"".join(app({"PATH_INFO": path}, lambda status, _: said.append(status)))

    assert not builder()
    assert b"<pre>a &lt;b&gt; is wrong</pre>" in asked("/guide/memory/") and said == ["500 Internal Server Error"]
    assert asked("/guide/assets/table/table.css") == asked("/livereload/1/2") == b"the page"
    assert "a <b> is wrong" in capsys.readouterr().err
    assert builder() and asked("/guide/memory/") == b"the page"
    assert told == ["/guide/memory/", "/guide/memory/"]


def test_a_wrong_address_is_no_failed_build() -> None:
    """MkDocs warns of what it answers with a redirect, as the address without the site's folder, or does not have."""
    complaints, log = Complaints(), logging.getLogger("mkdocs.livereload")

    def build() -> None:
        log.warning("a link is broken")
        if endings.pop():
            sys.exit("Aborted")

    endings, builder = [True, False], tried(build, complaints)
    for said in ([], ["a link is broken"]):
        log.warning('"GET / HTTP/1.1" code 302')
        builder()
        log.warning('"GET /favicon.ico HTTP/1.1" code 404')
        assert complaints.said == said


@pytest.mark.parametrize("later", [b"new", b"other"])
def test_a_save_shows_in_the_open_page_first(later: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is shown while the others are built, for which a reader waits; if they change it, it loads again."""
    page, waiting = tmp_path / "site/a/index.html", threading.Event()
    shown: list[tuple[bytes, int]] = []

    def build() -> bool:
        second = server._visible_epoch == 2
        if second:
            shown.append(((Path(server.root) / "a/index.html").read_bytes(), server._visible_epoch))
            opened.asked("/guide/a/")
            threading.Thread(target=lambda: (opened.asked("/guide/b/"), waiting.set())).start()
            assert not waiting.wait(0.05)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_bytes(later if second else b"new")
        return True

    server = SimpleNamespace(root=str(tmp_path / "site"), mount_path="/guide/", _epoch_cond=threading.Condition())
    server._visible_epoch, server._wanted_epoch = 1, 2
    opened = OpenPage(server, build)
    opened.build_first()
    assert not shown  # no page was open: all are built at once
    opened.asked("/guide/a/")
    monkeypatch.setattr(kept, "_owed", [])
    monkeypatch.setattr(kept, "go_on", lambda: True)
    opened.build_first()
    assert shown == [(b"new", 2)] and waiting.wait(5)
    assert (page.read_bytes(), server._wanted_epoch) == (later, 2 if later == b"new" else 3)
    assert [found.name for found in tmp_path.iterdir()] == ["site"] and Path(server.root) == tmp_path / "site"
