"""Networks for images by the names that timm gives their shapes: what a config of transformers would say of them.

Its own configs say the name alone, under `architecture`, with the number of classes. Sizes are those of the papers and
of timm 1.0.31, by which they were counted.
"""

import re
from collections.abc import Callable, Mapping

from calc.catalog.entries import Entry

WHOLE = {"18": (2, 2, 2, 2), "26": (2, 2, 2, 2), "34": (3, 4, 6, 3), "50": (3, 4, 6, 3), "101": (3, 4, 23, 3)}
WHOLE |= {"152": (3, 8, 36, 3), "200": (3, 24, 36, 3), "269": (3, 30, 48, 8)}
STEMS = {"c": [32, 32], "d": [32, 32], "s": [64, 64], "t": [24, 32]}  # three windows of 3 in place of one of 7
RESNET = re.compile(r"(?:tv_|gluon_)?(se|eca)?(wide_)?resne(x?)t(?:aa)?(\d+)([cdst]?)(?:_(\d+)x(\d+)d)?(?:_2)?")


def resnet(found: re.Match[str]) -> Entry | None:
    """Return ResNet and its kin: what squeezes, wide or in groups, the depth, the stem, groups and their width."""
    squeeze, wide, grouped, depth, stem, groups, width = found.groups()
    if depth not in WHOLE or bool(grouped) != bool(groups):
        return None
    narrow = depth not in ("18", "34")
    said: Entry = {
        "model_type": "resnet",
        "layer_type": "bottleneck" if narrow else "basic",
        "embedding_size": 128 if stem == "s" else 64,
        "hidden_sizes": [size * (4 if narrow else 1) for size in (64, 128, 256, 512)],
        "depths": list(WHOLE[depth]),
        "base_width": 128 if wide else int(width or 64),
        "groups": int(groups or 1),
    }
    return {**said, **({"stem_widths": STEMS[stem]} if stem else {}), **({"squeeze": squeeze} if squeeze else {})}


# Depth, first width, slope, step and width of groups of each (arXiv:2003.13678, table of models).
REGNETS = {
    "x_002": (13, 24, 36.44, 2.49, 8),
    "x_004": (22, 24, 24.48, 2.54, 16),
    "x_006": (16, 48, 36.97, 2.24, 24),
    "x_008": (16, 56, 35.73, 2.28, 16),
    "x_016": (18, 80, 34.01, 2.25, 24),
    "x_032": (25, 88, 26.31, 2.25, 48),
    "x_040": (23, 96, 38.65, 2.43, 40),
    "x_064": (17, 184, 60.83, 2.07, 56),
    "x_080": (23, 80, 49.56, 2.88, 120),
    "x_120": (19, 168, 73.36, 2.37, 112),
    "x_160": (22, 216, 55.59, 2.1, 128),
    "x_320": (23, 320, 69.86, 2.0, 168),
    "y_002": (13, 24, 36.44, 2.49, 8),
    "y_004": (16, 48, 27.89, 2.09, 8),
    "y_006": (15, 48, 32.54, 2.32, 16),
    "y_008": (14, 56, 38.84, 2.4, 16),
    "y_016": (27, 48, 20.71, 2.65, 24),
    "y_032": (21, 80, 42.63, 2.66, 24),
    "y_040": (22, 96, 31.41, 2.24, 64),
    "y_064": (25, 112, 33.22, 2.27, 72),
    "y_080": (17, 192, 76.82, 2.19, 56),
    "y_120": (19, 168, 73.36, 2.37, 112),
    "y_160": (18, 200, 106.23, 2.48, 112),
    "y_320": (20, 232, 115.89, 2.53, 232),
    "y_640": (20, 352, 147.48, 2.4, 328),
    "y_1280": (27, 456, 160.83, 2.52, 264),
}
REGNET = re.compile(r"regnet((x|y)_\d+)")


def regnet(found: re.Match[str]) -> Entry | None:
    """Return RegNet: widths that grow by a slope, brought to steps of one ratio, in whole groups."""
    if found[1] not in REGNETS:
        return None
    from math import log

    depth, first, slope, step, group = REGNETS[found[1]]
    steps = [round(log((first + slope * index) / first) / log(step)) for index in range(depth)]
    widths = [round(first * step**power / 8) * 8 for power in steps]
    stages = dict.fromkeys(widths)
    return {
        "model_type": "regnet",
        "layer_type": found[2],
        "groups_width": group,
        "embedding_size": 32,
        "hidden_sizes": [max(1, round(width / min(group, width))) * min(group, width) for width in stages],
        "depths": [widths.count(width) for width in stages],
    }


CONVNEXTS = {"atto": (40, 6), "femto": (48, 6), "pico": (64, 6), "nano": (80, 8), "tiny": (96, 9), "small": (96, 27)}
CONVNEXTS |= {"base": (128, 27), "large": (192, 27), "xlarge": (256, 27), "huge": (352, 27), "xxlarge": (384, 30)}
CONVNEXT = re.compile(r"convnext(v2)?_(\w+)")


def convnext(found: re.Match[str]) -> Entry | None:
    """Return ConvNeXt by its size."""
    if found[2] not in CONVNEXTS:
        return None
    width, third = CONVNEXTS[found[2]]
    ends = 2 if third < 9 else 3
    return {
        "model_type": f"convnext{found[1] or ''}",
        "hidden_sizes": [width * 2**stage for stage in range(4)],
        "depths": [ends, 4 if third == 30 else ends, third, ends],
    }


# Multiples of width and depth, and the side of the image.
EFFICIENT = {
    "b0": (1.0, 1.0, 224),
    "b1": (1.0, 1.1, 240),
    "b2": (1.1, 1.2, 260),
    "b3": (1.2, 1.4, 300),
    "b4": (1.4, 1.8, 380),
    "b5": (1.6, 2.2, 456),
    "b6": (1.8, 2.6, 528),
    "b7": (2.0, 3.1, 600),
    "b8": (2.2, 3.6, 672),
    "l2": (4.3, 5.3, 800),
}
LITE, SECOND = (224, 240, 260, 280, 300), {"b0": 192, "b1": 192, "b2": 208, "b3": 240, "s": 300, "m": 384, "l": 384}
EFFICIENTNET = re.compile(r"(?:tf_)?efficientnet(v2)?_(lite)?(b?\d|l2|[sml])(?:_ns|_ap)?")


def efficientnet(found: re.Match[str]) -> Entry | None:
    """Return EfficientNet, its second version, and those for phones."""
    second, lite, size = found.groups()
    scale = f"b{size}" if lite else size
    if (scale not in EFFICIENT and not second) or (second and (lite or size not in SECOND)):
        return None
    if lite and int(size) >= len(LITE):
        return None
    wide, deep, side = EFFICIENT.get(scale, (1.0, 1.0, 0))
    plan = "efficientnet-lite" if lite else "efficientnet"
    if second:
        plan, side = f"efficientnetv2-{'base' if size in EFFICIENT else size}", SECOND[size]
    side = LITE[int(size)] if lite else side
    said: Entry = {"model_type": "efficientnet", "plan": plan, "image_size": side}
    return {**said, "width_coefficient": wide, "depth_coefficient": deep}


MOBILENET = re.compile(r"(?:tf_)?(mobilenetv[12]|mobilenetv3_large|mobilenetv3_small|semnasnet)(_minimal)?_(\d{3})")


def mobilenet(found: re.Match[str]) -> Entry:
    """Return MobileNet V2 and V3 and MnasNet with squeezing, by the hundredths of their widths."""
    name, bare, hundredths = found.groups()
    plans = {"mobilenetv1": "mobilenet_v1", "mobilenetv2": "mobilenet_v2", "semnasnet": "mnasnet"}
    plan = plans.get(name, name.replace("_", "-")) + ("-minimal" if bare else "")
    wide = int(hundredths) / 100
    said: Entry = {"model_type": "efficientnet", "plan": plan, "image_size": 224}
    return {**said, "width_coefficient": wide, "depth_coefficient": 1.0}


SWIN = re.compile(r"swin(v2)?_(tiny|small|base|large)_(?:patch4_)?window(?:\d+to)?(\d+)_(?:\d+to)?(\d{3})")
SWINS = {"tiny": (96, 3, 6), "small": (96, 3, 18), "base": (128, 4, 18), "large": (192, 6, 18)}


def swin(found: re.Match[str]) -> Entry:
    """Return Swin by its version, size, window and image; what windows became, where they grew after training."""
    second, size, window, side = found.groups()
    width, heads, third = SWINS[size]
    return {
        "model_type": f"swin{second or ''}",
        "embed_dim": width,
        "depths": [2, 2, third, 2],
        "num_heads": [heads * 2**stage for stage in range(4)],
        "window_size": int(window),
        "image_size": int(side),
    }


VIT = re.compile(r"(?:vit|deit)_(tiny|small|base|large)_patch(8|14|16|32)_(\d{3})")
VITS = {"tiny": (192, 12, 3), "small": (384, 12, 6), "base": (768, 12, 12), "large": (1024, 24, 16)}


def vit(found: re.Match[str]) -> Entry:
    """Return ViT by its size, pieces and image; the heads have 64 elements each."""
    width, layers, heads = VITS[found[1]]
    return {
        "model_type": "vit",
        "hidden_size": width,
        "intermediate_size": 4 * width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "patch_size": int(found[2]),
        "image_size": int(found[3]),
    }


SHAPES: Mapping[re.Pattern[str], Callable[[re.Match[str]], Entry | None]] = {
    RESNET: resnet,
    REGNET: regnet,
    CONVNEXT: convnext,
    EFFICIENTNET: efficientnet,
    MOBILENET: mobilenet,
    SWIN: swin,
    VIT: vit,
}


def timm_shape(name: str) -> Entry | None:
    """Return what a config of transformers would say of the shape that timm has under a name; None for other names.

    >>> timm_shape("resnet18")["hidden_sizes"], timm_shape("regnety_032")["depths"], timm_shape("resnet51")
    ([64, 128, 256, 512], [2, 5, 13, 1], None)
    """
    for pattern, shape in SHAPES.items():
        if found := pattern.fullmatch(name):
            return shape(found)
    return None
