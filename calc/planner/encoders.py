"""Replicas of a model that reads each text in one pass: how many share requests that come at random.

What waits when a pass ends is read together in the next one. So a request waits for what is left of the pass in which
it comes, and then for its own: where passes follow each other the first lies evenly between nothing and a pass.
"""

from bisect import bisect, bisect_left
from functools import lru_cache
from math import ceil, exp, inf, lgamma, log

from calc.performance.halving import halved
from calc.planner.fleet import ALIKE
from calc.planner.need import Need, Share
from calc.planner.options import Miss, slow
from calc.planning.served import Served
from calc.planning.serving_speed import typical_speed

CLOSE = 1e-4  # relative, of a mean that is looked for
RARE = 1e-12  # a share of a sum that no more is added for


class Readers:
    """Replicas of a server that reads texts together, of which so many come in a pass as the last one took time."""

    def __init__(self, served: Served, need: Need) -> None:
        self.served, self.need = served, need
        self.rate, self.share = need.peak_rate or 0.0, need.percentile / 100
        self.times = dict[int, float]()

    def pass_s(self, texts: int) -> float:
        """Return the seconds in which so many texts are read together."""
        if texts not in self.times:
            alone = self.served
            demand = alone.demand._replace(sequences=texts)
            case, runtime = alone.serving.fullest(demand, alone.layout)
            speed = typical_speed(alone._replace(demand=demand, case=case, runtime=runtime), 0, 0)
            self.times[texts] = speed.get("time_to_first_token_s", inf)
        return self.times[texts]

    def waits_s(self, texts: int) -> float:
        """Return the seconds that the share asked for stays below: of the rest of a pass, and of its own."""
        return (1 + self.share) * self.pass_s(texts)

    def most_per_s(self, texts: int) -> float:
        """Return the requests a second of which no more come in a pass over so many, in the share asked of passes."""
        return mean_of(texts, self.share) / self.pass_s(texts)

    def at_least(self) -> int | Miss:
        """Return the replicas that are needed at least; how many there are is found at once."""
        return 1

    def fewest(self) -> Share | Miss:
        """Return what each of the fewest replicas is given that keep the time, or which time not one keeps."""
        allowed = self.need.ttft_s or inf
        if self.pass_s(1) == inf:
            return Miss("speed", "its speed is not known", inf)
        if self.waits_s(1) > allowed:
            return Miss("speed", slow(self.waits_s(1), allowed), self.waits_s(1) / allowed)
        serving, demand, layout = self.served.serving, self.served.demand, self.served.layout
        most = min(serving.most_running, serving.most_sequences(demand, layout) or serving.most_running)
        in_time = 1 + bisect(range(2, int(most) + 1), allowed, key=self.waits_s)
        capacity = self.most_per_s(in_time)
        replicas = max(ceil(self.rate / capacity * (1 - ALIKE)), 1)
        each = self.rate / replicas
        texts = 1 + bisect_left(range(1, in_time), each, key=self.most_per_s)
        mean = each * (1.5 * self.pass_s(texts))  # as Little says
        return Share(replicas, requests=texts, mean=mean, requests_per_s=each, capacity_per_s=capacity)


@lru_cache(maxsize=4096)  # of so many texts it is the same on all devices
def mean_of(most: int, share: float) -> float:
    """Return the mean of a Poisson distribution of which a share is no more than a number.

    >>> round(mean_of(0, 0.5), 2)
    0.69
    """
    return halved(lambda mean: no_more(most, mean) < share, 2.0 * most + 10.0, close=CLOSE)[0]


def no_more(most: int, mean: float) -> float:
    """Return the share of a Poisson distribution that is no more than a number.

    Terms are summed from the largest on, each made of the one before it, as far as they count.

    >>> round(no_more(2, 1.0), 4), round(no_more(1000, 10.0), 4)
    (0.9197, 1.0)
    """
    start = min(most, int(mean))
    largest = exp(start * log(mean) - mean - lgamma(start + 1))
    total = term = largest
    for count in range(start, 0, -1):
        term *= count / mean
        total += term
        if term < RARE * total:
            break
    term = largest
    for count in range(start + 1, most + 1):
        term *= mean / count
        total += term
        if term < RARE * total:
            break
    return total
