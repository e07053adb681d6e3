"""vLLM's experts: what their weights are filled up to, and the workspace that their fused kernels keep."""

from functools import lru_cache

from calc.architecture.stages import Stage, local_share
from calc.architecture.tensors import SPLIT_IN
from calc.catalog.records import NumberFormat
from calc.memory.runtime import Case
from calc.memory.weights import stored_bytes, stored_tensors


def expert_padding(case: Case) -> int:
    """Return what is added to experts in MXFP4, whose inner width is stored in multiples of a kernel's tile."""
    weights, layout = case.demand.weights, case.layout
    if not isinstance(weights, NumberFormat) or weights.id != "mxfp4":
        return 0
    return padded_bytes(
        case.stage, weights, layout.tensor, layout.expert, multiple=case.engine.whole("expert_multiple")
    )


@lru_cache(maxsize=256)  # the same for any number of sequences and any device
def padded_bytes(stage: Stage, weights: NumberFormat, tensor_ranks: int, expert_ranks: int, multiple: int) -> int:
    """Return the bytes of a stage's experts beyond their own, each matrix filled up to whole tiles."""
    added = 0
    for tensor, count, number_format in stored_tensors(stage, weights):
        if tensor.block != "expert" or len(tensor.shape) < 2:
            continue
        copies, shape = local_share(tensor, tensor_ranks, expert_ranks)
        side = 1 if tensor.split == SPLIT_IN else 0
        stored = stored_bytes(shape=shape, number_format=number_format)
        added += count * copies * stored * (-shape[side] % multiple) // shape[side]
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


@lru_cache(maxsize=256)  # the same for any number of sequences and any device
def stage_workspace(stage: Stage, tensor_ranks: int, expert_ranks: int) -> int:
    """Return the elements for each token of the widest layer's workspace."""
    found = 0
    for kind, _ in stage.kind_counts():
        for tensor in kind.tensors:
            if tensor.block == "expert" and tensor.active and tensor.split == SPLIT_IN and len(tensor.shape) == 2:
                stream, inner = local_share(tensor, tensor_ranks, expert_ranks)[1]  # a latent one is narrower
                outer = inner * (2 if kind.mlp_gated else 1)
                found = max(found, tensor.active * (max(inner, stream) + max(outer, stream)))
    return found
