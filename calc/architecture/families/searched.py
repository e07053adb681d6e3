"""Nemotron Nano, Super and Ultra of Llama 3: Llama's layout, in which a search gave each layer sizes of its own."""

from typing import NamedTuple

from calc.architecture.blocks import FeedForward, Mixer, dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import assemble
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture, Attention, Layer
from calc.architecture.tensors import Tensors, linear

NOTHING, LINEAR = "nothing", "linear"  # what stands in place of a block that the search left out, or cut down
STEP = 256  # that inner widths are rounded up to


class Searched(NamedTuple):
    """The two blocks of a layer: a number of KV heads and an inner width, or what stands in their place."""

    attention: str
    feed: str


@family("nemotron-nas", "deci")
def nemotron_nas(config: Config) -> Architecture:
    """Nemotron found by architecture search (arXiv:2411.19146): blocks may be narrower, one matrix, or not there."""
    hidden, layers = config.hidden(), config.layers()
    heads = config.integer("num_attention_heads", most=2**20)
    if hidden % heads:
        raise config.error("num_attention_heads", f"must divide the hidden size {hidden}, not be {heads}")
    blocks = config.objects("block_configs", layers)

    def build(kind: tuple[str, ...]) -> Layer:
        found = Searched(*kind)
        mixer, feed = Mixer(), FeedForward()
        around: Tensors = ()
        if found.attention == LINEAR:
            mixer = Mixer(linear("self_attn.linear_attn", "attention", hidden, hidden))
        elif found.attention != NOTHING:
            shape = Attention(heads, int(found.attention), hidden // heads)
            mixer = softmax_attention(hidden, shape, bias=config.flag("attention_bias", default=False))
        if found.feed == LINEAR:
            feed = FeedForward(linear("mlp.linear_mlp", "mlp", hidden, hidden))
        elif found.feed != NOTHING:
            feed = dense(hidden, int(found.feed), bias=config.flag("mlp_bias", default=False))
        if found.attention != NOTHING:
            around += norms(hidden, "input_layernorm")
        if found.feed != NOTHING:
            around += norms(hidden, "post_attention_layernorm")
        return layer(mixer, feed, *around)

    return assemble(
        config,
        hidden=hidden,
        layers=[searched(block, heads, hidden) for block in blocks],
        build=build,
        tied=config.flag("tie_word_embeddings", default=False),
    )


def searched(block: Config, heads: int, hidden: int) -> Searched:
    """Return what a layer's config says of its two blocks."""
    attention, feed = block.nested("attention"), block.nested("ffn")
    left_out = [replaced(part) for part in (attention, feed)]
    if not left_out[0]:
        shared = attention.integer("n_heads_in_group")
        if heads % shared:
            raise attention.error("n_heads_in_group", f"must divide the {heads} attention heads, not be {shared}")
        left_out[0] = str(heads // shared)
    if not left_out[1]:
        width = int(2 * feed.number("ffn_mult", default=0) * hidden / 3)
        left_out[1] = str(max(-(-width // STEP), 1) * STEP)
    return Searched(*left_out)


def replaced(part: Config) -> str:
    """Return what stands in place of a block; nothing is said of a block that is there."""
    if part.flag("no_op", default=False):
        return NOTHING
    return LINEAR if part.flag("replace_with_linear", default=False) else ""
