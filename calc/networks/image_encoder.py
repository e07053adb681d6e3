"""Families of encoders of images, which give states, classes, objects or masks: ViT, BEiT, DINO, AST, YOLOS, SAM."""

import math
from collections.abc import Sequence

from calc.architecture.blocks import FeedForward, Mixer, dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import GPT_STYLE, heads_of
from calc.architecture.families.encoder import CLASSIFIES, labels_of, reader
from calc.architecture.families.registry import family
from calc.architecture.families.vision import VIT, patch_count, patches
from calc.architecture.layers import Architecture, Attention, Layer
from calc.architecture.tensors import Tensor, Tensors, linear, norm

TIMM = "VisionTransformer"  # timm's class, whose files have the layers and what was told apart, and nothing else


@family("vit", "deit", defaults=VIT)
@family("dinov2", defaults={**VIT, "patch_size": 14, "mlp_ratio": 4})
@family("dinov2_with_registers", defaults={**VIT, "patch_size": 14, "mlp_ratio": 4, "num_register_tokens": 4})
def vit(config: Config) -> Architecture:
    """ViT (arXiv:2010.11929), DeiT, DINOv2: encoders of patches; a classifier has classes in place of a pooler.

    A `pre_norm` stands before the layers of what was CLIP's tower.

    DINOv2 may have tokens that only register (arXiv:2309.16588), and its largest a gated MLP, two thirds as wide.
    """
    kind = config.text("model_type", "").removesuffix("_with_registers")
    hidden = config.hidden()
    first = {"vit": ("cls_token",), "deit": ("cls_token", "distillation_token"), "dinov2": ("cls_token", "mask_token")}
    tokens = [name for name in first[kind] if name != "mask_token" or TIMM not in config.classes]
    table: Tensors = tuple(Tensor(name, "other_embedding", (1, 1, hidden)) for name in tokens)
    if registers := config.integer("num_register_tokens", default=0, least=0, most=2**16):
        table += (Tensor("register_tokens", "other_embedding", (1, registers, hidden)),)
    # Where timm's has registers, neither these nor the class have places.
    firsts = 0 if registers and TIMM in config.classes else 2 if kind == "deit" else 1
    places = patch_count(config) + firsts
    table += (Tensor("position_embeddings", "other_embedding", (1, places, hidden)),)
    first_norm = config.flag("pre_norm", default=False)  # CLIP's, whose pieces have no bias
    table += pieces(config, bias=not first_norm)
    if first_norm:
        table += norm("norm_pre", hidden, bias=True, block="other_embedding")
    extra: Tensors = ()
    width, gated = config.integer("intermediate_size"), config.flag("use_swiglu_ffn", default=False)
    if kind == "dinov2":
        width = max(int(config.number("mlp_ratio", default=4) * hidden), 1)
        if gated:
            width = -(-int(width * 2 / 3) // 8) * 8  # a third of three matrices for a half of two, in whole eights
        extra = tuple(Tensor(f"layer_scale{i}", "layer_other", (hidden,)) for i in (1, 2))
    activation = "silu" if gated else config.text("hidden_act", "gelu")
    feed = dense(hidden, width, gated=gated, bias=True, activation=activation)
    block = layer_of(config, *extra, feed=feed)
    return images(config, table, block, last=last_norm(hidden) + image_head(config, kind, hidden))


def layer_of(config: Config, *extra: Tensor, mixer: Mixer | None = None, feed: FeedForward | None = None) -> Layer:
    """Return ViT's layer, norms before both blocks, with an attention or an MLP of its own where they are given."""
    hidden = config.hidden()
    return layer(
        reader(mixer or looking(config, bias=config.flag("qkv_bias", default=True))),
        feed or dense(hidden, config.integer("intermediate_size"), gated=False, bias=True),
        *norms(hidden, "layernorm_before", "layernorm_after", bias=True),
        *extra,
        style=GPT_STYLE,
    )


def looking(config: Config, *, bias: bool) -> Mixer:
    """Return the attention of all patches to all, with biases of queries, keys and values or without."""
    hidden = config.hidden()
    heads, _, size = heads_of(config, hidden)
    seen = Attention(heads, heads, size, causal=False, rotary=False)
    return softmax_attention(hidden, seen, bias=bias, out_bias=True)


def pieces(config: Config, *, bias: bool = True) -> Tensors:
    """Return what makes vectors of patches, which is an embedding here and not the tower of another model."""
    return tuple(tensor._replace(block="other_embedding") for tensor in patches(config, bias=bias))


def last_norm(hidden: int) -> Tensors:
    """Return the LayerNorm that most encoders of images end in."""
    return norm("layernorm", hidden, bias=True, block="final_norm")


def images(config: Config, table: Tensors, *kinds: Layer, pattern: tuple[int, ...] = (), last: Tensors) -> Architecture:
    """Put an encoder of images together, whose layers are all alike unless a pattern says which kind each is."""
    hidden = config.hidden()
    return Architecture(
        family=config.text("model_type", ""),
        hidden_size=hidden,
        vocab_size=0,
        embeddings=table,
        kinds=kinds,
        pattern=pattern or (0,) * config.layers(),
        head=last,
        tied=False,
        context_tokens=None,
        output_size=0,
    )


def in_order(config: Config, layers: Sequence[Layer], *, last: Tensors) -> Architecture:
    """Put an encoder of layers together that stand in this order; those that are alike are one kind."""
    kinds = tuple(dict.fromkeys(layers))
    return images(config, (), *kinds, pattern=tuple(kinds.index(each) for each in layers), last=last)


BEIT = {**VIT, "layer_scale_init_value": 0.1}


@family("beit", "data2vec-vision", defaults=BEIT)
def beit(config: Config) -> Architecture:
    """BEiT and DiT (arXiv:2106.08254, 2203.02378): ViT with biases by distance, scaled layers, keys without biases."""
    hidden, side = config.hidden(), math.isqrt(patch_count(config))
    mixer = looking(config, bias=True)
    mixer = mixer._replace(tensors=tuple(t for t in mixer.tensors if t.name != "self_attn.k_proj.bias"))
    places = (2 * side - 1) ** 2 + 3  # from patch to patch, and to, from and within the class
    distances = Tensor("relative_position_bias", "attention", (places, config.integer("num_attention_heads")))
    table: Tensors = (Tensor("cls_token", "other_embedding", (1, 1, hidden)),)
    if config.flag("use_mask_token", default=False):
        table += (Tensor("mask_token", "other_embedding", (1, 1, hidden)),)
    if config.flag("use_absolute_position_embeddings", default=False):
        table += (Tensor("position_embeddings", "other_embedding", (1, side**2 + 1, hidden)),)
    if config.flag("use_shared_relative_position_bias", default=False):
        table += (distances._replace(block="other_embedding"),)
    table += pieces(config)
    extra: Tensors = (distances,) if config.flag("use_relative_position_bias", default=False) else ()
    if config.number("layer_scale_init_value", default=0.1, most=1) > 0:
        extra += tuple(Tensor(f"lambda_{i}", "layer_other", (hidden,)) for i in (1, 2))
    block = layer_of(config, *extra, mixer=mixer)
    return images(config, table, block, last=last_norm(hidden) + beit_head(config, hidden))


def beit_head(config: Config, hidden: int) -> Tensors:
    """Return BEiT's classes, or what names the pieces that its training hides, behind a norm of its own."""
    if "ForMaskedImageModeling" in config.classes:
        pooled = config.flag("use_mean_pooling", default=True)
        own = () if pooled else norm("head_norm", hidden, bias=True, block="head")
        return own + linear("lm_head", "head", config.integer("vocab_size", default=8192), hidden, bias=True)
    classifies = "Classification" in config.classes
    return linear("classifier", "head", labels_of(config), hidden, bias=True) if classifies else ()


AST = {**VIT, "num_mel_bins": 128, "max_length": 1024, "frequency_stride": 10, "time_stride": 10}


@family("audio-spectrogram-transformer", defaults=AST)
def spectrogram(config: Config) -> Architecture:
    """AST (arXiv:2104.01778): DeiT over pieces of a spectrogram that overlap, with a norm before its classes."""
    patch, hidden = config.integer("patch_size", most=2**16), config.hidden()
    tall = (config.integer("num_mel_bins", most=2**16) - patch) // config.integer("frequency_stride", most=2**16) + 1
    long = (config.integer("max_length", most=2**20) - patch) // config.integer("time_stride", most=2**16) + 1
    if tall < 1 or long < 1:
        raise config.error("patch_size", f"must not be more than the spectrogram, as {patch} is")
    table: Tensors = tuple(
        Tensor(f"{name}_token", "other_embedding", (1, 1, hidden)) for name in ("cls", "distillation")
    )
    table += (Tensor("position_embeddings", "other_embedding", (1, tall * long + 2, hidden)),)
    table += pieces(config.replaced({"num_channels": 1}))
    last = last_norm(hidden)
    if "ForAudioClassification" in config.classes:
        last += norm("classifier.layernorm", hidden, bias=True, block="head")
        last += linear("classifier.dense", "head", labels_of(config), hidden, bias=True)
    return images(config, table, layer_of(config), last=last)


YOLOS = {**VIT, "image_size": [512, 864], "num_detection_tokens": 100}


@family("yolos", defaults=YOLOS)
def yolos(config: Config) -> Architecture:
    """YOLOS (arXiv:2106.00666): ViT with tokens that become objects, and positions anew before each further layer."""
    hidden, layers, patch = config.hidden(), config.layers(), config.integer("patch_size", most=2**16)
    sides, objects = config.integers("image_size") or [], config.integer("num_detection_tokens", most=2**16)
    if len(sides) != 2 or min(sides) < patch:
        raise config.error("image_size", f"must be a height and a width of at least {patch}")
    places = (sides[0] // patch) * (sides[1] // patch) + objects + 1
    table: Tensors = (Tensor("cls_token", "other_embedding", (1, 1, hidden)),)
    table += (Tensor("detection_tokens", "other_embedding", (1, objects, hidden)),)
    table += (Tensor("position_embeddings", "other_embedding", (1, places, hidden)),)
    table += pieces(config)
    if config.flag("use_mid_position_embeddings", default=True):
        table += (Tensor("mid_position_embeddings", "other_embedding", (layers - 1, 1, places, hidden)),)
    last = last_norm(hidden)
    for name, outputs in (("class_labels_classifier", labels_of(config) + 1), ("bbox_predictor", 4)):
        for index, width in enumerate((hidden, hidden, outputs)):
            last += linear(f"{name}.{index}", "head", width, hidden, bias=True)
    return images(config, table, layer_of(config), last=last)


DINOV3 = {
    "hidden_size": 384,
    "intermediate_size": 1536,
    "num_hidden_layers": 12,
    "num_attention_heads": 6,
    "patch_size": 16,
    "num_register_tokens": 0,
}


@family("dinov3_vit", defaults=DINOV3)
def dinov3(config: Config) -> Architecture:
    """DINOv3 (arXiv:2508.10104): rotary positions, tokens that only register, keys without biases."""
    hidden = config.hidden()
    heads, _, size = heads_of(config, hidden)
    attention = softmax_attention(hidden, Attention(heads, heads, size, causal=False), bias=True)
    without = {
        f"self_attn.{name}_proj.bias"
        for name, flag in (("q", "query"), ("k", "key"), ("v", "value"), ("o", "proj"))
        if not config.flag(f"{flag}_bias", default=flag != "key")
    }
    attention = attention._replace(tensors=tuple(t for t in attention.tensors if t.name not in without))
    registers = config.integer("num_register_tokens", least=0, most=2**16)
    table: Tensors = tuple(Tensor(name, "other_embedding", (1, 1, hidden)) for name in ("cls_token", "mask_token"))
    if registers:
        table += (Tensor("register_tokens", "other_embedding", (1, registers, hidden)),)
    table += tuple(tensor._replace(block="other_embedding") for tensor in patches(config, bias=True))
    feed = dense(
        hidden,
        config.integer("intermediate_size"),
        gated=config.flag("use_gated_mlp", default=False),
        bias=config.flag("mlp_bias", default=True),
        activation=config.text("hidden_act", "gelu"),
    )
    block = layer(
        reader(attention),
        feed,
        *norms(hidden, "norm1", "norm2", bias=True),
        *(Tensor(f"layer_scale{i}", "layer_other", (hidden,)) for i in (1, 2)),
        style=GPT_STYLE,
    )
    return images(config, table, block, last=last_norm(hidden))


SAM = {**VIT, "image_size": 1024, "mlp_ratio": 4, "window_size": 14, "global_attn_indexes": [2, 5, 8, 11]}
SAM_CHANNELS = 256  # of what stands behind the encoder, in every published SAM
SAM_DECODER = 4_064_816  # parameters of what reads points, boxes and masks, and writes masks


@family("sam", defaults={"vision_config": {}})
def sam(config: Config) -> Architecture:
    """SAM (arXiv:2304.02643): ViT whose layers look at windows, but for some, and weigh distances along both sides."""
    vision = config.nested("vision_config").completed(SAM).replaced({"model_type": "sam"})
    hidden, window = vision.hidden(), vision.integer("window_size", most=2**10)
    vision.refuse("output_channels", (SAM_CHANNELS,), "what reads points and writes masks is of this width")
    heads, _, size = heads_of(vision, hidden)
    side = vision.integer("image_size", most=2**16) // vision.integer("patch_size", most=2**16)
    width = vision.integer("mlp_dim", default=max(int(hidden * vision.number("mlp_ratio", default=4)), 1))
    feed = dense(hidden, width, gated=False, bias=True, activation=vision.text("hidden_act", "gelu"))

    def block(reach: int, windowed: int | None) -> Layer:
        seen = Attention(heads, heads, size, causal=False, rotary=False, window_tokens=windowed)
        mixer = softmax_attention(hidden, seen, bias=True)
        distances = tuple(Tensor(f"self_attn.rel_pos_{axis}", "attention", (2 * reach - 1, size)) for axis in "hw")
        around = norms(hidden, "layer_norm1", "layer_norm2", bias=True)
        return layer(reader(mixer._replace(tensors=mixer.tensors + distances)), feed, *around, style=GPT_STYLE)

    table: Tensors = (Tensor("position_embeddings", "other_embedding", (patch_count(vision), hidden)),)
    table += tuple(tensor._replace(block="other_embedding") for tensor in patches(vision, bias=True))
    last: Tensors = (Tensor("neck.conv1.weight", "head", (SAM_CHANNELS, hidden)),)
    last += (Tensor("neck.conv2.weight", "head", (SAM_CHANNELS, SAM_CHANNELS, 3, 3)),)
    last += norm("neck.norms", SAM_CHANNELS, bias=True, block="head", copies=2)
    last += (Tensor("mask_decoder", "head", (SAM_DECODER,)),)
    everywhere = set(vision.integers("global_attn_indexes") or ())
    return images(
        vision,
        table,
        block(window, window**2),
        block(side, None),
        pattern=tuple(int(index in everywhere) for index in range(vision.layers())),
        last=last,
    )


def image_head(config: Config, kind: str, hidden: int) -> Tensors:
    """Return what stands behind an encoder of images: its classes, or a pooler, or nothing."""
    if CLASSIFIES in config.classes:
        classes = labels_of(config)
        inputs = 2 * hidden if kind == "dinov2" else hidden  # DINOv2's reads the mean of the patches, too
        taught = "WithTeacher" in config.classes  # DeiT's, who asks what the teacher says, too
        names = ("cls_classifier", "distillation_classifier") if taught else ("classifier",)
        return tuple(tensor for name in names for tensor in linear(name, "head", classes, inputs, bias=True))
    return () if kind == "dinov2" or TIMM in config.classes else linear("pooler", "other", hidden, hidden, bias=True)
