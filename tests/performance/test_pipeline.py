"""Pipelines: bubbles and held micro-batches by hand, from the papers' formulas."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import ScenarioError, estimate
from calc.architecture.stages import stages
from calc.catalog import catalog
from calc.memory.training.plan import held_micro_batches
from calc.performance.pipeline import pipelined
from calc.scenario.model import known_architecture


@pytest.mark.parametrize(
    ("count", "micro_batches", "virtual", "seconds", "bubble"),
    [
        (1, 8, 1, 8.0, 0.0),
        (4, 1, 1, 4.0, 3.0),  # GPipe's worst case: one stage works at a time
        (4, 8, 1, 11.0, 3.0),  # (p - 1) / (m + p - 1) = 3/11 of the time
        (8, 24, 1, 31.0, 7.0),
        (4, 8, 2, 9.5, 1.5),  # (p - 1) / (v m) = 3/16 of the ideal time
        (8, 24, 7, 25.0, 1.0),
    ],
)
def test_bubbles_of_stages_alike(count: int, micro_batches: int, virtual: int, seconds: float, bubble: float) -> None:
    """GPipe and 1F1B wait (p - 1) micro-batches, v pieces a stage make that v times shorter (arXiv:2104.04473, 2.2)."""
    found = pipelined([(1.0, count)], micro_batches=micro_batches, virtual_stages=virtual)
    assert (found.seconds, found.bubble) == (seconds, bubble)


def test_the_slowest_stage_sets_the_pace() -> None:
    """Stages of 1, 1 and 2 seconds: ten micro-batches of two seconds, and two seconds until the first has passed."""
    assert pipelined([(1.0, 2), (2.0, 1)], micro_batches=10) == (22.0, 2.0)


@pytest.mark.parametrize(
    ("position", "micro_batches", "virtual", "expected"),
    [
        (0, 16, 1, 4),  # 1F1B: as many as stages follow, and its own
        (1, 16, 1, 3),
        (3, 16, 1, 1),
        (0, 2, 1, 2),  # never more than there are
        (0, 16, 2, 5.5),  # 4 × (1 + 3/8) (arXiv:2205.05198, section 4.2.3)
        (0, 16, 5, 4.6),  # 4 × (1 + 3/20)
        (3, 16, 2, 2.5),  # the last stage: four pieces of its first half, one of its second
    ],
)
def test_micro_batches_that_a_stage_holds(position: int, micro_batches: int, virtual: int, expected: float) -> None:
    """Of four stages."""
    found = held_micro_batches(position=position, pipeline=4, micro_batches=micro_batches, virtual_stages=virtual)
    assert found == expected


@pytest.mark.parametrize(
    ("model", "pipeline", "expected"),
    [
        ("llama-3.1-8b", 4, [8, 8, 8, 8]),
        ("deepseek-v3", 4, [15, 15, 16, 15]),  # vLLM gives what is left over to the stages before the last one
        ("deepseek-v3", 8, [7, 7, 8, 8, 8, 8, 8, 7]),
        ("llama-3.1-405b", 16, [7] * 1 + [8] * 14 + [7]),
    ],
)
def test_layers_of_stages(model: str, pipeline: int, expected: list[int]) -> None:
    """As vLLM's get_pp_indices divides 32, 61 and 126 layers."""
    found = stages(known_architecture(catalog(), model), pipeline)
    assert [stage.last - stage.first for stage in found] == expected


RUN: dict[str, Any] = {
    "workload": "training",
    "model": "llama-3.3-70b",
    "accelerator": "h100-sxm-80gb",
    "parallelism": {"tensor": 4, "pipeline": 4},
    "micro_batch": 1,
    "sequence_tokens": 4096,
}


@given(st.sampled_from([2, 5, 10, 20]))
def test_more_pieces_wait_less_and_hold_more(pieces: int) -> None:
    """Interleaving shortens the wait and the step, and holds less than one stage's activations again."""
    few, many = (estimate({**RUN, "virtual_stages": count}) for count in (1, pieces))
    speed: Any = (few["speed"], many["speed"])
    assert speed[1]["step_shares"]["pipeline"] < speed[0]["step_shares"]["pipeline"]
    assert speed[1]["step_s"]["typical"] < speed[0]["step_s"]["typical"]
    memory: Any = (few["memory"], many["memory"])
    assert memory[0]["allocated_bytes"] <= memory[1]["allocated_bytes"] < 2 * memory[0]["allocated_bytes"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"parallelism": {"tensor": 4}, "virtual_stages": 2}, "needs a pipeline"), ({"virtual_stages": 21}, "at most 20")],
)
def test_pieces_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    """Pieces need stages, and a layer each."""
    with pytest.raises(ScenarioError, match=message) as error:
        estimate(RUN | changes)
    assert error.value.field == "virtual_stages"
