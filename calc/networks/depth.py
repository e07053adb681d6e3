"""Families that say how far away what an image shows is: Depth Anything, convolutions over what DINOv2 sees."""

from calc.architecture.config import Config
from calc.architecture.families.registry import FAMILIES, family
from calc.architecture.layers import Architecture
from calc.architecture.tensors import Tensors, convolution
from calc.networks.convolutional import MOST_CHANNELS, convolved, widened
from calc.networks.image_encoder import vit

DEPTH_ANYTHING = {
    "patch_size": 14,
    "reassemble_hidden_size": 384,
    "reassemble_factors": [4, 2, 1, 0.5],
    "neck_hidden_sizes": [48, 96, 192, 384],
    "fusion_hidden_size": 64,
    "head_hidden_size": 32,
}
SIDES = (4, 2, 1, 0.5)  # of the four grids, for each side of a patch
UPSIDE = 2  # a grid is made twice as fine on both sides before the next is added


@family("depth_anything", defaults=DEPTH_ANYTHING)
def depth_anything(config: Config) -> Architecture:
    """Depth Anything (arXiv:2401.10891, 2406.09414): four layers of DINOv2 on four grids, which are joined."""
    backbone = config.nested("backbone_config")
    backbone.refuse("model_type", ("dinov2",), "all published ones look through DINOv2")
    config.refuse("reassemble_factors", ([4, 2, 1, 0.5],), "all published ones have these grids")
    found = vit(backbone.completed({"model_type": "dinov2", **FAMILIES["dinov2"].defaults}))
    kinds = (*found.kinds, convolved(joined(config)))
    whole = found._replace(family="depth_anything", kinds=kinds, pattern=(*found.pattern, len(found.kinds)))
    side = backbone.integer("image_size", default=518, most=2**16) // config.integer("patch_size", most=2**16)
    return whole._replace(context_tokens=side**2 + 1)


def joined(config: Config) -> Tensors:
    """Return the convolutions of four grids, of their sum, and of what has a number for each pixel."""
    widths, inputs = config.integers("neck_hidden_sizes") or [], config.integer("reassemble_hidden_size")
    inner, last = config.integer("fusion_hidden_size", most=MOST_CHANNELS), config.integer("head_hidden_size")
    if len(widths) != len(SIDES) or not all(0 < width <= MOST_CHANNELS for width in widths):
        raise config.error("neck_hidden_sizes", "must have a number above zero for each of four grids")
    return grids_joined(widths, inputs, inner) + depths(config, inner, last)


def grids_joined(widths: list[int], inputs: int, inner: int) -> Tensors:
    """Return the convolutions that make four grids of one, and their sum, from the coarsest to the finest."""
    tensors: Tensors = ()
    for index, (width, side) in enumerate(zip(widths, SIDES, strict=True)):
        name, places = f"neck.{index}", side**2
        tensors += convolution(f"{name}.projection", width, inputs, 1, bias=True)
        if side > 1:  # each place becomes several, with weights of their own
            tensors += widened(f"{name}.resize", width, width, int(side) ** 2)
        elif side < 1:
            tensors += convolution(f"{name}.resize", width, width, 3, places=places, stride=2, bias=True)
        tensors += convolution(f"{name}.conv", inner, width, 3, places=places)
        tensors += convolution(f"fusion.{index}.projection", inner, inner, 1, places=places * UPSIDE**2, bias=True)
        for part in range(4):
            tensors += convolution(f"fusion.{index}.residual.{part}", inner, inner, 3, places=places, bias=True)
    return tensors


def depths(config: Config, inner: int, last: int) -> Tensors:
    """Return what makes a depth of each pixel, of the finest grid."""
    finest, pixels = (SIDES[0] * UPSIDE) ** 2, config.integer("patch_size", most=2**16) ** 2
    tensors = convolution("head.conv1", inner // 2, inner, 3, places=finest, bias=True)
    tensors += convolution("head.conv2", last, inner // 2, 3, places=pixels, bias=True)
    return tensors + convolution("head.conv3", 1, last, 1, places=pixels, bias=True)
