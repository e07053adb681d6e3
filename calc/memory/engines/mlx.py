"""MLX: weights and a growing cache in unified memory, and a prompt that passes in steps."""

from calc.memory.runtime import ALLOCATED, Amount, Case, Runtime, constant, corrected, held_amounts
from calc.memory.weights import stage_weights_bytes


def mlx(case: Case) -> Runtime:
    """Return MLX's memory of a device: what the mathematics needs, with caches in whole steps of their growth.

    Source: mlx-lm, models/cache.py (KVCache.step) and generate.py (prefill_step_size). Buffers that MLX keeps for later
    are given back where memory runs short, and are not counted.
    """
    cache = case.paged_cache(case.engine.whole("block_tokens"))
    amounts = held_amounts(case, weights=case.once("weights", text_weights), cache=cache)
    labels = {"activations": "Activations", "logits": "Logits"}
    peak = case.budget.phases[case.budget.peak_phase]
    working = [Amount(name, labels[name], size, ALLOCATED) for name, size in peak.items()]
    amounts += corrected(case, [*working, under_way(case, peak["activations"])])
    needed = sum(amount.bytes for amount in amounts)
    return Runtime(tuple(amounts), case.visible, case.visible, needed, pool=None)


def text_weights(case: Case) -> int:
    """Return the weights without what sees or hears: mlx-lm drops it of every model (`sanitize` in its models)."""
    return stage_weights_bytes(
        stage=case.stage._replace(architecture=case.stage.architecture.alone),
        tensor_parallel=case.layout.tensor,
        expert_parallel=case.layout.expert,
        weights=case.demand.weights,
        group=case.demand.group,
    )


def under_way(case: Case, layer: int) -> Amount:
    """Return what commands that were handed to the device hold until it is done, of layers of so many bytes.

    The host encodes layers ahead, in up to eleven command buffers, each of which keeps what its operations read.
    Source: MLX, mlx/transforms.cpp (MAX_ACTIVE_TASKS) and mlx/backend/metal/device.cpp (max_mb_per_buffer).
    """
    most = constant(case, "workspaces", "What commands under way hold", "workspaces", scope=ALLOCATED)
    layers = case.stage.last - case.stage.first
    return most._replace(
        bytes=min(layers * layer, most.bytes),
        formula=r"\min(L \cdot M_{\text{layer}}, M_{\text{measured}})",
        template="min({} × {}, {})",
        numbers=(layers, layer, most.bytes),
    )
