"""ridgepoint: weights, the cache of a sequence, and the cache that vLLM sets aside; with the true parameter count."""

import json
from typing import Any

from ridgepoint import _core
from serve import NoAnswerError, serve

FORMATS = {"bf16": "fp16", "fp16": "fp16", "fp8": "fp8", "q4_k_m": "q4_k_m", "awq": "awq"}
DEVICES = {"h100-sxm-80gb": "h100-80gb", "a100-sxm-80gb": "a100-80gb"}


def shape(case: dict[str, Any]) -> tuple[Any, ...]:
    """Return the dimensions as the tool reads them from a config; it counts parameters in the files."""
    config = case["config"]
    heads, hidden, layers = (config.get(name) for name in ("num_attention_heads", "hidden_size", "num_hidden_layers"))
    if not (heads and hidden and layers):
        raise NoAnswerError("no such config")
    kinds, interval = config.get("layer_types"), config.get("full_attention_interval")
    full = sum("full" in str(kind) for kind in kinds) if kinds else layers // interval if interval else layers
    kv_heads = config.get("num_key_value_heads") or heads
    size = config.get("head_dim") or hidden // heads
    count = case["parameters"]
    head = ("case", layers, max(full, 1), hidden, count, count)
    if config.get("kv_lora_rank"):
        return (*head, "mla", 0, 0, 0, config["kv_lora_rank"], config["qk_rope_head_dim"])
    if kv_heads == heads:
        return (*head, "mha", size, heads, 0, 0, 0)
    return (*head, "gqa", size, 0, kv_heads, 0, 0)


def answer(case: dict[str, Any]) -> float:
    """Return what the tool says for a case."""
    scenario, kind = case["scenario"], case["kind"]
    if kind not in ("weights", "cache", "pool"):
        raise NoAnswerError("no totals of a process")
    name = scenario.get("weights", "bf16")
    if name not in FORMATS:
        raise NoAnswerError("no such format")
    device = DEVICES.get(scenario.get("accelerator", "a100-sxm-80gb"))
    if device is None:
        raise NoAnswerError("no such device")
    if kind == "pool" and scenario.get("memory_fraction", 0.9) != 0.9:
        raise NoAnswerError("no other share than 0.9")
    tokens = scenario.get("context_tokens", 4096)
    devices = scenario.get("parallelism", {}).get("tensor", 1)
    asked = (*shape(case), device, devices, "vllm", FORMATS[name], "fp16", tokens, min(tokens, 2048), True)
    found = json.loads(_core.fit_shape(*asked))
    if kind == "weights":
        return float(found["memory"]["weights_bytes"]["best"])
    if kind == "cache":
        return float(found["capacity"]["bytes_per_seq"]) * scenario["sequences"]
    return float(found["memory"]["kv_pool_bytes"]["best"]) / devices  # it adds the devices up


serve("ridgepoint", answer)
