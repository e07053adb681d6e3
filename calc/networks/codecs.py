"""Families that write sound as codes and read it back, by convolutions to and from frames: EnCodec, Mimi, DAC.

A token is a frame, for which each codebook has one code.
"""

from math import prod

from calc.architecture.blocks import FeedForward, Mixer, dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import GPT_STYLE, heads_of
from calc.architecture.families.encoder import reader
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture, Attention, Layer, Recurrence
from calc.architecture.tensors import CONVOLUTION, STATISTICS, Tensor, Tensors, convolution, linear, norm
from calc.networks.convolutional import MOST_CHANNELS, convolved, widened
from calc.networks.image_encoder import in_order

MOST_CODEBOOKS = 2**10
SEANET = {
    "sampling_rate": 24_000,
    "audio_channels": 1,
    "hidden_size": 128,
    "num_filters": 32,
    "num_residual_layers": 1,
    "upsampling_ratios": [8, 5, 4, 2],
    "kernel_size": 7,
    "last_kernel_size": 7,
    "residual_kernel_size": 3,
    "compress": 2,
    "codebook_size": 1024,
}
ENCODEC = {
    **SEANET,
    "target_bandwidths": [1.5, 3.0, 6.0, 12.0, 24.0],
    "norm_type": "weight_norm",
    "num_lstm_layers": 2,
    "use_conv_shortcut": True,
}
CODE_BITS = 10  # of each code, as EnCodec's class has it when it makes a bandwidth a number of codebooks


def steps_of(config: Config, name: str) -> list[int]:
    """Return by how much each stage shortens sound, or lengthens it again."""
    found = config.integers(name) or []
    if not 0 < len(found) <= 8 or not all(0 < step <= 2**8 for step in found):
        raise config.error(name, "must have up to eight steps, each from 1 to 256")
    return found


class Convolutions:
    """How a codec writes its convolutions: what stands beside their weights, and how much they double."""

    def __init__(self, config: Config, normed: str) -> None:
        self.config, self.normed = config, normed

    def window(self, name: str, outputs: int, inputs: int, kernel: int, *, places: int, stride: int = 1) -> Tensors:
        """Return a convolution to so many places a frame."""
        tensors = convolution(name, outputs, inputs, (kernel,), places=places, stride=stride, bias=True)
        return tensors + self.beside(name, outputs, outputs)

    def wider(self, name: str, outputs: int, inputs: int, kernel: int, *, places: int) -> Tensors:
        """Return a convolution that makes several places of each of so many."""
        return widened(name, outputs, inputs, kernel, places=places) + self.beside(name, inputs, outputs)

    def beside(self, name: str, first: int, outputs: int) -> Tensors:
        """Return the length of each row of a weight that is stored as a direction; or a norm behind it; or nothing."""
        if self.normed == "weight_norm":
            return (Tensor(f"{name}.length", CONVOLUTION, (first, 1, 1)),)
        return norm(f"{name}.norm", outputs, bias=True) if self.normed == "time_group_norm" else ()

    def residual(self, name: str, channels: int, *, places: int, shortcut: bool) -> Layer:
        """Return windows to fewer channels and back, beside what is added: as it is, or through a matrix."""
        inner = channels // self.config.integer("compress", most=2**10)
        if not inner:
            raise self.config.error("compress", f"must not be more than the {channels} channels of a layer")
        kernel = self.config.integer("residual_kernel_size", most=2**10)
        tensors = self.window(f"{name}.1", inner, channels, kernel, places=places)
        tensors += self.window(f"{name}.3", channels, inner, 1, places=places)
        if shortcut:
            tensors += self.window(f"{name}.shortcut", channels, channels, 1, places=places)
        return convolved(tensors, hidden=channels, places=places)


def seanet(
    config: Config, write: Convolutions, *, shortcut: bool, between: list[Layer], whole: list[Layer]
) -> Architecture:
    """Put a codec of SEANet's together (arXiv:2009.02095): sound shortened, what stands `between`, and back again.

    `whole` stands at the frames themselves, on both ways: what Mimi has beyond, and the codebooks.
    """
    hidden, steps = config.hidden(), steps_of(config, "upsampling_ratios")
    channels, sound = config.integer("num_filters", most=2**12), config.integer("audio_channels", most=2**8)
    kernel, last = config.integer("kernel_size", most=2**10), config.integer("last_kernel_size", most=2**10)
    repeats, places = config.integer("num_residual_layers", most=100), prod(steps)
    layers = [convolved(write.window("encoder.first", channels, sound, kernel, places=places))]
    for step in reversed(steps):
        layers += [write.residual("encoder.residual", channels, places=places, shortcut=shortcut)] * repeats
        places //= step
        down = write.window("encoder.down", 2 * channels, channels, 2 * step, places=places, stride=step)
        layers.append(convolved(down))
        channels *= 2
    layers += between
    layers.append(convolved(write.window("encoder.last", hidden, channels, last, places=1)))
    layers += whole
    layers.append(convolved(write.window("decoder.first", channels, hidden, kernel, places=1)))
    layers += between
    for step in steps:
        layers.append(convolved(write.wider("decoder.up", channels // 2, channels, 2 * step, places=places)))
        channels, places = channels // 2, places * step
        layers += [write.residual("decoder.residual", channels, places=places, shortcut=shortcut)] * repeats
    layers.append(convolved(write.window("decoder.last", sound, channels, last, places=places)))
    return in_order(config, layers, last=())


def learned(config: Config, books: int, size: int, *, kept: int) -> Layer:
    """Return codebooks of means that training keeps: `kept` tables of them, how many fell to each, and a flag."""
    rows = config.integer("codebook_size", most=2**20)
    if not 0 < books <= MOST_CODEBOOKS:
        raise config.error("codebook_size", f"must leave 1 to {MOST_CODEBOOKS:,} codebooks, not {books:,}")
    tables = Tensor("quantizer.embed", STATISTICS, (rows, size), copies=kept * books)
    counted = (Tensor("quantizer.cluster_size", STATISTICS, (rows,), copies=books),)
    return convolved((tables, *counted, Tensor("quantizer.inited", STATISTICS, (1,), copies=books)))


def recurrent(hidden: int) -> Layer:
    """Return an LSTM: four gates of what comes in and of what came out before, with two biases."""
    tensors: Tensors = ()
    for name in ("weight_ih", "weight_hh"):
        tensors += linear(f"lstm.{name}", "ssm", 4 * hidden, hidden, bias=True)
    return layer(Mixer(tensors, recurrence=Recurrence(hidden, 4 * hidden)), FeedForward())._replace(hidden=hidden)


@family("encodec", defaults=ENCODEC)
def encodec(config: Config) -> Architecture:
    """EnCodec (arXiv:2210.13438): SEANet with LSTMs, and as many codebooks as its highest bandwidth has codes."""
    steps = steps_of(config, "upsampling_ratios")
    rates = config.values.get("target_bandwidths")
    if not isinstance(rates, list) or not rates or not all(type(rate) in (int, float) and rate > 0 for rate in rates):
        raise config.error("target_bandwidths", "must be a list of kilobits a second")
    frames = -(-config.integer("sampling_rate", most=2**20) // prod(steps))
    books = int(1000 * min(float(rates[-1]), 1e6) // (frames * CODE_BITS))
    write = Convolutions(config, config.text("norm_type", "weight_norm"))
    widest = config.integer("num_filters", most=2**12) << len(steps)
    lstm = [recurrent(widest)] * config.integer("num_lstm_layers", least=0, most=100)
    size = config.integer("codebook_dim", default=config.hidden(), most=MOST_CHANNELS)
    whole = [learned(config, books, size, kept=2)]
    shortcut = config.flag("use_conv_shortcut", default=True)
    return seanet(config, write, shortcut=shortcut, between=lstm, whole=whole)


MIMI = {
    **SEANET,
    "hidden_size": 512,
    "num_filters": 64,
    "upsampling_ratios": [8, 6, 5, 4],
    "last_kernel_size": 3,
    "codebook_size": 2048,
    "codebook_dim": 256,
    "num_quantizers": 32,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "intermediate_size": 2048,
    "sliding_window": 250,
}
HALVED = 2  # frames of the convolutions that one of Mimi's codes stands for


@family("mimi", defaults=MIMI)
def mimi(config: Config) -> Architecture:
    """Mimi (arXiv:2410.00037): SEANet, layers of attention on both ways, and half as many frames for its codes.

    The first codebook has projections of its own, as it says what was said. A token is a frame of the convolutions.
    """
    hidden, size = config.hidden(), config.integer("codebook_dim", most=MOST_CHANNELS)
    books = config.integer("num_quantizers", least=2, most=MOST_CODEBOOKS)
    halving = convolution("downsample", hidden, hidden, (2 * HALVED,), places=1 / HALVED, stride=HALVED)
    doubling = (Tensor("upsample.weight", CONVOLUTION, (hidden, 1, 2 * HALVED), places=1 / HALVED, reads=hidden),)
    ends: Tensors = ()
    for name, outputs, inputs in (("input_proj", size, hidden), ("output_proj", hidden, size)):
        ends += convolution(f"quantizer.{name}", outputs, inputs, (1,), places=1 / HALVED, copies=2)
    attending = [over_frames(config)] * config.layers()
    codes = [convolved(halving + ends + doubling), learned(config, books, size, kept=1)]
    whole = [*attending, *codes, *attending]
    return seanet(config, Convolutions(config, ""), shortcut=False, between=[], whole=whole)


def over_frames(config: Config) -> Layer:
    """Return a layer of attention to the frames before, without biases, whose answers are scaled."""
    hidden = config.hidden()
    heads, _, size = heads_of(config, hidden)
    seen = Attention(heads, heads, size, config.integer("sliding_window"), rotary=True)
    scales = (Tensor(f"{name}_layer_scale", "layer_other", (hidden,)) for name in ("self_attn", "mlp"))
    feed = dense(hidden, config.integer("intermediate_size"), gated=False, activation="gelu")
    around = norms(hidden, "input_layernorm", "post_attention_layernorm", bias=True)
    return layer(reader(softmax_attention(hidden, seen)), feed, *around, *scales, style=GPT_STYLE)


DAC = {
    "encoder_hidden_size": 64,
    "downsampling_ratios": [2, 4, 8, 8],
    "decoder_hidden_size": 1536,
    "upsampling_ratios": [8, 8, 4, 2],
    "n_codebooks": 9,
    "codebook_size": 1024,
    "codebook_dim": 8,
}
UNITS, WINDOW = 3, 7  # of a stage, and of all windows that do not change how long sound is


@family("dac", defaults=DAC)
def dac(config: Config) -> Architecture:
    """DAC (arXiv:2306.06546): stages of three layers each way, waves for activations, and narrow codes."""
    write = Convolutions(config, "")
    channels, down = config.integer("encoder_hidden_size", most=2**12), steps_of(config, "downsampling_ratios")
    wide, up = config.integer("decoder_hidden_size", most=MOST_CHANNELS), steps_of(config, "upsampling_ratios")
    if prod(up) != prod(down) or wide % 2 ** len(up):
        raise config.error("upsampling_ratios", "must undo what downsampling_ratios do, and halve decoder_hidden_size")
    places = prod(down)
    layers = [convolved(write.window("encoder.conv1", channels, 1, WINDOW, places=places))]
    for step in down:
        layers += [waved(write, channels, places)] * UNITS
        places //= step
        shorter = write.window("encoder.down", 2 * channels, channels, 2 * step, places=places, stride=step)
        layers.append(convolved(wave("encoder.snake", channels) + shorter))
        channels *= 2
    layers.append(
        convolved(wave("encoder.snake1", channels) + write.window("encoder.conv2", channels, channels, 3, places=1))
    )
    layers.append(convolved(narrow_codes(config, channels)))
    layers.append(convolved(write.window("decoder.conv1", wide, channels, WINDOW, places=1)))
    for step in up:
        longer = write.wider("decoder.up", wide // 2, wide, 2 * step, places=places)
        layers.append(convolved(wave("decoder.snake", wide) + longer))
        wide, places = wide // 2, places * step
        layers += [waved(write, wide, places)] * UNITS
    layers.append(
        convolved(wave("decoder.snake1", wide) + write.window("decoder.conv2", 1, wide, WINDOW, places=places))
    )
    return in_order(config.replaced({"hidden_size": channels}), layers, last=())


def wave(name: str, channels: int) -> Tensors:
    """Return how often an activation swings, for each channel (arXiv:2006.08195)."""
    return (Tensor(f"{name}.alpha", "layer_other", (1, channels, 1)),)


def waved(write: Convolutions, channels: int, places: int) -> Layer:
    """Return a layer of DAC: a window and a matrix, each behind a wave."""
    tensors = wave("snake1", channels) + write.window("conv1", channels, channels, WINDOW, places=places)
    tensors += wave("snake2", channels) + write.window("conv2", channels, channels, 1, places=places)
    return convolved(tensors, hidden=channels, places=places)


def narrow_codes(config: Config, channels: int) -> Tensors:
    """Return DAC's codebooks, each between a projection to a few numbers and one back."""
    books, size = config.integer("n_codebooks", most=MOST_CODEBOOKS), config.integer("codebook_dim", most=MOST_CHANNELS)
    tensors: Tensors = ()
    for name, outputs, inputs in (("in_proj", size, channels), ("out_proj", channels, size)):
        tensors += convolution(f"quantizer.{name}", outputs, inputs, (1,), bias=True, copies=books)
    return (
        *tensors,
        Tensor("quantizer.codebook", STATISTICS, (config.integer("codebook_size", most=2**20), size), copies=books),
    )
