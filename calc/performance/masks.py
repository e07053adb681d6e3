"""Masks of attention that a host fills cell by cell before a pass, as llama.cpp's does."""

from calc.performance.forward import Segment
from calc.performance.rank_model import RankModel


def masked_cells(model: RankModel, segment: Segment) -> float:
    """Return the cells of a segment's masks: for each new token all entries of a cache that it may look at.

    Layers with a window have a cache and a mask of their own, of the window and the new tokens.
    """
    cells = 0.0
    for window in {look.window for look, _ in model.looks}:
        entries = segment.keys + segment.queries
        cells += entries if window is None else min(entries, window + segment.queries)
    return segment.sequences * segment.queries * cells


def awaited_cells(model: RankModel, segment: Segment, *, is_waiting: bool) -> float:
    """Return the cells that a device waits for.

    Those of a prompt's later pieces are filled while it works on the ones before, unless the host waits for these.
    """
    return masked_cells(model, segment) * (1.0 if is_waiting else min(segment.outputs, 1.0))
