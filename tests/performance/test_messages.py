"""What devices send: bytes by hand, and the shares that their papers give."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.architecture.parameters import parameters_total
from calc.catalog import catalog
from calc.performance.collectives import sent_bytes
from calc.performance.messages import (
    EXPERTS,
    GRADIENTS,
    SHARDED,
    SHARINGS,
    STAGES,
    TENSOR,
    Messages,
    arithmetic,
    messages,
)
from calc.scenario.model import known_architecture
from tests.performance.test_forward import linear_weights


def sent(sharing: str, model: str = "llama-3.1-8b", devices: int = 2, tokens: int = 2048) -> list[Messages]:
    """Return the messages of a model in 16 bit."""
    architecture = known_architecture(catalog(), model)
    return messages(sharing, architecture=architecture, devices=devices, tokens=tokens, element_bytes=2)


def test_tensor_ranks_reduce_twice_a_layer() -> None:
    """Megatron-LM (arXiv:1909.08053, section 3): 64 reductions of 2,048 × 4,096 × 2 bytes in the 32 layers of an 8B."""
    (part,) = sent(TENSOR)
    assert (part.operation, part.repeats, part.message_bytes) == ("all-reduce", 64, 2048 * 4096 * 2)


def test_stages_hand_on_one_hidden_state_for_each_token() -> None:
    """16 KiB a token where the hidden size is 8,192, as Korthikanti and others (arXiv:2205.05198) count."""
    (part,) = sent(STAGES, model="llama-3.3-70b", devices=4, tokens=1)
    assert (part.operation, part.repeats, part.message_bytes) == ("send", 3, 16384)


@pytest.mark.parametrize(("sharing", "volume"), [(GRADIENTS, 2), (SHARDED, 3)])
def test_sharding_parameters_sends_half_as_much_again(sharing: str, volume: float) -> None:
    """ZeRO (arXiv:1910.02054, section 7.2): twice the parameters in plain data parallelism, three times in stage 3."""
    devices = 1024
    total = sum(
        part.repeats * sent_bytes(part.operation, ranks=devices, message_bytes=part.message_bytes)
        for part in sent(sharing, devices=devices)
    )
    parameters = parameters_total(known_architecture(catalog(), "llama-3.1-8b"))
    assert total == pytest.approx(volume * 2 * parameters, rel=2e-3)


def test_experts_get_each_token_as_often_as_it_has_experts() -> None:
    """DeepSeek V3: 58 layers of experts, 8 of them a token of 7,168; there and back."""
    (part,) = sent(EXPERTS, model="deepseek-v3", devices=32, tokens=4096)
    assert (part.operation, part.repeats, part.message_bytes) == ("all-to-all", 116, 128 * 8 * 7168 * 2)
    assert part.formula == r"\frac{T}{n} \cdot k \cdot d \cdot b"


def test_a_token_alone_waits_for_the_weights() -> None:
    """8.03 billion parameters in 16 bit over two RTX 4090: half of 16.06 GB at some share of 1,008 GB/s."""
    architecture, card = known_architecture(catalog(), "llama-3.1-8b"), catalog().accelerator("rtx-4090")
    found = arithmetic(TENSOR, architecture=architecture, accelerator=card, devices=2, tokens=1)
    assert found is not None
    assert 0.5 < 8.03e9 / 1008e9 / found.seconds < 1


@given(st.sampled_from(SHARINGS[:4]), st.sampled_from([2, 4, 8]), st.integers(1, 100_000))
def test_training_computes_three_times_a_forward_pass(sharing: str, devices: int, tokens: int) -> None:
    """Of each device; a forward pass is divided over tensor ranks, and runs through stages one after the other."""
    architecture, card = known_architecture(catalog(), "llama-3.1-8b"), catalog().accelerator("h100-sxm-80gb")
    found = arithmetic(sharing, architecture=architecture, accelerator=card, devices=devices, tokens=tokens)
    assert found is not None
    forward = 2 * linear_weights(architecture) * tokens
    assert found.flops == pytest.approx({TENSOR: forward / devices, STAGES: forward}.get(sharing, 3 * forward))


@pytest.mark.parametrize(("devices", "tokens"), [(4, 4096), (32, 4096)])
def test_expert_ranks_compute_with_their_share_of_the_tokens(devices: int, tokens: int) -> None:
    """Each has a share of the tokens, of which each is multiplied with all that it is multiplied with elsewhere."""
    architecture, card = known_architecture(catalog(), "qwen3-30b-a3b"), catalog().accelerator("h100-sxm-80gb")
    found = arithmetic(EXPERTS, architecture=architecture, accelerator=card, devices=devices, tokens=tokens)
    alone = arithmetic(STAGES, architecture=architecture, accelerator=card, devices=1, tokens=tokens)
    assert found is not None and alone is not None
    assert found.flops == pytest.approx(alone.flops / devices)
