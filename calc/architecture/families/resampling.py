"""Families that ask an image a fixed number of questions, or each window of its patches one: MiniCPM V and Molmo 2."""

from calc.architecture.config import Config
from calc.architecture.families.multimodal import text_of, vision_of, with_tower, with_towers
from calc.architecture.families.vision import BLOCK, patches, positions, siglip_tower, transformer
from calc.architecture.layers import Architecture
from calc.architecture.tensors import Tensor, Tensors, linear, norm

WRITERS = {"2.5": "llama", "2.6": "qwen2", "4.0": "llama", "4.5": "qwen3"}  # what writes, which configs do not name
MINICPM_SEES = {
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_hidden_layers": 27,
    "num_attention_heads": 16,
    "image_size": 980,
    "patch_size": 14,
}


@with_towers("minicpmv")
def minicpmv(config: Config) -> Architecture:
    """MiniCPM V 2.5 to 4.5 (arXiv:2408.01800): SigLIP's tower, and questions that attend to what it saw."""
    version = config.number("version", default=0.0)
    if f"{version:.1f}" not in WRITERS:
        raise config.error("version", f"must be one of {', '.join(WRITERS)}: what writes in others is not known")
    text = text_of(config, WRITERS[f"{version:.1f}"])
    vision, hidden = vision_of(config).completed(MINICPM_SEES), text.hidden()
    tower = siglip_tower(vision, pooling=False)
    tower += (Tensor("resampler.query", BLOCK, (config.integer("query_num"), hidden)),)
    tower += linear("resampler.kv_proj", BLOCK, hidden, vision.hidden())
    for name in ("in_q", "in_k", "in_v", "out"):
        tower += linear(f"resampler.attn.{name}", BLOCK, hidden, hidden, bias=True)
    for name in ("ln_q", "ln_kv", "ln_post"):
        tower += norm(f"resampler.{name}", hidden, bias=True, block=BLOCK)
    return with_tower(config, text, (*tower, Tensor("resampler.proj", BLOCK, (hidden, hidden))))


MOLMO_SEES = {
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_hidden_layers": 25,
    "num_attention_heads": 16,
    "patch_size": 14,
    "num_position_embeddings": 729,
}


@with_towers("molmo2")
def molmo2(config: Config) -> Architecture:
    """Molmo 2 on Qwen 3: SigLIP's layers, attention that makes one vector of a window's patches, and a gated MLP."""
    vision, text = vision_of(config).completed(MOLMO_SEES), text_of(config, "qwen3").replaced({"model_type": "qwen3"})
    adapter, hidden = config.nested("adapter_config"), vision.hidden()
    seen = hidden * len(adapter.integers("vision_feature_layer") or (0, 0))
    tower: Tensors = (*patches(vision, bias=True), positions(vision.integer("num_position_embeddings"), hidden))
    tower += transformer(vision, depth=vision.layers())
    for name, inputs in (("q", seen), ("k", seen), ("v", seen), ("o", hidden)):
        tower += linear(f"adapter.pooling.{name}_proj", BLOCK, hidden, inputs, bias=True)
    width = adapter.integer("intermediate_size")
    for name in ("gate", "up"):
        tower += linear(f"adapter.projector.{name}_proj", BLOCK, width, hidden)
    tower += linear("adapter.projector.down_proj", BLOCK, text.hidden(), width)
    spare = text.integer("additional_vocab_size", default=128)
    tower += (Tensor("embed_tokens.additional", "other_embedding", (spare, text.hidden())),)
    return with_tower(config, text, tower)
