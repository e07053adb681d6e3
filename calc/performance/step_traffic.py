"""What parallel devices send each other in a training step: the collectives of the step, added up by their kind."""

from collections.abc import Sequence
from typing import NamedTuple

from calc.memory.training.plan import Plan
from calc.performance.collectives import ALL_REDUCE, SEND
from calc.performance.exchanges import exchanges
from calc.performance.forward import CONTEXT, EXPERT, PIPELINE, TENSOR
from calc.performance.operations import Collective
from calc.units import show_count

SOURCES = {
    TENSOR: "activation-recomputation",
    PIPELINE: "pipeline-1f1b",
    CONTEXT: "ring-attention",
    EXPERT: "gshard",
}
SHARED = "zero"  # the source of what data-parallel ranks send


class Sent(NamedTuple):
    """What one device sends in a step for one purpose, and how it is counted."""

    id: str  # the group of ranks: "data", "copies", "tensor", "pipeline", "context", "expert" ...
    what: str
    formula: str
    numbers: str
    bytes: int
    source: str


def sent_bytes(listed: Sequence[Sent]) -> int:
    """Return what one device sends in a step for all purposes together."""
    return sum(sent.bytes for sent in listed)


def step_traffic(plan: Plan) -> list[Sent]:
    """Return what a device in the middle of the model sends in a step, by purpose; none for one alone."""
    every = plan.stages
    found = exchanges(plan, every[len(every) // 2])
    counts: dict[Collective, float] = {}
    for times, listed in ((plan.accumulation, found.of_micro_batch), (1, found.of_step)):
        for one, count in listed:
            assert isinstance(one, Collective)
            counts[one] = counts.get(one, 0) + times * count
    return [written(one, count) for one, count in counts.items()]


def written(one: Collective, count: float) -> Sent:
    """Return messages of one kind with how their bytes are counted.

    Every formula is for a ring or a direct exchange, in which no device sends more than another.
    """
    share, numbers = r"\frac{r - 1}{r} \cdot ", f"{one.ranks - 1} / {one.ranks} × "
    if one.kind == ALL_REDUCE:
        share, numbers = "2 \\cdot " + share, "2 × " + numbers
    elif one.kind == SEND:
        share = numbers = ""
    size = count * one.sent_bytes
    return Sent(
        one.group,
        one.name,
        rf"n \cdot {share}M",
        f"{show_count(count)} × {numbers}{show_count(one.message_bytes)}",
        bytes=round(size),
        source=SOURCES.get(one.group, SHARED),
    )
