"""The pace of a host that trains: what it launches, how fast, and what captured graphs take from it."""

from typing import Any

import pytest

from calc.catalog import catalog
from calc.performance.operations import Pointwise
from calc.performance.training_clock import MOVED, PRODUCTS, UNPACKED, Launches, grouped_passes
from calc.performance.training_pace import Pace, kernels_of
from calc.performance.training_passes import CASTS
from calc.performance.training_step import micro_batch, prepare
from tests.plans import plan_of

FACTS = catalog()


def launches_of_host(**changes: Any) -> tuple[Launches, Launches, float]:
    """Return what a pipeline's stage launches in a micro-batch, of it what experts do, and the host's seconds of it."""
    layout = {"data": 8, "expert": 8, "pipeline": 2}
    plan = plan_of(model="qwen3-30b-a3b", framework="nemo", parallelism=layout, **changes)
    device = FACTS.accelerator("h100-sxm-80gb")
    prepared = prepare(plan, device)
    assert prepared is not None
    first = prepared.stages[0]
    own = {"core_kernel_s": 1e-3, "kernel_s": 1e-5, "loop_kernel_s": 1e-6, "fused_kernel_s": 1.0}
    values = {**FACTS.training_step.values, **own}
    whole = first.micro_batch
    return whole.launches, whole.routed, micro_batch(first, Pace(plan, device, values), 1).launch


def test_a_captured_graph_leaves_to_the_host_what_it_does_not_hold() -> None:
    """All of a step, the routed experts where layers are captured, nothing where the step is; and never other work."""
    every, routed, seconds = launches_of_host()
    all_of_it, of_experts = (
        pytest.approx(1e-3 * one.led + 1e-5 * one.within + 1e-6 * one.looped) for one in (every, routed)
    )
    assert seconds == all_of_it
    assert 0 < routed.led < every.led / 2 and 0 < routed.within <= every.within
    assert routed.looped == every.looped == 24 * 16 * 2 * 3
    assert launches_of_host(graphs="layers") == (every, routed, of_experts)
    assert launches_of_host(graphs=True) == (every, routed, 0.0)
    assert launches_of_host(graphs=False)[2] == seconds


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [({}, 3.0), ({"framework": "megatron-lm"}, 1.0), ({"framework": "unsloth"}, 3.0), ({"compile": False}, 2.0)],
)
def test_the_pace_of_a_host_is_that_of_its_framework(changes: dict[str, Any], seconds: float) -> None:
    """Megatron Core has modules in modules, on one device too; else fused kernels and PyTorch's own have theirs."""
    values = {**FACTS.training_step.values, "core_kernel_s": 1.0, "kernel_s": 2.0, "fused_kernel_s": 3.0}
    pace = Pace(plan_of(**({"compile": True} | changes)), FACTS.accelerator("h100-sxm-80gb"), values)
    assert (pace.kernel_s, pace.within_s) == (seconds, 2.0)


def test_messages_and_casts_are_launched_within_modules() -> None:
    """A micro-batch in FP8 on two tensor ranks has as many more of them as it casts and sends."""
    plan = plan_of(precision="fp8-mixed", parallelism={"tensor": 2})
    _, passes = grouped_passes(plan, plan.stages[0])
    forward = passes["forward"]
    cast = sum(times * one.launches for one, times in forward.kinds[MOVED] if one.name == CASTS)
    sent = sum(times * one.launches for one, times in forward.sent)
    assert forward.launches.within == cast + sent and cast == 4 * 32 and sent > 0


@pytest.mark.parametrize(
    ("device", "kept"), [("rtx-4090", 1.0), ("rtx-5090", 1.0), ("l40s-48gb", 0.88), ("a100-sxm-80gb", 0.88)]
)
def test_matrix_units_at_half_their_rate_keep_their_clock(device: str, kept: float) -> None:
    """A card for consumers has power for them; its professional sibling, at the full rate, gives way to its limit."""
    values = {**FACTS.training_step.values, "product_share": 0.88, "half_rate_share": 1.0}
    assert Pace(plan_of(compile=True), FACTS.accelerator(device), values).shares[PRODUCTS] == pytest.approx(kept)


@pytest.mark.parametrize(
    ("device", "most"), [("a100-sxm-80gb", 5.3), ("v100-sxm-32gb", 1.8), ("rtx-4090", None), ("gb10", None)]
)
def test_four_bits_are_unpacked_as_fast_as_units_compare_or_memory_reads(device: str, most: float | None) -> None:
    """Bytes of a compute unit in a clock where there is much bandwidth for the units; else what memory gives."""
    accelerator = FACTS.accelerator(device)
    plan = plan_of(accelerator=device, method="qlora", framework="transformers")
    prepared = prepare(plan, accelerator)
    assert prepared is not None
    parts = prepared.stages[0].micro_batch.parts[UNPACKED]
    size = sum(part.times * part.operation.bytes for part in parts if isinstance(part.operation, Pointwise))
    kernels = kernels_of(accelerator)
    assert kernels is not None
    memory = sum(part.times * kernels.seconds(part.operation) for part in parts)
    seconds = prepared.stages[0].micro_batch.sums[UNPACKED]
    assert seconds == pytest.approx(memory if most is None else size / (most * kernels.unit_clocks))
    assert seconds >= memory


@pytest.mark.parametrize(
    ("launch", "hidden", "busy", "added"),
    [
        (1.0, 0.75, 3.75, 0.25),
        (1.0, 1.0, 3.5, 0.0),
        (5.0, 0.75, 6.25, 2.75),
        (0.0, 0.75, 3.5, 0.0),
        (1.0, 0.0, 4.5, 1.0),
    ],
)
def test_a_share_of_the_shorter_of_launches_and_work_is_hidden(
    launch: float, hidden: float, busy: float, added: float
) -> None:
    """Three seconds of the device and half a one for the next stage, beside launches that take longer or shorter."""
    device = FACTS.accelerator("h100-sxm-80gb")
    plan = plan_of()
    prepared = prepare(plan, device)
    assert prepared is not None
    values = {**FACTS.training_step.values, "launch_hidden": hidden}
    found = micro_batch(prepared.stages[0], Pace(plan, device, values), 1)
    one = found._replace(device=2.0, waiting=1.0, launch=launch, hand_over=0.5)
    assert (one.busy, one.launching) == pytest.approx((busy, added))


@pytest.mark.parametrize(
    ("device", "beside", "slower"),
    [("a10-24gb", "rtx-a6000", True), ("rtx-a5500", "rtx-a6000", True), ("rtx-a5000", "rtx-a6000", False)],
)
def test_a_card_with_less_power_for_its_rate_lowers_its_clock(device: str, beside: str, *, slower: bool) -> None:
    """An A10 has 150 W for 125 TFLOPS, an RTX A6000 300 for 155, an RTX A5000 as many for each."""
    one, other = (Pace(plan_of(), FACTS.accelerator(name), FACTS.training_step.values) for name in (device, beside))
    assert (one.shares[PRODUCTS] < 0.95 * other.shares[PRODUCTS]) is slower
