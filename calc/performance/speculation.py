"""What speculation gains, and up to how many sequences: until a step has no arithmetic to spare."""

from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

from calc.performance.passes import Passes

MOST_SEQUENCES = 4096  # tried, on each data-parallel rank
PARTS = 16  # between the last power of two that gains and the first that does not


class Gain(NamedTuple):
    """How much faster tokens come with drafts than without."""

    tokens_per_step: float
    factor: float
    helps_up_to: int | None  # sequences of a rank; 0: one alone loses already; None: as many as were tried


def gain(*, plain: Passes, drafted: Passes, sequences: float, context: int) -> Gain:
    """Return what drafts gain for so many sequences with a mean context, and where that ends."""

    def factor(count: float) -> float:
        alone = plain.time(plain.step(sequences=count, context=context)).total
        return alone * drafted.expected / drafted.time(drafted.step(sequences=count, context=context)).total

    return Gain(drafted.expected, factor(sequences), last_gain(factor))


def last_gain(factor: Callable[[float], float]) -> int | None:
    """Return the most sequences for which drafts gain, as a search by halves finds them."""
    low, high = 0, 1
    while factor(high) > 1.0:
        low, high = high, 2 * high
        if high > MOST_SEQUENCES:
            return None
    counts = range(low, high, max(low // PARTS, 1))
    return counts[bisect_left(counts, True, lo=1, key=lambda count: factor(count) <= 1.0) - 1]
