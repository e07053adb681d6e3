"""What a device sends in a training step: the collectives of each of its phases, by the way in which work is divided.

Sizes are those of the papers: ZeRO (arXiv:1910.02054, section 7) for data ranks, Megatron-LM (arXiv:1909.08053, section
3; arXiv:2205.05198, section 4.2.2) for tensor ranks, ring attention (arXiv:2310.01889) for context ranks, GShard
(arXiv:2006.16668) for experts, and arXiv:2104.04473 for stages. Left out is what is small beside it: the embedding and
the loss of tensor ranks, and the norm of all gradients.
"""

from typing import NamedTuple

from calc.architecture.layers import Attention
from calc.architecture.stages import Stage, local_heads
from calc.memory.training.elements import Held
from calc.memory.training.plan import (
    FULL,
    GRADIENTS,
    HEADS,
    NONE,
    PARAMETERS,
    PER_OPERATION,
    SELECTIVE,
    Plan,
)
from calc.performance.collectives import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER, SEND
from calc.performance.data_groups import COPIES, EXPERT_COPIES, EXPERT_DATA, data_groups, experts_chosen
from calc.performance.forward import CONTEXT, DATA, EXPERT, PIPELINE, TENSOR
from calc.performance.operations import Collective, Counted, Pass
from calc.performance.rank_layers import SQUARES, SUM_BYTES


class Exchanges(NamedTuple):
    """What a device of a stage sends: with each micro-batch forward, recomputing and backward, and once a step."""

    forward: Pass
    again: Pass
    backward: Pass
    gathered: Pass  # once, before the first micro-batch runs forward
    reduced: Pass  # once, while the last micro-batch runs backward
    updated: Pass  # once, after the optimizer

    @property
    def of_micro_batch(self) -> Pass:
        """All that goes with each micro-batch."""
        return self.forward + self.again + self.backward

    @property
    def of_step(self) -> Pass:
        """All that goes once a step."""
        return self.gathered + self.reduced + self.updated


def exchanges(plan: Plan, stage: Stage) -> Exchanges:
    """Return what a device of a stage sends in a training step."""
    forward: list[Counted] = []
    again: list[Counted] = []
    backward: list[Counted] = []
    divided(plan, stage, forward, again, backward=backward)
    groups = data_groups(plan, stage)
    shares = [
        shared(
            zero=plan.stage_of_zero,
            summed=group.held.gradient_bytes * plan.reduced_bytes / plan.method.gradient_bytes,
            stored=stored_bytes(plan, group.held),
            layers=group.units,
            shards=group.shards,
            copies=group.copies,
            names=group.names,
            tensors=group.tensors,
            each=not plan.whole_gradients,
            stays_gathered=plan.stays_gathered,
        )
        for group in groups
    ]
    if plan.checkpointing == FULL:
        again += [item for group, share in zip(groups, shares, strict=True) if group.inside for item in share.forward]
    of_data = Shared(*(sum(lists, ()) for lists in zip(*shares, strict=True)))
    lists = (
        (*forward, *of_data.forward),
        again,
        (*backward, *of_data.backward),
        of_data.gathered,
        of_data.reduced,
        of_data.updated,
    )
    return Exchanges(*(tuple(filter(is_sent, found)) for found in lists))


def is_sent(item: Counted) -> bool:
    """Return whether a message says something, and has anybody to go to."""
    one = item.operation
    return isinstance(one, Collective) and one.ranks > 1 and item.times > 0 and one.message_bytes > 0


def divided(plan: Plan, stage: Stage, forward: list[Counted], again: list[Counted], backward: list[Counted]) -> None:
    """Add what ranks send that divide a micro-batch or its layers."""
    layout, batch = plan.layout, plan.batch
    row = plan.architecture.hidden_size * plan.scheme.compute
    if layout.tensor > 1:
        of_tensor_ranks(
            plan, stage.last - stage.first, float(batch.rows * row), forward, again=again, backward=backward
        )
    for kind, count in stage.kind_counts():
        if layout.tensor > 1 and kind.attention is not None and kind.attention.normed_together:
            squares = float(batch.rows * SQUARES * SUM_BYTES)
            name = "All-reduce of squares of queries and keys"
            one = Collective(name, ALL_REDUCE, squares, layout.tensor, group=TENSOR)
            for place in (forward, *([again] if plan.checkpointing == FULL else []), backward):
                place.append(Counted(one, count))
        if layout.context > 1 and kind.attention is not None:
            of_context_ranks(plan, kind.attention, count, forward, again=again, backward=backward)
        chosen = experts_chosen(kind)
        if layout.expert > 1 and chosen:
            sent = batch.rows * row * chosen / layout.tensor
            one = Collective(
                "Tokens to their experts and back", ALL_TO_ALL, sent, layout.expert, group=EXPERT, copies=chosen
            )
            for place in (forward, *([again] if plan.checkpointing == FULL else []), backward):
                place.append(Counted(one, 2 * count))
    if layout.pipeline > 1:
        stream = float(batch.stream_rows * row)
        forward.append(Counted(Collective("Hidden states to the next stage", SEND, stream, 2, group=PIPELINE), 1))
        backward.append(Counted(Collective("Their gradients to the stage before", SEND, stream, 2, group=PIPELINE), 1))


def of_tensor_ranks(
    plan: Plan, layers: int, stream: float, forward: list[Counted], again: list[Counted], backward: list[Counted]
) -> None:
    """Add the sums of the two blocks of each layer: all-reduces, or with sequence parallelism a gather and a scatter.

    PyTorch's selective checkpointing keeps what reduce-scatters gave, and gathers again.
    """
    ranks, times = plan.layout.tensor, 2 * layers
    summed = Counted(Collective("All-reduce of partial sums", ALL_REDUCE, stream, ranks, group=TENSOR), times)
    gathered = Counted(Collective("All-gather of the stream", ALL_GATHER, stream, ranks, group=TENSOR), times)
    scattered = Counted(
        Collective("Reduce-scatter of partial sums", REDUCE_SCATTER, stream, ranks, group=TENSOR), times
    )
    whole = [gathered, scattered] if plan.sequence_parallel else [summed]
    forward += whole
    backward += whole
    if plan.checkpointing == FULL:
        again += whole
    elif plan.checkpointing == SELECTIVE and plan.selective == PER_OPERATION:
        again += whole[:1]
    # Megatron-LM keeps inputs of matrices divided; PyTorch's tensor parallelism, beside FSDP, keeps what it gathered.
    if plan.sequence_parallel and plan.stage_of_zero < PARAMETERS:
        inputs = Collective("All-gather of matrices' inputs", ALL_GATHER, stream, ranks, group=TENSOR)
        backward.append(Counted(inputs, times))


def of_context_ranks(
    plan: Plan, attention: Attention, count: int, forward: list[Counted], again: list[Counted], backward: list[Counted]
) -> None:
    """Add keys and values that go round, and their gradients in the backward pass; or heads for tokens, there and back.

    A rank that has some heads of all tokens (arXiv:2309.14509, section 3.2) sends queries, keys and values, and gets
    what attention gives; backward goes the other way.
    """
    ranks, sizes = plan.layout.context, attention.head_dim + (attention.value_dim or attention.head_dim)
    heads = local_heads(attention.kv_heads, plan.layout.tensor)
    again_too = [again] if plan.checkpointing == FULL else []
    if plan.context_exchange == HEADS:
        sent = float(plan.batch.rows * sizes * (local_heads(attention.heads, plan.layout.tensor) + heads))
        swapped = Collective("Heads for tokens, and back", ALL_TO_ALL, sent * plan.scheme.compute, ranks, group=CONTEXT)
        for place in (forward, *again_too, backward):
            place.append(Counted(swapped, count))
        return
    every = float(ranks * plan.batch.rows * heads * sizes * plan.scheme.compute)
    passed = Counted(Collective("Keys and values go round", ALL_GATHER, every, ranks, group=CONTEXT), count)
    for place in (forward, *again_too, backward):
        place.append(passed)
    name = "Gradients of keys and values go round"
    backward.append(Counted(Collective(name, REDUCE_SCATTER, every, ranks, group=CONTEXT), count))


class Shared(NamedTuple):
    """What ranks send that have the same parameters."""

    forward: Pass = ()
    backward: Pass = ()
    gathered: Pass = ()
    reduced: Pass = ()
    updated: Pass = ()


def shared(
    *,
    zero: int,
    summed: float,
    stored: float,
    layers: int,
    shards: int,
    copies: int,
    names: tuple[str, str] = (DATA, COPIES),
    tensors: float = 0.0,
    each: bool = True,
    stays_gathered: bool = False,
) -> Shared:
    """Return what ranks send that have the same parameters, a layer at a time: gradients, and what is divided.

    `summed` are bytes of gradients as they are exchanged, `stored` those of parameters that are gathered.
    Whole gradients are reduced once a step, behind the backward pass of the last micro-batch; divided ones with each
    micro-batch, unless `each` is false.
    """
    own, across = names

    def one(name: str, kind: str, size: float, ranks: int = shards, group: str = own) -> Counted:
        return Counted(Collective(name, kind, size / layers, ranks, group=group, tensors=tensors), layers)

    if zero == NONE:
        return Shared(reduced=(one("All-reduce of gradients", ALL_REDUCE, summed, copies),))
    scattered = (
        one("Reduce-scatter of gradients", REDUCE_SCATTER, summed),
        one("All-reduce of the groups' sums", ALL_REDUCE, summed / shards, copies, group=across),
    )
    gathered = (one("All-gather of parameters", ALL_GATHER, stored),)
    if zero < PARAMETERS:
        if zero >= GRADIENTS and each:
            return Shared(backward=scattered, updated=gathered)
        return Shared(reduced=scattered, updated=gathered)
    if stays_gathered:
        return Shared(gathered=gathered, reduced=scattered)
    if each:
        return Shared(forward=gathered, backward=gathered + scattered)
    return Shared(forward=gathered, backward=gathered, reduced=scattered)


def stored_bytes(plan: Plan, group: Held) -> float:
    """Return the bytes of parameters that are gathered, in the type of `gather_dtype`; a frozen base as it is stored.

    Where only states are shared, what was updated is handed out, and that is all; a frozen base never changes.
    """
    whole = plan.stage_of_zero >= PARAMETERS
    if plan.adapters is None:
        return float(group.elements * plan.gather_bytes if whole else group.trained * plan.scheme.compute)
    return float(group.whole_bytes if whole else group.added_bytes)


def stride(plan: Plan, group: str) -> int:
    """Return how far apart the ranks of a group stand: tensor ranks side by side, stages farthest."""
    layout = plan.layout
    fewer = max(1, layout.expert // layout.tensor)
    return {
        TENSOR: 1,
        EXPERT: 1,
        CONTEXT: layout.tensor,
        DATA: layout.tensor,
        COPIES: layout.tensor * plan.shard_ranks,
        EXPERT_DATA: layout.tensor * fewer,
        EXPERT_COPIES: layout.tensor * fewer * max(1, plan.shard_ranks // fewer),
        PIPELINE: layout.devices // layout.pipeline,
    }[group]
