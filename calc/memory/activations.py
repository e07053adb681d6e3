"""Memory that a forward pass works in: the tensors of the widest moment of a layer, and the logits.

Inference keeps nothing for a backward pass, so layers reuse each other's space and one layer's peak is the model's.
"""

from typing import NamedTuple

from calc.architecture.layers import Architecture, Layer
from calc.architecture.stages import Stage, local_heads
from calc.architecture.tensors import Tensor

LOGIT_BYTES = 4  # sampling works on FP32 logits


ATTENTION, RECURRENCE, MLP, CONVOLUTION = "attention", "recurrence", "mlp", "convolution"


class Width(NamedTuple):
    """The elements per token alive at the widest moment of a layer, and the block that has it."""

    elements: int
    block: str
    layer: Layer


def layer_width(*, layer: Layer, hidden_size: int, tensor_parallel: int) -> Width:
    """Return the elements per token alive at the widest moment of a layer.

    Alive in every block are the residual stream and the block's normalised input. Attention adds query, key, value and
    output; a gated MLP (arXiv:2002.05202) gate, up and their product; a plain one its inner width before and after the
    activation function; a recurrent mixer its projected inputs and its output. Attention is computed in tiles and keeps
    no score matrix (FlashAttention, arXiv:2205.14135). A token passes some experts: their widths add up. Beside a
    convolution the layer's input is alive, to which its output is added, at all places that a token stands for.
    """
    widths = {MLP: (3 if layer.mlp_gated else 2) * -(-layer.mlp_width // tensor_parallel)}
    if layer.attention is not None:
        heads = local_heads(layer.attention.heads, tensor_parallel)
        kv_heads = local_heads(layer.attention.kv_heads, tensor_parallel)
        widths[ATTENTION] = (2 * heads + 2 * kv_heads) * layer.attention.head_dim
    if layer.recurrence is not None:
        widths[RECURRENCE] = -(-layer.recurrence.width // tensor_parallel)
    block = max(widths, key=widths.__getitem__)
    elements = layer.places * (2 * (layer.hidden or hidden_size) + widths[block])
    convolved = max(
        (int(tensor.places * convolved_width(tensor)) for tensor in layer.tensors if tensor.reads), default=0
    )
    convolved += layer.places * layer.hidden if convolved else 0
    return Width(elements, block, layer) if elements >= convolved else Width(convolved, CONVOLUTION, layer)


def convolved_width(tensor: Tensor) -> int:
    """Return the elements alive for a place at a convolution: what it gives, and what it reads or its norm gives."""
    return tensor.shape[0] + max(tensor.shape[0], tensor.reads)


def stage_width(*, stage: Stage, tensor_parallel: int) -> Width:
    """Return the width of a stage's widest layer."""
    hidden = stage.architecture.hidden_size
    return max(
        (
            layer_width(layer=kind, hidden_size=hidden, tensor_parallel=tensor_parallel)
            for kind, _ in stage.kind_counts()
        ),
        key=lambda width: width.elements,
    )


def logits_bytes(*, architecture: Architecture, positions: int) -> int:
    """Return the bytes of the FP32 logits of `positions`: one number for each entry of the vocabulary.

    A classifier has one for each class and an encoder none at all.
    """
    return positions * architecture.output_size * LOGIT_BYTES
