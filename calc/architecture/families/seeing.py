"""Families of single makers that read pages, images or sound in front of a language model of a known layout."""

from calc.architecture.blocks import norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import LLAMA_NORMS, every, llama_like
from calc.architecture.families.multimodal import text_of, vision_of, with_tower, with_towers
from calc.architecture.families.registry import family
from calc.architecture.families.towers import AUDIO
from calc.architecture.families.vision import (
    BLOCK,
    patch_count,
    patches,
    positions,
    projection,
    siglip_tower,
    transformer,
)
from calc.architecture.layers import Architecture, Attention
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, Tensor, Tensors, linear, norm

GLM_OCR = {
    "depth": 24,
    "hidden_size": 1024,
    "num_heads": 16,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "out_hidden_size": 1536,
    "intermediate_size": 4096,
}


def glm_page_tower(config: Config) -> Tensors:
    """Return the tower of GLM OCR and GLM 5.3 Flash: RMS norms, gated MLPs with biases, a merger as in GLM 4.1V."""
    config = config.completed(GLM_OCR)
    hidden, outputs = config.hidden(), config.integer("out_hidden_size")
    width = config.integer("projection_intermediate_size", default=3 * outputs)
    merge = config.integer("spatial_merge_size", most=64)
    heads = config.integer("num_heads", most=2**20)
    tensors = patches(config, bias=True, frames=config.integer("temporal_patch_size", most=64))
    extra = tuple(tensor for name in "qk" for tensor in norm(f"{name}_norm", max(hidden // heads, 1), block=BLOCK))
    tensors += transformer(config, depth=config.layers("depth"), norm_bias=False, gated=True, extra=extra)
    tensors += norm("vision.post_layernorm", hidden, block=BLOCK)
    tensors += (Tensor("vision.downsample.weight", BLOCK, (outputs, hidden, merge, merge)),)
    tensors += (Tensor("vision.downsample.bias", BLOCK, (outputs,)),)
    tensors += linear("vision.merger.proj", BLOCK, outputs, outputs)
    tensors += norm("vision.merger.norm", outputs, bias=True, block=BLOCK)
    for name in ("gate_proj", "up_proj"):
        tensors += linear(f"vision.merger.{name}", BLOCK, width, outputs, split=SPLIT_OUT)
    return tensors + linear("vision.merger.down_proj", BLOCK, outputs, width, split=SPLIT_IN)


@with_towers("glm_ocr")
def glm_ocr(config: Config) -> Architecture:
    """GLM OCR: a page in front of GLM 4's layers without biases."""
    text = text_of(config, "glm_ocr_text")
    return with_tower(
        config, text.replaced({"model_type": "glm4", "attention_bias": False}), glm_page_tower(vision_of(config))
    )


@with_towers("glm5_next")
def glm5_next(config: Config) -> Architecture:
    """GLM 5.3 Flash with its tower."""
    text = text_of(config, "glm5_next_text")
    return with_tower(
        config, text, glm_page_tower(vision_of(config).completed({"projection_intermediate_size": 10240}))
    )


PADDLE = {
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_hidden_layers": 27,
    "num_attention_heads": 16,
    "image_size": 384,
    "patch_size": 14,
}


@with_towers("paddleocr_vl")
def paddleocr_vl(config: Config) -> Architecture:
    """PaddleOCR-VL (arXiv:2510.14528): SigLIP's tower in front of ERNIE 4.5, with an output matrix of its own."""
    vision = vision_of(config).completed(PADDLE)
    text = text_of(config, "ernie4_5")
    text = text.replaced({"model_type": "ernie4_5"}).completed({"tie_word_embeddings": False})
    hidden, four = vision.hidden(), 4 * vision.hidden()
    tower = siglip_tower(vision, pooling=False) + norm("projector.pre_norm", hidden, bias=True, block=BLOCK)
    tower += linear("projector.linear_1", BLOCK, four, four, split=SPLIT_OUT, bias=True)
    return with_tower(
        config, text, tower + linear("projector.linear_2", BLOCK, text.hidden(), four, split=SPLIT_IN, bias=True)
    )


MUSE = {
    "hidden_size": 1536,
    "intermediate_size": 8960,
    "num_hidden_layers": 50,
    "num_attention_heads": 16,
}


def whisper_layers(config: Config, *, hidden: int, depth: int, heads: int, width: int, key_bias: bool) -> Tensors:
    """Return layers of an encoder of sound as Whisper has them (arXiv:2212.04356)."""
    if hidden % heads:
        raise config.error("encoder_attention_heads", f"must divide the hidden size {hidden}, not be {heads}")
    attention = Attention(heads, heads, hidden // heads, causal=False, rotary=False)
    tensors = softmax_attention(hidden, attention, bias=True).tensors
    if not key_bias:
        tensors = tuple(tensor for tensor in tensors if not tensor.name.endswith("k_proj.bias"))
    tensors += linear("fc1", AUDIO, width, hidden, split=SPLIT_OUT, bias=True)
    tensors += linear("fc2", AUDIO, hidden, width, split=SPLIT_IN, bias=True)
    tensors += norms(hidden, "self_attn_layer_norm", "final_layer_norm", bias=True)
    return tuple(tensor._replace(name=f"audio.{tensor.name}", block=AUDIO, copies=depth) for tensor in tensors)


def audio_of(config: Config) -> Config:
    """Return the config of what hears; one that is not given has the defaults of its class alone."""
    if config.has("audio_config"):
        return config.nested("audio_config")
    return Config({}, f"{config.field}.audio_config")


QWEN3_ASR = {
    "d_model": 1024,
    "encoder_layers": 24,
    "encoder_attention_heads": 16,
    "encoder_ffn_dim": 4096,
    "num_mel_bins": 128,
    "downsample_hidden_size": 480,
}


def qwen3_ear(audio: Config, text_hidden: int) -> Tensors:
    """Return Qwen 3's encoder of sound: convolutions over a spectrogram, Whisper's layers, two matrices."""
    hidden, depth = audio.integer("d_model"), audio.layers("encoder_layers")
    heads, width = audio.integer("encoder_attention_heads", most=2**20), audio.integer("encoder_ffn_dim")
    channels, bins = audio.integer("downsample_hidden_size"), audio.integer("num_mel_bins", most=2**16)
    tower: Tensors = ()
    for index, inputs in enumerate((1, channels, channels)):
        tower += (Tensor(f"audio.conv2d{index}.weight", AUDIO, (channels, inputs, 3, 3)),)
        tower += (Tensor(f"audio.conv2d{index}.bias", AUDIO, (channels,)),)
    tower += linear("audio.conv_out", AUDIO, hidden, channels * -(-bins // 8))
    tower += whisper_layers(audio, hidden=hidden, depth=depth, heads=heads, width=width, key_bias=True)
    tower += norm("audio.ln_post", hidden, bias=True, block=AUDIO)
    tower += linear("projector.linear_1", AUDIO, hidden, hidden, bias=True)
    outputs = audio.integer("output_dim", default=text_hidden)
    return tower + linear("projector.linear_2", AUDIO, outputs, hidden, bias=True)


@with_towers("qwen3_asr")
def qwen3_asr(config: Config) -> Architecture:
    """Qwen 3 ASR: convolutions over a spectrogram and Whisper's layers in front of Qwen 3."""
    inner = config.nested("thinker_config") if config.has("thinker_config") else config
    text = text_of(inner, "qwen3").replaced({"model_type": "qwen3"})
    return with_tower(config, text, qwen3_ear(audio_of(inner).completed(QWEN3_ASR), text.hidden()))


@with_towers("muse_glimmer")
def muse_glimmer(config: Config) -> Architecture:
    """Muse Glimmer: a tower with positions and an adapter of neighbouring patches in front of a gated decoder."""
    vision, text = vision_of(config).completed(MUSE), text_of(config, "muse_glimmer_text")
    hidden = vision.hidden()
    inputs = (
        3 * vision.integer("patch_size", default=14, most=2**10) ** 2 * vision.integer("temporal_patch_size", default=2)
    )
    tower: Tensors = linear("vision.patch_embedding", BLOCK, hidden, inputs)
    tower += (positions(vision.integer("position_embedding_size", default=1024), hidden),)
    for name in ("ln_pre", "ln_post"):
        tower += norm(f"vision.{name}", hidden, bias=True, block=BLOCK)
    tower += transformer(vision, depth=vision.layers())
    inner = config.integer("vision_adapter_hidden_size", default=4096)
    tower += linear("projector.fc1", BLOCK, inner, 4 * hidden, split=SPLIT_OUT)
    tower += linear("projector.fc2", BLOCK, inner, inner, split=SPLIT_IN)
    return with_tower(config, text, tower + linear("projector.out", BLOCK, text.hidden(), inner))


@family("muse_glimmer_text", defaults={"sliding_window": 2048, "head_dim": 128})
def muse_glimmer_text(config: Config) -> Architecture:
    """Muse Glimmer's decoder: gated attention, norms before and after each block, a window in three of four layers."""
    names = (*LLAMA_NORMS, "pre_feedforward_layernorm", "post_feedforward_layernorm")
    last = config.layers() - 1
    pattern = every(config, lambda layer: (last - layer) % 4 != 0)
    return llama_like(config, gated=True, layer_norms=names, pattern=pattern)


MINIMAX_M3 = {
    "hidden_size": 1280,
    "intermediate_size": 5120,
    "num_hidden_layers": 32,
    "num_attention_heads": 16,
    "patch_size": 14,
}


@with_towers("minimax_m3_vl")
def minimax_m3_vl(config: Config) -> Architecture:
    """MiniMax M3 with its tower: CLIP's layers over two frames, and two pairs of matrices that project and merge."""
    text, vision = (
        text_of(config, "minimax_m3").replaced({"model_type": "minimax_m3"}),
        vision_of(config).completed(MINIMAX_M3),
    )
    hidden, outputs = vision.hidden(), text.hidden()
    tower = patches(vision, bias=False, frames=2) + norm("vision.pre_layrnorm", hidden, bias=True, block=BLOCK)
    tower += transformer(vision, depth=vision.layers()) + projection(outputs, hidden, bias=True)
    merged = projection(outputs, 4 * outputs, bias=True)
    tower += tuple(tensor._replace(name=tensor.name.replace("linear", "merge_linear")) for tensor in merged)
    return with_tower(config, text, tower)


@with_towers("kimi_k3")
def kimi_k3(config: Config) -> Architecture:
    """Kimi K3 with MoonViT in its third make: RMS norms, no biases, heads that are not the hidden size together."""
    text = text_of(config, "kimi_linear")
    text = text.replaced({"model_type": "kimi_k3_text"})
    vision = config.nested("vision_config")
    hidden, inner = vision.integer("vt_hidden_size"), vision.integer("qkv_hidden_size")
    width, depth = vision.integer("vt_intermediate_size"), vision.layers("vt_num_hidden_layers")
    rows = vision.integer("init_pos_emb_height") * vision.integer("init_pos_emb_width")
    layers = linear("qkv", BLOCK, 3 * inner, hidden, split=SPLIT_OUT) + linear(
        "out", BLOCK, hidden, inner, split=SPLIT_IN
    )
    layers += linear("fc1", BLOCK, width, hidden, split=SPLIT_OUT) + linear("fc2", BLOCK, hidden, width, split=SPLIT_IN)
    layers += norms(hidden, "norm1", "norm2")
    tower = (*patches(vision, bias=False, hidden=hidden), positions(rows, hidden))
    tower += tuple(tensor._replace(name=f"vision.layers.{tensor.name}", block=BLOCK, copies=depth) for tensor in layers)
    tower += norm("vision.final_layernorm", hidden, block=BLOCK)
    four, outputs = 4 * hidden, text.hidden()
    tower += linear("projector.linear_1", BLOCK, four, four, split=SPLIT_OUT)
    return with_tower(config, text, tower + linear("projector.linear_2", BLOCK, outputs, four, split=SPLIT_IN))


STEP_VISION = {"width": 1536, "layers": 47, "heads": 16, "image_size": 728, "patch_size": 14, "mlp_ratio": 8960 / 1536}


@with_towers("step3p7", "step_robotics")
def step3p7(config: Config) -> Architecture:
    """Step 3.7 Flash: a tower whose output two convolutions make smaller, before Step 3.5's layers or Qwen3's."""
    vision, text = vision_of(config).completed(STEP_VISION), text_of(config, "step3p5")
    vision = vision.completed({"num_attention_heads": vision.integer("heads", most=2**20)})
    hidden, depth = vision.hidden("width"), vision.layers("layers")
    width = max(int(hidden * vision.number("mlp_ratio", default=4.0, most=64)), 1)
    tower = (*patches(vision, bias=False, hidden=hidden), positions(patch_count(vision), hidden))
    tower += norm("vision.pre_layernorm", hidden, bias=True, block=BLOCK)
    tower += transformer(vision, depth=depth, hidden=hidden, width=width)
    tower += tuple(Tensor(f"vision.layers.lambda_{i}", BLOCK, (hidden,), copies=depth) for i in (1, 2))
    inputs = hidden
    for index in (1, 2):
        tower += (Tensor(f"vision.downsampler{index}.weight", BLOCK, (2 * inputs, inputs, 3, 3)),)
        tower += (Tensor(f"vision.downsampler{index}.bias", BLOCK, (2 * inputs,)),)
        inputs *= 2
    bias = config.flag("projector_bias", default=False)
    return with_tower(
        config, text, tower + linear("projector", BLOCK, text.integer("hidden_size", default=4096), inputs, bias=bias)
    )
