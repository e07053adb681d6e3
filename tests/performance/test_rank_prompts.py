"""Prompts of data ranks that step together."""

import pytest

from calc.performance.rank_prompts import held_prompts, passes_met, ranks_met


@pytest.mark.parametrize(
    ("ranks", "dense", "least", "most"),
    [(1, 0.5, 1.0, 1.0), (8, 1e-4, 8.0, 8.0), (8, 2.0, 2.3, 2.6), (8, 64.0, 1.2, 1.3)],
)
def test_ranks_read_together_what_comes_together(ranks: int, dense: float, least: float, most: float) -> None:
    """Rare prompts of eight ranks hold up all, each for itself; of eight counts with a mean of 2 the most is near 5."""
    assert least <= passes_met(ranks, dense) <= most


@pytest.mark.parametrize(
    ("ranks", "dense", "least", "most"),
    [(1, 0.5, 1.0, 1.0), (8, 1e-4, 7.9, 8.0), (8, 1.0, 1.57, 1.59), (8, 64.0, 1.0, 1.0)],
)
def test_steps_with_anyone_s_prompts(ranks: int, dense: float, least: float, most: float) -> None:
    """Rare prompts of eight ranks come in steps of their own; where each step has some of all, these are the same."""
    assert least <= ranks_met(ranks, dense) <= most


def test_prompts_until_each_rank_has_one() -> None:
    """Of two that come by chance half again as many; of four a dice thrower's 1 + 1/2 + 1/3 + 1/4 for each."""
    assert [held_prompts(ranks) for ranks in (1, 2, 4)] == pytest.approx([1.0, 1.5, 25 / 12])
