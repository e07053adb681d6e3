"""Families of encoders of images, which give hidden states, classes or objects: ViT, DeiT, DINOv2 and 3, YOLOS."""

from calc.architecture.blocks import dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import GPT_STYLE, heads_of
from calc.architecture.families.encoder import labels_of, reader
from calc.architecture.families.registry import family
from calc.architecture.families.vision import patch_count, patches
from calc.architecture.layers import Architecture, Attention, Layer
from calc.architecture.tensors import Tensor, Tensors, linear, norm

VIT = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "image_size": 224,
    "patch_size": 16,
}


@family("vit", "deit", defaults=VIT)
@family("dinov2", defaults={**VIT, "patch_size": 14, "mlp_ratio": 4})
def vit(config: Config) -> Architecture:
    """ViT (arXiv:2010.11929), DeiT, DINOv2: encoders of patches; a classifier has classes in place of a pooler."""
    kind = config.text("model_type", "")
    hidden, bias = config.hidden(), config.flag("qkv_bias", default=True)
    heads, _, size = heads_of(config, hidden)
    seen = Attention(heads, heads, size, causal=False, rotary=False)
    attention = softmax_attention(hidden, seen, qkv_bias=bias, out_bias=True)
    first = {"vit": ("cls_token",), "deit": ("cls_token", "distillation_token"), "dinov2": ("cls_token", "mask_token")}
    table: Tensors = tuple(Tensor(name, "other_embedding", (1, 1, hidden)) for name in first[kind])
    places = patch_count(config) + (2 if kind == "deit" else 1)
    table += (Tensor("position_embeddings", "other_embedding", (1, places, hidden)),)
    table += tuple(tensor._replace(block="other_embedding") for tensor in patches(config, bias=True))
    extra: Tensors = ()
    width = config.integer("intermediate_size")
    if kind == "dinov2":
        config.refuse("use_swiglu_ffn", (False,), "its widths are rounded in another way")
        width = max(int(config.number("mlp_ratio", default=4) * hidden), 1)
        extra = tuple(Tensor(f"layer_scale{i}", "layer_other", (hidden,)) for i in (1, 2))
    block = layer(
        reader(attention),
        dense(hidden, width, gated=False, bias=True, activation=config.text("hidden_act", "gelu")),
        *norms(hidden, "layernorm_before", "layernorm_after", bias=True),
        *extra,
        style=GPT_STYLE,
    )
    return images(config, table, block, last=image_head(config, kind, hidden))


def images(config: Config, table: Tensors, block: Layer, *, last: Tensors) -> Architecture:
    """Put an encoder of images together whose layers are all alike."""
    hidden = config.hidden()
    return Architecture(
        family=config.text("model_type", ""),
        hidden_size=hidden,
        vocab_size=0,
        embeddings=table,
        kinds=(block,),
        pattern=(0,) * config.layers(),
        head=norm("layernorm", hidden, bias=True, block="final_norm") + last,
        tied=False,
        context_tokens=None,
        output_size=0,
    )


YOLOS = {**VIT, "image_size": [512, 864], "num_detection_tokens": 100}


@family("yolos", defaults=YOLOS)
def yolos(config: Config) -> Architecture:
    """YOLOS (arXiv:2106.00666): ViT with tokens that become objects, and positions anew before each further layer."""
    hidden, layers, patch = config.hidden(), config.layers(), config.integer("patch_size", most=2**16)
    heads, _, size = heads_of(config, hidden)
    sides, objects = config.integers("image_size") or [], config.integer("num_detection_tokens", most=2**16)
    if len(sides) != 2 or min(sides) < patch:
        raise config.error("image_size", f"must be a height and a width of at least {patch}")
    places = (sides[0] // patch) * (sides[1] // patch) + objects + 1
    table: Tensors = (Tensor("cls_token", "other_embedding", (1, 1, hidden)),)
    table += (Tensor("detection_tokens", "other_embedding", (1, objects, hidden)),)
    table += (Tensor("position_embeddings", "other_embedding", (1, places, hidden)),)
    table += tuple(tensor._replace(block="other_embedding") for tensor in patches(config, bias=True))
    if config.flag("use_mid_position_embeddings", default=True):
        table += (Tensor("mid_position_embeddings", "other_embedding", (layers - 1, 1, places, hidden)),)
    seen = Attention(heads, heads, size, causal=False, rotary=False)
    block = layer(
        reader(softmax_attention(hidden, seen, qkv_bias=config.flag("qkv_bias", default=True), out_bias=True)),
        dense(hidden, config.integer("intermediate_size"), gated=False, bias=True),
        *norms(hidden, "layernorm_before", "layernorm_after", bias=True),
        style=GPT_STYLE,
    )
    last: Tensors = ()
    for name, outputs in (("class_labels_classifier", labels_of(config) + 1), ("bbox_predictor", 4)):
        for index, width in enumerate((hidden, hidden, outputs)):
            last += linear(f"{name}.{index}", "head", width, hidden, bias=True)
    return images(config, table, block, last=last)


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
    attention = softmax_attention(hidden, Attention(heads, heads, size, causal=False), qkv_bias=True, out_bias=True)
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
    return images(config, table, block, last=())


def image_head(config: Config, kind: str, hidden: int) -> Tensors:
    """Return what stands behind an encoder of images: its classes, or a pooler, or nothing."""
    named = config.values.get("architectures")
    if isinstance(named, list) and any("ForImageClassification" in str(name) for name in named):
        classes = labels_of(config)
        inputs = 2 * hidden if kind == "dinov2" else hidden  # DINOv2's reads the mean of the patches, too
        return linear("classifier", "head", classes, inputs, bias=True)
    return () if kind == "dinov2" else linear("pooler", "other", hidden, hidden, bias=True)
