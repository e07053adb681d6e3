"""Plots are drawn once for each content, and by a copy of a process as by itself."""

import os
from pathlib import Path

import pytest

from calc.plots import draw, in_unit
from macros import drawing

DEVICES = ("p100-sxm-16gb", "a100-sxm-80gb")


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep plots apart from those of builds."""
    monkeypatch.setattr(drawing, "FOLDER", tmp_path)


def test_a_plot_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same content is not drawn again, and another is."""
    first, other = (in_unit(draw("rate-ratio", devices=names), "").whole() for names in (DEVICES, DEVICES[:1]))
    drawn = drawing.drawing(first)
    assert drawn.svg.startswith("<svg") and drawn.vega["$schema"].endswith("vega/v6.json")
    assert drawing.drawing(other) != drawn
    monkeypatch.delattr(drawing, "draw_anew")
    assert drawing.drawing(first) == drawn


def test_a_copy_draws_the_same(tmp_path: Path) -> None:
    """After the converter has run: a copy that used it itself would wait for ever."""
    first = in_unit(draw("rate-ratio", devices=DEVICES), "").whole()
    drawn = drawing.drawing(first)
    (kept,) = tmp_path.glob("*.json")
    kept.unlink()
    process = os.fork()
    if not process:
        drawing.drawing(first)
        os._exit(0)
    assert os.waitpid(process, 0)[1] == 0
    assert kept.exists() and drawing.drawing(first) == drawn


def test_the_oldest_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were asked for last stay."""
    monkeypatch.setattr(drawing, "MOST", 1)
    for age, name in ((10, "old.json"), (0, "new.json")):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    drawing.tidy()
    assert [file.name for file in tmp_path.iterdir()] == ["new.json"]
