"""The time of a training step: a micro-batch through the stages of a pipeline, what is exchanged, and the update."""

from collections.abc import Container, Mapping
from typing import NamedTuple

from calc.architecture.stages import Stage, stages
from calc.catalog.records import Accelerator
from calc.memory.training.plan import PARAMETERS, Plan
from calc.performance.exchanges import (
    CONTEXT,
    COPIES,
    DATA,
    EXPERT,
    EXPERT_COPIES,
    EXPERT_DATA,
    PIPELINE,
    TENSOR,
    Sent,
    stride,
)
from calc.performance.fabric import NETWORK, host_link, joined, reached_share
from calc.performance.kernels import matrix_rate
from calc.performance.pipeline import pipelined
from calc.performance.schedules import coefficient
from calc.performance.training_work import Pass, StageWork, stage_work
from calc.performance.transfers import transfer

WAITED_FOR = (TENSOR, EXPERT)  # groups whose messages the next operation needs
HIDDEN = (CONTEXT, DATA, COPIES, EXPERT_DATA, EXPERT_COPIES)  # groups whose messages go behind computation
GROUPS = (*WAITED_FOR, *HIDDEN, PIPELINE)
COMPUTE, MEMORY, LINKS, LAUNCH, BUBBLE, UPDATE = "compute", "memory", "links", "launch", "pipeline", "optimizer"
EIGHT_BIT = "fp8-mixed"
FP32 = 4


class Rates(NamedTuple):
    """What a device reaches in training: operations and bytes a second, seconds of a kernel."""

    peak: float  # of the data sheet, in 16 bit or FP32
    bandwidth: float
    matrix_share: float
    memory_share: float
    gain: float  # of FP8
    matrix: float
    attention: float
    memory: float
    gap_s: float  # between two kernels
    kernel_s: float  # of the host, to launch one
    unpacked: float  # elements a second
    host_link: float
    host_memory: float
    overlap: float


class MicroBatch(NamedTuple):
    """Seconds of one micro-batch on one stage."""

    matrices: float
    attention: float
    moved: float
    unpacking: float
    gaps: float
    launch: float  # of all kernels by the host, beside the device
    waiting: float  # collectives that computation waits for
    behind: float  # collectives behind which it computes
    last: float  # collectives of a step's last micro-batch alone, behind its backward pass
    backward_share: float
    hand_over: float

    @property
    def device(self) -> float:
        """Seconds of kernels."""
        return self.matrices + self.attention + self.moved + self.unpacking + self.gaps

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

    rates: Rates
    stages: tuple[tuple[MicroBatch, int], ...]  # each kind of stage, and how many there are
    slowest: MicroBatch
    work: StageWork  # of the slowest stage
    micro_batches: int
    pipeline_s: float  # all micro-batches through all stages
    bubble_s: float  # of that, what the slowest stage waits
    exchange_s: float  # after the last micro-batch
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
        device = count * one.device
        launch = max(count * (one.launch - one.device - one.waiting), 0.0)
        return {
            COMPUTE: count * (one.matrices + one.attention),
            MEMORY: count * (one.moved + one.unpacking),
            LINKS: max(busy - device - launch, 0.0) + self.exchange_s,
            LAUNCH: launch + count * one.gaps,
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


def rates_of(plan: Plan, accelerator: Accelerator, values: Mapping[str, float]) -> Rates | None:
    """Return what a device reaches, None where its rates are not known."""
    bandwidth, rate = accelerator.quantity("bandwidth"), matrix_rate(accelerator, "bf16")
    if plan.scheme.compute == FP32:
        rate = peak_rate(plan, accelerator)
    if not bandwidth or not rate:
        return None
    classes = (accelerator.architecture,)

    def of(name: str) -> float:
        return coefficient(values, name, ("",), classes)

    sustained = rate * of("matrix_share")
    eight = accelerator.quantity("fp8") if plan.scheme.id == EIGHT_BIT else None
    base = plan.method.base.id
    gain = of("fp8_gain") if eight else 1.0
    return Rates(
        peak=rate,
        bandwidth=bandwidth,
        matrix_share=of("matrix_share"),
        memory_share=of("memory_share"),
        gain=gain,
        matrix=sustained * gain,
        attention=rate * of("attention_share") if plan.choices.flash else sustained,
        memory=bandwidth * of("memory_share"),
        gap_s=of("kernel_gap_s"),
        kernel_s=of("kernel_s"),
        unpacked=coefficient(values, "unpack_share", (base.partition("-")[0], ""), classes) * bandwidth,
        host_link=host_link(accelerator).bytes_per_s_one_way * values["pcie_share"],
        host_memory=values["host_bandwidth"],
        overlap=of("overlap"),
    )


class Fabric(NamedTuple):
    """What a run's devices send over: their own links, and a network that the scenario may name."""

    accelerator: Accelerator
    network: float | None = None  # bytes a second of a device, one way

    def seconds(self, operation: str, message_bytes: float, *, ranks: int, stride: int = 1) -> float:
        """Return the seconds of a message among `ranks` devices that are `stride` apart."""
        if ranks == 1:
            return 0.0
        group = joined(self.accelerator, ranks=ranks, stride=stride)
        if self.network is not None and group.network is not None:
            group = group._replace(network_rate=self.network * reached_share(group.network, NETWORK))
        return transfer(operation, joined=group, message_bytes=message_bytes).seconds


def seconds_of(work: Pass, rates: Rates) -> tuple[float, float, float, float]:
    """Return the seconds of matrices, attention, moved bytes and unpacking of a pass."""
    return (
        work.matrix_flops / rates.matrix + work.matrix_bytes / rates.memory,
        work.attention_flops / rates.attention,
        work.moved_bytes / rates.memory,
        work.unpacked / rates.unpacked,
    )


def micro_batch(plan: Plan, work: StageWork, rates: Rates, fabric: Fabric) -> MicroBatch:
    """Return the seconds of a micro-batch on a stage."""
    whole = work.whole
    matrices, attention, moved, unpacking = seconds_of(whole, rates)
    backward = sum(seconds_of(work.backward.plus(work.again), rates)) / max(
        matrices + attention + moved + unpacking, 1e-12
    )
    sent = work.exchanges
    waiting = seconds_sent(plan, sent.of_micro_batch, fabric, WAITED_FOR)
    behind = seconds_sent(plan, sent.of_micro_batch, fabric, HIDDEN)
    last = seconds_sent(plan, sent.reduced, fabric)
    hand_over = plan.virtual_stages * seconds_sent(plan, sent.of_micro_batch, fabric, (PIPELINE,))
    if "activations" in plan.offload:
        behind += 2 * stream_bytes(plan) * work.layers / rates.host_link
    if "parameters" in plan.offload:
        passes = 2 + (work.again.matrix_flops > 0)
        behind += passes * plan.scheme.compute * work.elements / plan.degree(PARAMETERS) / rates.host_link
    return MicroBatch(
        matrices,
        attention,
        moved,
        unpacking,
        whole.kernels * rates.gap_s,
        whole.kernels * rates.kernel_s,
        waiting,
        behind,
        last,
        backward,
        hand_over,
    )


def stream_bytes(plan: Plan) -> float:
    """Return the bytes of a micro-batch's stream between layers on one device."""
    return float(plan.batch.stream_rows * plan.architecture.hidden_size * plan.scheme.compute)


def seconds_sent(plan: Plan, sent: Sent, fabric: Fabric, groups: Container[str] = GROUPS) -> float:
    """Return the seconds of what goes between the ranks of groups."""
    total = 0.0
    for one, times in sent:
        if one.group in groups:
            distance = stride(plan, one.group)
            total += times * fabric.seconds(one.kind, one.bytes, ranks=one.ranks, stride=distance)
    return total


def update_s(plan: Plan, work: StageWork, rates: Rates) -> float:
    """Return the seconds of the optimizer: what it reads and writes, on the device or in the host's memory."""
    if "optimizer" in plan.offload:
        sent = 2.0 * work.trained * plan.scheme.compute / plan.shard_ranks
        return work.updated_bytes / rates.host_memory + sent / rates.host_link
    return work.updated_bytes / rates.memory


def kinds_of(plan: Plan) -> list[tuple[Stage, int]]:
    """Return the stages that differ in work, each with how many are like it."""
    found: dict[tuple[object, ...], tuple[Stage, int]] = {}
    for stage in stages(plan.architecture, plan.layout.pipeline):
        counts = [(id(kind), count) for kind, count in stage.kind_counts()]
        key = (stage.is_first, stage.is_last, *counts)
        found[key] = (stage, found[key][1] + 1 if key in found else 1)
    return list(found.values())


def peak_rate(plan: Plan, accelerator: Accelerator) -> float:
    """Return the rate on the data sheet for the format that matrices are multiplied in."""
    if plan.scheme.id == EIGHT_BIT and (eight := accelerator.quantity("fp8")):
        return eight
    if plan.scheme.compute == FP32:
        found = accelerator.quantity("tf32") or accelerator.quantity("fp32")
        if found:
            return found
    return matrix_rate(accelerator, "bf16")


class Prepared(NamedTuple):
    """A plan with the work of its stages, which no coefficient changes."""

    plan: Plan
    accelerator: Accelerator
    works: tuple[tuple[StageWork, int], ...]


def prepare(plan: Plan, accelerator: Accelerator) -> Prepared:
    """Return a plan with its work."""
    return Prepared(plan, accelerator, tuple((stage_work(plan, stage), count) for stage, count in kinds_of(plan)))


def step_time(prepared: Prepared, values: Mapping[str, float], network: float | None = None) -> StepTime | None:
    """Return the time of a step under coefficients, None where the device's rates are not known."""
    plan, accelerator, works = prepared
    rates = rates_of(plan, accelerator, values)
    if rates is None:
        return None
    fabric = Fabric(accelerator, network)
    found = [(micro_batch(plan, work, rates, fabric), work, count) for work, count in works]
    slowest, work, _ = max(found, key=lambda item: item[0].total(rates.overlap))
    each = [(one.total(rates.overlap), alike) for one, _, alike in found]
    filled = pipelined(each, micro_batches=plan.accumulation, virtual_stages=plan.virtual_stages)
    reduced = slowest.total(rates.overlap, last=True) - slowest.total(rates.overlap)
    return StepTime(
        rates,
        tuple((one, alike) for one, _, alike in found),
        slowest,
        work,
        plan.accumulation,
        filled.seconds + reduced,
        filled.bubble,
        max(seconds_sent(plan, (*work.exchanges.gathered, *work.exchanges.updated), fabric) for _, work, _ in found),
        max(update_s(plan, work, rates) for _, work, _ in found),
    )
