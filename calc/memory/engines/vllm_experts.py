"""vLLM's experts: what their weights are filled up to, and the workspace that their fused kernels keep."""

from functools import lru_cache
from typing import NamedTuple

from calc.architecture.stages import Stage, local_share
from calc.architecture.tensors import SPLIT_IN
from calc.catalog.records import Accelerator, Engine, NumberFormat
from calc.memory.runtime import Case
from calc.memory.weights import stored_bytes, stored_tensors


class Tile(NamedTuple):
    """To multiples of what a kernel fills up the matrices of an expert in MXFP4."""

    inner: int  # of the width between its matrices
    stream: int  # of the width that the model has
    scales: bool = True  # whether the scales are filled up too, and what is written, not only what is read


# Source: `create_weights` in vLLM's mxfp4.py; Triton's layout for Hopper fills up what a matrix reads, and no scales.
MARLIN, TENSORRT_LLM, TRITON = Tile(128, 256), Tile(256, 256), Tile(256, 256, scales=False)
NARROW, ON_AMD = Tile(128, 128), {"CDNA 4": Tile(256, 256)}


def expert_tile(engine: Engine, device: Accelerator | None) -> Tile:
    """Return the tile of the kernel that multiplies by experts in MXFP4 on a device.

    Triton's kernels run on Hopper alone, TensorRT-LLM's by way of FlashInfer on Blackwell's modules, and Marlin's
    on all others of NVIDIA. Source: `get_mxfp4_backend` in vLLM's mxfp4.py.
    """
    if device is not None and device.vendor in ("AMD", "Intel"):
        return ON_AMD.get(device.architecture, NARROW)
    if device is None or device.architecture == "Hopper":
        return MARLIN if engine.lacks("runs_experts_by_triton") else TRITON
    modules = device.architecture.startswith("Blackwell") and device.text("memory_type").startswith("HBM")
    return TENSORRT_LLM if modules else MARLIN


def expert_padding(case: Case) -> int:
    """Return what is added to experts in MXFP4, whose widths are stored in multiples of a kernel's tile."""
    weights, layout = case.demand.weights, case.layout
    if not isinstance(weights, NumberFormat) or weights.id != "mxfp4":
        return 0
    tile = expert_tile(case.engine, case.accelerator)
    return padded_bytes(case.stage, weights, layout.tensor, layout.expert, tile=tile)


@lru_cache(maxsize=256)  # the same for any number of sequences and any device
def padded_bytes(stage: Stage, weights: NumberFormat, tensor_ranks: int, expert_ranks: int, tile: Tile) -> int:
    """Return the bytes of a stage's experts beyond their own, each matrix filled up to whole tiles."""
    added = 0
    for tensor, count, number_format in stored_tensors(stage, weights):
        if tensor.block != "expert" or len(tensor.shape) < 2:
            continue
        copies, shape = local_share(tensor, tensor_ranks, expert_ranks)
        written, read = (tile.stream, tile.inner) if tensor.split == SPLIT_IN else (tile.inner, tile.stream)
        plain = number_format if tile.scales else number_format._replace(group=0, group_bits=0)
        rows = -(-shape[0] // written) * written if tile.scales else shape[0]
        filled = stored_bytes(shape=(rows, -(-shape[1] // read) * read), number_format=plain)
        added += count * copies * (filled - stored_bytes(shape=shape, number_format=plain))
    return added


def expert_workspace(case: Case) -> int:
    """Return the elements for each token that a mixture's fused kernels keep once a layer has run.

    Each of the experts of a token has a row as wide as the gate and up products or what they read, and one as wide as
    what goes into the down product or what comes out of it. Source: vLLM's fused_moe (`workspace_shapes`), whose
    workspace is kept for all layers, and no longer for a chunk of the tokens alone.
    Experts in MXFP4 have kernels that gather and scatter by themselves.
    """
    weights = case.demand.weights
    if not case.engine.values.get("expert_workspace") or (isinstance(weights, NumberFormat) and weights.id == "mxfp4"):
        return 0
    return stage_workspace(case.stage, case.layout.tensor, case.layout.expert)


def passing_rows(case: Case) -> int:
    """Return the elements for each token that fused kernels work on in a layer, where no workspace is kept.

    A row of each of a token's experts holds the gate and up products and then what comes out of the down product,
    another what goes into it. Source: `fused_marlin_moe` and `fused_experts_impl` in vLLM (`intermediate_cache13`).
    """
    if case.engine.values.get("expert_workspace", 1):
        return 0
    return stage_workspace(case.stage, case.layout.tensor, case.layout.expert, kept=False)


@lru_cache(maxsize=256)  # the same for any number of sequences and any device
def stage_workspace(stage: Stage, tensor_ranks: int, expert_ranks: int, *, kept: bool = True) -> int:
    """Return the elements for each token of the widest layer's workspace, or of the rows of one that is not kept."""
    found = 0
    for kind, _ in stage.kind_counts():
        for tensor in kind.tensors:
            if tensor.block == "expert" and tensor.active and tensor.split == SPLIT_IN and len(tensor.shape) == 2:
                stream, inner = local_share(tensor, tensor_ranks, expert_ranks)[1]  # a latent one is narrower
                outer = inner * (2 if kind.mlp_gated else 1)
                second = max(inner, stream) if kept else inner
                found = max(found, tensor.active * (second + max(outer, stream)))
    return found
