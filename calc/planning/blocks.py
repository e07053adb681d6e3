"""Weights in blocks or groups that tensor parallelism would cut: engines start only where pieces are whole ones."""

from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from calc.architecture.layers import Architecture
from calc.architecture.stages import local_share
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT
from calc.catalog.records import NumberFormat, StoredWeights, Weights
from calc.memory.stored_weights import whole_model
from calc.memory.weights import stored_tensors

CUT = (
    "attention",
    "mlp",
    "expert",
    "shared_expert",
    "vision_expert",
)  # engines leave small matrices of recurrent layers whole

Blocks = tuple[str, ...]
DENSE: Blocks = ("attention", "mlp", "shared_expert")
EXPERTS: Blocks = ("expert",)
IN_GROUPS = ("awq", "gptq-int4", "gptq-int8", "int4-group")
SIDE_BY_SIDE = ("mlp", "expert", "shared_expert")  # whose matrices with one input are multiplied as one
TILE = 64  # outputs that Marlin's kernels multiply at a time


class Cut(NamedTuple):
    """A matrix whose blocks a split cuts: the side that is split, a rank's piece of it, and the height of a block."""

    block: str  # one of CUT
    side: int
    piece: int
    whole: int
    instead: str = ""  # what leaves them whole, too

    def message(self, ranks: int) -> str:
        """Return why it does not start, in a sentence."""
        what = self.block.replace("_", " ")
        return (
            f"{ranks} tensor ranks would cut blocks of {self.whole}: of {self.side:,} each has {self.piece:,} "
            f"({what} matrices); fewer ranks{self.instead and f', or {self.instead},'} leave them whole"
        )


@lru_cache(maxsize=512)  # each layout of a search asks for the same few
def cut_blocks(architecture: Architecture, weights: Weights, tensor_ranks: int, expert_ranks: int) -> Cut | None:
    """Return the first matrix of a layer whose blocks a split would cut, None where all pieces are whole blocks.

    A format has blocks where a scale extends over several rows. Sides that are not split may end within a block, and
    matrices with a side narrower than a block, such as a gate for each head, are left at 16 bit.
    Source: vLLM, model_executor/layers/quantization/utils/fp8_utils.py (validate_fp8_block_shape) and fp8.py.
    """
    if tensor_ranks == 1 or isinstance(weights, StoredWeights):
        return None
    if isinstance(weights, NumberFormat) and weights.group_rows < 2:  # what it leaves out has 16 bit
        return None
    for tensor, _, number_format in stored_tensors(whole_model(architecture), weights):
        if number_format.group_rows < 2 or tensor.block not in CUT or len(tensor.shape) < 2:
            continue
        if tensor.block == "attention" and tensor.split == SPLIT_OUT and whole_groups(architecture, tensor_ranks):
            continue
        shape = local_share(tensor, tensor_ranks, expert_ranks)[1]
        side, whole = (1, number_format.group) if tensor.split == SPLIT_IN else (0, number_format.group_rows)
        if shape[side] != tensor.shape[side] >= whole and shape[side] % whole:
            instead = "expert parallelism" if tensor.block == "expert" else ""
            return Cut(tensor.block, tensor.shape[side], shape[side], whole, instead=instead)
    return None


def whole_groups(architecture: Architecture, tensor_ranks: int) -> bool:
    """Return whether ranks take whole groups of queries, keys and values, which a file stores in blocks of their own.

    Source: vLLM, model_executor/models/mimo_v2.py (a group for each KV head; more ranks than groups are refused).
    """
    return architecture.fused_groups > 0 and architecture.fused_groups % tensor_ranks == 0


@lru_cache(maxsize=512)  # each layout of a search asks for the same few
def cut_groups(
    architecture: Architecture, weights: Weights, tensor_ranks: int, expert_ranks: int = 1, blocks: Blocks = DENSE
) -> Cut | None:
    """Return the first matrix whose groups along its inputs a split would cut, None where all pieces are whole groups.

    Of formats of 4 and 8 bits that AWQ and GPTQ write, whose kernels read whole groups. Experts are let be: their
    kernels take smaller groups, but in some versions. Where a maker filled inner widths up before, as Qwen did for
    Qwen2.5 72B, its files are meant. Source: vLLM, model_executor/layers/quantization/utils/marlin_utils.py
    (verify_marlin_supports_shape) and awq.py.
    """
    if tensor_ranks == 1 or isinstance(weights, StoredWeights):
        return None
    for tensor, _, number_format in stored_tensors(whole_model(architecture), weights):
        if number_format.id not in IN_GROUPS or tensor.block not in blocks or tensor.split != SPLIT_IN:
            continue
        side, piece = tensor.shape[1], local_share(tensor, tensor_ranks, expert_ranks)[1][1]
        if tensor.block == "mlp" and architecture.filled_width > side:
            piece = architecture.filled_width * piece // side
        if piece % number_format.group:
            instead = "a file whose maker filled them up" if tensor.block in DENSE else "expert parallelism"
            return Cut(tensor.block, side, piece, number_format.group, instead=instead)
    return None


@lru_cache(maxsize=512)  # each layout of a search asks for the same few
def cut_tiles(
    architecture: Architecture, weights: Weights, tensor_ranks: int, expert_ranks: int, formats: tuple[str, ...]
) -> Cut | None:
    """Return the first outputs in one of the formats that ranks would have other than whole tiles of, None without any.

    Source: vLLM, csrc/quantization/marlin/gptq_marlin_repack.cu (tile_n_size).
    """
    if tensor_ranks == 1 or isinstance(weights, StoredWeights):
        return None
    for block, tensors in groupby(stored_tensors(whole_model(architecture), weights), lambda item: item[0].block):
        rows = [
            (tensor.shape[0], local_share(tensor, tensor_ranks, expert_ranks)[1][0])
            for tensor, _, number_format in tensors
            if number_format.id in formats and tensor.split == SPLIT_OUT and len(tensor.shape) > 1
        ]
        if block in SIDE_BY_SIDE and (piece := sum(local for _, local in rows)) % TILE:
            instead = "expert parallelism" if block == "expert" else ""
            return Cut(block, sum(whole for whole, _ in rows), piece, TILE, instead=instead)
    return None
