"""Sums over the operations of a pass: what it computes, moves and launches."""

from collections.abc import Iterable

from calc.performance.operations import Attention, Counted, Experts, Pass, Product, Recurrence


def total_flops(operations: Iterable[Counted], *kinds: type) -> float:
    """Return the operations of a pass, or those of some kinds."""
    return sum(item.times * item.operation.flops for item in operations if not kinds or isinstance(item[0], kinds))


def total_bytes(operations: Iterable[Counted], *kinds: type) -> float:
    """Return the bytes that a pass moves through device memory, or those of some kinds of operations."""
    return sum(item.times * item.operation.bytes for item in operations if not kinds or isinstance(item[0], kinds))


def total_launches(operations: Iterable[Counted]) -> float:
    """Return the kernels that a pass launches."""
    return sum(item.times * item.operation.launches for item in operations)


def weights_read(operations: Iterable[Counted]) -> float:
    """Return the bytes of weights that a pass reads in its products and experts."""
    return sum(
        item.times * item.operation.weight_bytes for item in operations if isinstance(item.operation, Product | Experts)
    )


def state_bytes(operations: Pass) -> float:
    """Return the bytes of caches and states that a pass reads and writes."""
    return sum(item.times * item.operation.bytes for item in operations if isinstance(item[0], Attention | Recurrence))
