"""LFM3 VL: a tower of gated convolutions over the grid of patches with some attention, in front of LFM3."""

from calc.architecture.blocks import dense, norms
from calc.architecture.config import Config
from calc.architecture.decoders import FULL
from calc.architecture.families.multimodal import text_of, vision_of, with_tower, with_towers
from calc.architecture.families.vision import BLOCK, transformer
from calc.architecture.layers import Architecture
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, Tensor, Tensors, linear, norm

LFM3_VL = {
    "hidden_size": 1024,
    "intermediate_size": 2560,
    "num_hidden_layers": 14,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "patch_size": 16,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "conv_kernel_size": 3,
}
AROUND = ("operator_norm", "ffn_norm")


def convolving(vision: Config, depth: int) -> Tensors:
    """Return layers whose patches are mixed by a convolution over each channel, between two gates."""
    hidden, kernel = vision.hidden(), vision.integer("conv_kernel_size", most=2**10)
    tensors = linear("conv.in_proj", BLOCK, 3 * hidden, hidden, split=SPLIT_OUT)
    tensors += (Tensor("conv.spatial_conv.weight", BLOCK, (hidden, 1, kernel, kernel)),)
    tensors += linear("conv.out_proj", BLOCK, hidden, hidden, split=SPLIT_IN)
    tensors += dense(hidden, vision.integer("intermediate_size")).tensors + norms(hidden, *AROUND)
    return tuple(tensor._replace(name=f"vision.conv.{tensor.name}", block=BLOCK, copies=depth) for tensor in tensors)


@with_towers("lfm3_vl")
def lfm3_vl(config: Config) -> Architecture:
    """LFM3 VL: every second layer of the tower has attention but for the first; four patches become one token."""
    vision, text = vision_of(config).completed(LFM3_VL), text_of(config, "lfm3")
    hidden, layers = vision.hidden(), vision.layers()
    types = vision.texts("layer_types", layers) or ["conv" if i < 2 or i % 2 else FULL for i in range(layers)]
    inputs = 3 * vision.integer("temporal_patch_size", most=64) * vision.integer("patch_size", most=2**12) ** 2
    tower: Tensors = linear("vision.patch_embed", BLOCK, hidden, inputs)
    tower += norm("vision.embedding_norm", hidden, block=BLOCK)
    tower += convolving(vision, layers - types.count(FULL))
    if FULL in types:
        tower += transformer(
            vision,
            depth=types.count(FULL),
            attention_bias=False,
            mlp_bias=False,
            norm_bias=False,
            gated=True,
            qk_norm="head",
            layer_norms=AROUND,
        )
    inner, bias = config.integer("projector_hidden_size", default=4096), config.flag("projector_bias", default=True)
    merged = hidden * vision.integer("spatial_merge_size", most=64) ** 2
    tower += norm("projector.layer_norm", hidden, bias=True, block=BLOCK)
    tower += linear("projector.linear_1", BLOCK, inner, merged, split=SPLIT_OUT, bias=bias)
    tower += linear("projector.linear_2", BLOCK, text.hidden(), inner, split=SPLIT_IN, bias=bias)
    return with_tower(config, text, tower)
