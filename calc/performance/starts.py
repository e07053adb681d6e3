"""What a step of decoding takes whatever it reads: its kernels begin one by one, and the host comes between."""

from typing import NamedTuple

from calc.performance.device_laws import PLAIN
from calc.performance.forward import TENSOR, forward
from calc.performance.kernels import Kernels
from calc.performance.operations import Attention, Collective, Counted, Experts, Operation, Pass, Pointwise, Product
from calc.performance.passes import Passes
from calc.performance.schedules import QUANTIZED, Factors, Schedule


def beginnings(passes: Passes) -> Pass:
    """Return the operations of a step with nothing to read and nothing to multiply, which are the same on any device.

    These are each matrix product, each layer's attention and experts, work on each element, and what tensor ranks send
    each other, as two of them do: more take longer. Other messages, and states, are left out.
    """
    counts: dict[Operation, float] = {}
    for operation, times in forward(passes.model, passes.step(sequences=1.0, context=0)):
        of_tensors = isinstance(operation, Collective) and operation.group == TENSOR
        if of_tensors or isinstance(operation, Pointwise | Attention | Product | Experts):
            bare = emptied(operation)
            counts[bare] = counts.get(bare, 0.0) + times
    return tuple(Counted(operation, times) for operation, times in counts.items())


class Numbered(NamedTuple):
    """The operations of a step by their places in a list, which are found sooner than by what they are."""

    counted: tuple[tuple[int, float], ...] = ()  # how many times a step does each
    sent: tuple[tuple[int, float], ...] = ()  # those of them that are messages


class Numbers:
    """A list of operations, each of them once."""

    def __init__(self) -> None:
        self.places = dict[Operation, int]()

    def of(self, begun: Pass) -> Numbered:
        """Return the operations of a step by their places, at the end of the list for those that are new."""
        places, sent = self.places, [isinstance(operation, Collective) for operation, _ in begun]
        counted = tuple((places.setdefault(operation, len(places)), times) for operation, times in begun)
        return Numbered(counted, tuple(one for one, message in zip(counted, sent, strict=True) if message))


class Begun(NamedTuple):
    """What a step takes at least beside reading weights and caches."""

    starts_s: float = 0.0  # in which its operations begin
    messages_s: float = 0.0  # in which messages do, of any number of tensor ranks but one


class Starts:
    """How long operations take to begin on a device under an engine, each of which is worked out once.

    An engine's own kernels for a few rows begin alike in all number formats, so that what is found of one holds for
    the others.
    """

    def __init__(self, kernels: Kernels, schedule: Schedule, numbers: Numbers) -> None:
        self.kernels, self.schedule, self.numbers = kernels, schedule, numbers
        self.alike = kernels.own.vector_start_s > 0.0
        self.known = dict[int, float]()  # by the operations' places

    def step(self, begun: Numbered) -> Begun:
        """Return the seconds in which a step's operations begin, and those of its messages."""
        known = self.known
        if new := [place for place, _ in begun.counted if place not in known]:
            operations = list(self.numbers.places)
            known |= {place: self.least(operations[place]) * self.kernels.seconds(operations[place]) for place in new}
        together = sum([times * known[place] for place, times in begun.counted])
        sent = sum([times * known[place] for place, times in begun.sent])
        return Begun(self.schedule.step_s + together - sent, sent)

    def least(self, operation: Operation) -> float:
        """Return how many times as long as by its law an operation takes to begin, at least."""
        if isinstance(operation, Pointwise):
            return self.schedule.pointwise_kernels
        if isinstance(operation, Collective):
            return 1.0
        factors = factors_of(operation, self.schedule, alike=self.alike)
        return min((min(each.reading, each.working) for each in factors), default=0.0)


def factors_of(operation: Operation, schedule: Schedule, *, alike: bool) -> list[Factors]:
    """Return how an engine's kernels of an operation compare with the law's, `alike` in all formats or in its own.

    None for what is left out.
    """
    if isinstance(operation, Attention):
        return [schedule.attention]
    if not isinstance(operation, Product | Experts):
        return []
    known = schedule.product if isinstance(operation, Product) else schedule.grouped
    return [known(kernel) for kernel in ((PLAIN, QUANTIZED) if alike else (operation.kernel,))]


def emptied(operation: Operation) -> Operation:
    """Return an operation on no rows; a product has no depth either, which is walked while it reads."""
    if isinstance(operation, Pointwise):
        return operation._replace(name="", bytes=0.0)
    if isinstance(operation, Collective):
        return operation._replace(name="", message_bytes=0.0, ranks=2)
    if isinstance(operation, Product):
        return operation._replace(m=0.0, n=0, k=0, weight_bytes=0.0, io_bytes=0.0)
    if isinstance(operation, Experts):
        return operation._replace(tokens=0.0, touched=1.0, weight_bytes=0.0, io_bytes=0.0)
    return operation._replace(sequences=0.0, cache_bytes=0.0) if isinstance(operation, Attention) else operation
