"""The search for the fewest devices leaves out what cannot serve, and nothing else."""

from math import inf
from typing import Any

import pytest

from calc.memory.budget import Layout
from calc.planning.fewest_devices import devices_needed, least_stages
from calc.planning.fit import fewest
from calc.planning.layout import MOST_DEVICES, candidates, fullest, tensor_degrees
from calc.question import read_question

LONG = {"context_tokens": 32768, "sequences": 16}
CASES: dict[str, dict[str, Any]] = {
    "what each device takes by itself is too much for vLLM": {
        "model": "gemma-3-12b",
        "accelerator": "rtx-3060-12gb",
        "engine": "vllm",
        **LONG,
        "sequences": 64,
    },
    "SGLang's share fits with more stages, for which it is smaller": {
        "model": "llama-3.1-70b",
        "accelerator": "rtx-3090",
        "engine": "sglang",
        "batched_tokens": 512,
    },
    "between two powers of two": {
        "model": "deepseek-v3",
        "accelerator": "tesla-t4",
        "engine": "vllm",
        "weights": "int8",
    },
    "experts on half a device": {
        "model": "mixtral-8x7b",
        "accelerator": "h100-sxm-80gb",
        "engine": "vllm",
        "memory_fraction": 0.3,
        **LONG,
    },
    "TensorRT-LLM's share is of what is free": {
        "model": "deepseek-v2-lite",
        "accelerator": "rtx-3060-12gb",
        "engine": "tensorrt-llm",
        "memory_fraction": 0.5,
    },
    "layers alone": {"model": "qwen3-30b-a3b", "accelerator": "rtx-4090", "engine": "llama.cpp", **LONG},
    "a large table": {"model": "gemma-3-1b", "accelerator": "rtx-3060-12gb", "engine": "transformers", **LONG},
}


@pytest.mark.parametrize("case", CASES)
def test_nothing_that_serves_is_left_out(case: str) -> None:
    """It is what a search finds that tries each division of each number of devices."""
    read = read_question({"weights": "bf16", **CASES[case]})
    serving, demand = read.serving(), read.demand
    assert serving is not None and serving.accelerator is not None
    tensor = 1 if serving.engine.splits_layers else max(tensor_degrees(demand.architecture))
    most = int(min(demand.architecture.layer_count * tensor, MOST_DEVICES, serving.engine.most_devices))
    least = max(1, fullest(demand, Layout())[1].held // serving.accelerator.capacity_bytes)

    def fitting(count: int) -> Layout | None:
        ways = candidates(demand, count, serving.engine)
        return next((layout for layout in ways if serving.fits(demand, layout)), None)

    asked = Layout(pipeline=2)
    assert devices_needed(serving, demand, asked, fits=False) == fewest(least, most, fitting)


def test_stages_that_are_never_enough() -> None:
    """Where the last layer with the output matrix does not fit, no number of stages is; else there is a least one."""
    for case, enough in (("what each device takes by itself is too much for vLLM", False), ("layers alone", True)):
        read = read_question({"weights": "bf16", **CASES[case]})
        serving = read.serving()
        assert serving is not None
        assert (least_stages(serving, read.demand, 1) < inf) == enough
