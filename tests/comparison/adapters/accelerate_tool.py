"""accelerate: what `accelerate estimate-memory` prints, from the same functions, on a model built from its config."""

from functools import lru_cache
from typing import Any

import torch
from accelerate import init_empty_weights
from accelerate.commands.estimate import estimate_training_usage
from accelerate.utils import calculate_maximum_sizes
from serve import NoAnswerError, serve
from transformers import AutoConfig, AutoModel

SIZES = {"bf16": 2, "fp16": 2, "fp32": 1, "int8": 4, "nf4": 8, "awq": 8, "gptq-int4": 8}  # of FP32's size


@lru_cache(maxsize=64)
def full_bytes(config: tuple[tuple[str, Any], ...]) -> int:
    """Return the bytes of a model in FP32, made as the command makes it: without a head."""
    with init_empty_weights():
        model = AutoModel.from_config(AutoConfig.for_model(**dict(config)), torch_dtype=torch.float32)
    return int(calculate_maximum_sizes(model)[0])


def answer(case: dict[str, Any]) -> float:
    """Return the size of the model in a format, or of training with Adam."""
    scenario = case["scenario"]
    if case["kind"] not in ("weights", "training"):
        raise NoAnswerError("weights and training alone")
    plain = {name: value for name, value in case["config"].items() if not isinstance(value, dict | list)}
    size = full_bytes(tuple(sorted(plain.items())))
    if case["kind"] == "weights":
        if scenario["weights"] not in SIZES:
            raise NoAnswerError("no such format")
        return size / SIZES[scenario["weights"]]
    if any(degree > 1 for degree in scenario["parallelism"].values()):
        raise NoAnswerError("one device alone")
    precision = "float32" if scenario["precision"] == "fp32" else "bfloat16"
    sizes = estimate_training_usage(size, precision)
    return max(sizes.values())


serve("accelerate", answer)
