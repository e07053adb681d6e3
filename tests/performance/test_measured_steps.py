"""What a profile of whole training steps on an H200 shows: kernels, casts, unaligned products, tensor after tensor.

Profiles are of tests/measure/one_device.py (2026-11-26, torch 2.11, transformers 5.17); they list the forty kernels
that take longest, so that a few are missing.
"""

from typing import Any

import pytest

from calc.catalog import catalog
from calc.performance.operations import Pointwise, Product
from calc.performance.totals import total_launches
from calc.performance.training_pace import kernels_of
from calc.performance.training_passes import UNALIGNED
from calc.performance.training_step import StepTime, prepare, step_time
from calc.training.reading import read_training

LORA = {"adapter_dtype": "fp32", "checkpointing": "full", "lora": {"rank": 16, "targets": "all-linear"}}
ALL = {"model": "llama-3.1-8b", "method": "lora", "micro_batch": 2, **LORA}
AUTOCAST = {"precision": "bf16-autocast"}
RUN: dict[str, Any] = {
    "workload": "training",
    "model": "llama-3.2-1b",
    "accelerator": "h200-sxm-141gb",
    "precision": "bf16",
    "micro_batch": 4,
    "sequence_tokens": 2048,
}
GPT = {"model": "gpt2", "micro_batch": 16, "sequence_tokens": 1024, **AUTOCAST}


def step(**changes: Any) -> StepTime:
    """Return the time of a step."""
    asked = read_training(RUN | changes, catalog())
    assert asked.accelerator is not None
    prepared = prepare(asked.plan, asked.accelerator)
    assert prepared is not None
    return step_time(prepared, catalog().training_step.values)


@pytest.mark.parametrize(
    ("changes", "kernels"),
    [
        ({}, 2195),
        (AUTOCAST, 2290),
        ({"padding_mask": True}, 2291),
        (ALL, 9342),
        (ALL | {"method": "qlora", "adapter_dtype": "bf16", "base_weights": "nf4-dq"}, 10_238),
        (GPT, 1181),
        ({"model": "bert-large", "micro_batch": 32, "sequence_tokens": 128, **AUTOCAST}, 2285),
        ({"model": "modernbert-base", "micro_batch": 32, "sequence_tokens": 512, **AUTOCAST}, 2255),
    ],
    ids=str,
)
def test_kernels_are_those_of_a_profile(changes: dict[str, Any], kernels: int) -> None:
    """What PyTorch runs one by one is counted part by part: no more than a profile has, and four of five of them."""
    assert 0.79 <= total_launches(step(**changes).passes.of_micro_batch) / kernels <= 1.02


def test_fused_operations_are_one_kernel_each() -> None:
    """A compiler joins the parts: a third of the kernels is left."""
    eager, fused = (total_launches(step(compile=way).passes.of_micro_batch) for way in (False, True))
    assert fused < eager / 2


def test_autocast_casts_weights_and_gradients() -> None:
    """Sixteen layers of 60.8 million elements in FP32 are read and written in 16 bit forward, their gradients back."""
    wide, narrow = (
        sum(
            times * one.bytes
            for one, times in step(compile=True, **way).passes.of_micro_batch
            if isinstance(one, Pointwise) and one.name.startswith("Norms")
        )
        for way in (AUTOCAST, {})
    )
    weights = 2 * 16 * 60_817_408 * (4 + 2)
    assert weights < wide - narrow


def test_logits_of_an_odd_vocabulary_take_their_time() -> None:
    """Three products of 16,384 x 768 x 50,257 took 13.2, 9.0 and 8.4 ms; compiled their rows are filled up."""

    def logits(**changes: Any) -> list[tuple[str, float]]:
        parts = step(**GPT, **changes).slowest.whole.parts["products"]
        return [
            (part.operation.kernel, part.alone_s)
            for part in parts
            if isinstance(part.operation, Product) and part.operation.name.startswith("embed")
        ]

    eager, compiled = logits(), logits(compile=True)
    assert [kernel for kernel, _ in eager] == [UNALIGNED] * 3
    assert sum(seconds for _, seconds in eager) == pytest.approx(30.6e-3, rel=0.2)
    assert [kernel for kernel, _ in compiled] == ["bf16"] * 3
    assert sum(seconds for _, seconds in compiled) < 0.2 * 30.6e-3


@pytest.mark.parametrize(("model", "tensors"), [("llama-3.2-1b", 146), ("qwen3-30b-a3b", 579)])
def test_tensors_are_updated_in_turn(model: str, tensors: int) -> None:
    """bitsandbytes waits after each: nine of a layer, the table and the last norm; a matrix of all experts is one."""
    found = step(model=model, optimizer="adamw-8bit")
    assert found.passes.in_turn == tensors
    assert found.optimizer_s > tensors * catalog().training_step.values["tensor_s"]
    assert step(model=model).passes.in_turn == 0


def test_a_t4_keeps_the_clock_that_its_power_allows() -> None:
    """Products of 4,096 in FP16 reach 24 of its 65 TFLOPS for long (NVIDIA's forum, topic 264462)."""
    found = step(accelerator="t4-16gb", precision="fp16-mixed", model="gpt2", sequence_tokens=1024)
    device = kernels_of(catalog().accelerator("t4-16gb"))
    assert device is not None
    one = Product("square", 4096.0, 4096, 4096, "bf16", 2.0 * 4096**2, 4.0 * 4096**2)
    assert found.pace.shares["products"] * one.flops / device.seconds(one) == pytest.approx(24e12, rel=0.3)
