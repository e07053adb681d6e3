"""The time of a training step: a micro-batch through the stages of a pipeline, what is exchanged, and the update.

Every second is that of an operation of `training_passes`, by the law of its kernel. A trainer's schedule says what runs
side by side, and by how much kernels are slower in a step than alone: `Plan.trainer` names the kind of schedule.
"""

from collections.abc import Iterable, Mapping
from math import inf
from typing import NamedTuple

from calc.architecture.stages import Stage
from calc.catalog import catalog
from calc.catalog.records import Accelerator
from calc.memory.training.loss import FP32
from calc.memory.training.plan import FIRST_TILES, NEWEST_TILES, RING, Plan
from calc.performance.device_rates import family_of, matrix_rate
from calc.performance.forward import EXPERT, PIPELINE, TENSOR
from calc.performance.kernels import Kernels, kernels
from calc.performance.operations import (
    Collective,
    total_bytes,
)
from calc.performance.pipeline import pipelined
from calc.performance.training_clock import (
    ATTENTION,
    BACKWARD,
    COPIED,
    MOVED,
    ON_DEVICE,
    PRODUCTS,
    UNPACKED,
    Clock,
    Part,
    Timed,
    grouped_passes,
    joined_passes,
)
from calc.performance.training_passes import StepPasses

MOST_KNOWN = 256  # devices whose kernels are remembered
PRODUCT_SHARE = "product_share"  # the coefficient: what a step keeps of the speed of matrix products
COMPUTE, MEMORY, LINKS, LAUNCH, BUBBLE, UPDATE = "compute", "memory", "links", "launch", "pipeline", "optimizer"


class Pace:
    """What a trainer's schedule makes of kernels: the share of their speed that each kind keeps, and what is hidden."""

    def __init__(self, plan: Plan, accelerator: Accelerator, values: Mapping[str, float]) -> None:
        self.trainer, self.generation, self.values = plan.trainer, accelerator.architecture, values
        self.overlap = self.of("overlap")
        self.tensor_hidden = self.of("tensor_hidden")
        self.kernel_s = self.of("fused_kernel_s" if plan.choices.compiled else "kernel_s")
        self.host_memory, self.tensor_s = values["host_bandwidth"], values["tensor_s"]
        attention = 1.0
        if plan.choices.flash and plan.scheme.compute < FP32 and plan.attention_kernel != NEWEST_TILES:
            attention = self.of("flash_2_share")
            if plan.attention_kernel == FIRST_TILES:
                attention *= self.of("flash_1_share")
        if plan.layout.context > 1 and plan.context_exchange == RING:
            attention *= self.of("ring_share")
        base = plan.method.base.id.partition("-")[0]
        self.shares = {
            PRODUCTS: kept_of_products(accelerator, self.of(PRODUCT_SHARE), values),
            ATTENTION: attention,
            BACKWARD: attention / self.of("attention_backward"),
            MOVED: 1.0 if plan.choices.compiled else self.of("eager_share"),
            UNPACKED: values.get(f"{base}_unpack_share", values["unpack_share"]),
            COPIED: 1.0,
        }

    def of(self, name: str) -> float:
        """Return a coefficient: for this trainer and generation, for one of them, or for all."""
        own = f"{name}_{self.trainer}"
        for key in (f"{own}@{self.generation}", f"{name}@{self.generation}", own):
            if key in self.values:
                return self.values[key]
        return self.values[name]

    def seconds(self, found: Timed, *kinds: str) -> float:
        """Return the seconds of kinds of operations in a step."""
        return sum(found.sums[kind] / self.shares[kind] for kind in kinds if kind in found.sums)


class MicroBatch(NamedTuple):
    """Seconds of one micro-batch on one stage."""

    whole: Timed
    device: float  # kernels that compute or move
    launch: float  # of all kernels by the host, beside the device
    waiting: float  # collectives that computation waits for
    behind: float  # collectives and copies behind which it computes
    last: float  # collectives of a step's last micro-batch alone, behind its backward pass
    backward_share: float
    hand_over: float

    @property
    def busy(self) -> float:
        """Seconds without what is sent behind computation."""
        return max(self.device + self.waiting, self.launch) + self.hand_over

    def total(self, overlap: float, *, last: bool = False) -> float:
        """Seconds of the micro-batch, of the last one with what is reduced during its backward pass."""
        busy = hidden(self.busy, self.behind, overlap)
        if last and self.last:
            backward = busy * self.backward_share
            busy += hidden(backward, self.last, overlap) - backward
        return busy


class StepTime(NamedTuple):
    """A training step's seconds, and what they are made of on the slowest stage."""

    pace: Pace
    stages: tuple[tuple[MicroBatch, int], ...]  # each kind of stage, and how many there are
    slowest: MicroBatch
    passes: StepPasses  # of the slowest stage
    micro_batches: int
    pipeline_s: float  # all micro-batches through all stages
    bubble_s: float  # of that, what the slowest stage waits
    exchange_s: float  # before the first and after the last micro-batch
    optimizer_s: float

    @property
    def total(self) -> float:
        """Seconds of the step."""
        return self.pipeline_s + self.exchange_s + self.optimizer_s

    @property
    def shares(self) -> dict[str, float]:
        """Seconds of the step by what they are spent on."""
        one, count = self.slowest, self.micro_batches
        busy = self.pipeline_s - self.bubble_s
        launch = max(count * (one.launch - one.device - one.waiting), 0.0)
        return {
            COMPUTE: count * self.pace.seconds(one.whole, PRODUCTS, ATTENTION, BACKWARD),
            MEMORY: count * self.pace.seconds(one.whole, MOVED, UNPACKED),
            LINKS: max(busy - count * one.device - launch, 0.0) + self.exchange_s,
            LAUNCH: launch,
            BUBBLE: self.bubble_s,
            UPDATE: self.optimizer_s,
        }

    @property
    def bound_by(self) -> str:
        """What most of the step goes to."""
        return max(self.shares, key=self.shares.__getitem__)


def watts_per_rate(accelerator: Accelerator) -> float:
    """Return the power limit over the operations a second of the data sheet in 16 bit; no limit where none is known."""
    power, rate = accelerator.quantity("power"), matrix_rate(accelerator, "bf16")
    return power / rate if power and rate else inf


def clock_share(accelerator: Accelerator, exponent: float) -> float:
    """Return the clock beside that of the measured device of its kind, by the power that each has for its rate."""
    family = family_of(accelerator)
    reference = family.powered or next(iter(family.measured), "")
    if not reference:
        return 1.0
    ratio = watts_per_rate(accelerator) / watts_per_rate(catalog().accelerator(reference))
    return float(ratio**exponent)


def kept_of_products(accelerator: Accelerator, share: float, values: Mapping[str, float]) -> float:
    """Return the share of products' speed that a device keeps, where the measured device of its kind keeps `share`.

    A law holds at the clock of the device that it was measured on: one with power to spare is faster than that, up to
    what any product reaches of a data sheet's rate.
    """
    device, rate = kernels_of(accelerator), matrix_rate(accelerator, "bf16")
    most = max(values["product_most"] * rate / device.most_rate, 1.0) if device else 1.0
    return min(share * clock_share(accelerator, values["power_exponent"]), most)


def hidden(computing: float, sending: float, overlap: float) -> float:
    """Return the seconds of both when the share `overlap` of the shorter one is hidden behind the longer one.

    >>> hidden(10.0, 4.0, 0.75)
    11.0
    """
    return max(computing, sending) + (1 - overlap) * min(computing, sending)


def sent_s(sent: Iterable[Part], *groups: str, others: bool = False) -> float:
    """Return the seconds of what goes between the ranks of groups, or of all other ones."""
    found = 0.0
    for part in sent:
        assert isinstance(part.operation, Collective)
        if (part.operation.group in groups) != others:
            found += part.seconds
    return found


def micro_batch(of: "PreparedStage", pace: Pace, virtual_stages: int) -> MicroBatch:
    """Return the seconds of a micro-batch on a stage.

    Sums of tensor ranks and tokens on their way to experts are waited for, but for what a trainer hides behind
    products. Parameters, gradients, keys and values of other ranks, and what crosses PCIe, go behind computation.
    """
    whole, device = of.micro_batch, pace.seconds(of.micro_batch, *ON_DEVICE)
    waiting = (1 - pace.tensor_hidden) * sent_s(whole.sent, TENSOR) + sent_s(whole.sent, EXPERT)
    return MicroBatch(
        whole=whole,
        device=device,
        launch=whole.launches * pace.kernel_s,
        waiting=waiting,
        behind=sent_s(whole.sent, TENSOR, EXPERT, PIPELINE, others=True) + pace.seconds(whole, COPIED),
        last=sent_s(of.reduced.sent, others=True),
        backward_share=1 - pace.seconds(of.forward, *ON_DEVICE) / max(device, 1e-12),
        hand_over=virtual_stages * sent_s(whole.sent, PIPELINE),
    )


def kinds_of(plan: Plan) -> list[tuple[Stage, int]]:
    """Return the stages that differ in work, each with how many are like it."""
    found: dict[tuple[object, ...], tuple[Stage, int]] = {}
    for stage in plan.stages:
        counts = [(id(kind), count) for kind, count in stage.kind_counts()]
        key = (stage.is_first, stage.is_last, *counts)
        found[key] = (stage, found[key][1] + 1 if key in found else 1)
    return list(found.values())


def peak_rate(plan: Plan, accelerator: Accelerator) -> float:
    """Return the rate on the data sheet for the format that matrices are multiplied in, 0 where there is none."""
    name = {"fp8-mixed": "fp8", "fp32": "tf32"}.get(plan.scheme.id, "bf16")
    return matrix_rate(accelerator, name)


class PreparedStage(NamedTuple):
    """The operations of a stage, in seconds alone; no coefficient of a schedule changes them."""

    passes: StepPasses
    micro_batch: Timed
    forward: Timed
    reduced: Timed
    once: Timed  # before the first micro-batch and after the last
    hosted_bytes: float
    alike: int  # how many stages are like it


class Prepared(NamedTuple):
    """A plan with the seconds of its stages' operations."""

    plan: Plan
    accelerator: Accelerator
    stages: tuple[PreparedStage, ...]


def most_products_per_s(accelerator: Accelerator, values: Mapping[str, float]) -> float | None:
    """Return the operations a second that matrix products of 16 bit do not exceed in any run; None where not known.

    It is the rate of a law's largest products, of which a trainer keeps the largest share that any of them does.
    """
    device = kernels(accelerator)
    if device is None or accelerator.sixteen_bit is None:
        return None
    own, generation = f"{PRODUCT_SHARE}_", f"@{accelerator.architecture}"
    usual = values.get(f"{PRODUCT_SHARE}{generation}")
    shares = [value for name, value in values.items() if name.startswith(own) and name.endswith(generation)]
    if usual is None:
        usual = values[PRODUCT_SHARE]
        shares += [value for name, value in values.items() if name.startswith(own) and "@" not in name]
    return device.most_rate * kept_of_products(accelerator, max(usual, *shares, 0.0), values)


def kernels_of(accelerator: Accelerator) -> Kernels | None:
    """Return the kernels of a device, with the seconds that they are known to take: a search asks for many layouts."""
    known = catalog().derived.setdefault("kernels of training", {})
    assert isinstance(known, dict)
    if len(known) > MOST_KNOWN:
        known.clear()
    if id(accelerator) not in known:
        known[id(accelerator)] = accelerator, kernels(accelerator)
    found: Kernels | None = known[id(accelerator)][1]
    return found


def prepare(plan: Plan, accelerator: Accelerator, network: float | None = None) -> Prepared | None:
    """Return a plan with its operations in seconds, None where the device's rates are not known.

    `network` is a device's share of the network between machines in bytes a second, one way; None takes the usual one.
    """
    device = kernels_of(accelerator)
    if device is None or not peak_rate(plan, accelerator):
        return None
    clock, found = Clock(plan, device, network), []
    for stage, alike in kinds_of(plan):
        passes, groups = grouped_passes(plan, stage)
        forward = clock.timed(groups["forward"])
        found.append(
            PreparedStage(
                passes,
                joined_passes(forward, clock.timed(groups["backward"])),
                forward,
                clock.timed(groups["reduced"]),
                once=clock.timed(groups["once"]),
                hosted_bytes=total_bytes(passes.hosted),
                alike=alike,
            )
        )
    return Prepared(plan, accelerator, tuple(found))


def step_time(prepared: Prepared, values: Mapping[str, float]) -> StepTime:
    """Return the time of a step under a schedule's coefficients."""
    plan, accelerator, every = prepared
    pace = Pace(plan, accelerator, values)
    found = [(micro_batch(stage, pace, plan.virtual_stages), stage) for stage in every]
    slowest, widest = max(found, key=lambda item: item[0].total(pace.overlap))
    each = [(one.total(pace.overlap), stage.alike) for one, stage in found]
    filled = pipelined(each, micro_batches=plan.accumulation, virtual_stages=plan.virtual_stages)
    reduced = slowest.total(pace.overlap, last=True) - slowest.total(pace.overlap)
    update = (
        pace.seconds(stage.once, MOVED, COPIED)
        + stage.hosted_bytes / pace.host_memory
        + stage.passes.in_turn * pace.tensor_s
        for stage in every
    )
    return StepTime(
        pace=pace,
        stages=tuple((one, stage.alike) for one, stage in found),
        slowest=slowest,
        passes=widest.passes,
        micro_batches=plan.accumulation,
        pipeline_s=filled.seconds + reduced,
        bubble_s=filled.bubble,
        exchange_s=max(sent_s(stage.once.sent, others=True) for stage in every),
        optimizer_s=max(update),
    )
