"""What a layer computes on a rank beside its matrices: attention over its caches, states, and work on each element."""

from collections.abc import Iterator
from typing import NamedTuple

from calc.architecture.blocks import keys_and_values
from calc.architecture.layers import OUTPUT, PROMPT, Architecture, Attention, Layer
from calc.architecture.stages import local_heads
from calc.architecture.tensors import RUNNING_MEAN
from calc.catalog.records import NumberFormat
from calc.memory.budget import Layout
from calc.memory.kv_cache import entry_bytes
from calc.memory.recurrent_state import state_bits, state_elements
from calc.performance.rank_matrices import DECODER, ENCODED, ENCODER, Stored, is_convolution

# Kernels of an indexer beside its products and scores, as SGLang's nsa_indexer.py has them: a norm and a rotation, two
# of Hadamard's, two casts, the heads' weights, a cache's new entry, and the choice.
INDEXING = 9
MIXING = 2.0  # kernels that mix residual streams before and behind a block, beside their product (DeepSeek's TileLang)
PUT_TOGETHER = 2  # kernels that join queries and keys of latent attention, one of two parts each
INDEXED_IN = "fp8"  # scores of an indexer that chooses single entries (DeepSeek-V3.2, arXiv:2512.02556)
STATE_FLOPS = 6.0  # for each element of a state and token: forgetting, adding and reading, two operations each
SQUARES, SUM_BYTES = 2, 4  # sums of a token that norms over all heads need, of queries and of keys, each in FP32


class Look(NamedTuple):
    """Attention of a layer over one kind of cache."""

    name: str
    rows: str
    over: str  # whose tokens are looked at
    heads: int
    kv_heads: int
    key_dim: int
    value_dim: int
    causal: bool
    window: int | None
    chosen: int | None
    stride: int
    fixed: int | None
    entry_bytes: float
    absorbed: tuple[int, int] | None  # key and value where the cached latent vector itself is looked at
    expansion: tuple[int, int, str, float] | None  # n, k, kernel, bytes of what makes keys and values of it
    kernel: str
    absorbs: bool = False  # many new tokens look at latent vectors themselves too
    places: int = 1  # of a finer grid that each token stands for


class State(NamedTuple):
    """A recurrent mixer of a layer."""

    kind: str
    token_flops: float
    sequence_bytes: float  # read and written


class Pointwork(NamedTuple):
    """What a layer does to each element for itself."""

    name: str
    rows: str
    token_bytes: float
    fixed_bytes: float  # parameters read
    kernels: float
    mixes: int = 0  # blocks around which residual streams are mixed
    indexing: float = 0.0  # of the kernels, those before an indexer's scores that an engine may join


def looks_of(
    kind: Layer,
    rows: str,
    architecture: Architecture,
    layout: Layout,
    keys: NumberFormat,
    values: NumberFormat,
    stored: Stored,
) -> Iterator[Look]:
    """Yield the attentions of a layer, one for each cache; a layer without its own looks at an earlier one's."""
    attention = kind.attention
    if attention is None:
        return
    causal = rows != ENCODER and architecture.writes
    chooses = any(cache.chosen for cache in kind.caches)
    for cache in kind.caches or (keys_and_values(attention),):
        entry = entry_bytes(cache=cache, tensor_parallel=layout.tensor, key_format=keys, value_format=values)
        index = "indexer" in cache.label
        heads, key, value = attention.heads, attention.head_dim, attention.value_dim or attention.head_dim
        kv_heads = attention.kv_heads
        absorbed, expansion = None, None
        if index:  # all heads of the indexer are on every rank
            heads, key, value, kv_heads = index_heads(kind, cache.key_dim) * layout.tensor, cache.key_dim, 0, 1
        elif attention.latent and not cache.value_dim:
            expansion = stored.expansion.get(latent_rank(kind))
            absorbed = (cache.key_dim, latent_rank(kind))
        elif not cache.value_dim:
            key = value = cache.key_dim
        yield Look(
            name="Indexer" if index else "Attention" if cache.part != PROMPT else "Attention over the encoder's output",
            rows=rows,
            over=ENCODED if cache.part == PROMPT else rows if cache.part != OUTPUT else DECODER,
            heads=local_heads(heads, layout.tensor),
            kv_heads=local_heads(kv_heads, layout.tensor),
            key_dim=key,
            value_dim=value,
            causal=causal and cache.fixed_tokens is None and cache.part != PROMPT,
            window=cache.window_tokens,
            chosen=cache.chosen,
            stride=cache.stride,
            fixed=cache.fixed_tokens,
            entry_bytes=float(entry),
            absorbed=absorbed,
            expansion=expansion,
            kernel=INDEXED_IN if index and chooses else keys.kernel,
            places=kind.places,
        )


def index_heads(kind: Layer, key_dim: int) -> int:
    """Return the heads of a layer's indexer: the rows of what weighs them, or its queries over the size of a key."""
    rows = {tensor.name.rpartition(".")[0].rpartition(".")[2]: tensor.shape[0] for tensor in kind.tensors}
    return rows["weights_proj"] if "weights_proj" in rows else max(1, rows["index_q_proj"] // key_dim)


def latent_rank(kind: Layer) -> int:
    """Return the size of a layer's latent vector without its rotary key."""
    return next(tensor.shape[-1] for tensor in kind.tensors if tensor.name.endswith("kv_b_proj.weight"))


def states_of(kind: Layer, layout: Layout, element_bytes: int) -> Iterator[State]:
    """Yield the recurrent mixer of a layer, where it has one."""
    if kind.recurrence is None or not kind.states:
        return
    convolutions = sum(
        tensor.elements for tensor in kind.tensors if tensor.name.endswith("weight") and is_convolution(tensor)
    )
    flops, size, widest, label = 2.0 * convolutions / layout.tensor, 0.0, 0, ""
    for state in kind.states:
        elements = state_elements(state=state, tensor_parallel=layout.tensor)
        size += 2.0 * elements * state_bits(state=state, activation_bytes=element_bytes) / 8
        if "convolution" not in state.label:
            flops += STATE_FLOPS * elements
        if elements > widest:
            widest, label = elements, state.label
    yield State(label, flops, size)


def pointwork_of(kind: Layer, rows: str, architecture: Architecture, layout: Layout, element_bytes: int) -> Pointwork:
    """Return what a layer does beside products: norms with the addition before them, rotations, a cache's new entry.

    A norm reads and writes the hidden state and the residual stream, one that no addition comes before the hidden state
    alone; the activation reads what goes in (gate and up, where there is a gate) and writes what comes out. Kernels are
    those of engines that fuse what stands side by side, such as the norms of queries and keys. A batch norm behind a
    convolution and the activation behind it read and write what that gives, at all its places.
    """
    hidden, blocks = kind.hidden or architecture.hidden_size, blocks_of(kind)
    batched = {tensor.name.removesuffix(RUNNING_MEAN) for tensor in kind.tensors}
    weights = [tensor for tensor in kind.tensors if "norm" in tensor.name and tensor.name.endswith(".weight")]
    norms = [tensor for tensor in weights if tensor.name.removesuffix(".weight") not in batched]
    within = [tensor for tensor in norms if tensor.name.startswith("self_attn.")]
    apart = max(sum(tensor.shape == (hidden,) for tensor in norms if tensor not in within) - blocks, 0)
    elements, kernels, indexing = (4.0 * blocks + 2.0 * apart) * hidden, float(blocks + apart), 0.0
    if isinstance(kind.attention, Attention):
        attention = kind.attention
        heads = local_heads(attention.heads, layout.tensor) + 2 * local_heads(attention.kv_heads, layout.tensor)
        passes = 2 if within else 1
        elements, around = elements + 2.0 * passes * heads * attention.head_dim, 1.0 + passes
        around += PUT_TOGETHER if attention.latent else 0
        if any("indexer" in cache.label for cache in kind.caches):
            around += INDEXING
            indexing = around if attention.latent else 0.0
        kernels += around
    if kind.mlp_width:
        elements += (3.0 if kind.mlp_gated else 2.0) * kind.mlp_width / layout.tensor
        kernels += 1
    if kind.recurrence is not None:
        elements, kernels = elements + 2.0 * kind.recurrence.width / layout.tensor, kernels + 1
    elements *= kind.places
    for tensor in kind.tensors:
        if tensor.name.endswith(RUNNING_MEAN):
            elements, kernels = elements + 4.0 * tensor.places * tensor.elements, kernels + 2
    mixes = sum(tensor.name.endswith("_hc.scale") and tensor.shape == (3,) for tensor in kind.tensors)
    kernels += MIXING * mixes
    return Pointwork(
        "Norms and activations",
        rows,
        token_bytes=elements * element_bytes,
        fixed_bytes=0.0,
        kernels=kernels,
        mixes=mixes,
        indexing=indexing,
    )


class Reduction(NamedTuple):
    """What the tensor ranks add up of each token."""

    name: str
    rows: str  # the tokens that it is of
    token_bytes: int


def reductions_of(
    kind: Layer, rows: str, architecture: Architecture, element_bytes: int
) -> Iterator[tuple[Reduction, int]]:
    """Yield what the tensor ranks add up in a layer, each with how often.

    After each block that is the hidden state (Megatron-LM, arXiv:1909.08053), and before attention the squares of
    queries and keys where these are normed over all heads (SGLang's and vLLM's minimax_m2.py).
    """
    hidden = (kind.hidden or architecture.hidden_size) * kind.places * element_bytes
    yield Reduction("Sum over tensor ranks", rows, hidden), blocks_of(kind)
    if kind.attention is not None and kind.attention.normed_together:
        yield Reduction("Squares of queries and keys", rows, SQUARES * SUM_BYTES), 1


def blocks_of(kind: Layer) -> int:
    """Return how many blocks of a layer add to the residual stream, each after a sum over the tensor ranks."""
    cross = any(cache.part == PROMPT for cache in kind.caches)
    return int(kind.attention is not None or kind.recurrence is not None) + int(kind.mlp_width > 0) + int(cross)
