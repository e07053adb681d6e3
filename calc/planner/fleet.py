"""Replicas: how many copies of a scenario share what is asked, and how much each of them is given.

A replica is given so many requests that its times are kept with as many in it as there are at the percentile asked.
"""

from collections.abc import Callable
from math import ceil, inf

from calc.estimate import read_question
from calc.performance.load import State, bursts_s, held, state
from calc.planner.candidates import Bound, Candidate
from calc.planner.need import Need, Share
from calc.planner.options import Miss, slow
from calc.planning.occupancy import Occupancy, most_per_s
from calc.planning.serving_load import Server, server_of
from calc.planning.serving_report import serve

ROUNDS = 40  # of looking for a number of sequences, at most
CLOSE = 1e-3  # relative, of what is looked for
MOST_SLOTS = 4096  # of a rank that are told apart
ALIKE = 1e-9  # relative, of numbers that rounding alone tells apart


def server_on(scenario: dict[str, object]) -> Server | None:
    """Return the server of a scenario with `concurrency`; None where nothing is written, or no rate is known."""
    read = read_question(scenario)
    serving = read.asked.serving(read.accelerator)
    if serving is None or not read.demand.architecture.writes:
        return None
    served = serve(serving, read.demand, read.layout, most=False)
    return server_of(served, read.asked.output_tokens, read.asked.cached_tokens)


class Curve:
    """How a server runs by the sequences that each of its ranks decodes, each number asked once; nobody waits."""

    def __init__(self, server: Server) -> None:
        self.server, self.known = server, dict[float, State]()

    def state(self, decoding: float) -> State:
        """Return how a rank runs with so many sequences decoding, its time to the first token as of a server."""
        if decoding not in self.known:
            passes, load = self.server.passes, self.server.load
            found = state(passes, load, decoding)
            burst = bursts_s(passes, load, held(found))
            self.known[decoding] = found._replace(first_s=found.first_s + burst + load.request_s, burst_s=burst)
        return self.known[decoding]

    def held(self, decoding: float) -> float:
        """Return the requests in a rank that decodes so many."""
        found = self.state(decoding)
        return decoding + found.requests_per_s * (found.first_s - found.burst_s - self.server.load.request_s)

    def strain(self, decoding: float, need: Need) -> float:
        """Return how much of what is allowed is used up: of the times that are asked for, and of the slots."""
        found = self.state(decoding)
        parts = [self.held(decoding) / self.server.load.slots]
        if need.step_s is not None:
            parts.append(found.step_s / need.step_s)
        if need.ttft_s is not None:
            parts.append(found.first_s / need.ttft_s)
        return max(parts)

    def where(self, value: Callable[[float], float], wanted: float, most: float) -> float:
        """Return the number of decoding sequences up to `most` at which a value that grows with it is what is wanted.

        By false position, where an end that stays is given half of its weight (the Illinois method).
        """
        low, high, under, over = 0.0, most, -wanted, value(most) - wanted
        if over <= 0:
            return most
        middle, side = most, 0
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

    def answered(self) -> list[float]:
        """Return the requests a second that a rank answers with 1, 2, … requests in it, as many as it has slots.

        In between those that are worked out, the time of a request grows evenly.
        """
        most, decoding, found = self.where(self.held, self.server.load.slots, self.server.load.slots), 1.0, []
        while decoding < most:
            found.append(decoding)
            decoding *= 2
        points = [(self.held(count), self.held(count) / self.state(count).requests_per_s) for count in (*found, most)]
        rates, place = [], 0
        for count in range(1, min(max(int(self.server.load.slots), 1), MOST_SLOTS) + 1):
            while place + 2 < len(points) and points[place + 1][0] < count:
                place += 1
            (first, early), (second, late) = points[place], points[min(place + 1, len(points) - 1)]
            share = min(max((count - first) / (second - first), 0.0), 1.0) if second > first else 0.0
            rates.append(count / (early + share * (late - early)))
        return rates


def by_rate(server: Server, need: Need) -> Share | None:
    """Return what each replica is given of the requests that come, None where it does not keep the times of one."""
    rate, curve, ranks = need.peak_rate, Curve(server), server.ranks
    full = curve.where(lambda count: curve.strain(count, need), 1 - CLOSE, server.load.slots)
    at_most = curve.state(full)
    waiting = 0.0
    if need.ttft_s is not None and curve.held(full) >= server.load.slots * (1 - 3 * CLOSE):
        waiting = at_most.requests_per_s * max(need.ttft_s - at_most.first_s, 0.0)
    most = int((curve.held(full) + waiting) * (1 + CLOSE))
    if rate is None or most < 1:
        return None
    answered, share = curve.answered(), need.percentile / 100
    capacity = ranks * most_per_s(answered_per_s=answered, most=most, share=share)
    replicas = ceil(rate / capacity * (1 - ALIKE))
    own = Occupancy(requests_per_s=rate / replicas / ranks, answered_per_s=answered)
    planned = ranks * max(own.below(share, most), 1)
    return Share(
        replicas=replicas,
        requests=planned,
        mean=ranks * own.mean,
        requests_per_s=rate / replicas,
        capacity_per_s=capacity,
    )


def too_slow(server: Server, need: Need) -> Miss:
    """Return which time a server does not keep with one request in it."""
    alone = server.at(1)
    if need.step_s is not None and alone.step_s > need.step_s:
        return Miss("speed", slow(alone.step_s, need.step_s), alone.step_s / need.step_s)
    most = need.ttft_s or alone.first_s
    return Miss("speed", slow(alone.first_s, most), alone.first_s / most)


def evenly(people: int, each: int) -> Share:
    """Return what each replica is given of people who wait together, where it serves so many.

    >>> evenly(10, 4)
    Share(replicas=3, requests=4, mean=None, requests_per_s=None, capacity_per_s=None)
    """
    replicas = ceil(people / each)
    return Share(replicas, ceil(people / replicas))


def fewest(candidate: Candidate, bound: Bound, need: Need) -> int:
    """Return the replicas that no engine does without: by room for the caches, their reading, and arithmetic."""
    if bound.asked is None:
        return 1
    devices, least = candidate.devices, bound.least
    kept, read = bound.cache
    room = devices.number * devices.accelerator.capacity_bytes - least.held
    most = room / kept if kept else inf
    if need.step_s is not None and read and devices.seconds_each_byte:
        most = min(most, (need.step_s * bound.written / devices.seconds_each_byte - least.read) / read)
    if most < 1:
        return 1  # that not even one is served, is said where it is found
    if need.peak_rate is None:
        return ceil((need.waiting or 1) / most)
    output = max(bound.asked.output_tokens - 1, 1)
    each_s = devices.seconds_each_byte * output / bound.written
    busy = min(most, 10**9)
    by_reading = busy / (each_s * (least.read + busy * read)) if each_s else inf
    flops = 2 * least.multiplied * bound.multiplied_tokens
    by_rate = devices.operations_per_s / flops if flops and devices.operations_per_s else inf
    return max(ceil(need.peak_rate / min(by_reading, by_rate) * (1 - ALIKE)), 1)
