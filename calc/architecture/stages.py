"""Splitting a model over devices: which layers a pipeline stage holds, which share of a tensor a rank."""

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from calc.architecture.layers import Architecture, Layer
from calc.architecture.tensors import SPLIT_IN, SPLIT_NONE, Tensor


class Stage(NamedTuple):
    """The layers `first` to `last` (exclusive), and whether the embeddings and the output head stand with them."""

    architecture: Architecture
    first: int
    last: int

    @property
    def is_first(self) -> bool:
        """Whether the stage holds the embeddings."""
        return self.first == 0

    @property
    def is_last(self) -> bool:
        """Whether the stage holds the final norm and the output matrix."""
        return self.last == self.architecture.layer_count

    def kind_counts(self) -> tuple[tuple[Layer, int], ...]:
        """Return each kind of layer in the stage with how often it occurs."""
        return self.architecture.kind_counts(self.first, self.last)

    @property
    def content(self) -> tuple[int, ...]:
        """How many layers of each kind of the model stand in it: what tells its layers from another stage's."""
        span = self.architecture.pattern[self.first : self.last]
        return tuple(map(span.count, range(len(self.architecture.kinds))))

    def uses(self, tensor: Tensor, stored: int) -> int:
        """Return how many times a pass meets a tensor that is stored so often: a shared one once in each layer."""
        return sum(count for kind, count in self.kind_counts() if tensor in kind.tensors) if tensor.shared else stored

    def tensors(self) -> Iterator[tuple[Tensor, int]]:
        """Iterate over the stage's tensors, each with how often it occurs.

        A tied output matrix is the embedding: a last stage that is not also the first holds a second copy of it.
        """
        if self.is_first:
            yield from ((tensor, 1) for tensor in self.architecture.embeddings)
        for kind, count in self.kind_counts():
            yield from ((tensor, tensor.stored(count)) for tensor in kind.tensors)
        if self.is_last:
            yield from ((tensor, 1) for tensor in self.architecture.head)
            if self.architecture.tied and not self.is_first:
                yield self.architecture.embeddings[0], 1


EVEN, COST = "even", "cost"  # how layers are given to stages


def stages(architecture: Architecture, pipeline: int, split: str = EVEN) -> list[Stage]:
    """Split the layers into `pipeline` consecutive stages as evenly as can be.

    Layers left over go to the stages before the last one, from the back, because the last one holds the output matrix
    and the first one the embeddings. Source: GPipe (arXiv:1811.06965) for the split; vLLM's get_pp_indices
    for the order. With `split` "cost" the output matrix counts beside the layers.
    """
    sizes = by_cost(architecture, pipeline) if split == COST else evenly(architecture.layer_count, pipeline)
    result, first = [], 0
    for size in sizes:
        result.append(Stage(architecture, first, first + size))
        first += size
    return result


def evenly(layers: int, pipeline: int) -> list[int]:
    """Return the layers of each stage, alike but for one.

    >>> evenly(32, 5)
    [6, 6, 7, 7, 6]
    """
    share, left = divmod(layers, pipeline)
    sizes = [share] * pipeline
    order = [*range(pipeline - 2, 0, -1), *([0] if pipeline > 1 else []), pipeline - 1]
    for position in order[:left]:
        sizes[position] += 1
    return sizes


def by_cost(architecture: Architecture, pipeline: int) -> list[int]:
    """Return the layers of each stage where each takes blocks until it has its share of what all of them multiply.

    A block costs the elements of its matrices, the output matrix included; a stage ends with the block that takes it
    beyond its share (Nanotron's build_model). Every stage keeps a layer.
    """
    costs = {id(kind): sum(matrix_elements(tensor) for tensor in kind.tensors) for kind in architecture.kinds}
    every = [costs[id(architecture.kinds[place])] for place in architecture.pattern]
    total = sum(every) + architecture.vocab_size * architecture.hidden_size
    sizes, stage, passed = [0] * pipeline, 0, 0
    for position, cost in enumerate(every):
        sizes[stage] += 1
        passed += cost
        full = passed * pipeline > total * (stage + 1) or len(every) - position - 1 < pipeline - stage
        stage += full and stage < pipeline - 1
    return sizes


def matrix_elements(tensor: Tensor) -> int:
    """Return the elements of a matrix that a token meets; 0 of what is no matrix."""
    copies = tensor.copies if tensor.active is None else tensor.active
    return copies * prod(tensor.shape) if len(tensor.shape) == 2 else 0


def local_heads(heads: int, tensor_parallel: int) -> int:
    """Return the heads on one rank; when ranks outnumber the heads, each holds one (GQA, arXiv:2305.13245).

    >>> local_heads(8, 4), local_heads(8, 16)
    (2, 1)
    """
    return -(-heads // tensor_parallel)


def local_share(tensor: Tensor, tensor_parallel: int, expert_parallel: int = 1) -> tuple[int, tuple[int, ...]]:
    """Return how many copies of a tensor the fullest rank holds, and the shape of its largest share of each.

    Tensor parallelism as in Megatron-LM (arXiv:1909.08053). Expert ranks are taken out of the tensor-parallel ones
    first: they hold whole experts, and what is left of tensor parallelism divides each expert.
    """
    copies = tensor.copies
    if tensor.active is not None:
        copies = -(-copies // expert_parallel)
        tensor_parallel = max(1, tensor_parallel // expert_parallel)
    if tensor_parallel == 1 or tensor.split == SPLIT_NONE:
        return copies, tensor.shape
    rows, *rest = tensor.shape
    if tensor.units is not None:
        return copies, (rows // tensor.units * local_heads(tensor.units, tensor_parallel), *rest)
    if tensor.split == SPLIT_IN:
        return copies, (rows, -(-rest[0] // tensor_parallel))
    return copies, (-(-rows // tensor_parallel), *rest)
