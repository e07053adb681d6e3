"""Bytes that devices send in a training step, worked by hand from the papers' formulas, and the bubbles of pipelines.

Llama 3.1 8B has 8,030,261,248 parameters in 32 layers of 4,096, with keys and values of 1,024 elements each. Mixtral
8x7B has 46,702,792,704, of which 45,097,156,608 are the experts of its 32 layers of 4,096.
"""

from typing import Any

import pytest

from calc.architecture.stages import stages
from calc.catalog import catalog
from calc.performance.exchanges import exchanges
from calc.performance.operations import Collective
from calc.performance.step_traffic import sent_bytes, step_traffic
from calc.training.reading import read_training

LLAMA, MIXTRAL = "llama-3.1-8b", "mixtral-8x7b"


def sent(model: str = LLAMA, **changes: Any) -> dict[str, float]:
    """Return the bytes that a device sends in a step, by group of ranks."""
    plan = read_training({"workload": "training", "model": model, **changes}, catalog()).plan
    found: dict[str, float] = {}
    for item in step_traffic(plan):
        found[item.id] = found.get(item.id, 0) + item.bytes
    return found


@pytest.mark.parametrize(
    ("precision", "sharding", "expected"),
    [
        # Copies add up gradients: 2 × 7/8 of them, in FP32 where they wait in it, or in 16 bit.
        ("bf16-mixed", "none", 56_211_828_736),  # 2 × 7/8 × 4 × N
        ("bf16-autocast", "none", 56_211_828_736),
        ("fp16-mixed", "none", 28_105_914_368),  # 2 × 7/8 × 2 × N
        ("bf16", "none", 28_105_914_368),
        # ZeRO-1 (section 7.1): 7/8 of the gradients, scattered, and 7/8 of the parameters, gathered.
        ("bf16-mixed", "zero-1", 42_158_871_552),  # 7/8 × (4 + 2) × N
        ("fp16-mixed", "zero-1", 28_105_914_368),  # 7/8 × (2 + 2) × N: as much as copies
        ("fp16-mixed", "zero-2", 28_105_914_368),
        # ZeRO-3 (section 7.2.2): parameters twice and gradients once. FSDP under autocast reduces in FP32.
        ("fp16-mixed", "zero-3", 42_158_871_552),  # 7/8 × (2 + 2 + 2) × N
        ("bf16-mixed", "zero-3", 42_158_871_552),
        ("bf16-autocast", "zero-3", 56_211_828_736),  # 7/8 × (2 + 2 + 4) × N
        ("bf16", "zero-3", 42_158_871_552),
    ],
)
def test_data_ranks(precision: str, sharding: str, expected: int) -> None:
    """DDP and ZeRO (arXiv:1910.02054, section 7) over eight ranks send so many bytes of each device in a step."""
    assert sent(accelerators=8, precision=precision, sharding=sharding) == {"data": expected}


def test_gradients_are_reduced_in_their_own_type() -> None:
    """`gradient_dtype` says what crosses the links: half as much in 16 bit."""
    wide = sent(accelerators=8, sharding="zero-1", gradient_dtype="fp32")["data"]
    assert wide - sent(accelerators=8, sharding="zero-1", gradient_dtype="bf16")["data"] == 14_052_957_184


def test_gradients_are_reduced_in_a_type_that_is_asked_for() -> None:
    """`reduce_dtype`: 2 × 7/8 × 4 × N of gradients that wait in 16 bit, and adapters' 41,943,040 by 2 bytes."""
    assert sent(accelerators=8, gradient_dtype="bf16", reduce_dtype="fp32") == {"data": 56_211_828_736}
    assert sent(accelerators=8, method="lora", reduce_dtype="bf16") == {"data": 2 * 7 * 2 * 41_943_040 // 8}


@pytest.mark.parametrize(
    ("sharding", "reduction", "expected"),
    [
        ("none", "each", 28_105_914_368),  # once a step
        ("zero-1", "each", 28_105_914_368),
        ("zero-2", "each", 7 * 9 * 2_007_565_312),  # 7/8 × 2 × (8 + 1) × N
        ("zero-2", "last", 28_105_914_368),  # as ZeRO-1
        ("zero-3", "each", 8 * 42_158_871_552),
        ("zero-3", "last", 7 * 17 * 2_007_565_312),  # 7/8 × 2 × (16 + 1) × N
    ],
)
def test_micro_batches_that_add_up(sharding: str, reduction: str, expected: int) -> None:
    """Of eight micro-batches divided gradients are reduced with each, or with the last one alone."""
    run = {"accelerators": 8, "precision": "fp16-mixed", "gradient_accumulation": 8, "sharding": sharding}
    assert sent(**run, gradient_reduction=reduction) == {"data": expected}


@pytest.mark.parametrize(("gathered", "size"), [("bf16", 2), ("fp32", 4)])
def test_parameters_are_gathered_in_a_type_that_is_asked_for(gathered: str, size: int) -> None:
    """FSDP under autocast: 7/8 of parameters twice, and of FP32 gradients once."""
    found = sent(accelerators=8, precision="bf16-autocast", sharding="zero-3", gather_dtype=gathered)
    assert found == {"data": 7 * (2 * size + 4) * 8_030_261_248 // 8}


def test_hybrid_sharding() -> None:
    """Two groups of four share a copy each: 3/4 × 3 × 2 × N inside, and 2 × 1/2 × 2 × N / 4 between them."""
    found = sent(accelerators=8, precision="fp16-mixed", sharding="zero-3", shard_ranks=4)
    assert found == {"data": 36_136_175_616, "copies": 4_015_130_624}


def test_sharding_in_a_pipeline_gathers_once() -> None:
    """Torchtitan keeps parameters gathered between micro-batches of a pipeline: one gather and one scatter a step."""
    run = {"precision": "fp16-mixed", "sharding": "zero-3", "parallelism": {"data": 8, "pipeline": 2}}
    once = sent(**run, gradient_accumulation=2)["data"]
    assert once == sent(**run, gradient_accumulation=16)["data"]
    # The second of two stages has 16 layers of 218,112,000, the norm and the output matrix of 525,340,672.
    assert once == 7 * (16 * 218_112_000 + 525_340_672) * 4 // 8


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # A stream is 2 × 1,024 × 4,096 × 2 bytes = 16,777,216. Four all-reduces a layer send 2 × 7/8 of it each.
        ({}, 32 * 4 * 29_360_128),
        ({"checkpointing": "full"}, 32 * 6 * 29_360_128),
        # A gather or a scatter sends 7/8: four forward, four backward, and two of inputs that were kept divided.
        ({"sequence_parallel": True}, 32 * 10 * 14_680_064),
        ({"sequence_parallel": True, "checkpointing": "full"}, 32 * 14 * 14_680_064),
        # PyTorch's selective policy keeps what reduce-scatters gave, and gathers again.
        ({"sequence_parallel": True, "checkpointing": "selective"}, 32 * 12 * 14_680_064),
        ({"sequence_parallel": True, "checkpointing": "selective", "selective": "attention"}, 32 * 10 * 14_680_064),
        ({"gradient_accumulation": 3}, 3 * 32 * 4 * 29_360_128),
        # Adapters change nothing: activations and their gradients pass all layers.
        ({"method": "lora", "lora": {"rank": 8}}, 32 * 4 * 29_360_128),
    ],
)
def test_tensor_ranks(changes: dict[str, Any], expected: int) -> None:
    """Megatron-LM's sums over eight ranks (arXiv:1909.08053; with sequence parallelism arXiv:2205.05198, s. 4.2.2)."""
    assert sent(parallelism={"tensor": 8}, micro_batch=2, sequence_tokens=1024, **changes) == {"tensor": expected}


def test_tensor_ranks_beside_sharded_parameters() -> None:
    """PyTorch's keep the inputs that they gathered: four gathers and four scatters a layer, and none of inputs."""
    run = {"parallelism": {"tensor": 8, "data": 2}, "sharding": "zero-3", "sequence_parallel": True}
    assert sent(**run, micro_batch=2, sequence_tokens=1024)["tensor"] == 32 * 8 * 14_680_064


def test_norms_over_all_heads() -> None:
    """OLMo 2 7B has Llama's sums, and in each layer and direction two FP32 squares of each of 1,024 tokens."""
    squares = 32 * 2 * 14_336  # 2 × 7/8 × 1,024 × 2 × 4
    found = sent("olmo-2-7b", parallelism={"tensor": 8}, sequence_tokens=1024)
    assert found == {"tensor": 32 * 4 * 14_680_064 + squares}
    again = sent("olmo-2-7b", parallelism={"tensor": 8}, sequence_tokens=1024, checkpointing="full")
    assert again == {"tensor": 32 * 6 * 14_680_064 + squares * 3 // 2}


@pytest.mark.parametrize(("checkpointing", "times"), [("none", 3), ("full", 4)])
def test_context_ranks(checkpointing: str, times: int) -> None:
    """Ring attention (arXiv:2310.01889): a rank's 1,024 tokens × 2,048 elements × 2 bytes to seven others, thrice.

    Once forward; backward once more, and their gradients. All copies of the parameters add up their gradients.
    """
    run = {"parallelism": {"context": 8}, "sequence_tokens": 8192, "precision": "fp16-mixed"}
    expected = {"context": 32 * times * 7 * 4_194_304, "data": 28_105_914_368}
    assert sent(**run, checkpointing=checkpointing) == expected


def test_keys_and_values_of_two_widths_go_round() -> None:
    """DeepSeek-V2 Lite: 27 layers with 16 keys of 192 and values of 128, of a rank's 1,024 tokens, in 16 bit."""
    run = {"parallelism": {"context": 2}, "sequence_tokens": 2048, "precision": "fp16-mixed"}
    assert sent("deepseek-v2-lite", **run)["context"] == 27 * 3 * 1024 * 16 * (192 + 128) * 2


@pytest.mark.parametrize(("checkpointing", "times"), [("none", 2), ("full", 3)])
def test_heads_for_tokens(checkpointing: str, times: int) -> None:
    """Ulysses (arXiv:2309.14509): seven eighths of a rank's 1,024 tokens × (4,096 × 2 + 1,024 × 2) × 2 bytes, each way.

    Queries, keys and values go out, what attention gives comes back; the backward pass sends their gradients.
    """
    run = {"parallelism": {"context": 8}, "sequence_tokens": 8192, "precision": "fp16-mixed"}
    expected = {"context": 32 * times * 7 / 8 * 20_971_520, "data": 28_105_914_368}
    assert sent(**run, context_exchange="heads", checkpointing=checkpointing) == expected


def test_tensor_ranks_divide_keys_and_values() -> None:
    """With two tensor ranks each has half the heads of keys and values, so half the bytes go round."""
    one, two = (
        sent(parallelism={"context": 4, "tensor": tensor}, sequence_tokens=4096)["context"] for tensor in (1, 2)
    )
    assert one == 2 * two


@pytest.mark.parametrize(("checkpointing", "exchanged"), [("none", 4), ("selective", 4), ("full", 6)])
def test_expert_ranks(checkpointing: str, exchanged: int) -> None:
    """GShard (arXiv:2006.16668): there and back, forward and backward, 7/8 of two experts' 1,024 × 4,096 × 2 bytes.

    Each rank has an expert of its own, whose gradients nobody shares. All of them share the 1,605,636,096 others.
    """
    found = sent(
        MIXTRAL,
        parallelism={"data": 8, "expert": 8},
        sharding="zero-1",
        sequence_tokens=1024,
        checkpointing=checkpointing,
    )
    assert found == {"expert": 32 * exchanged * 14_680_064, "data": 7 * 6 * 1_605_636_096 // 8}


def test_two_copies_of_each_expert() -> None:
    """Of 16 data ranks two have each expert: they reduce FP32 gradients of an eighth of the experts between them."""
    found = sent(MIXTRAL, parallelism={"data": 16, "expert": 8}, sharding="zero-1", sequence_tokens=1024)
    assert found["expert-data"] == (4 + 2) * 45_097_156_608 // 8 // 2
    assert found["data"] == 15 * 6 * 1_605_636_096 // 16


def test_experts_of_tensor_ranks_get_their_share_of_the_tokens() -> None:
    """Expert ranks out of eight tensor ranks: each sends an eighth of the tokens, and nothing is a data rank's."""
    found = sent(MIXTRAL, parallelism={"tensor": 8, "expert": 8}, sequence_tokens=1024)
    assert found["expert"] == 32 * 4 * 14_680_064 // 8
    assert set(found) == {"expert", "tensor"}


def test_stages() -> None:
    """A stage sends 1,024 × 4,096 × 2 bytes on and as much back, eight times (arXiv:2104.04473)."""
    run = {"gradient_accumulation": 8, "sequence_tokens": 1024}
    assert sent(**run, parallelism={"pipeline": 4}) == {"pipeline": 8 * 2 * 8_388_608}
    # Each of two tensor ranks has the whole stream, or with sequence parallelism half of it.
    both = {"pipeline": 4, "tensor": 2}
    assert sent(**run, parallelism=both)["pipeline"] == 8 * 2 * 8_388_608
    assert sent(**run, parallelism=both, sequence_parallel=True)["pipeline"] == 8 * 8_388_608


def test_adapters() -> None:
    """LoRA adds up adapters alone: rank 16 on all matrices of Llama 3.1 8B is 41,943,040 in FP32."""
    assert sent(accelerators=4, method="lora") == {"data": 2 * 3 * 41_943_040}
    # Where states are shared alone, adapters are handed out once they are updated, and the base is not.
    assert sent(accelerators=4, method="lora", sharding="zero-1") == {"data": 3 * (4 + 4) * 41_943_040 // 4}
    # A shared base is gathered twice as it is stored, with the adapters; gradients are those of adapters.
    base = 2 * 8_030_261_248 + 4 * 41_943_040
    assert sent(accelerators=4, method="lora", sharding="zero-3") == {"data": 3 * (2 * base + 4 * 41_943_040) // 4}


def test_messages_are_those_of_a_layer() -> None:
    """Each layer's gradients are a message of their own, and each layer's sums."""
    plan = read_training(
        {"workload": "training", "model": LLAMA, "parallelism": {"data": 2, "tensor": 2}, "sequence_tokens": 512},
        catalog(),
    ).plan
    found = exchanges(plan, stages(plan.architecture, 1)[0])
    (reduced,), (summed,) = found.reduced, found.forward
    assert isinstance(reduced.operation, Collective) and isinstance(summed.operation, Collective)
    assert (reduced.operation.kind, reduced.times) == ("all-reduce", 32)
    assert (summed.operation.message_bytes, summed.times) == (512 * 4096 * 2, 64)


def test_all_that_is_sent_is_the_sum_of_its_purposes() -> None:
    """Tensor and data parallelism at once send what each of their groups does."""
    asked = {"parallelism": {"tensor": 2, "data": 2}, "accelerators": 4}
    plan = read_training({"workload": "training", "model": LLAMA, **asked}, catalog()).plan
    found = sent(**asked)
    assert len(found) > 1
    assert sent_bytes(step_traffic(plan)) == pytest.approx(sum(found.values()))
