"""Weights take the bytes that the formats store."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import estimate
from calc.catalog import catalog
from calc.memory.weights import stored_bytes
from tests.known import load, parameter_rows

MATRIX = (4096, 11008)


@pytest.mark.parametrize(("name", "row"), [("nf4", "nf4_bs64_dq0"), ("nf4-dq", "nf4_bs64_dq1")])
def test_nf4_equals_bitsandbytes(name: str, row: str) -> None:
    """NF4 with and without double quantisation has the bytes of bitsandbytes' own tensors."""
    assert (
        stored_bytes(shape=MATRIX, number_format=catalog().number_format(name))
        == load("bitsandbytes.json")["results"][row]["bytes"]
    )


def test_int8_equals_bitsandbytes() -> None:
    """LLM.int8() stores a byte for each weight and an FP32 scale for each output feature."""
    parts = load("bitsandbytes.json")["results"]["int8_vectorwise"]["parts"]
    assert stored_bytes(shape=MATRIX, number_format=catalog().number_format("int8")) == parts["CB"] + parts["SCB"]


# Bits per weight of a matrix of 8,192 × 8,192, from the formats' own descriptions; of GGUF's types, bytes and weights
# of a block as ggml-common.h has them.
BITS = {
    "fp32": 32,
    "tf32": 32,
    "bf16": 16,
    "fp16": 16,
    "fp8": 8,
    "fp8-channel": 8 + 32 / 8192,
    "fp8-block": 8 + 32 / 128**2,
    "int8": 8 + 32 / 8192,
    "int8-channel": 8 + 16 / 8192,
    "nf4": 4 + 32 / 64,
    "nf4-dq": 4 + 8 / 64 + 32 / (64 * 256),
    "awq": 4 + 20 / 128,
    "gptq-int4": 4 + 20 / 128 + 32 / 8192,  # and where each column's group is
    "gptq-int8": 8 + 24 / 128 + 32 / 8192,
    "int4-group": 4 + 16 / 128,
    "mxfp4": 4 + 8 / 32,
    "mxfp4-linear": 4 + 8 / 32,
    "mxfp8": 8 + 8 / 32,
    "nvfp4": 4 + 8 / 16,
    "nvfp4-a16": 4 + 8 / 16,
    "bitnet": 2,
    "mlx-1bit": 1 + 32 / 128,
    "mlx-2bit": 2 + 32 / 64,
    "mlx-3bit": 3 + 32 / 64,
    "mlx-4bit": 4 + 32 / 64,
    "mlx-5bit": 5 + 32 / 64,
    "mlx-6bit": 6 + 32 / 64,
    "mlx-8bit": 8 + 32 / 64,
    "mlx-mxfp4": 4 + 8 / 32,
    "q4_0": 8 * 18 / 32,
    "q4_1": 8 * 20 / 32,
    "q5_0": 8 * 22 / 32,
    "q5_1": 8 * 24 / 32,
    "q8_0": 8 * 34 / 32,
    "q2_k": 8 * 84 / 256,
    "q3_k": 8 * 110 / 256,
    "q4_k": 8 * 144 / 256,
    "q5_k": 8 * 176 / 256,
    "q6_k": 8 * 210 / 256,
    "iq1_s": 8 * 50 / 256,
    "iq1_m": 8 * 56 / 256,
    "iq2_xxs": 8 * 66 / 256,
    "iq2_xs": 8 * 74 / 256,
    "iq2_s": 8 * 82 / 256,
    "iq3_xxs": 8 * 98 / 256,
    "iq3_s": 8 * 110 / 256,
    "iq4_nl": 8 * 18 / 32,
    "iq4_xs": 8 * 136 / 256,
    "tq1_0": 8 * 54 / 256,
    "tq2_0": 8 * 66 / 256,
    "q1_0": 8 * 18 / 128,
    "q2_0": 8 * 18 / 64,
}


def test_every_number_format_has_its_line() -> None:
    """A number format whose bits per weight nobody wrote down from its description is named here."""
    assert {found.id for found in catalog().number_formats()} ^ set(BITS) == set()


@pytest.mark.parametrize(("name", "bits"), BITS.items())
def test_bits_per_weight(name: str, bits: float) -> None:
    """Scales and zero points come on top of the element's bits."""
    size = stored_bytes(shape=(8192, 8192), number_format=catalog().number_format(name))
    assert 8 * size / 8192**2 == pytest.approx(bits, abs=2e-4)  # some have a table for each tensor


def test_a_group_that_is_not_full_has_a_scale_too() -> None:
    """130 columns in groups of 128 have two scales a row."""
    awq = catalog().number_format("awq")
    assert stored_bytes(shape=(1, 130), number_format=awq) == 65 + 5


def test_a_block_that_is_not_full_has_a_scale_too() -> None:
    """129 rows of 130 columns are covered by four blocks of 128 × 128, with an FP32 scale each."""
    assert stored_bytes(shape=(129, 130), number_format=catalog().number_format("fp8-block")) == 129 * 130 + 4 * 4


@pytest.mark.parametrize(("name", "gib"), [("gpt-oss-20b", 12.8), ("gpt-oss-120b", 60.8)])
def test_mxfp4_is_the_experts_format_in_gpt_oss(name: str, gib: float) -> None:
    """The checkpoints have the sizes of the model card (arXiv:2508.10925, table 1): attention stays 16 bit."""
    config = next(row["config"] for row in parameter_rows() if row["name"] == name)
    parts = estimate({"model": {"config": config}, "weights": "mxfp4"})["memory"]["parts"]  # type: ignore[index]
    assert round(parts[0]["bytes"] / 2**30, 1) == gib


def test_embeddings_and_head_stay_16_bit_under_awq() -> None:
    """Llama 3.1 8B in AWQ: the tables keep two bytes a weight, the layers' matrices do not."""
    parts = estimate({"model": "llama-3.1-8b", "weights": "awq"})["memory"]["parts"]  # type: ignore[index]
    steps = {step["name"]: step["value"] for step in parts[0]["steps"]}
    assert steps["Weights: token embedding"] == 2 * 128256 * 4096
    assert steps["Weights: output matrix"] == 2 * 128256 * 4096
    assert steps["Weights: MLP"] == 3 * 32 * (4096 * 14336 // 2 + 4096 * 14336 // 128 * 20 // 8)


@given(rows=st.integers(1, 300), columns=st.integers(1, 300))
def test_more_bits_never_need_less(rows: int, columns: int) -> None:
    """Over whole numbers of bits, a tensor grows with them."""
    plain = catalog().number_format("fp32")
    sizes = [stored_bytes(shape=(rows, columns), number_format=plain._replace(bits=bits)) for bits in range(1, 33)]
    assert sizes == sorted(sizes)
