"""What vLLM makes beside a checkpoint's weights: tables of positions, absorbed matrices, and parts of products."""

from functools import lru_cache

from calc.architecture.stages import Stage, local_share
from calc.catalog.records import NumberFormat
from calc.memory.runtime import Case
from calc.memory.weights import stored_tensors

ABSORBED = "kv_b_proj.weight"  # of latent attention, which queries and outputs are multiplied with instead (W_UK, W_UV)
WIDE = 16  # bits of what is copied to be multiplied in 16 bit


def position_tables(case: Case) -> int:
    """Return the sines and cosines of all positions that the config allows for, in the type of the activations.

    All layers that rotate as many elements share one table. Source: vLLM's `get_rope` (`_ROPE_DICT`), whose
    `cos_sin_cache` has the positions of the config and not of the run.
    """
    architecture = case.stage.architecture
    widths = {kind.attention.rotated for kind, _ in case.stage.kind_counts() if kind.attention is not None}
    return (architecture.context_tokens or 0) * sum(widths) * case.demand.activation_bytes


def absorbed_copies(case: Case) -> int:
    """Return the 16-bit copies of latent attention's matrices that queries and outputs are multiplied with.

    Those of 16 bit are read as they are. Source: vLLM's MLACommonImpl (`process_weights_after_loading`).
    """
    weights = case.demand.weights
    return copied_bytes(case.stage, weights, case.layout.tensor) if isinstance(weights, NumberFormat) else 0


@lru_cache(maxsize=256)  # the same for any number of sequences and any device
def copied_bytes(stage: Stage, weights: NumberFormat, ranks: int) -> int:
    """Return the bytes of a stage's matrices that are absorbed, in 16 bit, where they are stored in fewer."""
    elements = 0
    for tensor, count, number_format in stored_tensors(stage, weights):
        if tensor.name.endswith(ABSORBED) and number_format.bits < WIDE:
            copies, (rows, columns) = local_share(tensor, ranks)
            elements += count * copies * rows * columns
    return elements * WIDE // 8


def split_outputs(case: Case) -> int:
    """Return the elements for each token that the widest product in AWQ leaves, where its sums are made in parts.

    Each part leaves an output of its own, which are added up in another. Since 0.3 prompts are multiplied with weights
    that are unpacked first. Source: `gemm_forward_cuda` in vLLM's csrc/quantization/awq, `split_k_iters`.
    """
    parts, weights = round(case.engine.values.get("split_products", 0)), case.demand.weights
    if not parts or not isinstance(weights, NumberFormat) or weights.id != "awq":
        return 0
    outputs = ((2 if kind.mlp_gated else 1) * kind.mlp_width for kind, _ in case.stage.kind_counts())
    return (parts + 1) * -(-max(outputs, default=0) // case.layout.tensor)
