"""What the name of an unlisted repository says of the model in it, and of its number format."""

import pytest

from calc.catalog import catalog


@pytest.mark.parametrize(
    ("name", "model", "weights"),
    [
        ("someone/Qwen3.8-27B-OBLITERATED", "qwen3.8-27b", None),
        ("someone/Huihui-Qwen3.6-27B-abliterated-AWQ", "qwen3.6-27b", "awq"),
        ("someone/Qwen3.6-35B-A3B-abliterated-v4", "qwen3.6-35b-a3b", None),
        ("someone/GLM-5.3-Flash-Uncensored-FP8", "glm-5.3-flash", "fp8"),
        ("google/gemma-4-31B-it-qat-q4_0-unquantized", "gemma-4-31b", None),
        ("google/gemma-4-31B-it-qat-w4a16-ct", "gemma-4-31b", "int4-group"),
        ("someone/gemma-3-27b-it-GPTQ-4b-128g", "gemma-3-27b", "gptq-int4"),
        ("someone/Qwen3-Coder-Next-NVFP4-GB10", "qwen3-next-80b-a3b", "nvfp4"),
        ("someone/whisper-large-v3-turbo-GGUF", "whisper-large-v3-turbo", "q4_k_m"),
        ("someone/whisper-large-v3-turbo", "whisper-large-v3-turbo", None),
        ("someone/Qwen3-32B-NVFP4-W4A4", "qwen3-32b", "nvfp4"),
        ("stepfun-ai/Step-3.5-Flash-FP8", "step-3.5-flash", "fp8-block"),
        ("amd/Qwen3.8-27B-Quark-AWQ-MXFP4", "qwen3.8-27b", "mxfp4"),
        ("Intel/Qwen3.8-Flash-Next-W4A16-AutoRound", "qwen3.8-flash-next", "int4-group"),
        ("Intel/Qwen3-8B-int4-AutoRound", "qwen3-8b", "gptq-int4"),
        ("someone/Qwen3.8-27B-SmoothQuant-W8A8-INT8", "qwen3.8-27b", "int8-channel"),
    ],
)
def test_what_a_name_holds(name: str, model: str, weights: str | None) -> None:
    """Words of conversions and of edits that keep the shape are left off, no more of them than needed."""
    copy = catalog().copied(name)
    assert copy is not None
    assert catalog().model(name).id == copy.id == model
    assert copy.weights == weights


@pytest.mark.parametrize(
    "name", ["someone/Qwen3.8-27B-DFlash", "RadixArk/Kimi-K3-DSpark", "someone/Qwen3.8-27B-Eagle3"]
)
def test_drafts_are_no_copies(name: str) -> None:
    """A model that drafts for another one bears its name and has another shape."""
    assert catalog().copied(name) is None


def test_sizes_are_kept() -> None:
    """A size of a tag is no word of a conversion."""
    assert catalog().model("deepseek-r1:70b").id == "llama-3.3-70b"
    assert catalog().copied("someone/Llama-3.3-80B") is None
