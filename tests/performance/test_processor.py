"""A model on a host's processor, against what others measured."""

import pytest

from calc.catalog import catalog
from calc.estimate import read_asked
from calc.performance.processor import processor_tokens_per_s, token_bytes
from calc.scenario import Reader


def tokens_per_s(processor: str, model: str, weights: str, share: float) -> float:
    """Return the tokens a second of a short text."""
    demand = read_asked(Reader({"model": model, "weights": weights, "prompt_tokens": 1, "output_tokens": 128})).demand
    read = token_bytes(demand=demand, context_tokens=64)
    return processor_tokens_per_s(processor=catalog().processor(processor), read_bytes=read, share=share)


@pytest.mark.parametrize(("weights", "measured"), [("q4_k_m", 28.74), ("q8_0", 19.194)])
def test_phi_4_on_an_epyc_9554(weights: str, measured: float) -> None:
    """llama-bench on twelve channels of DDR5-4800 (ahelpme.com): within the coefficient's range."""
    share = catalog().coefficient("processor-read-share")
    low, high = (tokens_per_s("epyc-9554", "phi-4", weights, end) for end in (share.low, share.high))
    assert low < measured < high


def test_an_old_desktop() -> None:
    """LLaMA 7B in 4 bit took 253.7 ms a token on an i5-6500 whose memory gave 20.02 GB/s (llama.cpp, issue 34)."""
    processor = catalog().processor("ryzen-9-9950x")
    demand = read_asked(
        Reader({"model": "llama-7b", "weights": "q4_0", "prompt_tokens": 1, "output_tokens": 99})
    ).demand
    measured_share = 20.02e9 / processor.bandwidth  # the rate was measured, nothing is left to lose
    read = token_bytes(demand=demand, context_tokens=50)
    found = processor_tokens_per_s(processor=processor, read_bytes=read, share=measured_share)
    assert 1 / found == pytest.approx(0.2537, rel=0.3)


def test_a_mixture_reads_the_experts_of_one_token() -> None:
    """Qwen3 30B A3B reads about a tenth of its weights, Qwen3 32B all but the token table."""
    mixture, dense = (
        token_bytes(
            demand=read_asked(Reader({"model": name, "weights": "bf16", "context_tokens": 8})).demand, context_tokens=1
        )
        for name in ("qwen3-30b-a3b", "qwen3-32b")
    )
    assert mixture < dense / 8
