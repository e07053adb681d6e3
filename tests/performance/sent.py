"""What ranks send in a pass."""

from collections.abc import Iterable

from calc.performance.operations import Collective, Counted


def total_sent(operations: Iterable[Counted], group: str = "") -> float:
    """Return the bytes that each rank sends in a pass, or sends within one kind of group."""
    return sum(
        item.times * item.operation.sent_bytes
        for item in operations
        if isinstance(item.operation, Collective) and group in ("", item.operation.group)
    )
