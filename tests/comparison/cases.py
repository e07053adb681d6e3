"""The cases that all tools are asked: published figures, each with the model's config and what the guide says."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from calc import ScenarioError, estimate
from calc.calculators.rendering import part_bytes
from calc.catalog import catalog
from calc.validation import inference_memory, training_memory
from calc.validation.scores import SkipError, read_rows
from calc.validation.soundness import published_counts

DATA = Path(__file__).parent.parent / "data"
UNITS = {"GB": 10**9, "MB": 10**6, "GiB": 2**30, "MiB": 2**20}
# One or two models of each kind of architecture, so that no family outweighs the others.
SIXTEEN_BIT = (
    "llama-3.1-8b", "llama-3.2-1b", "llama-3.1-70b", "mistral-7b-v0.3", "qwen2.5-7b", "qwen3-0.6b", "gemma-2-9b",
    "gemma-2b", "falcon-7b", "gpt2-xl", "bloom-7b1", "mixtral-8x7b", "qwen3-30b-a3b", "gpt-neox-20b", "phi-2",
    "opt-6.7b", "yi-34b", "olmo-2-7b",
)  # fmt: skip


class Case(NamedTuple):
    """A figure that was published or counted, with the question as a scenario of the guide's contract."""

    id: str
    kind: str  # weights, cache, inference, pool or training
    config: dict[str, Any]
    scenario: dict[str, Any]
    measured: float
    ours: float


def every_case() -> Iterator[Case]:
    """Iterate over all cases."""
    yield from weights_cases()
    yield from cache_cases()
    yield from memory_cases()
    yield from training_cases()


def config_of(model: object) -> dict[str, Any]:
    """Return a model's config as its repository would have it: with the class and the format it is stored in."""
    if isinstance(model, dict):
        return {"torch_dtype": "bfloat16", **model["config"]}
    return {"torch_dtype": "bfloat16", **catalog().model(str(model)).config}


def weights_cases() -> Iterator[Case]:
    """Iterate over weights: in 16 bit as transformers counts parameters, in Q4_K_M as files were published."""
    counted = published_counts()
    for model in SIXTEEN_BIT:
        scenario = {"model": model, "weights": "bf16"}
        ours = part_bytes(estimate(scenario), "weights")
        yield Case(f"{model} BF16", "weights", config_of(model), scenario, 2.0 * counted[model], ours)
    for row in json.loads((DATA / "gguf_files.json").read_text(encoding="utf-8"))["rows"]:
        known = catalog().lookup("models", row["model"])
        if row["quant"] != "Q4_K_M" or row["scope"] != "file" or row.get("differs") or known is None:
            continue
        scenario = {"model": known, "weights": "q4_k_m"}
        measured = float(row["size"]) * UNITS[row["unit"]]
        yield Case(
            row["id"], "weights", config_of(known), scenario, measured, part_bytes(estimate(scenario), "weights")
        )


def cache_cases() -> Iterator[Case]:
    """Iterate over caches in 16 bit that engines print, of models in the catalogue; of each model the longest."""
    longest: dict[str, Case] = {}
    for row in json.loads((DATA / "engine_caches.json").read_text(encoding="utf-8"))["rows"]:
        known = catalog().lookup("models", row["model"])
        if row["form"] not in ("plain", "latent"):  # caches that an engine expands; no tool can be told
            continue
        if row["kind"] != "kv_total" or row["keys"] != "fp16" or row["values"] != "fp16" or known is None:
            continue
        tokens, sequences = row["context_tokens"], row["sequences"]
        scenario = {"model": known, "context_tokens": tokens, "sequences": sequences}
        ours = part_bytes(estimate(scenario), "kv_cache")
        measured = float(row["measured"]) * UNITS[row["unit"]]
        if known not in longest or measured > longest[known].measured:
            longest[known] = Case(row["id"], "cache", config_of(known), scenario, measured, ours)
    yield from longest.values()


def memory_cases() -> Iterator[Case]:
    """Iterate over inference memory on one device: totals, and the cache that vLLM sets aside."""
    for row in read_rows(inference_memory.FILE):
        try:
            scenario = inference_memory.scenario_of(row)
            score = inference_memory.score_of(row)
        except (SkipError, ScenarioError):
            continue
        devices = scenario["parallelism"]["tensor"] * scenario["parallelism"]["pipeline"]
        if score.what in ("allocated_bytes", "reserved_bytes", "device_bytes") and devices == 1:
            kind = "inference"
        elif score.what == "kv_pool_bytes" and scenario["parallelism"]["pipeline"] == 1:
            kind = "pool"
        else:
            continue
        yield Case(row["id"], kind, config_of(scenario["model"]), scenario, score.measured, score.predicted)


def training_cases() -> Iterator[Case]:
    """Iterate over training memory of a device: all parameters with AdamW, which the tools assume, and no offload."""
    for row in read_rows(training_memory.FILE):
        try:
            scenario = training_memory.scenario_of(row)
            score = training_memory.score_of(row)
        except (SkipError, ScenarioError):
            continue
        plain = scenario["optimizer"] in ("adamw", "adamw-foreach") and not scenario.get("offload")
        if scenario["method"] == "full" and plain and not scenario.get("optimizer_in_backward"):
            yield Case(
                row["id"], "training", config_of(scenario["model"]), dict(scenario), score.measured, score.predicted
            )
