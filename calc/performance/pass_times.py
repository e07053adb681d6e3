"""The seconds of a pass: each operation's by its kernel's law and an engine's schedule, and the host's beside them."""

from functools import partial
from typing import NamedTuple

from calc.performance.device_laws import PLAIN
from calc.performance.kernels import Kernels
from calc.performance.operations import (
    Attention,
    Collective,
    Counted,
    Experts,
    HostCopy,
    Operation,
    Pass,
    Pointwise,
    Product,
    Recurrence,
)
from calc.performance.schedules import Factors, Schedule

MEMORY, COMPUTE, LAUNCH, LINKS, HOST = "memory", "compute", "launch", "links", "host"
WAITING_SHARE = 1 / 3  # of its time that neither memory nor arithmetic explains below it: an operation waits to begin
BUFFERED_PASSES = 3.0  # over the host's memory, of a copy by way of pinned memory: it is read, written and read again
UNCHANGED = Factors(1.0, 1.0)
BESIDE = Pointwise, Collective, HostCopy  # what neither multiplies matrices nor attends
CUTS = Attention, Recurrence, Collective  # what depends on more than the number of tokens, which no graph holds


class Timed(NamedTuple):
    """An operation of a pass, how often it is done, the seconds of one, and what they go to."""

    operation: Operation
    times: float
    seconds: float
    bound: str

    @property
    def total(self) -> float:
        """Seconds of all of them."""
        return self.times * self.seconds


timed = partial(tuple.__new__, Timed)  # of its fields at once: a search makes thousands


class PassTime(NamedTuple):
    """The seconds of a pass: those of its operations on the device, or of the host if it launches them slower."""

    parts: tuple[Timed, ...]
    device_s: float
    host_s: float  # in which the host launches the kernels, beside the device
    between_s: float  # in which the device waits for the host: scheduling, sampling, launches behind what it awaits
    processor_s: float = 0.0  # in which the host's processor works on what stands in its memory
    stages_s: tuple[float, ...] = ()  # of each device's layers, where devices are not alike
    outputs_s: float = 0.0  # of the output matrix, where stages follow each other
    drafts: tuple[tuple["PassTime", float], ...] = ()  # passes of what drafts beside it, each with how often
    correction: float = 1.0  # times that it takes as long, by what a reader has measured

    @property
    def total(self) -> float:
        """Seconds from the beginning of a pass to that of the next, with what is drafted between."""
        own = (self.device_s if self.device_s > self.host_s else self.host_s) + self.processor_s + self.between_s
        if self.drafts:
            own += sum(times * draft.total for draft, times in self.drafts)
        return own * self.correction

    @property
    def operations(self) -> Pass:
        """The list that the time is made of."""
        return tuple(Counted(part.operation, part.times) for part in self.parts)

    @property
    def bound_by(self) -> str:
        """The resource that most of the time goes to."""
        if self.host_s > self.device_s and self.host_s > self.processor_s:
            return LAUNCH
        sums = {MEMORY: 0.0, COMPUTE: 0.0, LAUNCH: self.between_s, LINKS: 0.0, HOST: 0.0}
        for part in self.parts:
            sums[part.bound] += part.total
        return max(sums, key=sums.__getitem__)


def pass_time(
    operations: Pass,
    *,
    kernels: Kernels,
    schedule: Schedule,
    sequences: float,
    decoding: float,
    queries: int = 1,
    in_pieces: bool = False,
) -> PassTime:
    """Return the seconds of a pass over `sequences`; `decoding` of them have `queries` new tokens, the next and drafts.

    A step of decoding alone is replayed as a graph, where the engine has one of its size. Whatever is not in a graph
    the host launches kernel by kernel while the device works. Of a pass `in_pieces` the graph is cut at its `CUTS`.
    """
    bandwidth, given, rate = kernels.bandwidth, kernels.given, kernels.rate(PLAIN)
    parts: list[Timed] = []
    device = launches = cuts = 0.0
    for operation, times in operations:
        seconds = kernels.by_kind[type(operation)](operation)
        if isinstance(operation, BESIDE):
            count, seconds, bound = beside(operation, seconds, schedule)
        else:
            if isinstance(operation, Product):
                moved = (operation.weight_bytes + operation.io_bytes) / given
                factors = schedule.found.get(operation.kernel) or schedule.product(operation.kernel)
                count = factors.launches
            elif isinstance(operation, Experts):
                moved, factors = operation.bytes / given, schedule.grouped(operation.kernel)
                count = operation.launches * factors.launches
                if schedule.loops_experts:
                    count = operation.experts * operation.matrices * factors.launches + 2.0 * operation.touched
            else:
                factors = UNCHANGED
                if isinstance(operation, Attention):
                    factors, cuts = schedule.attention, cuts + times
                moved, count = operation.bytes / bandwidth, operation.launches * factors.launches
            flops = operation.flops / rate
            working = flops / (flops + moved) if flops else 0.0
            seconds = factors.choice_s + seconds * (factors.reading + working * (factors.working - factors.reading))
            longest = flops if flops > moved else moved
            bound = LAUNCH if longest < WAITING_SHARE * seconds else COMPUTE if flops > moved else MEMORY
        parts.append(timed((operation, times, seconds, bound)))
        device += times * seconds
        launches += times * (cut_launches(operation, count) if in_pieces else count)
    alone = decoding == sequences and decoding * queries <= schedule.captured_sequences
    host, waiting = schedule.launching(cuts * schedule.cut_s if alone else launches * schedule.launch_s)
    chosen = sequences + decoding * (queries - 1)  # tokens: of what is drafted, each is compared with one
    return PassTime(tuple(parts), device, host, waiting + schedule.step_s + chosen * schedule.sequence_s)


def beside(
    operation: Pointwise | Collective | HostCopy, seconds: float, schedule: Schedule
) -> tuple[float, float, str]:
    """Return the kernels of what stands beside products and attention, its seconds under a schedule, and its bound."""
    if isinstance(operation, Pointwise):
        return operation.kernels * schedule.pointwise_kernels, seconds * schedule.pointwise_kernels, MEMORY
    if isinstance(operation, HostCopy):
        slowed, passed = (1.0, 1.0) if operation.pinned else (schedule.copy_factor, BUFFERED_PASSES)
        through_memory = passed * operation.copied_bytes / operation.read
        seconds = schedule.crossing_s + max(slowed * seconds, through_memory)
    return operation.launches, seconds, LINKS


def cut_launches(operation: Operation, count: float) -> float:
    """Return what the host launches for an operation of a graph in pieces: itself and the next piece, or nothing."""
    return count + 1.0 if isinstance(operation, CUTS) else 0.0
