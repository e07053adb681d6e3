"""The bits that a weight really takes: what is stored of a whole model, over its parameters."""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from calc.architecture.layers import Architecture
from calc.architecture.stages import stages
from calc.catalog.records import ModelFormat, NumberFormat, StoredWeights
from calc.memory.stored_weights import PLACES, parameters_by_place
from calc.memory.weights import stored_bytes, stored_tensors
from calc.memory.weights_working import BLOCK_LABELS

LARGE_MATRIX = (4096, 4096)  # rows and columns of the one that formats are compared by


def bits_per_weight(*, size_bytes: float, parameters: int) -> float:
    r"""Return the bits that each parameter takes of what is stored of all: $\frac{8 \cdot B}{N}$.

    >>> bits_per_weight(size_bytes=4_500_000, parameters=8_000_000)
    4.5
    """
    return 8 * size_bytes / parameters


def matrix_bits(number_format: NumberFormat, shape: tuple[int, ...] = LARGE_MATRIX) -> float:
    """Return the bits per weight of a matrix in a number format, scales and tables included."""
    return bits_per_weight(size_bytes=stored_bytes(shape=shape, number_format=number_format), parameters=prod(shape))


class StoredBlock(NamedTuple):
    """The tensors of a block that are in one format."""

    block: str
    format_name: str
    parameters: int
    stored_bytes: int

    @property
    def bits(self) -> float:
        """Bits per weight, scales and tables included."""
        return bits_per_weight(size_bytes=self.stored_bytes, parameters=self.parameters) if self.parameters else 0.0


def stored_blocks(*, architecture: Architecture, weights: ModelFormat, group: int | None = None) -> list[StoredBlock]:
    """Return what a whole model stores, by block and format, in the order of the model.

    A format that leaves a block at 16 bit stands there as "16 bit". The parameters add up to the model's, and in files
    of llama.cpp to those without towers, which have files of their own.
    """
    (whole,) = stages(architecture, 1)
    sums: dict[tuple[str, str], list[int]] = {}
    for tensor, count, number_format in stored_tensors(whole, weights):
        left = number_format.name == weights.name and number_format.bits == 16 != getattr(weights, "bits", 16)
        entry = sums.setdefault((tensor.block, "16 bit" if left else number_format.name), [0, 0])
        number = count * tensor.copies
        entry[0] += number * prod(tensor.shape)
        entry[1] += number * stored_bytes(shape=tensor.shape, number_format=number_format, group=group)
    return [StoredBlock(block, name, parameters, size) for (block, name), (parameters, size) in sums.items()]


def file_blocks(*, architecture: Architecture, weights: StoredWeights) -> list[StoredBlock]:
    """Return what a model's file stores, by the places that its sizes are known of."""
    (whole,) = stages(architecture, 1)
    parameters = parameters_by_place(whole, 1, 1)
    sizes = weights.bytes_by_place()
    return [StoredBlock(PLACES[place], "as in the file", parameters[place], sizes[place]) for place in PLACES]


def effective_bits(blocks: list[StoredBlock]) -> float:
    """Return the bits per weight over all blocks.

    $\\frac{8 \\cdot \\sum B}{\\sum N}$: bytes stored over parameters stored.
    """
    return bits_per_weight(
        size_bytes=sum(block.stored_bytes for block in blocks), parameters=sum(block.parameters for block in blocks)
    )


class StoredTensors(NamedTuple):
    """Tensors of a model that have a name and a format in common."""

    name: str  # of one-dimensional ones, which are many and small, that of their block
    format_name: str
    alike: int  # how many there are
    parameters: int
    stored_bytes: int

    @property
    def bits(self) -> float:
        """Bits per weight, scales and tables included."""
        return bits_per_weight(size_bytes=self.stored_bytes, parameters=self.parameters)


def together(listed: Sequence[StoredTensors]) -> StoredTensors:
    """Return all of some tensors as one."""
    sums = (sum(column) for column in zip(*(item[2:] for item in listed), strict=True))
    return StoredTensors("", "", *sums)


def stored_by_tensor(*, architecture: Architecture, weights: ModelFormat) -> list[StoredTensors]:
    """Return what a whole model stores, by tensor and format, in the order of the model."""
    (whole,) = stages(architecture, 1)
    sums: dict[tuple[str, str], list[int]] = {}
    for tensor, layers, number_format in stored_tensors(whole, weights):
        name = tensor.name if len(tensor.shape) > 1 else f"{BLOCK_LABELS[tensor.block]}, one-dimensional"
        count = layers * tensor.copies
        entry = sums.setdefault((name, number_format.name), [0, 0, 0])
        entry[0] += count
        entry[1] += count * prod(tensor.shape)
        entry[2] += count * stored_bytes(shape=tensor.shape, number_format=number_format)
    return [StoredTensors(*key, *entry) for key, entry in sums.items()]
