"""Memory of the weights: every tensor in its number format, with the scales that the format stores beside it."""

from collections.abc import Iterator
from functools import lru_cache

from calc.architecture.stages import Stage, local_share
from calc.architecture.tensors import Tensor
from calc.catalog.records import Mixture, ModelFormat, NumberFormat, Recipe, StoredWeights, Weights
from calc.memory.gguf_mixtures import mixed_tensors
from calc.memory.recipes import formats_of, touched
from calc.memory.stored_weights import stored_stage_bytes

SIXTEEN_BIT = 16


def stored_bytes(*, shape: tuple[int, ...], number_format: NumberFormat, group: int | None = None) -> int:
    """Return the bytes of one tensor in a number format: elements, group scales, second-level scales, tables.

    `group` replaces the format's group size. Groups run along each row, over blocks of rows, or over the whole tensor
    where the format is flattened; a last group that is not full has a scale too. Source: the layouts named in the
    format's catalogue entry.
    """
    columns = shape[-1]
    rows = 1
    for size in shape[:-1]:
        rows *= size
    size = group or number_format.group
    bits = rows * columns * number_format.bits
    if size:
        high = -(-rows // number_format.group_rows)
        groups = -(-rows * columns // size) if number_format.flattened else high * -(-columns // size)
        bits += groups * number_format.group_bits
        if number_format.outer_group:
            bits += -(-groups // number_format.outer_group) * number_format.outer_bits
    bits += rows * number_format.row_bits + columns * number_format.column_bits
    return -(-int(bits) // 8) + number_format.tensor_bytes


@lru_cache(maxsize=64)
def sixteen_bit(number_format: NumberFormat) -> NumberFormat:
    """Return what a format leaves at 16 bit: nothing is stored beside the elements."""
    plain = number_format._replace(bits=SIXTEEN_BIT, group=0, group_bits=0, outer_group=0, outer_bits=0)
    return plain._replace(row_bits=0, column_bits=0, tensor_bytes=0, kernel="bf16")


def stored_tensors(stage: Stage, weights: ModelFormat) -> Iterator[tuple[Tensor, int, NumberFormat]]:
    """Iterate over a stage's tensors, each with how often it occurs and the format it is in.

    A format of scope "linear" leaves embeddings, output matrix, norms and biases at 16 bit, as AWQ, GPTQ and
    bitsandbytes do; one of scope "experts" attention too, as gpt-oss does. Mixtures and recipes choose a format for
    each tensor.
    """
    if isinstance(weights, Mixture):
        return mixed_tensors(stage, weights)
    if isinstance(weights, Recipe):
        return formats_of(stage.architecture, weights).of_stage(stage)
    experts, plain = stage.architecture.experts > 0, sixteen_bit(weights)
    return (
        (tensor, count, weights if touched(tensor, weights, experts=experts) else plain)
        for tensor, count in stage.tensors()
    )


@lru_cache(maxsize=4096)  # a search for what fits asks for the same stages again and again
def stage_weights_bytes(
    *,
    stage: Stage,
    tensor_parallel: int,
    expert_parallel: int,
    weights: Weights,
    group: int | None = None,
) -> int:
    """Return the bytes of a pipeline stage's weights on its fullest rank."""
    if isinstance(weights, StoredWeights):
        return stored_stage_bytes(
            stage=stage, tensor_parallel=tensor_parallel, expert_parallel=expert_parallel, weights=weights
        )
    total = 0
    for tensor, count, number_format in stored_tensors(stage, weights):
        copies, shape = local_share(tensor, tensor_parallel, expert_parallel)
        total += count * copies * stored_bytes(shape=shape, number_format=number_format, group=group)
    return total
