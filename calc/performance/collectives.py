"""The time of collectives: steps that wait for a latency each, and bytes over the slowest link between devices."""

ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, SEND = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "send",
)
RING, TREE = "ring", "tree"


def sent_bytes(operation: str, *, ranks: int, message_bytes: float) -> float:
    """Return the bytes that each device sends.

    The message is what a device has after an all-reduce or all-gather, and before a reduce-scatter or all-to-all.

    >>> sent_bytes(ALL_REDUCE, ranks=4, message_bytes=100), sent_bytes(ALL_GATHER, ranks=4, message_bytes=100)
    (150.0, 75.0)
    """
    if operation == SEND:
        return message_bytes
    share = (ranks - 1) / ranks * message_bytes
    return 2 * share if operation == ALL_REDUCE else share


def step_count(operation: str, *, ranks: int, algorithm: str) -> int:
    """Return the steps that wait for one another: around a ring, or up and down a tree. All send to all at once.

    >>> [step_count(ALL_REDUCE, ranks=8, algorithm=algorithm) for algorithm in (RING, TREE)]
    [14, 6]
    >>> [step_count(operation, ranks=8, algorithm=RING) for operation in (ALL_GATHER, ALL_TO_ALL, SEND)]
    [7, 1, 1]
    """
    if operation == SEND or ranks == 1:
        return int(operation == SEND)
    if operation == ALL_TO_ALL:
        return 1
    once = ranks - 1 if algorithm == RING else (ranks - 1).bit_length()
    return 2 * once if operation == ALL_REDUCE else once
