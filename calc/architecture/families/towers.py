"""Towers of single makers: what sees in Llama 3.2 and 4, GLM, Kimi and Gemma, and what hears in Gemma."""

from calc.architecture.config import MOST_LAYERS, Config
from calc.architecture.families.vision import (
    BLOCK,
    patch_count,
    patches,
    positions,
    projection,
    transformer,
)
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, Tensor, Tensors, linear, norm

AUDIO = "audio"

LLAMA4 = {
    "hidden_size": 768,
    "num_hidden_layers": 34,
    "num_attention_heads": 16,
    "intermediate_size": 5632,
    "vision_output_dim": 7680,
    "image_size": 448,
    "patch_size": 14,
    "projector_input_dim": 4096,
    "projector_output_dim": 4096,
}


def llama4_tower(config: Config, text_hidden: int) -> Tensors:
    """Return Llama 4's tower, the adapter behind it and the projection."""
    config = config.completed(LLAMA4)
    hidden, inner = config.hidden(), config.integer("projector_input_dim")
    tensors: Tensors = (Tensor("vision.class_embedding", BLOCK, (hidden,)), positions(patch_count(config) + 1, hidden))
    tensors += patches(config, bias=False) + transformer(config, depth=config.layers())
    for name in ("layernorm_pre", "layernorm_post"):
        tensors += norm(f"vision.{name}", hidden, bias=True, block=BLOCK)
    tensors += linear("vision.adapter.fc1", BLOCK, inner, config.integer("intermediate_size"), split=SPLIT_OUT)
    outputs = config.integer("projector_output_dim")
    tensors += linear("vision.adapter.fc2", BLOCK, outputs, outputs, split=SPLIT_IN)
    return tensors + linear("projector.linear_1", BLOCK, text_hidden, config.integer("vision_output_dim"))


MLLAMA = {
    "hidden_size": 1280,
    "num_hidden_layers": 32,
    "num_global_layers": 8,
    "attention_heads": 16,
    "intermediate_size": 5120,
    "vision_output_dim": 7680,
    "image_size": 448,
    "patch_size": 14,
    "max_num_tiles": 4,
}
ASPECT_RATIOS = 8  # ways to tile an image that the config lists, unless it says otherwise


def mllama_tower(config: Config, text_hidden: int) -> Tensors:
    """Return Llama 3.2's tower: a transformer over each tile and a gated one over all, tables for ways of tiling."""
    config = config.completed(MLLAMA)
    hidden, tiles = config.hidden(), config.integer("max_num_tiles", most=2**10)
    count = patch_count(config) + 1
    ratios = config.values.get("supported_aspect_ratios")
    rows = (len(ratios) if isinstance(ratios, list) else ASPECT_RATIOS) + 1
    tensors: Tensors = (Tensor("vision.class_embedding", BLOCK, (hidden,)), *patches(config, bias=False))
    tensors += (positions(count, hidden), Tensor("vision.tile_embedding.weight", BLOCK, (rows, tiles * count * hidden)))
    for name in ("pre_tile", "post_tile"):
        tensors += (Tensor(f"vision.{name}.weight", BLOCK, (rows, tiles * hidden)),)
        tensors += (Tensor(f"vision.{name}.gate", BLOCK, (1,)),)
    tensors += (Tensor("vision.position_gate", BLOCK, (1,)),)
    for name in ("layernorm_pre", "layernorm_post"):
        tensors += norm(f"vision.{name}", hidden, bias=True, block=BLOCK)
    gates = tuple(Tensor(name, BLOCK, (1,)) for name in ("gate_attn", "gate_ffn"))
    tensors += transformer(config, depth=config.layers(), attention_bias=False)
    tensors += transformer(
        config, depth=config.layers("num_global_layers"), attention_bias=False, extra=gates, name="vision.global_layers"
    )
    return tensors + linear("projector", BLOCK, text_hidden, config.integer("vision_output_dim"), bias=True)


GLM4V = {
    "depth": 24,
    "hidden_size": 1536,
    "num_heads": 12,
    "image_size": 336,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "out_hidden_size": 4096,
    "intermediate_size": 13696,
}


def glm_tower(config: Config) -> Tensors:
    """Return GLM 4.1V's and 4.5V's tower: gated MLPs, and a merger that is a convolution and an MLP."""
    config = config.completed(GLM4V)
    hidden, outputs, width = config.hidden(), config.integer("out_hidden_size"), config.integer("intermediate_size")
    bias, merge = config.flag("attention_bias", default=False), config.integer("spatial_merge_size", most=64)
    tensors = patches(config, bias=True, frames=config.integer("temporal_patch_size", most=64))
    tensors += (positions(patch_count(config), hidden),)
    tensors += transformer(
        config,
        depth=config.layers("depth"),
        attention_bias=bias,
        out_bias=False,
        mlp_bias=False,
        norm_bias=False,
        gated=True,
        width=outputs,
    )
    for name in ("post_conv_layernorm", "post_layernorm"):
        tensors += norm(f"vision.{name}", hidden, block=BLOCK)
    tensors += (Tensor("vision.downsample.weight", BLOCK, (outputs, hidden, merge, merge)),)
    tensors += (Tensor("vision.downsample.bias", BLOCK, (outputs,)),)
    tensors += linear("vision.merger.proj", BLOCK, outputs, outputs)
    tensors += norm("vision.merger.norm", outputs, bias=True, block=BLOCK)
    for name in ("gate_proj", "up_proj"):
        tensors += linear(f"vision.merger.{name}", BLOCK, width, outputs, split=SPLIT_OUT)
    return tensors + linear("vision.merger.down_proj", BLOCK, outputs, width, split=SPLIT_IN)


MOON = {
    "patch_size": 14,
    "init_pos_emb_height": 64,
    "init_pos_emb_width": 64,
    "num_attention_heads": 16,
    "num_hidden_layers": 27,
    "hidden_size": 1152,
    "intermediate_size": 4304,
}


def moon_tower(config: Config, text_hidden: int) -> Tensors:
    """Return MoonViT (arXiv:2504.07491), Kimi's tower, and its projector of two by two patches."""
    config = config.completed({name: value for name, value in MOON.items() if not config.has(name)})
    hidden = config.integer("hidden_size", "vt_hidden_size")
    rows = config.integer("pos_emb_height", "init_pos_emb_height") * config.integer(
        "pos_emb_width", "init_pos_emb_width"
    )
    four = 4 * hidden
    tensors = (*patches(config, bias=True), positions(rows, hidden))
    tensors += transformer(config, depth=config.layers())
    tensors += norm("vision.final_layernorm", hidden, bias=True, block=BLOCK)
    tensors += norm("projector.pre_norm", hidden, bias=True, block=BLOCK)
    tensors += linear("projector.in_proj", BLOCK, four, four, split=SPLIT_OUT, bias=True)
    return tensors + linear("projector.out_proj", BLOCK, text_hidden, four, split=SPLIT_IN, bias=True)


INTERNVL = {
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
    "image_size": 448,
    "patch_size": 14,
}


def internvl_tower(config: Config, text_hidden: int, ratio: float) -> Tensors:
    """Return InternVL's tower: scales learned for each block, and a projector of neighbouring patches."""
    sizes = {
        name: value[0]
        for name in ("image_size", "patch_size")
        if isinstance(value := config.values.get(name), list) and value
    }
    config = config.replaced(sizes).completed(INTERNVL)
    hidden, bias = config.hidden(), config.flag("attention_bias", default=False)
    inputs = int(hidden / ratio**2) if ratio else hidden
    tensors: Tensors = (Tensor("vision.cls_token", BLOCK, (1, 1, hidden)), *patches(config, bias=True))
    if config.flag("use_absolute_position_embeddings", default=True):
        tensors += (positions(patch_count(config) + 1, hidden),)
    extra = tuple(Tensor(name, BLOCK, (hidden,)) for name in ("lambda_1", "lambda_2"))
    rms = config.text("norm_type", "layer_norm") == "rms_norm"
    normed = "all" if config.flag("use_qk_norm", default=False) else ""
    tensors += transformer(
        config,
        depth=config.layers(),
        attention_bias=bias,
        out_bias=True,
        extra=extra,
        norm_bias=not rms,
        qk_norm=normed,
    )
    if config.flag("use_mask_token", default=False):
        tensors += (Tensor("vision.mask_token", BLOCK, (1, 1, hidden)),)
    if not config.flag("use_mean_pooling", default=True):
        tensors += norm("vision.layernorm", hidden, bias=True, block=BLOCK)
    tensors += norm("projector.layer_norm", inputs, bias=True, block=BLOCK)
    return tensors + projection(text_hidden, inputs, bias=True)


GEMMA4 = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 16,
    "num_attention_heads": 12,
    "patch_size": 16,
    "position_embedding_size": 10240,
}


def gemma4_tower(config: Config, text_hidden: int) -> Tensors:
    """Return Gemma 4's tower: its layers are as those of the language model, positions a table for each direction."""
    config = config.completed(GEMMA4)
    hidden, size = config.hidden(), config.integer("patch_size", most=2**12)
    tensors: Tensors = (
        Tensor("vision.position_embedding_table", BLOCK, (2, config.integer("position_embedding_size"), hidden)),
    )
    tensors += linear("vision.input_proj", BLOCK, hidden, 3 * size * size)
    tensors += transformer(
        config,
        depth=config.layers(),
        attention_bias=False,
        mlp_bias=False,
        norm_bias=False,
        gated=True,
        qk_norm="head",
        layer_norms=("input", "post_attention", "pre_feedforward", "post_feedforward"),
    )
    return tensors + linear("projector", BLOCK, text_hidden, hidden)


MOBILENET_PARAMETERS = 294_126_912  # of timm's mobilenetv5_300m_enc, the one tower that Gemma 3n has


def gemma3n_tower(config: Config, text_hidden: int) -> Tensors:
    """Return Gemma 3n's tower, a convolutional network that the config only names, and its embedder."""
    config.refuse("architecture", ("mobilenetv5_300m_enc",), "no published Gemma 3n has another tower")
    hidden, rows = config.integer("hidden_size", default=2048), config.integer("vocab_size", default=128)
    tensors: Tensors = (Tensor("vision.mobilenet", BLOCK, (MOBILENET_PARAMETERS,)),)
    return tensors + soft_embedder("embed_vision", BLOCK, rows, hidden, text_hidden=text_hidden)


def soft_embedder(name: str, block: str, rows: int, hidden: int, text_hidden: int) -> Tensors:
    """Return what makes Gemma 3n's language model read another kind of token."""
    tensors: Tensors = (Tensor(f"{name}.embedding.weight", block, (rows, hidden)),)
    tensors += norm(f"{name}.hard_embedding_norm", hidden, block=block)
    tensors += norm(f"{name}.soft_embedding_norm", hidden, block=block)
    return tensors + linear(f"{name}.embedding_projection", block, text_hidden, hidden)


def conformer(config: Config, *, hidden: int, depth: int, heads: int) -> Tensors:
    """Return Gemma's conformer (arXiv:2005.08100): two MLPs around attention and a convolution, in each layer."""
    if hidden % heads:
        raise config.error("num_attention_heads", f"must divide the hidden size {hidden}, not be {heads}")
    kernel = config.integer("conv_kernel_size", "conf_conv_kernel_size", default=5, most=2**12)
    tensors: Tensors = (Tensor("attention.per_dim_scale", AUDIO, (hidden // heads,)),)
    for index in ("1", "2"):
        tensors += linear(f"feed_forward{index}.layer_1", AUDIO, 4 * hidden, hidden, split=SPLIT_OUT)
        tensors += linear(f"feed_forward{index}.layer_2", AUDIO, hidden, 4 * hidden, split=SPLIT_IN)
    for name in ("q_proj", "k_proj", "v_proj", "relative_k_proj"):
        tensors += linear(f"attention.{name}", AUDIO, hidden, hidden, split=SPLIT_OUT)
    tensors += linear("attention.post", AUDIO, hidden, hidden, split=SPLIT_IN)
    tensors += linear("lconv1d.linear_start", AUDIO, 2 * hidden, hidden, split=SPLIT_OUT)
    tensors += linear("lconv1d.linear_end", AUDIO, hidden, hidden, split=SPLIT_IN)
    tensors += (Tensor("lconv1d.depthwise.weight", AUDIO, (hidden, 1, kernel)),)
    tensors += norm("norms", hidden, block=AUDIO, copies=NORMS_OF_A_CONFORMER)
    return tuple(
        tensor._replace(name=f"audio.layers.{tensor.name}", copies=depth * tensor.copies) for tensor in tensors
    )


NORMS_OF_A_CONFORMER = 9  # before and after each MLP and the attention, in and before the convolution, and the last


def subsampling(hidden: int, channels: tuple[int, int], features: int) -> Tensors:
    """Return the two convolutions in front of Gemma's conformer, and their projection."""
    first, second = channels
    tensors: Tensors = (Tensor("audio.conv_0.weight", AUDIO, (first, 1, 3, 3)),)
    tensors += norm("audio.conv_0.norm", first, block=AUDIO)
    tensors += (Tensor("audio.conv_1.weight", AUDIO, (second, first, 3, 3)),)
    tensors += norm("audio.conv_1.norm", second, block=AUDIO)
    return tensors + linear("audio.input_proj", AUDIO, hidden, second * features // 4)


def gemma_audio(config: Config, text_hidden: int, *, older: bool) -> Tensors:
    """Return what hears in Gemma 3n (`older`) and 4: convolutions, a conformer, and an embedder."""
    hidden = config.integer("hidden_size", default=1536 if older else 1024)
    depth = config.integer("conf_num_hidden_layers", "num_hidden_layers", default=12, most=MOST_LAYERS)
    heads = config.integer("conf_num_attention_heads", "num_attention_heads", default=8, most=2**20)
    listed = config.integers("sscp_conv_channel_size" if older else "subsampling_conv_channels") or [128, 32]
    if len(listed) != 2:
        raise config.error("subsampling_conv_channels", "must be two numbers of channels")
    features = config.integer("input_feat_size", default=128, most=2**20)
    tensors = subsampling(hidden, (listed[0], listed[1]), features)
    tensors += conformer(config, hidden=hidden, depth=depth, heads=heads)
    if older:
        rows = config.integer("vocab_size", default=128)
        return tensors + soft_embedder("embed_audio", AUDIO, rows, hidden, text_hidden=text_hidden)
    outputs = config.integer("output_proj_dims", default=1536)
    tensors += linear("audio.output_proj", AUDIO, outputs, hidden, bias=True)
    return tensors + linear("embed_audio.embedding_projection", AUDIO, text_hidden, outputs)
