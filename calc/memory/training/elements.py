"""Counting what one device holds of a model in training: elements of each layer, of the embeddings and of the head."""

from functools import lru_cache
from math import prod
from typing import NamedTuple

from calc.architecture.identity import Same
from calc.architecture.layers import Architecture, Layer
from calc.architecture.stages import Stage, local_share
from calc.architecture.tensors import Tensor, linear
from calc.catalog.records import NumberFormat
from calc.memory.training.run import Adapters
from calc.memory.training.states import Optimizer, state_bytes
from calc.memory.weights import sixteen_bit, stored_bytes


class Held(NamedTuple):
    """Elements and bytes of a group of tensors on one device, before sharding over data-parallel ranks."""

    elements: int = 0  # stored, adapters not counted
    trained: int = 0  # with gradients, adapters and copies of modules saved beside them included
    updated: int = 0  # the same as the optimizer's ranks divide it: experts have fewer ranks to share them
    added_bytes: int = 0  # adapters, and copies of modules, stored beside the base
    gradient_bytes: int = 0  # of what is trained, as it waits for the optimizer
    base_bytes: int = 0  # the base as stored
    whole_bytes: int = 0  # a frozen base and what is added to it, as they are gathered: of experts, a rank's own
    state_bytes: int = 0  # optimizer states
    largest: int = 0  # elements of the largest trained tensor
    tensors: int = 0  # trained tensors

    def plus(self, other: "Held", count: int = 1) -> "Held":
        """Return the group with `count` times another one added."""
        elements, trained, updated, added, gradients, base, whole, states, largest, tensors = other
        return Held(  # spelled out, as a run's repairs come here ten thousand times
            elements=self.elements + count * elements,
            trained=self.trained + count * trained,
            updated=self.updated + count * updated,
            added_bytes=self.added_bytes + count * added,
            gradient_bytes=self.gradient_bytes + count * gradients,
            base_bytes=self.base_bytes + count * base,
            whole_bytes=self.whole_bytes + count * whole,
            state_bytes=self.state_bytes + count * states,
            largest=max(self.largest, largest),
            tensors=self.tensors + count * tensors,
        )


class Method(NamedTuple):
    """How a model is trained: what of it, and in what the rest is stored."""

    adapters: Adapters | None
    base: NumberFormat  # of the stored weights
    group: int | None
    optimizer: Optimizer
    updated_bytes: int  # an element that the optimizer updates
    gradient_bytes: int  # its gradient as it waits for the optimizer
    copy_bytes: int  # an element of a module copied beside the adapters: as the base computes
    all_gradients: bool = False  # frozen weights get gradients too
    rest_bytes: int = 0  # an element that a quantized base leaves as it is; 0: 16 bit
    experts_left: bool = False  # a quantized base leaves experts as they are
    expert_shares: tuple[int, int, int] = (1, 1, 1)  # times fewer ranks for an expert: states, gradients, weights

    def quantizes(self, tensor: Tensor) -> bool:
        """Return whether a tensor is stored in the base's number format."""
        left = self.experts_left and tensor.active is not None
        return self.base.scope == "all" or (tensor.quantizable and not left)


def low_rank_tensors(tensor: Tensor, adapters: Adapters) -> tuple[Tensor, ...]:
    """Return the tensors that an adapter adds to a matrix: A, B, and for DoRA (arXiv:2402.09353) a magnitude a row."""
    rows, columns = tensor.shape
    name = tensor.name.removesuffix(".weight")
    split_a = tensor.split if tensor.split == "in" else "none"
    split_b = tensor.split if tensor.split == "out" else "none"
    added = linear(f"{name}.lora_A", "adapter", adapters.rank, columns, split=split_a, copies=tensor.copies)
    added += linear(f"{name}.lora_B", "adapter", rows, adapters.rank, split=split_b, copies=tensor.copies)
    if adapters.dora:
        added += (Tensor(f"{name}.magnitude", "adapter", (rows,), split_b, copies=tensor.copies),)
    return tuple(extra._replace(active=tensor.active) for extra in added)


def held(tensor: Tensor, method: Method, tensor_parallel: int, expert_parallel: int) -> Held:
    """Return what a device holds of one tensor, with its adapter."""
    copies, shape = local_share(tensor, tensor_parallel, expert_parallel)
    elements = copies * prod(shape)
    touched = method.quantizes(tensor)
    number_format = method.base if touched else sixteen_bit(method.base)
    stored = copies * stored_bytes(shape=shape, number_format=number_format, group=method.group)
    if not touched and method.rest_bytes:
        stored = elements * method.rest_bytes
    adapters = method.adapters
    module = tensor.name.rsplit(".", 1)[0]
    of_states, of_gradients, of_weights = (1, 1, 1) if tensor.active is None else method.expert_shares

    def updated(extra: Tensor, width: int, gradient: int) -> Held:
        count, part = local_share(extra, tensor_parallel, expert_parallel)
        size = count * prod(part)
        states = count * state_bytes(optimizer=method.optimizer, tensor=extra, shape=part, updated_bytes=width)
        return Held(
            trained=size,
            updated=size * of_states,
            added_bytes=size * width * of_weights,
            whole_bytes=size * width,
            gradient_bytes=size * gradient * of_gradients,
            state_bytes=states * of_states,
            largest=prod(part),
            tensors=count,
        )

    if adapters is None:
        trained = updated(tensor, method.updated_bytes, method.gradient_bytes)
        return trained._replace(elements=elements, base_bytes=stored * of_weights, added_bytes=0, whole_bytes=0)
    wasted = elements * method.copy_bytes * of_gradients if method.all_gradients else 0
    result = Held(elements=elements, base_bytes=stored * of_weights, whole_bytes=stored, gradient_bytes=wasted)
    if module.rsplit(".", 1)[-1] in adapters.saved:
        return result.plus(updated(tensor, method.copy_bytes, method.copy_bytes))
    if len(tensor.shape) == 2 and tensor.name.endswith(".weight") and adapters.covers(module):
        for extra in low_rank_tensors(tensor, adapters):
            result = result.plus(updated(extra, method.updated_bytes, method.gradient_bytes))
    return result


class Inventory(NamedTuple):
    """What a pipeline stage holds on one device, group by group."""

    layers: tuple[tuple[Layer, Held], ...]  # one layer of each kind
    shared: Held  # what layers of a kind have together
    embedding: Held
    head: Held
    table: int  # elements of the local token table
    tied: bool  # the output matrix is the embedding, on the same device
    total: Held  # all of the stage together


@lru_cache(maxsize=4096)  # a plan asks for every kind of layer of every model, with each method
def held_together(
    tensors: Same[tuple[Tensor, ...]],
    method: Method,
    tensor_parallel: int,
    expert_parallel: int,
    shared: bool | None = None,
) -> Held:
    """Return what a device holds of several tensors: of all, of those that layers share, or of the others."""
    total = Held()
    for tensor in tensors.value:
        if shared is None or shared == bool(tensor.shared):
            total = total.plus(held(tensor, method, tensor_parallel, expert_parallel))
    return total


@lru_cache(maxsize=128)  # most of what repairs change leaves it as it is
def take_inventory(
    architecture: Same[Architecture],
    *,
    first: int,
    last: int,
    method: Method,
    tensor_parallel: int,
    expert_parallel: int,
) -> Inventory:
    """Return what a device of a stage holds, whose layers are those of an architecture from `first` to `last`."""
    stage = Stage(architecture.value, first, last)

    def together(tensors: tuple[Tensor, ...], shared: bool | None = None) -> Held:
        return held_together(Same(tensors), method, tensor_parallel, expert_parallel, shared=shared)

    kinds = [kind for kind, _ in stage.kind_counts()]
    common = Held()
    for kind in kinds:
        if any(tensor.shared for tensor in kind.tensors):
            common = common.plus(together(kind.tensors, True))
    table, tied = stage.architecture.embeddings[0], stage.architecture.tied
    head = together(stage.architecture.head) if stage.is_last else Held()
    if stage.is_last and tied and not stage.is_first:
        head = head.plus(held(table, method, tensor_parallel, expert_parallel))
    copies, shape = local_share(table, tensor_parallel, expert_parallel)
    embedding = together(stage.architecture.embeddings) if stage.is_first else Held()
    layers = [(kind, together(kind.tensors, False), count) for kind, count in stage.kind_counts()]
    total = embedding.plus(head).plus(common)
    for _, group, count in layers:
        total = total.plus(group, count)
    return Inventory(
        layers=tuple((kind, group) for kind, group, _ in layers),
        shared=common,
        embedding=embedding,
        head=head,
        table=copies * prod(shape),
        tied=tied and stage.is_first and stage.is_last,
        total=total,
    )
