"""Caches and states take the bytes that the frameworks allocate."""

from typing import Any

import pytest

from calc import estimate
from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.layers import Architecture, Layer, TokenCache
from calc.catalog import catalog
from calc.memory.kv_cache import entry_bytes, expanded_token_bytes
from calc.memory.recurrent_state import state_bits, state_elements
from calc.scenario.model import known_architecture
from tests.known import configs, load

ROWS = load("kv_cache.json")["rows"]
CONFIGS = configs()
BATCH, WINDOW_TENSOR_BYTES = 2, 8
PATTERNS = ("layer_types", "mlp_layer_types", "max_window_layers")
OLDER_NAMES = {
    "gpt2": {"n_embd": "hidden_size", "n_head": "num_attention_heads", "n_layer": "num_hidden_layers"},
    "gptj": {"n_embd": "hidden_size", "n_head": "num_attention_heads", "n_layer": "num_hidden_layers"},
    "mpt": {"d_model": "hidden_size", "n_heads": "num_attention_heads", "n_layers": "num_hidden_layers"},
}


def architecture_of(row: dict[str, Any]) -> Architecture:
    """Return the architecture of a row: its geometry names what caches depend on, and a config of its family completes
    it."""
    geometry = row["geometry"]
    family = [config for config in CONFIGS if config["model_type"] == geometry["model_type"]]
    alike = [config for config in family if config.get("hidden_size") == geometry["hidden_size"]]
    base = (alike or family)[0]
    config = {name: value for name, value in base.items() if name not in PATTERNS}
    config = config | geometry | {"num_hidden_layers": len(row["layers"])}
    config |= {old: config[new] for old, new in OLDER_NAMES.get(config["model_type"], {}).items()}
    return read_config(Config(config))


def cache_bytes(cache: TokenCache, tokens: int) -> int:
    """Return the bytes of a layer's cache of one sequence as transformers keeps it.

    Between two steps it keeps one token less than a window, because the next token fills it, and beside a window its
    length as a tensor.
    """
    bf16 = catalog().number_format("bf16")
    entry = entry_bytes(cache=cache, tensor_parallel=1, key_format=bf16, value_format=bf16)
    if cache.window_tokens is not None:
        kept = min(tokens, cache.window_tokens - 1)
        assert 0 <= cache.entries(tokens, tokens) - kept <= 1
        return entry * kept
    return entry * cache.entries(tokens, tokens)


def state_bytes(layer: Layer) -> int:
    """Return the bytes of a layer's states of one sequence."""
    return sum(
        state_elements(state=state, tensor_parallel=1) * state_bits(state=state, activation_bytes=2) // 8
        for state in layer.states
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["model"])
def test_every_layer_s_cache_equals_transformers_to_the_byte(row: dict[str, Any]) -> None:
    """Keys and values, latent vectors, indexer keys, windows and recurrent states, layer by layer."""
    architecture = architecture_of(row)
    for index, layer in zip(architecture.pattern, row["layers"], strict=True):
        kind = architecture.kinds[index]
        for tokens, measured in layer["bytes_at_seq"].items():
            kept = state_bytes(kind) + sum(cache_bytes(cache, int(tokens)) for cache in kind.caches)
            windows = sum(cache.window_tokens is not None for cache in kind.caches)
            assert BATCH * kept + windows * WINDOW_TENSOR_BYTES == measured


def test_the_known_answers_hold_every_kind_of_cache() -> None:
    """MHA, GQA, MQA, MLA, windows, an indexer and recurrent states are among them."""
    architectures = [architecture_of(row) for row in ROWS]
    assert {architecture.attention_kind for architecture in architectures} == {"MHA", "GQA", "MQA", "MLA", "none"}
    caches = {cache for found in architectures for kind in found.kinds for cache in kind.caches}
    assert {cache.label for cache in caches} == {"keys and values", "latent vector", "indexer keys"}
    assert any(cache.window_tokens for cache in caches)


@pytest.mark.parametrize(
    ("model", "token_bytes"), [("llama-2-7b", 524288), ("llama-3.1-8b", 131072), ("llama-3.1-405b", 516096)]
)
def test_published_bytes_of_a_token(model: str, token_bytes: int) -> None:
    """Llama 2 7B 512 KiB, Llama 3.1 8B 128 KiB, 405B 504 KiB a token: not 16 KV heads, as a well-known post had it."""
    parts = estimate({"model": model, "context_tokens": 1000})["memory"]["parts"]  # type: ignore[index]
    assert parts[1]["bytes"] == 1000 * token_bytes


def test_an_8_bit_cache_is_half_of_a_16_bit_one() -> None:
    """LMDeploy's measurement: eight sequences of 2,048 tokens of LLaMA 7B take 8,256 MiB in FP16, 4,128 in INT8."""
    measured = {"fp16": 8256, "int8": 4128, "fp8": 4128}
    for number_format, mebibytes in measured.items():
        scenario = {"model": "llama-1-7b", "context_tokens": 2048, "sequences": 8, "kv_cache": number_format}
        report: Any = estimate(scenario)
        found = next(part["bytes"] for part in report["memory"]["parts"] if part["id"] == "kv_cache")
        assert found == pytest.approx(mebibytes * 2**20, rel=0.01)


def test_expanded_latent_attention_is_that_of_the_paper() -> None:
    """DeepSeek V3: 128 heads with keys of 192 and values of 128 in 61 layers, against a latent vector of 576."""
    architecture = known_architecture(catalog(), "deepseek-v3")
    bf16 = catalog().number_format("bf16")
    expanded = expanded_token_bytes(architecture=architecture, key_format=bf16, value_format=bf16)
    assert expanded == 61 * 128 * (192 + 128) * 2
    plain = known_architecture(catalog(), "llama-3.1-8b")
    assert expanded_token_bytes(architecture=plain, key_format=bf16, value_format=bf16) == 0


@pytest.mark.parametrize(
    ("scenario", "cached"),
    [
        # 27 layers, 8 of 16 heads on each of two ranks, keys and values filled up to 256: a vLLM of June 2024
        ({"model": "deepseek-coder-v2-lite", "engine": "vllm", "engine_version": "0.5.1"}, 27 * 8 * 512 * 2 * 4096),
        ({"model": "deepseek-coder-v2-lite", "engine": "vllm", "engine_version": "0.7.1"}, 27 * 576 * 2 * 4096),
    ],
)
def test_latent_vectors_were_expanded_once(scenario: dict[str, Any], cached: int) -> None:
    """Of a program that cached keys and values of all heads then, the cache is computed so for those versions."""
    report: Any = estimate(
        {**scenario, "parallelism": {"tensor": 2}, "accelerator": "l40-48gb", "context_tokens": 4096}
    )
    assert {part["id"]: part["bytes"] for part in report["memory"]["parts"]}["kv_cache"] == cached
    assert report["speed"]["decode_tokens_per_s"]["typical"] > 0


def test_what_llama_cpp_allocated_for_deepseek_v3() -> None:
    """An issue of February 2025 prints 204,800 MiB for 16 of the 61 layers at 163,840 tokens."""
    report: Any = estimate(
        {"model": "deepseek-v3", "engine": "llama.cpp", "engine_version": "b4700", "weights": "q2_k",
         "context_tokens": 163_840}
    )  # fmt: skip
    cached = {part["id"]: part["bytes"] for part in report["memory"]["parts"]}["kv_cache"]
    assert cached * 16 / 61 == 204_800 * 2**20


@pytest.mark.parametrize(("model", "source"), [("llama-3.1-8b", "gqa"), ("deepseek-v3", "mla"), ("qwen3-32b", "gqa")])
def test_a_cache_s_working_names_the_paper_of_its_kind(model: str, source: str) -> None:
    """Keys and values of groups of heads (arXiv:2305.13245), or one latent vector (arXiv:2405.04434)."""
    report: Any = estimate({"model": model, "context_tokens": 1024})
    steps = next(part["steps"] for part in report["memory"]["parts"] if part["id"] == "kv_cache")
    assert {step["source"] for step in steps} & {"gqa", "mla"} == {source}
