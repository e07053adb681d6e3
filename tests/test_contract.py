"""The contract, held over random scenarios: what every report has, and what never happens.

Run more of them with `python -m tests.test_contract 2000`.
"""

import gc
import json
import random
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from calc import ScenarioError, estimate

Scenario = dict[str, Any]
Report = Any

# Small and large, dense and of experts, latent, windowed and recurrent, encoders and towers.
MODELS = (
    "llama-3.1-8b",
    "llama-3.2-1b",
    "llama-3.1-70b",
    "qwen2.5-0.5b",
    "qwen2.5-32b",
    "qwen3-30b-a3b",
    "mixtral-8x7b",
    "deepseek-v3",
    "deepseek-v2-lite",
    "gemma-2-9b",
    "gemma-3-27b",
    "gpt-oss-20b",
    "falcon-7b",
    "gpt2",
    "phi-3-mini-4k",
    "mistral-7b-v0.1",
    "jamba-v0.1",
    "mamba-2.8b",
    "meta-llama/Llama-3.1-8B-Instruct",
    "Qwen/Qwen2.5-7B-Instruct",
)
CONFIG = {
    "model_type": "llama",
    "hidden_size": 2048,
    "num_hidden_layers": 12,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "intermediate_size": 5632,
    "vocab_size": 32000,
}
ACCELERATORS = (
    "h100-sxm-80gb",
    "NVIDIA H100 80GB HBM3",
    "NVIDIA A100-SXM4-80GB",
    "A100 40GB",
    "RTX 4090",
    "RTX 3090 24GB",
    "Tesla T4",
    "L40S",
    "H200",
    "B200",
    "MI300X",
    "M2 Ultra",
    "V100 32GB",
    "RTX 3060",
)
WEIGHTS = (
    *("fp32", "bf16", "fp16", "fp8", "int8", "nf4", "nf4-dq", "awq", "gptq-int4", "gptq-int8", "mxfp4", "nvfp4"),
    *("q4_k_m", "q8_0", "iq4_xs", "q4_0", "q5_k_s", "q6_k", "iq2_xxs", "q2_k", "q3_k_l"),
    {"bits_per_weight": 4.5},
    {"format": "awq", "group_size": 64},
)
ENGINES = ("vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers", "none")
OPTIMIZERS = (
    *("adamw", "adamw-foreach", "adamw-8bit", "paged-adamw", "paged-adamw-8bit"),
    *("sgd", "sgd-momentum", "adafactor", "lion", "muon"),
)
PRECISIONS = ("fp32", "bf16-mixed", "fp16-mixed", "bf16-autocast", "fp16-autocast", "bf16", "fp8-mixed")
TOTALS = ("allocated_bytes", "reserved_bytes", "device_bytes")
INFERENCE_RATES = (
    *("prefill_tokens_per_s", "decode_tokens_per_s", "time_to_first_token_s", "time_per_output_token_s"),
    "output_tokens_per_s",
)
TRAINING_RATES = (
    *("tokens_per_s_per_device", "step_s", "model_flops_utilization", "tflops_per_device"),
    "hardware_tflops_per_device",
)
EXAMPLES = 60  # of each workload; a run by hand takes more
SLOWEST_S = 0.3  # of the processor, one scenario on a busy machine; 0.04 s is usual, whether it fits or not
USUAL_S = 0.05  # of the median, which is below 0.01 s


def chance(rng: random.Random, scenario: Scenario, share: float, field: str, values: Any) -> None:
    """Set a field to one of its values in a share of the scenarios."""
    if rng.random() < share:
        scenario[field] = rng.choice(values)


def inference(rng: random.Random) -> Scenario:
    """Return a random scenario of inference out of the contract's fields and values."""
    found: Scenario = {"model": rng.choice([*MODELS, {"config": CONFIG}])}
    chance(rng, found, 0.5, "workload", ["inference"])
    chance(rng, found, 0.85, "accelerator", ACCELERATORS)
    chance(rng, found, 0.9, "engine", ENGINES)
    chance(rng, found, 0.8, "weights", WEIGHTS)
    chance(rng, found, 0.4, "kv_cache", ["bf16", "fp16", "fp8", "int8", "fp32", "q8_0"])
    chance(rng, found, 0.1, "kv_cache_v", ["bf16", "fp8"])
    chance(rng, found, 0.7, "sequences", [1, 2, 4, 16, 64, 256, *(["max"] if "accelerator" in found else [])])
    if rng.random() < 0.5:
        found["context_tokens"] = rng.choice([16, 512, 4096, 32768, 131072])
    else:
        chance(rng, found, 0.9, "prompt_tokens", [1, 128, 1000, 2048, 32000])
        chance(rng, found, 0.9, "output_tokens", [1, 128, 1000, 2048])
    chance(rng, found, 0.2, "cached_tokens", [0, 1024, 10000])
    chance(rng, found, 0.2, "prompt_logits", ["last", "all"])
    chance(rng, found, 0.2, "batched_tokens", [512, 8192])
    if found.get("engine") in ("vllm", "sglang", "tensorrt-llm"):
        chance(rng, found, 0.3, "memory_fraction", [0.5, 0.8, 0.95])
    chance(rng, found, 0.4, "accelerators", [1, 2, 4, 8])
    if "accelerators" not in found:
        chance(
            rng, found, 0.5, "parallelism", [{"tensor": 2}, {"tensor": 4, "pipeline": 2}, {"data": 2}, {"pipeline": 2}]
        )
    return found


def training(rng: random.Random) -> Scenario:
    """Return a random scenario of training out of the contract's fields and values."""
    found: Scenario = {"workload": "training", "model": rng.choice([*MODELS, {"config": CONFIG}])}
    chance(rng, found, 0.8, "accelerator", ACCELERATORS)
    chance(rng, found, 0.8, "method", ["full", "lora", "qlora"])
    if found.get("method", "full") != "full":
        chance(
            rng,
            found,
            0.7,
            "lora",
            [{"rank": 16, "targets": "all-linear"}, {"rank": 8}, {"rank": 64, "targets": ["all-linear"]}],
        )
        chance(rng, found, 0.2, "base_weights", ["bf16", "nf4", "nf4-dq", "int8"])
    chance(rng, found, 0.8, "precision", PRECISIONS)
    chance(rng, found, 0.2, "gradient_dtype", ["bf16", "fp16", "fp32"])
    chance(rng, found, 0.8, "optimizer", OPTIMIZERS)
    chance(rng, found, 0.8, "sharding", ["none", "zero-1", "zero-2", "zero-3", "fsdp"])
    chance(rng, found, 0.2, "optimizer_in_backward", [True, False])
    chance(rng, found, 0.3, "padding_mask", [True, False])
    chance(rng, found, 0.7, "checkpointing", ["none", "selective", "full"])
    chance(rng, found, 0.3, "attention", ["flash", "eager"])
    chance(rng, found, 0.4, "cross_entropy", ["full", "chunked", "fused"])
    chance(rng, found, 0.3, "offload", [[], ["optimizer"], ["activations"], ["optimizer", "parameters"]])
    chance(rng, found, 0.7, "micro_batch", [1, 2, 8, 32])
    chance(rng, found, 0.7, "sequence_tokens", [128, 1024, 4096, 32768])
    chance(rng, found, 0.3, "gradient_accumulation", [1, 4, 16])
    chance(rng, found, 0.4, "training_tokens", [10**9, 15 * 10**12])
    if rng.random() < 0.4:
        found["accelerators"] = rng.choice([1, 2, 8, 64])
    elif rng.random() < 0.6:
        layouts = [{"data": 8}, {"tensor": 2, "data": 2}, {"tensor": 4, "pipeline": 2}, {"context": 2, "data": 2}]
        found["parallelism"] = rng.choice(layouts)
        if found["parallelism"].get("tensor", 1) > 1:
            chance(rng, found, 0.5, "sequence_parallel", [True, False])
    return found


def whole_numbers(value: Report, name: str = "") -> Iterator[str]:
    """Return the places of a report whose name ends in _bytes and whose value is no whole number."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from whole_numbers(item, f"{name}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from whole_numbers(item, name)
    elif name.rsplit(".", 1)[-1].removesuffix("_range").endswith("bytes") and "scenario" not in name:
        yield from [] if type(value) is int or value is None else [name]


def check_ranges(value: Report, name: str = "") -> None:
    """Check that every range is one, and that no figure is negative."""
    if isinstance(value, dict) and set(value) == {"low", "typical", "high"}:
        assert 0 <= value["low"] <= value["typical"] <= value["high"], (name, value)
    elif isinstance(value, dict):
        for key, item in value.items():
            check_ranges(item, f"{name}.{key}")


def check_memory(memory: Report) -> None:
    """Check the memory of a report: parts, totals, ranges, what fits."""
    parts = memory["parts"]
    assert sum(part["bytes"] for part in parts) == memory["device_bytes"]
    assert all(part["bytes"] >= 0 for part in parts), parts
    assert len({part["id"] for part in parts}) == len(parts)
    assert all({"id", "label", "bytes", "steps"} <= part.keys() for part in parts)
    allocated, reserved, device = (memory[name] for name in TOTALS)
    assert 0 < allocated <= reserved <= device
    for name in TOTALS:
        low, high = memory[f"{name}_range"]
        assert low <= memory[name] <= high, name
    assert memory["sum_over_devices_bytes"] >= device
    if "capacity_bytes" in memory:
        assert isinstance(memory["fits"], bool)
        assert memory["fits"] == (memory["headroom_bytes"] >= 0)


def check_report(scenario: Scenario, report: Report) -> None:
    """Check what the contract says of every report."""
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert not list(whole_numbers(report))
    check_ranges(report["speed"], "speed")
    check_ranges(report["cost"], "cost")
    check_memory(report["memory"])
    for name in ("scenario", "defaults", "model", "memory", "speed", "cost", "steps", "warnings", "catalog"):
        assert name in report
    filled = report["scenario"]
    assert set(report["defaults"]) <= set(filled), set(report["defaults"]) - set(filled)
    assert not set(report["defaults"]) & set(scenario)
    assert filled["accelerators"] == product(filled["parallelism"])
    for name in ("parameters_total", "parameters_active", "parameters_trainable"):
        assert isinstance(report["model"][name], int)
    assert report["model"]["parameters_active"] <= report["model"]["parameters_total"]
    assert all({"name", "formula", "substituted", "value", "unit", "source"} <= step.keys() for step in report["steps"])
    assert all({"code", "message", "field"} <= warning.keys() for warning in report["warnings"])
    for price in priced(report["cost"]):
        assert price.get("checked") or price.get("date"), price


def priced(cost: Report) -> Iterator[dict[str, Any]]:
    """Return the prices that a cost rests on."""
    if isinstance(cost, dict):
        yield from (item for item in cost.get("prices", []))


def product(layout: dict[str, int]) -> int:
    """Return the devices of a layout: expert ranks are taken out of the others."""
    return layout["tensor"] * layout["pipeline"] * layout["data"] * layout["context"]


def check_inference(report: Report) -> None:
    """Check the speed of inference against itself."""
    speed, filled = report["speed"], report["scenario"]
    if not speed:
        return
    writes = "decode_tokens_per_s" in speed
    for name in INFERENCE_RATES if writes else INFERENCE_RATES[0:3:2]:
        assert speed[name] is None or speed[name]["low"] > 0, name
    assert speed["bound_by"]
    if writes and speed["decode_tokens_per_s"] is not None:
        rate, wait = speed["decode_tokens_per_s"]["typical"], speed["time_per_output_token_s"]["typical"]
        ranks = report["memory"]["sequences"]
        assert rate * wait == pytest.approx(ranks, rel=0.02), (rate * wait, ranks)
        output = filled["output_tokens"]
        if output:
            total = speed["time_to_first_token_s"]["typical"] + (output - 1) * wait
            assert speed["output_tokens_per_s"]["typical"] <= 1.05 * ranks * output / total


def check_training(report: Report) -> None:
    """Check the speed of training against itself."""
    speed, filled = report["speed"], report["scenario"]
    if not speed:
        return
    for name in TRAINING_RATES:
        assert speed[name]["low"] > 0, name
    assert speed["model_flops_utilization"]["high"] < 1
    assert speed["hardware_tflops_per_device"]["typical"] >= 0.999 * speed["tflops_per_device"]["typical"]
    ranks = filled["parallelism"]["data"]
    tokens = filled["micro_batch"] * filled["sequence_tokens"] * filled["gradient_accumulation"] * ranks
    rate = speed["tokens_per_s_per_device"]["typical"] * filled["accelerators"]
    assert rate * speed["step_s"]["typical"] == pytest.approx(tokens, rel=0.02)
    if filled.get("training_tokens"):
        assert rate * speed["duration_s"]["typical"] == pytest.approx(filled["training_tokens"], rel=0.05)


def check_more_needs_more(rng: random.Random, scenario: Scenario, report: Report) -> None:
    """Check that more of anything never needs less; what an engine sets aside anyway needs the same."""
    filled = report["scenario"]
    fields = {
        "inference": ("sequences", "prompt_tokens", "output_tokens", "cached_tokens"),
        "training": ("micro_batch", "sequence_tokens"),
    }[filled["workload"]]
    kept = {name: filled[name] for name in (*fields, "parallelism") if name in filled}
    if kept.get("sequences") == "max" or report["memory"].get("fits") is False:
        return
    changed = {name: value for name, value in scenario.items() if name not in ("context_tokens", "accelerators")} | kept
    field = rng.choice(fields)
    more = {**changed, field: 2 * filled[field] + 1}
    one, two = estimate(changed)["memory"], estimate(more)["memory"]
    one_pool, two_pool = (memory.get("kv_pool_bytes") for memory in (one, two))
    if filled.get("engine") in ("vllm", "sglang", "tensorrt-llm") and "accelerator" in filled:
        assert two["fits"] <= one["fits"], (field, changed)
        assert two_pool <= one_pool, (field, one_pool, two_pool)
    else:
        assert two["allocated_bytes"] >= one["allocated_bytes"], (field, one["allocated_bytes"], two["allocated_bytes"])


def check_devices_needed(scenario: Scenario, report: Report) -> None:
    """Check that the fewest devices are enough, and that one fewer is not."""
    memory = report["memory"]
    count = memory.get("devices_needed")
    if memory.get("fits") and "gpu_layers" not in scenario:
        assert count, (memory["device_bytes"], memory["capacity_bytes"])
        assert count <= report["scenario"]["accelerators"], (count, memory["devices_needed_parallelism"])
    if not count or report["scenario"].get("sequences") == "max" or scenario.get("sequences") == "max":
        return
    again = {name: value for name, value in scenario.items() if name not in ("accelerators", "parallelism")}
    if report["scenario"]["workload"] == "training":
        again["gradient_accumulation"] = report["scenario"]["gradient_accumulation"]
    layout = memory["devices_needed_parallelism"]
    if layout["tensor"] == 1:
        again.pop("sequence_parallel", None)
    enough: Report = estimate({**again, "parallelism": layout})
    assert enough["scenario"]["accelerators"] == count
    assert enough["memory"]["fits"], (count, layout)
    sharded = report["scenario"].get("sharding", "none") != "none" and layout["data"] == count
    if count > 1 and (report["scenario"]["workload"] == "inference" or sharded):
        try:
            fewer: Report = estimate({**again, "accelerators": count - 1})
        except ScenarioError:
            return  # no layout has so many
        assert not fewer["memory"]["fits"], (count, fewer["scenario"]["parallelism"])


def check(rng: random.Random, scenario: Scenario) -> float | None:
    """Check one scenario; return the seconds that it took, None where it was refused by field."""
    gc.disable()  # as timeit does: other tests' objects are none of its time
    start = time.process_time()
    try:
        report: Report = estimate(scenario)
    except ScenarioError as error:
        assert error.field.split(".")[0] in {*scenario, "parallelism", "accelerators", "sequences"}, error
        assert error.message
        return None
    finally:
        took = time.process_time() - start
        gc.enable()
    check_report(scenario, report)
    if report["scenario"]["workload"] == "training":
        check_training(report)
    else:
        check_inference(report)
    check_more_needs_more(rng, scenario, report)
    check_devices_needed(scenario, report)
    return took


@pytest.mark.parametrize("make", [inference, training])
def test_random_scenarios_keep_the_contract(make: Any) -> None:
    """Every report of a seeded sweep keeps what the contract says of it, and comes in good time."""
    rng = random.Random(20261121)
    times = []
    check(rng, make(rng))  # the first answer reads the facts
    for _ in range(EXAMPLES):
        scenario = make(rng)
        took = check(rng, scenario)
        if took is not None:
            times.append(took)
    assert len(times) > EXAMPLES / 2
    assert max(times) < SLOWEST_S
    assert sorted(times)[len(times) // 2] < USUAL_S


def main(count: int) -> None:
    """Check many scenarios of both workloads, and print what breaks the contract."""
    import traceback

    for make in (inference, training):
        rng, times, refused, broken = random.Random(), [], 0, 0
        for _ in range(count):
            scenario = make(rng)
            try:
                took = check(rng, scenario)
            except Exception as error:
                broken += 1
                last = traceback.extract_tb(error.__traceback__)[-1]
                print(
                    f"{type(error).__name__} {last.filename}:{last.lineno} {str(error)[:300]}\n  {json.dumps(scenario)}"
                )
                continue
            refused += took is None
            times += [took] if took is not None else []
        times.sort()
        print(
            f"{make.__name__}: {count}, {refused} refused, {broken} broken; "
            f"median {times[len(times) // 2] * 1e3:.1f} ms, slowest {times[-1] * 1e3:.0f} ms"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]))
