"""Building decoders: putting layers together, and the two layouts that most families share."""

from collections.abc import Callable, Mapping, Sequence

from calc.architecture.blocks import SILU, FeedForward, Mixer, dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.layers import LAYER_NORM, Architecture, Attention, Layer, Style
from calc.architecture.tensors import SPLIT_NONE, SPLIT_VOCAB, Tensor, linear, norm
from calc.catalog.choices import POSITIONS

FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"
DENSE, SPARSE = "dense", "sparse"
PREDICTING = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")  # a further token each
OLDER = {"attention": FULL, "mamba": LINEAR, "chunked_attention": SLIDING}  # other names in published configs
LLAMA_NORMS = ("input_layernorm", "post_attention_layernorm")
LLAMA_STYLE, GPT_STYLE = Style(), Style(LAYER_NORM)


def heads_of(config: Config, hidden: int, *names: str) -> tuple[int, int, int]:
    """Return query heads, KV heads and head size; a head size that is not given is hidden size over heads."""
    heads = config.integer("num_attention_heads", *names, most=2**20)
    kv_heads = config.integer("num_key_value_heads", default=heads)
    if heads % kv_heads:
        raise config.error("num_key_value_heads", f"must divide the {heads} attention heads, not be {kv_heads}")
    if not config.has("head_dim") and hidden % heads:
        message = f"must divide the hidden size {hidden}, or head_dim must be given"
        raise config.error(names[0] if names else "num_attention_heads", message)
    return heads, kv_heads, config.integer("head_dim", default=hidden // heads)


def mixers_of(config: Config, default: Sequence[str], allowed: tuple[str, ...] = (FULL, SLIDING)) -> Sequence[str]:
    """Return what mixes tokens in each layer; `default` is for configs from before `layer_types` was written out."""
    types = [OLDER.get(name, name) for name in config.texts("layer_types", len(default)) or default]
    for name in types:
        if name not in allowed:
            raise config.error("layer_types", f"{name!r:.60} is not modelled; modelled are {', '.join(allowed)}")
    return types


def every(config: Config, sliding: Callable[[int], bool]) -> list[str]:
    """Return the layer types of a pattern given as a rule on the layer's index."""
    return [SLIDING if sliding(i) else FULL for i in range(config.layers())]


def feeds_of(config: Config, sparse: Callable[[int], bool]) -> Sequence[str]:
    """Return for each layer whether its MLP is dense or of experts: `mlp_layer_types`, else the family's rule."""
    layers = config.layers()
    types = config.texts("mlp_layer_types", layers)
    if types is None:
        return [SPARSE if sparse(i) else DENSE for i in range(layers)]
    for name in types:
        if name not in (DENSE, SPARSE):
            raise config.error("mlp_layer_types", f"{name!r:.60} is not modelled; modelled are {DENSE} and {SPARSE}")
    return types


def windowed(config: Config, attention: Attention, kind: str) -> Attention:
    """Return the attention with the config's window where `kind` is sliding."""
    window = config.integer("sliding_window", default=0, least=0) or None
    return attention._replace(window_tokens=window if kind == SLIDING else None)


def rotary_dim(config: Config, head_dim: int) -> int | None:
    """Return how many elements of a head are rotated where the config says so or names a share, None for all."""
    if stated := config.integer("rotary_dim", default=0, least=0):
        return stated if stated < head_dim else None
    parameters = config.values.get("rope_parameters")
    places = (config.values, parameters if isinstance(parameters, Mapping) else {})
    shares = (place.get(name) for place in places for name in ("partial_rotary_factor", "rotary_pct"))
    share = next((share for share in shares if isinstance(share, int | float) and 0 < share < 1), None)
    return None if share is None else max(int(share * head_dim), 1)


def rope_factors_of(config: Config, kinds: Sequence[Layer]) -> int:
    """Return how many factors of rotary frequencies llama.cpp's converter writes: Llama 3.1's, or Phi's long and short.

    Source: llama.cpp, conversion/llama.py and conversion/phi.py (generate_extra_tensors).
    """
    scaling = config.values.get("rope_scaling") or config.values.get("rope_parameters")
    head_dim = next((kind.attention.head_dim for kind in kinds if kind.attention is not None), 0)
    if not isinstance(scaling, Mapping):
        return 0
    if scaling.get("rope_type") == "llama3":
        return head_dim // 2
    listed = [scaling.get(name) for name in ("long_factor", "short_factor")]
    return sum(len(factors) for factors in listed if isinstance(factors, list))


def assemble(
    config: Config,
    *,
    hidden: int,
    layers: Sequence[tuple[str, ...]],
    build: Callable[[tuple[str, ...]], Layer],
    tied: bool,
    embeddings: tuple[Tensor, ...] = (),
    final: tuple[Tensor, ...] | None = None,
    norm_bias: bool = False,
    head_bias: bool = False,
    classes: int = 0,
) -> Architecture:
    """Put a decoder together: `layers` names each layer's kind, `build` makes a kind.

    `final` stands between the last layer and the output matrix, by default a norm. One that tells
    `classes` apart has a row for each in place of that matrix.
    """
    vocab = config.integer("vocab_size")
    table = Tensor("embed_tokens.weight", "token_embedding", (vocab, hidden), SPLIT_VOCAB)
    head = norm("norm", hidden, bias=norm_bias, block="final_norm") if final is None else final
    if classes:
        head += linear("score", "head", classes, hidden)
    elif not tied:
        head += linear("lm_head", "lm_head", vocab, hidden, split=SPLIT_VOCAB, bias=head_bias)
    elif head_bias:
        head += (Tensor("lm_head.bias", "lm_head", (vocab,), SPLIT_VOCAB),)
    names = list(dict.fromkeys(layers))
    kinds = tuple(build(name) for name in names)
    context = config.integer(*POSITIONS, default=0, least=0)
    return Architecture(
        family=config.text("model_type", ""),
        hidden_size=hidden,
        vocab_size=vocab,
        embeddings=(table, *embeddings),
        kinds=kinds,
        pattern=tuple(names.index(name) for name in layers),
        head=head,
        tied=tied and not classes,
        context_tokens=context or None,
        output_size=classes or vocab,
        rope_factors=rope_factors_of(config, kinds),
        prediction_layers=config.integer(*PREDICTING, default=0, least=0, most=64),
    )


def classes_of(config: Config) -> int:
    """Return how many classes a decoder tells apart, 1 where it rewards; 0 for one that writes words."""
    if "ForRewardModel" in config.classes:
        return 1
    if "ForSequenceClassification" in config.classes:
        return config.integer("num_labels", default=2, most=2**20)
    return 0


def decoder(
    config: Config,
    *,
    mixers: Sequence[str],
    mixer: Callable[[str], Mixer],
    feed: Callable[[str], FeedForward],
    feeds: Sequence[str] | None = None,
    layer_norms: tuple[str, ...] = LLAMA_NORMS,
    norm_bias: bool = False,
    style: Style = LLAMA_STYLE,
    tied: bool = False,
    head_bias: bool = False,
    final: tuple[Tensor, ...] | None = None,
) -> Architecture:
    """Put a decoder together of mixers and feed-forward networks, each named layer by layer and made by kind."""
    hidden = config.hidden()
    around = norms(hidden, *layer_norms, bias=norm_bias)
    return assemble(
        config,
        hidden=hidden,
        layers=list(zip(mixers, feeds or [DENSE] * len(mixers), strict=True)),
        build=lambda kind: layer(mixer(kind[0]), feed(kind[1]), *around, style=style),
        tied=config.flag("tie_word_embeddings", default=tied),
        final=final,
        norm_bias=norm_bias,
        head_bias=head_bias,
        classes=classes_of(config),
    )


def gated_mlp(config: Config, hidden: int) -> FeedForward:
    """Return Llama's MLP: `intermediate_size` wide, with a gate."""
    bias, activation = config.flag("mlp_bias", default=False), config.text("hidden_act", SILU)
    return dense(hidden, config.integer("intermediate_size"), bias=bias, activation=activation)


def llama_like(
    config: Config,
    *,
    attention_bias: bool = False,
    out_bias: bool | None = None,
    qk_norm: str = "",
    gated: bool = False,
    sinks: bool = False,
    rotated: tuple[str, ...] = (FULL, SLIDING),
    joined: bool = False,
    fused: bool = False,
    soft_cap: bool = False,
    layer_norms: tuple[str, ...] = LLAMA_NORMS,
    norm_bias: bool = False,
    style: Style = LLAMA_STYLE,
    pattern: Sequence[str] | None = None,
    tied: bool = False,
    head_bias: bool = False,
    final: tuple[Tensor, ...] | None = None,
    mlp: FeedForward | None = None,
    experts: FeedForward | None = None,
    sparse: Callable[[int], bool] = lambda _: True,
) -> Architecture:
    """Read a decoder with RMS norms, rotary positions and a gated MLP; the arguments are what families differ in.

    `mlp` replaces the gated MLP of `intermediate_size`; `experts` stand in its place in the layers that are `sparse`.
    `rotated` are the kinds of layers with rotary positions.
    """
    hidden = config.hidden()
    heads = heads_of(config, hidden)
    turned = rotary_dim(config, heads[2])
    attention = Attention(*heads, joined=joined, fused=fused, soft_cap=soft_cap, rotary_dim=turned)
    feeds = feeds_of(config, sparse if experts else lambda _: False)

    def mixer(kind: str) -> Mixer:
        shape = windowed(config, attention, kind)._replace(rotary=kind in rotated)
        return softmax_attention(
            hidden, shape, bias=attention_bias, out_bias=out_bias, qk_norm=qk_norm, gated=gated, sinks=sinks
        )

    def feed(kind: str) -> FeedForward:
        if kind == SPARSE and experts is None:
            raise config.error("mlp_layer_types", f"has {SPARSE} layers, and the family has no experts")
        return (experts if kind == SPARSE else mlp) or gated_mlp(config, hidden)

    return decoder(
        config,
        mixers=mixers_of(config, pattern or [FULL] * len(feeds)),
        mixer=mixer,
        feeds=feeds,
        feed=feed,
        layer_norms=layer_norms,
        norm_bias=norm_bias,
        style=style,
        tied=tied,
        head_bias=head_bias,
        final=final,
    )


def gpt_like(
    config: Config,
    *,
    hidden: int,
    layers: int,
    heads: tuple[int, int, int],
    width: int,
    tied: bool,
    activation: str,
    rotary: bool = False,
    joined: bool = False,
    fused: bool = False,
    wide_softmax: bool = True,
    style: Style = GPT_STYLE,
    positions: int = 0,
    layer_norms: tuple[str, ...] = LLAMA_NORMS,
    attention_bias: bool = True,
    out_bias: bool | None = None,
    mlp_bias: bool = True,
    norm_bias: bool = True,
    head_bias: bool = False,
    embedding_norm: bool = False,
    qk_norm: str = "",
    pattern: Sequence[str] = (),
) -> Architecture:
    """Read a decoder with LayerNorms and a plain MLP, as GPT-2 has; the arguments are what families differ in."""
    feed = dense(hidden, width, gated=False, bias=mlp_bias, activation=activation)
    around = norms(hidden, *layer_norms, bias=norm_bias)
    attention = Attention(
        *heads,
        rotary=rotary,
        joined=joined,
        fused=fused,
        wide_softmax=wide_softmax,
        rotary_dim=rotary_dim(config, heads[2]),
    )

    def mixer(kind: str) -> Mixer:
        shape = windowed(config, attention, kind)
        return softmax_attention(
            hidden, shape, bias=attention_bias, out_bias=out_bias, qk_norm=qk_norm, norm_bias=norm_bias
        )

    table: tuple[Tensor, ...] = ()
    if positions:
        table += (Tensor("embed_positions.weight", "other_embedding", (positions, hidden), SPLIT_NONE),)
    if embedding_norm:
        table += norm("embed_layernorm", hidden, bias=True)
    return assemble(
        config,
        hidden=hidden,
        layers=[(name,) for name in mixers_of(config, pattern or [FULL] * layers)],
        build=lambda kind: layer(mixer(kind[0]), feed, *around, style=style),
        tied=config.flag("tie_word_embeddings", default=tied),
        embeddings=table,
        norm_bias=norm_bias,
        head_bias=head_bias,
    )
