"""Families that see with RADIO (arXiv:2412.07679): Nemotron Nano VL."""

from calc.architecture.config import Config
from calc.architecture.families.multimodal import text_of, vision_of, with_tower, with_towers
from calc.architecture.families.vision import BLOCK, positions, transformer
from calc.architecture.layers import Architecture
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, Tensor, Tensors, linear, norm

HUGE = {  # of the version that published configs only name: a ViT H of patches of 16
    "num_hidden_layers": 32,
    "hidden_size": 1280,
    "num_attention_heads": 16,
    "intermediate_size": 5120,
    "patch_size": 16,
    "max_resolution": 2048,
    "num_tokens": 16,
}


def radio_tower(vision: Config) -> Tensors:
    """Return RADIO's tower: patches by one matrix, places of the largest image, tokens that stand for all of it."""
    vision.refuse("version", ("radio_v2.5-h",), "no other has its sizes at hand")
    vision = vision.completed(HUGE)
    hidden, patch = vision.hidden(), vision.integer("patch_size", most=2**10)
    tower = linear("vision.patch_projection", BLOCK, hidden, 3 * patch**2)
    tower += (positions((vision.integer("max_resolution", most=2**16) // patch) ** 2, hidden),)
    tower += (Tensor("vision.cls_register_token", BLOCK, (vision.integer("num_tokens", most=2**10), hidden)),)
    return tower + transformer(vision, depth=vision.layers())


@with_towers("NemotronH_Nano_VL_V2")
def nemotron_nano_vl(config: Config) -> Architecture:
    """Nemotron Nano VL 12B v2 (arXiv:2511.03929): RADIO, four neighbours as one, before Nemotron H's layers."""
    text = Config({**config.values, "text_config": config.values.get("llm_config")}, config.field)
    text = text_of(text, "nemotron_h")
    vision = vision_of(config)
    merged = 4 * vision.completed(HUGE).hidden()
    inner = config.integer("projector_hidden_size", default=20480)
    tower = radio_tower(vision) + norm("projector.norm", merged, block=BLOCK)
    tower += linear("projector.linear_1", BLOCK, inner, merged, split=SPLIT_OUT)
    return with_tower(config, text, tower + linear("projector.linear_2", BLOCK, text.hidden(), inner, split=SPLIT_IN))
