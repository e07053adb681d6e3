"""What a reader has measured changes what it is about, and nothing else; the answer says so."""

from typing import Any

import pytest

from calc import ScenarioError, estimate
from calc.catalog import catalog

ENGINES = {
    "llama.cpp": {"accelerator": "rtx-4090", "weights": "q4_k_m"},
    "vllm": {"accelerator": "h100-sxm-80gb", "concurrency": 8},
    "sglang": {"accelerator": "h100-sxm-80gb", "sequences": 4},
    "tensorrt-llm": {"accelerator": "h100-sxm-80gb", "sequences": 4},
    "transformers": {"accelerator": "h100-sxm-80gb", "sequences": 4},
}
HELD = {"weights", "kv_cache", "kv_pool_free", "recurrent_state", "allocator_reserve"}


def asked(engine: str, **more: Any) -> Any:
    """Return the report of an engine's scenario."""
    return estimate({"model": "llama-3.1-8b", "engine": engine, **ENGINES[engine], **more})


@pytest.mark.parametrize("engine", ENGINES)
def test_times_are_multiplied(engine: str) -> None:
    """Twice as long prompts and steps double the times, but not that of a request on its way; memory stays."""
    plain, slower = asked(engine), asked(engine, correction={"prefill": 2.0, "decode": 2.0})
    way = catalog().engine(engine).values["request_s"] if "concurrency" in ENGINES[engine] else 0.0
    for name, fixed in (("time_per_output_token_s", 0.0), ("time_to_first_token_s", way)):
        one, other = (report["speed"][name]["typical"] - fixed for report in (plain, slower))
        assert other == pytest.approx(2 * one, rel=1e-3)
    assert slower["memory"] == plain["memory"]


@pytest.mark.parametrize("engine", ENGINES)
def test_memory_beside_what_is_held_is_multiplied(engine: str) -> None:
    """Weights and caches keep their sizes, all else is half as much again, and parts still add up."""
    plain, more = asked(engine), asked(engine, correction={"memory": 1.5})
    sizes = {part["id"]: part["bytes"] for part in plain["memory"]["parts"]}
    for part in more["memory"]["parts"]:
        if part["id"] not in HELD:
            assert part["bytes"] == pytest.approx(1.5 * sizes[part["id"]], abs=1), part["id"]
    assert sum(part["bytes"] for part in more["memory"]["parts"]) == more["memory"]["device_bytes"]
    assert more["memory"]["kv_pool_tokens"] <= plain["memory"]["kv_pool_tokens"]


def test_the_answer_says_that_it_is_corrected() -> None:
    """A warning names engine, device and factors, and the scenario keeps them; without a correction there is none."""
    report = asked("llama.cpp", correction={"decode": 0.9})
    (said,) = (warning for warning in report["warnings"] if warning["code"] == "corrected")
    assert said["message"].endswith("llama.cpp on GeForce RTX 4090: decoding steps × 0.900")
    assert report["scenario"]["correction"] == {"decode": 0.9}
    assert "corrected" not in {warning["code"] for warning in asked("llama.cpp")["warnings"]}


@pytest.mark.parametrize(
    ("correction", "field"),
    [
        ({}, "correction"),
        (1.2, "correction"),
        ({"decod": 1.1}, "correction.decod"),
        ({"decode": 0.0}, "correction.decode"),
        ({"decode": True}, "correction.decode"),
        ({"memory": 21}, "correction.memory"),
    ],
)
def test_a_wrong_correction_is_refused_by_field(correction: object, field: str) -> None:
    """Only three factors there are, each from a twentieth to twenty; without an engine nothing was measured."""
    with pytest.raises(ScenarioError) as error:
        asked("llama.cpp", correction=correction)
    assert error.value.field == field
    with pytest.raises(ScenarioError, match="without an engine"):
        estimate({"model": "llama-3.1-8b", "correction": {"decode": 1.1}})
