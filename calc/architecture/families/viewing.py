"""Families that see, whose tower and language model are of known kinds: Cohere's, EXAONE 4.5, Idefics 2, GOT OCR."""

from calc.architecture.config import Config
from calc.architecture.families.multimodal import EITHER, INNER, text_of, vision_of, with_tower, with_towers
from calc.architecture.families.reading import sam_tower
from calc.architecture.families.towers import internvl_tower
from calc.architecture.families.vision import BLOCK, qwen2_5_tower, qwen3_tower, siglip_tower
from calc.architecture.layers import Architecture
from calc.architecture.tensors import Tensor, Tensors, linear, norm

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
    vision, text = vision_of(config).completed(COHERE_SEES), text_of(config, "cohere2", INNER)
    inputs = vision.hidden() * config.integer("downsample_factor", default=2, most=64) ** 2
    width = config.integer("alignment_intermediate_size", default=36864)
    tower = siglip_tower(vision, pooling=vision.flag("vision_use_head", default=True))
    tower += linear("projector.linear_1", BLOCK, width, inputs, bias=True)
    return with_tower(config, text, tower + linear("projector.linear_2", BLOCK, text.hidden(), width // 2, bias=True))


@with_towers("cohere_compass")
def cohere_compass(config: Config) -> Architecture:
    """North Micro Vision: Qwen 3 VL's tower with mergers for some of its layers, in front of Command R's layout."""
    text = text_of(config, "cohere_compass_text", INNER)
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


IDEFICS2_SEES = {"hidden_size": 768, "patch_size": 32, "image_size": 224}
PERCEIVER = {
    "resampler_n_latents": 64,
    "resampler_depth": 3,
    "resampler_n_heads": 16,
    "resampler_head_dim": 96,
    "num_key_value_heads": 4,
}


@with_towers("idefics2")
def idefics2(config: Config) -> Architecture:
    """Idefics 2 (arXiv:2405.02246): SigLIP's tower, a gated MLP, and learned questions that attend to what it saw."""
    vision, text = vision_of(config).completed(IDEFICS2_SEES), text_of(config, "mistral")
    asked = (config.nested("perceiver_config") if config.has("perceiver_config") else Config({})).completed(PERCEIVER)
    hidden, depth = text.hidden(), asked.integer("resampler_depth", most=1000)
    size = asked.integer("resampler_head_dim")
    query, keys = (size * asked.integer(name, most=2**20) for name in ("resampler_n_heads", "num_key_value_heads"))
    tower = siglip_tower(vision, pooling=False)
    tower += gated_mlp("connector", vision.hidden(), text.integer("intermediate_size"), hidden)
    tower += (Tensor("resampler.latents", BLOCK, (asked.integer("resampler_n_latents"), hidden)),)
    for name, outputs, inputs in (("q", query, hidden), ("k", keys, hidden), ("v", keys, hidden), ("o", hidden, query)):
        tower += linear(f"resampler.layers.{name}_proj", BLOCK, outputs, inputs, copies=depth)
    tower += gated_mlp("resampler.layers", hidden, 4 * hidden, hidden, copies=depth)
    tower += norm("resampler.layers.norms", hidden, block=BLOCK, copies=3 * depth)
    return with_tower(config, text, tower + norm("resampler.norm", hidden, block=BLOCK))


def gated_mlp(name: str, inputs: int, width: int, outputs: int, *, copies: int = 1) -> Tensors:
    """Return a gated MLP that may end in another width than it begins with."""
    tensors = linear(f"{name}.gate_proj", BLOCK, width, inputs, copies=copies)
    tensors += linear(f"{name}.up_proj", BLOCK, width, inputs, copies=copies)
    return tensors + linear(f"{name}.down_proj", BLOCK, outputs, width, copies=copies)


@with_towers("got_ocr2")
def got_ocr2(config: Config) -> Architecture:
    """GOT OCR 2 (arXiv:2409.01704): Segment Anything's tower with a neck, in front of Qwen 2's small layers."""
    text = text_of(config, "qwen2", EITHER)
    hidden = text.hidden()
    return with_tower(config, text, sam_tower(hidden) + linear("projector", BLOCK, hidden, hidden, bias=True))
