"""When data ranks that step together read their prompts: each as they come, or all of them in one step.

Who has none waits all the same: a step takes as long as that of the rank which reads the most.
"""

from math import exp, log, sqrt

RARE = 1e-6  # prompts a step below which none meet


def passes_met(ranks: int, dense: float) -> float:
    r"""Return the passes over prompts that hold up a data rank for each of its own, where so many come to it in a step.

    What several ranks were sent in one step they read in one pass. So there are as many as the rank has that was sent
    most: of $R$ Poisson counts with a mean of $d$ about $d + \sqrt{2 d \ln R}$, and never more than all of them.
    """
    return min(float(ranks), 1.0 + sqrt(2.0 * log(ranks) / max(dense, RARE)))


def ranks_met(ranks: int, dense: float) -> float:
    r"""Return the steps with anyone's prompts for each with a rank's own, of which so many come to it between two.

    Of $R$ ranks none has one in $e^{-R d}$ of the cases, and each has none in $e^{-d}$ of them.
    """
    dense = max(dense, RARE)
    return (1.0 - exp(-ranks * dense)) / (1.0 - exp(-dense))


def held_prompts(ranks: int) -> float:
    r"""Return the prompts of a rank, as a mean, until each of so many has one that came to it: $1 + 1/2 + … + 1/R$."""
    return sum(1.0 / rank for rank in range(1, ranks + 1))


def steps_apart(arrivals: float, decoding: float, *, most: float, prompts: float) -> float:
    """Return the steps between those that carry prompts, where each rank's wait until others have some, too.

    That is when so many have come to a rank as a mean; after so many steps at most; and when any rank has nothing left
    to decode: one of several is done with all that it has when the others are half way.
    """
    return max(min(most, min(prompts, decoding / 2.0) / max(arrivals, RARE)), 1.0)
