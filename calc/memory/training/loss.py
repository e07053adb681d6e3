"""Memory of the loss: logits, their copies and gradients, in each way to compute the cross-entropy."""

from typing import NamedTuple

FULL, CHUNKED, COMPILED, FUSED = "full", "chunked", "compiled", "fused"
NARROW = "full-16-bit"  # logits are not raised to FP32
SHIFTED = "full-shifted"  # logits of all tokens but the last are copied once more
IN_PLACE, DIVIDED = "in place", "divided"  # how frameworks write "full" in special cases
CORE = "compiled, in place"  # how Megatron Core has "compiled"
CHUNKS = 8  # pieces of the sequence (torchtune's default)
FP32 = 4


class Logits(NamedTuple):
    """Bytes of logits alive at each moment of the loss; all of them for one micro-batch on one device."""

    kept: int  # from the forward pass to the backward of the loss
    forward: int  # at most, in the forward pass
    backward: int  # at most, in the backward of the loss
    after: int  # while the output matrix's backward runs
    held: int  # what the caller holds until the step ends


def logits(*, elements: int, compute_bytes: int, way: str, keep: bool, compiled: bool, stream_bytes: int) -> Logits:
    """Return the bytes of `elements` logits (tokens times vocabulary).

    In full: the 16-bit logits, their FP32 copy and its log-softmax are alive together, 10 bytes an element; the last of
    them is kept; the backward pass adds two FP32 gradients, 12 bytes, and the logits themselves if the caller holds
    them, 14. Shifted: the FP32 copy is copied without its last tokens, 14 bytes in the forward pass (transformers
    before 4.49; since then labels are shifted instead). In chunks: 16-bit logits of all, everything else of one piece.
    Compiled: logits and their gradient, both 16-bit, for the rest is computed on the way (torchtitan pull request
    1033). Fused with the output matrix (arXiv:2410.10989) as many rows at once as make the logits the size of the
    stream. Measured with tests/measure/training_activations.py and one_device.py.
    """
    narrow = elements * compute_bytes
    if way == FUSED:
        piece = min(stream_bytes, narrow)
        return Logits(
            stream_bytes, stream_bytes + piece + piece * FP32 // compute_bytes, stream_bytes, stream_bytes, held=0
        )
    if way == CHUNKED:
        kept = elements * (compute_bytes if compiled else FP32)
        piece = elements * (compute_bytes if compiled else compute_bytes + 2 * FP32) // CHUNKS
        return Logits(kept, kept + piece, kept + piece, narrow, held=0)
    if way in (COMPILED, CORE, IN_PLACE):
        return overwritten(elements, narrow, way)
    held = narrow if keep else 0
    wide = compute_bytes if way == NARROW else FP32
    copy = 0 if compute_bytes == wide else elements * wide
    log_softmax = elements * wide
    gradients = 3 if way == DIVIDED else 2
    return Logits(
        kept=log_softmax + held,
        forward=narrow + copy + log_softmax * (2 if way in (DIVIDED, SHIFTED) else 1),
        backward=held + log_softmax + gradients * elements * wide,
        after=held + (narrow if copy else elements * wide),
        held=held,
    )


def overwritten(elements: int, narrow: int, way: str) -> Logits:
    """Return logits whose loss makes few tensors, which holds nobody back from letting the logits go.

    Megatron-LM's vocabulary-parallel loss raises logits to FP32 and turns this one tensor into the softmax and then
    into the gradient; a compiled loss keeps the logits and makes their gradient at once; Transformer Engine's kernel
    writes the gradient over the logits (its triton/cross_entropy.py).
    """
    if way != IN_PLACE:
        return Logits(narrow, narrow, narrow if way == CORE else 2 * narrow, narrow, held=0)
    wide = elements * FP32
    return Logits(wide, narrow + wide, wide + narrow, narrow, held=0)
