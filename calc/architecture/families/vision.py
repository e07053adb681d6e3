"""Towers that see: vision transformers in front of a language model, and what projects their output into it."""

from calc.architecture.blocks import dense, norms, softmax_attention
from calc.architecture.config import MOST_LAYERS, Config
from calc.architecture.layers import Attention
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, Tensor, Tensors, linear, norm

BLOCK = "vision"
VIT = {  # ViT-B/16, as its class has it
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "image_size": 224,
    "patch_size": 16,
}


def transformer(
    config: Config,
    *,
    depth: int,
    attention_bias: bool = True,
    out_bias: bool | None = None,
    mlp_bias: bool = True,
    norm_bias: bool = True,
    gated: bool = False,
    qk_norm: str = "",
    extra: Tensors = (),
    hidden: int | None = None,
    width: int | None = None,
    layer_norms: tuple[str, ...] = ("layer_norm1", "layer_norm2"),
    name: str = "vision.layers",
) -> Tensors:
    """Return the layers of a tower: attention and an MLP, each after a norm; `extra` is more that each layer has."""
    hidden = hidden or config.hidden()
    heads = config.integer("num_attention_heads", "num_heads", "attention_heads", most=2**20)
    kv_heads = config.integer("num_key_value_heads", default=heads)
    if hidden % heads or heads % kv_heads:
        raise config.error("num_attention_heads", f"must divide the hidden size {hidden}, not be {heads}")
    attention = Attention(heads, kv_heads, hidden // heads)
    width = width or config.integer("intermediate_size")
    tensors = softmax_attention(hidden, attention, bias=attention_bias, out_bias=out_bias, qk_norm=qk_norm).tensors
    tensors += dense(hidden, width, gated=gated, bias=mlp_bias).tensors
    tensors += norms(hidden, *layer_norms, bias=norm_bias) + extra
    return tuple(tensor._replace(name=f"{name}.{tensor.name}", block=BLOCK, copies=depth) for tensor in tensors)


def patches(config: Config, *, bias: bool, frames: int = 1, hidden: int | None = None) -> Tensors:
    """Return the convolution that makes a vector of each patch; over several frames of a video where `frames` > 1."""
    hidden, size = hidden or config.hidden(), config.integer("patch_size", most=2**16)
    channels = config.integer("num_channels", "in_channels", "in_chans", default=3, most=2**16)
    time = (frames,) if frames > 1 else ()
    weight = Tensor("vision.patch_embedding.weight", BLOCK, (hidden, channels, *time, size, size))
    return (weight, Tensor("vision.patch_embedding.bias", BLOCK, (hidden,))) if bias else (weight,)


def patch_count(config: Config) -> int:
    """Return into how many patches an image is cut."""
    image, patch = config.integer("image_size", most=2**16), config.integer("patch_size", most=2**16)
    if image < patch:
        raise config.error("patch_size", f"must not be more than the image size {image}, as {patch} is")
    return (image // patch) ** 2


def positions(rows: int, hidden: int) -> Tensor:
    """Return a table of learned positions."""
    return Tensor("vision.position_embedding.weight", BLOCK, (rows, hidden))


def projection(outputs: int, inputs: int, *, bias: bool) -> Tensors:
    """Return the two matrices that most towers end in."""
    tensors = linear("projector.linear_1", BLOCK, outputs, inputs, split=SPLIT_OUT, bias=bias)
    return tensors + linear("projector.linear_2", BLOCK, outputs, outputs, split=SPLIT_IN, bias=bias)


SIGLIP = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "image_size": 224,
    "patch_size": 16,
}


def siglip_tower(config: Config, *, pooling: bool) -> Tensors:
    """Return SigLIP's tower (arXiv:2303.15343); `pooling`: with the attention that makes one vector of an image."""
    config = config.completed(SIGLIP)
    hidden = config.hidden()
    tensors = (*patches(config, bias=True), positions(patch_count(config), hidden))
    tensors += transformer(config, depth=config.layers())
    tensors += norm("vision.post_layernorm", hidden, bias=True, block=BLOCK)
    if pooling:
        width = config.integer("intermediate_size")
        tensors += (Tensor("vision.head.probe", BLOCK, (1, 1, hidden)),)
        tensors += linear("vision.head.in_proj", BLOCK, 3 * hidden, hidden, bias=True)
        tensors += linear("vision.head.out_proj", BLOCK, hidden, hidden, bias=True)
        tensors += norm("vision.head.layernorm", hidden, bias=True, block=BLOCK)
        tensors += linear("vision.head.fc1", BLOCK, width, hidden, bias=True)
        tensors += linear("vision.head.fc2", BLOCK, hidden, width, bias=True)
    return tensors


CLIP = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "image_size": 224,
    "patch_size": 32,
}


def clip_tower(config: Config) -> Tensors:
    """Return CLIP's tower (arXiv:2103.00020): a position more than patches, for the class."""
    config = config.completed(CLIP)
    hidden = config.hidden()
    tensors: Tensors = (Tensor("vision.class_embedding", BLOCK, (hidden,)), *patches(config, bias=False))
    tensors += (positions(patch_count(config) + 1, hidden),)
    tensors += norm("vision.pre_layrnorm", hidden, bias=True, block=BLOCK)
    tensors += transformer(config, depth=config.layers())
    return tensors + norm("vision.post_layernorm", hidden, bias=True, block=BLOCK)


PIXTRAL = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "patch_size": 16,
}


def pixtral_tower(config: Config) -> Tensors:
    """Return Pixtral's tower (arXiv:2410.07073): RMS norms, gated MLPs, rotary positions, no biases."""
    config = config.completed(PIXTRAL)
    tensors = patches(config, bias=False) + norm("vision.ln_pre", config.hidden(), block=BLOCK)
    return tensors + transformer(
        config, depth=config.layers(), attention_bias=False, mlp_bias=False, norm_bias=False, gated=True
    )


def merger(name: str, inputs: int, outputs: int, normed: int, *, norm_bias: bool = True) -> Tensors:
    """Return what makes one vector of several patches for the language model."""
    tensors = norm(f"{name}.norm", normed, bias=norm_bias, block=BLOCK)
    tensors += linear(f"{name}.linear_fc1", BLOCK, inputs, inputs, split=SPLIT_OUT, bias=True)
    return tensors + linear(f"{name}.linear_fc2", BLOCK, outputs, inputs, split=SPLIT_IN, bias=True)


QWEN2 = {"depth": 32, "num_heads": 16, "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2}


def qwen2_tower(config: Config) -> Tensors:
    """Return Qwen 2 VL's tower (arXiv:2409.12191): patches over two frames, LayerNorms, a plain MLP."""
    config = config.completed({**QWEN2, "embed_dim": 1280, "hidden_size": 3584, "mlp_ratio": 4})
    hidden, outputs = config.integer("embed_dim"), config.hidden()
    width = int(config.number("mlp_ratio", default=4.0) * hidden)
    tensors = patches(config, bias=False, frames=config.integer("temporal_patch_size", most=64), hidden=hidden)
    tensors += transformer(config, depth=config.layers("depth"), hidden=hidden, width=max(width, 1))
    return tensors + merger("vision.merger", hidden * merged_patches(config), outputs, hidden)


def qwen2_5_tower(config: Config) -> Tensors:
    """Return Qwen 2.5 VL's tower (arXiv:2502.13923): RMS norms and gated MLPs."""
    config = config.completed({**QWEN2, "hidden_size": 3584, "intermediate_size": 3420, "out_hidden_size": 3584})
    hidden = config.hidden()
    tensors = patches(config, bias=False, frames=config.integer("temporal_patch_size", most=64))
    tensors += transformer(config, depth=config.layers("depth"), norm_bias=False, gated=True)
    outputs, inputs = config.integer("out_hidden_size"), hidden * merged_patches(config)
    return tensors + merger("vision.merger", inputs, outputs, hidden, norm_bias=False)


def merged_patches(config: Config) -> int:
    """Return how many neighbouring patches become one vector."""
    return config.integer("spatial_merge_size", default=2, most=64) ** 2


QWEN3 = {
    **QWEN2,
    "depth": 27,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "patch_size": 16,
    "out_hidden_size": 3584,
    "num_position_embeddings": 2304,
}


def qwen3_tower(config: Config, *, deep: bool) -> Tensors:
    """Return Qwen 3 VL's and 3.5's tower; `deep`: with a merger for some of its layers, too."""
    config = config.completed({**QWEN3, **({"deepstack_visual_indexes": [8, 16, 24]} if deep else {})})
    hidden, outputs = config.hidden(), config.integer("out_hidden_size")
    inputs = hidden * merged_patches(config)
    tensors = patches(config, bias=True, frames=config.integer("temporal_patch_size", most=64))
    tensors += (Tensor("vision.pos_embed.weight", BLOCK, (config.integer("num_position_embeddings"), hidden)),)
    tensors += transformer(config, depth=config.layers("depth"))
    tensors += merger("vision.merger", inputs, outputs, hidden)
    for index in (config.integers("deepstack_visual_indexes") or ())[:MOST_LAYERS]:
        tensors += merger(f"vision.deepstack.{index}", inputs, outputs, inputs)
    return tensors
