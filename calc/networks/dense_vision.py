"""Families that use what ViT sees of its pieces: to paint what was covered, to find joints, to say depth or masks."""

from calc.architecture.blocks import FeedForward, dense
from calc.architecture.config import Config
from calc.architecture.families.encoder import clip, labels_of
from calc.architecture.families.registry import family
from calc.architecture.families.vision import CLIP, VIT, patch_count, transformer
from calc.architecture.layers import Architecture
from calc.architecture.tensors import Tensor, Tensors, batch_norm, convolution, linear, norm
from calc.networks.convolutional import MOST_CHANNELS, convolved, widened
from calc.networks.depth import SIDES, depths, grids_joined
from calc.networks.image_encoder import images, last_norm, layer_of, pieces

PAINTER = {"hidden_size": 512, "num_hidden_layers": 8, "num_attention_heads": 16, "intermediate_size": 2048}
MAE = {**VIT, **{f"decoder_{name}": value for name, value in PAINTER.items()}}


def seen(config: Config, *, classed: bool = True) -> Tensors:
    """Return the tables of ViT: a token of the class, places of it and of pieces, and what makes vectors of pieces."""
    hidden = config.hidden()
    places = Tensor("position_embeddings", "other_embedding", (1, patch_count(config) + 1, hidden))
    token = (Tensor("cls_token", "other_embedding", (1, 1, hidden)),) if classed else ()
    return (*token, places, *pieces(config))


@family("vit_mae", defaults=MAE)
@family("vit_msn", defaults=VIT)
def vit_mae(config: Config) -> Architecture:
    """ViT as MAE and MSN train it by itself (arXiv:2111.06377, 2204.07141); MAE's decoder paints what was covered."""
    hidden, last = config.hidden(), last_norm(config.hidden())
    if "ForPreTraining" in config.classes:
        last += painting(config, hidden)
    if "ForImageClassification" in config.classes:
        last += linear("classifier", "head", labels_of(config), hidden, bias=True)
    return images(config, seen(config), layer_of(config), last=last)


def painting(config: Config, hidden: int) -> Tensors:
    """Return MAE's decoder, counted as its head: it stands only where MAE is trained."""
    small = Config({name: config.values[f"decoder_{name}"] for name in PAINTER}, config.field)
    inner, patch = small.hidden(), config.integer("patch_size", most=2**16)
    tensors: Tensors = (Tensor("decoder.mask_token", "head", (1, 1, inner)),)
    tensors += (Tensor("decoder.positions", "head", (1, patch_count(config) + 1, inner)),)
    tensors += linear("decoder.embed", "head", inner, hidden, bias=True)
    layers = transformer(small, depth=small.layers(), name="decoder.layers")
    tensors += tuple(tensor._replace(block="head") for tensor in layers)
    tensors += norm("decoder.norm", inner, bias=True, block="head")
    pixels = patch**2 * config.integer("num_channels", default=3, most=2**16)
    return tensors + linear("decoder.pred", "head", pixels, inner, bias=True)


VITPOSE = {**VIT, "image_size": [256, 192], "patch_size": [16, 16], "mlp_ratio": 4}
FINER = 2  # times on each side that ViTPose's two convolutions each make a grid finer


@family("vitpose", defaults={"backbone_config": {}, "use_simple_decoder": True})
def vitpose(config: Config) -> Architecture:
    """ViTPose (arXiv:2204.12484): ViT without a class, and a heat map of each joint by a convolution or three."""
    vision = config.nested("backbone_config").completed(VITPOSE)
    sides, patch = vision.integers("image_size") or [], vision.integers("patch_size") or []
    if len(sides) != 2 or len(patch) != 2 or not 0 < patch[0] == patch[1] <= min(sides) <= 2**16:
        raise vision.error("image_size", "must be a height and a width, and patch_size two sides that are alike")
    hidden = vision.hidden()
    places = (sides[0] // patch[0]) * (sides[1] // patch[1])
    table: Tensors = (Tensor("position_embeddings", "other_embedding", (1, places + 1, hidden)),)
    table += pieces(vision.replaced({"patch_size": patch[0], "image_size": min(sides)}))
    width = max(int(hidden * vision.number("mlp_ratio", default=4)), 1)
    feed = dense(hidden, width, gated=False, bias=True, activation="gelu")
    if (experts := vision.integer("num_experts", default=1, most=2**10)) > 1:
        feed = parted(vision, feed, hidden=hidden, width=width, experts=experts)
    found = images(
        vision.replaced({"model_type": "vitpose"}), table, layer_of(vision, feed=feed), last=last_norm(hidden)
    )
    kinds = (*found.kinds, convolved(joints(config, hidden)))
    return found._replace(kinds=kinds, pattern=(*found.pattern, 1), context_tokens=places)


def parted(vision: Config, feed: FeedForward, *, hidden: int, width: int, experts: int) -> FeedForward:
    """Return an MLP whose last columns are each data set's own, one of which is met at a time."""
    own = vision.integer("part_features", most=2**20)
    if own >= hidden:
        raise vision.error("part_features", f"must be less than the hidden size {hidden}")
    up = tuple(tensor for tensor in feed.tensors if "down_proj" not in tensor.name)
    down = linear("mlp.down_proj", "mlp", hidden - own, width, bias=True)
    each = linear("mlp.experts", "expert", own, width, bias=True, copies=experts, active=1)
    return feed._replace(tensors=up + down + each)


def joints(config: Config, hidden: int) -> Tensors:
    """Return what makes a map of each joint: a window of 3, or two that make the grid finer, and a matrix."""
    labels = labels_of(config)
    if config.flag("use_simple_decoder", default=True):
        return convolution("head.conv", labels, hidden, 3, places=16, bias=True)
    inner, inputs = 256, hidden  # as its class has it
    tensors: Tensors = ()
    for index in range(2):
        places = FINER ** (2 * index)
        tensors += widened(f"head.deconv{index}", inner, inputs, 16, places=places, bias=False)
        tensors += batch_norm(f"head.batchnorm{index}", inner, places=places * FINER**2)
        inputs = inner
    return tensors + convolution("head.conv", labels, inner, 1, places=16, bias=True)


DPT = {
    **VIT,
    "image_size": 384,
    "neck_hidden_sizes": [96, 192, 384, 768],
    "reassemble_factors": [4, 2, 1, 0.5],
    "fusion_hidden_size": 256,
    "readout_type": "project",
}


@family("dpt", defaults=DPT)
def dpt(config: Config) -> Architecture:
    """DPT (arXiv:2103.13413): four layers of ViT on four grids, each piece beside the class, joined to depths."""
    config.refuse("is_hybrid", (False,), "the one with a network of convolutions in front is not")
    config.refuse("readout_type", ("project",), "all published ones project what the class says")
    config.refuse("reassemble_factors", ([4, 2, 1, 0.5],), "all published ones have these grids")
    if config.has("backbone_config") or "DepthEstimation" not in config.classes:
        raise config.error("architectures", "is not modelled: of DPT what says depth by ViT is")
    hidden, inner = config.hidden(), config.integer("fusion_hidden_size", most=MOST_CHANNELS)
    widths = config.integers("neck_hidden_sizes") or []
    if len(widths) != len(SIDES) or not all(0 < width <= MOST_CHANNELS for width in widths):
        raise config.error("neck_hidden_sizes", "must have a number above zero for each of four grids")
    tensors = grids_joined(widths, hidden, inner)
    for index in range(len(SIDES)):
        tensors += linear(f"neck.readout.{index}", "mlp", hidden, 2 * hidden, bias=True)
    tensors += depths(config, inner, 32)
    found = images(config, seen(config), layer_of(config), last=last_norm(hidden))
    kinds = (*found.kinds, convolved(tensors))
    return found._replace(kinds=kinds, pattern=(*found.pattern, 1), context_tokens=patch_count(config) + 1)


CLIPSEG = {
    "text_config": {},
    "vision_config": {},
    "projection_dim": 512,
    "reduce_dim": 64,
    "extract_layers": [3, 6, 9],
    "decoder_intermediate_size": 2048,
}


@family("clipseg", defaults=CLIPSEG)
def clipseg(config: Config) -> Architecture:
    """CLIPSeg (arXiv:2112.10003): CLIP, and three small layers that make a mask of what it sees, as words weigh it."""
    vision = config.nested("vision_config").completed(CLIP)
    inner, patch = config.integer("reduce_dim", most=MOST_CHANNELS), vision.integer("patch_size", most=2**16)
    whole, joint = clip(config), config.integer("projection_dim")
    if "ForImageSegmentation" not in config.classes:
        return whole
    last: Tensors = ()
    for name in ("film_mul", "film_add"):
        last += linear(f"decoder.{name}", "head", inner, joint, bias=True)
    count = len(config.integers("extract_layers") or ())
    small = {"hidden_size": inner, "num_attention_heads": config.integer("decoder_num_attention_heads", default=4)}
    width = config.integer("decoder_intermediate_size")
    layers = transformer(
        Config({**small, "intermediate_size": width}, config.field), depth=count, name="decoder.layers"
    )
    for index in range(count):
        last += linear(f"decoder.reduces.{index}", "head", inner, vision.hidden(), bias=True)
    last += tuple(tensor._replace(block="head") for tensor in layers)
    if config.flag("use_complex_transposed_convolution", default=False):
        last += convolution("decoder.up0", inner, inner, 3, places=0, bias=True, block="head")
        half, side = inner // 2, patch // 4
        last += (
            Tensor("decoder.up1.weight", "head", (inner, half, side, side)),
            Tensor("decoder.up1.bias", "head", (half,)),
        )
        last += (Tensor("decoder.up2.weight", "head", (half, 1, 4, 4)), Tensor("decoder.up2.bias", "head", (1,)))
    else:
        last += (Tensor("decoder.up.weight", "head", (inner, 1, patch, patch)), Tensor("decoder.up.bias", "head", (1,)))
    return whole._replace(head=whole.head + last)


POINTS = {
    "encoder_hidden_sizes": [64, 64, 128, 128],
    "decoder_hidden_size": 256,
    "keypoint_decoder_dim": 65,
    "descriptor_decoder_dim": 256,
}
CELL = 8  # pixels of a side that a place of the last grid stands for


@family("superpoint", defaults=POINTS)
def superpoint(config: Config) -> Architecture:
    """SuperPoint (arXiv:1712.07629): windows of 3 on four grids, and a score and a descriptor of each cell."""
    widths = config.integers("encoder_hidden_sizes") or []
    if not 0 < len(widths) <= 8 or not all(0 < width <= MOST_CHANNELS for width in widths):
        raise config.error("encoder_hidden_sizes", "must be the channels of up to eight stages")
    inputs = 1
    tensors: Tensors = ()
    for stage, width in enumerate(widths):
        there = max(1, CELL >> stage) ** 2
        for part, before in (("a", inputs), ("b", width)):
            tensors += convolution(f"encoder.{stage}.conv_{part}", width, before, 3, places=there, bias=True)
        inputs = width
    inner = config.integer("decoder_hidden_size", most=MOST_CHANNELS)
    for name in ("keypoint", "descriptor"):
        outputs = config.integer(f"{name}_decoder_dim", most=MOST_CHANNELS)
        tensors += convolution(f"{name}.conv_a", inner, inputs, 3, bias=True)
        tensors += convolution(f"{name}.conv_b", outputs, inner, 1, bias=True)
    whole = config.replaced({"hidden_size": inputs})
    return images(whole, (), convolved(tensors), pattern=(0,), last=())
