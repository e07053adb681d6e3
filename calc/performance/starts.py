"""What a step of decoding takes whatever it reads: its kernels begin one by one, and the host comes between."""

from calc.performance.device_laws import PLAIN
from calc.performance.forward import forward
from calc.performance.kernels import Kernels
from calc.performance.operations import Attention, Counted, Experts, Operation, Pass, Pointwise, Product
from calc.performance.passes import Passes
from calc.performance.schedules import QUANTIZED, Factors, Schedule


def beginnings(passes: Passes) -> Pass:
    """Return the operations of a step with nothing to read and nothing to multiply, which are the same on any device.

    These are each matrix product, each layer's attention and experts, and work on each element. What devices send each
    other, and states, are left out.
    """
    counts: dict[Operation, float] = {}
    for operation, times in forward(passes.model, passes.step(sequences=1.0, context=0)):
        if isinstance(operation, Pointwise | Attention | Product | Experts):
            bare = emptied(operation)
            counts[bare] = counts.get(bare, 0.0) + times
    return tuple(Counted(operation, times) for operation, times in counts.items())


def starts_s(begun: Pass, kernels: Kernels, schedule: Schedule) -> float:
    """Return the seconds that a step takes at least beside reading weights and caches, as its operations begin.

    An engine's own kernels for a few rows begin alike in all number formats, so that what is found of one holds for
    the others.
    """
    found = schedule.step_s
    for operation, times in begun:
        if isinstance(operation, Pointwise):
            found += times * schedule.pointwise_kernels * kernels.seconds(operation)
        elif factors := factors_of(operation, schedule, alike=kernels.own.vector_start_s > 0.0):
            least = min(min(each.reading, each.working) for each in factors)
            found += times * least * kernels.seconds(operation)
    return found


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
    if isinstance(operation, Product):
        return operation._replace(m=0.0, n=0, k=0, weight_bytes=0.0, io_bytes=0.0)
    if isinstance(operation, Experts):
        return operation._replace(tokens=0.0, touched=1.0, weight_bytes=0.0, io_bytes=0.0)
    return operation._replace(sequences=0.0, cache_bytes=0.0) if isinstance(operation, Attention) else operation
