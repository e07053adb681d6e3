"""Families of convolutions over grids that grow coarser: ResNet and its kin, RegNet, ConvNeXt.

A token of theirs is a place of the last grid, of which an image of 224 × 224 has 7 × 7; before, it is several places.
"""

import math
from collections.abc import Sequence

from calc.architecture.blocks import FeedForward, Mixer, layer
from calc.architecture.config import Config
from calc.architecture.families.encoder import labels_of
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture, Layer
from calc.architecture.tensors import CONVOLUTION, Tensor, Tensors, batch_norm, convolution, linear, norm
from calc.networks.image_encoder import in_order

LAST = 32  # pixels of a side that a place of the last grid stands for
MOST_CHANNELS = 2**16


def places_at(pixels: int) -> int:
    """Return how many places that stand for so many pixels of a side make up one of the last grid.

    >>> places_at(4), places_at(32)
    (64, 1)
    """
    return (LAST // pixels) ** 2


def normed(
    name: str, outputs: int, inputs: int, kernel: int, *, places: int, stride: int = 1, groups: int = 1
) -> Tensors:
    """Return a convolution and the batch norm behind it."""
    tensors = convolution(name, outputs, inputs, kernel, places=places, stride=stride, groups=groups)
    return tensors + batch_norm(f"{name}.norm", outputs, places=places)


def widened(name: str, outputs: int, inputs: int, kernel: int, *, places: float = 1, bias: bool = True) -> Tensors:
    """Return a transposed convolution: of each place that it reads it makes a window of `kernel` places."""
    weight = Tensor(f"{name}.weight", CONVOLUTION, (outputs * kernel, inputs), places=places, reads=inputs)
    return (weight, Tensor(f"{name}.bias", CONVOLUTION, (outputs,))) if bias else (weight,)


def squeezed(name: str, channels: int, narrow: int) -> Tensors:
    """Return what weighs channels by their means over the image: a matrix down and one up (arXiv:1709.01507)."""
    tensors = convolution(f"{name}.reduce", narrow, channels, 1, places=0, bias=True)
    return tensors + convolution(f"{name}.expand", channels, narrow, 1, places=0, bias=True)


def convolved(tensors: Tensors, *, hidden: int = 0, places: int = 1) -> Layer:
    """Return a layer of convolutions alone; of one that adds to its input, the channels and places of that."""
    return layer(Mixer(tensors), FeedForward())._replace(hidden=hidden, places=places)


def grids(config: Config, layers: Sequence[Layer], channels: int, last: Tensors = ()) -> Architecture:
    """Put a network of convolutions together, with classes behind the means of the `channels` that it ends in."""
    side = config.integer("image_size", default=224, most=MOST_CHANNELS)
    if classifies(config):
        last += linear("classifier", "head", labels_of(config), channels, bias=True)
    found = in_order(config.replaced({"hidden_size": channels}), layers, last=last)
    return found._replace(context_tokens=(-(-side // LAST)) ** 2)


def classifies(config: Config) -> bool:
    """Return whether a network has classes: what it was made for, or one of a config that names no class."""
    return "Classification" in config.classes or not config.has("architectures")


def stages_of(config: Config) -> list[tuple[int, int]]:
    """Return the channels of each stage and how many layers it has."""
    widths, depths = config.integers("hidden_sizes") or [], config.integers("depths") or []
    if len(widths) != 4 or len(depths) != 4 or not all((*widths, *depths)) or max(widths) > MOST_CHANNELS:
        raise config.error("hidden_sizes", "must be the channels of four stages, and depths the layers of each")
    if sum(depths) > 1000:
        raise config.error("depths", "must be no more than 1,000 layers together")
    return list(zip(widths, depths, strict=True))


RESNET = {
    "embedding_size": 64,
    "hidden_sizes": [256, 512, 1024, 2048],
    "depths": [3, 4, 6, 3],
    "layer_type": "bottleneck",
}


@family("resnet", defaults=RESNET)
def resnet(config: Config) -> Architecture:
    """ResNet (arXiv:1512.03385); ResNeXt and wide ones (1611.05431, 1605.07146), with squeezing and other stems.

    timm's are told by `stem_widths` of a stem of three, `groups` and `base_width` of each, and `squeeze`.
    """
    config.refuse("downsample_in_first_stage", (False,), "no published one halves its first stage")
    inputs = config.integer("embedding_size", most=MOST_CHANNELS)
    layers = [convolved(stem_of(config, inputs))]
    for stage, (outputs, depth) in enumerate(stages_of(config)):
        for index in range(depth):
            stride, there = 2 if stage and not index else 1, places_at(4 * 2**stage)
            tensors = within(config, inputs, outputs, there, stride=stride) + weighed(config, outputs)
            if inputs != outputs or stride > 1:
                tensors += normed("shortcut", outputs, inputs, 1, places=there, stride=stride)
            layers.append(convolved(tensors, hidden=inputs, places=there * stride**2))
            inputs = outputs
    return grids(config, layers, inputs)


def stem_of(config: Config, outputs: int) -> Tensors:
    """Return ResNet's stem: one window of 7, or three of 3."""
    inputs, places = config.integer("num_channels", default=3, most=MOST_CHANNELS), places_at(2)
    if not config.has("stem_widths"):
        return normed("stem", outputs, inputs, 7, places=places, stride=2)
    tensors: Tensors = ()
    for index, width in enumerate((*(config.integers("stem_widths") or ()), outputs)):
        tensors += normed(f"stem.{index}", width, inputs, 3, places=places, stride=1 if index else 2)
        inputs = width
    return tensors


def within(config: Config, inputs: int, outputs: int, there: int, *, stride: int) -> Tensors:
    """Return the convolutions of ResNet's layer: two with windows of 3, or one between a matrix down and one up.

    The first matrix goes to the coarser grid in ResNet as of 2015, the window in all that came later.
    """
    if config.text("layer_type", "") != "bottleneck":
        tensors = normed("conv1", outputs, inputs, 3, places=there, stride=stride)
        return tensors + normed("conv2", outputs, outputs, 3, places=there)
    groups, base = config.integer("groups", default=1, most=2**10), config.integer("base_width", default=64, most=2**10)
    width = outputs // 4 * base // 64 * groups
    first, second = (stride, 1) if config.flag("downsample_in_bottleneck", default=False) else (1, stride)
    tensors = normed("conv1", width, inputs, 1, places=there * second**2, stride=first)
    tensors += normed("conv2", width, width, 3, places=there, stride=second, groups=groups)
    return tensors + normed("conv3", outputs, width, 1, places=there)


def weighed(config: Config, channels: int) -> Tensors:
    """Return what weighs a layer's channels: a sixteenth as many between, in eights, or a window over neighbours."""
    kind = config.text("squeeze", "")
    if kind == "se":
        return squeezed("squeeze", channels, rounded(channels / 16, least=0))
    if kind == "eca":  # arXiv:1910.03151: as many neighbours as half the logarithm says, an odd number
        reach = int((math.log2(channels) + 1) / 2)
        return (Tensor("squeeze.weight", CONVOLUTION, (1, 1, reach if reach % 2 else reach + 1), places=0),)
    return ()


def rounded(value: float, *, least: float = 0.9, divisor: int = 8) -> int:
    """Return channels in whole eights, the nearest that is not less than `least` of what was asked (MobileNet's rule).

    >>> rounded(17.6), rounded(3), rounded(11, least=0), rounded(11)
    (16, 8, 8, 16)
    """
    found = max(divisor, int(value + divisor / 2) // divisor * divisor)
    return found + divisor if found < least * value else found


REGNET = {"embedding_size": 32, "hidden_sizes": [128, 192, 512, 1088], "depths": [2, 6, 12, 2], "groups_width": 64}


@family("regnet", defaults={**REGNET, "layer_type": "y"})
def regnet(config: Config) -> Architecture:
    """RegNet (arXiv:2003.13678): groups of one width; Y squeezes to a quarter of what a layer reads."""
    inputs, group = config.integer("embedding_size", most=MOST_CHANNELS), config.integer("groups_width", most=2**12)
    colours = config.integer("num_channels", default=3, most=MOST_CHANNELS)
    layers = [convolved(normed("stem", inputs, colours, 3, places=places_at(2), stride=2))]
    for stage, (outputs, depth) in enumerate(stages_of(config)):
        groups = max(1, outputs // group)
        for index in range(depth):
            stride, there = (1 if index else 2), places_at(4 * 2**stage)
            tensors = normed("conv1", outputs, inputs, 1, places=there * stride**2)
            tensors += normed("conv2", outputs, outputs, 3, places=there, stride=stride, groups=groups)
            if config.text("layer_type", "y") == "y":
                tensors += squeezed("squeeze", outputs, max(1, round(inputs / 4)))
            tensors += normed("conv3", outputs, outputs, 1, places=there)
            if inputs != outputs or stride > 1:
                tensors += normed("shortcut", outputs, inputs, 1, places=there, stride=stride)
            layers.append(convolved(tensors, hidden=inputs, places=there * stride**2))
            inputs = outputs
    return grids(config, layers, inputs)


CONVNEXT = {"hidden_sizes": [96, 192, 384, 768], "depths": [3, 3, 9, 3], "patch_size": 4}


@family("convnext", "convnextv2", defaults=CONVNEXT)
def convnext(config: Config) -> Architecture:
    """ConvNeXt (arXiv:2201.03545): windows of a channel each in place of attention; V2 norms answers (2301.00808)."""
    config.refuse("patch_size", (4,), "all published ones begin with pieces of 4 × 4 pixels")
    second = config.text("model_type", "") == "convnextv2"
    scaled = not second and config.number("layer_scale_init_value", default=1e-6) > 0
    inputs, layers = config.integer("num_channels", default=3, most=MOST_CHANNELS), []
    for stage, (outputs, depth) in enumerate(stages_of(config)):
        there, side = places_at(4 * 2**stage), 2 if stage else 4
        front = convolution("downsample", outputs, inputs, side, places=there, stride=side, bias=True)
        front += norm("downsample.norm", inputs if stage else outputs, bias=True)
        layers.append(convolved(front))
        tensors = convolution("dwconv", outputs, outputs, 7, places=there, groups=outputs, bias=True)
        tensors += norm("norm", outputs, bias=True)
        feed: Tensors = ()
        for name, rows, columns in (("pwconv1", 4 * outputs, outputs), ("pwconv2", outputs, 4 * outputs)):
            feed += finer(linear(f"mlp.{name}", "mlp", rows, columns, bias=True), there)
        if second:
            feed += norm("mlp.grn", 4 * outputs, bias=True)
        extra = (Tensor("layer_scale", "layer_other", (outputs,)),) if scaled else ()
        block = layer(
            Mixer(tensors + extra), FeedForward(feed, 4 * outputs, activation=config.text("hidden_act", "gelu"))
        )
        layers += [block._replace(hidden=outputs, places=there)] * depth
        inputs = outputs
    return grids(config, layers, inputs, norm("layernorm", inputs, bias=True, block="final_norm"))


def finer(tensors: Tensors, places: int) -> Tensors:
    """Return matrices as all places of a finer grid meet them."""
    return tuple(tensor._replace(places=places) for tensor in tensors)
