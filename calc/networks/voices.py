"""Families that tell voices apart: pyannote's network for who speaks when; WeSpeaker's ResNet and ECAPA for whose."""

from calc.architecture.blocks import FeedForward, Mixer, layer
from calc.architecture.config import Config
from calc.architecture.families.encoder import labels_of
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture, Layer, Recurrence
from calc.architecture.tensors import Tensor, Tensors, batch_norm, convolution, linear, norm
from calc.networks.convolutional import MOST_CHANNELS, convolved, normed, squeezed
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


VOICES, FRAMES = 3, {"segmentation": 589, "voice": 125}  # told apart in a window of 10 s; tokens of each network


@family("pyannote_diarization", defaults=PYANNET)
def diarization(config: Config) -> Architecture:
    """pyannote's pipeline: its segmentation of a window, and WeSpeaker's vector of each voice in it.

    A token is a frame of the segmentation, for which the other network passes fewer of its own, once for each voice.
    """
    told, heard = pyannet(config), wespeaker(Config({**WESPEAKER, "model_type": "wespeaker_resnet"}))
    share = VOICES * FRAMES["voice"] / FRAMES["segmentation"]
    kinds = (
        kind._replace(tensors=tuple(tensor._replace(places=tensor.places * share) for tensor in kind.tensors))
        for kind in heard.kinds
    )
    pattern = (*told.pattern, *(len(told.kinds) + index for index in heard.pattern))
    return told._replace(kinds=(*told.kinds, *kinds), pattern=pattern, head=(*told.head, *heard.head))


ECAPA = {
    "channels": [1024, 1024, 1024, 1024, 3072],
    "kernel_sizes": [5, 3, 3, 3, 1],
    "attention_channels": 128,
    "res2net_scale": 8,
    "se_channels": 128,
    "lin_neurons": 192,
    "input_size": 80,
}
CLASSIFIER = 512  # units of the layer before classes


@family("ecapa_tdnn", defaults=ECAPA)
def ecapa(config: Config) -> Architecture:
    """ECAPA-TDNN (arXiv:2005.07143): windows over frames in groups that build on each other, and weighed means of them.

    A token is a frame.
    """
    widths, kernels = config.integers("channels") or [], config.integers("kernel_sizes") or []
    if len(widths) != 5 or len(kernels) != 5 or not all(0 < size <= MOST_CHANNELS for size in (*widths, *kernels)):
        raise config.error("channels", "and kernel_sizes must be five numbers above zero")
    first, *middle, last = widths
    if set(middle) != {first}:
        raise config.error("channels", "must be alike but for the last, as of all published ones")
    scale, narrow = config.integer("res2net_scale", least=2, most=2**10), config.integer("se_channels", most=2**16)
    if first % scale:
        raise config.error("res2net_scale", f"must divide the {first} channels")
    layers = [convolved(heard("blocks.0", first, config.integer("input_size", most=2**16), kernels[0]))]
    for kernel in kernels[1:4]:
        part = first // scale
        tensors = heard("tdnn1", first, first, 1) + heard("tdnn2", first, first, 1)
        tensors += heard("res2net", part, part, kernel, copies=scale - 1) + squeezed("se", first, narrow)
        layers.append(convolved(tensors, hidden=first))
    own, between = config.integer("lin_neurons", most=2**16), config.integer("attention_channels", most=2**16)
    layers.append(convolved(heard("mfa", last, 3 * first, kernels[4]) + heard("asp", between, 3 * last, 1)))
    layers.append(convolved(convolution("asp.conv", last, between, (1,), bias=True)))
    head = batch_norm("asp_bn", 2 * last) + linear("fc", "head", own, 2 * last, bias=True)
    if config.has("num_labels"):  # SpeechBrain's classes of languages, behind a layer of their own
        head += batch_norm("classifier.norm", own) + linear("classifier.linear", "head", CLASSIFIER, own, bias=True)
        head += batch_norm("classifier.linear.norm", CLASSIFIER)
        head += linear("classifier.out", "head", labels_of(config), CLASSIFIER, bias=True)
    return in_order(config.replaced({"hidden_size": last}), layers, last=head)


def heard(name: str, outputs: int, inputs: int, kernel: int, *, copies: int = 1) -> Tensors:
    """Return a window over frames and the batch norm behind it."""
    tensors = convolution(name, outputs, inputs, (kernel,), bias=True, copies=copies)
    return tensors + batch_norm(f"{name}.norm", outputs, copies=copies)
