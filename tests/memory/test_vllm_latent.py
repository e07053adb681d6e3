"""What vLLM sets aside for a context that latent attention reads in pieces, against what it logged."""

from typing import Any

import pytest

from calc import estimate

GIB = 2**30
SIXTEEN: dict[str, Any] = {"engine": "vllm", "engine_version": "0.8.3", "model": "deepseek-v3", "weights": "awq"}
SIXTEEN |= {"accelerator": "rtx-3090", "parallelism": {"tensor": 16}, "context_tokens": 8192, "sequence_slots": 8}
SIXTEEN |= {"memory_fraction": 0.99}


def activations(asked: dict[str, Any]) -> float:
    """Return what the profiling run holds, in GiB."""
    report: Any = estimate(asked)
    return float(sum(part["bytes"] for part in report["memory"]["parts"] if part["id"] == "activations")) / GIB


def test_sixteen_small_cards() -> None:
    """DeepSeek-V3 on sixteen RTX 3090 logged 0.37 GiB of activations and 1.57 GiB of cache (vLLM, pull 14447)."""
    report: Any = estimate(SIXTEEN)
    assert activations(SIXTEEN) == pytest.approx(0.37, rel=0.2)
    assert report["memory"]["kv_pool_bytes"] / GIB == pytest.approx(1.57, rel=0.05)


def test_a_piece_has_eight_contexts() -> None:
    """Eight contexts of 16,384 are 131,072 tokens, all that 0.8.3 takes: 65,536 more, of eight heads of 256 numbers."""
    longer, longest = SIXTEEN | {"context_tokens": 16_384}, SIXTEEN | {"context_tokens": 32_768}
    assert (activations(longer) - activations(SIXTEEN)) * GIB == 65_536 * 8 * 256 * 2
    assert activations(longest) == activations(longer)


def test_chosen_tokens_take_no_piece() -> None:
    """Attention that looks at chosen tokens alone makes no keys and values anew: a longer context takes no more."""
    sparse: dict[str, Any] = SIXTEEN | {
        "model": "deepseek-v3.2",
        "engine_version": "0.19",
        "accelerator": "h200-sxm-141gb",
    }
    sparse |= {"weights": "published", "parallelism": {"tensor": 8}, "batched_tokens": 2048}
    assert activations(sparse) == activations(sparse | {"context_tokens": 65_536})
