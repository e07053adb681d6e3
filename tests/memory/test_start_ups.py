"""Memory of SGLang and TensorRT-LLM as their start-ups logged it."""

from typing import Any

import pytest

from calc import estimate

GIB = 2**30
POOLS = [  # what SGLang logged as keys and values together, in GiB
    ("llama-3.1-8b", "h100-sxm-80gb", 1, 0.88, 54.26),  # docs.sglang.ai/start/send_request.html
    ("qwq-32b", "l4-24gb", 4, 0.85, 2.84),  # github.com/didier-durand/llms-in-clouds
    ("qwen3-235b-a22b", "h100-sxm-80gb", 4, 0.93, 16.46),  # vLLM, issue 21348
]


@pytest.mark.parametrize(("model", "device", "ranks", "share", "pool"), POOLS)
def test_sglang_s_share_is_of_what_is_free_before_weights_load(
    model: str, device: str, ranks: int, share: float, pool: float
) -> None:
    """Of 78.81 GiB free on an H100 the cache got 0.88 less 15.09 of weights; on four L4 NCCL had taken 0.13 before."""
    weights = {"weights": "fp8"} if "235b" in model else {}
    asked = {"model": model, "engine": "sglang", "accelerator": device, "memory_fraction": share, **weights}
    report: Any = estimate({**asked, "parallelism": {"tensor": ranks}})
    assert report["memory"]["kv_pool_bytes"] == pytest.approx(pool * GIB, rel=0.02)


def test_sglang_keeps_more_for_replicas_of_attention() -> None:
    """On eight H200 its rule leaves 33,280 MiB: 512, 1.5 for each of 8,192 tokens, 2 for each of 512 sequences, 1,024
    for eight ranks, and 4.5 for each sequence and replica. So GLM-5.2 has less cache than with a share of 0.8, as
    GPUStack's runs show: 650 to 780 tokens a second, and 1,173."""
    asked = {"model": "glm-5.2", "engine": "sglang", "accelerator": "h200-sxm-141gb", "weights": "fp8"}
    layout = {"parallelism": {"data": 8, "expert": 8}}
    own: Any = estimate({**asked, **layout})
    given: Any = estimate({**asked, **layout, "memory_fraction": round(1 - 33_280 / 143_771, 3)})
    assert own["memory"]["kv_pool_bytes"] == pytest.approx(given["memory"]["kv_pool_bytes"], abs=0.0015 * 140 * GIB)
    larger: Any = estimate({**asked, **layout, "memory_fraction": 0.8})
    assert larger["memory"]["kv_pool_bytes"] > 1.5 * own["memory"]["kv_pool_bytes"]


def test_tensorrt_llm_takes_nine_tenths_of_what_is_free_then() -> None:
    """An engine of Llama 2 7B in 8 bit left 64.75 GiB to the cache of an A100 with 80 GB (issue 1400)."""
    asked = {"model": "llama-2-7b", "engine": "tensorrt-llm", "accelerator": "a100-sxm-80gb", "weights": "int8"}
    report: Any = estimate({**asked, "batched_tokens": 4096, "sequence_slots": 1})
    assert report["memory"]["kv_pool_bytes"] == pytest.approx(64.75 * GIB, rel=0.02)


def test_a_pipeline_holds_as_many_tokens_as_its_shortest_stage() -> None:
    """The last of two stages has the output matrix and the sampler: its pool bounds what all of them can hold."""
    asked = {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "rtx-4090", "context_tokens": 8192}
    report: Any = estimate({**asked, "parallelism": {"pipeline": 2}})
    memory = report["memory"]
    assert memory["kv_pool_tokens"] == memory["kv_pool_bytes"] // (16 * 4096)


def test_servers_work_on_as_many_sequences_as_the_device_s_default() -> None:
    """vLLM's max_num_seqs is 256 on a card of 24 GB and 1,024 on an H100: the rest of 2,000 requests waits."""
    asked = {"model": "qwen3-0.6b", "engine": "vllm", "prompt_tokens": 64, "output_tokens": 64, "concurrency": 2000}
    held = [
        estimate({**asked, "accelerator": device})["memory"]["sequences"]  # type: ignore[index]
        for device in ("rtx-4090", "h100-sxm-80gb")
    ]
    assert held == [256, 1024]


@pytest.mark.parametrize(("version", "states"), [("0.5.9", 3), ("0.5.16", 5)])
def test_sglang_keeps_states_for_each_request_of_a_hybrid(version: str, states: int) -> None:
    """0.9 of 1.9 parts of the pool are for states, of which each request has three, or five with buffers (its code)."""
    asked = {"model": "qwen3.5-9b", "engine": "sglang", "weights": "bf16", "accelerator": "h100-sxm-80gb"}
    report: Any = estimate({**asked, "prompt_tokens": 342, "output_tokens": 281, "engine_version": version})
    memory = report["memory"]
    state = next(part["bytes"] for part in memory["parts"] if part["id"] == "recurrent_state")
    assert memory["max_sequences"] == pytest.approx(memory["kv_pool_bytes"] * 0.9 / 1.9 / state / states, abs=1.5)


def test_sglang_holds_windows_as_a_share_of_all_tokens() -> None:
    """Of Gemma 4 12B with 8,192 + 1,024 tokens some 47 ran at a time on a B200 (2,951 tokens a second, one in 15.9 ms).

    Windows of 1,024 tokens alone would let 315 in; 40 of its 48 layers have one.
    """
    asked = {"model": "gemma-4-12b", "engine": "sglang", "accelerator": "b200-sxm-180gb", "engine_version": "0.5.16"}
    report: Any = estimate({**asked, "concurrency": 1024, "prompt_tokens": 8192, "output_tokens": 1024})
    token = 2 * 2 * (8 * 512 + 0.8 * 40 * 8 * 256)  # bytes: keys and values of one wide head, or of eight
    assert report["memory"]["max_sequences"] == report["memory"]["kv_pool_bytes"] // (9216 * token)
    assert report["speed"]["output_tokens_per_s"]["typical"] == pytest.approx(2951, rel=0.2)


def test_layers_that_share_caches_have_places_in_sglangs_pools() -> None:
    """SGLang counts all layers of Gemma 4 with a window and all without (get_hybrid_layer_ids), 35 of E2B for 15."""
    asked = {"model": "gemma-4-e2b", "engine": "sglang", "accelerator": "b200-sxm-180gb", "weights": "bf16"}
    report: Any = estimate(asked | {"prompt_tokens": 8192, "output_tokens": 1024})
    token = (7 * 512 + 0.8 * 28 * 256) * 2 * 2  # keys and values of one head, in 16 bit
    room = report["memory"]["kv_pool_bytes"] / token / (8192 + 1024)
    assert report["memory"]["max_sequences"] == pytest.approx(room, rel=0.02)


def test_windows_that_sglang_has_no_pool_for() -> None:
    """Layers of Gemma 3 with a window have room for every token under SGLang, which knows others by their names."""
    asked = {"model": "gemma-3-27b", "accelerator": "h200-sxm-141gb", "weights": "bf16"}
    asked |= {"prompt_tokens": 65536, "output_tokens": 1024}
    report: Any = estimate(asked | {"engine": "sglang"})
    token = 62 * 16 * 128 * 2 * 2
    room = report["memory"]["kv_pool_bytes"] / token / (65536 + 1024)
    assert report["memory"]["max_sequences"] == int(room)
