"""How many requests are in a server that they come to at random, and how many it takes with few in it most of the time.

All that are in a server share it, and how fast it answers depends on how many these are. For such a queue the chances
have a product form, whatever the lengths of the requests: $p_n \\propto \\prod_{k \\le n} \\lambda / X_k$, with $X_k$
answered a second while $k$ are in it (Cohen, The multiple phase service network with generalized processor sharing,
1979). Beyond the last rate given, more requests wait and the rate stays.

What a request meets is not one moment. Each that comes slows down those that are there, which therefore stay longer
and slow down what comes next: with $\\rho$ such followers of each, numbers vary as $\\bar{n} / (1 - \\rho)$, which says
how large $\\rho$ is, and means over a time as long as a request's vary up to $1 / (1 - \\rho)$ times as much again (the
clusters of Hawkes, 1971).
"""

from collections.abc import Sequence
from itertools import accumulate
from math import exp, log, sqrt

from calc.performance.halving import halved

CLOSE = 1e-3  # relative, of a rate that is looked for


class Occupancy:
    """The chances of so many requests in a server, from 0 to as many as there are rates; the rest are more."""

    def __init__(self, *, requests_per_s: float, answered_per_s: Sequence[float]) -> None:
        logs = list(accumulate((log(requests_per_s / rate) for rate in answered_per_s), initial=0.0))
        top = max(logs)
        weights = [exp(value - top) for value in logs]
        ratio = requests_per_s / answered_per_s[-1]
        whole = sum(weights) + (weights[-1] * ratio / (1 - ratio) if ratio < 1 else 0.0)
        self.ratio = ratio  # of the chances of one more and one less, where all more wait
        self.chances = [weight / whole for weight in weights]

    @property
    def settles(self) -> bool:
        """Whether as many are answered as come; else ever more wait."""
        return self.ratio < 1

    def share(self, most: int) -> float:
        """Return the share of the time in which no more than so many are in the server."""
        if not self.settles:
            return 0.0
        if most < len(self.chances):
            return sum(self.chances[: most + 1])
        return 1 - self.chances[-1] * self.ratio ** (most - len(self.chances) + 2) / (1 - self.ratio)

    @property
    def mean(self) -> float:
        """The mean number of requests in the server."""
        last, ratio = len(self.chances) - 1, self.ratio
        rest = self.chances[-1] * ratio / (1 - ratio)  # the chance of more than `last`
        return sum(count * chance for count, chance in enumerate(self.chances)) + rest * (last + 1 / (1 - ratio))

    @property
    def variance(self) -> float:
        """The variance of that number."""
        last, ratio, beyond = len(self.chances) - 1, self.ratio, 1 / (1 - self.ratio)
        rest = self.chances[-1] * ratio * beyond * (last**2 + 2 * last * beyond + (1 + ratio) * beyond**2)
        return sum(count**2 * chance for count, chance in enumerate(self.chances)) + rest - self.mean**2

    def kept(self, most: int) -> float:
        """Return the share of the requests that are served as fast, over all of their time, as with so many in it."""
        if not self.settles:
            return 0.0
        mean = self.mean
        wider = max(sqrt(self.variance / mean), 1.0) if most > mean else 1.0
        at = mean + (most - mean) / wider
        below = self.share(int(at))
        return below + (at - int(at)) * (self.share(int(at) + 1) - below)

    def below(self, share: float, most: int) -> int:
        """Return the fewest requests, at most `most`, that are not exceeded for a share of the time."""
        seen = 0.0
        for count, chance in enumerate(self.chances):
            seen += chance
            if seen >= share:
                return min(count, most)
        return next((count for count in range(len(self.chances), most) if self.share(count) >= share), most)


def most_per_s(*, answered_per_s: Sequence[float], most: int, share: float) -> float:
    """Return the requests a second of which a share is served as fast as with `most` in the server.

    >>> round(most_per_s(answered_per_s=[1.0], most=1, share=0.75), 2)
    0.5
    """

    def too_many(requests_per_s: float) -> bool:
        return Occupancy(requests_per_s=requests_per_s, answered_per_s=answered_per_s).kept(most) < share

    return halved(too_many, max(answered_per_s), close=CLOSE)[0]
