"""What a service has to give: who asks how often, how long they wait, and what is kept for the worst."""

from collections.abc import Callable, Mapping
from functools import cached_property
from math import ceil
from typing import NamedTuple

from calc.errors import ScenarioError
from calc.planning.load import requests_per_s
from calc.scenario.reader import whole
from calc.units import HOUR_S

FIELDS = (
    "users",
    "requests_each_hour",
    "requests_per_s",
    "peak_over_mean",
    "percentile",
    "spare",
    "ttft_s",
    "tpot_s",
    "tokens_per_s_each",
    "hours_a_day",
    "days",
)
PERCENTILE = 95.0  # of requests, where nothing is said
MOST_PEAK, MOST_RATE, MOST_SPARE = 1000.0, 1e6, 1000
MONTH_DAYS = 365 / 12


class Said(NamedTuple):
    """What a question says that a service has to give; None where nothing is asked."""

    users: int | None  # who ask, or without a number of requests who wait for an answer at the same time
    requests_each_hour: float | None  # of each user
    requests_per_s: float | None  # of all, as a mean over the hours of use
    peak_over_mean: float
    percentile: float  # of the requests that keep the times
    spare: int  # replicas beyond those that the load takes
    ttft_s: float | None
    tpot_s: float | None
    tokens_per_s_each: float | None
    hours_a_day: float  # of use, for which devices are rented
    days: float | None  # in which a training run has to end


class Need(Said):
    """The same, with what follows from it, which a search asks for again and again."""

    @cached_property
    def step_s(self) -> float | None:
        """The longest time for each output token that is allowed; None where any is."""
        ends = [self.tpot_s, 1 / self.tokens_per_s_each if self.tokens_per_s_each else None]
        return min((end for end in ends if end is not None), default=None)

    @cached_property
    def timed(self) -> bool:
        """Whether any time is asked for."""
        return self.step_s is not None or self.ttft_s is not None

    @cached_property
    def mean_rate(self) -> float | None:
        """Requests a second over the hours of use; None where nothing says how often anybody asks."""
        if self.requests_each_hour is not None and self.users is not None:
            return requests_per_s(users=self.users, requests_each_hour=self.requests_each_hour)
        return self.requests_per_s

    @cached_property
    def peak_rate(self) -> float | None:
        """Requests a second in the busiest hour."""
        return None if self.mean_rate is None else self.mean_rate * self.peak_over_mean

    @cached_property
    def waiting(self) -> int | None:
        """People who wait for an answer at the same time, at the peak; None where they are not who is counted."""
        counted = self.users is not None and self.requests_each_hour is None
        return ceil(self.users * self.peak_over_mean) if counted and self.users else None

    @cached_property
    def shared(self) -> bool:
        """Whether replicas may share what is asked."""
        return self.mean_rate is not None or (self.waiting or 1) > 1

    @cached_property
    def requests_a_month(self) -> float | None:
        """Requests of a month."""
        return None if self.mean_rate is None else self.mean_rate * self.hours_a_month * HOUR_S

    @cached_property
    def hours_a_month(self) -> float:
        """Hours of use of a month."""
        return self.hours_a_day * MONTH_DAYS


class Share(NamedTuple):
    """What one of the replicas that serve is given."""

    replicas: int
    requests: int = 0  # in the server at the percentile that is planned for, or sequences of people who wait; 0: open
    mean: float | None = None  # requests in the server; None where nothing says how often anybody asks
    requests_per_s: float | None = None  # that come to it in the busiest hour
    capacity_per_s: float | None = None  # that it could be given
    most: int = 0  # requests in a rank with which the times are kept; 0: not known
    confirmed: bool = False  # a run has shown that the times are kept, or was not needed


def read_need(given: Mapping[str, object], amount: Callable[..., float | None]) -> Need:
    """Return what a service has to give; `amount` reads a number above 0, None where it is left out."""
    users = whole(given["users"], "need.users", 1, 10**6) if "users" in given else None
    each, rate = amount(given, "need", "requests_each_hour"), amount(given, "need", "requests_per_s", MOST_RATE)
    if each is not None and users is None:
        raise ScenarioError("need.users", "is needed with requests_each_hour: of how many people?")
    if rate is not None and users is not None:
        message = "is in place of users: give one of the two, or users with requests_each_hour"
        raise ScenarioError("need.requests_per_s", message)
    for name in ("peak_over_mean", "spare") if users is None and rate is None else ():
        if name in given:
            raise ScenarioError(f"need.{name}", "needs users or requests_per_s: of which load?")
    if "percentile" in given and rate is None and each is None:
        raise ScenarioError("need.percentile", "needs requests_per_s, or users with requests_each_hour")
    return Need(
        users=users,
        requests_each_hour=each,
        requests_per_s=rate,
        peak_over_mean=within(given, "peak_over_mean", 1.0, least=1.0, most=MOST_PEAK),
        percentile=within(given, "percentile", PERCENTILE, least=50.0, most=99.99),
        spare=whole(given.get("spare", 0), "need.spare", 0, MOST_SPARE),
        ttft_s=amount(given, "need", "ttft_s"),
        tpot_s=amount(given, "need", "tpot_s"),
        tokens_per_s_each=amount(given, "need", "tokens_per_s_each"),
        hours_a_day=amount(given, "need", "hours_a_day", 24) or 24.0,
        days=amount(given, "need", "days"),
    )


def within(given: Mapping[str, object], name: str, default: float, *, least: float, most: float) -> float:
    """Return a number in its range."""
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ScenarioError(f"need.{name}", f"must be a number from {least:g} to {most:,g}, not {value!r:.60}")
    return float(value)


NO_NEED = read_need({}, lambda *_: None)
