"""Where weights in a number format come from."""

from typing import Any

import pytest

from calc import estimate, plan
from calc.catalog import catalog
from calc.planner.formats import stored
from calc.service.checkpoints import converted, origin, quantised


@pytest.mark.parametrize(
    ("name", "weights", "engine", "found"),
    [
        ("qwen3-32b", "published", "vllm", ("published", "Qwen/Qwen3-32B")),
        ("qwen3-32b", "fp8-block", "vllm", ("published", "Qwen/Qwen3-32B-FP8")),
        ("qwen3-32b", "bf16", "sglang", ("published", "Qwen/Qwen3-32B")),
        ("llama-3.3-70b", "fp8", "vllm", ("loaded", "meta-llama/Llama-3.3-70B-Instruct")),
        ("llama-3.3-70b", "nf4", "transformers", ("loaded", "meta-llama/Llama-3.3-70B-Instruct")),
        ("llama-3.3-70b", "fp8", "tensorrt-llm", ("published", "nvidia/Llama-3.3-70B-Instruct-FP8")),
        ("llama-3.3-70b", "awq", "vllm", ("published", "casperhansen/llama-3.3-70b-instruct-awq")),
        ("qwen3-14b", "awq", "sglang", ("published", "Qwen/Qwen3-14B-AWQ")),
        ("falcon-40b", "awq", "vllm", ("reader", "")),
        ("llama-3.3-70b", "q4_k_m", "llama.cpp", ("file", "")),
        ("gpt-oss-120b", "mxfp4", "vllm", ("published", "openai/gpt-oss-120b")),
        ("deepseek-v3", "awq", "vllm", ("published", "QuixiAI/DeepSeek-V3-AWQ")),
    ],
)
def test_where_weights_come_from(name: str, weights: str, engine: str, found: tuple[str, str]) -> None:
    """A repository that holds them comes first, then an engine that converts 16 bit, else the reader makes them."""
    assert origin(name=name, weights=weights, engine=engine, facts=catalog()) == found


def test_four_bits_that_are_published_come_before_those_that_are_not() -> None:
    """Qwen's own GPTQ of Qwen3.5 27B is tried before AWQ, as others' INT4 of Gemma 3 is; DeepSeek V3.1 is not V3."""
    facts = catalog()
    tried = list(stored("qwen3.5-27b", ("published", "fp8", "awq"), facts))
    assert [way["model"] for way in tried] == [
        "qwen3.5-27b",
        "qwen3.5-27b",
        "Qwen/Qwen3.5-27B-GPTQ-Int4",
        "qwen3.5-27b",
    ]
    assert [way["weights"] for way in tried] == ["published", "fp8", "published", "awq"]
    others = [way["weights"] for way in stored("gemma-3-27b", ("published", "awq"), facts)]
    assert others == ["published", "int4-group", "awq"]
    assert quantised(facts.model("deepseek-v3"), facts) == {}
    assert len(list(stored("deepseek-v3", ("published", "awq"), facts))) == 2


@pytest.mark.parametrize(
    ("model", "device", "way", "repository"),
    [
        ("qwen3.5-27b", "rtx-pro-4500", "published", "QuantTrio/Qwen3.5-27B-AWQ"),
        ("qwen3.5-27b", "l40s-48gb", "loaded", "Qwen/Qwen3.5-27B"),
        ("qwen3.5-27b", "h100-sxm-80gb", "published", "Qwen/Qwen3.5-27B"),
        ("qwen3.5-122b-a10b", "rtx-pro-6000-blackwell", "published", "Qwen/Qwen3.5-122B-A10B-GPTQ-Int4"),
    ],
)
def test_options_say_where_their_weights_come_from(model: str, device: str, way: str, repository: str) -> None:
    """As published, converted as they load, in Qwen's four bits, or made by the reader where these leave no room."""
    asked = {"want": "hardware", "model": model, "weights": "any", "engine": "vllm", "context_tokens": 8192}
    found: Any = plan({**asked, "limits": {"accelerators": [device], "devices": 1}})
    (option,) = found["options"]
    assert option["weights_from"] == {"way": way, "repository": repository}
    report: Any = estimate(option["scenario"])
    assert report["memory"]["fits"] and report["speed"] == option["speed"]


def test_a_conversion_says_its_model_and_format_by_its_name() -> None:
    """Whoever pastes a listed repository gets the model that lists it, in the format that it is listed for."""
    facts = catalog()
    for model in facts.models():
        for repository in model.conversions:
            named = facts.named_format(repository)
            assert named is not None and (named.id, named.beside, named.variant) == (model.id, "", ""), repository
            assert repository in converted(model, facts).values(), f"{repository} is second in its format"
