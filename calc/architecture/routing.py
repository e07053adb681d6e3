"""Which experts of a mixture a batch of tokens reaches, and so which parameters one forward pass reads."""

from calc.architecture.layers import Architecture
from calc.architecture.tensors import Tensor


def experts_touched(*, experts: int, active: int, tokens: int) -> float:
    r"""Return how many of a layer's experts a batch of tokens is expected to reach.

    $E \cdot (1 - (1 - k/E)^B)$: one token misses an expert with $1 - k/E$, all tokens miss it with that to the power
    of their number. Assumes that every expert is as likely as another, which the load balancing of training aims at
    (Switch Transformers, arXiv:2101.03961, section 2.2); real text reaches fewer.

    >>> experts_touched(experts=8, active=2, tokens=1), experts_touched(experts=8, active=2, tokens=2)
    (2.0, 3.5)
    """
    return experts * (1 - (1 - active / experts) ** tokens)


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
