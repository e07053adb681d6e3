"""What devices send in a training step, against the volumes that the papers of each parallelism state."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.architecture.parameters import parameters_total
from calc.catalog import catalog
from calc.performance.step_traffic import step_traffic
from calc.scenario.model import known_architecture
from calc.training.reading import read_training

RUN: dict[str, Any] = {"workload": "training", "model": "llama-3.1-8b", "precision": "fp16-mixed"}
COUNT = parameters_total(known_architecture(catalog(), "llama-3.1-8b"))
HIDDEN, LAYERS, KV_WIDTH = 4096, 32, 8 * 128


def sent(**changes: object) -> dict[str, int]:
    """Return the bytes that a device sends, by kind of parallelism."""
    found: dict[str, int] = {}
    for item in step_traffic(read_training(RUN | changes, catalog()).plan):
        found[item.id] = found.get(item.id, 0) + item.bytes
    return found


def test_one_device_sends_nothing() -> None:
    """A device alone has nobody to send to."""
    assert sent() == {}


@pytest.mark.parametrize(("sharding", "times"), [("none", 2), ("zero-1", 2), ("zero-2", 2), ("zero-3", 3)])
def test_volume_of_zero(sharding: str, times: int) -> None:
    """Data parallelism, ZeRO-1 and ZeRO-2 send the 16-bit parameters twice, ZeRO-3 thrice (arXiv:1910.02054, s. 7)."""
    share = 63 / 64
    assert sent(accelerators=64, sharding=sharding)["data"] == pytest.approx(times * share * 2 * COUNT, rel=1e-6)


def test_hybrid_sharding_keeps_gathers_in_the_group() -> None:
    """With HSDP parameters are gathered within a group; between groups only each rank's share of the gradients goes."""
    found = sent(accelerators=64, sharding="zero-3", shard_ranks=8)
    assert found["data"] == pytest.approx(3 * 7 / 8 * 2 * COUNT, rel=1e-6)
    assert found["copies"] == pytest.approx(2 * 7 / 8 * 2 * COUNT / 8, rel=1e-6)


def test_sums_of_tensor_ranks() -> None:
    """Two all-reduces a layer forward and two backward, of batch × sequence × hidden (arXiv:1909.08053, section 3)."""
    found = sent(parallelism={"tensor": 8}, micro_batch=2, sequence_tokens=1024)
    assert found == {"tensor": 4 * LAYERS * 2 * 7 * (2 * 1024 * HIDDEN * 2) // 8}


def test_norms_over_all_heads_are_sums_more() -> None:
    """OLMo 2 norms queries and keys over all heads, which ranks have a part of: two FP32 sums a token and layer."""
    plan = {"model": "olmo-2-7b", "parallelism": {"tensor": 8}, "micro_batch": 2, "sequence_tokens": 1024}
    blocks = 4 * 32 * 2 * 7 * (2 * 1024 * 4096 * 2) // 8
    assert sent(**plan)["tensor"] - blocks == 2 * 32 * 2 * 7 * (2 * 1024 * 2 * 4) // 8


def test_full_checkpointing_adds_the_forward_sums_again() -> None:
    """A recomputed forward pass adds its two sums a layer once more."""
    once, twice = (sent(parallelism={"tensor": 8}, checkpointing=kind)["tensor"] for kind in ("none", "full"))
    assert twice * 4 == once * 6


def test_stages_hand_over_hidden_states() -> None:
    """A stage sends each micro-batch's hidden states on and their gradients back."""
    found = sent(parallelism={"pipeline": 4}, gradient_accumulation=8, sequence_tokens=1024)
    assert found == {"pipeline": 8 * 2 * 1024 * HIDDEN * 2}


def test_keys_and_values_go_round() -> None:
    """Ring attention sends each rank's keys and values to the others, and twice as much backward (arXiv:2310.01889)."""
    found = sent(parallelism={"context": 4}, sequence_tokens=8192)
    assert found["context"] == 3 * LAYERS * 3 * (2048 * 2 * KV_WIDTH * 2)


def test_tokens_go_to_their_experts_and_back() -> None:
    """Two exchanges a layer forward and two backward, of each token once for each of its experts (arXiv:2006.16668)."""
    found = sent(model="mixtral-8x7b", parallelism={"data": 8, "expert": 8}, sharding="zero-1", sequence_tokens=1024)
    assert found["expert"] == 4 * LAYERS * 2 * 7 * (1024 * HIDDEN * 2) // 8


def test_adapters_alone_are_added_up() -> None:
    """Of a frozen base nothing is sent unless it is sharded."""
    plain = sent(method="lora", accelerators=2)["data"]
    assert plain == pytest.approx(41_943_040 * 4)
    assert sent(method="lora", accelerators=2, sharding="zero-3")["data"] > 2 * COUNT


@given(count=st.integers(2, 64), more=st.integers(1, 64))
def test_more_accumulation_never_sends_less(count: int, more: int) -> None:
    """Micro-batches add to what sharded parameters send, and never take away."""
    few, many = (
        sent(accelerators=8, sharding="zero-3", gradient_accumulation=n)["data"] for n in (count, count + more)
    )
    assert few * (count + more) == pytest.approx(many * count, rel=1e-6)
