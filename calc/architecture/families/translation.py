"""Families with an encoder before the decoder: BART, T5, Whisper. The decoder looks at the encoder's output too."""

from calc.architecture.blocks import FeedForward, Mixer, dense, keys_and_values, layer, norms, softmax_attention
from calc.architecture.config import MOST_LAYERS, Config
from calc.architecture.decoders import LLAMA_NORMS, assemble
from calc.architecture.families.encoder import encoder, reader
from calc.architecture.families.registry import family
from calc.architecture.layers import AFTER, BEFORE, LAYER_NORM, OUTPUT, PROMPT, Architecture, Attention, Style
from calc.architecture.tensors import Tensor, Tensors, linear, norm

ENCODER, DECODER = "encoder", "decoder"


def attention_over_both(mixer: Mixer, attention: Attention, fixed_tokens: int | None = None) -> Mixer:
    """Return a decoder's attention: over its own output, and over the encoder's, whose keys and values it keeps."""
    cross = tuple(tensor._replace(name=tensor.name.replace("self_attn", "encoder_attn")) for tensor in mixer.tensors)
    seen = keys_and_values(attention, PROMPT, fixed_tokens)._replace(label="keys and values of the encoder's output")
    return mixer._replace(
        tensors=mixer.tensors + cross,
        caches=(keys_and_values(attention, OUTPUT), seen),
        cross=attention._replace(causal=False),
    )


def translator(
    config: Config,
    *,
    hidden: int,
    layers: tuple[int, int],
    mixer: Mixer,
    feeds: tuple[FeedForward, FeedForward],
    style: Style,
    embeddings: tuple[Tensor, ...],
    last: tuple[Tensor, ...],
    tied: bool = True,
    fixed_tokens: int | None = None,
) -> Architecture:
    """Put encoder and decoder together; the encoder's layers come first."""
    if mixer.attention is None:
        raise ValueError("an encoder and a decoder meet in attention")
    both = attention_over_both(mixer, mixer.attention, fixed_tokens)
    seeing = mixer._replace(attention=mixer.attention._replace(causal=False))
    bias = style.norm == LAYER_NORM
    names = ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm")
    kinds = {
        ENCODER: layer(reader(seeing), feeds[0], *norms(hidden, names[0], names[2], bias=bias), style=style),
        DECODER: layer(both, feeds[1], *norms(hidden, *names, bias=bias), style=style),
    }
    return assemble(
        config,
        hidden=hidden,
        layers=[(ENCODER,)] * layers[0] + [(DECODER,)] * layers[1],
        build=lambda kind: kinds[kind[0]],
        tied=tied,
        embeddings=embeddings,
        final=last,
    )


def heads_over(config: Config, hidden: int) -> Attention:
    """Return attention whose heads share the hidden size evenly."""
    heads = config.integer("encoder_attention_heads", most=2**20)
    if hidden % heads:
        raise config.error("encoder_attention_heads", f"must divide the hidden size {hidden}, not be {heads}")
    return Attention(heads, heads, hidden // heads, rotary=False, wide_softmax=False)


BART = {
    "vocab_size": 50265,
    "max_position_embeddings": 1024,
    "encoder_layers": 12,
    "encoder_ffn_dim": 4096,
    "encoder_attention_heads": 16,
    "decoder_layers": 12,
    "decoder_ffn_dim": 4096,
    "d_model": 1024,
}


def classes_of(config: Config, default: int) -> int:
    """Return the number of classes of a classifier; 0 where the config is of a model that generates."""
    names = config.values.get("architectures")
    if isinstance(names, list) and names and not any(str(n).endswith("SequenceClassification") for n in names):
        return 0
    labels = config.values.get("id2label")
    if isinstance(labels, dict) and labels:
        default = len(labels)
    if isinstance(names, list) and names:
        return config.integer("num_labels", default=default, most=2**20)
    return config.integer("num_labels", default=0, least=0, most=2**20)


def bart_like(
    config: Config, *, style: str, spare: int, learned: bool = True, embed_norm: bool = False
) -> Architecture:
    """Read an encoder and a decoder in BART's layout, whose LayerNorms stand before or after the blocks.

    Where they stand before, each side ends in one. `spare` rows of the table of positions are not positions; it counts
    where its waves are computed and stored, too, and not where they are only computed.
    """
    hidden, activation = config.hidden("d_model"), config.text("activation_function", "gelu")
    attention = heads_over(config, hidden)
    classes = classes_of(config, 3)
    last: Tensors = ()
    if classes:
        last = linear("classification_head.dense", "head", hidden, hidden, bias=True)
        last += linear("classification_head.out_proj", "head", classes, hidden, bias=True)
    table: Tensors = ()
    for name in (ENCODER, DECODER):
        if learned:
            positions = config.integer("max_position_embeddings") + spare
            table += (Tensor(f"{name}.embed_positions.weight", "other_embedding", (positions, hidden)),)
        if embed_norm:
            table += norm(f"{name}.layernorm_embedding", hidden, bias=True)
        if style == BEFORE:
            last += norm(f"{name}.norm", hidden, bias=True, block="final_norm")
    whole = translator(
        config,
        hidden=hidden,
        layers=(config.layers("encoder_layers"), config.layers("decoder_layers")),
        mixer=softmax_attention(hidden, attention, bias=True),
        feeds=(
            dense(hidden, config.integer("encoder_ffn_dim"), gated=False, bias=True, activation=activation),
            dense(hidden, config.integer("decoder_ffn_dim"), gated=False, bias=True, activation=activation),
        ),
        style=Style(LAYER_NORM, style, config.number("dropout", default=0.1, most=1) > 0),
        embeddings=table,
        last=last,
    )
    if not classes:
        return whole
    kinds = tuple(kind._replace(caches=()) for kind in whole.kinds)  # one pass over the text, and nothing to go on with
    return whole._replace(tied=False, output_size=classes, kinds=kinds)


@family("bart", defaults=BART)
def bart(config: Config) -> Architecture:
    """BART (arXiv:1910.13461): learned positions with two rows to spare, LayerNorms after the blocks, biases."""
    return bart_like(config, style=AFTER, spare=2, embed_norm=True)


@family("mbart", defaults=BART)
def mbart(config: Config) -> Architecture:
    """mBART (arXiv:2001.08210): BART with LayerNorms before the blocks."""
    return bart_like(config, style=BEFORE, spare=2, embed_norm=True)


@family("marian", defaults={**BART, "vocab_size": 58101})
def marian(config: Config) -> Architecture:
    """Marian, the OPUS translators: BART without a norm of embeddings, and with stored waves in place of positions."""
    return bart_like(config, style=AFTER, spare=0)


@family("pegasus", defaults=BART)
def pegasus(config: Config) -> Architecture:
    """Pegasus (arXiv:1912.08777): Marian with LayerNorms before the blocks."""
    return bart_like(config, style=BEFORE, spare=0)


@family("m2m_100", defaults={**BART, "vocab_size": 128112, "activation_function": "relu"})
def m2m_100(config: Config) -> Architecture:
    """M2M-100 and NLLB-200 (arXiv:2010.11125, 2207.04672): Pegasus with waves that nothing stores."""
    return bart_like(config, style=BEFORE, spare=0, learned=False)


T5 = {"vocab_size": 32128, "d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_heads": 8}


@family("t5", "mt5", "longt5", defaults=T5)
def t5(config: Config) -> Architecture:
    """T5, Flan-T5 (arXiv:1910.10683) and LongT5, or the encoder alone: learned distances, a gate from 1.1 on."""
    config.refuse("encoder_attention_type", ("local",), "what sees summaries of the whole text has tables of its own")
    hidden, heads = config.hidden("d_model"), config.integer("num_heads", most=2**20)
    attention = Attention(heads, heads, config.integer("d_kv"), rotary=False)
    layers = config.layers("num_layers")
    gate, _, activation = config.text("feed_forward_proj", "relu").rpartition("-")
    activation = "gelu_new" if gate and activation == "gelu" else activation  # as its class reads "gated-gelu"
    feed = dense(hidden, config.integer("d_ff"), gated=bool(gate), activation=activation)
    buckets = config.integer("relative_attention_num_buckets", default=32)
    style = Style(dropout=config.number("dropout_rate", default=0.1, most=1) > 0)
    if config.values.get("architectures") == ["T5EncoderModel"]:
        alone = softmax_attention(hidden, attention._replace(causal=False))
        return encoder(
            config,
            hidden=hidden,
            layers=layers,
            block=layer(reader(alone), feed, *norms(hidden, *LLAMA_NORMS), style=style),
            embeddings=(Tensor("relative_attention_bias.weight", "other_embedding", (buckets, heads)),),
            last=norm("norm", hidden, block="final_norm"),
        )
    read, written = of_series(config, hidden)
    return translator(
        config,
        hidden=hidden,
        layers=(layers, config.integer("num_decoder_layers", default=layers, most=MOST_LAYERS)),
        mixer=softmax_attention(hidden, attention),
        feeds=(feed, feed),
        style=style,
        embeddings=read
        + tuple(
            Tensor(f"{name}.relative_attention_bias.weight", "other_embedding", (buckets, heads))
            for name in (ENCODER, DECODER)
        ),
        last=norm("encoder.norm", hidden, block="final_norm")
        + norm("decoder.norm", hidden, block="final_norm")
        + written,
        tied=config.flag("tie_word_embeddings", default=True),
    )


def of_series(config: Config, hidden: int) -> tuple[Tensors, Tensors]:
    """Return what reads pieces of a time series and what writes quantiles of all that comes (Chronos-Bolt).

    Both are an MLP with a matrix beside it; of a piece each value comes with whether it is there.
    """
    if not config.has("chronos_config"):
        return (), ()
    series, width = config.nested("chronos_config"), config.integer("d_ff")
    quantiles = series.values.get("quantiles")
    if not isinstance(quantiles, list) or not quantiles:
        raise series.error("quantiles", "must be a list of shares")
    ahead = series.integer("prediction_length", most=2**20) * len(quantiles)
    piece = 2 * series.integer("input_patch_size", most=2**20)
    return beside("input_patch", "other", (piece, width, hidden)), beside(
        "output_patch", "head", (hidden, width, ahead)
    )


def beside(name: str, block: str, sizes: tuple[int, int, int]) -> Tensors:
    """Return an MLP and a matrix beside it that goes from the first to the last of three sizes."""
    inputs, width, outputs = sizes
    tensors = linear(f"{name}.hidden_layer", block, width, inputs, bias=True)
    tensors += linear(f"{name}.output_layer", block, outputs, width, bias=True)
    return tensors + linear(f"{name}.residual_layer", block, outputs, inputs, bias=True)


WHISPER = {
    "vocab_size": 51865,
    "num_mel_bins": 80,
    "encoder_layers": 4,
    "encoder_attention_heads": 6,
    "decoder_layers": 4,
    "decoder_ffn_dim": 1536,
    "encoder_ffn_dim": 1536,
    "d_model": 384,
    "max_source_positions": 1500,
    "max_target_positions": 448,
}


@family("whisper", defaults=WHISPER)
def whisper(config: Config) -> Architecture:
    """Whisper (arXiv:2212.04356): two convolutions, an encoder of 30 s of sound, and a decoder; keys have no bias."""
    hidden, activation = config.hidden("d_model"), config.text("activation_function", "gelu")
    attention = heads_over(config, hidden)
    mixer = softmax_attention(hidden, attention, bias=True)
    sound, words = config.integer("max_source_positions"), config.integer("max_target_positions")
    bins = config.integer("num_mel_bins", most=2**16)
    table: tuple[Tensor, ...] = ()
    for name, channels in (("conv1", bins), ("conv2", hidden)):
        table += (Tensor(f"{name}.weight", "other", (hidden, channels, 3)), Tensor(f"{name}.bias", "other", (hidden,)))
    table += (Tensor("encoder.embed_positions.weight", "other_embedding", (sound, hidden)),)
    table += (Tensor("decoder.embed_positions.weight", "other_embedding", (words, hidden)),)
    ends = tuple(norm(f"{name}.norm", hidden, bias=True, block="final_norm") for name in (ENCODER, DECODER))
    return translator(
        config,
        hidden=hidden,
        layers=(config.layers("encoder_layers"), config.layers("decoder_layers")),
        mixer=mixer._replace(tensors=tuple(t for t in mixer.tensors if t.name != "self_attn.k_proj.bias")),
        feeds=(
            dense(hidden, config.integer("encoder_ffn_dim"), gated=False, bias=True, activation=activation),
            dense(hidden, config.integer("decoder_ffn_dim"), gated=False, bias=True, activation=activation),
        ),
        style=Style(LAYER_NORM, BEFORE, config.number("dropout", default=0.0, most=1) > 0),
        embeddings=table,
        last=ends[0] + ends[1],
        fixed_tokens=sound,
    )
