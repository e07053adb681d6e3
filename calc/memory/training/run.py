"""What a training run asks of one device, in the terms that its memory is made of."""

from typing import NamedTuple

EXPERTS = ".experts."  # in the names of matrices of experts, of which a layer has many
ONE_MATRIX = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"))  # under Megatron Core: linear_qkv, linear_fc1


class Numerics(NamedTuple):
    """Bytes of the tensors of a precision scheme."""

    compute: int  # an activation
    residual: int  # an element of the stream between blocks
    weight: int  # a weight as the layers read it
    gradient: int  # a gradient as the backward pass gives it
    autocast: bool  # layers cast their inputs and weights, and the graph holds the copies
    adapter: int  # a weight of an adapter

    @property
    def casts(self) -> bool:
        """Whether a matrix reads a copy of its input in another number format."""
        return self.autocast and self.residual != self.compute


class Batch(NamedTuple):
    """The part of a micro-batch that one device works on, and how the work of a layer is divided."""

    sequences: int
    tokens: int  # of one sequence, on this device
    keys: int  # tokens of one sequence that are attended to
    tensor: int = 1
    sequence_parallel: bool = False
    expert: int = 1

    @property
    def rows(self) -> int:
        """Tokens that pass a layer."""
        return self.sequences * self.tokens

    @property
    def stream_rows(self) -> int:
        """Tokens of the stream between blocks: divided with sequence parallelism (arXiv:2205.05198)."""
        return -(-self.rows // self.tensor) if self.sequence_parallel else self.rows


class Adapters(NamedTuple):
    """Low-rank adapters (arXiv:2106.09685): their rank, the matrices that have one, and DoRA's magnitudes."""

    rank: int
    targets: tuple[str, ...]  # last parts of matrix names
    saved: tuple[str, ...] = ()  # modules trained in full beside the adapters
    dora: bool = False
    dropout: bool = False  # on the input of A, which then keeps a copy of it and a mask
    experts: bool = True  # matrices of experts have one too
    joined: bool = False  # what multiplies the same input is one matrix, with one adapter (Megatron Core)
    summed: bool = False  # B adds in its product to what is there; backward A and B run once more (Unsloth)

    def covers(self, matrix: str) -> bool:
        """Whether a matrix, named without ".weight", has an adapter."""
        return matrix.rsplit(".", 1)[-1] in self.targets and (self.experts or EXPERTS not in matrix)

    def beside(self, matrix: str) -> tuple[str, ...]:
        """Return the matrices that one adapter is for, by the first of them; none where it is one before that.

        >>> adapters = Adapters(8, ("q_proj", "v_proj"), joined=True)
        >>> adapters.beside("self_attn.q_proj"), adapters.beside("self_attn.v_proj")
        (('self_attn.q_proj', 'self_attn.v_proj'), ())
        """
        module, dot, last = matrix.rpartition(".")
        group = next((names for names in ONE_MATRIX if self.joined and last in names), (last,))
        covered = [name for name in group if name in self.targets]
        return tuple(f"{module}{dot}{name}" for name in covered) if covered[:1] == [last] else ()


class Choices(NamedTuple):
    """How a layer is computed, where more than one way is usual."""

    flash: bool  # attention in tiles that keeps no scores (arXiv:2205.14135)
    mask: bool  # a padding mask: keys and values are repeated for all heads, and the mask is kept
    compiled: bool  # pointwise operations are fused, and recomputed from what matrices give
    casts_apart: bool = False  # they are so by kernels written by hand (Liger), which leave casts of autocast alone
    unpacks: bool = False  # the base is stored in fewer bits than it computes in
    all_gradients: bool = False  # frozen weights get gradients too, being parts of one flat parameter with adapters
    gathered: bool = False  # inputs of matrices stay as tensor-parallel ranks gathered them
    narrow_inputs: bool = False  # what multiplies in 8 bits keeps its input so, too
    weighted_inside: bool = False  # experts weigh what is inside of them, and so nothing keeps what they give
    weights_kept: bool = False  # matrices hold gathered weights until the backward pass, as their graph refers to them
    inputs_kept: bool = False  # 4-bit matrices hold their inputs until the next step's loss replaces this one's
