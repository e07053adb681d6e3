"""The time of a training step: a micro-batch through the stages of a pipeline, what is exchanged, and the update.

Every second is that of an operation of `training_passes`, by the law of its kernel. A trainer's schedule says what runs
side by side, and by how much kernels are slower in a step than alone: `Plan.trainer` names the kind of schedule.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from calc.architecture.stages import Stage, stages
from calc.catalog.records import Accelerator
from calc.memory.training.plan import Plan
from calc.performance.exchanges import stride
from calc.performance.fabric import NETWORK, joined, reached_share
from calc.performance.forward import EXPERT, PIPELINE, TENSOR
from calc.performance.kernels import Kernels, kernels, matrix_rate
from calc.performance.operations import (
    Attention,
    AttentionBackward,
    Collective,
    Counted,
    Experts,
    HostCopy,
    Operation,
    Pointwise,
    Product,
    total_bytes,
    total_launches,
)
from calc.performance.pipeline import pipelined
from calc.performance.training_passes import FP32, UNPACKING, StepPasses, step_passes

COMPUTE, MEMORY, LINKS, LAUNCH, BUBBLE, UPDATE = "compute", "memory", "links", "launch", "pipeline", "optimizer"
PRODUCTS, ATTENTION, MOVED, UNPACKED, COPIED = "products", "attention", "moved", "unpacked", "copied"
KINDS = {  # what a step's time goes to, by kind of operation
    Product: PRODUCTS,
    Experts: PRODUCTS,
    Attention: ATTENTION,
    AttentionBackward: ATTENTION,
    HostCopy: COPIED,
}


class Pace:
    """What a device does in a second under a trainer's schedule."""

    def __init__(self, plan: Plan, device: Kernels, values: Mapping[str, float], network: float | None) -> None:
        self.plan, self.kernels, self.values = plan, device, values
        self.products = self.of("product_share")
        self.attention = self.of("attention_share")
        self.backward = self.of("attention_backward")
        self.overlap = self.of("overlap")
        self.tensor_hidden = self.of("tensor_hidden")
        self.kernel_s = self.of("kernel_s")
        self.host_memory = values["host_bandwidth"]
        self.network = network
        # Laws are of 16 bit and narrower; wider products are as much slower as their rate on the data sheet is lower.
        accelerator = device.accelerator
        plain, wide = matrix_rate(accelerator, "bf16"), matrix_rate(accelerator, "tf32")
        self.wide = plain / wide if plan.scheme.compute == FP32 and wide else 1.0
        self.groups: set[tuple[str, int]] = set()

    def of(self, name: str) -> float:
        """Return a coefficient: for this trainer and generation, for one of them, or for all."""
        trainer, generation = self.plan.trainer, self.kernels.accelerator.architecture
        for key in (f"{trainer}.{name}@{generation}", f"{name}@{generation}", f"{trainer}.{name}"):
            if key in self.values:
                return self.values[key]
        return self.values[name]

    def seconds(self, one: Operation) -> float:
        """Return the seconds of an operation."""
        if isinstance(one, Product | Experts):
            return self.kernels.seconds(one) * self.wide / self.products
        if isinstance(one, Attention):
            return self.kernels.seconds(one) * self.wide / self.attention
        if isinstance(one, AttentionBackward):
            return self.backward * self.seconds(one.forward)
        if isinstance(one, Pointwise) and one.name == UNPACKING:
            base = self.plan.method.base.id.partition("-")[0]
            share = self.values.get(f"unpack_share_{base}", self.values["unpack_share"])
            return one.bytes / (share * self.kernels.bandwidth)
        if isinstance(one, Collective):
            self.join(one)
        return self.kernels.seconds(one)

    def join(self, one: Collective) -> None:
        """Tell the kernels what joins a group of ranks, from how far apart they stand and the network of the run."""
        if (one.group, one.ranks) in self.groups:
            return
        self.groups.add((one.group, one.ranks))
        group = joined(self.kernels.accelerator, ranks=one.ranks, stride=stride(self.plan, one.group))
        if self.network is not None and group.network is not None:
            group = group._replace(network_rate=self.network * reached_share(group.network, NETWORK))
        self.kernels.group(one.group, group)


class Part(NamedTuple):
    """Operations of one kind with the seconds of each."""

    operation: Operation
    times: float
    each_s: float

    @property
    def seconds(self) -> float:
        """Seconds of all of them."""
        return self.times * self.each_s


class Timed(NamedTuple):
    """A pass in seconds: its parts by what they are."""

    parts: Mapping[str, tuple[Part, ...]]
    sent: tuple[Part, ...]
    launches: float

    def of(self, kind: str) -> float:
        """Return the seconds of a kind of operations."""
        return sum(part.seconds for part in self.parts.get(kind, ()))

    @property
    def device(self) -> float:
        """Seconds of kernels that compute or move."""
        return sum(self.of(kind) for kind in (PRODUCTS, ATTENTION, MOVED, UNPACKED))


def timed(passed: Iterable[Counted], pace: Pace) -> Timed:
    """Return a pass in seconds. Alike operations count together."""
    counts: dict[Operation, float] = {}
    for one, times in passed:
        counts[one] = counts.get(one, 0.0) + times
    parts: dict[str, list[Part]] = {}
    sent = []
    for one, times in counts.items():
        part = Part(one, times, pace.seconds(one))
        if isinstance(one, Collective):
            sent.append(part)
        else:
            kind = UNPACKED if one.name == UNPACKING else KINDS.get(type(one), MOVED)
            parts.setdefault(kind, []).append(part)
    return Timed({kind: tuple(found) for kind, found in parts.items()}, tuple(sent), total_launches(passed))


class MicroBatch(NamedTuple):
    """Seconds of one micro-batch on one stage."""

    whole: Timed
    launch: float  # of all kernels by the host, beside the device
    waiting: float  # collectives that computation waits for
    behind: float  # collectives and copies behind which it computes
    last: float  # collectives of a step's last micro-batch alone, behind its backward pass
    backward_share: float
    hand_over: float

    @property
    def busy(self) -> float:
        """Seconds without what is sent behind computation."""
        return max(self.whole.device + self.waiting, self.launch) + self.hand_over

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
        launch = max(count * (one.launch - one.whole.device - one.waiting), 0.0)
        return {
            COMPUTE: count * (one.whole.of(PRODUCTS) + one.whole.of(ATTENTION)),
            MEMORY: count * (one.whole.of(MOVED) + one.whole.of(UNPACKED)),
            LINKS: max(busy - count * one.whole.device - launch, 0.0) + self.exchange_s,
            LAUNCH: launch,
            BUBBLE: self.bubble_s,
            UPDATE: self.optimizer_s,
        }

    @property
    def waiting_share(self) -> float:
        """The share of the step in which a device waits for links, the host or other stages."""
        return sum(self.shares[name] for name in (LINKS, LAUNCH, BUBBLE)) / self.total

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


def micro_batch(plan: Plan, passes: StepPasses, pace: Pace) -> MicroBatch:
    """Return the seconds of a micro-batch on a stage.

    Sums of tensor ranks and tokens on their way to experts are waited for, but for what a trainer hides behind
    products. Parameters, gradients, keys and values of other ranks, and what crosses PCIe, go behind computation.
    """
    whole = timed(passes.of_micro_batch, pace)
    forward = timed(passes.forward, pace).device
    waiting = (1 - pace.tensor_hidden) * sent_s(whole.sent, TENSOR) + sent_s(whole.sent, EXPERT)
    return MicroBatch(
        whole=whole,
        launch=whole.launches * pace.kernel_s,
        waiting=waiting,
        behind=sent_s(whole.sent, TENSOR, EXPERT, PIPELINE, others=True) + whole.of(COPIED),
        last=sent_s(timed(passes.reduced, pace).sent, others=True),
        backward_share=1 - forward / max(whole.device, 1e-12),
        hand_over=plan.virtual_stages * sent_s(whole.sent, PIPELINE),
    )


def update_s(passes: StepPasses, pace: Pace) -> float:
    """Return the seconds of the optimizer: what it reads and writes, on the device or in the host's memory."""
    return (
        sum(timed(passes.updated, pace).of(kind) for kind in (MOVED, COPIED))
        + total_bytes(passes.hosted) / pace.host_memory
    )


def kinds_of(plan: Plan) -> list[tuple[Stage, int]]:
    """Return the stages that differ in work, each with how many are like it."""
    found: dict[tuple[object, ...], tuple[Stage, int]] = {}
    for stage in stages(plan.architecture, plan.layout.pipeline):
        counts = [(id(kind), count) for kind, count in stage.kind_counts()]
        key = (stage.is_first, stage.is_last, *counts)
        found[key] = (stage, found[key][1] + 1 if key in found else 1)
    return list(found.values())


def peak_rate(plan: Plan, accelerator: Accelerator) -> float:
    """Return the rate on the data sheet for the format that matrices are multiplied in, 0 where there is none."""
    name = {"fp8-mixed": "fp8", "fp32": "tf32"}.get(plan.scheme.id, "bf16")
    return matrix_rate(accelerator, name)


class Prepared(NamedTuple):
    """A plan with the operations of its stages, which no coefficient changes."""

    plan: Plan
    accelerator: Accelerator
    passes: tuple[tuple[StepPasses, int], ...]


def prepare(plan: Plan, accelerator: Accelerator) -> Prepared:
    """Return a plan with its operations."""
    return Prepared(plan, accelerator, tuple((step_passes(plan, stage), count) for stage, count in kinds_of(plan)))


def step_time(prepared: Prepared, values: Mapping[str, float], network: float | None = None) -> StepTime | None:
    """Return the time of a step under coefficients, None where the device's rates are not known."""
    plan, accelerator, passes = prepared
    device = kernels(accelerator)
    if device is None or not peak_rate(plan, accelerator):
        return None
    pace = Pace(plan, device, values, network)
    found = [(micro_batch(plan, one, pace), one, count) for one, count in passes]
    slowest, listed, _ = max(found, key=lambda item: item[0].total(pace.overlap))
    each = [(one.total(pace.overlap), alike) for one, _, alike in found]
    filled = pipelined(each, micro_batches=plan.accumulation, virtual_stages=plan.virtual_stages)
    reduced = slowest.total(pace.overlap, last=True) - slowest.total(pace.overlap)
    return StepTime(
        pace=pace,
        stages=tuple((one, alike) for one, _, alike in found),
        slowest=slowest,
        passes=listed,
        micro_batches=plan.accumulation,
        pipeline_s=filled.seconds + reduced,
        bubble_s=filled.bubble,
        exchange_s=max(sent_s(timed(one.gathered + one.updated, pace).sent, others=True) for _, one, _ in found),
        optimizer_s=max(update_s(one, pace) for _, one, _ in found),
    )
