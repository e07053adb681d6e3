"""What frameworks do differently in training, against runs that were measured, each with its source."""

from typing import Any

import pytest

from calc import ScenarioError, estimate

GIB = 2**30
LLAMA = {"workload": "training", "model": "llama-2-7b", "precision": "bf16", "checkpointing": "full"}
MISTRAL = {
    "workload": "training",
    "model": "mistral-7b-v0.1",
    "precision": "bf16",
    "checkpointing": "full",
    "sequence_tokens": 4096,
    "micro_batch": 4,
    "optimizer": "adamw-foreach",
}
LARGE = {"workload": "training", "model": "llama-3.1-8b", "precision": "bf16", "checkpointing": "full"}


def memory(scenario: dict[str, object], **changed: object) -> dict[str, Any]:
    """Return the memory of a changed scenario."""
    found: Any = estimate({**scenario, **changed})["memory"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(("tokens", "measured"), [(512, 8.28), (2048, 9.16)])
def test_fsdp_keeps_the_root_unit_gathered(tokens: int, measured: float) -> None:
    """LoRA of Llama 2 7B under FSDP on two devices: max_memory_allocated of fsdp_qlora's benchmarks (March 2024)."""
    found = memory(
        LLAMA,
        method="lora",
        lora={"rank": 64, "targets": ["q_proj", "k_proj", "v_proj", "up_proj", "down_proj", "gate_proj"]},
        optimizer="adamw-foreach",
        sharding="fsdp",
        accelerators=2,
        sequence_tokens=tokens,
    )
    assert found["allocated_bytes"] == pytest.approx(measured * GIB, rel=0.02)


@pytest.mark.parametrize(
    ("changed", "measured"),
    [
        ({}, 67.46),
        ({"sharding": "fsdp", "accelerators": 2, "micro_batch": 2}, 33.74),
        ({"method": "lora", "lora": {"rank": 16, "targets": ["q_proj", "k_proj", "v_proj", "o_proj"]}}, 24.87),
    ],
    ids=str,
)
def test_hugging_face_trainer(changed: dict[str, object], measured: float) -> None:
    """Mistral 7B on A100: max_memory_allocated of FMS Acceleration's reference benchmarks (transformers 4.48)."""
    assert memory(MISTRAL, **changed)["allocated_bytes"] == pytest.approx(measured * GIB, rel=0.02)


def test_fp32_stream_of_prepared_qlora() -> None:
    """peft's k-bit preparation raises what is not quantized to FP32, the stream too: 19.25 GiB (FMS Acceleration).

    What matrices of 4 bits give is FP32 by bitsandbytes' code, which makes this 4 % too much; 16 bit would not.
    """
    adapters = {"rank": 16, "targets": ["q_proj", "k_proj", "v_proj", "o_proj"]}
    found = memory(MISTRAL, method="qlora", precision="bf16-autocast", lora=adapters)
    assert found["allocated_bytes"] == pytest.approx(19.25 * GIB, rel=0.045)


def test_whole_gradients_of_frozen_weights() -> None:
    """Lightning's no_sync over FSDP 1: LoRA of Llama 2 13B takes 33.13 GiB on each of four (litgpt's tables)."""
    found = memory(
        LLAMA,
        model="llama-2-13b",
        method="lora",
        lora={"rank": 8, "targets": ["q_proj", "v_proj"]},
        sharding="fsdp",
        accelerators=4,
        sequence_tokens=1304,
        cross_entropy="chunked",
        gradient_accumulation=32,
        gradient_reduction="last",
        frozen_gradients=True,
    )
    assert found["allocated_bytes"] == pytest.approx(33.13 * GIB, rel=0.03)


def test_whole_gradients_are_divided_before_the_update() -> None:
    """With "last" the micro-batches hold all gradients, and the optimizer its share, as with "each"."""
    shared: dict[str, object] = {**LARGE, "sharding": "fsdp", "accelerators": 4, "gradient_accumulation": 4}
    each, last = memory(shared), memory(shared, gradient_reduction="last")
    parameters = 8_030_261_248
    grown = last["phases"]["backward"] - each["phases"]["backward"]
    assert grown == pytest.approx(2 * parameters * 3 / 4, rel=0.02)
    assert last["phases"]["optimizer"] == each["phases"]["optimizer"]


def test_one_micro_batch_has_nothing_to_add_up() -> None:
    """Without accumulation each and last are the same."""
    shared: dict[str, object] = {**LARGE, "sharding": "fsdp", "accelerators": 4}
    assert memory(shared) == memory(shared, gradient_reduction="last")


def test_tables_apart_are_gathered_only_while_they_work() -> None:
    """The token table and the output matrix of Llama 3.1, 525 million elements each, leave the layers' backward."""
    shared: dict[str, object] = {**LARGE, "sharding": "fsdp", "accelerators": 8}
    saved = memory(shared)["phases"]["forward"] - memory(shared, tables_apart=True)["phases"]["forward"]
    assert saved == 2 * (2 * 128256 * 4096 + 4096)


def test_a_loop_over_one_flat_tensor_copies_all_of_it() -> None:
    """ZeRO-1's share is one tensor, so AdamW's loop makes two copies of it; a fused AdamW makes none."""
    shared: dict[str, object] = {**LARGE, "precision": "bf16-mixed", "gradient_dtype": "bf16", "sharding": "zero-1"}
    fused, loop = memory(shared), memory(shared, optimizer="adamw-for-loop")
    parameters = 8_030_261_248
    grown = loop["phases"]["optimizer"] - fused["phases"]["optimizer"]
    assert grown == pytest.approx((8 - 2 - 2) * parameters, rel=0.001)  # less the 16-bit gradients joined before


@pytest.mark.parametrize(
    ("precision", "sharding", "bytes_each"), [("bf16-mixed", "zero-1", 6), ("bf16-autocast", "fsdp", 18)]
)
def test_losses_over_a_divided_vocabulary(precision: str, sharding: str, bytes_each: int) -> None:
    """Megatron-LM overwrites the logits (cross_entropy.py); PyTorch's loss_parallel adds gradient, softmax and sum."""
    parts = memory(
        LARGE,
        precision=precision,
        sharding=sharding,
        parallelism={"tensor": 8, "data": 2},
        sequence_tokens=8192,
        micro_batch=8,
    )["parts"]
    logits = next(part["bytes"] for part in parts if part["id"] == "logits")
    assert logits == pytest.approx(bytes_each * 8 * 8192 * 128256 / 8, rel=0.001)


def test_a_compiled_loss_makes_only_the_gradient() -> None:
    """Compiling the loss saves 10 of 14 bytes a logit (torchtitan pull request 1033: more than chunks do)."""
    shared: dict[str, object] = {**LARGE, "sequence_tokens": 8192, "micro_batch": 4, "method": "lora"}
    saved = memory(shared)["allocated_bytes"] - memory(shared, cross_entropy="compiled")["allocated_bytes"]
    assert saved == pytest.approx(10 * 4 * 8192 * 128256, rel=0.01)


def test_unused_blocks_follow_what_comes_and_goes() -> None:
    """Compiled code and segments that grow leave fewer blocks, varied lengths more; what stays is hardly rounded up."""
    reserve = {
        name: memory(MISTRAL, method="lora", **changed)
        for name, changed in {
            "plain": {},
            "compiled": {"compile": True},
            "varied": {"varied_lengths": True},
            "grown": {"varied_lengths": True, "expandable_segments": True},
            "short": {"micro_batch": 1, "sequence_tokens": 512},
        }.items()
    }
    beyond = {name: found["reserved_bytes"] - found["allocated_bytes"] for name, found in reserve.items()}
    assert beyond["short"] < beyond["compiled"] < beyond["plain"] < beyond["varied"]
    assert beyond["grown"] < beyond["compiled"]


def test_ranges_are_narrower_where_the_framework_is_known() -> None:
    """What compile and varied_lengths say is not left open."""
    known = memory(MISTRAL, compile=False, varied_lengths=False)
    taken = memory(MISTRAL)
    for figure in ("allocated", "reserved", "device"):
        assert known[f"{figure}_bytes"] == taken[f"{figure}_bytes"]
        (low, high), (lowest, highest) = known[f"{figure}_bytes_range"], taken[f"{figure}_bytes_range"]
        assert lowest <= low < known[f"{figure}_bytes"] < high <= highest


@pytest.mark.parametrize(
    ("field", "value", "others"),
    [
        ("frozen_gradients", True, {}),
        ("frozen_gradients", True, {"method": "lora", "sharding": "zero-2"}),
        ("gradient_reduction", "last", {"sharding": "zero-1"}),
        ("gradient_reduction", "never", {}),
        ("tables_apart", True, {"sharding": "zero-2"}),
        ("adapters_apart", True, {"method": "lora", "sharding": "zero-2"}),
        ("adapters_apart", True, {"sharding": "zero-3"}),
        ("adapters_apart", True, {"method": "lora", "sharding": "zero-3", "frozen_gradients": True}),
        ("varied_lengths", "yes", {}),
    ],
)
def test_what_a_framework_cannot_do_is_refused_by_field(field: str, value: object, others: dict[str, object]) -> None:
    """Choices that need another one say which."""
    with pytest.raises(ScenarioError) as caught:
        estimate({**LARGE, **others, field: value})
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("device", "seen"),
    [("a100-sxm-40gb", 39.55), ("v100-sxm-32gb", 31.55), ("a100-sxm-80gb", 79.25), ("rtx-4090", 23.54)],
)
def test_training_has_what_programs_see(device: str, seen: float) -> None:
    """PyTorch's errors name 39.39 to 39.59 GiB of an A100 with 40 GB, 31.74 of a V100, 23.52 of a 4090."""
    asked = {"workload": "training", "model": "qwen3-0.6b", "method": "lora", "accelerator": device}
    report: Any = estimate(asked)
    assert report["memory"]["capacity_bytes"] == pytest.approx(seen * 2**30, rel=1e-3)
