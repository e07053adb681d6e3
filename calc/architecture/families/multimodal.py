"""Families that read more than text: a language model inside a nested config, with towers beside its embeddings."""

from collections.abc import Callable

from calc.architecture.config import Config
from calc.architecture.families.registry import Read, family, read_config
from calc.architecture.families.towers import (
    gemma3n_tower,
    gemma4_tower,
    gemma_audio,
    glm_tower,
    internvl_tower,
    llama4_tower,
    moon_tower,
)
from calc.architecture.families.vision import (
    BLOCK,
    SIGLIP,
    clip_tower,
    pixtral_tower,
    projection,
    qwen2_5_tower,
    qwen2_tower,
    qwen3_tower,
    siglip_tower,
)
from calc.architecture.layers import Architecture
from calc.architecture.tensors import Tensor, Tensors, linear, norm

LLAMA_7B = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
}
QWEN2 = {**LLAMA_7B, "vocab_size": 151936, "intermediate_size": 22016}
GEMMA = {
    "vocab_size": 256000,
    "hidden_size": 3072,
    "intermediate_size": 24576,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "head_dim": 256,
}
# What nested configs leave out because it is the default of the class; configs that stand alone always say it.
LEFT_OUT: dict[str, dict[str, int]] = {
    "llama": LLAMA_7B,
    "mistral": {**LLAMA_7B, "intermediate_size": 14336, "num_key_value_heads": 8},
    "qwen2": QWEN2,
    "qwen3": {**QWEN2, "head_dim": 128},
    "gemma": GEMMA,
    "gemma2": {
        **GEMMA,
        "hidden_size": 2304,
        "intermediate_size": 9216,
        "num_hidden_layers": 26,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
    },
}
NESTED = ("text_config", "vision_config", "audio_config")


OUTER, EITHER, INNER = "outer", "either", "inner"  # whose word on a tied output matrix counts, as in the classes


def text_of(config: Config, text_type: str, tie: str = OUTER) -> Config:
    """Return the language model's config: nested, or in older ones among the outer fields.

    `tie`: whether the outer config decides on the output matrix if it says anything, either may tie it, or the inner
    one decides alone.
    """
    if config.has("text_config"):
        text = config.nested("text_config")
    else:
        text = Config({k: v for k, v in config.values.items() if k not in (*NESTED, "model_type")}, config.field)
    outer = config.values.get("tie_word_embeddings")
    if (tie == OUTER and outer is not None) or (tie == EITHER and outer is True):
        text = text.replaced({"tie_word_embeddings": outer})
    text = text.completed({"model_type": text_type})
    return text.completed(LEFT_OUT.get(text.text("model_type", ""), {}))


def vision_of(config: Config) -> Config:
    """Return the tower's config; one that is not given has the defaults of its class alone."""
    return (
        config.nested("vision_config") if config.has("vision_config") else Config({}, f"{config.field}.vision_config")
    )


def with_tower(config: Config, text: Config, tower: Tensors) -> Architecture:
    """Return the language model with towers beside its embeddings, under the name of the whole."""
    if text.text("model_type", "") in WITH_TOWERS:
        raise text.error("model_type", "must be of a language model, not of one with towers")
    architecture = read_config(text)
    name = config.text("model_type", "")
    return architecture._replace(family=name, embeddings=architecture.embeddings + tower)


WITH_TOWERS: set[str] = set()


def with_towers(*model_types: str) -> Callable[[Read], Read]:
    """Register a family that nests a language model, which must not nest another one."""
    WITH_TOWERS.update(model_types)
    return family(*model_types)


@with_towers("gemma3")
def gemma3(config: Config) -> Architecture:
    """Gemma 3 with SigLIP's tower."""
    vision, text = vision_of(config), text_of(config, "gemma3_text")
    hidden = vision.completed(SIGLIP).hidden()
    tower = siglip_tower(vision, pooling=vision.flag("vision_use_head", default=False))
    tower += (Tensor("projector.mm_input_projection", BLOCK, (hidden, text.integer("hidden_size", default=2304))),)
    tower += norm("projector.mm_soft_emb_norm", hidden, block=BLOCK)
    return with_tower(config, text, tower)


@with_towers("gemma3n")
def gemma3n(config: Config) -> Architecture:
    """Gemma 3n with the towers that see and hear."""
    text = text_of(config, "gemma3n_text")
    hidden = text.integer("hidden_size", default=2048)
    audio = config.nested("audio_config") if config.has("audio_config") else Config({}, f"{config.field}.audio_config")
    tower = gemma3n_tower(vision_of(config), hidden) + gemma_audio(audio, hidden, older=True)
    return with_tower(config, text, tower)


@with_towers("gemma4", "gemma4_unified", "embedding_gemma2")
def gemma4(config: Config) -> Architecture:
    """Gemma 4 and EmbeddingGemma 2 with the towers that the config gives: one that sees, maybe another that hears."""
    embeds = config.text("model_type", "") == "embedding_gemma2"
    text = text_of(config, "embedding_gemma2_text" if embeds else "gemma4_text")
    hidden = text.integer("hidden_size", default=512 if embeds else 2304)
    tower: Tensors = ()
    if config.has("vision_config"):
        tower += gemma4_tower(config.nested("vision_config"), hidden)
    if config.has("audio_config"):
        tower += gemma_audio(config.nested("audio_config"), hidden, older=False)
    return with_tower(config, text, tower)


@with_towers("paligemma")
def paligemma(config: Config) -> Architecture:
    """PaliGemma: Gemma 1 or 2 with SigLIP's tower."""
    vision, text = vision_of(config), text_of(config, "gemma")
    hidden = vision.completed(SIGLIP).hidden()
    tower = siglip_tower(vision, pooling=vision.flag("vision_use_head", default=False))
    outputs = vision.integer("projection_dim", default=text.hidden())
    return with_tower(config, text, tower + linear("projector", BLOCK, outputs, hidden, bias=True))


@with_towers("colpali", "colqwen2")
def colpali(config: Config) -> Architecture:
    """ColPali and ColQwen 2 (arXiv:2407.01449): a model that sees with a narrow vector of each token in place of words.

    All tokens of ColPali see each other, as those of a prompt do in PaliGemma.
    """
    vlm, of_gemma = config.nested("vlm_config"), config.text("model_type", "") == "colpali"
    whole, size = (paligemma if of_gemma else qwen2_vl)(vlm), config.integer("embedding_dim", default=128)
    head = tuple(tensor for tensor in whole.head if tensor.block != "lm_head")
    head += linear("embedding_proj_layer", "head", size, whole.hidden_size, bias=True)
    kinds = tuple(
        kind._replace(attention=kind.attention and kind.attention._replace(causal=not of_gemma), caches=())
        for kind in whole.kinds
    )
    return whole._replace(family=config.text("model_type", ""), kinds=kinds, tied=False, output_size=0, head=head)


MISTRAL_LARGE4 = {"hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 30}  # of its tower


@with_towers("mistral3", "mistral_large4")
def mistral3(config: Config) -> Architecture:
    """Mistral Small 3.1, Ministral 3 and Mistral Large 4: Pixtral's tower, and a merger of two by two patches."""
    large = config.text("model_type", "") == "mistral_large4"
    vision, text = vision_of(config), text_of(config, "mistral_large4_text" if large else "mistral")
    vision = vision.completed(MISTRAL_LARGE4 if large else {})
    hidden = vision.integer("hidden_size", default=1024)
    merged = hidden * config.integer("spatial_merge_size", default=2, most=64) ** 2
    tower = pixtral_tower(vision) + norm("projector.norm", hidden, block=BLOCK)
    tower += linear("projector.merging_layer", BLOCK, hidden, merged)
    bias = config.flag("multimodal_projector_bias", default=False)
    return with_tower(config, text, tower + projection(text.hidden(), hidden, bias=bias))


SEEING = {"clip_vision_model": clip_tower, "pixtral": pixtral_tower}


@with_towers("llava", "llava_next", "llava_onevision")
def llava(config: Config) -> Architecture:
    """LLaVA and Pixtral 12B: CLIP's, SigLIP's or Pixtral's tower, and two matrices that project its output."""
    one = config.text("model_type", "") == "llava_onevision"
    vision, text = vision_of(config), text_of(config, "qwen2" if one else "llama", EITHER)
    kind = vision.text("model_type", "siglip_vision_model" if one else "clip_vision_model")
    if kind == "siglip_vision_model":
        tower = siglip_tower(vision, pooling=vision.flag("vision_use_head", default=not one))
    elif kind in SEEING:
        tower = SEEING[kind](vision)
    else:
        raise vision.error("model_type", f"{kind!r:.60} is not modelled; modelled are {', '.join(SEEING)}")
    inputs = vision.integer("hidden_size", default=768 if kind != "pixtral" else 1024)
    listed = (
        config.integers("vision_feature_layer") if isinstance(config.values.get("vision_feature_layer"), list) else None
    )
    hidden = text.hidden()
    bias = config.flag("multimodal_projector_bias", default=True)
    tower += projection(hidden, inputs * len(listed or [0]), bias=bias)
    if config.text("model_type", "") != "llava":
        tower += (Tensor("image_newline", BLOCK, (hidden,)),)
    return with_tower(config, text, tower)


@with_towers("idefics3", "smolvlm")
def idefics3(config: Config) -> Architecture:
    """Idefics 3 and SmolVLM: SigLIP's tower, and one matrix that projects neighbouring patches."""
    vision, text = vision_of(config), text_of(config, "llama")
    hidden = vision.integer("hidden_size", default=1152)
    scale = config.integer("scale_factor", default=2, most=64)
    vision = vision.completed({"hidden_size": 1152, "num_attention_heads": 16, "patch_size": 32})
    tower = siglip_tower(vision, pooling=False)
    return with_tower(config, text, tower + linear("projector", BLOCK, text.hidden(), hidden * scale**2))


@with_towers("internvl", "interns1")
def internvl(config: Config) -> Architecture:
    """InternVL 3 and Intern S1: a tower of their own in front of Qwen."""
    text = text_of(config, "qwen2")
    ratio = config.number("downsample_ratio", default=0.5, most=1)
    return with_tower(config, text, internvl_tower(vision_of(config), text.hidden(), ratio))


@with_towers("qwen2_vl")
def qwen2_vl(config: Config) -> Architecture:
    """Qwen 2 VL."""
    return with_tower(config, text_of(config, "qwen2_vl_text", EITHER), qwen2_tower(vision_of(config)))


@with_towers("qwen2_5_vl")
def qwen2_5_vl(config: Config) -> Architecture:
    """Qwen 2.5 VL."""
    return with_tower(config, text_of(config, "qwen2_5_vl_text", EITHER), qwen2_5_tower(vision_of(config)))


@with_towers("qwen3_vl", "qwen3_vl_moe")
def qwen3_vl(config: Config) -> Architecture:
    """Qwen 3 VL, dense or with experts."""
    text = text_of(config, config.text("model_type", "") + "_text")
    return with_tower(config, text, qwen3_tower(vision_of(config), deep=True))


@with_towers("qwen3_5", "qwen3_5_moe")
def qwen3_5(config: Config) -> Architecture:
    """Qwen 3.5, dense or with experts."""
    text = text_of(config, config.text("model_type", "") + "_text")
    return with_tower(config, text, qwen3_tower(vision_of(config), deep=False))


@with_towers("glm4v", "glm4v_moe")
def glm4v(config: Config) -> Architecture:
    """GLM 4.1V and 4.5V."""
    text = text_of(config, config.text("model_type", "") + "_text", EITHER)
    return with_tower(config, text, glm_tower(vision_of(config)))


@with_towers("kimi_k25", "kimi_vl")
def kimi(config: Config) -> Architecture:
    """Kimi K2.5 and Kimi VL: MoonViT in front of DeepSeek V3's layout."""
    text = text_of(config, "deepseek_v3")
    return with_tower(config, text, moon_tower(vision_of(config), text.hidden()))


@with_towers("llama4")
def llama4(config: Config) -> Architecture:
    """Llama 4 with its tower."""
    text = text_of(config, "llama4_text", INNER)
    return with_tower(config, text, llama4_tower(vision_of(config), text.integer("hidden_size", default=5120)))
