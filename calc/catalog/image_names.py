"""Names of encoders of images as timm and OpenCLIP write them: they say the whole shape.

Timm's say size, pieces and image, and behind a point what a model was trained on; its files have what the layers need
and the classes of that, neither a pooler nor a token for what is masked (timm 1.0, vision_transformer.py). OpenCLIP's
have the size of the tower alone; the text beside it follows.
"""

import re
from typing import NamedTuple

from calc.catalog.entries import Entry
from calc.catalog.timm_names import timm_shape

PLAIN = {size: f"deit-{size}-patch16-224" for size in ("tiny", "small")}  # ViT's of these sizes
PLAIN |= {size: f"vit-{size}-patch16-224" for size in ("base", "large")}
HUGE = "vit-huge-patch14-224-in21k"
TIMM = re.compile(r"vit_(tiny|small|base|large|giant)_patch(8|14|16|32)_(?:(\d{3})|(reg4_)?dinov2)(?:\.(\w+))?")
TRAINED = {"in1k": 1000, "in12k": 11_821, "in21k": 21_843, "in22k": 21_841}  # images' data sets, and their classes
# Towers of CLIP as timm has them, with what projects into the space of texts, or classes in its place.
TOWER = re.compile(r"vit_(base|large|huge)_patch(14|16|32)_clip_(?:quickgelu_)?(\d{3})(?:\.(\w+))?")
JOINT = {"base": 512, "large": 768, "huge": 1024}
# Towers of CLIP by their names in OpenCLIP, those of Meta's and Apple's among them.
CLIP = re.compile(r"(?:(?:dfn\d+b-)?clip-vit|metaclip)-(b|l|h|g|bigg)-?(14|16|32)(?![0-9])(.*)")
TOWERS = {"b32": "base-patch32", "b16": "base-patch16", "l14": "large-patch14"}
TOWERS |= {f"{size}14": f"{size}-14-laion2b" for size in ("h", "g", "bigg")}
SIGLIP = re.compile(r"vit-(b|l|so400m|gopt)-(14|16|32)-siglip(2?)(-i18n)?(?:-(\d{3}))?")
SIGLIPS = {"b": "base", "l": "large", "so400m": "so400m", "gopt": "giant-opt"}


# The entry of each kind of network that timm names otherwise, by what its config says it is.
NETWORKS = {
    "resnet": "resnet-50",
    "regnet": "regnet-y-040",
    "convnext": "convnext-tiny",
    "convnextv2": "convnextv2-tiny",
    "efficientnet": "efficientnet-b0",
    "swin": "swin-tiny",
    "swinv2": "swinv2-tiny",
}
USUAL, GRID = 224, 32  # the side of an image, and of what a place of the last grid stands for
AT = re.compile(r"_(\d{3})$")  # the side of the image, behind what a model was trained on


class Image(NamedTuple):
    """The entry that a name of images' makers means, and what its config says otherwise."""

    id: str
    head: Entry


def image_model(bare: str) -> Image | None:
    """Return what a repository's name without owner, in small letters, means to timm or OpenCLIP, if anything.

    >>> image_model("vit_small_patch16_384.augreg_in21k_ft_in1k")[0]
    'deit-small-patch16-224'
    >>> image_model("vit-b-16-siglip2-256"), image_model("clip-vit-b-16-datacomp.xl-s13b-b90k")
    (Image(id='siglip2-base-patch16-256', head={}), Image(id='clip-vit-base-patch16', head={}))
    """
    if found := TIMM.fullmatch(bare):
        size, patch, image, registers, trained = found.groups()
        if image is None:
            return Image(
                f"dinov2-{'with-registers-' if registers else ''}{size}", {"architectures": ["VisionTransformer"]}
            )
        return Image(PLAIN[size], of_size(int(patch), int(image), trained or "")) if size in PLAIN else None
    if found := TOWER.fullmatch(bare):
        size, patch, image, trained = found.groups()
        tuned = "_ft_" in (trained or "")
        head = of_size(int(patch), int(image), trained if tuned else "")
        if not tuned:
            head |= {"architectures": ["ViTForImageClassification"], "num_labels": JOINT[size]}
        return Image(HUGE if size == "huge" else PLAIN[size], {**head, "pre_norm": True})
    if (network := network_of(bare)) is not None:
        return network
    if found := SIGLIP.fullmatch(bare):
        size, patch, second, many, image = found.groups()
        usual = 256 if patch == "32" else 224
        many = "-multilingual" if many else ""
        return Image(f"siglip{second}-{SIGLIPS[size]}-patch{patch}-{image or usual}{many}", {})
    if (found := CLIP.fullmatch(bare)) and (tower := TOWERS.get(found[1] + found[2])):
        whole = not re.search(r"(?<!\d)\d{3}(?!\d)", found[3])  # as it is trained, at 224 pixels
        return Image(f"clip-vit-{tower}", {}) if whole else None
    return None


def of_size(patch: int, image: int, trained: str) -> Entry:
    """Return what the config of a ViT says of its pieces, its image and its classes, in timm's words for the training.

    >>> of_size(16, 224, "mae")["architectures"], of_size(16, 224, "augreg_in21k")["num_labels"]
    (['VisionTransformer'], 21843)
    """
    said: Entry = {"patch_size": patch, "image_size": image, "context_tokens": (image // patch) ** 2 + 1}
    classes = TRAINED.get(trained.rpartition("_")[2])
    if classes is None:
        return {**said, "architectures": ["VisionTransformer"]}
    return {**said, "architectures": ["ViTForImageClassification"], "num_labels": classes}


def network_of(bare: str) -> Image | None:
    """Return the network that timm has under a name and a tag of its training; None where either is not known.

    >>> found = network_of("resnet18.a1_in1k")
    >>> found.id, found.head["architecture"], found.head["num_labels"]
    ('resnet-50', 'resnet18', 1000)
    """
    name, _, trained = bare.partition(".")
    shape = timm_shape(name)
    classes = TRAINED.get(AT.sub("", trained).rpartition("_")[2]) if trained else TRAINED["in1k"]
    network = NETWORKS.get(str(shape["model_type"])) if shape else None
    if shape is None or network is None or classes is None:
        return None
    at = AT.search(trained)
    side = int(at[1]) if at else shape.get("image_size", USUAL)
    assert isinstance(side, int)
    head: Entry = {"architecture": name, "architectures": ["ForImageClassification"], "num_labels": classes}
    places = (-(-side // GRID)) ** 2
    return Image(network, {**head, "context_tokens": places})
