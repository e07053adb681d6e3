"""How a server runs by the number of sequences that it decodes: up to where it is full, and a little beyond."""

from collections.abc import Callable
from math import exp, inf, log

from calc.performance.load import State, bursts_s, held, state
from calc.planner.need import Need
from calc.planning.serving_load import Server

ROUNDS = 40  # of looking for a number of sequences, at most
CLOSE = 1e-3  # relative, of what is looked for
BEYOND = 2  # numbers that are worked out beyond what the times allow, each twice the one before
RARE = 1e-6  # a share that is as good as none
NONE = 1e-3  # decoding sequences that are as good as none
MOST_SLOTS = 4096  # of a rank that are told apart


class Curve:
    """The steady states of a data-parallel rank in which nobody waits for a slot, each worked out once."""

    def __init__(self, server: Server) -> None:
        self.server, self.slots = server, server.load.slots
        self.known = dict[float, State]()
        self.points: list[float] = []  # decoding sequences, each number twice the one before, up to the slots

    def state(self, decoding: float) -> State:
        """Return how a rank runs with so many sequences decoding."""
        if decoding not in self.known:
            self.known[decoding] = state(self.server.passes, self.server.load, decoding)
        return self.known[decoding]

    def held(self, decoding: float) -> float:
        """Return the requests in a rank that decodes so many."""
        return held(self.state(decoding))

    def first_s(self, decoding: float) -> float:
        """Return the mean time to the first token, as a server's report has it."""
        load = self.server.load
        burst = bursts_s(self.server.passes, load, self.held(decoding))
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
        found, load = self.state(decoding), self.server.load
        spare = ttft_s - (found.first_s - found.queueing_s) - load.request_s
        piece_s = found.extra_s + (found.decoding.total if load.mixes else 0.0)
        busy = found.share / load.ranks * piece_s / (found.step_s * self.server.passes.expected)  # share of the time
        if spare <= 0 or not RARE < busy < 1:
            return float(spare <= 0 or busy >= 1)
        falls = 2 * (1 / busy - 1)  # with the time, in prompts: the root of busy · (exp(y) − 1) = y beside 0
        for _ in range(ROUNDS):
            falls = log(1 + falls / busy)
        return min((1 - busy) / (busy * exp(falls) - 1) * exp(-falls * spare / found.service_s), 1.0)

    def most_in_time(self, need: Need) -> float:
        """Return the requests a second of which the share that is asked for has its first token in time."""
        if need.ttft_s is None:
            return inf
        allowed, ttft_s = 1 - need.percentile / 100, need.ttft_s

        def strained(decoding: float) -> float:
            return log(max(self.late(decoding, ttft_s), RARE) / allowed) / log(allowed / RARE) + 1

        end = self.points[-1]
        return self.state(end if strained(end) <= 1 else self.where(strained, 1.0, NONE, end)).requests_per_s

    def full(self, need: Need) -> float:
        """Return the most sequences decoding with which times and slots are kept; all beyond them strain it."""

        def strained(decoding: float) -> float:
            return self.strain(decoding, need)

        low, beyond, decoding, found = NONE, 0, 1.0, None
        while beyond <= BEYOND:
            if self.held(decoding) >= self.slots:
                decoding = self.where(self.held, self.slots, low, decoding)
                beyond = BEYOND
            self.points.append(decoding)
            if strained(decoding) > 1 + CLOSE:
                found = self.where(strained, 1 - CLOSE, low, decoding) if found is None else found
                beyond += 1
            elif beyond == BEYOND:
                break
            low, decoding = decoding, 2 * decoding
        return self.points[-1] if found is None else found

    @staticmethod
    def where(value: Callable[[float], float], wanted: float, low: float, high: float) -> float:
        """Return where between two numbers a value that grows is what is wanted.

        By false position, where an end that stays is given half of its weight (the Illinois method).
        """
        under, over = value(low) - wanted, value(high) - wanted
        if under >= 0 or over <= 0:
            return low if under >= 0 else high
        middle, side = high, 0
        for _ in range(ROUNDS):
            middle = (low * over - high * under) / (over - under)
            found = value(middle) - wanted
            if abs(found) <= CLOSE * wanted:
                break
            if found > 0:
                high, over = middle, found
                under, side = (under / 2 if side > 0 else under), 1
            else:
                low, under = middle, found
                over, side = (over / 2 if side < 0 else over), -1
        return middle

    def answered_per_s(self) -> list[float]:
        """Return the requests a second that a rank answers with 1, 2, … requests in it, as far as they were worked out.

        In between, the time of a request grows evenly.
        """
        times = [(self.held(count), self.held(count) / self.state(count).requests_per_s) for count in self.points]
        rates, place = [], 0
        for count in range(1, min(max(int(times[-1][0] * (1 + CLOSE)), 1), MOST_SLOTS) + 1):
            while place + 2 < len(times) and times[place + 1][0] < count:
                place += 1
            (first, early), (second, late) = times[place], times[min(place + 1, len(times) - 1)]
            share = min(max((count - first) / (second - first), 0.0), 1.0) if second > first else 0.0
            rates.append(count / (early + share * (late - early)))
        return rates
