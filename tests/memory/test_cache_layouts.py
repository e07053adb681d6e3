"""Engines' caches take the bytes that they print."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import estimate
from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.layers import Architecture
from calc.architecture.stages import Stage, stages
from calc.catalog import catalog
from calc.memory.cache_layouts import (
    llama_cpp_cache_bytes,
    llama_cpp_state_bytes,
    vllm_pages,
)
from calc.memory.kv_cache import expanded_cache, stage_entries
from calc.scenario.model import known_architecture
from tests.known import load, parameter_rows

CACHES = load("engine_caches.json")
ROWS = CACHES["rows"]
CONFIGS = {row["name"]: row["config"] for row in parameter_rows() + load("family_parameters.json")["models"]}
CONFIGS |= CACHES["configs"]
UNITS = {"MiB": 2**20, "GiB": 2**30}


def architecture_of(row: dict[str, Any]) -> Architecture:
    """Return the architecture of a row's model, with its caches in the form that the engine keeps."""
    name = row["model"]
    architecture = read_config(Config(CONFIGS.get(name) or catalog().model(name).config))
    kinds = architecture.kinds
    if row["form"] == "expanded":
        kinds = tuple(kind._replace(caches=(expanded_cache(kind.attention),)) for kind in kinds if kind.attention)
    elif row["form"] == "latent with values":
        rank = CONFIGS[name]["kv_lora_rank"]
        kinds = tuple(kind._replace(caches=(kind.caches[0]._replace(value_dim=rank),)) for kind in kinds)
    elif row["form"] == "plain, windows ignored":
        kinds = tuple(
            kind._replace(caches=tuple(cache._replace(window_tokens=None) for cache in kind.caches)) for kind in kinds
        )
    return architecture._replace(kinds=kinds)


def stage_of(row: dict[str, Any]) -> Stage:
    """Return the whole of a row's model as one stage."""
    return stages(architecture_of(row), 1)[0]


def entries_of(stage: Stage, keys: str = "fp16", values: str = "fp16") -> Any:
    """Return the kinds of caches of a stage, with the bytes of an entry in all of their layers."""
    formats = {"key_format": catalog().number_format(keys), "value_format": catalog().number_format(values)}
    return stage_entries(stage=stage, tensor_parallel=1, **formats)


def digits(row: dict[str, Any]) -> float:
    """Return half of the last digit that was printed, in bytes."""
    return 0.5 * 10 ** -len(row["measured"].partition(".")[2]) * UNITS[row["unit"]]


CELLED = [row for row in ROWS if row["engine"] != "vllm"]
PAGED = [row for row in ROWS if row["engine"] == "vllm"]


@pytest.mark.parametrize("row", CELLED, ids=lambda row: row["id"])
def test_llama_cpp_and_its_fork_allocate_what_they_print(row: dict[str, Any]) -> None:
    """Cells, streams, sliding caches, latent vectors whole or expanded, block scales and FP32 states, to the digit."""
    printed = float(row["measured"]) * UNITS[row["unit"]]
    if row["kind"] == "recurrent_state":
        found = llama_cpp_state_bytes(stage=stage_of(row), sequences=row["sequences"])
    else:
        full, windowed = llama_cpp_cache_bytes(
            entries=entries_of(stage_of(row), row["keys"], row["values"]),
            context_tokens=row["context_tokens"],
            sequences=row["sequences"],
            unified=row.get("unified", True),
            micro_batch_tokens=row.get("micro_batch_tokens", 512),
        )
        found = {"kv_full_attn_layers": full, "kv_swa_layers": windowed, "kv_total": full + windowed}[row["kind"]]
    assert found == pytest.approx(printed, abs=1.01 * digits(row))


@pytest.mark.parametrize("row", PAGED, ids=lambda row: row["id"])
def test_vllm_s_pool_holds_the_tokens_that_it_logs(row: dict[str, Any]) -> None:
    """The tokens logged are those of a pool of the size logged, also where layers with states set the page."""
    cache_format = catalog().number_format(row["keys"])
    pages = vllm_pages(
        stage=stage_of(row),
        context_tokens=row["context_tokens"],
        batched_tokens=2048,
        key_format=cache_format,
        value_format=cache_format,
    )
    pool, slack = float(row["measured"]) * UNITS[row["unit"]], digits(row)
    held = [pages.tokens(int(size), row["context_tokens"]) for size in (pool - slack, pool + slack)]
    assert held[0] <= row["tokens"] <= held[1]
    assert held[1] - held[0] <= 0.004 * row["tokens"]


def test_pages_of_a_hybrid_are_those_of_its_states() -> None:
    """Qwen3.5 35B keeps 2,146,304 bytes of state a layer: blocks of 2,096 tokens in FP8, in groups of ten layers."""
    row = next(row for row in PAGED if row["keys"] == "fp8")
    fp8 = catalog().number_format("fp8")
    pages = vllm_pages(
        stage=stage_of(row),
        context_tokens=131_072,
        batched_tokens=2048,
        key_format=fp8,
        value_format=fp8,
    )
    assert pages == (2_096 * 1024, 10, (2, 2, 2, 63))


@given(
    row=st.sampled_from(CELLED),
    context=st.integers(256, 10**6),
    sequences=st.integers(1, 64),
    unified=st.booleans(),
    batch=st.integers(1, 4096),
)
def test_llama_cpp_never_has_less_than_the_tokens_need(
    row: dict[str, Any], context: int, sequences: int, unified: bool, batch: int
) -> None:
    """Padding adds cells, a sliding cache is never larger than a full one, and more context never needs less."""

    def allocated(tokens: int) -> tuple[int, int]:
        return llama_cpp_cache_bytes(
            entries=entries_of(stage_of(row)),
            context_tokens=tokens,
            sequences=sequences,
            unified=unified,
            micro_batch_tokens=batch,
        )

    full, windowed = allocated(context)
    assert all(more >= less for more, less in zip(allocated(context + 256), (full, windowed), strict=True))
    whole = architecture_of(row | {"form": "plain, windows ignored"})
    everything, none = llama_cpp_cache_bytes(
        entries=entries_of(stages(whole, 1)[0]),
        context_tokens=context,
        sequences=sequences,
        unified=unified,
        micro_batch_tokens=batch,
    )
    assert none == 0
    if row["form"] == "plain":
        assert full + windowed <= everything


def test_an_estimate_under_vllm_counts_pages() -> None:
    """A model whose windows and full layers share pages holds other tokens than the sum of its layers would."""
    asked = {"accelerator": "h100-sxm-80gb", "engine": "vllm", "context_tokens": 32768}
    hybrid: Any = estimate({"model": "gemma-3-27b", **asked})["memory"]
    kinds = stages(known_architecture(catalog(), "gemma-3-27b"), 1)[0]
    bf16 = catalog().number_format("bf16")
    pages = vllm_pages(stage=kinds, context_tokens=32768, batched_tokens=16384, key_format=bf16, value_format=bf16)
    assert hybrid["kv_pool_tokens"] == pages.tokens(hybrid["kv_pool_bytes"], 32768)
    plain: Any = estimate({"model": "llama-3.1-8b", **asked})["memory"]
    assert plain["kv_pool_tokens"] == plain["kv_pool_bytes"] // 131072
