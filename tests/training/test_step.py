"""What parameters cost in a step, against the closed forms of the ZeRO paper; and what its moments are."""

from typing import Any

import pytest

from calc import ScenarioError
from calc.architecture.parameters import parameters_total
from calc.catalog import catalog
from calc.memory.training.moments import PARTS
from calc.scenario.model import known_architecture
from calc.training.step import STATES, model_states, moments

RUN: dict[str, Any] = {"workload": "training", "model": "llama-2-7b", "precision": "fp16-mixed"}
COUNT = parameters_total(known_architecture(catalog(), "llama-2-7b"))


@pytest.mark.parametrize("devices", [2, 8, 64])
@pytest.mark.parametrize(
    ("sharding", "whole", "divided"), [("none", 16, 0), ("zero-1", 4, 12), ("zero-2", 2, 14), ("zero-3", 0, 16)]
)
def test_states_of_zero(sharding: str, whole: int, divided: int, devices: int) -> None:
    """ZeRO's stages leave 4 + 12/N, 2 + 14/N and 16/N bytes of a parameter on a device (arXiv:1910.02054, figure 1)."""
    states = model_states(RUN | {"sharding": sharding, "accelerators": devices})
    assert sum(states.values()) == pytest.approx((whole + divided / devices) * COUNT, rel=1e-4)


def test_states_do_not_depend_on_the_batch() -> None:
    """Model states are the same for any batch; activations are no part of them."""
    small, large = (model_states(RUN | {"micro_batch": size}) for size in (1, 16))
    assert small == large
    assert tuple(small) == STATES


def test_moments_come_in_the_order_of_a_step() -> None:
    """A step runs forward, computes the loss, runs backward and updates; every moment names all parts."""
    found = moments(RUN)
    phases = list(dict.fromkeys(moment.phase for moment in found))
    assert phases == ["forward", "loss", "backward", "optimizer"]
    assert all(tuple(moment.parts) == PARTS for moment in found)


def test_no_states_where_gradients_are_never_together() -> None:
    """An optimizer in the backward pass leaves no moment at which all gradients are there."""
    with pytest.raises(ScenarioError, match="all gradients") as raised:
        model_states(RUN | {"precision": "bf16", "optimizer_in_backward": True})
    assert raised.value.field == "optimizer_in_backward"
