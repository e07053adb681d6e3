"""Collectives: bytes on the link and steps by hand, and what no algorithm can do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.performance.collectives import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    DIRECT,
    REDUCE_SCATTER,
    RING,
    SEND,
    TREE,
    Fabric,
    collective_s,
    sent_bytes,
    step_count,
    way,
)

OPERATIONS = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL)
FABRIC = Fabric(link=450e9, latency=3e-6, domain=8, network=50e9, network_latency=1e-5)


def test_bus_bandwidth_is_the_links() -> None:
    """nccl-tests (doc/PERFORMANCE.md): all-reduce moves 2 (n - 1) / n of the message, gathers (n - 1) / n."""
    seconds = collective_s(ALL_REDUCE, ranks=8, message_bytes=1e9, link=100e9, latency=0)
    assert 2 * 7 / 8 * 1e9 / seconds == pytest.approx(100e9)
    assert collective_s(ALL_GATHER, ranks=8, message_bytes=1e9, link=100e9, latency=0) == pytest.approx(7 / 8 / 100)


@given(st.sampled_from(OPERATIONS), st.integers(2, 1024), st.floats(1, 1e12))
def test_scatter_and_gather_make_an_all_reduce(operation: str, ranks: int, size: float) -> None:
    """An all-reduce sends what a reduce-scatter and an all-gather send; nothing sends more than twice its message."""
    both = sum(sent_bytes(part, ranks=ranks, message_bytes=size) for part in (REDUCE_SCATTER, ALL_GATHER))
    assert sent_bytes(ALL_REDUCE, ranks=ranks, message_bytes=size) == pytest.approx(both)
    assert 0 < sent_bytes(operation, ranks=ranks, message_bytes=size) < 2 * size


@given(st.sampled_from(OPERATIONS), st.integers(2, 1024))
def test_switches_wait_least_and_rings_most(operation: str, ranks: int) -> None:
    """Steps grow with the ranks around a ring, with their logarithm in a tree, and not at all over a switch."""
    direct, tree, ring = (step_count(operation, ranks=ranks, algorithm=name) for name in (DIRECT, TREE, RING))
    assert 1 <= direct <= tree <= ring


def test_one_device_waits_for_nobody() -> None:
    """A group of one takes no time; a send is of two."""
    assert collective_s(ALL_REDUCE, ranks=1, message_bytes=1e9, link=1e9, latency=1) == 0
    assert collective_s(SEND, ranks=2, message_bytes=1e9, link=1e9, latency=1) == 2


def test_groups_that_leave_their_machine_go_over_its_network() -> None:
    """Eight ranks of one machine keep its link; eight ranks of eight machines have one port each."""
    assert way(FABRIC, ranks=8).link == 450e9
    assert way(FABRIC, ranks=16).link == 400e9
    assert way(FABRIC, ranks=8, stride=8).link == 50e9
    assert way(FABRIC, ranks=4, stride=4).link == 100e9
    assert way(FABRIC, ranks=4, stride=4).across
