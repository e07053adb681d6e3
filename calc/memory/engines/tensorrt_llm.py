"""TensorRT-LLM: a share of what is free after weights and activations becomes the cache."""

from calc.memory.engines.vllm import running_sequences, step_amounts
from calc.memory.pool import with_pool
from calc.memory.runtime import Case, Runtime, held_amounts, total


def tensorrt_llm(case: Case) -> Runtime:
    """Return TensorRT-LLM's memory of a device.

    $M_{pool} = f \\cdot (M_{device} - M_{weights} - M_{activations} - M_{context})$. Source: "Memory Usage of
    TensorRT-LLM", `free_gpu_memory_fraction`.
    """
    amounts = held_amounts(case, cache=case.paged_cache(case.engine.whole("block_tokens")))
    step = step_amounts(case, running_sequences(case))
    amounts += step.all
    fixed = case.budget.weights + case.budget.beside + total(step.all)
    share = case.engine.values["memory_fraction"] if case.fraction is None else case.fraction
    pool = limit = None
    if case.visible is not None:
        pool = int(share * max(case.visible - fixed, 0))
        limit = fixed + pool
    return with_pool(
        case,
        amounts,
        pool=pool,
        limit=limit,
        fixed=fixed,
        formula=r"\max(M_{\text{fixed}} + f \cdot M_{\text{free}} - M_{\text{fixed}} - M_{\text{cache}}, 0)",
    )
