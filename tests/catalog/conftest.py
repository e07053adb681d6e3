"""A small sound catalogue."""

import shutil
from pathlib import Path

import pytest

from calc.catalog.entries import DATA
from tests.catalog.small import GOOD, MODEL


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A small sound catalogue to break."""
    for folder in ("accelerators", "models", "sources"):
        (tmp_path / folder).mkdir()
    shutil.copy(DATA / "sources/methods.toml", tmp_path / "sources")
    shutil.copy(DATA / "number_formats.toml", tmp_path)
    (tmp_path / "accelerators/a.toml").write_text(GOOD)
    (tmp_path / "models/m.toml").write_text(MODEL)
    return tmp_path
