"""Scaling laws: the loss of a model of N parameters after D tokens, and the N and D that spend a budget best.

Three forms are known. `sum`: $L = E + A/N^\\alpha + B/D^\\beta$ (Hoffmann et al. 2022, approach 3). `joint`:
$L = ((N_c/N)^{\\alpha_N/\\alpha_D} + D_c/D)^{\\alpha_D}$ (Kaplan et al. 2020, equation 1.5), whose optimal size is a
power of the budget, fitted apart. `frontier`: that power alone.
"""

from typing import NamedTuple

from calc.catalog.runs import Law

FLOPS_PER_PARAMETER_AND_TOKEN = 6  # two forward, four backward; Kaplan et al. 2020, section 2.1
PF_DAY_FLOPS = 8.64e19


class Optimum(NamedTuple):
    """What spends a budget best under a law: the size, its tokens, and the loss, None where the law has none."""

    parameters: float
    tokens: float
    loss: float | None

    @property
    def tokens_per_parameter(self) -> float:
        """How many tokens each parameter sees."""
        return self.tokens / self.parameters


def training_flops(*, parameters: float, tokens: float) -> float:
    """Return the operations of a training run, $C = 6ND$; a mixture counts the parameters that a token meets.

    Attention, a few per cent at usual lengths, and what checkpointing computes again are not in it.

    >>> f"{training_flops(parameters=175e9, tokens=300e9):.2e}"  # GPT-3; its paper has 3.14e23
    '3.15e+23'
    """
    return FLOPS_PER_PARAMETER_AND_TOKEN * parameters * tokens


def loss(*, law: Law, parameters: float, tokens: float) -> float | None:
    """Return the loss in nats per token that a law predicts, None where the law has none."""
    c = law.constants
    if law.form == "sum":
        return float(c["e"] + c["a"] / parameters ** c["alpha"] + c["b"] / tokens ** c["beta"])
    if law.form == "joint":
        size = (c["n_c"] / parameters) ** (c["alpha_n"] / c["alpha_d"])
        return float((size + c["d_c"] / tokens) ** c["alpha_d"])
    return None


def optimal_parameters(*, law: Law, flops: float) -> float:
    r"""Return the size that a budget trains best.

    For a sum it is where the derivative of the loss along $6ND = C$ vanishes: $N = G (C/6)^{\beta/(\alpha+\beta)}$ with
    $G = (\alpha A / \beta B)^{1/(\alpha+\beta)}$ (Hoffmann et al. 2022, equation 4).
    """
    c = law.constants
    if law.form != "sum":
        return float(c["optimal_n"] * (flops / c["optimal_at"]) ** c["optimal_power"])
    scale = (c["alpha"] * c["a"] / (c["beta"] * c["b"])) ** (1 / (c["alpha"] + c["beta"]))
    power = c["beta"] / (c["alpha"] + c["beta"])
    return float(scale * (flops / FLOPS_PER_PARAMETER_AND_TOKEN) ** power)


def optimum(*, law: Law, flops: float) -> Optimum:
    """Return the size and tokens that spend a budget of `flops` best, and the loss they reach."""
    parameters = optimal_parameters(law=law, flops=flops)
    tokens = flops / (FLOPS_PER_PARAMETER_AND_TOKEN * parameters)
    return Optimum(parameters, tokens, loss(law=law, parameters=parameters, tokens=tokens))


def budget(*, law: Law, parameters: float) -> float:
    """Return the operations whose best size has that many parameters: `optimal_parameters` the other way round."""
    power = optimal_power(law)
    return float((parameters / optimal_parameters(law=law, flops=1.0)) ** (1 / power))


def optimal_power(law: Law) -> float:
    """Return the power of the budget with which the best size grows."""
    c = law.constants
    return c["beta"] / (c["alpha"] + c["beta"]) if law.form == "sum" else c["optimal_power"]


def wasted_share(*, law: Law, parameters: float, tokens: float) -> float | None:
    """Return the share of a run's operations that a best-sized model would not need for the same loss.

    None for laws that are no sum: their best size was fitted apart from their loss. Models smaller than the best are
    trained on purpose: what they cost in training they save each time they answer.
    """
    if law.form != "sum":
        return None
    reached = loss(law=law, parameters=parameters, tokens=tokens)
    spent = training_flops(parameters=parameters, tokens=tokens)
    low, high = spent * 1e-12, spent
    for _ in range(80):
        middle = (low * high) ** 0.5
        best = optimum(law=law, flops=middle)
        enough = best.loss is not None and reached is not None and best.loss <= reached
        low, high = (low, middle) if enough else (middle, high)
    return 1 - high / spent
