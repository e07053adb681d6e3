"""Pages whose macros have nothing new to say: what they wrote is kept, by everything that decides it.

A page is decided by its text and address, by `calc` with its catalogue and measurements, by the macros, by the files
that some of them read, and by the day, as prices age. Few pages read other pages.
"""

import hashlib
import json
import re
import sys
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from macros import markdown, plots

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".cache/pages"
DECIDING = ("calc/**/*.py", "calc/**/*.toml", "calc/**/*.csv", "macros/**/*.py", "docs/assets/*.json")
READING_PAGES = re.compile(r"\{\{\s*(source|address)_table\(")  # which say what pages rest on a source
MOST = 300  # kept pages: a few states of the whole guide
_state = [""]


class Kept(NamedTuple):
    """A page after its macros, the finished HTML that its tokens stand for, and what its plots are drawn from."""

    text: str
    made: dict[str, str]
    plots: dict[str, str]


def begin() -> bool:
    """Note the state of everything that decides all pages, and return whether its catalogue was found sound before."""
    _state[0] = digest(DECIDING)
    return (FOLDER / f"{_state[0]}.sound").exists()


def note_sound() -> None:
    """Note that the catalogue of this state was checked."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for older in FOLDER.glob("*.sound"):
        older.unlink(missing_ok=True)
    (FOLDER / f"{_state[0]}.sound").touch()


def digest(patterns: tuple[str, ...]) -> str:
    """Return what tells one content of files from another."""
    total = hashlib.sha256(f"{sys.version} {date.today()}".encode())
    for path in sorted(path for pattern in patterns for path in ROOT.glob(pattern)):
        total.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return total.hexdigest()


def file_of(text: str, page: Any) -> Path:
    """Return the file that keeps a page of that text."""
    others = digest(("docs/**/*.md",)) if READING_PAGES.search(text) else ""
    key = hashlib.sha256("\0".join((_state[0], others, page.url, text)).encode()).hexdigest()
    return FOLDER / f"{key[:24]}.json"


def kept(file: Path) -> str | None:
    """Return a page after its macros if it is kept, and bring back what belongs to it."""
    if not file.exists():
        return None
    found = Kept(*json.loads(file.read_text(encoding="utf-8")))
    file.touch()
    markdown.restore(found.made)
    plots.restore(found.plots)
    return found.text


def keep(file: Path, text: str) -> None:
    """Keep a page after its macros."""
    made = markdown.aside(text)
    FOLDER.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_text(json.dumps(Kept(text, made, plots.used_in(made.values()))), encoding="utf-8")
    part.replace(file)


def tidy() -> None:
    """Forget the pages that were not asked for the longest."""
    for older in sorted(FOLDER.glob("*.json"), key=lambda file: file.stat().st_mtime)[:-MOST]:
        older.unlink(missing_ok=True)
