"""What parameters cost in a step, against the closed forms of the ZeRO paper; and what its moments are."""

from typing import Any

import pytest

from calc import ScenarioError, estimate
from calc.architecture.parameters import parameters_total
from calc.catalog import catalog
from calc.memory.training.moments import PARTS
from calc.memory.training.run import Adapters
from calc.scenario.model import known_architecture
from calc.training.adapters import adapted_matrices
from calc.training.kept import kept_of_token, kept_together
from calc.training.step import STATES, model_states, moments, saved_states, states_bytes, together

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


def test_a_checkpoint_has_weights_masters_and_adam_s_states() -> None:
    """14 bytes of a parameter in FP16 with AdamW: 16 less the gradient's two, on however many devices (ZeRO, 3.1)."""
    assert states_bytes(RUN) == pytest.approx(16 * COUNT, rel=1e-4)
    for layout in ({}, {"sharding": "zero-3", "accelerators": 8}):
        assert together(saved_states(RUN | layout)) == pytest.approx(14 * COUNT, rel=1e-4)


def test_a_checkpoint_of_adapters_leaves_the_model_out() -> None:
    """What is frozen is where the run began; adapters have states alone."""
    assert set(saved_states(RUN | {"method": "lora"})) <= {"adapters", "master_weights", "optimizer_states"}


def test_adapted_matrices_by_hand() -> None:
    """Llama 2 7B has 32 query matrices of 4,096 × 4,096, and as many of the MLP that are 11,008 wide."""
    architecture = known_architecture(catalog(), "llama-2-7b")
    assert adapted_matrices(architecture, Adapters(8, ("q_proj",))) == ((32, 4096, 4096),)
    both = Adapters(8, ("up_proj", "down_proj"))
    assert adapted_matrices(architecture, both) == ((32, 11008, 4096), (32, 4096, 11008))
    mixture = known_architecture(catalog(), "qwen3-30b-a3b")
    assert adapted_matrices(mixture, both) == ((48 * 128, 768, 2048), (48 * 128, 2048, 768))
    assert adapted_matrices(mixture, both._replace(experts=False)) == ()


def test_what_a_layer_keeps_of_a_token_is_the_same_for_any_batch() -> None:
    """As many bytes of each token, but for a few that a layer keeps once."""
    asked = RUN | {"precision": "bf16-mixed", "checkpointing": "none"}
    one, more = (kept_of_token(dict(estimate(asked | {"micro_batch": size}))) for size in (1, 4))
    assert one == pytest.approx(more, abs=0.1)
    assert kept_together(one) > 2 * 4096 and len(one) > 2
    assert all(label[0].islower() for label in one) and any("norm" in label for label in one)
