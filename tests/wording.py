"""The words of an answer: its fields, the names, formulas, units and sources of its working, and what it warns of.

`python -m tests.wording` writes those of the scenarios below to `tests/data/wording.json`, after a change of words that
is meant: look at the difference before it is committed.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calc import estimate
from calc.calculators import CALCULATORS
from tests.working import every_step

FILE = Path(__file__).parent / "data/wording.json"
NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?")
H100 = "h100-sxm-80gb"
TRAINED = {"workload": "training", "model": "llama-3.1-8b", "accelerator": H100, "sequence_tokens": 2048}
SCENARIOS: dict[str, dict[str, Any]] = {
    "mathematics alone": {"model": "llama-3.1-8b"},
    "does not fit": {"model": "llama-3.3-70b", "accelerator": "rtx-4090", "context_tokens": 8192},
    "vllm does not fit": {"model": "llama-3.3-70b", "accelerator": H100, "engine": "vllm", "sequences": 8},
    "llama.cpp does not fit": {
        "model": "qwen3-32b",
        "accelerator": "rtx-4090",
        "engine": "llama.cpp",
        "weights": "q8_0",
    },
    "vllm": {"model": "llama-3.1-8b", "accelerator": H100, "engine": "vllm", "sequences": 32, "price_per_hour": 2},
    "sglang": {"model": "deepseek-v3", "accelerator": "h200-sxm-141gb", "accelerators": 8, "engine": "sglang"},
    "tensorrt-llm": {"model": "mixtral-8x7b", "accelerator": H100, "accelerators": 2, "engine": "tensorrt-llm"},
    "transformers": {"model": "gpt-oss-20b", "accelerator": H100, "engine": "transformers", "weights": "mxfp4"},
    "llama.cpp": {"model": "llama-3.1-8b", "accelerator": "rtx-4090", "engine": "llama.cpp", "weights": "q4_k_m"},
    "one copy of a context": {
        "model": "llama-3.1-8b",
        "accelerator": "rtx-4090",
        "engine": "llama.cpp",
        "context_tokens": 32768,
        "prompt_tokens": 30000,
        "sequences": 2,
    },
    "layers on the host": {
        "model": "llama-3.1-8b",
        "accelerator": "rtx-4090",
        "engine": "llama.cpp",
        "weights": "q4_k_m",
        "gpu_layers": 20,
    },
    "mlx": {"model": "llama-3.1-8b", "accelerator": "m2-max-96gb", "engine": "mlx"},
    "window": {"model": "gemma-3-27b", "accelerator": H100, "engine": "vllm", "context_tokens": 32768},
    "encoder": {"model": "bge-m3", "accelerator": "l4", "engine": "transformers"},
    "concurrency": {"model": "llama-3.1-8b", "accelerator": H100, "engine": "vllm", "concurrency": 512},
    "encoder under vllm": {"model": "bge-m3", "accelerator": H100, "engine": "vllm"},
    "full": {**TRAINED, "accelerators": 8, "sharding": "zero-3"},
    "zero-1": {**TRAINED, "accelerators": 8, "sharding": "zero-1", "training_tokens": 10**9, "price_per_hour": 2},
    "zero-2": {**TRAINED, "accelerators": 8, "sharding": "zero-2", "optimizer": "adafactor"},
    "copies": {**TRAINED, "accelerators": 2, "precision": "fp16-mixed"},
    "lora": {**TRAINED, "method": "lora", "checkpointing": "full"},
    "qlora": {**TRAINED, "method": "qlora", "cross_entropy": "fused"},
    "tensor and pipeline": {
        **TRAINED,
        "parallelism": {"tensor": 2, "pipeline": 2, "data": 2},
        "sequence_parallel": True,
        "checkpointing": "selective",
        "gradient_accumulation": 8,
    },
    "context": {**TRAINED, "parallelism": {"context": 4}, "sharding": "zero-3", "checkpointing": "full"},
    "experts": {
        **TRAINED,
        "model": "mixtral-8x7b",
        "parallelism": {"data": 16, "expert": 8},
        "sharding": "zero-1",
    },
}


def plain(text: object) -> str:
    """Return a text with a sign for each number."""
    return NUMBER.sub("#", str(text))


def fields(report: object, path: str = "") -> Iterator[str]:
    """Iterate over the names of what a report has, steps and lists left out."""
    if isinstance(report, dict):
        for name, part in report.items():
            yield f"{path}.{name}".removeprefix(".")
            yield from fields(part, f"{path}.{name}")


def words(report: Any) -> dict[str, Any]:
    """Return the words of a report."""
    memory = report.get("memory") or {}
    return {
        "fields": list(fields(report)),
        "steps": [
            [plain(step["name"]), step["formula"], step["unit"], step["source"]]
            for step in every_step(report.get("steps"))
        ],
        "signs": [plain(step["substituted"]) for step in every_step(report.get("steps"))],
        "parts": [[part["id"], part["label"]] for part in memory.get("parts", [])],
        "warnings": [
            [warning["code"], plain(warning["message"]), warning["field"], warning["severity"]]
            for warning in report.get("warnings", [])
        ],
        "repairs": [[plain(repair["message"]), repair["cost"]] for repair in report.get("repairs") or []],
    }


def asked() -> dict[str, Any]:
    """Return the reports of the scenarios, and of the first worked example of each calculator."""
    found = {name: estimate(scenario) for name, scenario in SCENARIOS.items()}
    for name, calculator in CALCULATORS.items():
        if calculator.presets:
            found[f"calculator {name}"] = calculator.report(calculator.presets[0].values)
    return found


if __name__ == "__main__":
    said = {name: words(report) for name, report in asked().items()}
    FILE.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
