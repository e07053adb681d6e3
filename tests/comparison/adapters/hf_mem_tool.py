"""hf-mem: the cache that it adds to the sizes of a repository's files, by its function on the config."""

from typing import Any

from hf_mem.safetensors.kv_cache import compute_safetensors_kv_cache_size
from serve import NoAnswerError, serve


def answer(case: dict[str, Any]) -> float:
    """Return the cache; weights are what a repository's files say, and no estimate."""
    if case["kind"] != "cache":
        raise NoAnswerError("weights are read from files; no engines, no training")
    scenario = case["scenario"]
    config = case["config"].get("text_config", case["config"])
    tokens, sequences = scenario["context_tokens"], scenario["sequences"]
    return float(compute_safetensors_kv_cache_size(config, "BF16", tokens, sequences))


serve("hf-mem", answer)
