"""The operations that a pass is made of, on one rank: what each computes, moves through device memory and launches.

Times, FLOP figures, traffic tables and the working all read lists of these; nothing else counts them.
"""

from math import inf
from typing import NamedTuple

from calc.performance.collectives import sent_bytes

UPDATE_KERNELS = 2.0  # of a recurrent mixer that takes a token: the convolution, and the update of its state
# The same of a prompt: the convolution, gates, norms of queries and keys, sums along a chunk, scores in it, their
# inverse, what it writes, states from chunk to chunk, outputs, and a state fetched and put back, as SGLang 0.5.9 has it
# (hybrid_linear_attn_backend.py, fla/chunk.py). Those of state spaces (mamba/ops/ssd_combined.py) are two fewer.
CHUNK_KERNELS = 12.0


class Product(NamedTuple):
    """A matrix product: (m × k) times the weights (k × n)."""

    name: str
    m: float  # tokens
    n: int
    k: int
    kernel: str  # how it is multiplied, as a number format says
    weight_bytes: float  # as stored, read once
    io_bytes: float  # of operand and result

    @property
    def flops(self) -> float:
        """Two operations for each of m × n × k."""
        return 2.0 * self.m * self.n * self.k

    @property
    def bytes(self) -> float:
        """Device memory read and written."""
        return self.weight_bytes + self.io_bytes

    @property
    def launches(self) -> float:
        """Kernels launched."""
        return 1.0


class Experts(NamedTuple):
    """The products of a layer's routed experts on a rank, grouped by expert."""

    name: str
    tokens: float  # each sent to `active` experts of this rank, as a mean
    touched: float  # experts of this rank that any token is sent to
    experts: int  # on this rank
    active: float
    n: int  # inner width on this rank
    k: int  # what experts read and write
    matrices: int  # 3 with a gate, 2 without
    kernel: str
    weight_bytes: float  # of the experts that are touched
    io_bytes: float
    ranks: int = 1  # that a layer's experts are divided over, and that wait for the busiest of them
    balanced: bool = False  # experts are placed by what they have to do

    @property
    def flops(self) -> float:
        """Two operations for each token, expert it is sent to, and element of the expert."""
        return 2.0 * self.tokens * self.active * self.matrices * self.n * self.k

    @property
    def bytes(self) -> float:
        """Device memory read and written."""
        return self.weight_bytes + self.io_bytes

    @property
    def launches(self) -> float:
        """Kernels launched: the choice, sorting by expert (three), two grouped products with casts, activation, sum."""
        return 10.0


class Attention(NamedTuple):
    """Softmax attention: `queries` new tokens of each sequence, that look back at `keys` cached ones and themselves."""

    name: str
    sequences: float
    queries: float
    keys: float
    heads: int  # of queries, on this rank
    kv_heads: int
    key_dim: int
    value_dim: int
    causal: bool
    window: int | None
    latent: bool  # over the cached latent vectors themselves (MLA with its matrices absorbed)
    kernel: str  # the format that keys are cached in
    cache_bytes: float  # keys and values read
    chosen: int = 0  # latent vectors that an indexer chooses for each query, which kernels gather one by one
    padding: float = 0.0  # times its arithmetic that tiles take whose rows are for prompts; 0: they are for its own

    @property
    def pairs(self) -> float:
        """Pairs of a query and a key that it looks at, in all sequences."""
        return self.sequences * looked_at(queries=self.queries, keys=self.keys, causal=self.causal, window=self.window)

    @property
    def flops(self) -> float:
        """Two operations for each pair, head and element of its key, and of its value."""
        return 2.0 * self.pairs * self.heads * (self.key_dim + self.value_dim)

    @property
    def bytes(self) -> float:
        """Device memory read."""
        return self.cache_bytes

    @property
    def launches(self) -> float:
        """Kernels launched."""
        return 1.0


class AttentionBackward(NamedTuple):
    """The backward pass of attention in tiles, which makes the scores again (arXiv:2205.14135, algorithm 4)."""

    forward: Attention

    @property
    def name(self) -> str:
        """Whose gradients it gives."""
        return f"{self.forward.name}, gradients"

    @property
    def flops(self) -> float:
        """Five products of scores and values, where the forward pass has two."""
        return 2.5 * self.forward.flops

    @property
    def bytes(self) -> float:
        """Device memory moved: keys and values, and their gradients."""
        return 2.0 * self.forward.bytes

    @property
    def launches(self) -> float:
        """Kernels launched: sums of rows, the products, a cast."""
        return 3.0


class Recurrence(NamedTuple):
    """A recurrent mixer's update of its state: linear attention, state spaces, short convolutions."""

    name: str
    kind: str  # the label of its largest state
    tokens: float
    sequences: float
    flops: float
    state_bytes: float  # read and written

    @property
    def bytes(self) -> float:
        """Device memory read and written."""
        return self.state_bytes

    @property
    def launches(self) -> float:
        """Kernels launched: the convolution and the update, which of prompts is made in chunks, kernel by kernel."""
        chunked = self.tokens > self.sequences and "convolution" not in self.kind
        return CHUNK_KERNELS if chunked else UPDATE_KERNELS


class Pointwise(NamedTuple):
    """Work on each element for itself: norms, activations, rotations, additions, copies."""

    name: str
    bytes: float
    kernels: float

    @property
    def flops(self) -> float:
        """None that count."""
        return 0.0

    @property
    def launches(self) -> float:
        """Kernels launched."""
        return self.kernels


class Copy(NamedTuple):
    """Passes over memory that an engine adds: copies of a cache, weights unpacked, operands in another format."""

    name: str
    bytes: float
    kernels: float
    cycles: float = 0.0  # of one compute unit, in which its threads copy the elements one by one

    @property
    def flops(self) -> float:
        """None."""
        return 0.0

    @property
    def launches(self) -> float:
        """Kernels launched."""
        return self.kernels


class Collective(NamedTuple):
    """A message among a group of ranks, of a kind named in `collectives`."""

    name: str
    kind: str
    message_bytes: float  # what a rank has after an all-reduce or all-gather, and before a scatter or all-to-all
    ranks: int
    group: str  # tensor, pipeline, data, context, expert
    copies: int = 1  # ranks that each row goes to, which another machine gets once and hands on
    tensors: float = 0.0  # of the sharded unit that it is of, whose hooks make each anew

    @property
    def sent_bytes(self) -> float:
        """Bytes that each rank sends."""
        return sent_bytes(self.kind, ranks=self.ranks, message_bytes=self.message_bytes)

    @property
    def flops(self) -> float:
        """None that count."""
        return 0.0

    @property
    def bytes(self) -> float:
        """Device memory moved; what goes over links is `sent_bytes`."""
        return 0.0

    @property
    def launches(self) -> float:
        """Kernels launched."""
        return 1.0


class HostCopy(NamedTuple):
    """A copy between host and device, over PCIe."""

    name: str
    copied_bytes: float
    pinned: bool = False  # the host's side is memory that the device may read by itself
    read: float = inf  # bytes a second that the host's memory gives or takes

    @property
    def flops(self) -> float:
        """None."""
        return 0.0

    @property
    def bytes(self) -> float:
        """Device memory moved; what goes over PCIe is `copied_bytes`."""
        return 0.0

    @property
    def launches(self) -> float:
        """Kernels launched: a copy engine works on its own."""
        return 0.0


Operation = Product | Experts | Attention | AttentionBackward | Recurrence | Pointwise | Copy | Collective | HostCopy


class Counted(NamedTuple):
    """An operation, and how many times a pass does it: once for each layer of a kind."""

    operation: Operation
    times: float


Pass = tuple[Counted, ...]


def looked_at(*, queries: float, keys: float, causal: bool = True, window: int | None = None) -> float:
    r"""Return the pairs of one sequence: $q c + q (q + 1) / 2$, less where a window $w$ ends before.

    >>> looked_at(queries=4, keys=0), looked_at(queries=4, keys=0, causal=False)
    (10.0, 16)
    >>> looked_at(queries=4, keys=10, window=2), looked_at(queries=4, keys=0, window=3)
    (8.0, 9.0)
    """
    if not causal:
        return queries * (min(keys + queries, window) if window else keys + queries)
    if not window or keys + queries <= window:
        return queries * keys + queries * (queries + 1.0) / 2.0
    if keys >= window:
        return queries * float(window)
    ramp = window - keys
    return ramp * keys + ramp * (ramp + 1.0) / 2.0 + (queries - ramp) * window
