"""The engines that memory is modelled for, by their id in the catalogue."""

from collections.abc import Callable

from calc.memory.engines.llama_cpp import llama_cpp
from calc.memory.engines.mlx import mlx
from calc.memory.engines.sglang import sglang
from calc.memory.engines.tensorrt_llm import tensorrt_llm
from calc.memory.engines.transformers import transformers
from calc.memory.engines.vllm import vllm
from calc.memory.runtime import Case, Runtime

ENGINES: dict[str, Callable[[Case], Runtime]] = {
    "vllm": vllm,
    "sglang": sglang,
    "tensorrt-llm": tensorrt_llm,
    "llama.cpp": llama_cpp,
    "transformers": transformers,
    "mlx": mlx,
}


def run(case: Case) -> Runtime:
    """Return the memory of a device under the case's engine."""
    return ENGINES[case.engine.id](case)
