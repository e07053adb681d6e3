"""How a server runs by the number of sequences that it decodes: up to where it is full, and a little beyond."""

from collections.abc import Callable
from math import exp, log

from calc.performance.halving import halved
from calc.performance.load import Known
from calc.performance.steady_state import State, bursts_s, held, state
from calc.planner.need import Need
from calc.planning.false_position import CLOSE, where
from calc.planning.serving_load import Server

ROUNDS = 40  # of looking for a root, at most
FURTHER = 4  # times as many are worked out next, and beyond what the times allow
FAR = 2.0  # times what is allowed: how far beyond does not matter
RARE = 1e-6  # a share that is as good as none
NONE = 1e-3  # decoding sequences that are as good as none
MOST_SLOTS = 4096  # of a rank that are told apart


class Curve:
    """The steady states of a data-parallel rank in which nobody waits for a slot, each worked out once."""

    def __init__(self, server: Server) -> None:
        self.server, self.slots = server, server.load.slots
        self.known = dict[float, State]()
        self.points: list[float] = []  # decoding sequences that were worked out, in their order
        self.times: Known = {}  # of passes

    def state(self, decoding: float) -> State:
        """Return how a rank runs with so many sequences decoding."""
        if decoding not in self.known:
            self.known[decoding] = state(self.server.passes, self.server.load, decoding, self.times)
        return self.known[decoding]

    def held(self, decoding: float) -> float:
        """Return the requests in a rank that decodes so many."""
        return held(self.state(decoding))

    def first_s(self, decoding: float) -> float:
        """Return the mean time to the first token, as a server's report has it."""
        load = self.server.load
        burst = bursts_s(self.server.passes, load, self.held(decoding), self.times)
        return self.state(decoding).first_s + burst + load.request_s

    def strain(self, decoding: float, need: Need) -> float:
        """Return how much of what is allowed is used up: of the times that are asked for, and of the slots."""
        parts = [self.held(decoding) / self.slots]
        if need.step_s is not None:
            parts.append(self.state(decoding).step_s / need.step_s)
        if need.ttft_s is not None:
            parts.append(self.first_s(decoding) / need.ttft_s)
        return max(parts)

    def late(self, decoding: float, ttft_s: float) -> float:
        """Return the share of requests that wait longer for their first token behind prompts that came before.

        Prompts that come at random are read one after the other, each in about the same time (M/D/1): the share falls
        with the time by a constant rate (Erlang, 1909; Tijms, A First Course in Stochastic Models, 2003).
        """
        spare, busy = self.spare_s(decoding, ttft_s), self.busy(decoding)
        if spare <= 0 or not RARE < busy < 1:
            return float(spare <= 0 or busy >= 1)
        falls = 2 * (1 / busy - 1)  # with the time, in prompts: the root of busy · (exp(y) − 1) = y beside 0
        for _ in range(ROUNDS):
            falls = log(1 + falls / busy)
        return waits_longer(busy=busy, falls=falls, prompts=spare / self.state(decoding).service_s)

    def spare_s(self, decoding: float, ttft_s: float) -> float:
        """Return how long a request may wait behind prompts."""
        found = self.state(decoding)
        return ttft_s - (found.first_s - found.queueing_s) - self.server.load.request_s

    def busy(self, decoding: float) -> float:
        """Return the share of the time in which a rank reads prompts."""
        found, load = self.state(decoding), self.server.load
        piece_s = found.extra_s + (found.decoding.total if load.mixes else 0.0)
        return found.share / load.ranks * piece_s / (found.step_s * self.server.passes.expected)

    def most_in_time(self, need: Need, most_per_s: float, kept: Callable[[float], float]) -> float:
        """Return the requests a second, up to a number, of which the share asked for keeps every time.

        Of so many a second `kept` are answered fast enough. Whether a request waits behind prompts hardly depends on
        what comes while it is answered: both are kept by the product of their shares.
        """
        if need.ttft_s is None:
            return most_per_s
        allowed, ttft_s = 1 - need.percentile / 100, need.ttft_s

        def strained(decoding: float) -> float:
            missed = 1 - (1 - self.late(decoding, ttft_s)) * kept(self.state(decoding).requests_per_s)
            return log(max(missed, RARE) / allowed) / log(allowed / RARE) + 1

        end = self.decoding_at(most_per_s)
        found = where(strained, 1.0, NONE, end)
        return min(self.state(found).requests_per_s, most_per_s)

    def decoding_at(self, requests_per_s: float) -> float:
        """Return the sequences that decode where so many are answered a second, between those that were worked out."""
        low = under = 0.0
        for high in self.points:
            over = self.state(high).requests_per_s
            if over >= requests_per_s:
                return low + (high - low) * (requests_per_s - under) / (over - under)
            low, under = high, over
        return low

    def at_most_per_s(self, need: Need) -> float:
        """Return the requests a second that a rank does not exceed, by its steps with one sequence and with all slots.

        Prompts have what decoding leaves of the longest step that is allowed, and come no more often than leaves the
        first token its time behind those that came before.
        """
        alone, one, full = (self.state(count) for count in (NONE, 1.0, self.slots))
        expected, states = self.server.passes.expected, (one, full)
        most = max(found.requests_per_s for found in states)
        each_s = min(found.share * found.extra_s / (found.step_s * expected * found.requests_per_s) for found in states)
        left = 1 - alone.decoding.total / (need.step_s * expected) if need.step_s else 1.0
        if each_s > 0:
            most = min(most, max(left, 0.0) / each_s)
        if need.ttft_s is not None:
            prompts = self.spare_s(NONE, need.ttft_s) / min(alone.service_s, one.service_s)
            each = min(self.busy(count) / self.state(count).requests_per_s for count in (1.0, self.slots))
            most = min(most, busiest(prompts=prompts, allowed=1 - need.percentile / 100) / each) if each else most
        return most

    def full(self, need: Need) -> float:
        """Return the most sequences decoding with which times and slots are kept; all beyond them strain it."""

        def strained(decoding: float) -> float:
            return min(self.strain(decoding, need), FAR)

        low, high = NONE, 1.0
        while strained(high) <= 1 + CLOSE and self.held(high) < self.slots:
            low, high = high, FURTHER * high
        found = where(strained, 1 - CLOSE, low, high)
        self.state(FURTHER * found)
        self.points = sorted(decoding for decoding in self.known if NONE < decoding <= FURTHER * found)
        return found

    def answered_per_s(self) -> list[float]:
        """Return the requests a second that a rank answers with 1, 2, … requests in it, as far as they were worked out.

        In between, the time of a request grows evenly.
        """
        times = [(self.held(count), self.held(count) / self.state(count).requests_per_s) for count in self.points]
        rates, place = [], 0
        for count in range(1, max(int(min(times[-1][0], self.slots, MOST_SLOTS)), 1) + 1):
            while place + 2 < len(times) and times[place + 1][0] < count:
                place += 1
            (first, early), (second, late) = times[place], times[min(place + 1, len(times) - 1)]
            share = min(max((count - first) / (second - first), 0.0), 1.0) if second > first else 0.0
            rates.append(count / (early + share * (late - early)))
        return rates


def waits_longer(*, busy: float, falls: float, prompts: float) -> float:
    """Return the share of requests that wait longer than so many prompts take, of one clerk who is busy for a share."""
    return min((1 - busy) / (busy * exp(falls) - 1) * exp(-falls * prompts), 1.0)


def busiest(*, prompts: float, allowed: float) -> float:
    """Return the share of the time in which prompts may be read, with a share of requests that wait longer allowed.

    >>> round(busiest(prompts=4.0, allowed=0.05), 1)
    0.7
    """

    def rare(falls: float) -> bool:
        return waits_longer(busy=falls / (exp(falls) - 1), falls=falls, prompts=prompts) <= allowed

    falls, _ = halved(rare, -log(RARE), close=CLOSE)
    return falls / (exp(falls) - 1) if falls else 1.0
