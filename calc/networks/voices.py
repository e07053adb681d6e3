"""Families that tell voices apart: pyannote's network for who speaks when, WeSpeaker's ResNet for whose voice it is."""

from calc.architecture.blocks import FeedForward, Mixer, layer
from calc.architecture.config import Config
from calc.architecture.families.encoder import labels_of
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture, Layer, Recurrence
from calc.architecture.tensors import Tensor, Tensors, convolution, linear, norm
from calc.networks.convolutional import MOST_CHANNELS, convolved, normed
from calc.networks.image_encoder import in_order

PYANNET = {"hidden_size": 128, "num_hidden_layers": 4, "linear": [128, 128], "num_labels": 7}
FILTERS, CHANNELS, WINDOW = 80, 60, 5  # of the waveform, and of the two convolutions behind


@family("pyannet", defaults=PYANNET)
def pyannet(config: Config) -> Architecture:
    """pyannote's segmentation (arXiv:2104.04045): SincNet (1808.00158), LSTMs in both directions, an MLP.

    A token is a frame of 270 samples. Each of the filters is made of two numbers; what it multiplies is not counted.
    """
    hidden = config.hidden()
    # The first filters are 10 samples apart, and after each of three steps the largest of three stays.
    front: Tensors = norm("sincnet.waveform_norm", 1, bias=True)
    front += (Tensor("sincnet.filters", "convolution", (FILTERS,)), *norm("sincnet.norm0", FILTERS, bias=True))
    for index, (inputs, places) in enumerate(((FILTERS, 9), (CHANNELS, 3)), 1):
        front += convolution(f"sincnet.conv{index}", CHANNELS, inputs, (WINDOW,), places=places, bias=True)
        front += norm(f"sincnet.norm{index}", CHANNELS, bias=True)
    layers = [convolved(front)]
    inputs = CHANNELS
    for _ in range(config.layers()):
        layers.append(both_ways(inputs, hidden))
        inputs = 2 * hidden
    last: Tensors = ()
    for index, outputs in enumerate((*(config.integers("linear") or ()), labels_of(config))):
        last += linear(f"linear.{index}", "head", outputs, inputs, bias=True)
        inputs = outputs
    return in_order(config.replaced({"hidden_size": 2 * hidden}), layers, last=last)


def both_ways(inputs: int, hidden: int) -> Layer:
    """Return an LSTM of each direction: four gates of what comes in and of what came out before, with two biases."""
    tensors: Tensors = ()
    for name, columns in (("weight_ih", inputs), ("weight_hh", hidden)):
        tensors += linear(f"lstm.{name}", "ssm", 4 * hidden, columns, bias=True, copies=2)
    return layer(Mixer(tensors, recurrence=Recurrence(2 * hidden, 8 * hidden)), FeedForward())


WESPEAKER = {"hidden_size": 256, "base_channels": 32, "depths": [3, 4, 6, 3], "num_mel_bins": 80}
SHORTER = 8  # frames that a place of the last grid stands for


@family("wespeaker_resnet", defaults=WESPEAKER)
def wespeaker(config: Config) -> Architecture:
    """WeSpeaker's ResNet (arXiv:2210.17016): two windows of 3 in each layer, over a spectrogram; means over time.

    A token is eight frames, of which the last grid has one place for each eight bins.
    """
    bins, channels = config.integer("num_mel_bins", most=2**12), config.integer("base_channels", most=MOST_CHANNELS)
    depths = config.integers("depths") or []
    if len(depths) != 4 or not all(depths) or sum(depths) > 1000:
        raise config.error("depths", "must have a number above zero for each of four stages")
    layers, inputs = [convolved(normed("conv1", channels, 1, 3, places=bins * SHORTER))], channels
    for stage, depth in enumerate(depths):
        outputs, there = channels * 2**stage, bins * SHORTER // 4**stage
        for index in range(depth):
            stride = 2 if stage and not index else 1
            tensors = normed("conv1", outputs, inputs, 3, places=there, stride=stride)
            tensors += normed("conv2", outputs, outputs, 3, places=there)
            if stride > 1 or inputs != outputs:
                tensors += normed("shortcut", outputs, inputs, 1, places=there, stride=stride)
            layers.append(convolved(tensors, hidden=inputs, places=there * stride**2))
            inputs = outputs
    last = linear("embedding", "head", config.hidden(), 2 * inputs * (bins // SHORTER), bias=True)
    return in_order(config, layers, last=last)
