"""Random scenarios of both workloads with any field, model, device, format, engine and framework of the catalogue.

About half of them are refused, by field. Run more of them with `python -m tests.drawn_scenarios 2000`.
"""

import json
import random
import sys
from collections.abc import Iterator
from typing import Any

from calc import ScenarioError, estimate
from calc.catalog import catalog
from calc.planning.chance import LIKELY
from tests.test_contract import TOTALS, Report, Scenario, check_ranges, training

FACTS = catalog()
ENTRIES = [FACTS.model(model) for model in FACTS.ids("models")]
# Each model by its id, and what is not quite it by the repository: with other ends, or in another number format.
MODELS = [name for entry in ENTRIES for name in (entry.id, *entry.variants, *entry.published)]
DEVICES, PROCESSORS = FACTS.ids("accelerators"), FACTS.ids("processors")
FORMATS = [*FACTS.ids("number_formats"), *FACTS.ids("mixtures")]
DRAFTS: tuple[dict[str, object], ...] = (
    {"method": "draft", "model": "llama-3.2-1b"},
    {"method": "draft", "model": "qwen2.5-0.5b", "tokens": 7},
    {"method": "mtp", "acceptance": 0.9},
    {"method": "eagle", "tokens": 1},
    {"method": "ngram", "acceptance": 0.01},
)
LENGTHS = {"prompt_tokens": 500, "output_tokens": {"median": 200, "p95": 900}}
ARRIVALS: tuple[dict[str, object], ...] = (
    {"requests_per_s": 0.1, "burstiness": 4},
    {"requests_per_s": 100, "objective": {"ttft_s": 1, "tpot_s": 0.05}},
    {"requests_per_s": 1, "lengths": LENGTHS},
    {"requests": 300},
    {"requests": 40, "requests_per_s": 3, "burstiness": 0.5},
    {"requests": 300, "concurrency": 8, "lengths": {"output_tokens": {"least": 1, "most": 1000}}},
)
POOLS = {"prefill": {"parallelism": {"tensor": 4}}, "decode": {"accelerators": 8, "parallelism": {"tensor": 8}}}
LAYOUTS: tuple[dict[str, int], ...] = (
    *({"tensor": 2}, {"pipeline": 3}, {"tensor": 4, "pipeline": 2}, {"data": 4, "expert": 4}, {"context": 2}),
    {"tensor": 2, "context": 2, "pipeline": 2, "data": 2},
)
# Fields of inference with the share of scenarios that have them, and values.
SHARES: dict[str, tuple[float, tuple[Any, ...]]] = {
    "engine": (0.95, ("none", "vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers", "mlx", "usual")),
    "weights": (0.5, tuple(FORMATS)),
    "kv_cache": (0.3, ("fp16", "fp8", "int8", "fp32", "q8_0", "q4_0", "iq4_nl")),
    "kv_cache_v": (0.05, ("fp8", "q4_0")),
    "prompt_tokens": (0.6, (1, 7, 128, 2049, "8k", 32000)),
    "output_tokens": (0.6, (0, 1, 2, 128, 2048)),
    "cached_tokens": (0.1, (1, 1024)),
    "prompt_logits": (0.05, ("all",)),
    "batched_tokens": (0.1, (512, 8192)),
    "sequence_slots": (0.1, (1, 32, 512)),
    "graphs": (0.1, (False, 8)),
    "text_only": (0.05, (True,)),
    "balance_experts": (0.05, (True, False)),
    "videos": (0.05, (False,)),
    "memory_fraction": (0.1, (0.05, 0.5, 0.95, 1.0)),
    "memory_limit": (0.1, ("8 GiB", "48GB")),
    "display": (0.1, (True,)),
    "attention": (0.1, ("eager", "sdpa")),
    "shared_prefix_tokens": (0.1, (1, 100)),
    "prefix_hit_rate": (0.1, (0.3, 1)),
    "speculation": (0.1, DRAFTS),
    "adapters_served": (0.08, ({"count": 1, "rank": 8}, {"count": 64, "rank": 64})),
    "start": (0.05, ({"from": "disk"}, {"from": "page-cache", "bandwidth": "3 GB/s"})),
    "gpu_layers": (0.1, (0, 1, 20)),
    "experts_on_host": (0.1, (1, 10, "all")),
    "host": (0.1, ({"memory": "64 GiB"}, {"pinned": True}, *({"processor": processor} for processor in PROCESSORS))),
    "backend": (0.1, ("cuda", "rocm", "hip", "vulkan", "sycl", "metal")),
    "pcie": (0.05, ("4.0 x8",)),
    "power_limit": (0.1, (150, "300 W")),
    "cache_offload": (
        0.05,
        ({"to": "host", "bytes": "64 GiB"}, {"to": "disk", "bytes": "1 TB", "bandwidth": "7 GB/s"}),
    ),
    "correction": (0.08, ({"prefill": 0.5, "decode": 1.5, "memory": 1.3},)),
    "engine_version": (0.1, ("0.6.3", "0.8.5", "0.12.0", "b4000", "4.40")),
}
FURTHER_TRAINING: dict[str, tuple[float, tuple[Any, ...]]] = {
    "framework": (0.5, tuple(FACTS.ids("frameworks"))),
    "expandable_segments": (0.2, (True, False)),
    "context_exchange": (0.1, ("ring", "ulysses")),
    "compile": (0.2, (True, False)),
    "varied_lengths": (0.1, (True, False)),
    "packed_tokens": (0.1, (1, 300)),
    "power_limit": (0.1, (150, "300 W")),
    "pcie": (0.1, ("3.0 x4", "4.0 x8")),
    "keep_logits": (0.1, (False,)),
    "tables_apart": (0.1, (True,)),
    "adapters_apart": (0.1, (True,)),
    "adapter_dtype": (0.1, ("bf16", "fp32")),
}


def put(rng: random.Random, scenario: Scenario, shares: dict[str, tuple[float, tuple[Any, ...]]]) -> None:
    """Give a scenario some of the fields, each in its share of the cases."""
    for field, (share, values) in shares.items():
        if rng.random() < share:
            scenario[field] = rng.choice(values)


def drawn(rng: random.Random) -> Scenario:
    """Return a random scenario."""
    model, device = rng.choice(MODELS), rng.choice(DEVICES)
    if rng.random() < 0.4:
        found = {**training(rng), "model": model, "accelerator": device}
        put(rng, found, FURTHER_TRAINING)
        return found
    found = {"model": model, "accelerator": device}
    put(rng, found, SHARES)
    if found.get("engine") == "vllm":  # all others refuse it
        put(rng, found, {"longest_tokens": (0.3, (4096, 200_000))})
    load = rng.choice(("sequences", "concurrency", "arrivals", "disaggregation", ""))
    values = {"sequences": (1, 7, 256, "max"), "concurrency": (1, 32), "arrivals": ARRIVALS, "disaggregation": (POOLS,)}
    if load:
        found[load] = rng.choice(values[load])  # type: ignore[index]
    if load == "disaggregation":
        found["concurrency"] = 8
    elif rng.random() < 0.5:
        found["parallelism"] = rng.choice(LAYOUTS)
    if rng.random() < 0.1:
        del found["accelerator"]
    return found


def numbers(value: Report, name: str = "") -> Iterator[tuple[str, float]]:
    """Iterate over the numbers of a report by their paths."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, f"{name}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item, name)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, value


def check(scenario: Scenario) -> bool:
    """Check that a scenario is refused by field or answered soundly; return whether it is answered."""
    try:
        report: Report = estimate(json.loads(json.dumps(scenario)))
    except ScenarioError as error:
        assert error.message and error.field.split(".")[0] in {*scenario, "parallelism", "accelerator", "accelerators"}
        return False
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    memory, filled = report["memory"], report["scenario"]
    for part in ("speed", "cost", "cold_start"):
        check_ranges(report.get(part))
    for path, number in numbers({name: report[name] for name in ("memory", "speed", "cost") if report[name]}):
        assert number >= 0 or path.endswith("headroom_bytes") or ".steps" in path, path
    assert sum(part["bytes"] for part in memory["parts"]) == memory["device_bytes"]
    assert 0 < memory["allocated_bytes"] <= memory["reserved_bytes"] <= memory["device_bytes"]
    assert all(low <= memory[name] <= high for name in TOTALS for low, high in [memory[f"{name}_range"]])
    if "capacity_bytes" in memory:
        assert memory["headroom_bytes"] == memory["capacity_bytes"] - memory["device_bytes"]
        assert not memory["fits"] or memory["headroom_bytes"] >= 0
        assert memory["fits"] == (memory["chance"] >= LIKELY)
    assert report["runs"] is not False or not (report["speed"] or report["cost"])
    used = (report["speed"] or {}).get("model_flops_utilization")
    assert used is None or used["high"] <= 1
    again: Report = estimate(filled, repairs=False)
    for name in report.keys() - {"defaults", "warnings", "repairs"}:  # a change is of what was asked, not of defaults
        assert again[name] == report[name], name
    return True


def main(count: int) -> None:
    """Check many scenarios, and print those that break something."""
    rng, answered = random.Random(), 0
    for _ in range(count):
        scenario = drawn(rng)
        try:
            answered += check(scenario)
        except Exception as error:
            print(f"{type(error).__name__} {str(error)[:200]}\n  {json.dumps(scenario)}")
    print(f"{answered} of {count} were answered")


if __name__ == "__main__":
    main(int(sys.argv[1]))
