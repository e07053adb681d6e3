"""A model as one rank of a layout computes with it: its matrices, attentions and states, each with how often it stands.

What does not depend on the tokens of a pass is made here once; `forward` multiplies it with them.
"""

from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import NamedTuple

from calc.architecture.blocks import keys_and_values
from calc.architecture.layers import OUTPUT, PROMPT, Architecture, Attention, Layer
from calc.architecture.stages import Stage, local_heads, local_share
from calc.architecture.tensors import SPLIT_IN, Tensor
from calc.catalog.records import NumberFormat, StoredWeights, Weights
from calc.memory.budget import Layout
from calc.memory.kv_cache import entry_bytes
from calc.memory.recurrent_state import state_bits, state_elements
from calc.memory.stored_weights import parameters_by_place, whole_model
from calc.memory.weights import sixteen_bit, stored_bytes, stored_tensors

TABLE = "token_embedding"
NOT_PASSED = ("vision", "audio", "other_embedding")  # no text token is multiplied with them
PRODUCTS = (".weight", "_weight", ".fn", "_w1", "_w2")  # how the names of matrices end that tokens are multiplied with
OVER_ENCODED = ("encoder_attn.k_proj", "encoder_attn.v_proj")  # what multiplies an encoder's output
# Which tokens pass: the prompt's in an encoder, all others, those whose keys a decoder keeps, those with logits.
ENCODER, DECODER, ENCODED, OUTPUTS = "encoder", "decoder", "encoded", "outputs"
INDEXED_IN = "fp8"  # scores of an indexer that chooses single entries (DeepSeek-V3.2, arXiv:2512.02556)
STATE_FLOPS = 6.0  # for each element of a state and token: forgetting, adding and reading, two operations each


class Matrix(NamedTuple):
    """Matrices that multiply the same input, and so can be one product."""

    name: str
    rows: str
    n: int
    k: int
    kernel: str
    weight_bytes: float
    input_split: bool  # each rank has a part of the sum, so that the ranks add up what it gives


class ExpertMatrices(NamedTuple):
    """The routed experts of a layer on a rank."""

    name: str
    experts: int
    total: int
    active: int
    n: int
    k: int
    matrices: int
    kernel: str
    weight_bytes: float  # of all experts on the rank


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


class RankModel(NamedTuple):
    """A model on one rank; every part stands with its number of layers."""

    architecture: Architecture
    layout: Layout
    element_bytes: int
    matrices: tuple[tuple[Matrix, int], ...]
    experts: tuple[tuple[ExpertMatrices, int], ...]
    looks: tuple[tuple[Look, int], ...]
    states: tuple[tuple[State, int], ...]
    pointwork: tuple[tuple[Pointwork, int], ...]
    reductions: tuple[tuple[str, int], ...]  # sums over the tensor ranks, by the tokens that they are of
    layers: int
    encoder_tokens: int | None  # of every sequence, where they do not depend on the prompt

    @property
    def has_head(self) -> bool:
        """Whether the output matrix is among these layers."""
        return any(matrix.rows == OUTPUTS for matrix, _ in self.matrices)

    @property
    def weight_bytes(self) -> float:
        """Bytes of all weights that a pass over many tokens reads."""
        small = sum(count * work.fixed_bytes for work, count in self.pointwork)
        dense = sum(count * matrix.weight_bytes for matrix, count in self.matrices)
        return small + dense + sum(count * group.weight_bytes for group, count in self.experts)


@lru_cache(maxsize=512)  # devices that are compared compute with the same parts
def rank_model(
    *,
    stage: Stage,
    weights: Weights,
    group: int | None,
    keys: NumberFormat,
    values: NumberFormat,
    element_bytes: int,
    layout: Layout,
    fuses: bool = True,
) -> RankModel:
    """Return a stage's part of a model on one rank of a layout.

    `fuses`: matrices that multiply the same input are one product, as serving engines join query, key and value, gate
    and up. `element_bytes` is an activation's.
    """
    architecture = stage.architecture
    stored = Stored(weights, group, sixteen_bit(keys), layout, fuses)
    for part, rows in parts_of(stage):
        stored.add(part, rows)
    looks: dict[Look, int] = {}
    states: dict[State, int] = {}
    pointwork: dict[Pointwork, int] = {}
    reductions: dict[str, int] = {}
    for part, rows in parts_of(stage):
        for kind, count in part.kind_counts():
            for look in looks_of(kind, rows, architecture, layout, keys, values, stored):
                looks[look] = looks.get(look, 0) + count
            for state in states_of(kind, layout, element_bytes):
                states[state] = states.get(state, 0) + count
            work = pointwork_of(kind, rows, architecture, layout, element_bytes)
            pointwork[work] = pointwork.get(work, 0) + count
            reductions[rows] = reductions.get(rows, 0) + count * blocks_of(kind)
    pointwork[Pointwork("Small parameters", DECODER, 0.0, stored.small_bytes, 0.0)] = 1
    dense, experts = stored.scaled(stage)
    return RankModel(
        architecture,
        layout,
        element_bytes,
        tuple(dense.items()),
        tuple(experts.items()),
        tuple(looks.items()),
        tuple(states.items()),
        tuple(pointwork.items()),
        tuple(reductions.items()),
        stage.last - stage.first,
        next(
            (cache.fixed_tokens for kind in architecture.kinds for cache in kind.caches if cache.part == PROMPT), None
        ),
    )


def parts_of(stage: Stage) -> Iterator[tuple[Stage, str]]:
    """Yield a stage's layers with the tokens that pass them: an encoder's come first, where there is one."""
    architecture = stage.architecture
    split = stage.first
    if architecture.has_encoder:
        reads = [not architecture.kinds[index].caches for index in architecture.pattern]
        split = min(max(sum(reads), stage.first), stage.last)
    if split > stage.first:
        yield Stage(architecture, stage.first, split), ENCODER
    if split < stage.last:
        yield Stage(architecture, split, stage.last), DECODER


class Stored:
    """The matrices of a rank as they are stored, collected tensor by tensor."""

    def __init__(self, weights: Weights, group: int | None, plain: NumberFormat, layout: Layout, fuses: bool) -> None:
        self.weights, self.group, self.layout, self.fuses = weights, group, layout, fuses
        self.file = weights if isinstance(weights, StoredWeights) else None
        self.formats = plain if isinstance(weights, StoredWeights) else weights
        self.joined: dict[tuple[object, ...], list[Joined]] = {}
        self.small_bytes = 0.0
        self.expansion: dict[int, tuple[int, int, str, float]] = {}

    def add(self, part: Stage, rows: str) -> None:
        """Add the tensors of some layers."""
        heads = set(part.architecture.head)
        for tensor, stored_times, number_format in stored_tensors(part, self.formats):
            count = part.uses(tensor, stored_times)
            if tensor.block in NOT_PASSED:
                continue
            if tensor.block == TABLE and not (part.architecture.tied and part.is_last):
                continue
            copies, shape = local_share(tensor, self.layout.tensor, self.layout.expert)
            stored = float(copies * stored_bytes(shape=shape, number_format=number_format, group=self.group))
            if not tensor.name.endswith(PRODUCTS) or len(shape) < 2 or is_convolution(tensor):
                self.small_bytes += count * stored
                continue
            passing = OUTPUTS if tensor in heads or tensor.block == TABLE else rows
            if part.architecture.has_encoder and tensor.name.startswith(OVER_ENCODED):
                passing = ENCODED
            self.join(tensor, Joined(passing, copies, shape, number_format.kernel, stored, count))

    def join(self, tensor: Tensor, new: "Joined") -> None:
        """Add a matrix to those that multiply the same input, or begin another product with it."""
        module, _, last = tensor.name.removesuffix(".weight").rpartition(".")
        if tensor.name.endswith("kv_b_proj.weight"):
            self.expansion[new.shape[-1]] = (new.shape[0], new.shape[-1], new.kernel, new.stored)
        expert = tensor.active is not None
        key: tuple[object, ...] = (module, new.rows, new.layers, tensor.copies, tensor.active)
        if not expert:
            alone = "" if self.fuses and len(new.shape) == 2 else last
            key += (new.shape[-1], tensor.split == SPLIT_IN, new.kernel, tensor.block, alone)
        listed = self.joined.setdefault(key, [])
        if not listed or last in listed[-1].names:
            listed.append(new._replace(tensor=tensor, names=(last,)))
            return
        mine = listed[-1]
        shape = mine.shape if expert else (mine.shape[0] + new.shape[0], mine.shape[1])
        listed[-1] = mine._replace(shape=shape, stored=mine.stored + new.stored, names=(*mine.names, last))

    def scaled(self, stage: Stage) -> tuple[dict[Matrix, int], dict[ExpertMatrices, int]]:
        """Return the products and the experts; of a file that gives sums alone, bytes are spread over the elements."""
        found = [item for items in self.joined.values() for item in items]
        layers = head = 1.0
        if self.file is not None:
            inner = sum(item.layers * item.stored for item in found if item.rows != OUTPUTS) + self.small_bytes
            outer = sum(item.layers * item.stored for item in found if item.rows == OUTPUTS)
            here, everywhere = (
                parameters_by_place(part, 1, 1)["layers"] for part in (stage, whole_model(stage.architecture))
            )
            layers = self.file.layers * here / max(everywhere, 1) / self.layout.tensor / max(inner, 1.0)
            last = self.file.embeddings if stage.architecture.tied else self.file.head
            head = last / self.layout.tensor / max(outer, 1.0)
            self.small_bytes *= layers
        dense: dict[Matrix, int] = {}
        experts: dict[ExpertMatrices, int] = {}
        for item in found:
            stored = item.stored * (head if item.rows == OUTPUTS else layers)
            if item.tensor is not None and item.tensor.active is not None:
                group = item.experts(stored)
                experts[group] = experts.get(group, 0) + item.layers
            else:
                matrix = item.matrix(stored)
                dense[matrix] = dense.get(matrix, 0) + item.layers * item.copies
        return dense, experts


class Joined(NamedTuple):
    """Matrices of one product on the way to it."""

    rows: str
    copies: int
    shape: tuple[int, ...]
    kernel: str
    stored: float  # bytes, of all copies
    layers: int
    tensor: Tensor | None = None
    names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The modules' names, joined."""
        assert self.tensor is not None
        module = self.tensor.name.removesuffix(".weight").rpartition(".")[0]
        return ".".join(part for part in (module, "+".join(self.names)) if part)

    def matrix(self, stored: float) -> Matrix:
        """Return the product; matrices of blocks stand below each other."""
        assert self.tensor is not None
        split = self.tensor.split == SPLIT_IN
        shape = (
            self.shape[:-1] if len(self.shape) > 2 and self.shape[-1] == 1 else self.shape
        )  # a kernel one token wide
        n, k = prod(shape[:-1]), shape[-1]
        return Matrix(self.name, self.rows, n, k, self.kernel, stored / self.copies, split)

    def experts(self, stored: float) -> ExpertMatrices:
        """Return the experts that the matrices make up."""
        assert self.tensor is not None
        assert self.tensor.active is not None
        tensor, (n, k), active = self.tensor, self.shape, self.tensor.active
        inner = (k, n) if tensor.split == SPLIT_IN else (n, k)
        parts = len(self.names)
        return ExpertMatrices(self.name, self.copies, tensor.copies, active, *inner, parts, self.kernel, stored)


def is_convolution(tensor: Tensor) -> bool:
    """Whether a tensor is a convolution over time of each channel for itself, which no product is made of."""
    return len(tensor.shape) == 3 and ("conv1d" in tensor.name or tensor.shape[1] == 1)


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

    A norm reads and writes the hidden state and the residual stream; the activation reads what goes in (gate and up,
    where there is a gate) and writes what comes out. Kernels are those of engines that fuse what stands side by side.
    """
    elements, kernels = 0.0, 0.0
    for _ in range(blocks_of(kind)):
        elements, kernels = elements + 4.0 * architecture.hidden_size, kernels + 1
    if isinstance(kind.attention, Attention):
        attention = kind.attention
        heads = local_heads(attention.heads, layout.tensor) + 2 * local_heads(attention.kv_heads, layout.tensor)
        elements, kernels = elements + 2.0 * heads * attention.head_dim, kernels + 2
    if kind.mlp_width:
        elements += (3.0 if kind.mlp_gated else 2.0) * kind.mlp_width / layout.tensor
        kernels += 1
    if kind.recurrence is not None:
        elements, kernels = elements + 2.0 * kind.recurrence.width / layout.tensor, kernels + 1
    return Pointwork("Norms and activations", rows, elements * element_bytes, 0.0, kernels)


def blocks_of(kind: Layer) -> int:
    """Return how many blocks of a layer add to the residual stream, each after a sum over the tensor ranks."""
    cross = any(cache.part == PROMPT for cache in kind.caches)
    return int(kind.attention is not None or kind.recurrence is not None) + int(kind.mlp_width > 0) + int(cross)
