"""Where the parts of a model stand: layers, or experts of layers, in the host's memory, and the others on devices."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from calc.architecture.layers import Architecture
from calc.architecture.stages import Stage
from calc.catalog.records import StoredWeights, Weights
from calc.memory.stored_weights import parameters_by_place, whole_model
from calc.memory.weights import stage_weights_bytes, stored_bytes, stored_tensors

# What the system and what else runs keep of a memory. Of eleven computers whose logs of Ollama show the total and
# what is free, Macs left out, the middle one keeps 2.1 GiB; they keep from 0.6 of 3.8 to 8.9 of 31.1 GiB
# (github.com/ollama/ollama/issues/7323, 10381 and 12692; github.com/atineiatte/deep-research-at-home/issues/14; logs in
# repositories).
SYSTEM_BYTES = 2 * 2**30
SYSTEM_SHARE = 4  # of a small memory it keeps less: at most this part of it


class Host(NamedTuple):
    """A machine's processor and memory, as far as they work on a model."""

    name: str
    bandwidth: float  # bytes a second of its memory, by its data sheet
    cores: int
    rate: float  # operations a second of all cores on 8-bit numbers
    memory_bytes: int | None  # None: not stated, and not checked
    source: str
    pinned: bool = False  # what stands in its memory is read into pinned memory, not mapped from its file
    shared: bool = False  # its memory is what a GPU that shares it leaves, of which the system takes what is not used

    @property
    def usable_bytes(self) -> int | None:
        """What its system leaves of its memory to a model; None where the memory is not stated."""
        if self.memory_bytes is None or self.shared:
            return self.memory_bytes
        return left_by_system(self.memory_bytes)


def left_by_system(memory_bytes: int) -> int:
    """Return what a host's system leaves of its memory to a model, in bytes.

    >>> left_by_system(8 * 2**30) == 6 * 2**30, left_by_system(4 * 2**30) == 3 * 2**30
    (True, True)
    """
    return memory_bytes - min(SYSTEM_BYTES, memory_bytes // SYSTEM_SHARE)


class Placement(NamedTuple):
    """What of a model stands on devices: its last layers, without the routed experts of its first layers."""

    device_layers: int | None = None  # None: all of them
    host_experts: int = 0  # the first so many layers of the model keep their routed experts in the host's memory

    @property
    def alone(self) -> bool:
        """Whether the host works alone."""
        return self.device_layers == 0

    @property
    def on_host(self) -> bool:
        """Whether any layer or expert stands in the host's memory."""
        return self.device_layers is not None or self.host_experts > 0

    def first(self, architecture: Architecture) -> int:
        """Return the first layer that stands on a device."""
        return 0 if self.device_layers is None else architecture.layer_count - self.device_layers

    def host_layers(self, architecture: Architecture) -> Stage:
        """Return the layers that stand in the host's memory, with the embeddings, which always do."""
        return Stage(architecture, 0, self.first(architecture))

    def apart(self, stage: Stage) -> Stage:
        """Return the layers of a stage on a device whose experts stand in the host's memory."""
        last = min(max(self.host_experts, stage.first), stage.last)
        return Stage(stage.architecture, stage.first, last)


ON_DEVICES = Placement()


def split_layers(layers: int, shares: Sequence[float]) -> list[int]:
    """Return how many of some layers each device gets by its share, as llama.cpp cuts them.

    The output matrix counts as one layer more, behind the last. Source: llama.cpp, src/llama-model.cpp (load_tensors).

    >>> split_layers(48, [24, 12]), split_layers(4, [1, 1, 0])
    ([33, 15], [3, 1, 0])
    """
    total, ends = sum(shares), list(accumulate(shares))
    owners = [bisect_right(ends, total * layer / (layers + 1)) for layer in range(layers)]
    return [owners.count(device) for device in range(len(shares))]


@lru_cache(maxsize=512)  # the same for any number of sequences and any device
def expert_bytes(stage: Stage, weights: Weights, group: int | None) -> int:
    """Return the bytes of a stage's routed experts; of a file that gives sums alone, by their share of the elements."""
    if isinstance(weights, StoredWeights):
        chosen = sum(count * tensor.elements for tensor, count in stage.tensors() if tensor.active is not None)
        every = parameters_by_place(whole_model(stage.architecture), 1, 1)["layers"]
        return weights.layers * chosen // every if every else 0
    return sum(
        count * tensor.copies * stored_bytes(shape=tensor.shape, number_format=number_format, group=group)
        for tensor, count, number_format in stored_tensors(stage, weights)
        if tensor.active is not None
    )


def kept_bytes(placement: Placement, architecture: Architecture, weights: Weights, group: int | None) -> int:
    """Return the bytes of the weights that a placement leaves in the host's memory: whole layers, experts of others."""
    away = placement.host_layers(architecture)
    experts = expert_bytes(placement.apart(Stage(architecture, away.last, architecture.layer_count)), weights, group)
    if not away.last:
        return experts
    layers = stage_weights_bytes(stage=away, tensor_parallel=1, expert_parallel=1, weights=weights, group=group)
    return layers + experts


@lru_cache(maxsize=512)  # the same for any number of sequences and any device
def widest_bytes(stage: Stage, weights: Weights, group: int | None, *, experts_alone: bool) -> int:
    """Return the bytes of the largest matrix of a stage's layers, or of their experts, which are one in a layer."""
    if isinstance(weights, StoredWeights) or not stage.kind_counts():
        return 0
    inner = {tensor.name for kind, _ in stage.kind_counts() for tensor in kind.tensors}
    return max(
        (
            tensor.copies * stored_bytes(shape=tensor.shape, number_format=number_format, group=group)
            for tensor, _, number_format in stored_tensors(stage, weights)
            if tensor.name in inner and (tensor.active is not None or not experts_alone)
        ),
        default=0,
    )
