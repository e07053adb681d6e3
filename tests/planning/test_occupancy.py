"""Requests in a server: known queues, and what holds of all."""

from math import exp, factorial

import pytest
from hypothesis import given
from hypothesis import strategies as some

from calc.planning.occupancy import Occupancy, most_per_s


def test_one_server_is_geometric() -> None:
    """Where one is served at a time (M/M/1) the chance of n in the queue is (1 - r) r^n, and the mean r / (1 - r)."""
    found = Occupancy(requests_per_s=0.5, answered_per_s=[1.0])
    assert found.chances == pytest.approx([0.5, 0.25])
    assert found.share(3) == pytest.approx(1 - 0.5**4)
    assert found.mean == pytest.approx(1.0)
    assert found.below(0.9, 100) == 3


def test_no_waiting_is_poisson() -> None:
    """Where nobody slows another down (M/G/∞) numbers are Poisson distributed about what Little's law gives."""
    found = Occupancy(requests_per_s=3.0, answered_per_s=[float(count) for count in range(1, 60)])
    assert found.chances[:8] == pytest.approx([exp(-3) * 3**count / factorial(count) for count in range(8)])
    assert found.mean == pytest.approx(3.0)


def test_two_servers_are_erlang() -> None:
    """With two servers and one erlang a third of the requests find both busy (Erlang C)."""
    found = Occupancy(requests_per_s=1.0, answered_per_s=[1.0, 2.0])
    assert 1 - found.share(1) == pytest.approx(1 / 3)


def test_more_than_is_answered_never_settles() -> None:
    """A server that is sent more than it answers has no share of the time with few in it."""
    found = Occupancy(requests_per_s=2.0, answered_per_s=[1.0, 1.5])
    assert not found.settles and found.share(1000) == 0.0


@pytest.mark.parametrize(("rate", "rates"), [(0.7, [1.0]), (4.0, [float(count) for count in range(1, 60)])])
def test_numbers_vary(rate: float, rates: list[float]) -> None:
    """The number of a queue with one server (M/M/1) varies as r / (1 - r)², and as its mean where nobody waits."""
    found = Occupancy(requests_per_s=rate, answered_per_s=rates)
    assert found.variance == pytest.approx(0.7 / 0.09 if len(rates) == 1 else 4.0)


def test_nobody_is_slowed_by_followers_alone() -> None:
    """Where nobody slows another down a request meets what a moment has; where all do, more of them meet many."""
    alone = Occupancy(requests_per_s=3.0, answered_per_s=[float(count) for count in range(1, 60)])
    assert alone.kept(6) == pytest.approx(alone.share(6))
    shared = Occupancy(requests_per_s=0.7, answered_per_s=[1.0])
    assert shared.kept(6) < shared.share(6)


@given(some.lists(some.floats(0.1, 10), min_size=1, max_size=20), some.integers(1, 40), some.floats(0.5, 0.999))
def test_the_most_keeps_its_share(gains: list[float], most: int, share: float) -> None:
    """At the rate that is found the share is kept, and a stricter share takes less."""
    rates = [sum(gains[: count + 1]) for count in range(len(gains))]
    found = most_per_s(answered_per_s=rates, most=most, share=share)
    assert Occupancy(requests_per_s=found, answered_per_s=rates).kept(most) >= share
    assert most_per_s(answered_per_s=rates, most=most, share=(1 + share) / 2) <= found * 1.001
    assert Occupancy(requests_per_s=found, answered_per_s=rates).below(share, most) <= most
