"""What a service has to give, worked by hand, and what of it is refused."""

from typing import Any

import pytest

from calc.errors import ScenarioError
from calc.planner.fields import amount
from calc.planner.need import NO_NEED, Need, read_need


def need(**given: object) -> Need:
    """Return a need as a question says it."""
    return read_need(given, amount)


def test_nothing_asked_is_nothing_needed() -> None:
    """No load and no times; all hours of all days; what is planned for is the usual."""
    assert need() == NO_NEED
    assert (NO_NEED.step_s, NO_NEED.timed, NO_NEED.mean_rate, NO_NEED.peak_rate, NO_NEED.waiting) == (
        None,
        False,
        *[None] * 3,
    )
    assert (NO_NEED.shared, NO_NEED.requests_a_month, NO_NEED.percentile, NO_NEED.spare) == (False, None, 95.0, 0)
    assert NO_NEED.hours_a_month == 24 * 365 / 12 == 730


def test_users_with_requests_are_a_rate() -> None:
    """1,800 users with 10 requests an hour are 5 a second, at the peak of twice 10; in 8 hours a day 730 / 3 hours."""
    asked = need(users=1800, requests_each_hour=10, peak_over_mean=2, hours_a_day=8)
    assert (asked.mean_rate, asked.peak_rate, asked.waiting, asked.shared) == (5.0, 10.0, None, True)
    assert asked.requests_a_month == pytest.approx(5 * 3600 * 730 / 3)


def test_users_without_requests_wait_at_the_same_time() -> None:
    """Ten people, at the peak of 1.25 times 12.5, so 13; one alone shares nothing."""
    asked = need(users=10, peak_over_mean=1.25)
    assert (asked.waiting, asked.mean_rate, asked.shared) == (13, None, True)
    assert need(users=1).waiting == 1 and not need(users=1).shared
    assert need(users=2).shared


def test_a_rate_may_be_said_itself() -> None:
    """Requests a second of all, and not of people."""
    asked = need(requests_per_s=0.5, peak_over_mean=3)
    assert (asked.mean_rate, asked.peak_rate, asked.waiting, asked.shared) == (0.5, 1.5, None, True)


@pytest.mark.parametrize(
    ("given", "step_s"),
    [
        ({"tpot_s": 0.05}, 0.05),
        ({"tokens_per_s_each": 50}, 0.02),
        ({"tpot_s": 0.01, "tokens_per_s_each": 50}, 0.01),
        ({"tpot_s": 0.05, "tokens_per_s_each": 50}, 0.02),
        ({"ttft_s": 2}, None),
    ],
)
def test_the_shorter_time_of_a_token_counts(given: dict[str, Any], step_s: float | None) -> None:
    """A time and a rate say the same; any of them, or one for the first token, is a time that is asked for."""
    assert need(**given).step_s == step_s and need(**given).timed


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        ({"requests_each_hour": 3}, "need.users", "is needed with requests_each_hour"),
        ({"users": 3, "requests_per_s": 1}, "need.requests_per_s", "is in place of users"),
        ({"peak_over_mean": 2}, "need.peak_over_mean", "needs users or requests_per_s"),
        ({"spare": 1}, "need.spare", "needs users or requests_per_s"),
        ({"users": 3, "percentile": 99}, "need.percentile", "needs requests_per_s, or users with requests_each_hour"),
        ({"users": 0}, "need.users", "1"),
        ({"users": 10**6 + 1}, "need.users", "1,000,000"),
        ({"users": 3, "spare": 1001}, "need.spare", "1,000"),
        ({"users": 3, "spare": -1}, "need.spare", "0"),
        ({"users": 3, "peak_over_mean": 0.99}, "need.peak_over_mean", "must be a number from 1 to 1,000, not 0.99"),
        ({"users": 3, "peak_over_mean": 1000.5}, "need.peak_over_mean", "from 1 to 1,000"),
        ({"users": 3, "peak_over_mean": True}, "need.peak_over_mean", "not True"),
        ({"users": 3, "peak_over_mean": "2"}, "need.peak_over_mean", "not '2'"),
        ({"requests_per_s": 1, "percentile": 49}, "need.percentile", "from 50 to 99.99"),
        ({"requests_per_s": 1, "percentile": 100}, "need.percentile", "from 50 to 99.99"),
        ({"requests_per_s": 1_000_001}, "need.requests_per_s", "above 0"),
        ({"hours_a_day": 24.5}, "need.hours_a_day", "at most 24"),
        ({"days": 0}, "need.days", "above 0"),
        ({"ttft_s": float("inf")}, "need.ttft_s", "above 0"),
        ({"tpot_s": False}, "need.tpot_s", "above 0"),
    ],
)
def test_what_cannot_be_is_refused_by_name(given: dict[str, Any], field: str, message: str) -> None:
    """The field that is wrong, and what it may be."""
    with pytest.raises(ScenarioError) as caught:
        need(**given)
    assert caught.value.field == field and message in caught.value.message


def test_ends_of_ranges_are_allowed() -> None:
    """What is at a limit is within it."""
    asked = need(requests_per_s=1_000_000, peak_over_mean=1000, percentile=99.99, spare=1000, hours_a_day=24)
    assert (asked.requests_per_s, asked.peak_over_mean, asked.percentile, asked.spare) == (1e6, 1000.0, 99.99, 1000)
    assert need(users=1, requests_each_hour=1, peak_over_mean=1, percentile=50).percentile == 50.0
    assert need(users=10**6).users == 10**6
