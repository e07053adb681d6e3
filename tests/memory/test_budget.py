"""A device's memory: parts add up, and asking for more never needs less."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import ScenarioError, estimate
from tests.working import evaluated

MODELS = ["llama-3.1-8b", "llama-2-7b", "gemma-2-9b", "falcon-7b", "gpt2", "qwen2.5-0.5b"]
FORMATS = [
    "fp32",
    "bf16",
    "fp16",
    "fp8",
    "int8",
    "nf4",
    "nf4-dq",
    "awq",
    "gptq-int4",
    "gptq-int8",
    "mxfp4",
    "nvfp4",
]
scenarios = st.fixed_dictionaries(
    {
        "model": st.sampled_from(MODELS),
        "weights": st.sampled_from(FORMATS),
        "kv_cache": st.sampled_from(["fp32", "bf16", "fp8"]),
        "prompt_tokens": st.integers(1, 200_000),
        "output_tokens": st.integers(0, 50_000),
        "sequences": st.integers(1, 300),
        "batched_tokens": st.integers(1, 20_000),
        "prompt_logits": st.sampled_from(["last", "all"]),
        "parallelism": st.fixed_dictionaries(
            {"tensor": st.sampled_from([1, 2, 4]), "pipeline": st.integers(1, 6), "data": st.integers(1, 3)}
        ),
    }
)


def memory(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return the memory of a report, or skip a layout that the model does not allow."""
    try:
        found = estimate(scenario)["memory"]
    except ScenarioError as error:
        assert error.field == "parallelism.tensor"
        return {}
    assert isinstance(found, dict)
    return found


@given(scenario=scenarios)
def test_parts_and_steps_add_up(scenario: dict[str, Any]) -> None:
    """Parts add up to the total exactly, and each part is the value of its last step unless it shares space."""
    found = memory(scenario)
    if not found:
        return
    assert sum(part["bytes"] for part in found["parts"]) == found["device_bytes"]
    for part in found["parts"]:
        if part["bytes"]:
            assert part["steps"][-1]["value"] == part["bytes"]
        for step in part["steps"]:
            assert int(evaluated(step["substituted"])) == step["value"]


def part_of(found: dict[str, Any], part_id: str) -> int:
    """Return the bytes of one part."""
    return next(int(part["bytes"]) for part in found["parts"] if part["id"] == part_id)


@given(
    scenario=scenarios,
    field=st.sampled_from(["prompt_tokens", "output_tokens", "sequences", "batched_tokens"]),
    more=st.integers(1, 5000),
)
def test_more_never_needs_less(scenario: dict[str, Any], field: str, more: int) -> None:
    """More tokens, sequences or a larger batch never need less memory."""
    before, after = memory(scenario), memory(scenario | {field: scenario[field] + more})
    if before:
        assert after["device_bytes"] >= before["device_bytes"]


@given(scenario=scenarios)
def test_wider_formats_never_need_less(scenario: dict[str, Any]) -> None:
    """FP8 ≤ BF16 ≤ FP32, for weights and for the cache."""
    for field in ("weights", "kv_cache"):
        sizes = [memory(scenario | {field: name}).get("device_bytes", 0) for name in ("fp8", "bf16", "fp32")]
        assert sizes == sorted(sizes)


@given(scenario=scenarios)
def test_devices_together_hold_the_whole(scenario: dict[str, Any]) -> None:
    """No layout stores the weights in less than one device would."""
    found = memory(scenario)
    if not found:
        return
    single = memory(scenario | {"parallelism": {}})
    weights = next(part["bytes"] for part in single["parts"] if part["id"] == "weights")
    assert found["sum_over_devices_bytes"] >= weights


def test_logits_of_the_whole_prompt_can_be_the_peak() -> None:
    """Old engines kept logits of every prompt position: 8,192 × 128,256 × 4 B of them for Llama 3.1 8B."""
    found = memory({"model": "llama-3.1-8b", "prompt_tokens": 8192, "output_tokens": 0, "prompt_logits": "all"})
    assert found["phase"] == "head"
    assert part_of(found, "logits") == 8192 * 128256 * 4


# Seed 001's table says 13/25/65/130 GB on disk and 1/2/3/5 GB of cache; exact are these (claims B024 to B038).
@pytest.mark.parametrize(
    ("model", "disk_gb", "cache_gib"),
    [
        ("llama-7b", 13.48, 1.00),
        ("llama-13b", 26.03, 1.56),
        ("llama-33b", 65.06, 3.05),
        ("llama-65b", 130.57, 5.00),
    ],
)
def test_the_llama_table(model: str, disk_gb: float, cache_gib: float) -> None:
    """Two sequences of 1,024 tokens in 16 bit."""
    found = memory({"model": model, "weights": "fp16", "sequences": 2, "context_tokens": 1024})
    assert found["parts"][0]["bytes"] / 1e9 == pytest.approx(disk_gb, abs=0.005)
    assert found["parts"][1]["bytes"] / 2**30 == pytest.approx(cache_gib, abs=0.005)
