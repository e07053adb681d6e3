"""A model on a host's processor: one token after the other is as fast as its memory is read."""

from calc.catalog.records import Processor
from calc.memory.budget import Demand, Layout
from calc.performance.forward import Segment, forward, whole_rank
from calc.performance.operations import weights_read
from calc.performance.schedules import state_bytes


def token_bytes(*, demand: Demand, context_tokens: int) -> float:
    """Return the bytes that one token of one sequence reads: its weights, and the cache of what is before it."""
    operations = forward(whole_rank(demand, Layout()), Segment(1, 1, max(context_tokens - 1, 0), 1))
    return weights_read(operations) + state_bytes(operations)


def processor_tokens_per_s(*, processor: Processor, read_bytes: float, share: float) -> float:
    r"""Return the tokens a second that a processor writes: $\frac{e \cdot BW}{M_{\text{read}}}$.

    `share` is the part of the bandwidth of its channels that is reached. Arithmetic is not the limit for one sequence:
    a token asks two operations for each weight, and each weight has to be fetched for them.
    """
    return share * processor.bandwidth / read_bytes
