"""Replicas: how many copies of a scenario share what is asked, and how much each of them is given.

A replica is given so many requests that its times are kept with as many in it as there are at the percentile asked.
"""

from math import ceil, inf

from calc.planner.bound import Bound
from calc.planner.candidates import Candidate
from calc.planner.curve import CLOSE, Curve
from calc.planner.need import Need, Share
from calc.planner.options import Miss, slow
from calc.planning.occupancy import Occupancy, most_per_s
from calc.planning.served import serve
from calc.planning.serving_load import Server, server_of
from calc.question import read_question

ALIKE = 1e-9  # relative, of numbers that rounding alone tells apart


def server_on(scenario: dict[str, object]) -> Server | None:
    """Return the server of a scenario with `concurrency`; None where nothing is written, or no rate is known."""
    read = read_question(scenario)
    serving = read.asked.serving(read.accelerator)
    if serving is None or not read.demand.architecture.writes:
        return None
    served = serve(serving, read.demand, read.layout, most=False)
    return server_of(served, read.asked.output_tokens, read.asked.cached_tokens)


def by_rate(server: Server, need: Need) -> Share | None:
    """Return what each replica is given of the requests that come, None where it does not keep the times of one."""
    rate, curve, ranks = need.peak_rate, Curve(server), server.ranks
    full, waiting = curve.full(need), 0.0
    if need.ttft_s is not None and curve.held(full) >= server.load.slots * (1 - 3 * CLOSE):
        waiting = curve.state(full).requests_per_s * max(need.ttft_s - curve.first_s(full), 0.0)
    most = int((curve.held(full) + waiting) * (1 + CLOSE))
    if rate is None or most < 1:
        return None
    answered, share = curve.answered_per_s(), need.percentile / 100
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
