"""Families that make one vector of neighbouring patches before a small language model: LFM2 VL and MiniCPM V 4.6."""

from calc.architecture.config import Config
from calc.architecture.families.multimodal import text_of, vision_of, with_tower, with_towers
from calc.architecture.families.vision import BLOCK, patches, positions, siglip_tower, transformer
from calc.architecture.layers import Architecture
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, Tensors, linear, norm

SIGLIP2 = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "patch_size": 16,
    "num_patches": 256,
}


@with_towers("lfm2_vl")
def lfm2_vl(config: Config) -> Architecture:
    """LFM2 VL: SigLIP 2's tower for images of any shape (arXiv:2502.14786), a projection, LFM2's layers."""
    vision, text = vision_of(config).completed(SIGLIP2), text_of(config, "lfm2")
    vision.refuse("vision_use_head", (False,), "no published one makes one vector of an image")
    hidden, outputs = vision.hidden(), text.hidden()
    tower = (*patches(vision, bias=True), positions(vision.integer("num_patches"), hidden))
    tower += transformer(vision, depth=vision.layers()) + norm("vision.post_layernorm", hidden, bias=True, block=BLOCK)
    merged = hidden * config.integer("downsample_factor", default=2, most=64) ** 2
    if config.flag("projector_use_layernorm", default=True):
        tower += norm("projector.layer_norm", merged, bias=True, block=BLOCK)
    inner, bias = config.integer("projector_hidden_size", default=2560), config.flag("projector_bias", default=True)
    tower += linear("projector.linear_1", BLOCK, inner, merged, split=SPLIT_OUT, bias=bias)
    return with_tower(
        config, text, tower + linear("projector.linear_2", BLOCK, outputs, inner, split=SPLIT_IN, bias=bias)
    )


def window_merger(vision: Config) -> Tensors:
    """Return what makes one of four neighbouring vectors within MiniCPM V's tower: attention, and an MLP over four."""
    hidden, width = vision.hidden(), vision.integer("intermediate_size")
    one = Config({**vision.values, "num_hidden_layers": 1})
    block = transformer(one, depth=1, name="vision.vit_merger")
    tensors = tuple(tensor for tensor in block if "self_attn" in tensor.name or "layer_norm1" in tensor.name)
    tensors += norm("vision.vit_merger.pre_norm", 4 * hidden, bias=True, block=BLOCK)
    tensors += linear("vision.vit_merger.linear_1", BLOCK, 4 * width, 4 * hidden, split=SPLIT_OUT, bias=True)
    return tensors + linear("vision.vit_merger.linear_2", BLOCK, hidden, 4 * width, split=SPLIT_IN, bias=True)


@with_towers("minicpmv4_6")
def minicpmv4_6(config: Config) -> Architecture:
    """MiniCPM V 4.6: SigLIP's tower, four of whose vectors become one within and again behind, before Qwen 3.5."""
    config.refuse("merger_times", (1,), "no published one merges more often behind the tower")
    vision, text = vision_of(config), text_of(config, "qwen3_5_text")
    four = 4 * vision.hidden()
    tower = siglip_tower(vision, pooling=False) + window_merger(vision)
    tower += norm("projector.pre_norm", four, bias=True, block=BLOCK)
    tower += linear("projector.linear_1", BLOCK, four, four, split=SPLIT_OUT, bias=True)
    return with_tower(
        config, text, tower + linear("projector.linear_2", BLOCK, text.hidden(), four, split=SPLIT_IN, bias=True)
    )
