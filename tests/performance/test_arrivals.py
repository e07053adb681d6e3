"""Requests that come on their own: gaps, lengths, and that they are the same each time."""

from itertools import pairwise
from math import sqrt
from statistics import fmean, median, pstdev

import pytest

from calc.performance.arrivals import P95, SEED, Arrivals, Draws, Kind, Spread, requests

FIXED = Kind(1.0, Spread(1000.0), Spread(100.0))


def test_splitmix_gives_its_published_numbers() -> None:
    """The first three outputs for seed 1234567, as the reference implementation prints them."""
    draws, scale = Draws(1234567), 2.0**52
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [int(draws.uniform() * scale) for _ in expected] == [number >> 12 for number in expected]


@pytest.mark.parametrize("burstiness", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("replicas", [1, 4])
def test_gaps_have_the_mean_and_spread_asked_for(burstiness: float, replicas: int) -> None:
    """A gamma distribution of shape k has a standard deviation of its mean over the root of k; turns add k up."""
    asked = Arrivals(8.0, burstiness, (FIXED,))
    times = [0.0, *(request.at_s for request in requests(asked, count=20_000, replicas=replicas))]
    gaps = [after - before for before, after in pairwise(times)]
    assert fmean(gaps) == pytest.approx(replicas / 8.0, rel=0.03)
    assert pstdev(gaps) / fmean(gaps) == pytest.approx(1 / sqrt(burstiness * replicas), rel=0.05)


def test_lengths_have_the_median_and_tail_asked_for() -> None:
    """Half of a lognormal spread lies below its median, 95 % below its tail; its mean is what the formula says."""
    spread = Spread(400.0, 1.0)
    draws = Draws(SEED)
    found = sorted(draws.length(spread) for _ in range(20_000))
    assert median(found) == pytest.approx(400, rel=0.04)
    assert found[19_000] == pytest.approx(400 * 2.718281828**P95, rel=0.05)
    assert fmean(found) == pytest.approx(spread.mean, rel=0.05)


def test_even_lengths_are_all_as_frequent() -> None:
    """From the least to the most, with the mean and the deviation that they say."""
    spread = Spread(500.5, width=999.0)
    draws = Draws(SEED)
    found = sorted(draws.length(spread) for _ in range(20_000))
    assert (found[0], found[-1]) == (1, 1000)
    assert found[5_000] == pytest.approx(250, rel=0.03)
    assert fmean(found) == pytest.approx(spread.mean, rel=0.02)
    assert pstdev(found) / fmean(found) == pytest.approx(spread.deviation, rel=0.02)


def test_a_lognormal_spread_has_its_deviation() -> None:
    """Over its mean: of a logarithm's deviation of one, the root of e − 1."""
    assert Spread(400.0, 1.0).deviation == pytest.approx(1.7182818**0.5)
    assert Spread(400.0).deviation == 0.0


def test_answers_of_several_kinds_have_a_deviation() -> None:
    """Of three quarters at 100 tokens and a quarter at 300: the root of 7,500 over 150."""
    short, long = (Kind(share, Spread(10.0), Spread(tokens)) for share, tokens in ((0.75, 100.0), (0.25, 300.0)))
    assert Arrivals(1.0, 1.0, (short, long)).output_deviation == pytest.approx(7_500**0.5 / 150)
    spread = Kind(1.0, Spread(10.0), Spread(400.0, 1.0))
    assert Arrivals(1.0, 1.0, (spread,)).output_deviation == pytest.approx(spread.output.deviation)


def test_kinds_come_with_their_shares() -> None:
    """Of three quarters short and a quarter long, that is what comes."""
    kinds = Kind(0.75, Spread(100.0), Spread(10.0)), Kind(0.25, Spread(2000.0), Spread(300.0))
    asked = Arrivals(1.0, 1.0, kinds)
    found = requests(asked, count=10_000)
    assert sum(request.prompt_tokens == 100 for request in found) / 10_000 == pytest.approx(0.75, abs=0.02)
    assert fmean(request.output_tokens for request in found) == pytest.approx(asked.output_tokens, rel=0.03)


def test_another_rate_asks_the_same_requests() -> None:
    """Loads can be compared: lengths are the same one by one, and times scale."""
    kinds = (Kind(1.0, Spread(500.0, 0.7), Spread(100.0, 0.7)),)
    slow, fast = (requests(Arrivals(rate, 1.0, kinds), count=50) for rate in (1.0, 10.0))
    for one, other in zip(slow, fast, strict=True):
        assert one.prompt_tokens == other.prompt_tokens
        assert one.at_s == pytest.approx(10 * other.at_s)


def test_no_request_is_longer_than_the_cache() -> None:
    """A prompt is cut so that it and its answer fit."""
    kinds = (Kind(1.0, Spread(500.0, 2.0), Spread(500.0, 2.0)),)
    found = requests(Arrivals(1.0, 1.0, kinds), count=2000, longest=800)
    assert max(request.prompt_tokens + request.output_tokens for request in found) == 800
    assert min(min(request.prompt_tokens, request.output_tokens) for request in found) >= 1
