"""A build in which everything is new is rendered by two processes, each page by one of them."""

import json
import os
import sys
from pathlib import Path

import pytest
from mkdocs.structure.files import File, Files

from macros import beside, kept, reads


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep pages apart from those of builds, and leave no process behind."""
    monkeypatch.setattr(kept, "FOLDER", tmp_path)
    monkeypatch.setattr(beside, "_second", [])


def second(monkeypatch: pytest.MonkeyPatch, program: str) -> int:
    """Put another program in the place of the second process, and return its number."""
    process = os.posix_spawn(sys.executable, [sys.executable, "-c", program], os.environ)
    monkeypatch.setattr(beside, "_second", [process])
    return process


def test_a_page_is_claimed_once(tmp_path: Path) -> None:
    """By whoever comes first, until it is rendered."""
    page = tmp_path / "page.json"
    assert beside.claimed(page) and not beside.claimed(page)
    beside.release(page)
    beside.release(page)
    assert beside.claimed(page)


def test_alone_nothing_is_awaited(tmp_path: Path) -> None:
    """Without a second process each page is rendered here, and nothing is claimed."""
    assert beside.awaited(tmp_path / "page.json") is None
    assert not list(tmp_path.iterdir())


def test_what_the_second_process_renders_is_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that it claimed is taken as it kept it."""
    page = tmp_path / "page.json"
    assert beside.claimed(page)
    content = ["<p>", "", None, [], [], {}, {}, {}, 1]
    whole = json.dumps({"reads": {}, "state": reads.state({}), "content": content})
    write = f"part = pathlib.Path({str(tmp_path / 'part')!r}); part.write_text({whole!r}); part.replace({str(page)!r})"
    wait = f"import pathlib, time; time.sleep(0.2); {write}; time.sleep(60)"  # whole or not at all, as `kept` writes
    process = second(monkeypatch, wait)
    found = beside.awaited(page)
    assert found and found.html == "<p>"
    beside.end()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert not list(tmp_path.glob("*.claim"))


@pytest.mark.parametrize("program", ["", "raise SystemExit(1)"])
def test_what_it_leaves_is_rendered_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Where it ends or fails before the page that it claimed, nobody waits for ever."""
    page = tmp_path / "page.json"
    assert beside.claimed(page)
    second(monkeypatch, program)
    assert beside.awaited(page) is None


def test_a_page_that_nobody_claimed_is_rendered_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the second process finds it claimed."""
    page = tmp_path / "page.json"
    second(monkeypatch, "import time; time.sleep(60)")
    assert beside.awaited(page) is None and not beside.claimed(page)
    beside.end()


@pytest.mark.parametrize(("helps", "order"), [(False, "c.png d.md a.md b.md"), (True, "a.md d.md c.png b.md")])
def test_it_begins_with_what_takes_long(monkeypatch: pytest.MonkeyPatch, helps: bool, order: str) -> None:
    """The build begins with what is quick; pages that wait for others come last, and all are found as before."""
    monkeypatch.setattr(beside, "_helps", [helps])
    texts = {"a.md": "A", "b.md": "waits", "c.png": "", "d.md": "D"}
    files = Files([File(name, "docs", "site", use_directory_urls=True) for name in texts])
    for file in files:
        file.content_string = texts[file.src_uri]
    turned = beside.turned(files, {"a/": 5.0, "b/": 0.1, "d/": 2.0}, lambda text: text == "waits")
    assert [file.src_uri for file in turned] == order.split()
    assert turned.get_file_from_path("b.md") is files.get_file_from_path("b.md")
    beside.order(turned, texts)
    assert [file.src_uri for file in turned] == list(texts)


def test_what_others_computed_is_told_when_they_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is waited for without a second process, and its end is with one."""
    beside.rested()
    process = second(monkeypatch, "import time; time.sleep(0.2)")
    beside.rested()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_the_second_process_is_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It knows what it is, has all that was read, and says nothing; the build goes on as before."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    read = {"facts": "all"}
    beside.begin()
    if beside.helps():
        print("never seen")
        (tmp_path / "seen").write_text(read["facts"])
        beside.leave()
    while not beside.ended():
        pass
    assert not beside.helps() and (tmp_path / "seen").read_text() == "all"


def test_with_one_processor_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two would only take turns."""
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    beside.begin()
    assert beside.ended()
