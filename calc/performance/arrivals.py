"""Requests that come to a server on their own: when each comes, and how long its prompt and its answer are."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from math import cos, exp, log, pi, sqrt
from typing import NamedTuple

MASK = 2**64 - 1
SEED = 2026
P95 = 1.6449  # standard deviations of a normal distribution that 95 % stay below


class Spread(NamedTuple):
    """Lengths in tokens: a lognormal distribution, even ones over a width, or one length where both are 0."""

    median: float
    sigma: float = 0.0  # of the natural logarithm
    width: float = 0.0  # from the least to the most, each as often as any other

    @property
    def mean(self) -> float:
        """Mean length."""
        return self.median * exp(self.sigma**2 / 2)

    @property
    def deviation(self) -> float:
        """Standard deviation of the lengths over their mean."""
        return sqrt(exp(self.sigma**2) - 1.0) + self.width / sqrt(12.0) / self.median


class Kind(NamedTuple):
    """Requests that are alike."""

    share: float  # of all requests
    prompt: Spread
    output: Spread


class Arrivals(NamedTuple):
    """How requests come."""

    requests_per_s: float
    burstiness: float  # shape of the gamma distribution of the gaps between them: 1 is Poisson, less comes in bursts
    kinds: tuple[Kind, ...]
    requests: int = 0  # that come, and no more, all at once where their rate is infinite; 0: they come without end
    at_a_time: int = 0  # of these, as many as a client keeps in the server; 0: all

    @property
    def prompt_tokens(self) -> float:
        """Mean tokens of a prompt."""
        return sum(kind.share * kind.prompt.mean for kind in self.kinds)

    @property
    def output_tokens(self) -> float:
        """Mean tokens of an answer."""
        return sum(kind.share * kind.output.mean for kind in self.kinds)

    @property
    def output_deviation(self) -> float:
        """Standard deviation of the tokens of answers over their mean."""
        whole, outputs = self.output_tokens, [(kind.share, kind.output) for kind in self.kinds]
        own = sum(share * (output.mean * output.deviation) ** 2 for share, output in outputs)
        return sqrt(own + sum(share * (output.mean - whole) ** 2 for share, output in outputs)) / whole


class Objective(NamedTuple):
    """What a request shall keep within, in seconds; None where nothing is asked of it."""

    first_s: float | None = None  # to the first token
    token_s: float | None = None  # mean between tokens
    whole_s: float | None = None  # to the last token


class Traffic(NamedTuple):
    """How requests come, and what they are promised."""

    arrivals: Arrivals
    objective: Objective


def alike(prompt_tokens: int, output_tokens: int) -> Traffic:
    """Return requests that are all alike, and come one by one at random."""
    kind = Kind(1.0, Spread(float(prompt_tokens)), Spread(float(max(output_tokens, 1))))
    return Traffic(Arrivals(1.0, 1.0, (kind,)), Objective())


class Request(NamedTuple):
    """One request."""

    at_s: float
    prompt_tokens: int
    output_tokens: int


class Draws:
    """Numbers that look random and are the same everywhere (SplitMix64: Steele, Lea and Flood, 2014).

    >>> Draws(0).uniform() == Draws(0).uniform()
    True
    """

    def __init__(self, seed: int) -> None:
        self.state = seed & MASK

    def uniform(self) -> float:
        """Return a number above 0 and below 1."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        mixed = self.state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
        return (((mixed ^ (mixed >> 31)) >> 12) + 0.5) * 2.0**-52

    def normal(self) -> float:
        """Return a standard normal deviate (Box and Muller, 1958)."""
        return sqrt(-2.0 * log(self.uniform())) * cos(2.0 * pi * self.uniform())

    def gamma(self, shape: float) -> float:
        """Return a gamma deviate of scale 1 (Marsaglia and Tsang, 2000)."""
        if shape == 1.0:
            return -log(self.uniform())
        if shape < 1.0:
            return self.gamma(shape + 1.0) * exp(log(self.uniform()) / shape)
        d = shape - 1.0 / 3.0
        c = 1.0 / sqrt(9.0 * d)
        while True:
            x = self.normal()
            v = (1.0 + c * x) ** 3
            if v > 0 and log(self.uniform()) < 0.5 * x * x + d - d * v + d * log(v):
                return d * v

    def length(self, spread: Spread) -> int:
        """Return a length of a spread, of one token at least."""
        if spread.width:
            return max(round(spread.median + (self.uniform() - 0.5) * spread.width), 1)
        if not spread.sigma:
            return max(round(spread.median), 1)
        return max(round(spread.median * exp(spread.sigma * self.normal())), 1)


def requests(arrivals: Arrivals, *, count: int, replicas: int = 1, longest: int | None = None) -> list[Request]:
    """Return the first requests that come to one of some replicas, which take turns; none is `longest` or longer.

    The gap between every `replicas`-th of gamma gaps is a sum of so many, which is a gamma deviate again.
    """
    return list(drawn(arrivals, count, replicas, longest))


@lru_cache(maxsize=8)  # a planner asks for the same at many rates
def times_of(shape: float, count: int) -> tuple[float, ...]:
    """Return when requests come whose gaps are gamma deviates of scale 1."""
    gaps = Draws(SEED)
    return tuple(accumulate(gaps.gamma(shape) for _ in range(count)))


@lru_cache(maxsize=8)
def lengths_of(kinds: tuple[Kind, ...], count: int) -> tuple[tuple[int, int], ...]:
    """Return the tokens of prompts and answers: another rate asks the same requests."""
    draws = Draws(SEED + 1)
    picked = (pick(kinds, draws.uniform()) for _ in range(count))
    return tuple((draws.length(kind.prompt), draws.length(kind.output)) for kind in picked)


def drawn(arrivals: Arrivals, count: int, replicas: int, longest: int | None) -> Iterator[Request]:
    """Yield the requests one by one.

    Of so many and no more the last comes when their rate has it, however few they are: load tests stretch their gaps to
    that (vLLM's `get_request`, vllm/benchmarks/serve.py), lest a draw of fifty have another rate than was asked for.
    """
    times, lengths = times_of(arrivals.burstiness * replicas, count), lengths_of(arrivals.kinds, count)
    stretched = count * replicas / times[-1] if arrivals.requests else 1.0 / arrivals.burstiness
    scale = stretched / arrivals.requests_per_s
    for time, (prompt, output) in zip(times, lengths, strict=True):
        if longest is not None and prompt + output > longest:
            prompt = min(prompt, max(longest - output, 1))
            output = max(min(output, longest - prompt), 1)
        yield Request(time * scale, prompt, output)


def pick(kinds: tuple[Kind, ...], place: float) -> Kind:
    """Return the kind at a place between 0 and 1 of all shares."""
    if len(kinds) > 1:
        for kind in kinds:
            place -= kind.share
            if place < 0:
                return kind
    return kinds[-1]
