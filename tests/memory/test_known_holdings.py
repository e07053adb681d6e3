"""What a training device holds, tensor by tensor: adapters' splits, tables at both ends, tokens sent to experts."""

from typing import Any

import pytest

from calc.architecture.tensors import Tensor
from calc.catalog import catalog
from calc.memory.training.device import Device
from calc.memory.training.elements import held, low_rank_tensors
from calc.memory.training.plan import Plan
from calc.training.reading import read_training

FACTS = catalog()


def plan_of(**changes: Any) -> Plan:
    """Return a run as a plan."""
    return read_training(
        {"workload": "training", "sequence_tokens": 512, "accelerator": "h100-sxm-80gb"} | changes, FACTS
    ).plan


@pytest.mark.parametrize(
    ("split", "first", "second"), [("out", "none", "out"), ("in", "in", "none"), ("none", "none", "none")]
)
def test_adapters_are_divided_as_their_matrix_is(split: str, first: str, second: str) -> None:
    """A has the matrix's inputs, B and DoRA's magnitudes its outputs; the rank is whole on each device."""
    plan = plan_of(model="llama-3.2-1b", method="lora", lora={"rank": 8, "dora": True})
    assert plan.adapters is not None
    found = low_rank_tensors(Tensor("q_proj.weight", "attention", (64, 32), split), plan.adapters)
    assert [(tensor.shape, tensor.split) for tensor in found] == [
        ((8, 32), first),
        ((64, 8), second),
        ((64,), second if split == "out" else "none"),
    ]


def test_a_tied_table_stands_at_both_ends_of_a_pipeline() -> None:
    """The last stage has the final norm and a copy of the table, of 128,256 rows of 2,048."""
    plan = plan_of(model="llama-3.2-1b", parallelism={"pipeline": 2})
    first, last = (plan.inventory(stage) for stage in plan.stages)
    assert first.embedding.elements == 128_256 * 2048 and not first.head.elements
    assert last.head.elements == 128_256 * 2048 + 2048 and not last.embedding.elements


def test_tokens_are_sent_to_experts_of_two_ranks() -> None:
    """Two experts for each token, there and back, 4,096 numbers of two bytes."""
    plan = plan_of(model="mixtral-8x7b", parallelism={"data": 2, "expert": 2})
    assert Device(plan, plan.stages[0], 0).exchanged() == 2 * plan.batch.rows * 2 * 4096 * 2
    alone = plan_of(model="mixtral-8x7b", parallelism={"data": 2})
    assert Device(alone, alone.stages[0], 0).exchanged() == 0


def test_experts_alone_are_shared_by_fewer_ranks() -> None:
    """What counts twice, three and five times of an expert, as fewer ranks share it, counts once of all else."""
    plan = plan_of(model="mixtral-8x7b")
    method = plan.method._replace(expert_shares=(2, 3, 5))
    layer = plan.architecture.kinds[0]
    assert {tensor.active is None for tensor in layer.tensors} == {True, False}
    for tensor in layer.tensors:
        once, found = (held(tensor, one, 1, 1) for one in (plan.method, method))
        states, gradients, weights = (1, 1, 1) if tensor.active is None else (2, 3, 5)
        assert found.state_bytes == states * once.state_bytes and found.updated == states * once.updated
        assert found.gradient_bytes == gradients * once.gradient_bytes
        assert found.base_bytes == weights * once.base_bytes > 0


def test_a_rank_gathers_its_own_experts_of_a_frozen_layer() -> None:
    """Of eight experts of Mixtral, of three matrices of 4,096 × 14,336 in two bytes, four where two ranks have them."""
    asked: dict[str, Any] = {"model": "mixtral-8x7b", "method": "lora", "lora": {"targets": ["q_proj"]}}
    gathered = []
    for expert in (1, 2):
        plan = plan_of(**asked, sharding="zero-3", parallelism={"data": 4, "expert": expert})
        device = Device(plan, plan.stages[0], 0)
        gathered.append(device.gathered(device.inventory.layers[0][1]))
    assert gathered[0] - gathered[1] == 4 * 3 * 4096 * 14_336 * 2


def test_each_expert_has_an_adapter_of_its_own() -> None:
    """All that an adapter adds to a matrix that stands eight times stands eight times, on as few tokens."""
    plan = plan_of(model="llama-3.2-1b", method="lora", lora={"rank": 8, "dora": True})
    assert plan.adapters is not None
    found = low_rank_tensors(Tensor("up_proj.weight", "experts", (64, 32), copies=8, active=2), plan.adapters)
    assert [(tensor.copies, tensor.active) for tensor in found] == [(8, 2)] * 3
