"""Families that hear by conformers over sound that convolutions shorten: Parakeet, with letters or a decoder behind."""

from calc.architecture.blocks import dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import GPT_STYLE, heads_of
from calc.architecture.families.encoder import reader
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture, Attention, Layer
from calc.architecture.tensors import Tensor, Tensors, batch_norm, convolution, linear
from calc.networks.convolutional import MOST_CHANNELS, convolved
from calc.networks.image_encoder import images

ENCODER = {
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 8,
    "intermediate_size": 4096,
    "conv_kernel_size": 9,
    "subsampling_conv_channels": 256,
    "num_mel_bins": 80,
}
SHORTER = 8  # frames that a token stands for: each of three convolutions halves time and bins
TOKENS = 1500  # of two minutes, at eight frames of 10 ms each
DECODER = {"vocab_size": 8193, "decoder_hidden_size": 640, "num_decoder_layers": 2}


@family("parakeet_ctc", defaults={"vocab_size": 1025})
@family("parakeet_rnnt", defaults=DECODER)
@family("parakeet_tdt", defaults={**DECODER, "durations": [0, 1, 2, 3, 4]})
def parakeet(config: Config) -> Architecture:
    """Parakeet (FastConformer, arXiv:2305.05084), with letters (CTC), words (RNN-T) or words and durations (TDT)."""
    sound = config.nested("encoder_config").completed(ENCODER)
    sound.refuse("subsampling_factor", (SHORTER,), "all published ones shorten sound so")
    hidden = sound.hidden()
    kinds = (convolved(shortening(sound)), conformer(sound))
    kind = config.text("model_type", "")
    last = transducer(config, hidden) if kind != "parakeet_ctc" else letters(config, hidden)
    found = images(sound.replaced({"model_type": kind}), (), *kinds, pattern=(0,) + (1,) * sound.layers(), last=last)
    return found._replace(context_tokens=TOKENS)


def shortening(sound: Config) -> Tensors:
    """Return the convolutions that make a token of eight frames, and the projection behind them."""
    channels, bins = sound.integer("subsampling_conv_channels", most=MOST_CHANNELS), sound.integer("num_mel_bins")
    tensors: Tensors = ()
    for index in range(3):
        places = (bins >> (index + 1)) * (SHORTER >> (index + 1))
        inputs, groups = (channels, channels) if index else (1, 1)
        name = f"subsampling.{index}"
        tensors += convolution(name, channels, inputs, 3, places=places, stride=2, groups=groups, bias=True)
        if index:
            tensors += convolution(f"{name}.pointwise", channels, channels, 1, places=places, bias=True)
    return tensors + linear("subsampling.linear", "mlp", sound.hidden(), channels * (bins // SHORTER), bias=True)


def conformer(sound: Config) -> Layer:
    """Return a conformer's layer (arXiv:2005.08100): half an MLP, attention by distance, a window, half an MLP."""
    hidden, bias = sound.hidden(), sound.flag("attention_bias", default=True)
    heads, _, size = heads_of(sound, hidden)
    seen = Attention(heads, heads, size, causal=False, rotary=False)
    mixer = softmax_attention(hidden, seen, bias=bias)
    tensors = mixer.tensors + linear("relative.k_proj", "attention", hidden, hidden)
    tensors += tuple(Tensor(f"self_attn.bias_{which}", "attention", (heads, size)) for which in "uv")
    windows = sound.flag("convolution_bias", default=True)
    for name, outputs, kernel, groups in (
        ("conv.pointwise1", 2 * hidden, 1, 1),
        ("conv.depthwise", hidden, sound.integer("conv_kernel_size", most=1000), hidden),
        ("conv.pointwise2", hidden, 1, 1),
    ):
        tensors += convolution(name, outputs, hidden, (kernel,), groups=groups, bias=windows)
    tensors += batch_norm("conv.norm", hidden)
    width, activation = sound.integer("intermediate_size"), sound.text("hidden_act", "silu")
    both = dense(hidden, 2 * width, gated=False, bias=bias, activation=activation)  # the halves side by side
    if bias:
        both = both._replace(tensors=(*both.tensors, Tensor("mlp.second.bias", "mlp", (hidden,))))
    names = ("norm_feed_forward1", "norm_self_att", "norm_conv", "norm_feed_forward2", "norm_out")
    around = norms(hidden, *names, bias=True)
    return layer(reader(mixer._replace(tensors=tensors)), both, *around, style=GPT_STYLE)


def letters(config: Config, hidden: int) -> Tensors:
    """Return what gives a letter, or none, for each token."""
    return linear("ctc_head", "head", config.integer("vocab_size"), hidden, bias=True)


def transducer(config: Config, hidden: int) -> Tensors:
    """Return a decoder of LSTMs over words, and what joins its state with a token (arXiv:1211.3711, 2304.06795)."""
    inner, words = config.integer("decoder_hidden_size", most=MOST_CHANNELS), config.integer("vocab_size")
    tensors = linear("encoder_projector", "head", inner, hidden, bias=True)
    tensors += (Tensor("decoder.embedding", "other_embedding", (words, inner)),)
    for index in range(config.integer("num_decoder_layers", most=100)):
        for name in ("weight_ih", "weight_hh"):
            tensors += linear(f"decoder.lstm.{index}.{name}", "head", 4 * inner, inner, bias=True)
    tensors += linear("decoder.projector", "head", inner, inner, bias=True)
    durations = len(config.integers("durations") or ()) if config.text("model_type", "") == "parakeet_tdt" else 0
    return tensors + linear("joint", "head", words + durations, inner, bias=True)
