"""What an engine copies beside the operations of a model: the states of recurrent layers around their update."""

from typing import Any

import pytest

from calc import estimate
from calc.catalog import catalog
from calc.performance.copies import copies_of_states
from calc.performance.kernels import Kernels
from calc.performance.operations import Counted, Recurrence
from calc.performance.own_kernels import own_kernels
from calc.performance.schedules import schedule_of

DELTA, SPACE = "delta net", "state space"


def passes(engine: str, device: str, kind: str, *, prompts: bool) -> float:
    """Return how many times an engine reads or writes a state beside its update."""
    facts = catalog()
    schedule = schedule_of(
        facts.engine(engine).values,
        era=facts.engine(engine).eras[-1].id,
        weights=facts.number_format("bf16"),
        accelerator=facts.accelerator(device),
        market="",
        attention="flash",
    )
    update = Recurrence("State", kind, tokens=4.0, sequences=4.0, flops=1.0, state_bytes=2.0)
    (copied,) = copies_of_states((Counted(update, 24),), schedule, prompts=prompts)
    assert copied.times == 24
    return copied.operation.bytes


def test_vllm_moves_states_of_decoding_sequences_beside_prompts() -> None:
    """A step with prompts gathers, chunks and scatters the states of delta nets; Mamba keeps both kinds apart."""
    assert passes("vllm", "h100-sxm-80gb", DELTA, prompts=True) == 5
    assert passes("vllm", "h100-sxm-80gb", DELTA, prompts=False) == 0
    assert passes("vllm", "h100-sxm-80gb", SPACE, prompts=True) == 0


def test_llama_cpp_gathers_states_of_delta_nets() -> None:
    """llama.cpp gathers a delta net's states before the update, and on Metal copies them back after it."""
    assert passes("llama.cpp", "rtx-5090", DELTA, prompts=False) == 2
    assert passes("llama.cpp", "m4-max-64gb", DELTA, prompts=False) == 4
    assert passes("llama.cpp", "rtx-5090", SPACE, prompts=True) == 2


@pytest.mark.parametrize(
    ("engine", "version", "model", "device", "published", "within"),
    [
        ("vllm", "0.17.1", "qwen3.5-9b", "h100-sxm-80gb", 5202.94, 0.15),
        ("vllm", "0.17.1", "qwen3.5-35b-a3b", "h200-sxm-141gb", 4347.55, 0.4),
    ],
)
def test_hybrids_under_load_run_as_published(
    engine: str, version: str, model: str, device: str, published: float, within: float
) -> None:
    """512 requests at a time of Qwen3.5 (GPUStack's performance lab): states move; nothing was fitted to them."""
    asked = {"model": model, "engine": engine, "engine_version": version, "weights": "bf16", "accelerator": device}
    report: Any = estimate({**asked, "concurrency": 512, "prompt_tokens": 342, "output_tokens": 281})
    assert report["speed"]["output_tokens_per_s"]["typical"] == pytest.approx(published, rel=within)


def test_llama_cpp_updates_states_token_by_token() -> None:
    """2,048 tokens in 30 delta nets of 32 heads took a Radeon 8060S 221 ms; the share lies between it and another."""
    own = own_kernels(catalog().engine("llama.cpp").values)
    found = Kernels(catalog().accelerator("ryzen-ai-max-395-128gb"), "llama.cpp", own)
    elements = 32 * 128 * 128
    update = Recurrence("State", DELTA, 2048.0, 1.0, 2048 * 6.0 * elements, 8.0 * elements)
    assert 30 * found.seconds(update) == pytest.approx(0.2209, rel=0.55)
