"""Memory of the loss, by hand."""

from calc.memory.training.loss import CHUNKED, COMPILED, CORE, Logits, logits


def test_in_chunks_one_piece_in_eight_is_worked_on() -> None:
    """Thirteen logits: FP32 of all is kept, 52 B; a piece has 2 B and twice 4 B of an eighth of them, whole bytes."""
    found = logits(elements=13, compute_bytes=2, way=CHUNKED, keep=False, compiled=False, stream_bytes=0)
    assert found == Logits(kept=52, forward=52 + 16, backward=52 + 16, after=26, held=0)
    assert all(isinstance(value, int) for value in found)


def test_compiled_chunks_stay_in_16_bit() -> None:
    """Thirteen logits of 2 B are kept, and an eighth of them, 3 B, is worked on."""
    found = logits(elements=13, compute_bytes=2, way=CHUNKED, keep=False, compiled=True, stream_bytes=0)
    assert found == Logits(kept=26, forward=26 + 3, backward=26 + 3, after=26, held=0)


def test_a_core_writes_gradients_over_the_logits() -> None:
    """Thirteen logits of 2 B: a compiler's code makes their gradient beside them, Transformer Engine's over them."""
    for way, backward in ((COMPILED, 52), (CORE, 26)):
        found = logits(elements=13, compute_bytes=2, way=way, keep=False, compiled=True, stream_bytes=0)
        assert found == Logits(kept=26, forward=26, backward=backward, after=26, held=0)
