"""What parallel devices send each other in a training step: by kind of parallelism, the bytes that one device sends.

Every formula is for a ring or a direct exchange, in which no device sends more than another. Left out is what is small
beside it: the embedding and the loss of tensor ranks, the norm of all gradients.
"""

from typing import NamedTuple

from calc.architecture.layers import Layer
from calc.architecture.stages import Stage, stages
from calc.memory.training.plan import FULL, GRADIENTS, OPTIMIZER, PARAMETERS, Plan
from calc.units import show_count

FORWARD_AND_BACKWARD = 2


class Sent(NamedTuple):
    """What one device sends in a step for one kind of parallelism, and how it is counted."""

    id: str  # "data", "tensor", "pipeline", "context" or "expert"
    what: str
    formula: str
    numbers: str
    bytes: int
    source: str


def step_traffic(plan: Plan) -> list[Sent]:
    """Return what a device in the middle of the model sends in a step, by kind of parallelism; none for one alone."""
    every = stages(plan.architecture, plan.layout.pipeline)
    stage = every[len(every) // 2]
    found = (*data(plan, stage), *tensor(plan, stage), *pipeline(plan), *context(plan, stage), *expert(plan, stage))
    return [sent for sent in found if sent.bytes]


def passes(plan: Plan) -> int:
    """Return how often a layer runs forward in a step: twice with full checkpointing."""
    return 2 if plan.checkpointing == FULL else 1


def data(plan: Plan, stage: Stage) -> list[Sent]:
    """Return gradients that are added up over data ranks, in the type in which they wait, and parameters handed out.

    Experts are counted as if all ranks shared them.
    """
    ranks = plan.layout.data * plan.layout.context
    if ranks == 1:
        return []
    total = plan.inventory(stage).total(stage)
    summed = total.gradient_bytes
    if plan.stage_of_zero < OPTIMIZER:
        numbers = f"2 × {ranks - 1} / {ranks} × {show_count(summed)}"
        formula = r"2 \cdot \frac{d - 1}{d} \cdot B_{\text{gradients}}"
        size = 2 * (ranks - 1) * summed // ranks
        return [Sent("data", "All-reduce of gradients", formula, numbers, size, "zero")]
    if plan.stage_of_zero < PARAMETERS:
        times = plan.accumulation if plan.stage_of_zero >= GRADIENTS else 1
        handed = total.trained * plan.scheme.compute if plan.adapters is None else total.added_bytes
        numbers = f"{ranks - 1} / {ranks} × ({times} × {show_count(summed)} + {show_count(handed)})"
        formula = r"\frac{d - 1}{d} \cdot (a \cdot B_{\text{gradients}} + B_{\text{parameters}})"
        size = (ranks - 1) * (times * summed + handed) // ranks
        what = "Reduce-scatter of gradients, all-gather of parameters"
        return [Sent("data", what, formula, numbers, size, "zero")]
    return sharded(plan, stage, ranks)


def sharded(plan: Plan, stage: Stage, ranks: int) -> list[Sent]:
    """Return what sharded parameters cost: gathered for each forward and backward pass, gradients added up for each."""
    total, shards = plan.inventory(stage).total(stage), plan.shard_ranks
    times = 1 if plan.stays_gathered else plan.accumulation
    frozen = plan.adapters is not None
    gathered = total.base_bytes + total.added_bytes if frozen else total.elements * plan.scheme.compute
    summed = total.gradient_bytes if frozen else total.trained * plan.scheme.compute
    numbers = f"{shards - 1} / {shards} × {times} × (2 × {show_count(gathered)} + {show_count(summed)})"
    formula = r"\frac{d - 1}{d} \cdot a \cdot (2 \cdot B_{\text{parameters}} + B_{\text{gradients}})"
    size = (shards - 1) * times * (2 * gathered + summed) // shards
    what = "All-gathers of parameters, reduce-scatter of gradients"
    found = [Sent("data", what, formula, numbers, size, "torch-fsdp")]
    copies = ranks // shards
    if copies > 1:
        numbers = f"2 × {copies - 1} / {copies} × {show_count(summed)} / {shards}"
        formula = r"2 \cdot \frac{c - 1}{c} \cdot \frac{B_{\text{gradients}}}{d}"
        size = 2 * (copies - 1) * summed // copies // shards
        what = "All-reduce of the groups' sums"
        found.append(Sent("copies", what, formula, numbers, size, "torch-fsdp"))
    return found


def tensor(plan: Plan, stage: Stage) -> list[Sent]:
    """Return the sums over tensor ranks: two in each layer and pass, of a hidden state for each token.

    With sequence parallelism each is a reduce-scatter and an all-gather, which send the same; the backward pass gathers
    its two inputs again (arXiv:2205.05198, section 4.2.2).
    """
    ranks = plan.layout.tensor
    if ranks == 1:
        return []
    layers, times = stage.last - stage.first, plan.accumulation
    state = plan.batch.rows * plan.architecture.hidden_size * plan.scheme.compute
    sums = 2 * (passes(plan) + 1)
    again = 2 if plan.sequence_parallel else 0  # all-gathers, each half an all-reduce
    numbers = f"{times} × {layers} × {sums + again / 2:g} × 2 × {ranks - 1} / {ranks} × {show_count(state)}"
    formula = r"a \cdot L \cdot n \cdot 2 \cdot \frac{t - 1}{t} \cdot B_{\text{hidden}}"
    size = times * layers * (2 * sums + again) * (ranks - 1) * state // ranks
    what = "All-reduces of attention's and MLP's partial sums"
    return [Sent("tensor", what, formula, numbers, size, "activation-recomputation")]


def pipeline(plan: Plan) -> list[Sent]:
    """Return hidden states to the next stage and their gradients to the one before, for each micro-batch."""
    if plan.layout.pipeline == 1:
        return []
    state = plan.batch.stream_rows * plan.architecture.hidden_size * plan.scheme.compute
    numbers = f"{plan.accumulation} × {FORWARD_AND_BACKWARD} × {show_count(state)}"
    size = plan.accumulation * FORWARD_AND_BACKWARD * state
    what = "Hidden states on and their gradients back, stage to stage"
    return [Sent("pipeline", what, r"a \cdot 2 \cdot B_{\text{hidden}}", numbers, size, "pipeline-1f1b")]


def context(plan: Plan, stage: Stage) -> list[Sent]:
    """Return keys and values that go round the context ranks, and their gradients in the backward pass."""
    ranks = plan.layout.context
    if ranks == 1:
        return []
    row = 0
    for kind, count in stage.kind_counts():
        if kind.attention is not None:
            heads = max(1, kind.attention.kv_heads // plan.layout.tensor)
            value = kind.attention.value_dim or kind.attention.head_dim
            row += count * heads * (kind.attention.head_dim + value) * plan.scheme.compute
    block = plan.batch.rows * row
    times = passes(plan) + 2  # the backward pass sends them again, and their gradients
    numbers = f"{plan.accumulation} × {times} × {ranks - 1} × {show_count(block)}"
    formula = r"a \cdot n \cdot (c - 1) \cdot B_{\text{keys, values}}"
    size = plan.accumulation * times * (ranks - 1) * block
    what = "Keys and values, from each rank to all others"
    return [Sent("context", what, formula, numbers, size, "ring-attention")]


def experts_chosen(kind: Layer) -> int:
    """Return how many routed experts a token is sent to in a layer; 0 in a dense one."""
    return max((tensor.active or 0 for tensor in kind.tensors), default=0)


def expert(plan: Plan, stage: Stage) -> list[Sent]:
    """Return tokens sent to the experts' devices and back, forward and backward; each expert counts once."""
    ranks = plan.layout.expert
    if ranks == 1:
        return []
    sent = sum(experts_chosen(kind) * count for kind, count in stage.kind_counts())
    state = plan.batch.rows * plan.architecture.hidden_size * plan.scheme.compute
    trips = 2 * (passes(plan) + 1)
    numbers = f"{plan.accumulation} × {trips} × {sent} × {ranks - 1} / {ranks} × {show_count(state)}"
    formula = r"a \cdot n \cdot \sum_{\text{layers}} k \cdot \frac{e - 1}{e} \cdot B_{\text{hidden}}"
    size = plan.accumulation * trips * sent * (ranks - 1) * state // ranks
    what = "All-to-all of tokens and of the experts' answers"
    return [Sent("expert", what, formula, numbers, size, "gshard")]
