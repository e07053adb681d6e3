"""Work in steps: what keeps all that it makes is not looked through for what refers to itself."""

import gc
from collections.abc import Iterator

import pytest

from calc import plan
from calc.planner.steps import Steps, finished, kept

WIDE = {"want": "hardware", "models": {"parameters": [31e9, 32e9]}, "rank_by": "speed", "context_tokens": 8192}
TRAINED = {"want": "hardware", "model": "qwen3-32b", "workload": "training", "sequence_tokens": 2048}


@pytest.fixture(autouse=True)
def looking() -> Iterator[None]:
    """Look for what refers to itself before and after a test, as Python does by default."""
    gc.enable()
    yield
    gc.enable()


def asked(*, fails: bool = False) -> Steps[bool]:
    """Take one step, and say whether Python looks for what refers to itself."""
    yield 1
    if fails:
        raise ValueError("refused")
    return gc.isenabled()


def test_nothing_is_looked_for_in_what_is_kept() -> None:
    """Between the first step and the end; what was so before is so again."""
    assert finished(asked())
    assert not finished(kept(asked()))
    assert gc.isenabled()
    gc.disable()
    assert not finished(kept(asked()))
    assert not gc.isenabled()


def test_it_is_looked_for_again_after_steps_that_end_early() -> None:
    """A page may let go of a question between two steps, and an error may end it."""
    steps = kept(asked())
    next(steps)
    assert not gc.isenabled()
    steps.close()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="refused"):
        finished(kept(asked(fails=True)))
    assert gc.isenabled()


@pytest.mark.parametrize(("question", "length"), [(WIDE, "context_tokens"), (TRAINED, "sequence_tokens")])
def test_a_plan_makes_next_to_nothing_that_refers_to_itself(question: dict[str, object], length: str) -> None:
    """Else it would fill the memory until its end; the first question also reads the catalogue."""
    plan(question)
    gc.collect()
    gc.disable()
    assert plan(question | {length: 4096})["options"]
    assert gc.collect() < 2500  # of the hundred thousands that the search makes
