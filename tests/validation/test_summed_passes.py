"""Passes summed for trying coefficients: the seconds of a pass are those of the list of its operations."""

from typing import Any

import pytest

from calc.catalog import catalog
from calc.performance.device_rates import device_class
from calc.performance.schedules import schedule_of
from calc.performance.speed import passes_for
from calc.planning.served import serve
from calc.planning.serving_question import speed_question
from calc.question import read_question
from calc.validation.summed_passes import SummedPasses

ASKED: list[dict[str, Any]] = [
    {"model": "qwen2.5-7b", "engine": "transformers", "accelerator": "a100-sxm-80gb", "weights": "awq"},
    {"model": "qwen3-30b-a3b", "engine": "transformers", "accelerator": "h100-sxm-80gb"},
    {"model": "qwen3-8b", "engine": "transformers", "accelerator": "h100-sxm-80gb", "weights": "fp8-block"},
    {"model": "deepseek-v3", "engine": "sglang", "accelerator": "h200-sxm-141gb", "parallelism": {"tensor": 8}},
    {"model": "llama-3.1-70b", "engine": "vllm", "accelerator": "a100-sxm-80gb", "parallelism": {"pipeline": 3}},
    {
        "model": "mixtral-8x7b",
        "engine": "vllm",
        "engine_version": "0.2.5",
        "accelerator": "a100-sxm-80gb",
        "parallelism": {"tensor": 2},
    },
    {"model": "gpt-oss-20b", "engine": "vllm", "engine_version": "0.10.1", "accelerator": "a100-sxm-80gb"},
    {"model": "llama-3.1-8b", "engine": "llama.cpp", "accelerator": "rtx-4090", "weights": "q4_k_m"},
]


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked["engine"] + " " + asked["model"])
def test_sums_are_those_of_the_list(asked: dict[str, Any]) -> None:
    """A step, a prompt and both together, under coefficients that are none's default."""
    question = read_question({**asked, "sequences": 3, "prompt_tokens": 700, "output_tokens": 100})
    serving = question.asked.serving(question.accelerator)
    assert serving is not None
    served = serve(serving, question.demand, question.layout, most=False)
    speed = speed_question(served, 100, 0)
    assert speed is not None
    passes = passes_for(speed, serving.engine.values)
    assert passes is not None
    names = ("weights_factor", "matrix_factor", "cache_factor", "expert_factor", "launch_s", "step_s")
    values = {**serving.engine.values}
    values |= {name: values[name] * (1.3 + place / 10) for place, name in enumerate(names)}
    schedule = schedule_of(
        values,
        era=speed.era,
        weights=speed.demand.weights,
        accelerator=speed.accelerator,
        market=device_class(speed.accelerator),
        attention=speed.attention,
        layout=speed.layout,
    )
    step, prompt = passes.step(sequences=3, context=750), passes.prompt(sequences=1, tokens=700, before=0)
    listed, summed = passes._replace(schedule=schedule), SummedPasses(passes).under(schedule)
    for segments in ((step,), (prompt,), (step, prompt)):
        listed_time, summed_time = listed.time(*segments), summed.time(*segments)
        assert summed_time.total == pytest.approx(listed_time.total, rel=1e-12)
        assert summed.busiest_s(summed_time) == pytest.approx(listed.busiest_s(listed_time), rel=1e-12)


def test_no_engine_lacks_what_is_tried() -> None:
    """Every engine whose speed is known has coefficients to be estimated."""
    assert all(name in engine.values for engine in catalog().engines() if engine.is_timed for name in ("step_s",))
