"""Predicted against measured memory of engines, by source. Run it: python -m calc.validation.inference_memory.

Every row of inference_memory.csv whose engine, model and format are modelled becomes a scenario in the contract's
fields and goes through `calc.estimate`. Errors are of the figure that the row measured.
"""

import re
from collections.abc import Mapping
from typing import Any

from calc import ScenarioError, estimate
from calc.validation.inference import (
    UNITS,
    accelerator_of,
    model_of,
    number,
    trusted,
    weights_of,
)
from calc.validation.printing import print_scores
from calc.validation.scores import (
    Row,
    Score,
    Scores,
    SkipError,
    score_rows,
)

FILE = "inference_memory.csv"
ENGINES = {
    "vllm": "vllm",
    "llama.cpp": "llama.cpp",
    "ik_llama.cpp": "llama.cpp",
    "hf-transformers": "transformers",
    "sglang": "sglang",
    "tensorrt-llm": "tensorrt-llm",
    "mlx": "mlx",
}
HOSTED = ("Qwen3-235B-A22B", "Kimi-K2", "DeepSeek-V3")  # too large for the cards of the logs that name them
UNSTATED_BUILD = "b4000"  # of llama.cpp: logs that name no build are of 2023 to 2025
# What a source that says no more than "memory" read: the allocator's peak, what it reserved, or the driver's figure.
PEAKS = {
    "qwen_docs_qwen1.5": "allocated_bytes",
    "qwen_docs_qwen2.5": "allocated_bytes",
    "deepseek_llm_readme": "allocated_bytes",
    "glm4_docs": "device_bytes",
    "chatglm2_readme": "allocated_bytes",
}
TOTALS = {
    "peak_gpu_memory_torch_allocated": "allocated_bytes",
    "peak_gpu_memory_torch_reserved": "reserved_bytes",
    "peak_gpu_memory_nvml": "device_bytes",
    "total_vram_reported": "allocated_bytes",
    "total_vram_nvidia_smi": "device_bytes",
}
POOLS = {"kv_cache_available": "kv_pool_bytes", "kv_cache_tokens": "kv_pool_tokens"}
PARTS = {
    "weights_on_gpu": ("weights",),
    "activation_peak": ("activations", "logits"),
    "non_torch": ("workspaces", "communication_buffers"),
    "cuda_graph": ("cuda_graphs",),
    "kv_buffer": ("kv_cache",),
    "compute_buffer": ("activations", "logits"),
    "compute_buffer_max_per_gpu": ("activations", "logits"),
}


def scenario_of(row: Row) -> dict[str, Any]:
    """Return the scenario of a row; raises SkipError with the reason where there is none."""
    trusted(row)
    engine = ENGINES.get(row["engine"])
    if engine is None:
        raise SkipError(f"engine {row['engine']} is not one of the contract's")
    if float(row["value"]) <= 0:
        raise SkipError("measured as a negative difference of free memory, or of a model that did not fit")
    model = model_of(row)
    found: dict[str, Any] = {"model": model, "engine": engine, "weights": weights_of(row)}
    accelerator = accelerator_of(row)
    if accelerator is not None:
        found["accelerator"] = accelerator
    devices, tensor = number(row, "n_gpus") or 1, number(row, "tp") or 1
    if engine == "transformers":
        tensor = 1  # device_map places whole layers
    if one_buffer(row):
        devices = 1
    replicas = re.search(r"--data-parallel-size (\d+)", row["notes"])
    data = int(replicas.group(1)) if replicas else 1
    experts = tensor * data if "--enable-expert-parallel" in row["notes"] else 1
    layout = {"tensor": tensor, "pipeline": max(devices // (tensor * data), 1), "data": data, "expert": experts}
    found["parallelism"] = layout
    found["sequences"] = number(row, "batch") or 1
    prompt, output, context = (number(row, name) for name in ("input_len", "output_len", "ctx"))
    if prompt:
        found |= {"prompt_tokens": prompt, "output_tokens": output}
    elif context:
        found["context_tokens"] = context
    if row["kv_dtype"] in ("int8", "fp8", "q4_0"):
        found["kv_cache"] = row["kv_dtype"]
    method, _, drafted = row["speculation"].partition(" ")
    if method:  # "mtp 3": three tokens by multi-token prediction
        found["speculation"] = {"method": method, "tokens": int(drafted)}
    return found | engine_fields(row, engine)


def one_buffer(row: Row) -> bool:
    """Return whether a device's buffer is that of one alone: builds with one scratch buffer, and experts on the host.

    Where tensors are placed one by one, as a mixture of hundreds of billions on two cards has to be, llama.cpp makes no
    pipeline of the devices.
    """
    away = "CPU-offloaded experts" in row["notes"] and row["arch_key"] in HOSTED
    return away or "scratch" in row["notes"] or row["metric"] == "total_vram_reported"


def engine_fields(row: Row, engine: str) -> dict[str, Any]:
    """Return the fields that a row's notes and version give."""
    if engine == "transformers":
        return transformers_fields(row)
    if engine == "llama.cpp":
        return llama_cpp_fields(row)
    if row["source_key"] == "llmd_planner_empirical" and row["quant"] == "MXFP4":
        # its image brings Triton's kernels, as vLLM does from 0.11.1 on; of the larger model the run's parts add up to
        # 0.95 of the device, and not to the 0.9 stated
        return {"memory_fraction": 0.95 if "120b" in row["arch_key"] else 0.9, "engine_version": "0.11.1"}
    share = re.search(r"(?:gpu_memory_utilization|mem_fraction_static|memory_fraction)=([\d.]+)", row["notes"])
    version = re.search(r"\d+\.\d+(\.\d+)?(\.post\d+)?", row["engine_version"])
    found: dict[str, Any] = {"memory_fraction": float(share.group(1))} if share else {}
    found |= {"engine_version": version.group()} if version else {}
    found |= {"graphs": False} if "--enforce-eager" in row["notes"] else {}
    found |= {"text_only": True} if "--language-model-only" in row["notes"] else {}
    for field, name in (("batched_tokens", "max_num_tokens"), ("sequence_slots", "max_batch_size")):
        stated = re.search(rf"{name}=(\d+)", row["notes"])
        found |= {field: int(stated.group(1))} if stated else {}
    return found


def transformers_fields(row: Row) -> dict[str, Any]:
    """Return the fields of a run of transformers: all but the newest sources ran versions before 4.45."""
    found: dict[str, Any] = {}
    if row["source_key"] not in ("qwen_docs_qwen2.5", "glm4_docs"):
        found["engine_version"] = "4.37"
    if row["source_key"] == "deepseek_llm_readme":
        found["attention"] = "eager"
    return found


def llama_cpp_fields(row: Row) -> dict[str, Any]:
    """Return the fields of a run of llama.cpp; raises SkipError for kernels that only a fork has."""
    found: dict[str, Any] = {}
    if "mla=" in row["notes"] and row["arch_key"].startswith("DeepSeek"):
        raise SkipError("a fork's own kernels for latent attention")
    build = re.search(r"b\d{4,}", row["engine_version"])
    found["engine_version"] = build.group() if build else UNSTATED_BUILD
    batch = re.search(r"n_ubatch=(\d+)", row["notes"])
    if batch:
        found["batched_tokens"] = int(batch.group(1))
    stored = "no FlashAttention" in row["engine_version"] or "flash_attn=0" in row["notes"] or "fa off" in row["notes"]
    found["attention"] = "eager" if stored else "flash"  # most of them asked for it before it was on by itself
    return found


def figure_of(row: Row, memory: Mapping[str, Any]) -> tuple[str, float, float, float]:
    """Return the figure of a report that a row measured: its name, value, and the ends of its range."""
    metric, devices = row["metric"], number(row, "n_gpus") or 1
    if metric in POOLS:
        if not memory.get("kv_pool_bytes"):
            raise SkipError("the pool needs an accelerator that holds the model")
        pool, predicted = float(memory["kv_pool_bytes"]), float(memory[POOLS[metric]])
        low, high = (end * predicted / pool for end in memory.get("kv_pool_bytes_range", (pool, pool)))
        return POOLS[metric], predicted, low, high
    if metric in PARTS:
        found = float(sum(part["bytes"] for part in memory["parts"] if part["id"] in PARTS[metric]))
        every = row["per"] == "sum_all_gpus" and metric == "compute_buffer" and not one_buffer(row)
        return metric, found * (devices if every else 1), found, found
    name = TOTALS.get(metric) or PEAKS[row["source_key"]]
    times = 1.0
    if row["per"] == "sum_all_gpus" and devices > 1 and metric != "total_vram_reported":
        times = memory["sum_over_devices_bytes"] / memory["device_bytes"]
    low, high = memory[f"{name}_range"]
    return name, memory[name] * times, low * times, high * times


def measured_of(row: Row) -> float:
    """Return what a row measured, in bytes."""
    return float(row["value"]) * UNITS[row["unit"]]


def score_of(row: Row) -> Score:
    """Return a row's score."""
    try:
        memory: Any = estimate(scenario_of(row), repairs=False)["memory"]
    except ScenarioError as error:
        raise SkipError(f"refused: {error.field} {error.message}") from None
    name, predicted, low, high = figure_of(row, memory)
    return Score(row, name, measured_of(row), predicted, low=low, high=high)


def scores() -> Scores:
    """Return all scores, and the rows that were left out by reason."""
    return score_rows(FILE, score_of)


def written(score: Score) -> str:
    """Return a row as one line."""
    row = score.row
    measured, predicted = (each / UNITS[row["unit"]] for each in (score.measured, score.predicted))
    return (
        f"{row['id']} {row['source_key'][:18]:<18} {row['arch_key']:<18} {row['quant']:<20} "
        f"{row['batch']:>4}×{row['input_len']}+{row['output_len']} n={row['n_gpus']} {row['metric']:<28} "
        f"{measured:8.2f} {predicted:8.2f} {row['unit']} {score.error:+.0%}"
    )


def main() -> None:
    """Print the tables."""
    print_scores(scores, written, keys=("what",))


if __name__ == "__main__":
    main()
