"""Families of decoders of 2026 whose layers mostly look at a short window: Granite Swash, Beam, Command A+."""

from calc.architecture.blocks import FeedForward, Mixer, dense, mixture, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import (
    LLAMA_NORMS,
    SLIDING,
    SPARSE,
    decoder,
    every,
    feeds_of,
    heads_of,
    llama_like,
    mixers_of,
)
from calc.architecture.decoders import windowed as in_window
from calc.architecture.families.mixture import after_first, expert_counts
from calc.architecture.families.norm_places import COHERE_STYLE
from calc.architecture.families.registry import family
from calc.architecture.layers import AROUND, Architecture, Attention, Style
from calc.architecture.tensors import SPLIT_OUT, Tensor, linear


@family("granite_swa", "granitemoe_swa", defaults={"sliding_window": 128})
def granite_swash(config: Config) -> Architecture:
    """Granite Swash: Granite with sinks, and windows in three layers of four; dense or with experts in every layer."""
    experts = None
    if config.text("model_type", "") == "granitemoe_swa":
        shared = config.integer("shared_intermediate_size", default=0, least=0)
        width = config.integer("intermediate_size")
        experts = mixture(config.hidden(), width, expert_counts(config, "num_local_experts"), shared_width=shared)
    pattern = every(config, lambda layer: layer % 4 != 0)
    return llama_like(config, sinks=True, pattern=pattern, experts=experts, tied=experts is None)


BEAM = {"sliding_window": 512, "head_dim": 128}
BEAM_DENSE = 3  # layers before those with experts
BEAM_NORMS = (*LLAMA_NORMS, "pre_feedforward_layernorm", "post_feedforward_layernorm")


@family("beam", defaults=BEAM)
def beam(config: Config) -> Architecture:
    """Beam: norms around each block, a gate on the attention's output, windows in five layers of six.

    The layers that see everything, the last among them, have no positions.
    """
    hidden, last = config.hidden(), config.layers() - 1
    heads = Attention(*heads_of(config, hidden))
    narrow = mixture(
        hidden, config.integer("moe_intermediate_size"), expert_counts(config, "num_experts", "num_local_experts")
    )

    def mixer(kind: str) -> Mixer:
        shape = in_window(config, heads, kind)._replace(rotary=kind == SLIDING)
        found = softmax_attention(hidden, shape, qk_norm="head")
        gate = linear("self_attn.gate_proj", "attention", heads.heads * heads.head_dim, hidden, split=SPLIT_OUT)
        bias = Tensor("self_attn.gate_bias", "attention", (heads.heads,), SPLIT_OUT)
        return found._replace(tensors=(*found.tensors, *gate, bias))

    def feed(kind: str) -> FeedForward:
        return narrow if kind == SPARSE else dense(hidden, config.integer("intermediate_size"))

    return decoder(
        config,
        mixers=mixers_of(config, every(config, lambda layer: (layer + 1) % 6 != 0 and layer != last)),
        mixer=mixer,
        feeds=feeds_of(config, lambda layer: layer >= BEAM_DENSE),
        feed=feed,
        layer_norms=BEAM_NORMS,
        style=Style(place=AROUND),
    )


@family("cohere2_moe", defaults={"sliding_window": 4096, "head_dim": 128, "first_k_dense_replace": 0})
def cohere2_moe(config: Config) -> Architecture:
    """North and Command A+: Command A's layout with experts, beside which a shared one of several widths may stand.

    The first layers may be dense, and see everything unless they are said to have windows.
    """
    config.refuse("attention_bias", (False,), "no published Command A has biases")
    width, first = config.integer("intermediate_size"), config.integer("first_k_dense_replace", least=0)
    shared = width * config.integer("num_shared_experts", default=0, least=0, most=2**10)
    period = config.integer("sliding_window_pattern", default=4)
    before = config.integer("prefix_dense_sliding_window_pattern", default=1)
    pattern = every(
        config, lambda layer: (layer + 1) % before != 0 if layer < first else (layer - first + 1) % period != 0
    )
    return llama_like(
        config,
        rotated=(SLIDING,),
        layer_norms=("input_layernorm",),
        style=COHERE_STYLE,
        pattern=pattern,
        mlp=dense(config.hidden(), config.integer("prefix_dense_intermediate_size", default=width)),
        experts=mixture(config.hidden(), width, expert_counts(config, "num_experts"), shared_width=shared),
        sparse=after_first(config),
        tied=True,
    )


@family("cohere_compass_text", defaults={"vocab_size": 256000})
def cohere_compass(config: Config) -> Architecture:
    """North Micro: Command R's layout, whose windows stand where `layer_types` says."""
    config.refuse("attention_bias", (False,), "no published one has biases")
    return llama_like(config, layer_norms=("input_layernorm",), style=COHERE_STYLE, tied=True)
