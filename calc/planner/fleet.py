"""Replicas: how many copies of a scenario share what is asked, and how much each of them is given.

A replica is given so many requests that the share asked of them keeps its times: as the chances of so many in it say,
and then, request by request, as the run says that a report shows.
"""

from collections.abc import Iterator
from functools import cached_property
from math import ceil, inf, sqrt

from calc.catalog import catalog
from calc.planner.bound import Bound
from calc.planner.candidate import Candidate
from calc.planner.curve import NONE, Curve
from calc.planner.need import Need, Share
from calc.planner.options import Miss, slow
from calc.planning.false_position import CLOSE
from calc.planning.occupancy import Occupancy, most_per_s
from calc.planning.served import Served, serve
from calc.planning.serving_load import Server
from calc.question import read_question
from calc.units import show_number

CLEAR = 0.75  # of what a replica could be given by the chances: so much keeps its times in any run
FEW = 8  # requests in a rank: where it keeps its times with fewer alone, chances are too coarse for that
LEAST_MEAN = 0.5  # requests in a server: one that has fewer most of the time gets no faster with fewer still
WIDER = 1.25  # times as many replicas are tried after what was too few, and more each time
FINE = 24  # up to twice as many replicas are added one by one, then more
ALIKE = 1e-9  # relative, of numbers that rounding alone tells apart


class Fleet:
    """Replicas of a server that share requests which come at random, each of them its part."""

    def __init__(self, scenario: dict[str, object], served: Served, server: Server, need: Need) -> None:
        self.scenario, self.served, self.server, self.need = scenario, served, server, need
        self.rate, self.share = need.peak_rate or 0.0, need.percentile / 100
        self.curve = Curve(server)
        self.trials = dict[float, bool]()  # whether a replica keeps its times with so many requests a second

    def at_least(self) -> int | Miss:
        """Return the replicas that are needed at least, or which time not one keeps."""
        if self.curve.strain(NONE, self.need) > 1:
            return self.too_slow()
        most = self.server.ranks * self.curve.at_most_per_s(self.need)
        return max(ceil(self.rate / most * (1 - ALIKE)), 1) if most else self.too_slow()

    def fewest(self) -> Share | Miss:
        """Return what each of the fewest replicas is given that should keep the times, or which time not one keeps."""
        return self.shared

    @cached_property
    def shared(self) -> Share | Miss:
        """The same, which is worked out once."""
        curve, need = self.curve, self.need
        serving, demand, layout = self.served.serving, self.served.demand, self.served.layout
        curve.slots = min(curve.slots, serving.most_sequences(demand, layout) or curve.slots)
        full, waiting = curve.full(need), 0.0
        if need.ttft_s is not None and curve.held(full) >= curve.slots * (1 - 3 * CLOSE):
            waiting = curve.state(full).requests_per_s * max(need.ttft_s - curve.first_s(full), 0.0)
        most = int((curve.held(full) + waiting) * (1 + CLOSE))
        if most < 1:
            return self.too_slow()
        answered = curve.answered_per_s()
        each = most_per_s(answered_per_s=answered, most=most, share=self.share)

        def kept(requests_per_s: float) -> float:
            return Occupancy(requests_per_s=requests_per_s, answered_per_s=answered).kept(most)

        capacity = self.server.ranks * curve.most_in_time(need, each, kept)
        return self.of(ceil(self.rate / capacity * (1 - ALIKE)), most=most, capacity_per_s=capacity)

    def of(self, replicas: int, *, most: int, capacity_per_s: float) -> Share:
        """Return what each of so many replicas is given, each with as many requests in it at most."""
        each, ranks = self.rate / replicas, self.server.ranks
        own = Occupancy(requests_per_s=each / ranks, answered_per_s=self.curve.answered_per_s())
        return Share(
            replicas=replicas,
            requests=ranks * max(own.below(self.share, most), 1),
            mean=ranks * own.mean,
            requests_per_s=each,
            capacity_per_s=capacity_per_s,
            most=most,
        )

    def confirmed(self, share: Share) -> Share | Miss:
        """Return the same if the run that a report with `arrivals` shows keeps the times, else more replicas.

        What was too much for a replica is then what it could be given at most. Far below that no run is needed, unless
        a single request more or less decides.
        """
        each, most = share.requests_per_s or self.rate, share.capacity_per_s or self.rate
        if each <= CLEAR * most and share.most >= FEW:
            return share._replace(confirmed=True)
        if self.keeps(each):
            return share._replace(confirmed=True)
        if (share.mean or 0.0) < LEAST_MEAN * self.server.ranks:
            return Miss("speed", f"fewer than {show_number(self.need.percentile)} % of the requests keep the times", 1)
        more = share.replicas + max(share.replicas // FINE, 1)
        found = self.of(more, most=share.most, capacity_per_s=0.0)
        return found._replace(capacity_per_s=found.requests_per_s)

    def keeps(self, requests_per_s: float) -> bool:
        """Return whether enough requests keep the times in the run of a report with `arrivals`; each is tried once."""
        if requests_per_s not in self.trials:
            self.trials[requests_per_s] = self.tried(requests_per_s)
        return self.trials[requests_per_s]

    def tried(self, requests_per_s: float) -> bool:
        """Return the same, by a trial."""
        from calc.planning.serving_arrivals import keeps_at_random  # services alone need it

        promised = {"ttft_s": self.need.ttft_s, "tpot_s": self.need.step_s}
        objective = {name: most for name, most in promised.items() if most is not None}
        alone = {name: value for name, value in self.scenario.items() if name != "concurrency"}
        read = read_question({**alone, "arrivals": {"requests_per_s": requests_per_s, "objective": objective}})
        serving, asked = read.serving(), read.asked
        if serving is None or asked.traffic is None:
            return False
        served = serve(serving, read.demand, read.layout, most=False)
        return keeps_at_random(served, asked.traffic, asked.output_tokens, asked.cached_tokens, share=self.share)

    def too_slow(self) -> Miss:
        """Return which time a server does not keep with one request in it."""
        step_s, first_s, need = self.curve.state(1.0).step_s, self.curve.first_s(1.0), self.need
        if need.step_s is not None and step_s > need.step_s:
            return Miss("speed", slow(step_s, need.step_s), step_s / need.step_s)
        most = need.ttft_s or first_s
        return Miss("speed", slow(first_s, most), first_s / most)


def fleets_of(need: Need) -> dict[str, Fleet]:
    """Return the fleets by scenario that were looked at for what is asked last; spare ones and prices change none."""
    asked = need.peak_rate, need.percentile, need.ttft_s, need.step_s
    last = catalog().once("fleets", dict[tuple[float | None, ...], dict[str, Fleet]])
    if asked not in last:
        last.clear()
        last[asked] = {}
    return last[asked]


class Spread:
    """People who wait together, spread evenly over replicas: between which numbers the fewest lie that serve them.

    What is known to be too few is a bound, with which other candidates may come first; so more are tried only as far
    as that settles which of all are best.
    """

    def __init__(self, candidate: Candidate, people: int) -> None:
        self.candidate, self.people = candidate, people
        self.too_few, self.wider = 0, 1.0
        self.enough: Candidate | None = None
        self.surely = False  # what serves has to fit surely: it was tight on fewer

    def surer(self) -> Iterator[Candidate]:
        """Iterate over the candidate on more replicas than were tight, where there are people left to divide."""
        if self.enough and self.enough.replicas < min(self.people, self.candidate.most_replicas):
            self.too_few, self.enough, self.surely = self.enough.replicas, None, True
            yield self.candidate._replace(share=Share(self.too_few + 1))

    def next(self, least: int) -> int:
        """Return how many replicas to try, of which so many are needed at least.

        Where the candidate has other scenarios, it is soon known whether this one serves anybody.
        """
        if self.enough:
            return max(round(sqrt(self.too_few * self.enough.replicas)), self.too_few + 1)
        if self.too_few and self.candidate.after():
            return self.people
        self.wider *= WIDER
        return min(max(ceil(self.too_few * self.wider), least), self.people)

    def after(self, tried: int, found: Candidate | Miss) -> Candidate:
        """Return the candidate with what was found of so many: the fewest that serve, or how many do at least."""
        if isinstance(found, Miss):
            self.too_few = tried
        else:
            self.enough = found
        if self.enough and self.enough.replicas == self.too_few + 1:
            return self.enough
        return self.candidate._replace(share=Share(self.too_few + 1))


def fewest(candidate: Candidate, bound: Bound, need: Need) -> int:
    """Return the replicas that no engine does without."""
    return max(ceil(at_best(candidate, bound, need) * (1 - ALIKE)), 1)


def at_best(candidate: Candidate, bound: Bound, need: Need, held: float = inf) -> float:
    """Return how many replicas' work it is at best: by room for the caches, their reading, and arithmetic.

    `held` are the requests that a replica is known to keep in time at most.
    """
    if bound.asked is None:
        return 1.0
    devices, least = candidate.devices, bound.least
    kept, read = bound.cache
    room = devices.number * devices.accelerator.capacity_bytes - least.held
    most = min(room / kept if kept else inf, held)
    if need.step_s is not None and read and devices.seconds_each_byte:
        most = min(most, (need.step_s * bound.written / devices.seconds_each_byte - least.read) / read)
    if most < 1:
        return 1.0  # that not even one is served, is said where it is found
    if need.peak_rate is None:
        return (need.waiting or 1) / most  # of a model that keeps no cache any number fits
    output = max(bound.asked.output_tokens - 1, 1)
    each_s = devices.seconds_each_byte * output / bound.written
    busy = min(most, 10**9)
    by_reading = busy / (each_s * (least.read + busy * read)) if each_s else inf
    flops = 2 * least.multiplied * bound.multiplied_tokens
    by_rate = devices.operations_per_s / flops if flops and devices.operations_per_s else inf
    return need.peak_rate / min(by_reading, by_rate)
