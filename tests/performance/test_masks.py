"""Masks of attention that a host fills before a pass."""

from types import SimpleNamespace
from typing import Any

import pytest

from calc.catalog import catalog
from calc.performance.engine_passes import Setup, passes_of
from calc.performance.forward import Segment
from calc.performance.masks import awaited_cells, masked_cells
from calc.performance.passes import Passes
from calc.question import read_question

CELL_S = 2.1e-9  # of builds until January 2026


def with_windows(*windows: int | None) -> Any:
    """Return a model whose layers look at windows."""
    return SimpleNamespace(looks=tuple((SimpleNamespace(window=window), 12) for window in windows))


def test_layers_that_see_as_far_share_a_mask() -> None:
    """64 new tokens behind 1,000 cached ones: 64 × 1,064 cells, and 64 × (128 + 64) for all layers with a window."""
    one = Segment(1.0, 64, 1000, 1.0)
    assert masked_cells(with_windows(None, None), one) == 64 * 1064
    assert masked_cells(with_windows(None, 128, 128), one) == 64 * 1064 + 64 * 192
    assert masked_cells(with_windows(), one) == 0


def test_later_pieces_are_prepared_while_a_device_works() -> None:
    """Of four pieces one is waited for, or all of them by a host that waits for the device."""
    quarter = Segment(1.0, 64, 1000, 0.25)
    assert awaited_cells(with_windows(None), quarter, is_waiting=False) == 64 * 1064 / 4
    assert awaited_cells(with_windows(None), quarter, is_waiting=True) == 64 * 1064


def under(model: str, device: str, version: str) -> Passes:
    """Return the passes of llama.cpp's build."""
    question = read_question(
        {"model": model, "accelerator": device, "engine": "llama.cpp", "engine_version": version, "weights": "q8_0"}
    )
    engine = catalog().engine("llama.cpp").of_version(version)
    found = passes_of(
        Setup("llama.cpp", engine.era, engine.values, "flash"),
        demand=question.demand,
        layout=question.layout,
        accelerator=question.accelerator,
    )
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("model", "device", "version", "share"),
    [
        ("qwen3-8b", "rtx-4090", "b6200", 0.25),
        ("qwen3-8b", "m2-ultra-192gb", "b6200", 1.0),  # Metal returned when a graph was computed
        ("qwen3-30b-a3b", "rtx-4090", "b6200", 1.0),  # the host sorted rows by experts
        ("qwen3-30b-a3b", "rtx-4090", "b6500", 0.25),
        ("qwen3-8b", "rtx-4090", "b9554", 0.0),
    ],
)
def test_who_waits_for_masks(model: str, device: str, version: str, share: float) -> None:
    """A piece of 512 tokens behind 1,000 has 512 × 1,512 cells, each 2.1 ns until January 2026."""
    passes = under(model, device, version)
    piece = passes.prompt(sequences=1, tokens=512, before=1000, pieces=4)
    assert passes.prepared_s(passes.schedule, (piece,)) == pytest.approx(CELL_S * share * 512 * 1512)
    step = passes.time(passes.step(sequences=1, context=1000))
    assert step.between_s >= passes.schedule.step_s + (CELL_S * 1001 if share else 0.0)
