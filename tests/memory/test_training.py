"""What training memory does when a choice changes, and what is refused."""

import re
from pathlib import Path
from typing import Any

import pytest

from calc import ScenarioError, estimate, plan
from calc.training.fields import FIELDS

SMALL: dict[str, object] = {"workload": "training", "model": "llama-3.2-1b", "sequence_tokens": 1024}
SHARED: dict[str, object] = {"method": "lora", "sharding": "zero-3", "accelerators": 4}
LARGE: dict[str, object] = {"workload": "training", "model": "llama-3.1-8b", "sequence_tokens": 4096}


def parts(**changes: object) -> dict[str, int]:
    """Return the parts at the peak by id."""
    memory: Any = estimate({**SMALL, **changes})["memory"]
    return {part["id"]: part["bytes"] for part in memory["parts"]}


def allocated(base: dict[str, object], **changes: object) -> int:
    """Return the allocated bytes of a scenario."""
    memory: Any = estimate({**base, **changes})["memory"]
    return int(memory["allocated_bytes"])


@pytest.mark.parametrize(
    ("precision", "gradients", "bytes_each"),
    [
        ("fp32", None, 16),
        ("bf16-mixed", None, 18),
        ("bf16-mixed", "bf16", 16),
        ("bf16-autocast", None, 16),
        ("fp16-autocast", None, 16),
        ("bf16", None, 8),
    ],
)
def test_bytes_of_a_trained_parameter(precision: str, gradients: str | None, bytes_each: int) -> None:
    """Weights, master, gradients and AdamW's states cost 8 to 18 bytes a parameter by what the framework keeps."""
    found = parts(precision=precision, gradient_dtype=gradients, gradient_accumulation=2, sequence_tokens=8192)
    states = sum(found[name] for name in ("weights", "master_weights", "gradients", "optimizer_states"))
    assert states == pytest.approx(bytes_each * 1_235_814_400, rel=1e-4)


@pytest.mark.parametrize(
    ("optimizer", "bytes_each"),
    [("adamw", 4), ("adamw-8bit", 2.03125), ("sgd", 0), ("sgd-momentum", 2), ("lion", 2), ("adafactor", 0.003)],
)
def test_states_of_optimizers(optimizer: str, bytes_each: float) -> None:
    """States follow the parameter's type; 8-bit ones have a scale for each block; Adafactor keeps rows and columns."""
    each = parts(precision="bf16", optimizer=optimizer)["optimizer_states"] / 1_235_814_400
    assert each == pytest.approx(bytes_each, abs=0.002)


def test_parameters_on_the_host_are_gathered_on_one_device_too() -> None:
    """A layer of them at a time stands on the device, and the tables, as on each of two; nothing warns of one rank."""
    asked = {**LARGE, "sharding": "zero-3", "precision": "bf16-mixed", "offload": ["parameters", "optimizer"]}
    one, two = (estimate({**asked, "accelerators": count}) for count in (1, 2))
    gathered = [
        next(part["bytes"] for part in report["memory"]["parts"] if part["id"] == "communication_buffers")
        for report in (one, two)
    ]
    assert gathered[0] == gathered[1] > 2 * 2 * 128_256 * 4096
    assert "sharding-without-ranks" not in {warning["code"] for warning in one["warnings"]}


def test_training_has_what_a_limit_and_a_display_leave() -> None:
    """Capacity, headroom and repairs are of that, and the planner asks for it too."""
    asked = {**LARGE, "method": "qlora", "accelerator": "rtx-4090"}
    whole: Any = estimate(asked)
    limited: Any = estimate({**asked, "memory_limit": "6 GiB"})
    shown: Any = estimate({**asked, "display": True})["memory"]
    assert limited["memory"]["capacity_bytes"] == 6 * 2**30 and limited["scenario"]["memory_limit"] == 6 * 2**30
    assert limited["memory"]["headroom_bytes"] == 6 * 2**30 - limited["memory"]["device_bytes"]
    assert limited["memory"]["device_bytes"] == whole["memory"]["device_bytes"]
    assert 0 < whole["memory"]["capacity_bytes"] - shown["capacity_bytes"] < 2 * 2**30
    question: dict[str, object] = {"want": "limit", "of": "model", "workload": "training", "method": "qlora"}
    found: list[Any] = [
        plan({**question, "have": {"accelerator": "rtx-4090", **more}})["options"][0]
        for more in ({}, {"memory_limit": "8 GiB"})
    ]
    assert found[0]["scenario"]["model"] != found[1]["scenario"]["model"]
    for option, most in zip(found, (24, 8), strict=True):
        held: Any = estimate(option["scenario"])["memory"]
        assert held["fits"] and held["device_bytes"] <= most * 2**30


def test_paged_states_are_in_host_memory() -> None:
    """A paged optimizer's states are on the host: 8 bytes a parameter in FP32."""
    memory: Any = estimate({**SMALL, "precision": "bf16", "optimizer": "paged-adamw"})["memory"]
    assert memory["host_bytes"] == 8 * 1_235_814_400


@pytest.mark.parametrize(
    "saving",
    [
        {"checkpointing": "selective"},
        {"checkpointing": "full"},
        {"compile": True},
        {"cross_entropy": "chunked"},
        {"cross_entropy": "fused"},
        {"keep_logits": False},
        {"optimizer": "adamw-8bit"},
        {"method": "lora"},
        {"method": "qlora"},
        {"offload": ["activations"]},
        {"parallelism": {"context": 2}},
        {"parallelism": {"tensor": 2}},
        {"parallelism": {"pipeline": 2}},
    ],
    ids=str,
)
def test_savings_save(saving: dict[str, object]) -> None:
    """Each of these changes needs less memory than the run it is applied to."""
    assert allocated({**LARGE, "precision": "bf16"}, **saving) < allocated({**LARGE, "precision": "bf16"})


def test_sharding_divides_more_by_stage() -> None:
    """Each ZeRO stage divides more; activations are not divided."""
    four: dict[str, object] = {**LARGE, "parallelism": {"data": 4}, "gradient_dtype": "bf16"}
    sizes = [allocated(four, sharding=stage) for stage in ("none", "zero-1", "zero-2", "zero-3")]
    assert sizes == sorted(sizes, reverse=True)
    memory: Any = estimate({**four, "sharding": "zero-3"})["memory"]
    one: Any = estimate({**LARGE, "gradient_dtype": "bf16", "keep_logits": True})["memory"]
    kept = [next(p["bytes"] for p in found["parts"] if p["id"] == "activations") for found in (memory, one)]
    assert kept[0] == pytest.approx(kept[1], rel=0.02)


def test_hybrid_sharding_divides_by_its_ranks() -> None:
    """With hybrid sharding the copy is shared by the ranks of a group, not by all."""
    eight: dict[str, object] = {**LARGE, "parallelism": {"data": 8}, "sharding": "fsdp"}
    assert allocated(eight) < allocated(eight, shard_ranks=4) < allocated(eight, shard_ranks=2)


def test_earlier_stages_hold_more_micro_batches() -> None:
    """1F1B: the first of four stages holds four micro-batches, so more of them than stages cost nothing more."""
    four: dict[str, object] = {**LARGE, "parallelism": {"pipeline": 4}}
    sizes = [allocated(four, gradient_accumulation=count) for count in (2, 4, 8)]
    assert sizes[0] < sizes[1] == sizes[2]


def test_autocast_copies_no_frozen_weight_of_16_bit_or_less() -> None:
    """What is stored as it is computed needs no copy, and bitsandbytes unpacks 4 bits anew in each direction.

    A base in FP32 does: 973 million weights of matrices, in 16 bit. What 4 bits give has the type of their input, FP32
    here: gate, activation and the other factor of the MLP are kept twice as large.
    """
    lora = {"method": "lora", "lora": {"rank": 16, "targets": "all-linear"}, "precision": "bf16-autocast"}
    mixed = parts(**{**lora, "precision": "bf16-mixed"})["activations"]
    assert parts(**lora, base_weights="bf16")["activations"] == mixed
    wide = 3 * 2 * 1024 * 16 * 8192
    assert parts(**{**lora, "method": "qlora"})["activations"] - mixed == pytest.approx(wide, rel=1e-3)
    copies = 2 * 16 * (2048 * (2048 + 2 * 512 + 2048) + 3 * 2048 * 8192)
    assert parts(**lora, base_weights="fp32")["activations"] - mixed == pytest.approx(copies, rel=1e-3)


def test_what_four_bits_leave_is_raised_to_fp32() -> None:
    """peft's prepare_model_for_kbit_training raises tables, norms and head where FP32 computes, autocast or not.

    Of Llama 3.2 1B that is 263 million elements, of which bf16 keeps two bytes each.
    """
    qlora = {"method": "qlora", "lora": {"rank": 16, "targets": "all-linear"}}
    wide, narrow = (parts(**qlora, precision=name)["weights"] for name in ("fp32", "bf16"))
    assert wide == parts(**qlora, precision="bf16-autocast")["weights"]
    assert wide - narrow == pytest.approx(2 * 128_256 * 2048, rel=1e-3)


def test_seventy_billion_on_two_cards_of_24_gb() -> None:
    """QLoRA with FSDP and parameters on the host trains a 70B model on two 24 GB cards, and nothing less does.

    Answer.AI measured 14.92 GiB reserved for two sequences of 2,048 tokens (fsdp_qlora, benchmarks_03_2024.md).
    """
    asked: dict[str, object] = {
        "workload": "training",
        "model": "llama-2-70b",
        "method": "qlora",
        "base_weights": "nf4",
        "precision": "bf16",
        "lora": {"rank": 64, "targets": ["q_proj", "k_proj", "v_proj", "up_proj", "down_proj", "gate_proj"]},
        "sharding": "fsdp",
        "checkpointing": "full",
        "micro_batch": 2,
        "accelerator": "rtx-3090",
        "accelerators": 2,
    }
    held: Any = estimate({**asked, "offload": ["parameters", "optimizer"]})["memory"]
    without: Any = estimate(asked)["memory"]
    one: Any = estimate({**asked, "accelerators": 1})["memory"]
    assert held["fits"] and not without["fits"] and not one["fits"]
    assert held["reserved_bytes"] == pytest.approx(14.92 * 2**30, rel=0.12)


def test_devices_needed_hold_it_and_one_less_does_not() -> None:
    """The fewest devices are just enough: with sharding any number, without it a layout of tensor and pipeline."""
    asked: dict[str, object] = {**LARGE, "sharding": "fsdp", "accelerator": "a100-sxm-40gb", "checkpointing": "full"}
    memory: Any = estimate({**asked, "accelerators": 2})["memory"]
    needed = memory["devices_needed"]
    enough: Any = estimate({**asked, "accelerators": needed})["memory"]
    less: Any = estimate({**asked, "accelerators": needed - 1})["memory"]
    assert enough["fits"] and not less["fits"]
    plain: Any = estimate({**LARGE, "accelerator": "h100-sxm-80gb"})["memory"]
    layout = plain["devices_needed_parallelism"]
    assert layout["tensor"] * layout["pipeline"] == plain["devices_needed"] > 1


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"model": None}, "model", "is missing"),
        ({"parallelism": {"tensor": 3}}, "parallelism.tensor", "do"),
        ({"parallelism": {"tensor": 2, "data": 2}, "accelerators": 8}, "accelerators", "= 4; data 4 makes 8"),
        ({"parallelism": {"tensor": 4}, "accelerators": 6}, "accelerators", "= 4; 4 works"),
        ({"parallelism": {"pipeline": 99}}, "parallelism.pipeline", "more than"),
        ({"parallelism": {"expert": 2}}, "parallelism.expert", "no experts"),
        ({"method": "lora", "lora": {"rank": 4096}}, "lora.rank", "is more than"),
        ({"method": "lora", "lora": {"targets": ["qproj"]}}, "lora.targets", "q_proj"),
        ({"method": "lora", "lora": {"modules_to_save": ["head_lm"]}}, "lora.modules_to_save", "known are"),
        ({"method": "lora", "lora": {"ranks": 8}}, "lora.ranks", "rank"),
        ({"lora": {"rank": 8}}, "lora", "qlora"),
        ({"base_weights": "nf4"}, "base_weights", "precision"),
        ({"method": "qlora", "base_weights": "q4_k_m"}, "base_weights", "llama.cpp"),
        ({"precision": "fp8"}, "precision", "fp8-mixed"),
        ({"optimizer": "adamw8bit"}, "optimizer", "adamw-8bit"),
        ({"optimizer": "muon", "sharding": "zero-3", "accelerators": 2}, "optimizer", "zero-1"),
        ({"optimizer_in_backward": True, "gradient_accumulation": 4}, "optimizer_in_backward", "must be 1"),
        ({"sharding": "zero3"}, "sharding", "zero-3"),
        ({"shard_ranks": 3, "sharding": "fsdp", "accelerators": 8}, "shard_ranks", "divide"),
        ({"offload": ["parameters"]}, "offload", "zero-3"),
        ({"offload": ["weights"]}, "offload", "allowed"),
        ({"sequence_parallel": True}, "sequence_parallel", "tensor"),
        ({"micro_batch": 0}, "micro_batch", "whole number"),
        ({"kv_cache": "bf16"}, "kv_cache", "not a field"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_by_field(changes: dict[str, object], field: str, words: str) -> None:
    """A wrong scenario is refused with the field and what would work."""
    with pytest.raises(ScenarioError) as refused:
        estimate({**SMALL, **changes})
    assert refused.value.field == field
    assert words in refused.value.message


def test_the_contract_page_names_every_field_of_training() -> None:
    """Every field of a training scenario and of its report, and every warning, stands on the page for them."""
    root = Path(__file__).parents[2]
    page = (root / "docs/about/contract.md").read_text(encoding="utf-8")
    memory: Any = estimate({**SMALL, "accelerator": "h100-sxm-80gb"})["memory"]
    codes = re.findall(r'Warn\("([a-z-]+)"', (root / "calc/training/checks.py").read_text(encoding="utf-8"))
    names = [*FIELDS, *memory, *(part["id"] for part in memory["parts"]), *codes]
    assert codes
    assert [name for name in names if f"`{name}`" not in page and f".{name}`" not in page] == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"sequence_tokens": 1_000_000, "checkpointing": "full"}, "context-beyond-trained"),
        ({"sharding": "zero-2"}, "sharding-without-ranks"),
        ({"sharding": "zero-3", "accelerators": 2, "optimizer": "adafactor"}, "optimizer-sharding"),
        ({"sharding": "zero-2", "parallelism": {"data": 2, "pipeline": 2}}, "sharding-pipeline"),
        ({"parallelism": {"pipeline": 4}, "gradient_accumulation": 1}, "pipeline-bubble"),
        ({"attention": "eager", "sequence_tokens": 8192}, "scores-kept"),
        ({"padding_mask": True}, "mask-multiplies"),
        ({"method": "lora", "precision": "bf16", "adapter_dtype": "fp32"}, "adapters-wide"),
        ({"varied_lengths": True, "micro_batch": 2}, "padding-not-counted"),
        ({"model": "qwen2.5-vl-7b", "method": "lora"}, "towers-not-counted"),
        ({"model": "qwen3-30b-a3b", "method": "qlora", "framework": "trl"}, "experts-not-quantized"),
        ({"model": "llama-3.3-70b", **SHARED, "accelerator": "a100-sxm-80gb"}, "base-loaded-whole"),
        ({"model": "llama-3.3-70b", **SHARED, "method": "qlora", "accelerator": "a100-sxm-40gb"}, "base-loaded-whole"),
        ({"precision": "fp8-mixed", "accelerator": "a100-sxm-80gb"}, "format-not-native"),
        ({"parallelism": {"tensor": 2}, "accelerator": "rtx-4090"}, "tensor-over-pcie"),
    ],
    ids=str,
)
def test_what_is_risky_is_warned_of(changes: dict[str, object], code: str) -> None:
    """A risky scenario is answered with a warning that names its field."""
    warnings: Any = estimate({**SMALL, **changes})["warnings"]
    assert code in [warning["code"] for warning in warnings]


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "qwen3-30b-a3b", "method": "qlora", "framework": "unsloth"},
        {"model": "qwen3-30b-a3b", "method": "lora", "framework": "trl"},
        {"model": "llama-3.1-8b", "method": "qlora", "framework": "trl"},
        {"model": "qwen3-30b-a3b", "method": "qlora", "framework": "axolotl"},
        {"model": "qwen3-30b-a3b", "method": "qlora", "framework": "trl", "experts_quantized": True},
    ],
    ids=str,
)
def test_experts_that_are_quantized_or_none_are_not_warned_of(changes: dict[str, object]) -> None:
    """Unsloth and Axolotl quantize them themselves, LoRA quantizes nothing, and a dense model has none."""
    warnings: Any = estimate({**SMALL, **changes})["warnings"]
    assert "experts-not-quantized" not in [warning["code"] for warning in warnings]


def test_a_base_that_a_device_holds_is_not_warned_of() -> None:
    """Who loads it whole has room for it."""
    warnings: Any = estimate({**SMALL, **SHARED, "accelerator": "a100-sxm-80gb"})["warnings"]
    assert "base-loaded-whole" not in [warning["code"] for warning in warnings]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"model": "gemma-3-4b", "method": "qlora"}, "towers-not-counted"),
        ({"model": "qwen3-30b-a3b", "method": "qlora", "framework": "trl"}, "experts-not-quantized"),
        ({"model": "llama-3.3-70b", **SHARED, "accelerators": 64}, "base-loaded-whole"),
    ],
    ids=str,
)
def test_what_is_not_wholly_counted_says_so(changes: dict[str, object], code: str) -> None:
    """However much room is left; and the like of which all is counted says that."""
    asked = {**SMALL, "accelerator": "h200-sxm-141gb", "sequence_tokens": 512, "checkpointing": "full", **changes}
    report: Any = estimate(asked)
    assert code in [warning["code"] for warning in report["warnings"]]
    assert (report["memory"]["fits"], report["memory"]["counted"]) == (True, False)
    like: Any = estimate({**asked, "model": "llama-3.1-8b"})
    assert like["memory"]["counted"]


def test_experts_stay_in_16_bit_by_framework() -> None:
    """Of Qwen3 30B A3B 48 layers of 128 experts of three matrices of 2,048 × 768 are 54 GiB in BF16, 13.9 in NF4."""
    asked = {**SMALL, "model": "qwen3-30b-a3b", "method": "qlora"}
    stored = {}
    for framework in ("trl", "axolotl", "unsloth"):
        report: Any = estimate({**asked, "framework": framework})
        stored[framework] = next(part["bytes"] for part in report["memory"]["parts"] if part["id"] == "weights")
    experts = 48 * 128 * 3 * 2048 * 768
    assert stored["unsloth"] == stored["axolotl"]
    assert (stored["trl"] - stored["unsloth"]) / experts == pytest.approx(2 - 4.127 / 8, abs=0.001)
    other: Any = estimate({**asked, "framework": "trl", "base_weights": "mxfp4"})
    assert next(part["bytes"] for part in other["memory"]["parts"] if part["id"] == "weights") < stored["axolotl"] * 1.1


def test_adapters_of_experts_by_framework() -> None:
    """PEFT finds none by the names of modules, Unsloth names their parameters; those of attention are the same."""
    asked = {**SMALL, "model": "qwen3-30b-a3b", "method": "lora", "lora": {"rank": 16, "targets": "all-linear"}}
    trained = {name: estimate({**asked, "framework": name})["model"] for name in ("trl", "unsloth")}
    counts: Any = {name: found["parameters_trainable"] for name, found in trained.items()}  # type: ignore[index]
    assert counts["unsloth"] - counts["trl"] == 48 * 128 * 3 * 16 * (2048 + 768)
    with pytest.raises(ScenarioError, match="target_parameters"):
        estimate({**asked, "framework": "trl", "lora": {"targets": ["gate_proj", "up_proj", "down_proj"]}})


def test_an_offloaded_optimizer_is_on_the_host() -> None:
    """DeepSpeed's CPU optimizer: FP32 weights and two states, 12 bytes a parameter; under ZeRO-2 gradients go too.

    Under ZeRO-1 the gradients stay on the device, summed in FP32. The host's bytes are those of all eight devices.
    """
    asked: dict[str, object] = {**LARGE, "parallelism": {"data": 8}, "offload": ["optimizer"]}
    for sharding, on_host, on_device in (("zero-2", 14, 0), ("zero-1", 12, 4)):
        report: Any = estimate({**asked, "sharding": sharding})
        parts = {part["id"]: part["bytes"] for part in report["memory"]["parts"]}
        count = report["model"]["parameters_total"]
        assert report["memory"]["host_bytes"] == pytest.approx(on_host * count, rel=1e-6)
        assert parts["gradients"] == on_device * count
        assert parts["master_weights"] == parts["optimizer_states"] == 0


def test_a_loss_in_chunks_is_compiled_unless_nothing_is() -> None:
    """Its logits are 16 bit where compiling is left to the run or asked for, and FP32 where it is refused; by hand."""
    asked = {"workload": "training", "model": "llama-3.1-8b", "micro_batch": 8, "cross_entropy": "chunked"}
    asked |= {"sequence_tokens": 2048, "checkpointing": "full"}
    kept = []
    for stated in ({}, {"compile": True}, {"compile": False}):
        report: Any = estimate({**asked, **stated})
        kept.append(next(part["bytes"] for part in report["memory"]["parts"] if part["id"] == "logits"))
    count = 8 * 2048 * 128_256
    assert kept == [2 * count, 2 * count, 4 * count + (2 + 8) * count // 8]
