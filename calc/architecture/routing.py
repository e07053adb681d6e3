"""Which experts of a mixture a batch of tokens reaches, and so which parameters one forward pass reads."""

from functools import lru_cache
from math import erf, exp, pi, sqrt

from calc.architecture.layers import Architecture
from calc.architecture.parameters import parameters_active, parameters_total
from calc.architecture.tensors import Tensor

NEAR = 1e-9  # standard deviations


def experts_touched(*, experts: int, active: int, tokens: float) -> float:
    r"""Return how many of a layer's experts a batch of tokens is expected to reach.

    $E \cdot k B / (E + k (B - 1))$: a token wants an expert with a probability that differs from expert to expert, and
    is spread as a beta distribution of 1 and $E / k - 1$ has it: exponentially, but none beyond 1. All tokens miss an
    expert with $(1 - p)^B$, whose mean over that distribution is $(E - k) / (E + k (B - 1))$. Training aims at even
    loads (Switch Transformers, arXiv:2101.03961, section 2.2), which would reach $E (1 - (1 - k / E)^B)$, 82 of 128 by
    16 tokens of 8 each; measured are 43 to 56 of at most 16 sequences of Qwen3 30B and 235B at work on one benchmark
    (arXiv:2511.02237, tables 4 and 10), and this gives 66.

    >>> experts_touched(experts=8, active=2, tokens=1), experts_touched(experts=8, active=2, tokens=3)
    (2.0, 4.0)
    """
    return experts * active * tokens / (experts + active * (tokens - 1))


@lru_cache(maxsize=1024)
def experts_reached(experts: int, active: float, tokens: float, spread: float) -> float:
    r"""Return how many of a layer's experts the tokens of one text are expected to reach.

    $\sum_i 1 - (1 - p_i)^B$ with loads $p_i$ that add up to $k$ and lie on a lognormal distribution, whose
    logarithms have a standard deviation of `spread`: the tokens of a text are alike.

    >>> round(experts_reached(128, 4, 512, 2.25)), round(experts_reached(128, 4, 512, 0.0))
    (83, 128)
    """
    loads = [exp(spread * deviations((i + 0.5) / experts)) for i in range(experts)]
    each = active / sum(loads)
    return float(sum(1.0 - (1.0 - min(each * load, 1.0)) ** tokens for load in loads))


def deviations(share: float) -> float:
    """Return the standard deviations from its mean that a share of a normal distribution stays below.

    By Newton's method, which from the mean comes ever closer from one side. The standard library's `statistics` has
    it, too, with random numbers and fractions that no page needs.

    >>> round(deviations(0.95), 6), round(deviations(0.001), 6), deviations(0.5)
    (1.644854, -3.090232, 0.0)
    """
    found, step = 0.0, 1.0
    while abs(step) > NEAR:
        step = (share - (1.0 + erf(found / sqrt(2.0))) / 2.0) * sqrt(2.0 * pi) * exp(found * found / 2.0)
        found += step
    return found


def expert_tensors(architecture: Architecture) -> list[tuple[Tensor, int]]:
    """Return the tensors of routed experts, each with the number of layers that have it."""
    return [
        (tensor, count)
        for kind, count in architecture.kind_counts()
        for tensor in kind.tensors
        if tensor.active is not None
    ]


def routing(architecture: Architecture) -> tuple[int, int]:
    """Return the experts of a layer and how many of them a token uses. Raises ValueError for a dense model."""
    for tensor, _ in expert_tensors(architecture):
        return tensor.copies, tensor.active or 0
    raise ValueError("the model has no experts")


def expert_parameters(architecture: Architecture) -> int:
    """Return the parameters of all routed experts."""
    return sum(tensor.elements * count for tensor, count in expert_tensors(architecture))


def rest_parameters(architecture: Architecture) -> int:
    """Return the parameters of all but the routed experts."""
    return parameters_total(architecture) - expert_parameters(architecture)


def chosen_parameters(architecture: Architecture) -> int:
    """Return the parameters of the routed experts that a token is sent to."""
    return parameters_active(architecture) - rest_parameters(architecture)


def layers_with_experts(architecture: Architecture) -> int:
    """Return how many layers have experts."""
    return sum(count for kind, count in architecture.kind_counts() if any(t.active is not None for t in kind.tensors))


def active_share(architecture: Architecture) -> float:
    """Return the share of all parameters that one token uses."""
    return parameters_active(architecture) / parameters_total(architecture)


def touched_share(*, architecture: Architecture, tokens: int) -> float:
    """Return the share of all parameters that a forward pass over a batch is expected to read."""
    return parameters_touched(architecture=architecture, tokens=tokens) / parameters_total(architecture)


def parameters_touched(*, architecture: Architecture, tokens: int) -> float:
    """Return how many parameters a forward pass over a batch is expected to read: the experts it reaches, and the rest.

    Source: as `experts_touched`. The token embedding counts as a whole, as in `parameters_active`.
    """

    def read(tensor: Tensor) -> float:
        if tensor.active is None:
            return tensor.elements
        reached = experts_touched(experts=tensor.copies, active=tensor.active, tokens=tokens)
        return tensor.elements * reached / tensor.copies

    total = sum(read(tensor) for tensor in architecture.embeddings + architecture.head)
    for kind, count in architecture.kind_counts():
        total += sum(tensor.stored(count) * read(tensor) for tensor in kind.tensors)
    return total
