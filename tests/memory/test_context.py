"""The driver's context on cards of which it was measured."""

import pytest

from calc.catalog import catalog
from calc.memory.context import context_bytes

MIB = 2**20


@pytest.mark.parametrize(("device", "threads", "measured"), [
    ("rtx-4060-ti-16gb", 34 * 1536, 107),
    ("rtx-pro-6000-blackwell", 188 * 1536, 555),
    ("b200-sxm-180gb", 148 * 2048, 612),
])  # fmt: skip
def test_an_empty_context_is_of_the_device_s_threads(device: str, threads: int, measured: int) -> None:
    """What cudaMemGetInfo keeps, in MiB: llama.cpp, pull request 23604; Unsloth, pull request 8669."""
    record, engine = catalog().accelerator(device), catalog().engine("llama.cpp")
    assert record.quantity("compute_units") * record.quantity("unit_threads") == threads
    empty = context_bytes(engine, record) - engine.whole("runtime_context")
    assert empty / MIB == pytest.approx(measured, rel=0.05)


def test_a_context_with_kernels_loaded() -> None:
    """llama.cpp's breakdown at the end of a run leaves 451 to 456 MiB of three RTX 4090 unaccounted for."""
    assert 451 <= context_bytes(catalog().engine("llama.cpp"), catalog().accelerator("rtx-4090")) / MIB <= 456


def test_a_device_without_known_threads() -> None:
    """Another maker's context is taken as an H100's; an engine without rows has what was measured on one device."""
    facts = catalog()
    llama = facts.engine("llama.cpp")
    assert context_bytes(llama, facts.accelerator("mi300x")) == context_bytes(llama, facts.accelerator("h100-sxm-80gb"))
    sglang = facts.engine("sglang")
    assert context_bytes(sglang, facts.accelerator("rtx-4090")) == sglang.whole("runtime_context")


def test_vllm_s_context_is_of_the_device_s_threads_too() -> None:
    """78.68 of 79.19 GiB are free on an H100 before a model is loaded; on an A2 of 10 units 0.1 GiB is gone."""
    facts = catalog()
    vllm = facts.engine("vllm").of_version(None)
    assert context_bytes(vllm, facts.accelerator("h100-sxm-80gb")) / 2**30 == pytest.approx(0.51, abs=0.02)
    assert context_bytes(vllm, facts.accelerator("a2-16gb")) < 0.1 * 2**30
