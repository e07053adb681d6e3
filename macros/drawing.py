"""What specifications in Vega-Lite are compiled to and drawn as, kept by their content: few saves change a plot."""

import hashlib
import json
import os
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import vl_convert

FOLDER = Path(__file__).parent.parent / ".cache/plots"
MOST = 500  # kept plots: a few states of the whole guide
_copied: list[int] = []  # this process is a copy: the converter's threads are not copied with it
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _copied.append(os.getpid()))


class Drawing(NamedTuple):
    """A plot in Vega, and its picture as SVG."""

    vega: dict[str, Any]
    svg: str


def drawing(specification: Mapping[str, Any]) -> Drawing:
    """Return what a specification in Vega-Lite is compiled to and drawn as."""
    written = json.dumps(specification, sort_keys=True)
    key = hashlib.sha256(f"{version('vl-convert-python')} {written}".encode()).hexdigest()[:24]
    file = FOLDER / f"{key}.json"
    if not file.exists():
        found = process().submit(draw_anew, written).result() if _copied else draw_anew(written)
        FOLDER.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(found), encoding="utf-8")
        part.replace(file)
    file.touch()
    return Drawing(*json.loads(file.read_text(encoding="utf-8")))


def draw_anew(written: str) -> Drawing:
    """Return a specification compiled and drawn."""
    vega = vl_convert.vegalite_to_vega(written)
    return Drawing(vega, vl_convert.vega_to_svg(vega))


@lru_cache(maxsize=1)
def process() -> ProcessPoolExecutor:
    """Return the process that draws for a copy."""
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"))


def tidy() -> None:
    """Forget the plots that were not asked for the longest."""
    for older in sorted(FOLDER.glob("*.json"), key=lambda file: file.stat().st_mtime)[:-MOST]:
        older.unlink(missing_ok=True)
