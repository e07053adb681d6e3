"""The stored tensors that a model is made of: their shape, their block, and how parallelism divides them."""

from math import prod
from typing import NamedTuple

# How tensor parallelism divides a tensor (Megatron-LM, arXiv:1909.08053, section 3).
SPLIT_NONE = "none"  # every rank holds all of it: norms, position tables, biases added after the reduction
SPLIT_OUT = "out"  # by output feature: the first matrix of a pair
SPLIT_IN = "in"  # by input feature: the second matrix of a pair
SPLIT_VOCAB = "vocab"  # by vocabulary row

BLOCKS = (
    "token_embedding",
    "other_embedding",
    "attention",
    "ssm",
    "mlp",
    "convolution",
    "router",
    "expert",
    "shared_expert",
    "shared_expert_gate",
    "vision_expert",
    "norm",
    "statistics",
    "layer_other",
    "vision",
    "audio",
    "other",
    "final_norm",
    "lm_head",
    "head",
)
CONVOLUTION, STATISTICS = "convolution", "statistics"
RUNNING_MEAN = ".running_mean"  # of a batch norm's channels, which files keep beside its weight and bias
QUANTIZED_BLOCKS = ("attention", "ssm", "mlp", "expert", "shared_expert", "vision_expert")


class Tensor(NamedTuple):
    """One stored tensor, or several alike side by side. A matrix has the shape (output features, input features)."""

    name: str
    block: str
    shape: tuple[int, ...]
    split: str = SPLIT_NONE
    units: int | None = None  # wholes that a split keeps together, and repeats when ranks outnumber them: KV heads
    copies: int = 1  # how many alike there are: the experts of a layer, the layers of a tower
    active: int | None = None  # of the copies those that one token uses; None: all of them
    shared: int = 0  # the number of a set that layers of a kind have together, stored once; 0: each layer has its own
    places: float = 1  # of a finer grid that a token stands for, each of which meets it; 0: a whole input meets it once
    reads: int = 0  # elements of its input that a convolution reads anew for a place; 0: it is none

    @property
    def elements(self) -> int:
        """Number of parameters it holds."""
        return self.copies * self.elements_each

    @property
    def elements_each(self) -> int:
        """Number of parameters of one of those that are alike."""
        return prod(self.shape)

    def alike(self, layers: int) -> int:
        """Return how many are alike in some layers that each have their own."""
        return layers * self.copies

    def elements_in(self, layers: int) -> int:
        """Return the number of parameters of all that are alike in some layers.

        >>> Tensor("experts.weight", "expert", (2, 3), copies=8).elements_in(10)
        480
        """
        return self.alike(layers) * self.elements_each

    @property
    def active_elements(self) -> int:
        """Number of parameters that one token uses."""
        return (self.copies if self.active is None else self.active) * prod(self.shape)

    def stored(self, layers: int) -> int:
        """Return how often it is stored for some layers of one kind, each of which uses it.

        >>> Tensor("mlp.weight", "mlp", (2, 2)).stored(12), Tensor("mlp.weight", "mlp", (2, 2), shared=1).stored(12)
        (12, 1)
        """
        return 1 if self.shared else layers

    @property
    def quantizable(self) -> bool:
        """Whether weight-only quantisers touch it: the matrices of the layers.

        Not touched are tables, heads, norms, biases, routers, towers and the bare parameters of state-space layers.
        """
        return len(self.shape) == 2 and self.block in QUANTIZED_BLOCKS and self.name.endswith(".weight")


Tensors = tuple[Tensor, ...]


def linear(
    name: str,
    block: str,
    outputs: int,
    inputs: int,
    split: str = SPLIT_NONE,
    *,
    bias: bool = False,
    units: int | None = None,
    copies: int = 1,
    active: int | None = None,
) -> tuple[Tensor, ...]:
    """Return the tensors of one linear layer; a bias is split like the outputs and whole on each rank otherwise."""
    weight = Tensor(f"{name}.weight", block, (outputs, inputs), split, units=units, copies=copies, active=active)
    if not bias:
        return (weight,)
    bias_split = split if split in (SPLIT_OUT, SPLIT_VOCAB) else SPLIT_NONE
    return weight, Tensor(f"{name}.bias", block, (outputs,), bias_split, units=units, copies=copies, active=active)


def norm(name: str, size: int, *, bias: bool = False, block: str = "norm", copies: int = 1) -> tuple[Tensor, ...]:
    """Return the tensors of one normalisation: a weight, and for a full LayerNorm a bias."""
    weight = Tensor(f"{name}.weight", block, (size,), copies=copies)
    return (weight, weight._replace(name=f"{name}.bias")) if bias else (weight,)


def convolution(
    name: str,
    outputs: int,
    inputs: int,
    kernel: int | tuple[int, ...],
    *,
    places: float = 1,
    stride: int = 1,
    groups: int = 1,
    bias: bool = False,
    block: str = CONVOLUTION,
    copies: int = 1,
) -> tuple[Tensor, ...]:
    """Return a convolution whose output has `places` for each token, `stride` apart along both sides of its input.

    Its channels stand in groups that each read their part of the inputs. `kernel` is the side of its window, or all its
    sides. `places` 0: over what is meant over a whole image.
    """
    sides = (kernel, kernel) if isinstance(kernel, int) else kernel
    weight = Tensor(
        f"{name}.weight",
        block,
        (outputs, inputs // groups, *sides),
        copies=copies,
        places=places,
        reads=inputs * stride ** len(sides),
    )
    return (weight, Tensor(f"{name}.bias", block, (outputs,), copies=copies)) if bias else (weight,)


def batch_norm(name: str, size: int, *, places: float = 1, copies: int = 1) -> tuple[Tensor, ...]:
    """Return what a batch norm stores: weight and bias, and the means and variances that it saw (arXiv:1502.03167)."""
    mean = Tensor(f"{name}{RUNNING_MEAN}", STATISTICS, (size,), copies=copies, places=places)
    return (*norm(name, size, bias=True, copies=copies), mean, mean._replace(name=f"{name}.running_var"))
