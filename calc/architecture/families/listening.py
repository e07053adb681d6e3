"""Families that hear in front of a language model: Whisper's encoder, or one made like it, and a projection."""

from calc.architecture.blocks import norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.families.dense import mistral
from calc.architecture.families.multimodal import text_of, with_tower, with_towers
from calc.architecture.families.registry import family
from calc.architecture.families.seeing import audio_of, whisper_layers
from calc.architecture.families.towers import AUDIO
from calc.architecture.layers import Architecture, Attention
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, Tensor, Tensors, linear, norm

WHISPER = {
    "hidden_size": 1280,
    "intermediate_size": 5120,
    "num_hidden_layers": 32,
    "num_attention_heads": 20,
    "num_mel_bins": 128,
}
POSITIONS = 1500  # of half a minute of sound, where the config does not say


def spectrogram(audio: Config) -> Tensors:
    """Return the two convolutions over a spectrogram that Whisper's encoder begins with (arXiv:2212.04356)."""
    tensors: Tensors = ()
    for index, inputs in enumerate((audio.integer("num_mel_bins", most=2**16), audio.hidden())):
        tensors += (Tensor(f"audio.conv{index}.weight", AUDIO, (audio.hidden(), inputs, 3)),)
        tensors += (Tensor(f"audio.conv{index}.bias", AUDIO, (audio.hidden(),)),)
    return tensors


def whisper_ear(audio: Config, *, places: bool = True) -> Tensors:
    """Return Whisper's encoder; `places`: with its table of positions, in place of which others rotate."""
    hidden, heads = audio.hidden(), audio.integer("num_attention_heads", most=2**20)
    tensors = spectrogram(audio)
    if places:
        rows = audio.integer("max_source_positions", default=POSITIONS)
        tensors += (Tensor("audio.embed_positions.weight", AUDIO, (rows, hidden)),)
    width = audio.integer("intermediate_size")
    tensors += whisper_layers(audio, hidden=hidden, depth=audio.layers(), heads=heads, width=width, key_bias=False)
    return tensors + norm("audio.layer_norm", hidden, bias=True, block=AUDIO)


def four_together(audio: Config, outputs: int) -> Tensors:
    """Return Voxtral's projection, which makes one vector of four; Whisper's MLP is four times as wide as a vector."""
    tensors = linear("projector.linear_1", AUDIO, outputs, audio.integer("intermediate_size"), split=SPLIT_OUT)
    return tensors + linear("projector.linear_2", AUDIO, outputs, outputs, split=SPLIT_IN)


@with_towers("voxtral")
def voxtral(config: Config) -> Architecture:
    """Voxtral (arXiv:2507.13264): Whisper's encoder in front of Mistral, four of its vectors together."""
    text, audio = text_of(config, "llama"), audio_of(config).completed(WHISPER)
    return with_tower(config, text, whisper_ear(audio) + four_together(audio, text.hidden()))


@with_towers("glmasr")
def glmasr(config: Config) -> Architecture:
    """GLM ASR: Whisper's encoder with rotary positions in front of Llama's layers, four of its vectors together."""
    text, audio = text_of(config, "llama"), audio_of(config).completed(WHISPER)
    outputs, width = text.hidden(), audio.integer("intermediate_size")
    tower = whisper_ear(audio, places=False)
    tower += linear("projector.linear_1", AUDIO, 2 * outputs, width, split=SPLIT_OUT, bias=True)
    return with_tower(
        config, text, tower + linear("projector.linear_2", AUDIO, outputs, 2 * outputs, split=SPLIT_IN, bias=True)
    )


@with_towers("qwen2_audio")
def qwen2_audio(config: Config) -> Architecture:
    """Qwen 2 Audio (arXiv:2407.10759): Whisper's encoder in front of Qwen's layers."""
    text, audio = text_of(config, "qwen2"), audio_of(config)
    text = text.completed({"tie_word_embeddings": False})
    written = {"d_model": "hidden_size", "encoder_ffn_dim": "intermediate_size", "encoder_layers": "num_hidden_layers"}
    written["encoder_attention_heads"] = "num_attention_heads"
    audio = audio.replaced({ours: audio.values[name] for name, ours in written.items() if audio.has(name)})
    audio = audio.completed(WHISPER)
    return with_tower(
        config, text, whisper_ear(audio) + linear("projector", AUDIO, text.hidden(), audio.hidden(), bias=True)
    )


@with_towers("audioflamingo3")
def audioflamingo3(config: Config) -> Architecture:
    """Audio Flamingo 3 (arXiv:2507.08128): Whisper's encoder in front of Qwen's layers, with an MLP between."""
    text, audio = text_of(config, "qwen2"), audio_of(config).completed(WHISPER)
    bias, inputs, outputs = config.flag("projector_bias", default=True), audio.hidden(), text.hidden()
    tower = whisper_ear(audio) + linear("projector.linear_1", AUDIO, outputs, inputs, split=SPLIT_OUT, bias=bias)
    tower += linear("projector.linear_2", AUDIO, outputs, outputs, split=SPLIT_IN, bias=bias)
    return with_tower(config, text, tower)


REALTIME = {**WHISPER, "num_attention_heads": 32, "head_dim": 64}
DELAYS = 32  # width of what tells the layers how long to wait, the same in the class for all


@with_towers("voxtral_realtime")
def voxtral_realtime(config: Config) -> Architecture:
    """Voxtral Realtime: an encoder that hears as it goes, gated and rotary; the layers behind know their delay."""
    text = text_of(config, "voxtral_realtime_text").replaced({"model_type": "voxtral_realtime_text"})
    audio = audio_of(config).completed(REALTIME)
    hidden, heads, size = audio.hidden(), audio.integer("num_attention_heads", most=2**20), audio.integer("head_dim")
    width = audio.integer("intermediate_size")
    attention = softmax_attention(hidden, Attention(heads, heads, size), bias=True).tensors
    layers = tuple(tensor for tensor in attention if not tensor.name.endswith("k_proj.bias"))
    for name in ("gate_proj", "up_proj"):
        layers += linear(f"mlp.{name}", AUDIO, width, hidden, split=SPLIT_OUT)
    layers += linear("mlp.down_proj", AUDIO, hidden, width, split=SPLIT_IN, bias=True)
    layers += norms(hidden, "self_attn_layer_norm", "final_layer_norm")
    tower = spectrogram(audio)
    tower += tuple(
        tensor._replace(name=f"audio.{tensor.name}", block=AUDIO, copies=audio.layers()) for tensor in layers
    )
    tower += norm("audio.norm", hidden, block=AUDIO)
    return with_tower(config, text, tower + four_together(audio, text.hidden()))


@family("voxtral_realtime_text", defaults={"vocab_size": 131072, "head_dim": 128})
def voxtral_realtime_text(config: Config) -> Architecture:
    """Voxtral Realtime's decoder: Mistral's layers, each of which is scaled by what it knows of the delay."""
    found, hidden = mistral(config), config.hidden()
    delay = linear("ada_rms_norm.linear1", "layer_other", DELAYS, hidden)
    delay += linear("ada_rms_norm.linear2", "layer_other", hidden, DELAYS)
    return found._replace(kinds=tuple(kind._replace(tensors=kind.tensors + delay) for kind in found.kinds))


CODEC = {"num_filters": 32, "kernel_size": 7, "ffn_expansion": 4, "channels": 1}
SHORTENED, DEPTHS = [2, 2, 4, 5, 5, 8], [3, 3, 3, 3, 3, 3, 8]  # of each stage; the first shortens nothing


def convolved(name: str, outputs: int, inputs: int, kernel: int) -> Tensors:
    """Return a convolution over time, with its bias."""
    weight = Tensor(f"audio.{name}.weight", AUDIO, (outputs, inputs, kernel))
    return (weight, Tensor(f"audio.{name}.bias", AUDIO, (outputs,)))


def sound_codec(config: Config, name: str, latent: int) -> Tensors:
    """Return the half of VibeVoice's codec that hears: stages of ConvNeXt over a waveform, each twice as wide."""
    config = config.completed({**CODEC, "hidden_size": latent})
    ratios, depths = config.integers("downsampling_ratios") or SHORTENED, config.integers("depths") or DEPTHS
    if len(depths) != len(ratios) + 1:
        raise config.error("depths", f"must have one more than the {len(ratios)} downsampling_ratios")
    kernel, times = config.integer("kernel_size", most=1000), config.integer("ffn_expansion", most=1000)
    width = config.integer("num_filters", most=2**16)
    tensors = convolved(f"{name}.stem", width, config.integer("channels", most=1000), kernel)
    for stage, depth in enumerate(depths):
        if stage:
            width *= 2
            tensors += convolved(f"{name}.{stage}.shorten", width, width // 2, 2 * ratios[stage - 1])
        block = convolved(f"{name}.{stage}.mixer", width, 1, kernel)
        block += linear(f"{name}.{stage}.linear1", AUDIO, times * width, width, bias=True)
        block += linear(f"{name}.{stage}.linear2", AUDIO, width, times * width, bias=True)
        for scale in ("norm", "ffn_norm", "gamma", "ffn_gamma"):
            block += (Tensor(f"audio.{name}.{stage}.{scale}", AUDIO, (width,)),)
        tensors += tuple(tensor._replace(copies=depth) for tensor in block)
    return tensors + convolved(f"{name}.head", config.hidden(), width, kernel)


@with_towers("vibevoice_asr")
def vibevoice_asr(config: Config) -> Architecture:
    """VibeVoice ASR (arXiv:2601.18184): what is said and how it sounds, from two codecs, in front of Qwen's layers."""
    text = text_of(config, "qwen2").completed({"tie_word_embeddings": False})
    tower: Tensors = ()
    for name, latent in (("acoustic", 64), ("semantic", 128)):
        field = f"{name}_tokenizer_encoder_config"
        given = config.nested(field) if config.has(field) else Config({}, f"{config.field}.{field}")
        tower += sound_codec(given, name, latent)
        inputs, outputs = given.completed({"hidden_size": latent}).hidden(), text.hidden()
        tower += linear(f"projector.{name}_1", AUDIO, outputs, inputs, bias=True)
        tower += norm(f"projector.{name}_norm", outputs, block=AUDIO)
        tower += linear(f"projector.{name}_2", AUDIO, outputs, outputs, bias=True)
    return with_tower(config, text, tower)
