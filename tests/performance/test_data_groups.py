"""The units in which data-parallel ranks share parameters, and the host's time for their hooks, by hand."""

from collections import Counter
from typing import Any

import pytest

from calc.catalog import catalog
from calc.memory.training.plan import Plan
from calc.performance.exchanges import exchanges
from calc.performance.kernels import Kernels
from calc.performance.operations import Collective, Pass
from calc.performance.training_clock import Clock, grouped
from calc.performance.training_pace import Pace
from calc.performance.training_passes import step_passes
from tests.plans import plan_of

FACTS = catalog()
DEVICE = FACTS.accelerator("h100-sxm-80gb")
LAYERS, MATRICES = 32, 7
ADAPTERS = 2 * MATRICES * LAYERS
SHARDED = {"model": "llama-3.1-8b", "parallelism": {"data": 8}, "checkpointing": "full"}
LORA = SHARDED | {"method": "lora", "lora": {"rank": 8, "targets": "all-linear"}}


def messages(found: Pass) -> Counter[str]:
    """Return how many messages there are, by what begins their names."""
    count: Counter[str] = Counter()
    for one, times in found:
        assert isinstance(one, Collective)
        count[one.name.split(" ")[0]] += round(times)
    return count


def sent_bytes(found: Pass) -> float:
    """Return the bytes that a rank sends."""
    return sum(times * one.sent_bytes for one, times in found if isinstance(one, Collective))


def test_adapters_are_units_inside_their_layers() -> None:
    """Each matrix is gathered where its layer is, once more where that is recomputed, and has gradients alone."""
    apart, together = (
        exchanges(plan, plan.stages[0])
        for plan in (plan_of(**LORA, sharding="zero-3", adapters_apart=way) for way in (True, False))
    )
    assert messages(apart.forward) == {"All-gather": LAYERS + ADAPTERS}
    assert messages(apart.again) == {"All-gather": ADAPTERS}
    assert messages(apart.backward) == {"All-gather": LAYERS + ADAPTERS, "Reduce-scatter": ADAPTERS}
    assert messages(together.forward) == {"All-gather": LAYERS} and not together.again
    assert messages(together.backward) == {"All-gather": LAYERS, "Reduce-scatter": LAYERS}
    assert sent_bytes(apart.forward) == pytest.approx(sent_bytes(together.forward))
    assert sent_bytes(apart.backward) == pytest.approx(sent_bytes(together.backward))


@pytest.mark.parametrize(
    ("asked", "apart"),
    [
        ({"framework": "transformers", "sharding": "fsdp"}, True),
        ({"framework": "trl", "sharding": "fsdp"}, True),
        ({"framework": "trl", "sharding": "zero-3"}, False),  # which is DeepSpeed's
        ({"framework": "trl", "sharding": "fsdp", "frozen_gradients": True}, False),
        ({"framework": "torchtune", "sharding": "fsdp"}, False),
        ({"sharding": "fsdp"}, False),
    ],
)
def test_who_takes_adapters_apart(asked: dict[str, Any], apart: bool) -> None:
    """Trainer does under FSDP, and what is built on it, where base and adapters share no flat parameter."""
    assert plan_of(**LORA, **asked).adapters_apart == apart


def host_s(plan: Plan, **values: float) -> float:
    """Return the host's seconds for a forward pass under some coefficients."""
    clock = Clock(plan, Kernels(DEVICE), None)
    launches = clock.timed(grouped(step_passes(plan, plan.stages[0]).forward)).launches
    return Pace(plan, DEVICE, {**FACTS.training_step.values, **values}).launch_s(launches)


@pytest.mark.parametrize(
    ("asked", "hooked", "views"),
    [
        (SHARDED | {"sharding": "zero-3"}, LAYERS, LAYERS * (MATRICES + 2) + 3),  # with table, head and last norm
        (
            LORA | {"sharding": "zero-3", "adapters_apart": True},
            LAYERS + ADAPTERS,
            LAYERS * (MATRICES + 2) + 3 + ADAPTERS,
        ),
        (SHARDED | {"sharding": "zero-2"}, 0, 0),
        (SHARDED | {"sharding": "zero-3", "compile": "xla"}, 0, 0),
    ],
)
def test_hooks_take_the_hosts_time(asked: dict[str, Any], hooked: int, views: int) -> None:
    """So many kernels for each message of a unit, and for each tensor in it; XLA has no hooks."""
    plan, each = plan_of(**asked), 1e-5
    none = host_s(plan, kernel_s=each, hook_kernels=0.0, view_kernels=0.0)
    assert host_s(plan, kernel_s=each, hook_kernels=2.0, view_kernels=0.0) - none == pytest.approx(2 * hooked * each)
    assert host_s(plan, kernel_s=each, hook_kernels=0.0, view_kernels=3.0) - none == pytest.approx(3 * views * each)
