"""The checked catalogue is kept until something changes, and never trusted blindly."""

import marshal
import tomllib
from pathlib import Path
from typing import Any, NoReturn

import pytest

from calc.catalog.checking import checked
from calc.catalog.checking.checked import checked_tables
from calc.catalog.checking.loader import read_tables
from calc.errors import CatalogError


def no_toml(*_: Any) -> NoReturn:
    """Stand in for the TOML parser where none may be needed."""
    raise AssertionError("TOML was read again")


def test_a_second_load_reads_no_toml(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept is what reading gave."""
    kept = tmp_path / "cache" / "catalog.tables"
    first = checked_tables(data, kept)
    monkeypatch.setattr(tomllib, "loads", no_toml)
    assert checked_tables(data, kept) == first
    monkeypatch.undo()
    assert first == read_tables(data)


def test_an_edit_is_seen(data: Path, tmp_path: Path) -> None:
    """One changed character is enough, in a file of the same length."""
    kept = tmp_path / "catalog.tables"
    assert checked_tables(data, kept)["models"]["tiny"]["context_tokens"] == 2048
    file = data / "models/m.toml"
    file.write_text(file.read_text().replace("context_tokens = 2048", "context_tokens = 4096"))
    assert checked_tables(data, kept)["models"]["tiny"]["context_tokens"] == 4096


def test_a_mistake_is_found_every_time(data: Path, tmp_path: Path) -> None:
    """A catalogue with a mistake is never kept."""
    kept = tmp_path / "catalog.tables"
    (data / "number_formats.toml").write_text("[fp32\n")
    for _ in range(2):
        with pytest.raises(CatalogError, match=r"number_formats\.toml"):
            checked_tables(data, kept)
    assert not kept.exists()


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"null", b"\x00", *(marshal.dumps(value) for value in ({}, {"made_from": 1}, [], None))]
)
def test_a_broken_file_is_made_again(data: Path, tmp_path: Path, content: bytes) -> None:
    """A file that another program cut off or overwrote is no obstacle."""
    kept = tmp_path / "catalog.tables"
    kept.write_bytes(content)
    assert checked_tables(data, kept) == read_tables(data)
    assert kept.stat().st_size > len(content)


def test_what_older_checks_made_is_not_taken(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that began before the checks were edited keeps its tables under those that it has, not the newer."""
    kept = tmp_path / "catalog.tables"
    older = tuple((name, content + b"# as it was") for name, content in checked.CHECKERS)
    with monkeypatch.context() as before:
        before.setattr(checked, "CHECKERS", older)
        checked_tables(data, kept)
    monkeypatch.setattr(checked, "read_tables", no_toml)
    with pytest.raises(AssertionError, match="read again"):
        checked_tables(data, kept)


def test_everything_that_checks_counts() -> None:
    """Each module of the catalogue may refuse an entry, or change what it says; so may the units."""
    names = {name for name, _ in checked.CHECKERS}
    assert {path.name for path in Path(checked.__file__).parents[1].rglob("*.py")} | {"units.py"} == names


def test_a_place_that_cannot_be_written_is_no_obstacle(data: Path, tmp_path: Path) -> None:
    """An installed copy may be read-only."""
    (tmp_path / "file").write_text("")
    assert checked_tables(data, tmp_path / "file" / "catalog.tables") == read_tables(data)
