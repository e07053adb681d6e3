"""Families of hybrids: layers of attention among or beside layers of state spaces and short convolutions."""

from calc.architecture.blocks import FeedForward, Mixer, dense, layer, mixture, norms, softmax_attention
from calc.architecture.config import MOST_LAYERS, Config
from calc.architecture.decoders import (
    DENSE,
    FULL,
    LINEAR,
    SPARSE,
    assemble,
    decoder,
    feeds_of,
    heads_of,
    mixers_of,
)
from calc.architecture.families.mixture import expert_counts
from calc.architecture.families.registry import family
from calc.architecture.families.state_space import (
    MOST_STATE,
    mamba2_mixer,
    named_mamba,
    named_mamba2,
)
from calc.architecture.layers import Architecture, Attention, Layer
from calc.architecture.tensors import linear

JAMBA = {
    "vocab_size": 65536,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_experts": 16,
    "num_experts_per_tok": 2,
    "expert_layer_period": 2,
    "expert_layer_offset": 1,
    "attn_layer_period": 8,
    "attn_layer_offset": 4,
    "mamba_d_state": 16,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
}


@family("jamba", defaults=JAMBA)
def jamba(config: Config) -> Architecture:
    """Jamba: one layer in eight has attention, the others Mamba; every second layer has experts."""
    hidden, width = config.hidden(), config.integer("intermediate_size")
    attention = softmax_attention(hidden, Attention(*heads_of(config, hidden), rotary=False))
    recurrent = named_mamba(config, hidden, inner_norms=True)
    experts, active = expert_counts(config, "num_experts")
    feeds = {DENSE: dense(hidden, width), SPARSE: mixture(hidden, width, (experts, active))}
    period, offset = config.integer("attn_layer_period"), config.integer("attn_layer_offset", least=0)
    step, start = config.integer("expert_layer_period"), config.integer("expert_layer_offset", least=0)
    types = [FULL if i % period == offset else LINEAR for i in range(config.layers())]
    return decoder(
        config,
        mixers=mixers_of(config, types, (FULL, LINEAR)),
        mixer=lambda kind: attention if kind == FULL else recurrent,
        feeds=feeds_of(config, lambda i: experts > 1 and i % step == start),
        feed=feeds.__getitem__,
        layer_norms=("input_layernorm", "pre_ff_layernorm"),
    )


MAMBA2 = {
    "mamba_n_heads": 128,
    "mamba_d_head": 64,
    "mamba_n_groups": 1,
    "mamba_d_state": 256,
    "mamba_d_conv": 4,
    "num_key_value_heads": 8,
}


@family("bamba", defaults=MAMBA2)
def bamba(config: Config) -> Architecture:
    """Bamba: Mamba 2 in most layers, attention in those that the config lists."""
    hidden, bias = config.hidden(), config.flag("attention_bias", default=False)
    attention = softmax_attention(hidden, Attention(*heads_of(config, hidden), joined=True), bias=bias)
    recurrent = named_mamba2(config)
    listed = set(config.integers("attn_layer_indices") or ())
    types = [FULL if i in listed else LINEAR for i in range(config.layers())]
    feed = dense(hidden, config.integer("intermediate_size"), bias=config.flag("mlp_bias", default=False))
    return decoder(
        config,
        mixers=mixers_of(config, types, (FULL, LINEAR)),
        mixer=lambda kind: attention if kind == FULL else recurrent,
        feed=lambda _: feed,
        layer_norms=("input_layernorm", "pre_ff_layernorm"),
    )


FALCON_H1 = {**MAMBA2, "vocab_size": 128000, "mamba_d_ssm": 1024}


@family("falcon_h1", defaults=FALCON_H1)
def falcon_h1(config: Config) -> Architecture:
    """Falcon H1: attention and Mamba 2 side by side in every layer."""
    hidden, bias = config.hidden(), config.flag("attention_bias", default=False)
    attention = softmax_attention(hidden, Attention(*heads_of(config, hidden)), bias=bias)
    heads, inner = config.integer("mamba_n_heads"), config.integer("mamba_d_ssm")
    if inner % heads:
        raise config.error("mamba_n_heads", f"must divide the inner size {inner}, not be {heads}")
    normed = config.flag("mamba_rms_norm", default=False)
    recurrent = named_mamba2(config, heads=heads, head_dim=inner // heads, normed=normed)
    both = recurrent._replace(
        tensors=recurrent.tensors + attention.tensors, attention=attention.attention, caches=attention.caches
    )
    feed = dense(hidden, config.integer("intermediate_size"), bias=config.flag("mlp_bias", default=False))
    return decoder(
        config,
        mixers=[FULL] * config.layers(),
        mixer=lambda _: both,
        feed=lambda _: feed,
        layer_norms=("input_layernorm", "pre_ff_layernorm"),
    )


@family("granitemoehybrid", defaults={**MAMBA2, "num_key_value_heads": None})
def granitemoehybrid(config: Config) -> Architecture:
    """Granite 4: Mamba 2 in most layers, attention in some; experts with a shared one, or the shared one alone."""
    hidden, bias = config.hidden(), config.flag("attention_bias", default=False)
    heads = Attention(*heads_of(config, hidden), rotary=config.text("position_embedding_type", "") == "rope")
    attention = softmax_attention(hidden, heads, bias=bias)
    shared = config.integer("shared_intermediate_size", default=1024)
    types = mixers_of(config, [LINEAR] * config.layers(), (FULL, LINEAR))
    recurrent = named_mamba2(config) if LINEAR in types else Mixer()
    if config.integer("num_local_experts", default=8, least=0):
        width = config.integer("intermediate_size")
        counts = expert_counts(config.completed({"num_local_experts": 8}), "num_local_experts")
        feed = mixture(hidden, width, counts, shared_width=shared)
    else:
        feed = dense(hidden, shared)
    return decoder(
        config,
        mixers=types,
        mixer=lambda kind: attention if kind == FULL else recurrent,
        feed=lambda _: feed,
    )


LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
NEMOTRON_H = {
    "vocab_size": 131072,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 21504,
    "ssm_state_size": 128,
    "mamba_num_heads": 128,
    "mamba_head_dim": 64,
    "n_groups": 8,
    "conv_kernel": 4,
    "moe_intermediate_size": 7688,
    "moe_shared_expert_intermediate_size": 7688,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
}


@family("nemotron_h", defaults=NEMOTRON_H)
def nemotron_h(config: Config) -> Architecture:
    """Nemotron H and Nemotron 3: each layer is one of Mamba 2, attention, an MLP or experts, as a pattern says."""
    config.refuse("attention_bias", (False,), "no published Nemotron H has biases there")
    hidden = config.hidden()
    built = {
        "mamba": lambda: layer(nemotron_mamba(config), FeedForward(), *norms(hidden, "norm")),
        "attention": lambda: layer(
            softmax_attention(hidden, Attention(*heads_of(config, hidden), rotary=False)),
            FeedForward(),
            *norms(hidden, "norm"),
        ),
        "mlp": lambda: layer(Mixer(), nemotron_mlp(config), *norms(hidden, "norm")),
        "moe": lambda: layer(Mixer(), nemotron_experts(config), *norms(hidden, "norm")),
    }

    def build(kind: tuple[str, ...]) -> Layer:
        return built[kind[0]]()

    return assemble(
        config,
        hidden=hidden,
        layers=[(name,) for name in nemotron_pattern(config)],
        build=build,
        tied=config.flag("tie_word_embeddings", default=False),
    )


def nemotron_pattern(config: Config) -> list[str]:
    """Return what each layer is: from letters, or from a list of names."""
    names = {LINEAR: "mamba", FULL: "attention", **{name: name for name in LETTERS.values()}}
    if config.has("hybrid_override_pattern"):
        found = [LETTERS.get(letter, "") for letter in config.text("hybrid_override_pattern", "")]
        field = "hybrid_override_pattern"
    else:
        field = "layers_block_type" if config.has("layers_block_type") else "layer_types"
        found = [names.get(name, "") for name in config.listed_texts(field)]
    if not 0 < len(found) <= MOST_LAYERS or "" in found:
        raise config.error(field, f"must say of each layer which of {', '.join(LETTERS.values())} it is")
    return found


def nemotron_mamba(config: Config) -> Mixer:
    """Return Nemotron H's state space."""
    return mamba2_mixer(
        config.hidden(),
        config.integer("mamba_num_heads"),
        config.integer("mamba_head_dim"),
        state=config.integer("ssm_state_size", most=MOST_STATE),
        groups=config.integer("n_groups", most=MOST_STATE),
        kernel=config.integer("conv_kernel", most=MOST_STATE),
        bias=config.flag("use_bias", default=False),
        conv_bias=config.flag("use_conv_bias", default=True),
    )


def nemotron_mlp(config: Config) -> FeedForward:
    """Return Nemotron H's plain MLP."""
    bias = config.flag("mlp_bias", default=False)
    activation = config.text("mlp_hidden_act", "relu2")
    return dense(config.hidden(), config.integer("intermediate_size"), gated=False, bias=bias, activation=activation)


def nemotron_experts(config: Config) -> FeedForward:
    """Return Nemotron H's plain experts beside a wider shared one; in Nemotron 3 they work in a smaller space."""
    hidden, width = config.hidden(), config.integer("moe_intermediate_size")
    bias = config.flag("mlp_bias", default=False)
    small = config.integer("moe_latent_size", default=hidden)
    shared = config.integer("moe_shared_expert_intermediate_size")
    feed = mixture(
        hidden,
        width,
        expert_counts(config, "n_routed_experts"),
        shared_width=shared,
        gated=False,
        shared_bias=bias,
        expert_hidden=small,
        activation=config.text("mlp_hidden_act", "relu2"),
    )
    if not config.has("moe_latent_size"):
        return feed
    projections = linear("mlp.fc1_latent_proj", "expert", small, hidden, bias=bias)
    projections += linear("mlp.fc2_latent_proj", "expert", hidden, small, bias=bias)
    return feed._replace(tensors=feed.tensors + projections)
