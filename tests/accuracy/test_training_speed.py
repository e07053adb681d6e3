"""How near published training speeds the predictions are, and that every larger error is explained."""

import pytest

from macros.accuracy.scores import by, line, overall, reasons
from macros.accuracy.training_speed import scores

SCORES, _ = scores()
# Median error by source, rounded up.
MEDIANS = {
    "dlperf_v100": 0.12,
    "internevo": 0.08,
    "llm_foundry": 0.06,
    "megatron_lm": 0.06,
    "qwen_readme": 0.10,
    "torchao": 0.10,
    "torchtitan": 0.10,
    "torchtune": 0.10,
}


def test_most_rows_can_be_predicted() -> None:
    """Nearly every row that says what it ran becomes a scenario."""
    assert len(SCORES) >= 470


@pytest.mark.parametrize(("source", "most"), MEDIANS.items())
def test_median_error_by_source(source: str, most: float) -> None:
    """Half of a source's rows are nearer than its median error."""
    assert line(source, by(SCORES, "source")[source]).middle <= most


def test_all_sources_together() -> None:
    """Each source counting once, the median error is below a tenth and four of five rows lie in their range."""
    whole = overall(by(SCORES, "source"))
    assert whole.middle <= 0.08
    assert whole.covered is not None and 0.75 <= whole.covered <= 0.87


def test_every_larger_error_has_its_reason() -> None:
    """Each row that is off by more than a tenth has a reason; no reason stands for another row."""
    large = {score.row["id"] for score in SCORES if abs(score.error) > 0.1}
    assert set(reasons("training_speed")) == large
