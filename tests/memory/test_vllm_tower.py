"""What vLLM measures of what sees before it sizes its cache, against pools that were logged."""

from typing import Any

import pytest

from calc import estimate
from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.memory.engines.vllm_tower import most_tokens, tower_of
from calc.memory.stored_weights import whole_model
from calc.scenario.model import known_architecture

GIB = 2**30
SEEN: dict[str, Any] = {"engine": "vllm", "accelerator": "rtx-5090", "model": "qwen3.8-27b", "weights": "nvfp4"}
SEEN |= {"kv_cache": "fp8", "context_tokens": 32_768, "graphs": False}
OLDER: dict[str, Any] = {"engine": "vllm", "engine_version": "0.11", "accelerator": "a100-sxm-40gb"}
OLDER |= {"model": "qwen2.5-vl-3b", "context_tokens": 128_000}


def pool(asked: dict[str, Any], **more: object) -> float:
    """Return the cache that vLLM sets aside, in GiB."""
    report: Any = estimate({**asked, **more})
    return float(report["memory"]["kv_pool_bytes"]) / GIB


def test_what_sees_takes_from_the_cache() -> None:
    """Qwen3.8 27B on one RTX 5090 had 91,022 tokens, 135,926 with --language-model-only and 152,917 with 8 sequences as
    well. 32,768 are 27 blocks, 21 of 1,568 tokens and two for each of three groups of states, so it had 75, 112 and 126
    of them; a block is 1,568 tokens of 16 layers, 49 MiB."""
    block = 1568 * 16 * 4 * 256 * 2 / GIB
    whole, alone, few = pool(SEEN), pool(SEEN, text_only=True), pool(SEEN, text_only=True, sequence_slots=8)
    assert alone - whole == pytest.approx(37 * block, abs=2 * block)
    assert few - alone == pytest.approx(14 * block, abs=2 * block)


def test_two_devices_see_half_each() -> None:
    """Qwen3.8 27B in FP8 on two RTX 5090 logged 1.59 GiB of activations, and 12.26 of cache in a share of 0.92."""
    asked: dict[str, Any] = {"engine": "vllm", "accelerator": "rtx-5090", "model": "Qwen/Qwen3.8-27B-FP8"}
    asked |= {"kv_cache": "fp8", "context_tokens": 65_536, "parallelism": {"tensor": 2}, "sequence_slots": 2}
    report: Any = estimate({**asked, "batched_tokens": 8192, "memory_fraction": 0.92})
    parts = {part["id"]: part["bytes"] / GIB for part in report["memory"]["parts"]}
    assert parts["activations"] == pytest.approx(1.59, rel=0.1)
    assert report["memory"]["kv_pool_bytes"] / GIB == pytest.approx(12.26, rel=0.05)


def test_videos_take_more() -> None:
    """Qwen2.5 VL 3B on an A100 with 40 GB left 5.26 GiB to the cache, and 25.05 without videos (vLLM, pull 25631)."""
    assert pool(OLDER) == pytest.approx(5.26, abs=0.5)
    assert pool(OLDER, videos=False) == pytest.approx(25.05, rel=0.02)


def test_room_for_a_video_that_ended() -> None:
    """vLLM 0.11.0 kept outputs of 153,600 tokens of Qwen3-VL, and 2.31 GiB of cache for its 30B A3B on four RTX 3090
    (issue 27992 for the first). 0.13.0 logged an image of 16,384, and 19.40 GiB on an H100 NVL."""
    asked: dict[str, Any] = {"engine": "vllm", "model": "qwen3-vl-30b-a3b", "weights": "bf16"}
    four = asked | {"accelerator": "rtx-3090", "context_tokens": 65_536, "parallelism": {"tensor": 4}}
    wide = asked | {"accelerator": "h100-nvl-94gb", "context_tokens": 8192}
    assert pool(four, engine_version="0.11.0") == pytest.approx(2.31, rel=0.05)
    assert pool(wide, engine_version="0.13.0") == pytest.approx(19.40, rel=0.05)
    kept = (153_600 - 16_384) * 2048 * (1 + 3) * 2 / GIB
    alone = [pool(wide, engine_version="0.11.0", videos=videos) for videos in (False, True)]
    assert alone[0] - alone[1] == pytest.approx(kept, rel=0.01)


def test_graphs_alone_ask_for_blocks() -> None:
    """vLLM asks for a block of states for each sequence where it records graphs of whole steps, and not without."""
    report: Any = estimate(SEEN | {"graphs": True})
    assert report["memory"]["sequence_limit"] < 256
    plain: Any = estimate(SEEN)
    assert plain["memory"]["sequence_limit"] is None


def test_the_longest_video() -> None:
    """Qwen 2.5 VL is shown 14 frames, two at a time, of 16,384 tokens; 32K hold four; one pair is shown in any case."""
    budget = catalog().engine("vllm").towers["qwen2_5_vl"]
    assert [most_tokens(budget, tokens, videos=True) for tokens in (128_000, 32_768, 4096)] == [114_688, 32_768, 16_384]
    assert most_tokens(budget, 128_000, videos=False) == 16_384


def profiled(model: str, **more: object) -> int:
    """Return the bytes of the activations that vLLM's profiling run ends with on a large device."""
    asked: dict[str, object] = {"model": model, "engine": "vllm", "accelerator": "b200-sxm-180gb", **more}
    report: Any = estimate(asked)
    return int(next(part["bytes"] for part in report["memory"]["parts"] if part["id"] == "activations"))


def test_a_video_fills_the_context_frame_by_frame() -> None:
    """InternVL3's frames have 256 tokens of 1,024 patches: 32,768 tokens hold 128.

    Its MLP is the widest: stream and norm of 1,024, and 4,096 before and after the activation; a patch has 588 numbers.
    """
    width = 14 * 14 * 3 + 2 * 1024 + 2 * 4096
    assert profiled("internvl3-8b", context_tokens=32_768) == 128 * 1024 * width * 2
    assert profiled("internvl3-8b", context_tokens=32_768, videos=False) < 128 * 1024 * width


def test_a_merger_is_no_layer() -> None:
    """GLM-4.1V's layers have 4,096 inside and its merger 13,696, which works on a fourth of the patches: attention is
    wider than both, and 60K tokens hold the longest video, of 30,000 tokens."""
    assert profiled("glm-4.1v-9b", context_tokens=60_000) == 30_000 * 4 * (2 * 3 * 14 * 14 + 11 * 1536) * 2


@pytest.mark.parametrize(
    ("model", "tokens", "patches"),
    [("gemma-3-27b", 256, 64 * 64), ("llama-4-scout", 17 * 144, 17 * 24 * 24), ("kimi-vl-a3b", 33 * 33, 66 * 66)],
)
def test_images_as_large_as_their_processors_take_them(model: str, tokens: int, patches: int) -> None:
    """Gemma 3 takes 896 pixels of 14 in 256 tokens, Llama 4 16 tiles of 336 pixels and the whole, Kimi VL is shown
    1,024 pixels, which its limit of 4,096 patches makes 897, rounded up to whole tokens of 28."""
    budget = catalog().engine("vllm").towers[known_architecture(catalog(), model).family]
    assert (budget.image_tokens, budget.image_tokens * budget.patches) == (tokens, patches)


def test_ranks_divide_what_is_inside() -> None:
    """Two ranks hold the stream, its norm, the projection and its sum whole, and half of the heads and of the MLP."""

    def profiled(ranks: int) -> int:
        asked: Any = {"model": "qwen2.5-vl-72b", "engine": "vllm", "accelerator": "b200-sxm-180gb"}
        report: Any = estimate(asked | {"context_tokens": 65_536, "parallelism": {"tensor": ranks}})
        return int(next(part["bytes"] for part in report["memory"]["parts"] if part["id"] == "activations"))

    pixels, hidden, patches = 3 * 2 * 14 * 14, 1280, 4 * 65_536
    assert profiled(1) == patches * (pixels + 11 * hidden) * 2
    assert profiled(2) == patches * (pixels + (4 + 8 / 2) * hidden) * 2


@pytest.mark.parametrize("family", sorted({name.partition("@")[0] for name in catalog().engine("vllm").towers}))
def test_every_family_has_a_tower(family: str) -> None:
    """A model of each family that has a budget is in the catalogue, with a tower whose shapes are found."""
    known = (known_architecture(catalog(), name) for name in catalog().ids("models"))
    assert tower_of(whole_model(next(found for found in known if found.family == family))) is not None


@pytest.mark.parametrize(
    "given",
    [
        {"videos": "no"},
        {"videos": False},
        {"videos": False, "engine": "vllm"},
        {"videos": False, "engine": "sglang", "model": "qwen2.5-vl-7b"},
        {"videos": False, "engine": "vllm", "model": "qwen3.8-27b"},
    ],
)
def test_where_no_video_is_measured(given: dict[str, object]) -> None:
    """A model without videos, or an engine that sets no memory aside for them, is said."""
    with pytest.raises(ScenarioError) as caught:
        estimate({"model": "llama-3.1-8b", **given})
    assert caught.value.field == "videos"


def test_what_would_make_it_fit_without_videos() -> None:
    """Qwen2.5 VL 3B does not start on an RTX 4090 at 128,000: without videos it does, and the command says how."""
    asked: Any = {"model": "qwen2.5-vl-3b", "engine": "vllm", "accelerator": "rtx-4090", "context_tokens": 128_000}
    report: Any = estimate(asked)
    changes = [repair["change"] for repair in report["repairs"]]
    assert report["memory"]["fits"] is False
    assert {"videos": False} in changes and {"text_only": True, "videos": None} in changes
    for change in ({"videos": False}, {"text_only": True}):
        assert estimate(asked | change)["memory"]["fits"] is True  # type: ignore[index]
