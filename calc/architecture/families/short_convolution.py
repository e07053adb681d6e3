"""LFM2 and LFM3: short convolutions that mix a token with the few before it, in most layers; attention in some."""

from calc.architecture.blocks import FeedForward, Mixer, dense, mixture, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import (
    DENSE,
    FULL,
    LLAMA_STYLE,
    SLIDING,
    decoder,
    feeds_of,
    heads_of,
    mixers_of,
    windowed,
)
from calc.architecture.families.mixture import expert_counts
from calc.architecture.families.registry import family
from calc.architecture.families.state_space import MOST_STATE, convolution
from calc.architecture.layers import AROUND, Architecture, Attention, Recurrence, StateCache, Style
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, linear

CONVOLUTION = "conv"
LFM2 = {"vocab_size": 65536, "conv_L_cache": 3, "num_key_value_heads": 8}


def short_convolution(config: Config) -> Mixer:
    """Return LFM2's gated short convolution, whose state is the last few tokens."""
    hidden, kernel = config.hidden(), config.integer("conv_L_cache", most=MOST_STATE)
    bias = config.flag("conv_bias", default=False)
    tensors = convolution("conv.conv1d", hidden, kernel, bias)
    tensors += linear("conv.in_proj", "ssm", 3 * hidden, hidden, split=SPLIT_OUT, bias=bias)
    tensors += linear("conv.out_proj", "ssm", hidden, hidden, split=SPLIT_IN, bias=bias)
    states = (StateCache("convolution", (hidden, kernel)),)
    return Mixer(tensors, recurrence=Recurrence(hidden, 4 * hidden), states=states)


@family("lfm2", "lfm2_moe", defaults=LFM2)
def lfm2(config: Config) -> Architecture:
    """LFM2: short convolutions in most layers, attention in some; dense, or with experts after the first layers."""
    hidden, layers = config.hidden(), config.layers()
    attention = softmax_attention(hidden, Attention(*heads_of(config, hidden)), qk_norm="head")
    listed = config.integers("full_attn_idxs")
    types = [FULL if listed is None or i in listed else CONVOLUTION for i in range(layers)]
    sparse = config.text("model_type", "") == "lfm2_moe"
    first = config.integer("num_dense_layers", default=2, least=0)

    def feed(kind: str) -> FeedForward:
        if kind == DENSE:
            return dense(hidden, lfm2_width(config))
        return mixture(hidden, config.integer("moe_intermediate_size"), expert_counts(config, "num_experts"))

    return decoder(
        config,
        mixers=mixers_of(config, types, (FULL, CONVOLUTION)),
        mixer=lambda kind: attention if kind == FULL else short_convolution(config),
        feeds=feeds_of(config, lambda i: sparse and i >= first),
        feed=feed,
        layer_norms=("operator_norm", "ffn_norm"),
        tied=config.flag("tie_embedding", default=True),
    )


LFM3 = {
    "conv_L_cache": 7,
    "sliding_window": 256,
    "head_dim": 128,
    "use_sandwich_norm": True,
    "use_attention_gate": True,
}


@family("lfm3", defaults=LFM3)
def lfm3(config: Config) -> Architecture:
    """LFM3: two convolutions to an attention, every other with a window; a gate on each head, norms around blocks."""
    hidden = config.hidden()
    heads = Attention(*heads_of(config, hidden))
    gate = linear("self_attn.g_proj", "attention", heads.heads, hidden, split=SPLIT_OUT)
    types = [FULL if i % 4 == 2 else SLIDING if i % 4 == 0 and i else CONVOLUTION for i in range(config.layers())]
    around = config.flag("use_sandwich_norm", default=True)

    def mixer(kind: str) -> Mixer:
        if kind == CONVOLUTION:
            return short_convolution(config)
        found = softmax_attention(hidden, windowed(config, heads, kind), qk_norm="head")
        gated = config.flag("use_attention_gate", default=True)
        return found._replace(tensors=found.tensors + gate) if gated else found

    return decoder(
        config,
        mixers=mixers_of(config, types, (FULL, SLIDING, CONVOLUTION)),
        mixer=mixer,
        feed=lambda _: dense(hidden, config.integer("intermediate_size")),
        layer_norms=("operator_norm", "operator_out_norm", "ffn_norm", "ffn_out_norm")
        if around
        else ("operator_norm", "ffn_norm"),
        style=Style(place=AROUND) if around else LLAMA_STYLE,
        tied=True,
    )


def lfm2_width(config: Config) -> int:
    """Return the MLP's width: what the config gives, or two thirds of it, scaled and rounded up."""
    width = config.integer("block_ff_dim", "intermediate_size")
    if config.text("model_type", "") == "lfm2_moe" or not config.flag("block_auto_adjust_ff_dim", default=True):
        return width
    width = int(config.number("block_ffn_dim_multiplier", default=1.0) * (2 * width // 3))
    step = config.integer("block_multiple_of", default=256)
    return max(-(-width // step), 1) * step
