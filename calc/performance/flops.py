"""The work of one forward pass on one tensor-parallel rank: bytes to read, operations to do, messages to send."""

from functools import lru_cache
from typing import NamedTuple

from calc.architecture.layers import Architecture
from calc.architecture.stages import Stage, local_heads, local_share
from calc.catalog.records import NumberFormat, StoredWeights, Weights
from calc.memory.budget import Demand, Layout
from calc.memory.kv_cache import stage_sequence_bytes
from calc.memory.recurrent_state import stage_state_bytes
from calc.memory.weights import sixteen_bit, stored_bytes, stored_tensors

TABLE = "token_embedding"
HEADS = ("lm_head", "head")
NOT_DECODED = ("vision", "audio", "other_embedding")  # no text token passes them


class Work(NamedTuple):
    """What one pass over all layers asks of a rank."""

    weight_bytes: float  # read once each
    matrix_flops: float  # without the experts'
    expert_flops: float
    attention_flops: float
    cache_bytes: float  # keys, values and states read
    layers: int
    experts: int  # of a layer, on this rank
    active: int  # experts that a token is sent to
    message_bytes: float  # what a rank's share of one reduction is of: the hidden states of the tokens
    sequences: float
    head_groups: int  # query heads that share a KV head


class Matrices(NamedTuple):
    """The parameters that a pass multiplies with, on one rank; apart are the experts and the output matrix."""

    dense: float
    dense_bytes: float
    head: float
    head_bytes: float
    expert: float  # elements of one token's experts
    expert_bytes: float  # of all experts on the rank
    experts: int
    active: int


def matrices(demand: Demand, layout: Layout) -> Matrices:
    """Return the parameters of a whole model on one rank, as if its pipeline stages were one."""
    return rank_matrices(
        demand.architecture, demand.weights, demand.group, sixteen_bit(demand.keys), layout.tensor, layout.expert
    )


@lru_cache(maxsize=256)
def rank_matrices(
    architecture: Architecture, weights: Weights, group: int | None, plain: NumberFormat, tensor: int, expert_ranks: int
) -> Matrices:
    """Return the parameters of a rank; `plain` stands in for the formats of a file that gives sums alone."""
    stage = Stage(architecture, 0, architecture.layer_count)
    dense = dense_bytes = head = head_bytes = expert = expert_bytes = 0.0
    experts = active = 0
    file = weights if isinstance(weights, StoredWeights) else None
    formats = plain if isinstance(weights, StoredWeights) else weights
    for matrix, count, number_format in stored_tensors(stage, formats):
        copies, shape = local_share(matrix, tensor, expert_ranks)
        elements = float(count)
        for size in shape:
            elements *= size
        stored = count * stored_bytes(shape=shape, number_format=number_format, group=group)
        if matrix.active is not None:
            experts, active = matrix.copies, matrix.active
            expert += elements * matrix.active
            expert_bytes += stored * copies
        elif matrix.block == TABLE:
            if architecture.tied:
                head, head_bytes = elements, stored
        elif matrix.block in HEADS:
            head, head_bytes = head + elements * copies, head_bytes + stored * copies
        elif matrix.block not in NOT_DECODED:
            dense, dense_bytes = dense + elements * copies, dense_bytes + stored * copies
    if file is not None:  # the file says how many bytes stand where, and they are spread alike over the elements
        scale = file.layers / tensor / max(dense_bytes + expert_bytes, 1)
        dense_bytes, expert_bytes = dense_bytes * scale, expert_bytes * scale
        head_bytes = (file.embeddings if architecture.tied else file.head) / tensor
    return Matrices(dense, dense_bytes, head, head_bytes, expert, expert_bytes, experts, active)


def touched(*, experts: int, active: int, tokens: float) -> float:
    r"""Return the share of the experts that a pass reads: $1 - (1 - k / E)^T$ where a router spreads evenly.

    >>> round(touched(experts=8, active=2, tokens=1), 3), round(touched(experts=8, active=2, tokens=16), 3)
    (0.25, 0.99)
    """
    return 1 - (1 - active / experts) ** tokens if experts else 0.0


@lru_cache(maxsize=512)  # devices that are compared do the same work
def pass_work(
    *,
    demand: Demand,
    layout: Layout,
    matrices: Matrices,
    sequences: float,
    new_tokens: int,
    context: int,
) -> Work:
    """Return the work of a pass: `new_tokens` of each of `sequences`, that look back at `context` tokens before them.

    Two operations for each parameter and token; logits of the last token alone. Causal attention costs four operations
    for each pair of positions, head and head dimension: $4 n d (c + T / 2)$ a token, less where a window is shorter.
    """
    tokens = sequences * new_tokens
    ranks = max(1, layout.expert // layout.tensor)  # data-parallel ranks that share their experts
    share = touched(experts=matrices.experts, active=matrices.active, tokens=tokens * ranks)
    weight_bytes = matrices.dense_bytes + matrices.head_bytes + matrices.expert_bytes * share
    expert_flops = matrices.expert / (layout.expert if layout.expert <= layout.tensor else layout.tensor)
    outputs = sequences if not demand.all_logits else tokens
    flops = 2 * tokens * matrices.dense + 2 * outputs * matrices.head
    architecture = demand.architecture
    stage = Stage(architecture, 0, architecture.layer_count)
    attention = 0.0
    for kind, count in stage.kind_counts():
        if kind.attention is None:
            continue
        window = kind.attention.window_tokens
        reach = context + new_tokens / 2
        if window:
            reach = min(reach, window)
        width = local_heads(kind.attention.heads, layout.tensor) * kind.attention.head_dim
        attention += count * 4 * tokens * reach * width
    cache = stage_sequence_bytes(
        stage=stage,
        tokens=max(context + new_tokens, 1),
        prompt_tokens=min(demand.prompt_tokens, max(context + new_tokens, 1)),
        tensor_parallel=layout.tensor,
        context_parallel=layout.context,
        key_format=demand.keys,
        value_format=demand.values,
    )
    state = stage_state_bytes(stage=stage, tensor_parallel=layout.tensor, activation_bytes=demand.activation_bytes)
    return Work(
        weight_bytes,
        flops,
        2 * tokens * expert_flops,
        attention,
        sequences * (cache + 2 * state),
        architecture.layer_count,
        -(-matrices.experts // layout.expert),
        matrices.active,
        tokens * architecture.hidden_size * demand.activation_bytes,
        sequences,
        head_groups(stage),
    )


def head_groups(stage: Stage) -> int:
    """Return how many query heads share a KV head, 1 where none do or keys are made from one latent vector."""
    return max(
        (
            kind.attention.heads // max(kind.attention.kv_heads, 1)
            for kind, _ in stage.kind_counts()
            if kind.attention is not None and not kind.attention.latent
        ),
        default=1,
    )
