"""Fields that do not go together are refused with both of them named, whatever pair it is."""

from itertools import combinations
from typing import Any

import pytest

from calc import ScenarioError, estimate

BASE: dict[str, Any] = {"model": "qwen3-30b-a3b", "weights": "bf16", "accelerator": "h100-sxm-80gb", "accelerators": 2}
POOL = {"parallelism": {"tensor": 2}}
# Each field with a value that is accepted by itself under an engine that has it.
FIELDS: dict[str, object] = {
    "adapters_served": {"count": 4, "rank": 16},
    "arrivals": {"requests_per_s": 1},
    "attention": "eager",
    "batched_tokens": 1024,
    "cache_offload": {"to": "host", "bytes": "64 GiB"},
    "cached_tokens": 512,
    "concurrency": 8,
    "disaggregation": {"prefill": POOL, "decode": POOL},
    "display": True,
    "experts_on_host": 10,
    "gpu_layers": 20,
    "host": {"bandwidth": "80 GB/s"},
    "kv_cache_v": "fp8",
    "memory_fraction": 0.9,
    "memory_limit": "60 GiB",
    "parallelism": {"tensor": 2},
    "prefix_hit_rate": 0.5,
    "prompt_logits": "all",
    "sequence_slots": 8,
    "sequences": 4,
    "shared_prefix_tokens": 512,
    "speculation": {"method": "ngram", "tokens": 3},
    "start": {"from": "disk"},
    "tensor_split": [1, 1],
}
# What a field needs beside it: another field, which a refusal may name in its place.
BRINGS = {"disaggregation": ("concurrency",), "tensor_split": ("accelerator", "devices")}
UNLIKE = [{"id": "h100-sxm-80gb"}, {"id": "h200-sxm-141gb"}]


def with_fields(engine: str, *names: str) -> dict[str, Any]:
    """Return a scenario with these fields, and what they need beside them."""
    scenario = {**BASE, "engine": engine, **{name: FIELDS[name] for name in names}}
    if "tensor_split" in names:
        scenario["accelerator"] = UNLIKE
    if "disaggregation" in names:
        scenario.setdefault("concurrency", 8)
    if {"tensor_split", "disaggregation"} & set(names):
        del scenario["accelerators"]
    return scenario


def refusal(engine: str, *names: str) -> str:
    """Return why a scenario with these fields is refused; empty where it is answered."""
    try:
        estimate(with_fields(engine, *names))
    except ScenarioError as error:
        return f"{error.field} {error.message}"
    return ""


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llama.cpp"])
def test_refused_pairs_name_both(engine: str) -> None:
    """Of all pairs of fields that are each accepted, some are refused, and then the message names the two."""
    accepted = [name for name in FIELDS if not refusal(engine, name)]
    assert len(accepted) >= 18
    refused = 0
    for pair in combinations(accepted, 2):
        said = refusal(engine, *pair)
        refused += bool(said)
        for name in pair if said else ():
            assert any(word in said for word in (name, *BRINGS.get(name, ()))), (pair, said)
    assert refused >= 5


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers"])
def test_every_field_without_an_accelerator(engine: str) -> None:
    """A field is answered or refused by name where no device is said; two pools need one to stand on."""
    for name in FIELDS.keys() - {"tensor_split"}:
        scenario = with_fields(engine, name)
        del scenario["accelerator"]
        try:
            report = estimate(scenario)
        except ScenarioError as error:
            assert any(word in f"{error.field} {error.message}" for word in (name, "accelerator")), (name, error)
        else:
            assert "fits" not in report["memory"] and name != "disaggregation"
