"""Effective bits: blocks add up to the model, and the bits to published ones."""

import pytest

from calc import estimate
from calc.architecture.parameters import parameters_total
from calc.catalog import catalog
from calc.catalog.records import StoredWeights
from calc.memory.effective_bits import (
    effective_bits,
    file_blocks,
    matrix_bits,
    stored_blocks,
    stored_by_tensor,
    together,
)
from calc.scenario.model import known_architecture

MODELS = ("llama-3.1-8b", "llama-3.2-1b", "qwen3-30b-a3b", "deepseek-v3", "mamba-2.8b", "bert-base")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("weights", ["bf16", "awq", "nf4-dq", "fp8-block", "mxfp4", "q8_0"])
def test_blocks_add_up(model: str, weights: str) -> None:
    """Parameters to the model's, bytes to those of the weights."""
    architecture = known_architecture(catalog(), model)
    blocks = stored_blocks(architecture=architecture, weights=catalog().weights_format(weights))
    assert sum(block.parameters for block in blocks) == parameters_total(architecture) + (
        architecture.rope_factors if weights == "q8_0" else 0
    )
    parts = estimate({"model": model, "weights": weights})["memory"]["parts"]  # type: ignore[index]
    assert sum(block.stored_bytes for block in blocks) == parts[0]["bytes"]


@pytest.mark.parametrize(
    ("weights", "bits"), [("q8_0", 8.5008), ("q6_k", 6.5633), ("q5_k_m", 5.7036), ("q4_k_m", 4.8944), ("q2_k", 3.1593)]
)
def test_llama_cpp_s_own_bits(weights: str, bits: float) -> None:
    """What llama.cpp's README of quantize prints for Llama 3.1 8B."""
    architecture = known_architecture(catalog(), "llama-3.1-8b")
    blocks = stored_blocks(architecture=architecture, weights=catalog().weights_format(weights))
    assert effective_bits(blocks) == pytest.approx(bits, abs=0.0006)


def test_what_stays_16_bit_is_said() -> None:
    """AWQ leaves the tables of Llama 3.1 8B alone, and BF16 leaves nothing."""
    architecture = known_architecture(catalog(), "llama-3.1-8b")
    kept = {
        b.block
        for b in stored_blocks(architecture=architecture, weights=catalog().weights_format("awq"))
        if b.format_name == "16 bit"
    }
    assert kept == {"token_embedding", "norm", "final_norm", "lm_head"}
    assert all(
        b.format_name == "BF16"
        for b in stored_blocks(architecture=architecture, weights=catalog().weights_format("bf16"))
    )


@pytest.mark.parametrize(("number_format", "bits"), [("bf16", 16.0), ("q8_0", 8.5), ("mxfp4", 4.25)])
def test_bits_of_a_matrix_by_hand(number_format: str, bits: float) -> None:
    """Q8_0 has a 16-bit scale for 32 weights of 8 bits, MXFP4 (OCP, 2023) one of 8 bits for 32 of 4."""
    assert matrix_bits(catalog().number_format(number_format)) == bits


def test_tensors_by_name_add_up() -> None:
    """To what the blocks have; of a dense model in llama.cpp's mixture each of 32 layers has its query matrix once."""
    architecture, weights = known_architecture(catalog(), "llama-3.1-8b"), catalog().weights_format("q4_k_m")
    listed = stored_by_tensor(architecture=architecture, weights=weights)
    blocks = stored_blocks(architecture=architecture, weights=weights)
    every = together(listed)
    assert every.parameters == sum(block.parameters for block in blocks)
    assert every.stored_bytes == sum(block.stored_bytes for block in blocks)
    assert every.bits == pytest.approx(effective_bits(blocks))
    queries = [item for item in listed if "q_proj" in item.name]
    assert sum(item.alike for item in queries) == 32
    assert sum(item.parameters for item in queries) == 32 * 4096 * 4096


def test_a_file_s_bits_are_of_its_own_bytes() -> None:
    """Parameters of Llama 3.1 8B by place: two tables of 128,256 × 4,096, one with the last norm, and the layers."""
    architecture = known_architecture(catalog(), "llama-3.1-8b")
    blocks = file_blocks(architecture=architecture, weights=StoredWeights(10**9, 4 * 10**9, 5 * 10**8))
    table = 128_256 * 4096
    assert [block.parameters for block in blocks] == [table, 8_030_261_248 - 2 * table - 4096, table + 4096]
    assert [block.stored_bytes for block in blocks] == [10**9, 4 * 10**9, 5 * 10**8]
    assert effective_bits(blocks) == pytest.approx(8 * 5.5e9 / 8_030_261_248)
