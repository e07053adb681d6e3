"""Families whose attention looks at windows or at fewer keys, over grids that grow coarser: Swin, SegFormer."""

from collections.abc import Sequence

from calc.architecture.blocks import dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import GPT_STYLE
from calc.architecture.families.encoder import labels_of, reader
from calc.architecture.families.registry import family
from calc.architecture.layers import LAYER_NORM, ON_OUTPUT, Architecture, Attention, Layer, Style
from calc.architecture.tensors import Tensor, Tensors, batch_norm, convolution, linear, norm
from calc.networks.convolutional import (
    LAST,
    MOST_CHANNELS,
    convolved,
    finer,
    grids,
    places_at,
)

SWIN = {
    "embed_dim": 96,
    "depths": [2, 2, 6, 2],
    "num_heads": [3, 6, 12, 24],
    "window_size": 7,
    "mlp_ratio": 4.0,
    "patch_size": 4,
}
DISTANCES = 512  # units of what gives SwinV2 a bias for a distance


def each_stage(config: Config, names: tuple[str, ...]) -> list[tuple[int, ...]]:
    """Return what lists of four say of each stage."""
    found = [config.integers(name) or [] for name in names]
    for name, listed in zip(names, found, strict=True):
        if len(listed) != 4 or not all(0 < value <= MOST_CHANNELS for value in listed):
            raise config.error(name, "must have a number above zero for each of four stages")
    if sum(config.integers("depths") or ()) > 1000:
        raise config.error("depths", "must be no more than 1,000 layers together")
    return list(zip(*found, strict=True))


@family("swin", "donut-swin", defaults=SWIN)
@family("swinv2", defaults={**SWIN, "window_size": 8, "image_size": 256})
def swin(config: Config) -> Architecture:
    """Swin (arXiv:2103.14030) and its second version (2111.09883): windows of patches, four of which are merged."""
    config.refuse("patch_size", (4,), "all published ones begin with pieces of 4 × 4 pixels")
    config.refuse("use_absolute_embeddings", (False,), "no published one has a table of positions")
    second, hidden = config.text("model_type", "") == "swinv2", config.integer("embed_dim", most=MOST_CHANNELS)
    colours = config.integer("num_channels", default=3, most=MOST_CHANNELS)
    front = convolution("patches", hidden, colours, 4, places=places_at(4), stride=4, bias=True)
    front += norm("patches.norm", hidden, bias=True)
    if "ForMaskedImageModeling" in config.classes:
        front += (Tensor("mask_token", "layer_other", (1, 1, hidden)),)
    layers = [convolved(front)]
    for stage, (depth, heads) in enumerate(each_stage(config, ("depths", "num_heads"))):
        there = places_at(4 * 2**stage)
        if stage:
            merged = finer(linear("merge", "mlp", hidden, 2 * hidden), there)
            layers.append(convolved(merged + norm("merge.norm", hidden if second else 2 * hidden, bias=True)))
        layers += [windowed_layer(config, hidden, heads, there, second=second)] * depth
        hidden *= 2
    hidden //= 2
    if config.text("model_type", "") == "donut-swin":  # a decoder reads what the last layer has
        return grids(config, layers, hidden)
    last = norm("layernorm", hidden, bias=True, block="final_norm")
    if "ForMaskedImageModeling" in config.classes:
        pixels = config.integer("encoder_stride", default=LAST, most=2**10) ** 2 * colours
        last += convolution("decoder", pixels, hidden, 1, bias=True, block="head")
    return grids(config, layers, hidden, last)


def windowed_layer(config: Config, hidden: int, heads: int, places: int, *, second: bool) -> Layer:
    """Return a layer of Swin at so many places for each token of the last grid.

    The first version has a bias for each distance in a window, the second an MLP that gives one, and heads have scales.
    """
    if hidden % heads:
        raise config.error("num_heads", f"must divide the {hidden} channels of their stage, as {heads} do not")
    window = config.integer("window_size", most=2**10)
    seen = Attention(heads, heads, hidden // heads, window**2, causal=False, rotary=False)
    mixer = softmax_attention(hidden, seen, bias=config.flag("qkv_bias", default=True), out_bias=True)
    tensors = mixer.tensors
    if second:
        tensors = tuple(tensor for tensor in tensors if tensor.name != "self_attn.k_proj.bias")
        tensors += (Tensor("self_attn.logit_scale", "attention", (heads, 1, 1)),)
        own = linear("self_attn.distances.0", "attention", DISTANCES, 2, bias=True)
        own += linear("self_attn.distances.2", "attention", heads, DISTANCES)
    else:
        own = (Tensor("self_attn.relative_position_bias", "attention", ((2 * window - 1) ** 2, heads)),)
    width = max(1, int(config.number("mlp_ratio", default=4) * hidden))
    feed = dense(hidden, width, gated=False, bias=True, activation=config.text("hidden_act", "gelu"))
    block = layer(
        reader(mixer._replace(tensors=finer(tensors, places) + finer(own, 0))),
        feed._replace(tensors=finer(feed.tensors, places)),
        *norms(hidden, "layernorm_before", "layernorm_after", bias=True),
        style=Style(LAYER_NORM, ON_OUTPUT) if second else GPT_STYLE,
    )
    return block._replace(hidden=hidden, places=places)


SEGFORMER = {
    "hidden_sizes": [32, 64, 160, 256],
    "depths": [2, 2, 2, 2],
    "num_attention_heads": [1, 2, 5, 8],
    "sr_ratios": [8, 4, 2, 1],
    "patch_sizes": [7, 3, 3, 3],
    "strides": [4, 2, 2, 2],
    "mlp_ratios": [4, 4, 4, 4],
    "decoder_hidden_size": 256,
    "image_size": 512,
}


@family("segformer", defaults=SEGFORMER)
def segformer(config: Config) -> Architecture:
    """SegFormer (arXiv:2105.15203): keys of several places together, MLPs that see neighbours, masks of all grids."""
    config.refuse("strides", ([4, 2, 2, 2],), "all published ones halve their grid three times")
    side = config.integer("image_size", most=MOST_CHANNELS)
    inputs = config.integer("num_channels", default=3, most=MOST_CHANNELS)
    layers: list[Layer] = []
    last: Tensors = ()
    said = each_stage(
        config, ("hidden_sizes", "depths", "num_attention_heads", "sr_ratios", "patch_sizes", "mlp_ratios")
    )
    for stage, (hidden, depth, heads, shorter, kernel, wider) in enumerate(said):
        if hidden % heads:
            raise config.error("num_attention_heads", f"must divide the {hidden} channels of their stage")
        there, stride = places_at(4 * 2**stage), 2 if stage else 4
        front = convolution("patches", hidden, inputs, kernel, places=there, stride=stride, bias=True)
        layers.append(convolved(front + norm("patches.norm", hidden, bias=True)))
        keys = (side // (4 * 2**stage * shorter)) ** 2
        seen = Attention(heads, heads, hidden // heads, max(1, keys), causal=False, rotary=False)
        mixer = softmax_attention(hidden, seen, bias=True)
        tensors = shortened(mixer.tensors, hidden, there, shorter)
        width = wider * hidden
        feed = dense(hidden, width, gated=False, bias=True, activation=config.text("hidden_act", "gelu"))
        neighbours = convolution("mlp.dwconv", width, width, 3, places=there, groups=width, bias=True)
        block = layer(
            reader(mixer._replace(tensors=tensors)),
            feed._replace(tensors=finer(feed.tensors, there) + neighbours),
            *norms(hidden, "layer_norm_1", "layer_norm_2", bias=True),
            style=GPT_STYLE,
        )
        layers += [block._replace(hidden=hidden, places=there)] * depth
        last += norm(f"layer_norm.{stage}", hidden, bias=True, block="final_norm")
        inputs = hidden
    if "SemanticSegmentation" in config.classes:
        layers.append(masks(config, [stage[0] for stage in said]))
    return grids(config, layers, inputs, last)


def shortened(tensors: Tensors, hidden: int, places: int, shorter: int) -> Tensors:
    """Return attention's tensors where keys and values are made of `shorter` × `shorter` places each."""
    if shorter == 1:
        return finer(tensors, places)
    fewer = max(1, places // shorter**2)
    kept: Tensors = ()
    for tensor in tensors:
        ours = ".k_proj" in tensor.name or ".v_proj" in tensor.name
        kept += finer((tensor,), fewer if ours else places)
    kept += convolution("self_attn.sr", hidden, hidden, shorter, places=fewer, stride=shorter, bias=True)
    return kept + norm("self_attn.sr.norm", hidden, bias=True)


def masks(config: Config, widths: Sequence[int]) -> Layer:
    """Return what makes masks of all grids at the finest of them."""
    inner, finest = config.integer("decoder_hidden_size", most=MOST_CHANNELS), places_at(4)
    tensors: Tensors = ()
    for stage, width in enumerate(widths):
        tensors += finer(linear(f"decode.linear_{stage}", "mlp", inner, width, bias=True), places_at(4 * 2**stage))
    tensors += convolution("decode.fuse", inner, inner * len(widths), 1, places=finest)
    tensors += batch_norm("decode.norm", inner, places=finest)
    return convolved(tensors + convolution("decode.classes", labels_of(config), inner, 1, places=finest, bias=True))
