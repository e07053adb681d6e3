"""Families whose language model serves several senses: ERNIE 4.5 VL, where images have experts, Qwen's Omni, MiMo."""

from calc.architecture.blocks import dense, mixture, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.families.mixture import expert_counts
from calc.architecture.families.multimodal import text_of, vision_of, with_tower, with_towers
from calc.architecture.families.registry import family
from calc.architecture.families.seeing import QWEN3_ASR, audio_of, qwen3_ear, whisper_layers
from calc.architecture.families.shared_mixture import ERNIE, ernie4_5_moe
from calc.architecture.families.towers import AUDIO
from calc.architecture.families.vision import (
    BLOCK,
    merged_patches,
    patches,
    qwen2_5_tower,
    qwen3_tower,
    transformer,
)
from calc.architecture.layers import Architecture, Attention
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, Tensor, Tensors, linear, norm

OF_IMAGES = "vision_expert"  # the block of experts that stand in the layers, and that text does not pass


@family("ernie4_5_vl_moe_text", defaults={**ERNIE, "moe_intermediate_size": [1536, 512]})
def ernie4_5_vl_moe_text(config: Config) -> Architecture:
    """ERNIE 4.5 VL's language model: text and images have experts of their own, beside those that they share."""
    widths, hidden = config.integers("moe_intermediate_size") or [], config.hidden()
    if len(widths) != 2 or not all(widths):
        raise config.error("moe_intermediate_size", "must be two widths, of the experts of text and of those of images")
    of_text = config.replaced({"moe_intermediate_size": widths[0]})
    experts, active = expert_counts(of_text, "moe_num_experts")
    beside = mixture(hidden, widths[1], (experts, active)).tensors
    beside += (Tensor("mlp.router.e_score_correction_bias", "router", (1, experts)),)
    blocks = {"expert": OF_IMAGES}
    beside = tuple(
        tensor._replace(name=f"vision_{tensor.name}", block=blocks.get(tensor.block, BLOCK), active=None)
        for tensor in beside
    )
    found = ernie4_5_moe(of_text)
    kinds = (
        kind._replace(tensors=kind.tensors + beside) if any(part.active for part in kind.tensors) else kind
        for kind in found.kinds
    )
    return found._replace(kinds=tuple(kinds))


ERNIE_VISION = {
    "depth": 32,
    "hidden_size": 1280,
    "intermediate_size": 5120,
    "num_heads": 16,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_merge_size": 2,
}


@with_towers("ernie4_5_vl_moe")
def ernie4_5_vl_moe(config: Config) -> Architecture:
    """ERNIE 4.5 VL: a tower whose neighbours in space, then in time, become one vector."""
    text, vision = text_of(config, "ernie4_5_vl_moe_text"), vision_of(config).completed(ERNIE_VISION)
    text = text.replaced({"model_type": "ernie4_5_vl_moe_text"})
    hidden, patch = vision.hidden(), vision.integer("patch_size", most=2**10)
    tower = linear("vision.patch_embedding", BLOCK, hidden, 3 * patch**2)
    tower += transformer(vision, depth=vision.layers("depth")) + norm("vision.ln", hidden, bias=True, block=BLOCK)
    wide = hidden * vision.integer("spatial_merge_size", most=64) ** 2
    for name, frames in (("spatial", 1), ("temporal", vision.integer("temporal_merge_size", most=64))):
        tower += linear(f"projector.{name}.fc1", BLOCK, wide, frames * wide, bias=True)
        tower += linear(f"projector.{name}.fc2", BLOCK, wide, wide, bias=True)
        tower += norm(f"projector.{name}.ln", wide, bias=True, block=BLOCK)
    outputs = text.hidden()
    tower += linear("projector.mlp", BLOCK, outputs, wide, bias=True) + norm("projector.norm", outputs, block=BLOCK)
    return with_tower(config, text, tower)


OMNI = {
    "d_model": 1280,
    "encoder_layers": 32,
    "encoder_attention_heads": 20,
    "encoder_ffn_dim": 5120,
    "num_mel_bins": 128,
}


def omni_ear(audio: Config, outputs: int) -> Tensors:
    """Return Qwen 2.5 Omni's encoder of sound: Whisper's layers without a table of positions, and one projection."""
    hidden, bins = audio.integer("d_model"), audio.integer("num_mel_bins", most=2**16)
    heads, width = audio.integer("encoder_attention_heads", most=2**20), audio.integer("encoder_ffn_dim")
    depth = audio.layers("encoder_layers")
    tower: Tensors = (Tensor("audio.bos_eos", AUDIO, (2, outputs)),)
    for index, inputs in enumerate((bins, hidden)):
        tower += (Tensor(f"audio.conv{index}.weight", AUDIO, (hidden, inputs, 3)),)
        tower += (Tensor(f"audio.conv{index}.bias", AUDIO, (hidden,)),)
    tower += whisper_layers(audio, hidden=hidden, depth=depth, heads=heads, width=width, key_bias=False)
    tower += norm("audio.ln_post", hidden, bias=True, block=AUDIO)
    return tower + linear("projector.audio", AUDIO, outputs, hidden, bias=True)


@with_towers("qwen2_5_omni")
def qwen2_5_omni(config: Config) -> Architecture:
    """Qwen 2.5 Omni (arXiv:2503.20215) as engines serve it: what thinks, without what speaks."""
    inner = config.nested("thinker_config") if config.has("thinker_config") else config
    text = text_of(inner, "qwen2").replaced({"model_type": "qwen2"}).completed({"tie_word_embeddings": False})
    ear = omni_ear(audio_of(inner).completed(OMNI), text.hidden())
    return with_tower(config, text, qwen2_5_tower(vision_of(inner)) + ear)


@with_towers("qwen3_omni_moe")
def qwen3_omni_moe(config: Config) -> Architecture:
    """Qwen 3 Omni (arXiv:2509.17765) as engines serve it: what thinks, without what speaks."""
    inner = config.nested("thinker_config") if config.has("thinker_config") else config
    text = text_of(inner, "qwen3_moe").replaced({"model_type": "qwen3_moe"}).completed({"tie_word_embeddings": False})
    ear = qwen3_ear(audio_of(inner).completed(QWEN3_ASR), text.hidden())
    return with_tower(config, text, qwen3_tower(vision_of(inner), deep=True) + ear)


def mimo_tower(vision: Config) -> Tensors:
    """Return MiMo V2.5's tower: heads share keys, and layers with a window have a sink for each head."""
    hidden, outputs, depth = vision.hidden(), vision.integer("out_hidden_size"), vision.layers("depth")
    heads, shared = vision.integer("num_heads", most=2**20), vision.integer("num_key_value_heads", most=2**20)
    attention = Attention(heads, shared, vision.integer("qk_channels", default=64))
    layer = softmax_attention(hidden, attention, bias=True).tensors
    layer += dense(hidden, vision.integer("intermediate_size"), bias=True).tensors + norms(hidden, "norm1", "norm2")
    tower = patches(vision, bias=False, frames=vision.integer("temporal_patch_size", most=64))
    tower += tuple(part._replace(name=f"vision.layers.{part.name}", block=BLOCK, copies=depth) for part in layer)
    if vision.flag("use_sink", default=False):
        whole = vision.integers("fullatt_block_indexes") or ()
        windowed = sum(index not in whole for index in range(depth))
        tower += (Tensor("vision.layers.sinks", BLOCK, (heads,), copies=windowed),)
    merged = hidden * merged_patches(vision)
    tower += norm("vision.merger.norm", hidden, block=BLOCK)
    tower += linear("vision.merger.linear_fc1", BLOCK, merged, merged, split=SPLIT_OUT)
    return tower + linear("vision.merger.linear_fc2", BLOCK, outputs, merged, split=SPLIT_IN)


def mimo_ear(audio: Config) -> Tensors:
    """Return what hears in MiMo V2.5: a table for each code of a moment of sound, Qwen 2's layers, two matrices."""
    audio.refuse("projection_layers", (2,), "no published one projects by another number of matrices")
    audio.refuse("add_post_norm", (True,), "no published one ends without a norm")
    hidden, outputs = audio.integer("input_local_dim"), audio.integer("out_hidden_size")
    heads, size = audio.integer("input_local_attn_heads", most=2**20), audio.integer("input_local_head_dim")
    layer = softmax_attention(hidden, Attention(heads, heads, size), bias=True, out_bias=False).tensors
    layer += dense(hidden, audio.integer("input_local_intermediate_size")).tensors + norms(hidden, "norm1", "norm2")
    depth = audio.layers("input_local_layers")
    tower: Tensors = (Tensor("audio.speech_embeddings.weight", AUDIO, (code_rows(audio), hidden)),)
    tower += tuple(part._replace(name=f"audio.layers.{part.name}", block=AUDIO, copies=depth) for part in layer)
    tower += norm("audio.norm", hidden, block=AUDIO)
    together = hidden * audio.integer("group_size", most=64)
    tower += linear("projector.audio.0", AUDIO, 4 * together, together, split=SPLIT_OUT)
    return tower + linear("projector.audio.2", AUDIO, outputs, 4 * together, split=SPLIT_IN)


def code_rows(audio: Config) -> int:
    """Return the rows of all tables of codes: the config writes one number for all, or each between hyphens."""
    name, channels = "speech_vocab_size", audio.integer("audio_channels", most=2**10)
    sizes = str(audio.values.get(name)).split("-")
    if len(sizes) not in (1, channels) or not all(size.isdecimal() and len(size) < 8 for size in sizes):
        raise audio.error(name, f"must be a number, or one for each of {channels} channels between hyphens")
    return sum(map(int, sizes)) * (channels if len(sizes) == 1 else 1)


@with_towers("mimo_v2")
def mimo_v2(config: Config) -> Architecture:
    """MiMo V2.5 and 2.6: MiMo V2 Flash's layers, and towers that see and hear where the config gives them."""
    text = text_of(config, "mimo_v2_flash")
    tower = mimo_tower(config.nested("vision_config")) if config.has("vision_config") else ()
    if config.has("audio_config"):
        tower += mimo_ear(config.nested("audio_config"))
    whole = with_tower(config, text, tower)
    return whole._replace(fused_groups=text.integer("num_key_value_heads"))
