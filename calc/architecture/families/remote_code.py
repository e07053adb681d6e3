"""Families that see and whose code lies beside their weights: InternVL before its third, Phi 3 vision, Moondream."""

from calc.architecture.config import Config
from calc.architecture.families.dense import phi3
from calc.architecture.families.gpt import phi
from calc.architecture.families.multimodal import vision_of, with_tower, with_towers
from calc.architecture.families.towers import INTERNVL, internvl_tower
from calc.architecture.families.vision import BLOCK, clip_tower, patches, positions, projection, transformer
from calc.architecture.layers import Architecture
from calc.architecture.tensors import Tensor, Tensors, linear, norm


@with_towers("internvl_chat")
def internvl_chat(config: Config) -> Architecture:
    """InternVL 1.5 to 3.5 as first published: its own tower in front of InternLM 2, Qwen or Phi 3."""
    text = config.nested("llm_config")
    vision = vision_of(config).completed(INTERNVL)
    normed = vision.flag("qk_normalization", default=False)
    names = {"attention_bias": vision.flag("qkv_bias", default=True), "use_qk_norm": normed}
    ratio = config.number("downsample_ratio", default=0.5, most=1)
    return with_tower(config, text, internvl_tower(vision.replaced(names), text.hidden(), ratio))


PAGE = {  # CLIP's large tower, which configs name and do not describe
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "image_size": 336,
    "patch_size": 14,
}


@with_towers("phi3_v")
def phi3_v(config: Config) -> Architecture:
    """Phi 3 and 3.5 vision: CLIP's tower, four of whose patches are one, in front of Phi 3 mini."""
    found, hidden = phi3(config), config.hidden()
    tower = clip_tower(Config(PAGE)) + projection(hidden, 4096, bias=True)
    tower += tuple(Tensor(f"vision.{name}", BLOCK, (4096,)) for name in ("glb_GN", "sub_GN"))
    return found._replace(embeddings=found.embeddings + tower)


MOON = {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 24, "num_attention_heads": 32}
MOON_SEES = {
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_hidden_layers": 27,
    "num_attention_heads": 16,
    "patch_size": 14,
    "image_size": 378,
}


@with_towers("moondream1")
def moondream(config: Config) -> Architecture:
    """Moondream 2, whose config names no sizes: SigLIP's layers in front of Phi 1.5, and what finds places."""
    text = Config({**MOON, "model_type": "phi", "vocab_size": 51200, "max_position_embeddings": 2048})
    vision, hidden = Config(MOON_SEES), 2048
    seen, inner = vision.hidden(), 4 * hidden
    tower: Tensors = (*patches(vision, bias=True), positions(729, seen))
    tower += transformer(vision, depth=vision.layers()) + norm("vision.post_ln", seen, bias=True, block=BLOCK)
    tower += linear("vision.proj_mlp.fc1", BLOCK, inner, 2 * seen, bias=True)
    tower += linear("vision.proj_mlp.fc2", BLOCK, hidden, inner, bias=True)
    for name, features, steps in (("coord", 256, 1024), ("size", 512, 2048)):
        tower += linear(f"region.{name}_encoder", BLOCK, hidden, features, bias=True)
        tower += linear(f"region.{name}_decoder.fc1", BLOCK, inner, hidden, bias=True)
        tower += linear(f"region.{name}_decoder.fc2", BLOCK, steps, inner, bias=True)
    tower += (Tensor("region.coord_features", BLOCK, (1, 128)), Tensor("region.size_features", BLOCK, (2, 256)))
    found = phi(text)
    return found._replace(family=config.text("model_type", ""), embeddings=found.embeddings + tower)
