"""The one list of a training step: what the tables say is what the time is made of, and forward is forward."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import ScenarioError, estimate
from calc.architecture.stages import Stage, stages
from calc.catalog import catalog
from calc.memory.training.plan import Plan
from calc.memory.training.states import SCHEMES
from calc.performance.exchanges import exchanges
from calc.performance.forward import Segment, forward
from calc.performance.operations import (
    Attention,
    AttentionBackward,
    Collective,
    Experts,
    HostCopy,
    Pointwise,
    Product,
    Recurrence,
)
from calc.performance.step_traffic import step_traffic
from calc.performance.token_flops import token_flops
from calc.performance.totals import total_flops
from calc.performance.training_clock import PRODUCTS
from calc.performance.training_passes import CASTS, UNPACKING, step_passes, unpacking
from calc.performance.training_step import prepare, step_time
from calc.performance.training_update import updating
from calc.training.reading import read_training
from tests.known import trained_models
from tests.performance.sent import total_sent
from tests.performance.test_forward import FAMILIES, on_rank

COMPUTED = (Product, Experts, Attention, Recurrence)
RUN: dict[str, Any] = {"workload": "training", "model": "llama-3.1-8b", "sequence_tokens": 1024}
LAYOUTS = (
    {},
    {"data": 8},
    {"tensor": 4},
    {"tensor": 2, "data": 4},
    {"pipeline": 4},
    {"tensor": 2, "pipeline": 2, "data": 2},
    {"context": 4},
    {"data": 8, "expert": 8},
    {"tensor": 4, "expert": 4, "data": 2},
)


def plan_of(**changes: Any) -> Plan:
    """Return a run as a plan."""
    return read_training(RUN | changes, catalog()).plan


def middle(plan: Plan) -> Stage:
    """Return the stage whose traffic the table shows."""
    every = stages(plan.architecture, plan.layout.pipeline)
    return every[len(every) // 2]


@settings(max_examples=120, deadline=None)
@given(
    layout=st.sampled_from(LAYOUTS),
    sharding=st.sampled_from(("none", "zero-1", "zero-2", "zero-3")),
    precision=st.sampled_from(tuple(SCHEMES)),
    method=st.sampled_from(("full", "lora", "qlora")),
    checkpointing=st.sampled_from(("none", "selective", "full")),
    accumulation=st.integers(1, 9),
    parallel=st.booleans(),
    offload=st.sampled_from(((), ("optimizer",), ("activations",))),
)
def test_tables_say_what_the_time_is_made_of(
    layout: dict[str, int],
    sharding: str,
    precision: str,
    method: str,
    checkpointing: str,
    accumulation: int,
    parallel: bool,
    offload: tuple[str, ...],
) -> None:
    """Bytes of the table of traffic, and operations, are those of what is timed, for every layout and method."""
    plan = plan_of(
        model="mixtral-8x7b" if "expert" in layout else "llama-3.1-8b",
        accelerator="h100-sxm-80gb",
        parallelism=layout,
        sharding=sharding,
        precision=precision,
        method=method,
        checkpointing=checkpointing,
        gradient_accumulation=accumulation,
        sequence_parallel=parallel and layout.get("tensor", 1) > 1,
        offload=list(offload),
    )
    passes = step_passes(plan, middle(plan))
    once = total_sent(passes.gathered) + total_sent(passes.reduced) + total_sent(passes.updated)
    timed = accumulation * total_sent(passes.of_micro_batch) + once
    assert sum(item.bytes for item in step_traffic(plan)) == pytest.approx(timed, rel=1e-6, abs=20)
    prepared = prepare(plan, catalog().accelerator("h100-sxm-80gb"))
    assert prepared is not None
    for stage in prepared.stages:
        parts = [part for kind in stage.micro_batch.parts.values() for part in kind]
        computed = sum(part.times * part.operation.flops for part in parts)
        assert computed == pytest.approx(total_flops(stage.passes.of_micro_batch), rel=1e-9)
        sent = [part.operation for part in stage.micro_batch.sent]
        assert all(isinstance(one, Collective) for one in sent)
        assert (sum(part.times for part in stage.micro_batch.sent) > 0) == bool(sent)


TRAINED = {family: name for family, name in FAMILIES.items() if name in trained_models()}


@pytest.mark.parametrize("name", TRAINED.values(), ids=TRAINED)
def test_forward_of_training_is_that_of_inference(name: str) -> None:
    """Products, attention and recurrences of a sequence in training are those of a prompt with all its logits."""
    tokens = 256
    plan = plan_of(model=name, sequence_tokens=tokens)
    stage = stages(plan.architecture, 1)[0]
    encoding = tokens if plan.architecture.has_encoder else 0
    served = forward(on_rank(name), Segment(1.0, tokens, 0, tokens, encoding))
    for kind in COMPUTED:
        mine = total_flops(step_passes(plan, stage).forward, kind)
        assert mine == pytest.approx(total_flops(served, kind), rel=1e-9)


@pytest.mark.parametrize("name", ["llama-3.1-8b", "bert-large-uncased", "deepseek-v3", "mixtral-8x7b", "gemma-2-9b"])
def test_utilization_reads_the_same_products(name: str) -> None:
    """The figure for one token has the products and the attention of the pass."""
    if catalog().lookup("models", name) is None:
        pytest.skip(f"no {name}")
    for packed in (512, 128):
        plan = plan_of(model=name, sequence_tokens=512, packed_tokens=packed)
        found, passes = token_flops(plan), step_passes(plan, stages(plan.architecture, 1)[0])
        assert 512 * 2 * found.parameters == pytest.approx(total_flops(passes.forward, Product, Experts))
        assert 512 * found.attention == pytest.approx(total_flops(passes.forward, Attention))


def test_a_step_of_full_training_is_three_forward_passes() -> None:
    """Backward a product has two more of its size, and attention in tiles two and a half times the operations."""
    plan = plan_of()
    passes = step_passes(plan, stages(plan.architecture, 1)[0])
    assert total_flops(passes.backward, Product) == pytest.approx(2 * total_flops(passes.forward, Product))
    forward_pairs = total_flops(passes.forward, Attention)
    assert total_flops(passes.backward, AttentionBackward) == pytest.approx(2.5 * forward_pairs)
    # 2 × 1,024 tokens × 7,504,924,672 parameters beside the token table
    assert total_flops(passes.forward, Product) == 2 * 1024 * 7_504_658_432


def test_adapters_have_gradients_and_frozen_weights_none() -> None:
    """LoRA's backward pass: the gradients of every input, and those of weights of A and B alone."""
    plan = plan_of(method="lora", lora={"rank": 8, "targets": ["q_proj"]})
    passes = step_passes(plan, stages(plan.architecture, 1)[0])
    # A: 4,096 × 8, B: 8 × 4,096 in each of 32 layers
    adapters = 32 * 2 * 1024 * 2 * 4096 * 8
    base = 2 * 1024 * 7_504_658_432
    assert total_flops(passes.forward, Product) == base + adapters
    assert total_flops(passes.backward, Product) == base + 2 * adapters


def test_unsloth_multiplies_by_adapters_again_backward() -> None:
    """It keeps nothing of what A gives, and takes gradients back through B for A's and once more for the input's."""
    lora = {"rank": 8, "targets": ["q_proj"]}
    plans = (plan_of(method="lora", lora=lora, checkpointing="none", **more) for more in ({}, {"framework": "unsloth"}))
    usual, summed = (step_passes(plan, middle(plan)) for plan in plans)
    adapters = 32 * 2 * 1024 * 2 * 4096 * 8
    assert total_flops(summed.backward, Product) - total_flops(usual.backward, Product) == adapters


@pytest.mark.parametrize(("checkpointing", "again"), [("none", 0), ("full", 2 * 1024 * 218_103_808 * 32)])
def test_what_is_computed_again(checkpointing: str, again: int) -> None:
    """Full checkpointing repeats the layers, each of 218,103,808 multiplied parameters, and not the output matrix."""
    plan = plan_of(checkpointing=checkpointing)
    passes = step_passes(plan, stages(plan.architecture, 1)[0])
    assert total_flops(passes.again, Product) == again


def test_scores_that_are_written_out() -> None:
    """Eager attention multiplies all queries with all keys, backward twice as much, and skips nothing."""
    tiles, written = (plan_of(attention=kind) for kind in ("flash", "eager"))
    few, all_pairs = (step_passes(plan, stages(plan.architecture, 1)[0]) for plan in (tiles, written))
    products = total_flops(all_pairs.forward, Product) - total_flops(few.forward, Product)
    assert products == 32 * 4 * 1024 * 1024 * 4096
    assert total_flops(all_pairs.backward, Product) - total_flops(few.backward, Product) == 2 * products


@pytest.mark.parametrize(("precision", "kernel"), [("bf16-mixed", "bf16"), ("fp8-mixed", "bf16"), ("fp32", "tf32")])
def test_scores_are_not_multiplied_in_8_bit(precision: str, kernel: str) -> None:
    """Recipes of FP8 cast the operands of linear layers; attention that is written out stays in 16 bit."""
    plan = plan_of(attention="eager", precision=precision)
    found = [item.operation for item in step_passes(plan, middle(plan)).forward if item.operation.name == "Scores"]
    assert {item.kernel for item in found if isinstance(item, Product)} == {kernel}


def test_masks_take_the_skipping_away() -> None:
    """A padding mask leaves tiles nothing that they may skip."""
    plain, masked = (plan_of(padding_mask=mask) for mask in (False, True))
    few, every = (total_flops(step_passes(plan, middle(plan)).forward, Attention) for plan in (plain, masked))
    assert every == pytest.approx(2 * few, rel=0.01)


def test_a_quantized_base_is_unpacked_each_time() -> None:
    """QLoRA reads 4 bits and writes 16 of each of 6,979,321,856 elements, forward, again and backward."""
    plan = plan_of(method="qlora", base_weights="nf4", checkpointing="full")
    passes = step_passes(plan, middle(plan))
    unpacked = [item for item in passes.of_micro_batch if item.operation.name == UNPACKING]
    assert [item.operation.bytes for item in unpacked] == [6_979_321_856 * 2.5] * 3
    assert sum(item.operation.launches for item in unpacked) == 3 * 32 * 7  # each matrix by a kernel of its own


@pytest.mark.parametrize(
    ("model", "matrices", "elements"),
    [("llama-3.1-8b", 32 * 7, 6_979_321_856), ("mixtral-8x7b", 32 * (4 + 3 * 8), 32 * (41_943_040 + 8 * 176_160_768))],
)
def test_each_matrix_of_a_base_is_unpacked(model: str, matrices: int, elements: int) -> None:
    """QLoRA launches a kernel for each, of an expert too, which reads 4 bits of each element and writes 16."""
    plan = plan_of(model=model, method="qlora")
    (one,) = unpacking(plan, middle(plan))
    assert one.operation == Pointwise(UNPACKING, 2.5 * elements, matrices) and one.times == 1


@pytest.mark.parametrize(("sharding", "ranks"), [("none", 1), ("zero-2", 8)])
def test_an_offloaded_optimizer_is_sent_gradients_and_sends_parameters(sharding: str, ranks: int) -> None:
    """Two bytes of each of 8,030,261,248 parameters there and two back, of which each of the ranks has its share."""
    plan = plan_of(accelerators=8, sharding=sharding, offload=["optimizer"])
    found = updating(plan, middle(plan), exchanges(plan, middle(plan)))
    assert found["updated"][0].operation == HostCopy("Gradients and parameters", 4 * 8_030_261_248 / ranks)
    assert [item.operation.name for item in found["hosted"]] == ["Optimizer"]  # type: ignore[union-attr]


def test_a_newer_kernel_is_faster_where_it_was_written_for() -> None:
    """On an H100 the generations of FlashAttention differ; on an A100 and an RTX 5090 the second is the newest.

    On a B200 PyTorch's own is the newest, too, and the second, which was not written for it, less than half as fast.
    """
    times = {}
    for device in ("h100-sxm-80gb", "a100-sxm-80gb", "b200-sxm-180gb", "rtx-5090"):
        for kernel in ("flash-1", "flash-2", "flash-3", "flash"):
            asked = read_training(
                RUN | {"accelerator": device, "attention": kernel, "sequence_tokens": 32768}, catalog()
            )
            assert asked.accelerator is not None
            prepared = prepare(asked.plan, asked.accelerator)
            assert prepared is not None
            times[device, kernel] = step_time(prepared, catalog().training_step.values).total
    assert times["h100-sxm-80gb", "flash-1"] > times["h100-sxm-80gb", "flash-2"] > times["h100-sxm-80gb", "flash-3"]
    assert times["b200-sxm-180gb", "flash-1"] > times["b200-sxm-180gb", "flash-2"]
    assert times["b200-sxm-180gb", "flash-2"] > 1.5 * times["b200-sxm-180gb", "flash"]
    assert times["b200-sxm-180gb", "flash"] == times["b200-sxm-180gb", "flash-3"]
    for device in ("a100-sxm-80gb", "rtx-5090"):
        assert times[device, "flash-1"] > times[device, "flash-2"] == times[device, "flash-3"]


def test_pytorch_scales_by_the_tensor_and_casts_inputs_twice() -> None:
    """An element in 8 bits takes 4 bytes of what delayed scales have, 5 where it is read for one; inputs 5 once more.

    A layer of Llama 3.1 8B reads 26,624 elements of a token in matrices and writes 43,008: queries, keys and values
    are of one input, and so are gate and up.
    """
    moved = {}
    for sharding in ("none", "fsdp"):
        plan = plan_of(precision="fp8-mixed", sharding=sharding, parallelism={"data": 8}, compile=True)
        passes = step_passes(plan, middle(plan))
        moved[sharding] = [
            sum(times * one.bytes for one, times in part if isinstance(one, Pointwise) and one.name == CASTS)
            for part in (passes.forward, passes.backward)
        ]
    inputs, outputs = 1024 * 32 * 26624, 1024 * 32 * 43008
    assert moved["none"] == [4 * inputs, 4 * outputs]
    assert moved["fsdp"] == [5 * inputs, 6 * outputs + 5 * inputs]


def test_a_fused_loss_casts_a_frozen_matrix_for_each_piece() -> None:
    """4,096 rows of 128,256 logits are 32 pieces of 128, of two products each; autocast keeps what it cast to train."""
    run = {"micro_batch": 4, "precision": "bf16-autocast", "cross_entropy": "fused"}
    frozen, whole, trained = (
        plan_of(**run | changes) for changes in ({"method": "lora"}, {"method": "lora", "cross_entropy": "full"}, {})
    )
    found = [
        [item for item in step_passes(plan, middle(plan)).forward if item.operation.name == "Output matrix in 16 bit"]
        for plan in (frozen, whole, trained)
    ]
    assert found == [[(Pointwise("Output matrix in 16 bit", 128_256 * 4096 * 6.0, 1.0), 64)], [], []]


def test_fp8_is_faster_in_products_by_less_than_twice() -> None:
    """Measured gains of whole runs lie between 1.2 and 1.7; casts and what is between products stay."""
    one, two = (
        estimate(RUN | {"accelerator": "h100-sxm-80gb", "precision": precision, "compile": True, "micro_batch": 4})
        for precision in ("bf16-mixed", "fp8-mixed")
    )
    first: Any = one["speed"]
    second: Any = two["speed"]
    gain = second["tokens_per_s_per_device"]["typical"] / first["tokens_per_s_per_device"]["typical"]
    assert 1.1 < gain < 2


def test_wide_products_run_at_their_own_rate() -> None:
    """A V100 has no matrix units for FP32: products take as much longer as 15.7 TFLOPS are less than 125."""
    seconds = []
    for precision in ("fp16-mixed", "fp32"):
        asked = read_training(RUN | {"accelerator": "v100-sxm-32gb", "precision": precision}, catalog())
        assert asked.accelerator is not None
        prepared = prepare(asked.plan, asked.accelerator)
        assert prepared is not None
        seconds.append(prepared.stages[0].micro_batch.sums[PRODUCTS])
    assert seconds[1] / seconds[0] == pytest.approx(125 / 15.7, rel=0.1)


def test_random_runs_have_a_time() -> None:
    """Every model of the catalogue can be trained under any schedule: seconds are positive and finite."""
    rng, names = random.Random(11), trained_models()
    for _ in range(60):
        name = rng.choice(names)
        try:
            report: Any = estimate(
                RUN
                | {
                    "model": name,
                    "accelerator": rng.choice(("h100-sxm-80gb", "mi300x", "rtx-4090", "b200-sxm-180gb")),
                    "accelerators": rng.choice((1, 8)),
                    "sharding": rng.choice(("none", "zero-1", "zero-3")),
                    "sequence_tokens": 512,
                }
            )
        except ScenarioError:
            continue
        speed = report["speed"]
        assert 0 < speed["step_s"]["low"] < speed["step_s"]["typical"] < speed["step_s"]["high"] < 1e6
        assert 0 < speed["model_flops_utilization"]["typical"] < 1
