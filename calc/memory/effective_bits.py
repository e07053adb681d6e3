"""The bits that a weight really takes: what is stored of a whole model, over its parameters."""

from math import prod
from typing import NamedTuple

from calc.architecture.layers import Architecture
from calc.architecture.stages import stages
from calc.catalog.records import ModelFormat, StoredWeights
from calc.memory.stored_weights import PLACES, parameters_by_place
from calc.memory.weights import stored_bytes, stored_tensors


class StoredBlock(NamedTuple):
    """The tensors of a block that are in one format."""

    block: str
    format_name: str
    parameters: int
    stored_bytes: int

    @property
    def bits(self) -> float:
        """Bits per weight, scales and tables included."""
        return 8 * self.stored_bytes / self.parameters if self.parameters else 0.0


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
    return 8 * sum(block.stored_bytes for block in blocks) / sum(block.parameters for block in blocks)
