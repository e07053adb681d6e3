"""A model on a host's processor, against what others measured, and its law by hand."""

from typing import Any

import pytest

from calc import estimate
from calc.memory.placement import Host
from calc.performance.host_part import HostPart
from calc.performance.operations import Counted, Experts, Pointwise, Product
from calc.performance.processor import processor_law, processor_s

HOST = Host(name="", bandwidth=100.0, cores=4, rate=1000.0, memory_bytes=None, source="")
VALUES = {
    "processor_read_share": 0.5,
    "processor_rate_share": 0.1,
    "processor_plain_factor": 0.5,
    "processor_unpack": 2.0,
    "processor_pair_s": 0.0625,
}
LAW = processor_law(HOST, VALUES)


def tokens_per_s(host: dict[str, object], model: str, weights: str, **lengths: int) -> Any:
    """Return the range of tokens a second that a processor writes."""
    asked = {"model": model, "weights": weights, "engine": "llama.cpp", "gpu_layers": 0, "host": host}
    report: Any = estimate({**asked, **(lengths or {"prompt_tokens": 1, "output_tokens": 128})})
    return report["speed"]["decode_tokens_per_s"]


def test_a_quantised_product() -> None:
    """A wait of 16 pairs of threads, 100 bytes at 50 a second, 3 × 2 + 2 operations for each of 10 weights at 100."""
    product = Product("", 3.0, 2, 5, "q4-k", 100.0, 8.0)
    assert processor_s(LAW, product) == pytest.approx(1.0 + 2.0 + (60 + 20) / 100)


def test_a_format_whose_kernel_takes_one_token_is_unpacked_for_each() -> None:
    """The same product in Q6_K: 10 weights are unpacked three times."""
    product = Product("", 3.0, 2, 5, "q6-k", 100.0, 8.0)
    assert processor_s(LAW, product) == pytest.approx(1.0 + 2.0 + (60 + 3 * 20) / 100)


def test_codes_in_tables_are_looked_up_one_by_one() -> None:
    """The same product in IQ3_S: three times the operations for each weight, and for each of three tokens."""
    product = Product("", 3.0, 2, 5, "iq3-s", 100.0, 8.0)
    assert processor_s(LAW, product) == pytest.approx(1.0 + 2.0 + (60 + 3 * 3 * 20) / 100)


def test_prompts_in_iq3_s_on_a_7950x() -> None:
    """LLaMA 3.1 8B reads 28 tokens a second in IQ3_S and 123 in Q4_0 (tables of ikawrakow, llama.cpp's own column)."""
    lengths = {"prompt_tokens": 512, "output_tokens": 1}
    asked: dict[str, Any] = {"model": "llama-3.1-8b", "engine": "llama.cpp", "gpu_layers": 0, **lengths}
    asked["host"] = {"processor": "ryzen-9-7950x"}
    found: list[Any] = [estimate({**asked, "weights": weights})["speed"] for weights in ("iq3_s", "q4_0")]
    slow, fast = (speed["prefill_tokens_per_s"]["typical"] for speed in found)
    assert slow == pytest.approx(28.04, rel=0.15)
    assert fast / slow == pytest.approx(123.46 / 28.04, rel=0.25)


@pytest.mark.parametrize(("spread", "share"), [(0.0, 1.0), (2.25, 83 / 128)])
def test_experts_that_a_text_reaches_are_copied(spread: float, share: float) -> None:
    """512 tokens of code reach 83 of 128 experts in the mean of eight layers (llama.cpp, pull request 15346)."""
    experts = Experts("", 512.0, 128.0, 128, 4.0, 3, 2, 2, "q4-k", 1000.0, 8.0)
    product = Product("", 3.0, 2, 5, "q4-k", 100.0, 8.0)
    copied = HostPart((), LAW, 2, spread=spread).copied((Counted(experts, 2), Counted(product, 1)))
    assert copied.copied_bytes == pytest.approx(100.0 + 2 * 1000.0 * share, rel=0.01)
    assert copied.read == LAW.read


def test_a_slow_memory_bounds_what_is_copied_from_it() -> None:
    """Modules of DDR5 at 2,000 MT/s (github:carteakey/carteakey.dev) held a prompt back to 86 tokens a second."""
    asked = {"model": "gpt-oss-120b", "weights": "mxfp4", "engine": "llama.cpp", "engine_version": "b6531"}
    asked |= {"accelerator": "rtx-4070", "experts_on_host": 31, "prompt_tokens": 512, "output_tokens": 1}

    def read_at(bandwidth: str) -> float:
        report: Any = estimate({**asked, "host": {"processor": "i5-12600K", "bandwidth": bandwidth}})
        return float(report["speed"]["prefill_tokens_per_s"]["typical"])

    assert read_at("32 GB/s") == pytest.approx(86.45, rel=0.1)
    assert read_at("96 GB/s") > 1.4 * read_at("32 GB/s")
    assert read_at("192 GB/s") == pytest.approx(read_at("96 GB/s"))  # which waits for PCIe


def test_a_product_in_16_bit_is_not_unpacked() -> None:
    """Half of the rate, and no weights to take apart."""
    product = Product("", 3.0, 2, 5, "bf16", 100.0, 8.0)
    assert processor_s(LAW, product) == pytest.approx(1.0 + 2.0 + 60 / 50)


@pytest.mark.parametrize("tokens", [1.0, 3.0])
def test_experts_are_unpacked_for_each_token(tokens: float) -> None:
    """Three matrices of 2 × 5 of each of the two experts that a token has, whoever else has them."""
    experts = Experts("", tokens, 2.0, 8, 2.0, 2, 5, 3, "q4-k", 100.0, 8.0)
    assert processor_s(LAW, experts) == pytest.approx(5 * 1.0 + 2.0 + tokens * (2 * 2 * 3 * 10 + 2 * 2 * 3 * 10) / 100)


def test_what_stays_in_caches_costs_a_wait() -> None:
    """Norms and activations of a few tokens are in the processor's own caches."""
    assert processor_s(LAW, Pointwise("", 1e9, 2.0)) == pytest.approx(2.0)


@pytest.mark.parametrize(("weights", "measured"), [("q4_k_m", 28.74), ("q8_0", 19.194)])
def test_phi_4_on_an_epyc_9554(weights: str, measured: float) -> None:
    """llama-bench on twelve channels of DDR5-4800 (ahelpme.com): within 15 %."""
    found = tokens_per_s({"processor": "epyc-9554"}, "phi-4", weights)
    assert found["typical"] == pytest.approx(measured, rel=0.15)


def test_an_old_desktop() -> None:
    """LLaMA 7B in 4 bit took 253.7 ms a token on an i5-6500 whose memory gave 20.02 GB/s (llama.cpp, issue 34)."""
    found = tokens_per_s({"processor": "core-i7-8700", "bandwidth": 20.02e9}, "llama-7b", "q4_0")
    assert 1 / found["typical"] == pytest.approx(0.2537, rel=0.2)


def test_a_mixture_reads_the_experts_of_one_token() -> None:
    """Qwen3 30B A3B reads about a tenth of its weights, Qwen3 32B all but the token table."""
    mixture, dense = (
        tokens_per_s({"processor": "core-i7-8700"}, name, "q8_0")["typical"] for name in ("qwen3-30b-a3b", "qwen3-32b")
    )
    assert mixture > 5 * dense


def test_stretches_between_experts_are_replayed_as_graphs() -> None:
    """By 3 to 10 % more tokens a second of mixtures whose experts are on the host (llama.cpp, pull request 18934)."""
    asked: dict[str, Any] = {"model": "qwen3-30b-a3b", "weights": "q4_k_m", "engine": "llama.cpp"}
    asked |= {"accelerator": "rtx-4090", "experts_on_host": "all", "host": {"processor": "ryzen-9-9950x"}}
    asked |= {"prompt_tokens": 1, "output_tokens": 128}
    found: list[Any] = [estimate({**asked, "engine_version": version})["speed"] for version in ("b7500", "b7950")]
    old, new = (speed["decode_tokens_per_s"]["typical"] for speed in found)
    assert 1.03 < new / old < 1.25
