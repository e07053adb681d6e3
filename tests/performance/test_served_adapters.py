"""Adapters that are served beside a model: their memory to the byte, and the time of their products."""

from typing import Any

import pytest

from calc import ScenarioError, estimate

ASKED: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "weights": "bf16",
    "accelerator": "h100-sxm-80gb",
    "prompt_tokens": 512,
    "output_tokens": 128,
}
# Of rank 16 on all matrices of a layer: (inputs + outputs) of query and output, key and value, gate, up and down.
LAYER = 16 * (2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 14_336))


def held(**fields: object) -> int:
    """Return the bytes of adapters on the fullest device."""
    report: Any = estimate({**ASKED, **fields})
    return next(int(part["bytes"]) for part in report["memory"]["parts"] if part["id"] == "adapters")


def step_s(**fields: object) -> float:
    """Return the seconds between tokens."""
    report: Any = estimate({**ASKED, "engine": "vllm", **fields})
    return float(report["speed"]["time_per_output_token_s"]["typical"])


@pytest.mark.parametrize("engine", ["none", "vllm", "sglang", "tensorrt-llm"])
def test_places_for_adapters_to_the_byte(engine: str) -> None:
    """Eight places for 32 layers in 16 bit, under any engine: 640 MiB."""
    assert held(engine=engine, adapters_served={"count": 8, "rank": 16}) == 8 * 32 * LAYER * 2 == 640 * 2**20


def test_targets_are_those_of_training() -> None:
    """Adapters on queries and values alone: 16 × (8,192 + 5,120) elements a layer."""
    found = held(adapters_served={"rank": 16, "targets": ["q_proj", "v_proj"]})
    assert found == 32 * 16 * (8192 + 5120) * 2


def test_tensor_ranks_divide_one_side() -> None:
    """Of two ranks each has half of B where outputs are divided, half of A where inputs are, and all of the other."""
    whole_a, whole_b = 4096 + 2 * 4096 + 2 * 4096, 4096 + 2 * 1024 + 2 * 14_336  # q, k, v, gate and up
    in_a, in_b = 4096 + 14_336, 2 * 4096  # o and down
    layer = 16 * (whole_a + whole_b // 2 + in_a // 2 + in_b)
    assert held(adapters_served={"rank": 16}, parallelism={"tensor": 2}) == 32 * layer * 2


def test_a_pool_is_smaller_by_them() -> None:
    """What vLLM reserves for adapters it does not set aside for the cache."""
    served: dict[str, Any] = {**ASKED, "engine": "vllm"}
    plain: Any = estimate(served)["memory"]
    adapted: Any = estimate({**served, "adapters_served": {"count": 8}})["memory"]
    assert plain["kv_pool_bytes"] - adapted["kv_pool_bytes"] == 640 * 2**20


def test_a_step_takes_as_much_longer_as_punica_measured() -> None:
    """Punica adds 2 ms to a token of Llama 2 on an A100 (arXiv:2310.18547): within a half, for one and for 32."""
    model: dict[str, Any] = {"model": "llama-2-7b", "weights": "fp16", "accelerator": "a100-sxm-80gb"}
    for count in (1, 32):
        plain, adapted = (
            step_s(**model, sequences=count, **more) for more in ({}, {"adapters_served": {"count": count, "rank": 16}})
        )
        assert 0.001 < adapted - plain < 0.003


def test_more_adapters_in_use_are_read() -> None:
    """Sixteen requests for sixteen adapters read more than for one; a rank four times as large more still."""
    times = [
        step_s(sequences=16, adapters_served={"count": count, "rank": rank})
        for count, rank in ((1, 16), (16, 16), (16, 64))
    ]
    assert times == sorted(times) and len(set(times)) == 3


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"adapters_served": {"count": 0}}, "adapters_served.count", "from 1"),
        ({"adapters_served": {"size": 3}}, "adapters_served.size", "fields are"),
        ({"adapters_served": {"targets": ["nothing"]}}, "adapters_served.targets", "q_proj"),
        ({"adapters_served": {"rank": 4096}}, "adapters_served.rank", "k_proj"),
        ({"adapters_served": {"count": 2}, "engine": "llama.cpp"}, "adapters_served.count", "count 1 works"),
        ({"adapters_served": {}, "engine": "llama.cpp", "gpu_layers": 3}, "adapters_served", "gpu_layers"),
        ({"adapters_served": 8}, "adapters_served", "object"),
    ],
)
def test_what_cannot_be_is_refused(fields: dict[str, Any], field: str, words: str) -> None:
    """By the field that is wrong, with what is allowed."""
    with pytest.raises(ScenarioError) as caught:
        estimate({**ASKED, **fields})
    assert caught.value.field == field and words in caught.value.message


def test_time_that_nobody_measured_says_so() -> None:
    """A warning says that no published run stands behind it."""
    report: Any = estimate({**ASKED, "engine": "vllm", "adapters_served": {}})
    assert "adapters-not-measured" in [warning["code"] for warning in report["warnings"]]
    assert report["scenario"]["adapters_served"]["count"] == 1
