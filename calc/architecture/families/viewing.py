"""Families that see, whose tower and language model are both of a known kind: Cohere's, EXAONE 4.5, Qianfan OCR."""

from calc.architecture.config import Config
from calc.architecture.families.multimodal import text_of, vision_of, with_tower, with_towers
from calc.architecture.families.towers import internvl_tower
from calc.architecture.families.vision import BLOCK, qwen2_5_tower, qwen3_tower, siglip_tower
from calc.architecture.layers import Architecture
from calc.architecture.tensors import linear

COHERE_SEES = {
    "hidden_size": 1152,
    "intermediate_size": 3072,
    "image_size": 512,
    "num_hidden_layers": 27,
    "num_attention_heads": 12,
}


@with_towers("cohere2_vision")
def cohere2_vision(config: Config) -> Architecture:
    """Aya Vision's successor, Command A Vision and Command A+: SigLIP's tower, and a gated MLP of four patches."""
    vision, text = vision_of(config).completed(COHERE_SEES), text_of(config, "cohere2", "inner")
    inputs = vision.hidden() * config.integer("downsample_factor", default=2, most=64) ** 2
    width = config.integer("alignment_intermediate_size", default=36864)
    tower = siglip_tower(vision, pooling=vision.flag("vision_use_head", default=True))
    tower += linear("projector.linear_1", BLOCK, width, inputs, bias=True)
    return with_tower(config, text, tower + linear("projector.linear_2", BLOCK, text.hidden(), width // 2, bias=True))


@with_towers("cohere_compass")
def cohere_compass(config: Config) -> Architecture:
    """North Micro Vision: Qwen 3 VL's tower with mergers for some of its layers, in front of Command R's layout."""
    text = text_of(config, "cohere_compass_text", "inner")
    return with_tower(config, text, qwen3_tower(vision_of(config), deep=True))


@with_towers("exaone4_5")
def exaone4_5(config: Config) -> Architecture:
    """EXAONE 4.5: Qwen 2.5 VL's tower with fewer KV heads, in front of EXAONE 4."""
    vision, text = vision_of(config), text_of(config, "exaone4").replaced({"model_type": "exaone4"})
    return with_tower(config, text, qwen2_5_tower(vision.completed({"num_key_value_heads": 8})))


@with_towers("qianfan_ocr")
def qianfan_ocr(config: Config) -> Architecture:
    """Qianfan OCR: InternVL's tower in front of Qwen 3."""
    vision = vision_of(config).completed({"attention_bias": True})
    ratio = config.number("downsample_ratio", default=0.5, most=1)
    text = text_of(config, "qwen3")
    return with_tower(config, text, internvl_tower(vision, text.hidden(), ratio))
