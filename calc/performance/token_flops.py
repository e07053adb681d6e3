"""Operations for one token of training, as utilization counts them."""

from functools import lru_cache
from typing import NamedTuple

from calc.architecture.layers import Architecture
from calc.architecture.parameters import parameters_active
from calc.architecture.stages import Stage
from calc.catalog import catalog
from calc.memory.budget import Layout
from calc.memory.training.plan import FULL, NO_CHECKPOINTS, PER_OPERATION, SELECTIVE, Plan
from calc.performance.forward import Segment, forward
from calc.performance.operations import Attention, Experts, Product
from calc.performance.rank_model import rank_model
from calc.performance.totals import total_flops


class TokenFlops(NamedTuple):
    """Operations for one token forward, as utilization counts them."""

    parameters: float  # that the token is multiplied with, the output matrix among them
    head: float  # of these the output matrix
    attention: float
    passes: int  # as many times the forward as all of a step is: 3, or 2 with frozen parameters
    repeated: float  # operations of checkpointing

    @property
    def model(self) -> float:
        """Operations of a step's mathematics."""
        return self.of_matrices + self.of_attention

    @property
    def of_matrices(self) -> float:
        """Operations of a step's products with parameters, two for each of them and pass."""
        return 2 * self.passes * self.parameters

    @property
    def of_attention(self) -> float:
        """Operations of a step's attention, twice as many backward as forward."""
        return 3 * self.attention

    @property
    def hardware(self) -> float:
        """Operations of a step with what checkpointing computes twice."""
        return self.model + self.repeated


@lru_cache(maxsize=64)  # of a model, whatever is changed of its run
def forward_flops(architecture: Architecture, tokens: int) -> tuple[float, float, float]:
    """Return the operations forward for one token of `tokens`: of all products, of the output matrix, of attention.

    Attention counts the pairs that its mask leaves, as Megatron-LM does: what no kernel has to compute is no use of it.
    """
    plain = catalog().number_format("bf16")
    model = rank_model(
        stage=Stage(architecture, 0, architecture.layer_count),
        weights=plain,
        group=None,
        keys=plain,
        values=plain,
        element_bytes=2,
        layout=Layout(),
        fuses=False,
    )
    listed = forward(model, Segment(1.0, tokens, 0, tokens, encoding=tokens if architecture.has_encoder else 0))
    head = total_flops(listed, Product) - total_flops(
        forward(model, Segment(1.0, tokens, 0, 0, encoding=tokens if architecture.has_encoder else 0)), Product
    )
    return total_flops(listed, Product, Experts) / tokens, head / tokens, total_flops(listed, Attention) / tokens


def six_n(architecture: Architecture) -> int:
    """Return the operations for one token of training by the rule of 6 N (Kaplan et al., arXiv:2001.08361)."""
    return 6 * parameters_active(architecture)


def over_six_n(flops: float, architecture: Architecture) -> float:
    """Return how many times the rule of 6 N so many operations for one token are."""
    return flops / six_n(architecture)


def token_flops(plan: Plan) -> TokenFlops:
    r"""Return the operations for one token: $6 N + 12 L H d T_{\text{seen}}$ in full training, of tokens looked at.

    PaLM (arXiv:2204.02311, appendix B) has all $T$ tokens there, of which a causal mask leaves half, and packing those
    of a token's own sequence. Under adapters the frozen matrices have no gradients of their own: $4 N$.
    """
    products, head, attention = forward_flops(plan.architecture, plan.packed)
    layers = products - head
    repeated = {
        NO_CHECKPOINTS: 0.0,
        FULL: layers + attention,
        SELECTIVE: layers / 2 if plan.selective == PER_OPERATION else attention,
    }[plan.checkpointing]
    return TokenFlops(products / 2, head / 2, attention, 3 if plan.adapters is None else 2, repeated=repeated)
