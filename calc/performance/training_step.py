"""The time of a training step: a micro-batch through the stages of a pipeline, what is exchanged, and the update.

Every second is that of an operation of `training_passes`, by the law of its kernel. A trainer's schedule says what runs
side by side, and by how much kernels are slower in a step than alone: `Plan.trainer` names the kind of schedule.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from calc.architecture.stages import Stage
from calc.catalog.records import Accelerator
from calc.memory.training.plan import Plan
from calc.performance.device_rates import matrix_rate
from calc.performance.forward import EXPERT, PIPELINE, TENSOR
from calc.performance.operations import Collective
from calc.performance.pipeline import pipelined
from calc.performance.totals import total_bytes
from calc.performance.training_clock import (
    ADAPTED,
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
from calc.performance.training_pace import Pace, kernels_of
from calc.performance.training_passes import StepPasses

COMPUTE, MEMORY, LINKS, LAUNCH, BUBBLE, UPDATE = "compute", "memory", "links", "launch", "pipeline", "optimizer"


class MicroBatch(NamedTuple):
    """Seconds of one micro-batch on one stage."""

    whole: Timed
    device: float  # kernels that compute or move
    launch: float  # of all kernels by the host, beside the device
    launch_hidden: float  # of the shorter of both, the share that costs no time
    waiting: float  # collectives that computation waits for
    behind: float  # collectives behind which it computes
    copied: float  # what crosses PCIe: engines of its own copy it, beside everything
    last: float  # collectives of a step's last micro-batch alone, behind its backward pass
    backward_share: float
    hand_over: float

    @property
    def busy(self) -> float:
        """Seconds without what is sent behind computation."""
        return self.device + self.waiting + self.launching + self.hand_over

    @property
    def launching(self) -> float:
        """Seconds that launches add to the device's."""
        working = self.device + self.waiting
        return hidden(working, self.launch, self.launch_hidden) - working

    def total(self, overlap: float, *, last: bool = False) -> float:
        """Seconds of the micro-batch, of the last one with what is reduced during its backward pass."""
        busy = hidden(self.busy, self.behind, overlap)
        if last and self.last:
            backward = busy * self.backward_share
            busy += hidden(backward, self.last, overlap) - backward
        return max(busy, self.copied)


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
        launch = count * one.launching
        return {
            COMPUTE: count * self.pace.seconds(one.whole, PRODUCTS, ATTENTION, BACKWARD),
            MEMORY: count * self.pace.seconds(one.whole, MOVED, ADAPTED, UNPACKED),
            LINKS: max(busy - count * one.device - launch, 0.0) + self.exchange_s,
            LAUNCH: launch,
            BUBBLE: self.bubble_s,
            UPDATE: self.optimizer_s,
        }

    @property
    def bound_by(self) -> str:
        """What most of the step goes to."""
        return max(self.shares, key=self.shares.__getitem__)


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
    products. Parameters, gradients, and keys and values of other ranks go behind computation.
    """
    whole, device = of.micro_batch, pace.seconds(of.micro_batch, *ON_DEVICE)
    waiting = (1 - pace.tensor_hidden) * sent_s(whole.sent, TENSOR) + sent_s(whole.sent, EXPERT)
    return MicroBatch(
        whole=whole,
        device=device,
        launch=pace.launch_s(pace.launched(whole)),
        launch_hidden=pace.launch_hidden,
        waiting=waiting,
        behind=sent_s(whole.sent, TENSOR, EXPERT, PIPELINE, others=True) / pace.links,
        copied=pace.seconds(whole, COPIED),
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
