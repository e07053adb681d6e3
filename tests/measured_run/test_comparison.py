"""A measurement beside what is computed, and the factors under which the two are the same."""

import pytest

from calc import estimate
from calc.measured_run.comparison import Run, compared, what_it_takes
from calc.measured_run.corrections import corrections
from calc.units import show_binary, show_gib

BENCH = {"model": "llama-2-7b", "weights": "f16", "engine": "llama.cpp", "accelerator": "rtx-4090"}
LENGTHS = {"prompt_tokens": 512, "output_tokens": 128}
QWEN = {"model": "qwen2.5-3b", "weights": "q4_k_m", "engine": "llama.cpp", "accelerator": "rtx-4080-super"}
SERVER = {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "h100-sxm-80gb", "concurrency": 16}


def test_an_answer_measured_apart_looks_back_at_no_prompt() -> None:
    """llama-bench's tg128 is written behind an empty cache: as fast as with a prompt of one token."""
    apart = Run({**BENCH, **LENGTHS}, apart=True).figures()["decode_tokens_per_s"].value
    report: dict = estimate({**BENCH, "prompt_tokens": 1, "output_tokens": 128})  # type: ignore[type-arg]
    assert apart == report["speed"]["decode_tokens_per_s"]["typical"]
    assert apart > Run({**BENCH, **LENGTHS}).figures()["decode_tokens_per_s"].value


def test_sizes_that_llama_cpp_prints_are_computed() -> None:
    """A published log of Qwen2.5 3B has 144 MiB of cache for 4,096 tokens; Llama 2 7B in F16 is a file of 12.55 GiB."""
    cache = compared(Run({**QWEN, "context_tokens": 4096}).figures(), {"kv_cache_bytes": 144 * 2**20})[0]
    assert cache.computed.value == cache.measured and cache.within
    file = compared(Run({**BENCH, **LENGTHS}).figures(), {"file_bytes": 12.55 * 2**30})[0]
    assert file.ratio == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    ("run", "measured"),
    [
        (Run({**BENCH, **LENGTHS}, apart=True), {"prefill_tokens_per_s": 9000.0, "decode_tokens_per_s": 70.0}),
        (Run(SERVER), {"time_to_first_token_s": 0.4, "time_per_output_token_s": 0.015}),
        (Run(SERVER), {"output_tokens_per_s": 1500.0}),
        (Run({**SERVER, "memory_fraction": 0.9}), {"kv_pool_tokens": 400_000.0}),
        (Run({**QWEN, "context_tokens": 4096}), {"device_bytes": 3.0e9}),
        (Run({**BENCH, **LENGTHS, "engine": "transformers", "weights": "bf16"}), {"allocated_bytes": 13.9e9}),
    ],
)
def test_corrected_answers_are_what_was_measured(run: Run, measured: dict[str, float]) -> None:
    """With the factors that are found, each measured term is computed as it was measured."""
    factors = corrections(run, run.figures(), measured)
    assert factors
    figures = run.figures(factors)
    for name, value in measured.items():
        assert figures[name].value == pytest.approx(value, rel=0.005), name


@pytest.mark.parametrize("arrivals", [{"requests": 100, "concurrency": 16}, {"requests": 64}])
def test_a_run_that_ends_is_corrected_by_a_server_that_goes_on(arrivals: dict[str, int]) -> None:
    """The factors are sought through its steady state: nearly, its own figures are then as they were measured."""
    run = Run({name: value for name, value in SERVER.items() if name != "concurrency"} | {"arrivals": arrivals})
    plain = run.figures()
    slower = {"time_to_first_token_s": 1.3, "time_per_output_token_s": 1.3}
    measured = {name: plain[name].value * factor for name, factor in slower.items()}
    figures = run.figures(corrections(run, plain, measured))
    for name, value in measured.items():
        assert plain[name].value < figures[name].value == pytest.approx(value, rel=0.1)
    coming = Run({**run.scenario, "arrivals": {"requests_per_s": 4}})
    assert corrections(coming, coming.figures(), measured) == {}


def test_other_weights_correct_nothing() -> None:
    """A speed with a file a third of the size is no statement about the device."""
    run = Run({**BENCH, **LENGTHS})
    assert corrections(run, run.figures(), {"file_bytes": 4.0e9, "decode_tokens_per_s": 150.0}) == {}
    assert corrections(run, run.figures(), {}) == {}


def test_what_each_term_would_have_to_be() -> None:
    """Weights speak of bits, a cache of bytes a token, totals of what is beside, a speed of times and of bandwidth."""
    run = Run({**QWEN, "context_tokens": 4096, "prompt_tokens": 4000})
    report = run.reports()[0]
    measured = {"file_bytes": 3.29e9, "kv_cache_bytes": 75497472.0, "device_bytes": 3.0e9, "decode_tokens_per_s": 100.0}
    said = {one.id: what_it_takes(one, report, show_gib) for one in compared(run.figures(), measured)}
    parameters = report["model"]["parameters_total"]
    assert f"{8 * 3.29e9 / parameters:.2f} bits per weight" in said["file_bytes"]
    cache = next(one for one in compared(run.figures(), measured) if one.id == "kv_cache_bytes")
    assert "18.00 KiB of cache" in what_it_takes(cache, report, show_binary)
    assert "beside weights and cache would take" in said["device_bytes"]
    assert "a step would take" in said["decode_tokens_per_s"] and "GB/s, not 736" in said["decode_tokens_per_s"]
