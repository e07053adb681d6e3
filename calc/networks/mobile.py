"""Families of networks for small devices, with a window of its own for each channel: MobileNet, EfficientNet, MnasNet.

Blocks are written as the papers' code does and timm after it: `ir_r2_k3_s2_e6_c24_se0.25` is twice an inverted residual
with windows of 3, the first two places apart, 6 times the channels within, 24 behind, and what squeezes to a quarter.
"""

import math
import re
from typing import NamedTuple

from calc.architecture.config import Config
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture, Layer
from calc.architecture.tensors import Tensors, linear
from calc.networks.convolutional import (
    MOST_CHANNELS,
    convolved,
    grids,
    normed,
    places_at,
    rounded,
    squeezed,
)

PART = re.compile(r"([a-z]+)([\d.]*)")
PLAIN, SEPARABLE, INVERTED, FUSED = "cn", "ds", "ir", "er"


class Block(NamedTuple):
    """Layers that are alike but for the first, which may go to a coarser grid."""

    kind: str
    repeats: int
    kernel: int
    stride: int
    expansion: float
    outputs: int
    squeeze: float  # between, as a share of what comes in, 0 for none


def block_of(written: str) -> Block:
    """Return the layers that a notation stands for.

    >>> block_of("ir_r2_k3_s2_e6_c24_se0.25")
    Block(kind='ir', repeats=2, kernel=3, stride=2, expansion=6.0, outputs=24, squeeze=0.25)
    """
    kind, _, rest = written.partition("_")
    said = {found[1]: found[2] for part in rest.split("_") if (found := PART.fullmatch(part))}
    return Block(
        kind,
        repeats=int(said["r"]),
        kernel=int(said["k"]),
        stride=int(said["s"]),
        expansion=float(said.get("e", 1)),
        outputs=int(said["c"]),
        squeeze=float(said.get("se", 0)),
    )


class Walk:
    """A network on its way from layer to layer: the channels it has, and how fine its grid is."""

    def __init__(self, stem: int, colours: int) -> None:
        self.channels, self.pixels = stem, 2
        self.layers: list[Layer] = [convolved(normed("stem", stem, colours, 3, places=places_at(2), stride=2))]

    def pass_on(self, block: Block, outputs: int, repeats: int, *, in_eights: bool) -> None:
        """Add the layers of a block, with `outputs` channels.

        What squeezes is a share of what comes into a layer, or `in_eights` of what it has within.
        """
        for index in range(repeats):
            stride = 1 if index else block.stride
            before = places_at(self.pixels)
            self.pixels *= stride
            there, inner = places_at(self.pixels), self.channels
            tensors: Tensors = ()
            if block.kind in (INVERTED, FUSED):
                inner = rounded(self.channels * block.expansion)
            if block.kind == INVERTED:
                tensors += normed("expand", inner, self.channels, 1, places=before)
            if block.kind == FUSED:
                tensors += normed("expand", inner, self.channels, block.kernel, places=there, stride=stride)
            if block.kind in (INVERTED, SEPARABLE):
                tensors += normed("depthwise", inner, inner, block.kernel, places=there, stride=stride, groups=inner)
            if block.squeeze:
                narrow = rounded(inner * block.squeeze) if in_eights else round(self.channels * block.squeeze)
                tensors += squeezed("squeeze", inner, narrow)
            if block.kind == PLAIN:
                tensors += normed("conv", outputs, inner, block.kernel, places=there, stride=stride)
            else:
                tensors += normed("project", outputs, inner, 1, places=there)
            self.layers.append(convolved(tensors, hidden=self.channels, places=before))
            self.channels = outputs


class Plan(NamedTuple):
    """A network of blocks: stages, what stands before and behind, and how its widths are rounded."""

    stages: tuple[str, ...]  # each of one notation, or of several that follow each other
    stem: int
    features: int  # behind the last layer, 0 for none
    keep: float = 0.9  # of the channels that were asked, which rounding leaves at least
    pooled: bool = False  # what stands behind the last layer is met by means over the image, with a bias, unnormed
    whole_ends: bool = False  # stem and the ends' repeats are not scaled
    widens: bool = False  # features are scaled, too
    largest: bool = False  # and not made fewer


EFFICIENT = (
    "ds_r1_k3_s1_e1_c16_se0.25",
    "ir_r2_k3_s2_e6_c24_se0.25",
    "ir_r2_k5_s2_e6_c40_se0.25",
    "ir_r3_k3_s2_e6_c80_se0.25",
    "ir_r3_k5_s1_e6_c112_se0.25",
    "ir_r4_k5_s2_e6_c192_se0.25",
    "ir_r1_k3_s1_e6_c320_se0.25",
)
LITE = tuple(stage.removesuffix("_se0.25") for stage in EFFICIENT)
SECOND = {  # EfficientNet V2 (arXiv:2104.00298)
    "base": "cn_r1_k3_s1_c16 er_r2_k3_s2_e4_c32 er_r2_k3_s2_e4_c48 ir_r3_k3_s2_e4_c96_se0.25 "
    "ir_r5_k3_s1_e6_c112_se0.25 ir_r8_k3_s2_e6_c192_se0.25",
    "s": "cn_r2_k3_s1_c24 er_r4_k3_s2_e4_c48 er_r4_k3_s2_e4_c64 ir_r6_k3_s2_e4_c128_se0.25 "
    "ir_r9_k3_s1_e6_c160_se0.25 ir_r15_k3_s2_e6_c256_se0.25",
    "m": "cn_r3_k3_s1_c24 er_r5_k3_s2_e4_c48 er_r5_k3_s2_e4_c80 ir_r7_k3_s2_e4_c160_se0.25 "
    "ir_r14_k3_s1_e6_c176_se0.25 ir_r18_k3_s2_e6_c304_se0.25 ir_r5_k3_s1_e6_c512_se0.25",
    "l": "cn_r4_k3_s1_c32 er_r7_k3_s2_e4_c64 er_r7_k3_s2_e4_c96 ir_r10_k3_s2_e4_c192_se0.25 "
    "ir_r19_k3_s1_e6_c224_se0.25 ir_r25_k3_s2_e6_c384_se0.25 ir_r7_k3_s1_e6_c640_se0.25",
}
SECOND_STEMS = {"s": 24, "m": 24, "l": 32}
MOBILE_1 = (  # arXiv:1704.04861
    "ds_r1_k3_s1_c64",
    "ds_r2_k3_s2_c128",
    "ds_r2_k3_s2_c256",
    "ds_r6_k3_s2_c512",
    "ds_r2_k3_s2_c1024",
)
MOBILE_2 = (  # arXiv:1801.04381
    "ds_r1_k3_s1_c16",
    "ir_r2_k3_s2_e6_c24",
    "ir_r3_k3_s2_e6_c32",
    "ir_r4_k3_s2_e6_c64",
    "ir_r3_k3_s1_e6_c96",
    "ir_r3_k3_s2_e6_c160",
    "ir_r1_k3_s1_e6_c320",
)
MOBILE_3_LARGE = (  # arXiv:1905.02244
    "ds_r1_k3_s1_c16",
    "ir_r1_k3_s2_e4_c24 ir_r1_k3_s1_e3_c24",
    "ir_r3_k5_s2_e3_c40_se0.25",
    "ir_r1_k3_s2_e6_c80 ir_r1_k3_s1_e2.5_c80 ir_r2_k3_s1_e2.3_c80",
    "ir_r2_k3_s1_e6_c112_se0.25",
    "ir_r3_k5_s2_e6_c160_se0.25",
    "cn_r1_k1_s1_c960",
)
MOBILE_3_SMALL = (
    "ds_r1_k3_s2_c16_se0.25",
    "ir_r1_k3_s2_e4.5_c24 ir_r1_k3_s1_e3.67_c24",
    "ir_r1_k5_s2_e4_c40_se0.25 ir_r2_k5_s1_e6_c40_se0.25",
    "ir_r2_k5_s1_e3_c48_se0.25",
    "ir_r3_k5_s2_e6_c96_se0.25",
    "cn_r1_k1_s1_c576",
)
MNAS_A1 = (  # arXiv:1807.11626
    "ds_r1_k3_s1_c16",
    "ir_r2_k3_s2_e6_c24",
    "ir_r3_k5_s2_e3_c40_se0.25",
    "ir_r4_k3_s2_e6_c80",
    "ir_r2_k3_s1_e6_c112_se0.25",
    "ir_r3_k5_s2_e6_c160_se0.25",
    "ir_r1_k3_s1_e6_c320",
)


def minimal(stages: tuple[str, ...]) -> tuple[str, ...]:
    """Return MobileNet V3's stages without squeezing and without wide windows."""
    return tuple(stage.replace("_se0.25", "").replace("k5", "k3") for stage in stages)


PLANS = {
    "efficientnet": Plan(EFFICIENT, 32, 1280, widens=True),
    "efficientnet-lite": Plan(LITE, 32, 1280, whole_ends=True),
    "efficientnetv2-base": Plan(tuple(SECOND["base"].split()), 32, 1280, keep=0.0, widens=True),
    **{f"efficientnetv2-{size}": Plan(tuple(SECOND[size].split()), stem, 1280) for size, stem in SECOND_STEMS.items()},
    "mobilenet_v1": Plan(MOBILE_1, 32, 0),
    "mobilenet_v2": Plan(MOBILE_2, 32, 1280, widens=True, largest=True),
    "mobilenetv3-large": Plan(MOBILE_3_LARGE, 16, 1280, pooled=True),
    "mobilenetv3-small": Plan(MOBILE_3_SMALL, 16, 1024, pooled=True),
    "mobilenetv3-large-minimal": Plan(minimal(MOBILE_3_LARGE), 16, 1280, pooled=True),
    "mobilenetv3-small-minimal": Plan(minimal(MOBILE_3_SMALL), 16, 1024, pooled=True),
    "mnasnet": Plan(MNAS_A1, 32, 1280),
}


B7 = {"width_coefficient": 2.0, "depth_coefficient": 3.1, "image_size": 600}  # which the class takes


@family("efficientnet", defaults={"plan": "efficientnet", **B7})
@family("mobilenet_v1", defaults={"plan": "mobilenet_v1"})
@family("mobilenet_v2", defaults={"plan": "mobilenet_v2"})
def mobile(config: Config) -> Architecture:
    """EfficientNet (arXiv:1905.11946), MobileNet and MnasNet: a plan whose widths and depths are multiplied.

    A classifier of MobileNet V2 may have a class for the background besides.
    """
    config.refuse("plan", tuple(PLANS), "the blocks of others are not known")
    config.refuse("depth_divisible_by", (8,), "widths of others are not known")
    plan = PLANS[config.text("plan", "")]
    said = config.text("model_type", "").startswith("mobilenet")  # whose "depth" in its config is a layer's channels
    wide = config.number("depth_multiplier" if said else "width_coefficient", default=1.0, most=100)
    deep = 1.0 if said else config.number("depth_coefficient", default=1.0, most=100)

    def scaled(channels: int) -> int:
        return min(rounded(channels * wide, least=plan.keep), MOST_CHANNELS)

    stem = plan.stem if plan.whole_ends or (plan.pooled and wide < 0.75) else scaled(plan.stem)
    walk = Walk(stem, config.integer("num_channels", default=3, most=MOST_CHANNELS))
    for place, stage in enumerate(plan.stages):
        ends = plan.whole_ends and place in (0, len(plan.stages) - 1)
        blocks = [block_of(written) for written in stage.split()]
        for block in blocks:
            repeats = block.repeats if ends or len(blocks) > 1 else math.ceil(block.repeats * deep)
            walk.pass_on(block, scaled(block.outputs), repeats, in_eights=plan.pooled)
    if not plan.features:
        return grids(config, walk.layers, walk.channels)
    features = scaled(plan.features) if plan.widens else plan.features
    features = max(features, plan.features) if plan.largest else features
    if plan.pooled:
        last = linear("head.conv", "head", features, walk.channels, bias=True)
        return grids(config, walk.layers, features, last)
    walk.layers.append(convolved(normed("head", features, walk.channels, 1, places=1)))
    return grids(config, walk.layers, features)
