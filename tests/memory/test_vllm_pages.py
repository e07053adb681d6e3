"""vLLM's blocks are those that its logs print."""

from typing import Any

import pytest

from calc import estimate
from calc.architecture.stages import Stage, stages
from calc.catalog import catalog
from calc.memory.drafts import Draft
from calc.memory.engines.vllm_pages import compressed_pages, drafting_layers, fewest_filled
from calc.scenario.model import known_architecture

GIB = 2**30


def stage_of(model: str) -> Stage:
    """Return a model's layers on one device."""
    return stages(known_architecture(catalog(), model), 1)[0]


@pytest.mark.parametrize(("tokens", "gib"), [(30_000, 6.66), (13_528, 5.44)])
def test_deepseek_v4_takes_what_vllm_asks_for(tokens: int, gib: float) -> None:
    """Steps of 16,384 tokens under 0.22 (vLLM #44376): 6.66 GiB for 30,000 tokens, and 5.44 are enough for 13,528."""
    pages = compressed_pages(stage_of("deepseek-v4-flash"), tokens, 16_384, drafting=0, packed=False)
    assert sum(pages.group_blocks) * pages.page_bytes == pytest.approx(gib * GIB, abs=0.005 * GIB)


def test_layers_of_deepseek_v4_stand_side_by_side_in_a_block() -> None:
    """Of 0.28 vLLM #54703 prints 1,002,240 bytes for compressed entries and the indexer's keys, the widest group."""
    pages = compressed_pages(stage_of("deepseek-v4-flash"), 272_000, 8192, drafting=0, packed=True)
    assert pages.page_bytes == 1_002_240
    assert len(pages.group_blocks) == 5


def test_groups_leave_few_places_empty() -> None:
    """Forty-four layers with windows, one of which drafts, stand in two groups beside twenty-one compressed ones."""
    assert fewest_filled([44, 21, 20], least=21) == 22
    assert fewest_filled([42, 21, 21], least=21) == 21
    assert fewest_filled([], least=5) == 5


def test_a_pool_too_small_for_one_text_does_not_fit() -> None:
    """In 2.2 GiB no 30,000 tokens are read in steps of 16,384, whose compressors take more blocks than they do."""
    asked = {
        "model": "deepseek-v4-flash",
        "engine": "vllm",
        "engine_version": "0.22.0",
        "accelerator": "h100-sxm-80gb",
        "parallelism": {"tensor": 4},
        "context_tokens": 30_000,
        "memory_fraction": 0.63,
    }
    few: Any = estimate(asked | {"batched_tokens": 2048})["memory"]
    many: Any = estimate(asked | {"batched_tokens": 16_384})["memory"]
    assert few["fits"]
    assert 2 * GIB < many["kv_pool_bytes"] < 6.66 * GIB
    assert not many["fits"]


def test_what_drafts_has_pages_too() -> None:
    """Qwen3.6 27B on two cards (club-3090 #642): 11.05 GiB of blocks of 1,600 tokens in 17 layers are 623,873 tokens.

    One text takes 164 of 426 blocks, and five of each of three groups of states: one in use, one that is kept for texts
    that begin alike, as was asked of 0.24 and is usual since 0.26.1, and three for the drafted tokens.
    """
    asked = {
        "model": "qwen3.6-27b",
        "engine": "vllm",
        "engine_version": "0.27.1",
        "accelerator": "rtx-3090",
        "weights": "gptq-int4",
        "parallelism": {"tensor": 2},
        "context_tokens": 262_144,
        "kv_cache": "fp8",
        "speculation": {"method": "mtp", "tokens": 3},
    }
    memory: Any = estimate(asked)["memory"]
    each = memory["kv_pool_bytes"] / memory["kv_pool_tokens"]
    assert each == pytest.approx(11.05 * GIB / 623_873, rel=0.005)


def test_all_layers_of_what_drafts_are_counted() -> None:
    """GLM 4.5 Air's first layer is dense and 45 are mixtures, which all keep the same: each counts."""
    drafter = known_architecture(catalog(), "glm-4.5-air")
    found = drafting_layers(Draft("draft", 3, 0.7, drafter))
    assert len(drafter.kind_counts()) == 2 and list(found.values()) == [46]
    assert drafting_layers(Draft("ngram", 3, 0.7)) == {}


def test_two_steps_are_in_flight_since_they_overlap() -> None:
    """Muse Glimmer's windows of 2,048 tokens keep the tokens of two steps under 0.27, of one under 0.25."""
    asked = {"model": "muse-glimmer-30b", "engine": "vllm", "accelerator": "mi300x", "context_tokens": 131_072}
    pools = [estimate(asked | {"engine_version": version})["memory"] for version in ("0.25.0", "0.27.0")]
    one, two = (pool["kv_pool_tokens"] / pool["kv_pool_bytes"] for pool in pools)  # type: ignore[index]
    assert two / one == pytest.approx((8192 + 3 * 641) / (8192 + 3 * 1153), rel=0.001)


def test_states_are_kept_for_texts_that_begin_alike_since_it_is_usual() -> None:
    """Qwen3.5 27B under 0.19 (vLLM #40691): 33.04 texts in 1,487 blocks, 42 of each with three groups of one state."""
    asked = {
        "model": "qwen3.5-27b",
        "weights": "bf16",
        "engine": "vllm",
        "accelerator": "h20-141gb",
        "context_tokens": 32_768,
    }
    block = 784 * 16 * 4096
    for version, each in (("0.19.0", 45), ("0.27.0", 48)):
        memory: Any = estimate(asked | {"engine_version": version})["memory"]
        blocks = memory["kv_pool_bytes"] // block
        assert memory["kv_pool_tokens"] == blocks * 32_768 // each
