"""Gemma in its generations: from Llama's layout to tables for each layer and layers that share a cache."""

from calc.architecture.blocks import FeedForward, Mixer, dense, keys_and_values, layer, mixture, norms
from calc.architecture.config import Config
from calc.architecture.decoders import FULL, SLIDING, assemble, every, heads_of, llama_like, mixers_of
from calc.architecture.families.mixture import expert_counts
from calc.architecture.families.registry import family
from calc.architecture.layers import AROUND, WIDE_RMS, Architecture, Attention, Layer, Style
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, Tensor, Tensors, linear, norm


@family("gemma")
def gemma(config: Config) -> Architecture:
    """Gemma 1: Llama's layout with the embedding as output matrix."""
    bias = config.flag("attention_bias", default=False)
    return llama_like(config, attention_bias=bias, style=Style(WIDE_RMS), mlp=gemma_mlp(config), tied=True)


def gemma_mlp(config: Config) -> FeedForward:
    """Return a gated MLP of GELU; `hidden_act` of older configs is not what their class computes."""
    activation = config.text("hidden_activation", "gelu_pytorch_tanh")
    return dense(config.hidden(), config.integer("intermediate_size"), activation=activation)


GEMMA_NORMS = (
    "input_layernorm",
    "post_attention_layernorm",
    "pre_feedforward_layernorm",
    "post_feedforward_layernorm",
)


GEMMA_STYLE = Style(WIDE_RMS, AROUND)


@family("gemma2")
def gemma2(config: Config) -> Architecture:
    """Gemma 2: norms before and after each block; every second layer, from the first on, has a window."""
    pattern = every(config, lambda layer: layer % 2 == 0)
    return llama_like(
        config,
        attention_bias=config.flag("attention_bias", default=False),
        soft_cap=config.number("attn_logit_softcapping", default=50) > 0,
        layer_norms=GEMMA_NORMS,
        style=GEMMA_STYLE,
        mlp=gemma_mlp(config),
        pattern=pattern,
        tied=True,
    )


GEMMA3 = {"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256}


@family("gemma3_text", defaults=GEMMA3)
def gemma3_text(config: Config) -> Architecture:
    """Gemma 3 (text): a norm on each query and key head; one layer in six attends to everything."""
    period = config.integer("sliding_window_pattern", default=6)
    pattern = every(config, lambda layer: (layer + 1) % period != 0)
    return llama_like(
        config,
        attention_bias=config.flag("attention_bias", default=False),
        qk_norm="head",
        soft_cap=config.number("attn_logit_softcapping", default=0) > 0,
        layer_norms=GEMMA_NORMS,
        style=GEMMA_STYLE,
        mlp=gemma_mlp(config),
        pattern=pattern,
        tied=True,
    )


OWN, SHARED, KEYS_ONLY = "own", "shared", "keys"  # whether a layer makes keys and values, or values are the keys


def headed_attention(hidden: int, attention: Attention, source: str, *, bias: bool) -> Mixer:
    """Return attention with a norm on each query and key head; a layer that shares a cache has queries alone."""
    query, keys = attention.heads * attention.head_dim, attention.kv_heads * attention.head_dim
    prefix, block, kv_heads = "self_attn.", "attention", attention.kv_heads
    tensors = linear(prefix + "q_proj", block, query, hidden, split=SPLIT_OUT, bias=bias)
    tensors += norm(prefix + "q_norm", attention.head_dim, block=block)
    tensors += linear(prefix + "o_proj", block, hidden, query, split=SPLIT_IN, bias=bias)
    if source == SHARED:
        return Mixer(tensors, attention)
    tensors += linear(prefix + "k_proj", block, keys, hidden, split=SPLIT_OUT, bias=bias, units=kv_heads)
    tensors += norm(prefix + "k_norm", attention.head_dim, block=block)
    if source == OWN:
        tensors += linear(prefix + "v_proj", block, keys, hidden, split=SPLIT_OUT, bias=bias, units=kv_heads)
    return Mixer(tensors, attention, caches=(keys_and_values(attention),))


def layer_inputs(hidden: int, size: int) -> Tensors:
    """Return what lets a layer read its own embedding of the token."""
    tensors = linear("per_layer_input_gate", "layer_other", size, hidden)
    tensors += linear("per_layer_projection", "layer_other", hidden, size)
    return tensors + norm("post_per_layer_input_norm", hidden)


def layer_tables(config: Config, hidden: int, layers: int, size: int) -> Tensors:
    """Return the table that has an embedding of each token for each layer, and what makes one of the hidden state."""
    rows = config.integer("vocab_size_per_layer_input")
    tensors: Tensors = (Tensor("embed_tokens_per_layer.weight", "other_embedding", (rows, layers * size)),)
    tensors += linear("per_layer_model_projection", "other", layers * size, hidden)
    return tensors + norm("per_layer_projection_norm", size, block="other")


def first_shared(config: Config, layers: int, default: int) -> int:
    """Return the first of the layers that use an earlier layer's cache."""
    return layers - config.integer("num_kv_shared_layers", default=default, least=0, most=layers)


GEMMA3N = {
    "vocab_size": 262400,
    "vocab_size_per_layer_input": 262144,
    "hidden_size": 2048,
    "hidden_size_per_layer_input": 256,
    "num_hidden_layers": 35,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "intermediate_size": 16384,
    "sliding_window": 512,
}


@family("gemma3n_text", defaults=GEMMA3N)
def gemma3n_text(config: Config) -> Architecture:
    """Gemma 3n (text): an embedding for each layer, several residual streams, and layers that share a cache."""
    hidden, layers = config.hidden(), config.layers()
    heads = Attention(*heads_of(config, hidden))
    window = config.integer("sliding_window")
    size, streams = (
        config.integer("hidden_size_per_layer_input"),
        config.integer("altup_num_inputs", default=4, most=64),
    )
    rank = config.integer("laurel_rank", default=64)
    widths = config.values["intermediate_size"]
    listed = config.integers("intermediate_size") if isinstance(widths, list) else None
    widths = listed if listed is not None else [config.integer("intermediate_size")] * layers
    if len(widths) != layers or not all(widths):
        raise config.error("intermediate_size", f"must be one width, or one for each of the {layers} layers")
    start = first_shared(config, layers, 15)
    types = mixers_of(config, every(config, lambda index: (index + 1) % 5 != 0))
    bias = config.flag("attention_bias", default=False)
    others = norms(hidden, *GEMMA_NORMS) + streams_of(hidden, streams, rank) + layer_inputs(hidden, size)
    activation = config.text("hidden_activation", "gelu_pytorch_tanh")

    def build(kind: tuple[str, ...]) -> Layer:
        shape = heads._replace(window_tokens=window if kind[0] == SLIDING else None)
        feed = dense(hidden, int(kind[2]), activation=activation)
        return layer(headed_attention(hidden, shape, kind[1], bias=bias), feed, *others, style=GEMMA_STYLE)

    tables = layer_tables(config, hidden, layers, size)
    for name in ("altup_projections", "altup_unembed_projections"):
        weight = linear(name, "other", hidden, hidden, copies=streams - 1) if streams > 1 else ()
        tables += weight
    return assemble(
        config,
        hidden=hidden,
        layers=[(types[index], OWN if index < start else SHARED, str(width)) for index, width in enumerate(widths)],
        build=build,
        tied=config.flag("tie_word_embeddings", default=True),
        embeddings=tables,
    )


def streams_of(hidden: int, streams: int, rank: int) -> Tensors:
    """Return what mixes residual streams (AltUp, arXiv:2301.13310), and a low-rank path (LAuReL, arXiv:2411.07501)."""
    block = "layer_other"
    tensors: Tensors = (Tensor("altup.correct_output_scale", block, (hidden,)),)
    tensors += linear("altup.correction_coefs", block, streams, streams)
    tensors += linear("altup.prediction_coefs", block, streams * streams, streams)
    tensors += linear("altup.modality_router", block, streams, hidden)
    tensors += norm("altup.router_norm", hidden, block=block)
    tensors += linear("laurel.linear_left", block, rank, hidden)
    tensors += linear("laurel.linear_right", block, hidden, rank)
    return tensors + norm("laurel.post_laurel_norm", hidden, block=block)


GEMMA4 = {
    **GEMMA3N,
    "vocab_size": 262144,
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 30,
    "num_key_value_heads": 4,
    "global_head_dim": 512,
}


@family("gemma4_unified_text", defaults={**GEMMA4, "hidden_size_per_layer_input": 0})
@family("gemma4_text", defaults=GEMMA4)
def gemma4_text(config: Config) -> Architecture:
    """Gemma 4 (text): larger heads in the layers that see everything; small ones have an embedding for each layer.

    In some sizes values are the keys in those layers, or experts stand beside the MLP.
    """
    hidden, layers = config.hidden(), config.layers()
    heads, kv_heads, size = heads_of(config, hidden)
    window, start = config.integer("sliding_window"), first_shared(config, layers, 0)
    same = config.flag("attention_k_eq_v", default=False)
    wide = gemma4_wide(config, heads, kv_heads)
    narrow = Attention(heads, kv_heads, size, window)
    types = list(mixers_of(config, every(config, lambda index: (index + 1) % 6 != 0)))
    types[-1] = FULL
    input_size = config.integer("hidden_size_per_layer_input", least=0)
    others = norms(hidden, *GEMMA_NORMS) + (layer_inputs(hidden, input_size) if input_size else ())
    double = config.flag("use_double_wide_mlp", default=False)
    bias = config.flag("attention_bias", default=False)
    width = config.integer("intermediate_size")

    def build(kind: tuple[str, ...]) -> Layer:
        shape = narrow if kind[0] == SLIDING else wide
        source = KEYS_ONLY if kind[1] == OWN and same and kind[0] == FULL else kind[1]
        own = width * (2 if double and kind[1] == SHARED else 1)
        mixer, feed = headed_attention(hidden, shape, source, bias=bias), gemma4_feed(config, own)
        return layer(mixer, feed, *others, style=GEMMA_STYLE)

    return assemble(
        config,
        hidden=hidden,
        layers=[(name, OWN if index < start else SHARED) for index, name in enumerate(types)],
        build=build,
        tied=config.flag("tie_word_embeddings", default=True),
        embeddings=layer_tables(config, hidden, layers, input_size) if input_size else (),
    )


def gemma4_wide(config: Config, heads: int, kv_heads: int) -> Attention:
    """Return the attention that sees everything: its sizes stand in the config, or newly with each such layer."""
    given, names = config, ("num_global_key_value_heads", "global_head_dim")
    if config.has("per_layer_config"):
        layers = config.nested("per_layer_config")
        if layers.values:
            given, names = layers.nested(min(layers.values, key=str)), ("num_key_value_heads", "head_dim")
    shared = given.integer(names[0], default=kv_heads)
    if given is config and not config.flag("attention_k_eq_v", default=False):
        shared = kv_heads
    if heads % shared:
        raise given.error(names[0], f"must divide the {heads} attention heads, not be {shared}")
    return Attention(heads, shared, given.integer(names[1], default=config.integer("global_head_dim")))


def gemma4_feed(config: Config, width: int) -> FeedForward:
    """Return Gemma 4's MLP, and beside it the experts that some sizes have."""
    hidden = config.hidden()
    activation = config.text("hidden_activation", "gelu_pytorch_tanh")
    plain = dense(hidden, width, activation=activation)
    if not config.flag("enable_moe_block", default=False):
        return plain
    experts, active = expert_counts(config, "num_experts", chosen="top_k_experts")
    inner = config.integer("moe_intermediate_size")
    mixed = mixture(hidden, inner, (experts, active))
    extra: Tensors = (Tensor("mlp.router.scale", "router", (hidden,)),)
    extra += (Tensor("mlp.router.per_expert_scale", "router", (experts,)),)
    names = ("post_feedforward_layernorm_1", "post_feedforward_layernorm_2", "pre_feedforward_layernorm_2")
    tensors = plain.tensors + mixed.tensors + extra + norms(hidden, *names)
    return plain._replace(tensors=tensors, width=width + mixed.width)
