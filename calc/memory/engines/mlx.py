"""MLX: weights and a growing cache in unified memory, and a prompt that passes in steps."""

from calc.memory.runtime import ALLOCATED, Amount, Case, Runtime, corrected, held_amounts


def mlx(case: Case) -> Runtime:
    """Return MLX's memory of a device: what the mathematics needs, with caches in whole steps of their growth.

    Source: mlx-lm, models/cache.py (KVCache.step) and generate.py (prefill_step_size). Buffers that MLX keeps for later
    are given back where memory runs short, and are not counted.
    """
    amounts = held_amounts(case, cache=case.paged_cache(case.engine.whole("block_tokens")))
    labels = {"activations": "Activations", "logits": "Logits"}
    peak = case.budget.phases[case.budget.peak_phase]
    amounts += corrected(case, [Amount(name, labels[name], size, ALLOCATED) for name, size in peak.items()])
    needed = sum(amount.bytes for amount in amounts)
    return Runtime(tuple(amounts), case.visible, case.visible, needed, pool=None)
