"""Collectives: bytes on the link and steps by hand, and what no algorithm can do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.performance.collectives import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    REDUCE_SCATTER,
    RING,
    SEND,
    TREE,
    sent_bytes,
    step_count,
)

OPERATIONS = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL)


def test_bus_bandwidth_is_the_links() -> None:
    """nccl-tests (doc/PERFORMANCE.md): all-reduce moves 2 (n - 1) / n of the message, gathers (n - 1) / n."""
    assert sent_bytes(ALL_REDUCE, ranks=8, message_bytes=1e9) == pytest.approx(2 * 7 / 8 * 1e9)
    assert sent_bytes(ALL_GATHER, ranks=8, message_bytes=1e9) == pytest.approx(7 / 8 * 1e9)


@given(st.sampled_from(OPERATIONS), st.integers(2, 1024), st.floats(1, 1e12))
def test_scatter_and_gather_make_an_all_reduce(operation: str, ranks: int, size: float) -> None:
    """An all-reduce sends what a reduce-scatter and an all-gather send; nothing sends more than twice its message."""
    both = sum(sent_bytes(part, ranks=ranks, message_bytes=size) for part in (REDUCE_SCATTER, ALL_GATHER))
    assert sent_bytes(ALL_REDUCE, ranks=ranks, message_bytes=size) == pytest.approx(both)
    assert 0 < sent_bytes(operation, ranks=ranks, message_bytes=size) < 2 * size


@given(st.sampled_from(OPERATIONS), st.integers(2, 1024))
def test_trees_wait_no_longer_than_rings(operation: str, ranks: int) -> None:
    """Steps grow with the ranks around a ring, and with their logarithm in a tree."""
    tree, ring = (step_count(operation, ranks=ranks, algorithm=name) for name in (TREE, RING))
    assert 1 <= tree <= ring


def test_one_device_waits_for_nobody() -> None:
    """A group of one takes no step; a send is one."""
    assert step_count(ALL_REDUCE, ranks=1, algorithm=RING) == 0
    assert step_count(SEND, ranks=2, algorithm=RING) == 1
