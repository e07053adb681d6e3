"""What data sets take on disk."""

import pytest

from calc.planning.storage import data_set_bytes, token_bytes


@pytest.mark.parametrize(("vocabulary", "size"), [(32_000, 2), (65_499, 2), (65_500, 4), (128_256, 4)])
def test_a_token_is_stored_in_the_type_that_megatron_chooses(vocabulary: int, size: int) -> None:
    """Unsigned 16 bit below 65,500 words, 32 bit from there on: `optimal_dtype` of Megatron-LM's indexed_dataset."""
    assert token_bytes(vocabulary) == size


def test_fifteen_trillion_tokens_of_llama_3() -> None:
    """Llama 3.1's tokens (arXiv:2407.21783, section 1) with its vocabulary of 128,256 are sixty terabytes."""
    assert data_set_bytes(tokens=15 * 10**12, vocabulary=128_256) == 60 * 10**12
