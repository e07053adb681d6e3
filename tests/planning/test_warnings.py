"""Each warning about an engine, a device and a layout: its code, its field, how severe it is, and what it names."""

from types import SimpleNamespace
from typing import Any

import pytest

from calc import estimate
from calc.calculators.will_it_fit import CALCULATOR as WILL_IT_FIT
from calc.memory.runtime import ALLOCATED, Amount, Runtime
from calc.planning.serving_warnings import share_warnings

LLAMA: dict[str, Any] = {"model": "llama-3.1-8b", "engine": "vllm"}
GPT_OSS = {"model": "gpt-oss-120b", "weights": "mxfp4", "engine_version": "0.11.0", "accelerator": "h100-sxm-80gb"}
IN_STEP: dict[str, Any] = {"accelerator": "h100-sxm-80gb", "concurrency": 64, "output_tokens": 512, "length_spread": 0}
WARNED: list[tuple[dict[str, Any], str, str, str, list[str]]] = [
    ({"model": "bert-base", "engine": "transformers"}, "writes-no-text", "model", "info", ["one pass over its input"]),
    (
        {"engine": "llama.cpp", "parallelism": {"tensor": 2}},
        "engine-keeps-layers-whole",
        "parallelism.tensor",
        "caution",
        ["llama.cpp gives", "parallelism.pipeline"],
    ),
    (
        GPT_OSS,
        "fewer-sequences-than-default",
        "sequences",
        "caution",
        ["vLLM's default of 1,024", "--max-num-seqs 256"],
    ),
    (
        {"accelerator": "rtx-3090", "memory_fraction": 0.3},
        "share-too-small",
        "memory_fraction",
        "wrong",
        ["vLLM's share", "no cache is left"],
    ),
    (
        {
            "model": "qwen3-30b-a3b",
            "engine": "llama.cpp",
            "engine_version": "b6055",
            "backend": "vulkan",
            "accelerator": "Ryzen AI Max+ 395",
            "context_tokens": 70_000,
            "attention": "eager",
        },
        "piece-too-large",
        "batched_tokens",
        "wrong",
        ["4 GiB", "-ub"],
    ),
    (
        {"accelerator": "rtx-4090", "parallelism": {"tensor": 2}},
        "no-peer-to-peer",
        "parallelism.tensor",
        "caution",
        ["no GeForce RTX 4090", "through the host's"],
    ),
    (
        {"accelerator": "rtx-3090", "parallelism": {"tensor": 2}},
        "link-needs-bridge",
        "parallelism.tensor",
        "info",
        ["GeForce RTX 3090 has a link only with a bridge", "PCIe is counted on"],
    ),
    (
        IN_STEP,
        "answers-in-step",
        "length_spread",
        "caution",
        ["end together", "arrivals with requests and concurrency"],
    ),
    (
        {
            "engine": "llama.cpp",
            "accelerator": [{"id": "rtx-4090", "count": 1}, {"id": "rtx-3090", "count": 1}],
            "tensor_split": [1.0, 0.0],
        },
        "device-without-layers",
        "accelerator",
        "info",
        ["GeForce RTX 3090 would get no layer"],
    ),
    (
        {
            "accelerator": "h100-sxm-80gb",
            "prompt_tokens": 4096,
            "output_tokens": 16,
            "cache_offload": {"to": "disk", "bytes": "64 GiB", "bandwidth": "1 GB/s"},
        },
        "cache-sooner-read",
        "cache_offload",
        "info",
        ["bringing the cache of a prompt back takes", "reading it again"],
    ),
    (
        {"accelerator": "rtx-3090"},
        "own-length-too-long",
        "context_tokens",
        "caution",
        ["the model's own 131,072 tokens", "without --max-model-len it does not start", "counted are 2,304"],
    ),
]
CODES = {code for _, code, *_ in WARNED}


def test_the_first_words_say_for_which_length_it_starts() -> None:
    """A tick holds with --max-model-len, where the model's own length would not start, if none is stated."""
    card = {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "rtx-3090"}
    own = WILL_IT_FIT.status(estimate(card))
    assert own.startswith("It fits, started for texts of 2,304 tokens at most and not for the model's own length:")
    assert "own length" not in WILL_IT_FIT.status(estimate({**card, "context_tokens": 8192}))


def warnings(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return the warnings of a report by code."""
    found: Any = estimate({**LLAMA, **scenario})["warnings"]
    assert len({warning["code"] for warning in found}) == len(found)
    return {warning["code"]: warning for warning in found}


@pytest.mark.parametrize(("scenario", "code", "field", "severity", "words"), WARNED, ids=[row[1] for row in WARNED])
def test_a_warning(scenario: dict[str, Any], code: str, field: str, severity: str, words: list[str]) -> None:
    """It comes with its field and severity, and its message has the numbers and names of the case."""
    found = warnings(scenario)[code]
    assert (found["field"], found["severity"]) == (field, severity)
    assert all(part in found["message"] for part in words), found["message"]


@pytest.mark.parametrize(
    "scenario",
    [
        {},
        {"accelerator": "h100-sxm-80gb", "parallelism": {"tensor": 8}},
        {"accelerator": "h100-sxm-80gb", "parallelism": {"pipeline": 2}, "engine": "llama.cpp"},
        {"accelerator": "rtx-3090", "context_tokens": 8192},
        {"accelerator": "rtx-4090", "parallelism": {"pipeline": 2}},
        {"accelerator": "rtx-3090", "engine": "sglang"},
        {"accelerator": "h100-sxm-80gb", "engine": "sglang", "model": "gpt-oss-120b", "weights": "mxfp4"},
        {**GPT_OSS, "sequence_slots": 256, "context_tokens": 8192},
        *({**IN_STEP, **apart} for apart in ({"length_spread": 0.05}, {"engine": "sglang"}, {"concurrency": 1})),
    ],
)
def test_nothing_to_warn_of(scenario: dict[str, Any]) -> None:
    """A decoder within an engine's share on devices that reach each other; sequences that were stated are kept."""
    assert not CODES & warnings(scenario).keys()


@pytest.mark.parametrize(("needed", "warned"), [(1200, False), (1201, True)])
def test_a_share_that_just_holds_a_pass(needed: int, warned: bool) -> None:
    """Of 1,000 bytes beside a cache of 200: what needs as many has its share, what needs one more has not."""
    amounts = Amount("kv_cache", "", 150, ALLOCATED), Amount("recurrent_state", "", 50, ALLOCATED)
    served: Any = SimpleNamespace(
        serving=SimpleNamespace(engine=SimpleNamespace(id="sglang", name="SGLang")),
        runtime=Runtime(amounts, capacity=2000, limit=1000, needed=needed, pool=0),
        case=SimpleNamespace(slots=None, engine=SimpleNamespace(id="sglang")),
    )
    assert [warning.code for warning in share_warnings(served)] == ["share-too-small"] * warned


def test_a_model_that_passes_once_has_no_balanced_batch() -> None:
    """What bounds its pass bounds all of it."""
    speed: Any = estimate({"model": "bert-base", "engine": "transformers", "accelerator": "rtx-4090"})["speed"]
    assert speed["balanced_batch"] is None
    assert speed["bound_by"] == speed["prefill_bound_by"]
    assert {"prefill_tokens_per_s", "time_to_first_token_s", "max_sequences"} <= speed.keys()
