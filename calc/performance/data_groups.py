"""Which parameters of a stage the same data-parallel ranks have alike, and the units in which they share them."""

from typing import NamedTuple

from calc.architecture.layers import Layer
from calc.architecture.stages import Stage
from calc.memory.training.elements import Held, held
from calc.memory.training.plan import Plan
from calc.performance.forward import DATA

# Groups of ranks. Copies are the groups that share parameters in hybrid sharding; experts have data ranks of their own.
COPIES, EXPERT_DATA, EXPERT_COPIES = "copies", "expert-data", "expert-copies"


class DataGroup(NamedTuple):
    """Parameters of a stage that the same ranks have alike."""

    held: Held  # of a device, before sharding
    units: int  # over which messages are spread: layers, or what is apart from them
    tensors: float  # of a unit
    shards: int  # ranks that share one copy
    copies: int
    names: tuple[str, str]  # of the groups of ranks
    inside: bool = False  # the units stand in layers, and are gathered once more where these are recomputed


def data_groups(plan: Plan, stage: Stage) -> list[DataGroup]:
    """Return what all data-parallel ranks have alike, and the experts, of which fewer have the same."""
    layout = plan.layout
    ranks, fewer = layout.data * layout.context, max(1, layout.expert // layout.tensor)
    total, tensors = plan.inventory(stage).total, sum(times for _, times in stage.tensors())
    layers, copies = max(stage.last - stage.first, 1), ranks // plan.shard_ranks
    whole = DataGroup(total, layers, tensors / layers, shards=plan.shard_ranks, copies=copies, names=(DATA, COPIES))
    if fewer == 1:
        return units_apart(whole) if plan.adapters_apart else [whole]
    alone = plan.method._replace(expert_shares=(1, 1, 1))
    experts, counted = Held(), Held()
    layers_of = tensors_of = 0
    for kind, count in stage.kind_counts():
        for tensor in kind.tensors:
            if tensor.active is not None:
                experts = experts.plus(held(tensor, alone, layout.tensor, layout.expert), count)
                counted = counted.plus(held(tensor, plan.method, layout.tensor, layout.expert), count)
                tensors_of += count
        layers_of += count * bool(experts_chosen(kind))
    rest = Held(*(mine - theirs for mine, theirs in zip(total, counted, strict=True)))
    shards, each = max(1, plan.shard_ranks // fewer), max(layers_of, 1)
    of_experts = DataGroup(
        experts,
        each,
        tensors_of / each,
        shards=shards,
        copies=ranks // fewer // shards,
        names=(EXPERT_DATA, EXPERT_COPIES),
    )
    return [whole._replace(held=rest, tensors=(tensors - tensors_of) / layers), of_experts]


def units_apart(whole: DataGroup) -> list[DataGroup]:
    """Return a frozen base, layer by layer, and apart from it what is trained, tensor by tensor."""
    both = whole.held
    base = both._replace(whole_bytes=both.whole_bytes - both.added_bytes, gradient_bytes=0)
    added = Held(whole_bytes=both.added_bytes, gradient_bytes=both.gradient_bytes)
    return [whole._replace(held=base), whole._replace(held=added, units=both.tensors, tensors=1.0, inside=True)]


def experts_chosen(kind: Layer) -> int:
    """Return how many routed experts a token is sent to in a layer; 0 in a dense one."""
    return max((tensor.active or 0 for tensor in kind.tensors), default=0)
