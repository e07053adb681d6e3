"""Families that hear: encoders of sound, which give hidden states or letters, not text token by token."""

from calc.architecture.blocks import FeedForward, Mixer, dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import GPT_STYLE, heads_of
from calc.architecture.families.encoder import labels_of, reader
from calc.architecture.families.registry import family
from calc.architecture.layers import AFTER, LAYER_NORM, Architecture, Attention, Style
from calc.architecture.tensors import Tensor, Tensors, linear, norm

AUDIO = "audio"
WAV2VEC2 = {
    "vocab_size": 32,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "conv_dim": [512] * 7,
    "conv_kernel": [10, 3, 3, 3, 3, 2, 2],
    "num_conv_pos_embeddings": 128,
    "num_conv_pos_embedding_groups": 16,
    "feat_extract_norm": "group",
}


def listener(
    config: Config, *, block: Tensors, mixer: Mixer, feed: FeedForward, front: Tensors, style: Style
) -> Architecture:
    """Put an encoder of sound together, with what its class has behind the layers."""
    hidden, vocab = config.hidden(), config.integer("vocab_size", default=32)
    return Architecture(
        family=config.text("model_type", ""),
        hidden_size=hidden,
        vocab_size=vocab,
        embeddings=front,
        kinds=(layer(reader(mixer), feed, *block, style=style),),
        pattern=(0,) * config.layers(),
        head=sound_head(config),
        tied=False,
        context_tokens=None,
        output_size=0,
    )


def sound_head(config: Config) -> Tensors:
    """Return what stands behind an encoder of sound: letters, classes, or what it was trained to tell apart.

    One that is trained by itself has the codes that it chooses between and two projections to where it compares them
    (arXiv:2006.11477, section 2). A classifier means over time what it has projected.
    """
    hidden, names = config.hidden(), config.classes
    if "ForCTC" in names:
        return linear("lm_head", "head", config.integer("vocab_size", default=32), hidden, bias=True)
    if "ForPreTraining" in names:
        return codes(config, hidden)
    if "ForSequenceClassification" in names:
        size = config.integer("classifier_proj_size", default=256)
        weights: Tensors = ()
        if config.flag("use_weighted_layer_sum", default=False):
            weights = (Tensor("layer_weights", "head", (config.layers() + 1,)),)
        projected = linear("projector", "head", size, hidden, bias=True)
        return weights + projected + linear("classifier", "head", labels_of(config), size, bias=True)
    heads: Tensors = ()
    for name, outputs in told(config).items():
        heads += linear(f"{name}.dense", "head", hidden, hidden, bias=True)
        heads += linear(f"{name}.out_proj", "head", outputs, hidden, bias=True)
    return heads


def told(config: Config) -> dict[str, int]:
    """Return what audEERING's models tell of a voice (arXiv:2203.07378, arXiv:2306.16962), each behind two matrices."""
    if "ForSpeechClassification" in config.classes:
        return {"classifier": labels_of(config)}
    return {"age": 1, "gender": 3} if "AgeGenderModel" in config.classes else {}


def codes(config: Config, hidden: int) -> Tensors:
    """Return the codes that an encoder is trained to tell apart, what chooses one, and the two projections."""
    size, joint = config.integer("codevector_dim", default=256), config.integer("proj_codevector_dim", default=256)
    groups = config.integer("num_codevector_groups", default=2)
    rows = groups * config.integer("num_codevectors_per_group", default=320)
    heard = (config.integers("conv_dim") or [hidden])[-1]
    if size % groups:
        raise config.error("codevector_dim", f"must be a multiple of the {groups} groups, not {size}")
    tensors: Tensors = (Tensor("quantizer.codevectors", "head", (1, rows, size // groups)),)
    tensors += linear("quantizer.weight_proj", "head", rows, heard, bias=True)
    tensors += linear("project_hid", "head", joint, hidden, bias=True)
    return tensors + linear("project_q", "head", joint, size, bias=True)


def waveform(config: Config) -> Tensors:
    """Return the convolutions that make vectors of a waveform, and the projection behind them (arXiv:2006.11477)."""
    dims, kernels = config.integers("conv_dim") or [], config.integers("conv_kernel") or []
    if not dims or len(dims) != len(kernels):
        raise config.error("conv_kernel", "must have a kernel for each of conv_dim")
    bias, everywhere = config.flag("conv_bias", default=False), config.text("feat_extract_norm", "group") == "layer"
    hidden, inputs = config.hidden(), 1
    tensors: Tensors = (Tensor("audio.masked_spec_embed", AUDIO, (hidden,)),)
    for index, (outputs, kernel) in enumerate(zip(dims, kernels, strict=True)):
        tensors += (Tensor(f"audio.conv.{index}.weight", AUDIO, (outputs, inputs, kernel)),)
        if bias:
            tensors += (Tensor(f"audio.conv.{index}.bias", AUDIO, (outputs,)),)
        if everywhere or not index:
            tensors += norm(f"audio.conv.{index}.norm", outputs, bias=True, block=AUDIO)
        inputs = outputs
    if config.flag("feat_proj_layer_norm", default=True):
        tensors += norm("audio.feature_norm", inputs, bias=True, block=AUDIO)
    return tensors + linear("audio.feature_projection", AUDIO, hidden, inputs, bias=True)


def convolved_positions(config: Config) -> Tensors:
    """Return the grouped convolution that gives positions; its weight is stored as length and direction."""
    hidden, kernel = config.hidden(), config.integer("num_conv_pos_embeddings", most=2**16)
    groups = config.integer("num_conv_pos_embedding_groups")
    if hidden % groups:
        raise config.error("num_conv_pos_embedding_groups", f"must divide the hidden size {hidden}, not be {groups}")
    return (
        Tensor("audio.positions.length", AUDIO, (1, 1, kernel)),
        Tensor("audio.positions.direction", AUDIO, (hidden, hidden // groups, kernel)),
        Tensor("audio.positions.bias", AUDIO, (hidden,)),
        *norm("audio.encoder_norm", hidden, bias=True, block=AUDIO),
    )


def adapter(config: Config, hidden: int) -> Tensors:
    """Return the adapter to a language that each layer of MMS has (arXiv:2305.13516, section 4.2), if there is one."""
    size = config.integer("adapter_attn_dim", default=0, least=0)
    if not size:
        return ()
    tensors = norm("adapter_layer.norm", hidden, bias=True, block="layer_other")
    tensors += linear("adapter_layer.linear_1", "layer_other", size, hidden, bias=True)
    return tensors + linear("adapter_layer.linear_2", "layer_other", hidden, size, bias=True)


@family("wav2vec2", "hubert", defaults=WAV2VEC2)
@family("wavlm", defaults={**WAV2VEC2, "num_buckets": 320})
def wav2vec2(config: Config) -> Architecture:
    """wav2vec 2, HuBERT (arXiv:2106.07447), and WavLM (arXiv:2110.13900), which weighs distances by what it hears."""
    hidden = config.hidden()
    heads, _, size = heads_of(config, hidden)
    mixer = softmax_attention(hidden, Attention(heads, heads, size, causal=False, rotary=False), bias=True)
    front = waveform(config) + convolved_positions(config)
    if config.text("model_type", "") == "wavlm":
        tensors = mixer.tensors + linear("self_attn.gru_rel_pos_linear", "attention", 8, size, bias=True)
        mixer = mixer._replace(tensors=(*tensors, Tensor("self_attn.gru_rel_pos_const", "attention", (heads,))))
        front += (Tensor("audio.rel_attn_embed.weight", AUDIO, (config.integer("num_buckets"), heads)),)
    feed = dense(
        hidden,
        config.integer("intermediate_size"),
        gated=False,
        bias=True,
        activation=config.text("hidden_act", "gelu"),
    )
    around = norms(hidden, "layer_norm", "final_layer_norm", bias=True)
    around += adapter(config, hidden)
    stable = config.flag("do_stable_layer_norm", default=False)
    style = GPT_STYLE if stable else Style(LAYER_NORM, AFTER)
    return listener(config, block=around, mixer=mixer, feed=feed, front=front, style=style)


WAV2VEC2_BERT = {
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
    "feature_projection_input_dim": 160,
    "conv_depthwise_kernel_size": 31,
    "left_max_position_embeddings": 64,
    "right_max_position_embeddings": 8,
}


@family("wav2vec2-bert", defaults=WAV2VEC2_BERT)
def wav2vec2_bert(config: Config) -> Architecture:
    """wav2vec-BERT 2 (arXiv:2312.05187): a conformer, with half an MLP before and half behind attention."""
    config.refuse("position_embeddings_type", ("relative_key",), "all published ones have tables of distances")
    config.refuse("add_adapter", (False,), "no published encoder alone has one")
    hidden, width = config.hidden(), config.integer("intermediate_size")
    heads, _, size = heads_of(config, hidden)
    mixer = softmax_attention(hidden, Attention(heads, heads, size, causal=False, rotary=False), bias=True)
    reach = config.integer("left_max_position_embeddings") + config.integer("right_max_position_embeddings") + 1
    kernel = config.integer("conv_depthwise_kernel_size", most=1000)
    tensors = (*mixer.tensors, Tensor("self_attn.distance_embedding.weight", "attention", (reach, size)))
    tensors += (Tensor("conv.pointwise_1.weight", "layer_other", (2 * hidden, hidden, 1)),)
    tensors += (Tensor("conv.depthwise.weight", "layer_other", (hidden, 1, kernel)),)
    tensors += (Tensor("conv.pointwise_2.weight", "layer_other", (hidden, hidden, 1)),)
    activation = config.text("hidden_act", "swish")
    both = dense(hidden, 2 * width, gated=False, bias=True, activation=activation)  # the halves side by side
    both = both._replace(tensors=(*both.tensors, Tensor("mlp.second.bias", "mlp", (hidden,))))
    names = ("ffn1_norm", "attention_norm", "conv.norm", "conv.depthwise_norm", "ffn2_norm", "final_norm")
    inputs = config.integer("feature_projection_input_dim")
    front: Tensors = (Tensor("audio.masked_spec_embed", AUDIO, (hidden,)),)
    front += norm("audio.feature_norm", inputs, bias=True, block=AUDIO)
    front += linear("audio.feature_projection", AUDIO, hidden, inputs, bias=True)
    around = norms(hidden, *names, bias=True)
    mixer = mixer._replace(tensors=tensors)
    return listener(config, block=around, mixer=mixer, feed=both, front=front, style=GPT_STYLE)
