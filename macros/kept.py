"""Pages that have nothing new to say: what macros and Markdown made of them is kept, by everything that decides it.

A page is decided by its text, front matter and address, by `calc` with its measurements and scores, by the macros, by
the settings and the names of all files, which links lead to, by the files that some macros read, and by the day, as
prices age; and by the entries of the catalogue that were read to make it, which are kept with it. Few pages read other
pages. A page of which something was complained is not kept, so that the next build complains again.
"""

import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from mkdocs.structure.toc import get_toc

from calc.catalog import Catalog
from calc.catalog.checking.configs import COUNTS
from calc.catalog.checking.loader import FILES as TABLES
from calc.validation import recorded
from calc.validation.soundness import check_whole, wrong_models
from macros import markdown, plots, reads

T = TypeVar("T")
ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".cache/pages"
MADE = ROOT / ".cache/files"  # of a site, that `calc` alone decides
CODE = ("calc/**/*.py", "macros/**/*.py", "requirements.lock")  # as it was when this process began: it runs no other
DECIDING = ("calc/**/*.toml", "calc/**/*.csv", f"calc/**/{COUNTS.name}", "docs/assets/*.json", "mkdocs.yml")
ENTRIES = tuple(f"calc/catalog/data/{pattern}" for pattern in TABLES.values())  # a page is decided by those it reads
MOST = 300  # kept pages: a few states of the whole guide
_code: list[str] = []
_state = [""]  # of what decides all pages
_whole = [""]  # … with the whole catalogue
_first: list[str] = []  # the address of the page that a server shows first, while others are as they were
_owed: list[str] = []  # pages that were taken as they were, though entries that they rest on are others by now
_began = [0.0]  # the processor's time at which a page began
_seconds: dict[str, float] = {}  # that each page took when it was made, by its address
_names = [""]  # of all files of this build, in one


class Kept(NamedTuple):
    """A page after Markdown, without its finished HTML; that, what its plots are drawn from, and what links need."""

    html: str
    plain: str  # the page as plain Markdown
    title: str | None
    headings: list[dict[str, Any]]
    identities: list[str]
    links: dict[str, dict[str, str]]  # to headings, by file
    made: dict[str, str]
    plots: dict[str, str]
    seconds: float  # of the processor, to make it


def begin() -> None:
    """Note the state of everything that decides all pages.

    A server shows the scores of its start, whatever has changed since then: they are part of the state.
    """
    _code[:] = _code or [digest(CODE)]
    said = f"{_code[0]} {digest(DECIDING, ENTRIES)} {recorded.frozen()}"
    before, _state[0] = _state[0], hashlib.sha256(said.encode()).hexdigest()
    if _state[0] != before:
        _first.clear()  # no page is as it was
    _whole[0] = hashlib.sha256(f"{said} {digest(ENTRIES)}".encode()).hexdigest()


def check(facts: Catalog) -> None:
    """Check the catalogue of this state whole, unless it was found sound before. Raises CatalogError.

    Its models, which take the longest, are checked anew when what they rest on has changed.
    """
    sound = FOLDER / f"{_whole[0]}.sound"
    if sound.exists():
        return
    reads.begin()
    check_whole(facts, once("wrong-models", lambda: wrong_models(facts)))
    FOLDER.mkdir(parents=True, exist_ok=True)
    for older in FOLDER.glob("*.sound"):
        older.unlink(missing_ok=True)
    sound.touch()


def note_names(names: Iterable[str]) -> None:
    """Note what files there are, which pages may link to."""
    _names[0] = "\n".join(sorted(names))


def is_new() -> bool:
    """Return whether this state was never built."""
    return not (MADE / _whole[0][:24]).exists()


def is_much() -> bool:
    """Return whether more is to be made than the page that is shown first."""
    return not _first and (is_new() or bool(_owed))


def show_first(address: str) -> None:
    """Have the next build take all pages but one as they were, where only entries were changed."""
    _first[:] = [address]
    _owed.clear()


def go_on() -> bool:
    """Have builds make all pages again; return whether one is another by now than the last build had it."""
    _first.clear()
    return bool(_owed)


def digest(patterns: tuple[str, ...], without: tuple[str, ...] = ()) -> str:
    """Return what tells one content of files from another."""
    total = hashlib.sha256(f"{sys.version} {date.today()}".encode())
    left = {path for pattern in without for path in ROOT.glob(pattern)}
    for path in sorted({path for pattern in patterns for path in ROOT.glob(pattern)} - left):
        total.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return total.hexdigest()


def file_of(text: str, page: Any, others: str = "") -> Path:
    """Return the file that keeps a page of that text, which reads so much of other pages and files.

    It says in which state the entries of the catalogue were that the page rests on.
    """
    front = json.dumps(page.meta, sort_keys=True, default=str)
    key = hashlib.sha256("\0".join((_state[0], _names[0], others, page.url, front, text)).encode()).hexdigest()
    return FOLDER / f"{key[:24]}.json"


def kept(file: Path) -> Kept | None:
    """Return a page if it is kept, and bring back what belongs to it."""
    content = read(file)
    return None if content is None else brought(content)


def as_it_was(file: Path, page: Any) -> Kept | None:
    """Return a page as it was before an entry was changed, while another one is shown first."""
    if _first in ([], [page.url]) or not file.exists():
        return None
    _owed.append(page.url)
    return brought(json.loads(file.read_text(encoding="utf-8"))["content"])


def brought(content: Any) -> Kept:
    """Return a page from what a file has of it, and bring back what belongs to it."""
    found = Kept(*content)
    markdown.restore(found.made)
    plots.restore(found.plots)
    return found


def keep(file: Path, page: Any, *, html: str, plain: str, made: dict[str, str]) -> None:
    """Keep a page as Markdown made it, with the finished HTML in it."""
    links = {to.src_uri: anchors for to, anchors in (page.links_to_anchors or {}).items()}
    seconds = note_seconds(page, time.process_time() - _began[0])
    found = Kept(
        html=html,
        plain=plain,
        title=page._title_from_render,
        headings=[heading_of(item) for item in page.toc],
        identities=sorted(page.present_anchor_ids),
        links=links,
        made=made,
        plots=plots.used_in(made.values()),
        seconds=seconds,
    )
    write(file, found)


def note_seconds(page: Any, seconds: float) -> float:
    """Note how long a page took to make."""
    _seconds[page.url] = seconds
    return seconds


def seconds() -> dict[str, float]:
    """Return how long each page took when it was last made, by its address, as far as builds have noted."""
    file = FOLDER / "seconds"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {}


def begin_page() -> None:
    """Note what a page reads from here on, and how long it takes."""
    reads.begin()
    _began[0] = time.process_time()


def write(file: Path, content: object) -> None:
    """Write a file whole or not at all, as another process may read it; what was read for it stands with it."""
    noted = reads.noted()
    FOLDER.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps({"reads": noted, "state": reads.state(noted), "content": content}), encoding="utf-8")
    part.replace(file)


def read(file: Path) -> Any:
    """Return what a file keeps; None where there is none, or an entry that it rests on is another by now."""
    if not file.exists():
        return None
    found = json.loads(file.read_text(encoding="utf-8"))
    if found["state"] != reads.state(found["reads"]):
        return None
    file.touch()
    reads.add(found["reads"])
    return found["content"]


def once(name: str, make: Callable[[], T]) -> T:
    """Return what the first page of a build that wants it makes; it rests on what this page has read until then.

    What comes from a file has lists in place of tuples.
    """
    if not _state[0]:  # no build
        return make()
    file = FOLDER / f"{_state[0][:24]}-{name}.json"
    found: T | None = read(file)
    if found is None:
        write(file, found := make())
    return found


def heading_of(item: Any) -> dict[str, Any]:
    """Return a heading of a page's table of contents with those below it, as `get_toc` of MkDocs reads it."""
    below = [heading_of(child) for child in item.children]
    return {"name": item.title, "id": item.id, "level": item.level, "children": below}


def fill(page: Any, found: Kept, files: Any) -> None:
    """Give a page what MkDocs would have found in its text."""
    note_seconds(page, found.seconds)
    page.toc = get_toc(found.headings)  # type: ignore[arg-type]
    page._title_from_render = found.title
    page.present_anchor_ids = set(found.identities)
    page.links_to_anchors = {files.get_file_from_path(name): anchors for name, anchors in found.links.items()}


def make_files(writers: Iterable[Callable[[Path], None]]) -> None:
    """Make what of a site `calc` with its catalogue decides alone, once for each state of it."""
    if is_new():
        made = MADE / _whole[0][:24]
        shutil.rmtree(MADE, ignore_errors=True)
        part = made.with_suffix(".part")
        for write in writers:
            write(part)
        part.rename(made)


def copy_files(site: Path) -> None:
    """Copy it into a site."""
    shutil.copytree(MADE / _whole[0][:24], site, copy_function=shutil.copyfile, dirs_exist_ok=True)


def tidy() -> None:
    """Note how long pages took, and forget those that were not asked for the longest."""
    (FOLDER / "seconds").write_text(json.dumps(_seconds), encoding="utf-8")
    for older in sorted(FOLDER.glob("*.json"), key=lambda file: file.stat().st_mtime)[:-MOST]:
        older.unlink(missing_ok=True)
