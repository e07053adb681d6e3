"""The pictures of the first page show computed lengths, and say in words what they show."""

import re
from typing import Any

from calc import estimate
from calc.catalog import catalog
from calc.units import show_gib
from macros.doors import VALUE, WIDTH, door_formats, door_hardware, door_models
from macros.markdown import unmarked


def widths(drawn: str) -> list[int]:
    """Return the lengths of a picture's bars."""
    return [int(width) for width in re.findall(r'<rect[^>]* width="(\d+)"', drawn)]


def taken(model: str, weights: str) -> int:
    """Return the bytes that a model takes with 8,192 tokens and without an engine."""
    report: Any = estimate({"model": model, "weights": weights, "context_tokens": 8192})
    return int(report["memory"]["device_bytes"])


def test_bars_are_as_long_as_what_they_stand_for() -> None:
    """The longest fills the room, the others their share of it, and each has its size beside it."""
    drawn = unmarked(door_formats("llama-3.3-70b", "bf16", "q4_k_m", context_tokens=8192))
    sizes = [taken("llama-3.3-70b", weights) for weights in ("bf16", "q4_k_m")]
    assert widths(drawn) == [round((WIDTH - VALUE) * size / sizes[0]) for size in sizes]
    assert all(f">{show_gib(size)}<" in drawn for size in sizes)


def test_what_does_not_fit_has_another_colour() -> None:
    """Of models beside a card those that need more than it has stand out, and the line is where it ends."""
    drawn = unmarked(door_models("rtx-4090", "llama-3.1-8b", "llama-3.3-70b", weights="q4_k_m", context_tokens=8192))
    capacity = catalog().accelerator("rtx-4090").capacity_bytes
    assert taken("llama-3.1-8b", "q4_k_m") < capacity < taken("llama-3.3-70b", "q4_k_m")
    assert re.findall(r'class="(door-bar|door-over)"', drawn) == ["door-bar", "door-over"]
    assert f'x1="{round((WIDTH - VALUE) * capacity / taken("llama-3.3-70b", "q4_k_m"))}"' in drawn


def test_rents_rise() -> None:
    """What serves a model is shown with the cheapest rent first."""
    lengths = widths(unmarked(door_hardware("gpt-oss-120b", 3, context_tokens=8192)))
    assert len(lengths) == 3 and lengths == sorted(lengths)
