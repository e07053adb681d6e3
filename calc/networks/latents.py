"""The family between images and what diffusion works on: the autoencoder of Stable Diffusion and its kin."""

from calc.architecture.blocks import FeedForward, layer, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import GPT_STYLE
from calc.architecture.families.encoder import reader
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture, Attention, Layer
from calc.architecture.tensors import Tensors, convolution, norm
from calc.networks.convolutional import MOST_CHANNELS, convolved
from calc.networks.image_encoder import in_order

AUTOENCODER = {
    "block_out_channels": [128, 256, 512, 512],
    "layers_per_block": 2,
    "latent_channels": 4,
    "in_channels": 3,
    "out_channels": 3,
    "use_quant_conv": True,
}


@family("autoencoder_kl", defaults=AUTOENCODER)
def autoencoder(config: Config) -> Architecture:
    """AutoencoderKL (arXiv:2112.10752): windows of 3 on grids that grow coarser, and back; a token is a latent's place.

    One head of attention stands on the coarsest grid of either way.
    """
    widths, latent = config.integers("block_out_channels") or [], config.integer("latent_channels", most=MOST_CHANNELS)
    if not 0 < len(widths) <= 8 or not all(0 < width <= MOST_CHANNELS for width in widths):
        raise config.error("block_out_channels", "must be the channels of up to eight stages")
    repeats, coarsest = config.integer("layers_per_block", most=1000), len(widths) - 1
    colours = [config.integer(f"{way}_channels", most=MOST_CHANNELS) for way in ("in", "out")]
    places, inputs = 4**coarsest, widths[0]
    layers = [convolved(convolution("encoder.conv_in", inputs, colours[0], 3, places=places, bias=True))]
    for stage, width in enumerate(widths):
        for _ in range(repeats):
            layers.append(residual(width, inputs, places))
            inputs = width
        if stage < coarsest:
            places //= 4
            down = convolution("encoder.down", width, width, 3, places=places, stride=2, bias=True)
            layers.append(convolved(down))
    widest, quantised = widths[-1], config.flag("use_quant_conv", default=True)
    layers += [residual(widest, widest, 1), attending(widest), residual(widest, widest, 1)]
    last = norm("encoder.norm", widest, bias=True)
    layers.append(convolved(last + convolution("encoder.conv_out", 2 * latent, widest, 3, bias=True)))
    for name, size in (("quant_conv", 2 * latent), ("post_quant_conv", latent)) if quantised else ():
        layers.append(convolved(convolution(name, size, size, 1, bias=True)))
    layers.append(convolved(convolution("decoder.conv_in", widest, latent, 3, bias=True)))
    layers += [residual(widest, widest, 1), attending(widest), residual(widest, widest, 1)]
    inputs = widest
    for stage, width in enumerate(reversed(widths)):
        for _ in range(repeats + 1):
            layers.append(residual(width, inputs, places))
            inputs = width
        if stage < coarsest:
            places *= 4
            layers.append(convolved(convolution("decoder.up", width, width, 3, places=places, bias=True)))
    out = convolution("decoder.conv_out", colours[1], inputs, 3, places=places, bias=True)
    layers.append(convolved(norm("decoder.norm", inputs, bias=True) + out))
    return in_order(config.replaced({"hidden_size": widest, "model_type": "autoencoder_kl"}), layers, last=())


def residual(width: int, inputs: int, places: int) -> Layer:
    """Return two windows of 3, each behind a norm, beside what is added: as it is, or through a matrix."""
    tensors: Tensors = ()
    for name, before in (("1", inputs), ("2", width)):
        tensors += norm(f"norm{name}", before, bias=True)
        tensors += convolution(f"conv{name}", width, before, 3, places=places, bias=True)
    if inputs != width:
        tensors += convolution("conv_shortcut", width, inputs, 1, places=places, bias=True)
    return convolved(tensors, hidden=inputs, places=places)


def attending(width: int) -> Layer:
    """Return the attention of all places of the coarsest grid to all, with one head."""
    seen = Attention(1, 1, width, causal=False, rotary=False)
    mixer = reader(softmax_attention(width, seen, bias=True))
    return layer(mixer, FeedForward(), *norm("group_norm", width, bias=True), style=GPT_STYLE)._replace(hidden=width)
