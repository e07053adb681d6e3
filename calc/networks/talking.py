"""Families that speak by networks of several kinds: Kokoro, which is StyleTTS 2, and Qwen's two language models."""

from math import prod

from calc.architecture.config import Config
from calc.architecture.decoders import llama_like
from calc.architecture.families.hearing import AUDIO
from calc.architecture.families.registry import family
from calc.architecture.families.shared_blocks import ALBERT, albert, together
from calc.architecture.layers import Architecture, Layer
from calc.architecture.tensors import CONVOLUTION, Tensor, Tensors, convolution, linear, norm
from calc.networks.codecs import Convolutions, steps_of
from calc.networks.convolutional import MOST_CHANNELS, convolved
from calc.networks.voices import both_ways

KOKORO = {"hidden_dim": 512, "style_dim": 128, "n_layer": 3, "n_token": 178, "max_dur": 50}
VOCODER = {
    "upsample_rates": [10, 6],
    "upsample_kernel_sizes": [20, 12],
    "resblock_kernel_sizes": [3, 7, 11],
    "upsample_initial_channel": 512,
    "gen_istft_n_fft": 20,
    "gen_istft_hop_size": 5,
}
WIDE, NARROW = 1024, 64  # channels of the decoder, and of what it sees of the text again in each layer
HARMONICS, CURVES = 9, 2  # of the tone that sound is made from; pitch and loudness
SOURCES = (7, 11)  # windows over the tone, stage by stage


class Styled:
    """Convolutions whose channels are scaled and moved by what a vector of style says, once for a whole text."""

    def __init__(self, config: Config, style: int) -> None:
        self.write, self.style = Convolutions(config, "weight_norm"), style

    def norms(self, name: str, channels: int, *, copies: int = 1) -> Tensors:
        """Return the matrix that makes scales and shifts of a style."""
        return convolution(f"{name}.style", 2 * channels, self.style, (1,), places=0, bias=True, copies=copies)

    def block(self, name: str, outputs: int, inputs: int, *, places: int, doubled: bool = False) -> Layer:
        """Return two windows of 3 beside what is added; one that doubles its places makes two of each."""
        tensors = self.norms(f"{name}.norm1", inputs) + self.norms(f"{name}.norm2", outputs)
        tensors += self.write.window(f"{name}.conv1", outputs, inputs, 3, places=places)
        tensors += self.write.window(f"{name}.conv2", outputs, outputs, 3, places=places)
        if inputs != outputs:
            tensors += convolution(f"{name}.conv1x1", outputs, inputs, (1,), places=places)
            tensors += self.write.beside(f"{name}.conv1x1", outputs, outputs)
        if doubled:
            tensors += (Tensor(f"{name}.pool.weight", CONVOLUTION, (inputs, 1, 3), places=places, reads=inputs),)
            tensors += (Tensor(f"{name}.pool.bias", CONVOLUTION, (inputs,)),)
            tensors += self.write.beside(f"{name}.pool", inputs, inputs)
        return convolved(tensors, hidden=inputs, places=places)

    def waves(self, name: str, channels: int, kernel: int, *, places: int) -> Layer:
        """Return three pairs of windows with a wave of a learned length between (Snake, arXiv:2006.08195)."""
        tensors = self.norms(f"{name}.adain", channels, copies=6)
        for index in range(6):
            tensors += self.write.window(f"{name}.convs.{index}", channels, channels, kernel, places=places)
        tensors += (Tensor(f"{name}.alpha", "layer_other", (channels,), copies=6),)
        return convolved(tensors, hidden=channels, places=places)


@family("kokoro", defaults=KOKORO)
def kokoro(config: Config) -> Architecture:
    """Kokoro: StyleTTS 2 (arXiv:2306.07691) without what it was trained by, and iSTFTNet (2203.02395) behind.

    A token is a frame of the decoder, 25 ms of sound; of the text there are no more letters than frames.
    """
    hidden, style = config.integer("hidden_dim", most=MOST_CHANNELS), config.integer("style_dim", most=MOST_CHANNELS)
    letters, depth = config.integer("n_token"), config.integer("n_layer", most=100)
    read = albert(config.nested("plbert").completed({**ALBERT, "vocab_size": letters}))
    styled = Styled(config, style)
    table = Tensor("text_encoder.embedding.weight", "other_embedding", (letters, hidden))
    layers = [read.kinds[index] for index in read.pattern]
    layers.append(convolved(linear("bert_encoder", "other", hidden, read.hidden_size, bias=True)))
    kernel = config.integer("text_encoder_kernel_size", default=5, most=2**10)
    for _ in range(depth):
        window = styled.write.window("text_encoder.cnn", hidden, hidden, kernel, places=1)
        layers.append(convolved(window + norm("text_encoder.norm", hidden, bias=True)))
    layers.append(both_ways(hidden, hidden // 2))
    for _ in range(depth):
        layers += [both_ways(hidden + style, hidden // 2), convolved(styled.norms("durations", hidden))]
    layers += [both_ways(hidden + style, hidden // 2)] * 2
    durations = linear("duration_proj", "head", config.integer("max_dur", most=2**16), hidden, bias=True)
    layers += curves(styled, hidden)
    layers += decoder(styled, hidden)
    layers += vocoder(config.nested("istftnet").completed(VOCODER), styled)
    kinds = tuple(dict.fromkeys(layers))
    return read._replace(
        family="kokoro",
        embeddings=(*read.embeddings, table),
        kinds=kinds,
        pattern=tuple(kinds.index(each) for each in layers),
        head=(*read.head, *durations),
    )


def curves(styled: Styled, hidden: int) -> list[Layer]:
    """Return what says pitch and loudness, each of half a frame."""
    half = hidden // 2
    found = [styled.block("curve.0", hidden, hidden, places=1)]
    found.append(styled.block("curve.1", half, hidden, places=2, doubled=True))
    found.append(styled.block("curve.2", half, half, places=2))
    found.append(convolved(convolution("curve.proj", 1, half, (1,), places=2, bias=True)))
    return found * CURVES


def decoder(styled: Styled, hidden: int) -> list[Layer]:
    """Return what makes states of sound of the text and its curves, which each layer but the last sees again."""
    beside = styled.write.window("decoder.asr_res", NARROW, hidden, 1, places=1)
    for name in ("F0_conv", "N_conv"):
        beside += styled.write.window(f"decoder.{name}", 1, 1, 3, places=1)
    again = WIDE + NARROW + CURVES
    found = [convolved(beside), styled.block("decoder.encode", WIDE, hidden + CURVES, places=1)]
    found += [styled.block("decoder.decode", WIDE, again, places=1)] * 3
    return [*found, styled.block("decoder.last", WIDE // 2, again, places=2, doubled=True)]


def vocoder(config: Config, styled: Styled) -> list[Layer]:
    """Return what makes a spectrum of states and a tone, in stages of more places and half the channels."""
    rates, kernels = steps_of(config, "upsample_rates"), config.integers("upsample_kernel_sizes") or []
    if len(rates) != len(SOURCES) or len(kernels) != len(SOURCES) or not all(0 < size < 2**10 for size in kernels):
        raise config.error("upsample_rates", "and upsample_kernel_sizes must be two numbers each, as all published are")
    channels, places = config.integer("upsample_initial_channel", most=MOST_CHANNELS), 2
    bands = config.integer("gen_istft_n_fft", most=2**16) + 2
    whole = places * prod(rates) * config.integer("gen_istft_hop_size", most=2**10)
    found = [convolved(convolution("source", 1, HARMONICS, (1,), places=whole, bias=True))]
    for index, (rate, kernel) in enumerate(zip(rates, kernels, strict=True)):
        wider = styled.write.wider(f"ups.{index}", channels // 2, channels, kernel, places=places)
        channels, places = channels // 2, places * rate
        apart = prod(rates[index + 1 :])  # the tone's places of each of this stage's
        size = 2 * apart if apart > 1 else 1
        wider += convolution(f"noise.{index}", channels, bands, (size,), places=places, stride=apart, bias=True)
        found += [convolved(wider), styled.waves(f"noise_res.{index}", channels, SOURCES[index], places=places)]
        for size in config.integers("resblock_kernel_sizes") or ():
            found.append(styled.waves(f"resblocks.{index}", channels, size, places=places))
    return [*found, convolved(styled.write.window("conv_post", bands, channels, 7, places=places))]


TALKER = {
    "vocab_size": 3072,
    "text_vocab_size": 151936,
    "text_hidden_size": 2048,
    "num_code_groups": 16,
    "max_position_embeddings": 32768,
}
PREDICTOR = {
    "vocab_size": 2048,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 5,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
}
SPEAKER, SPOKEN = 5_707_584, 3072  # parameters of what hears a voice, without its last matrix; what that reads


@family("qwen3_tts")
def qwen3_tts(config: Config) -> Architecture:
    """Qwen3-TTS (arXiv:2601.15621): Qwen 3's layers write the first code of a frame, a small model the others.

    The small model is passed once for each further code, by the same layers. A token is a frame of 80 ms. What makes
    sound of codes is a model of its own, and not counted.
    """
    talker = config.nested("talker_config").completed(TALKER)
    found = llama_like(talker, qk_norm="head")
    small = talker.nested("code_predictor_config").completed(PREDICTOR)
    few = llama_like(small, qk_norm="head")
    codes, hidden = talker.integer("num_code_groups", least=2, most=2**10) - 1, found.hidden_size
    words, wide = talker.integer("text_vocab_size"), talker.integer("text_hidden_size")
    table: Tensors = (Tensor("text_embedding.weight", "other_embedding", (words, wide)),)
    table += linear("text_projection.fc1", "other_embedding", wide, wide, bias=True)
    table += linear("text_projection.fc2", "other_embedding", hidden, wide, bias=True)
    table += (Tensor("code_predictor.embedding.weight", "other_embedding", (few.vocab_size, hidden), copies=codes),)
    if config.text("tts_model_type", "") == "base":  # it speaks in any voice that it hears
        heard = config.nested("speaker_encoder_config").integer("enc_dim", default=hidden, most=MOST_CHANNELS)
        table += (Tensor("audio.speaker_encoder", AUDIO, (SPEAKER + heard * (SPOKEN + 1),)),)
    last = norm("code_predictor.norm", few.hidden_size, block="head")
    last += linear("code_predictor.lm_head", "head", few.vocab_size, few.hidden_size, copies=codes)
    if few.hidden_size != hidden:
        last += linear("code_predictor.projection", "head", few.hidden_size, hidden, bias=True)
    # Of a frame's few codes nothing is kept, and what they see of each other is left out.
    alike = few.kinds[0]._replace(attention=None, caches=(), hidden=few.hidden_size)
    own = tuple(alike._replace(tensors=together(alike.tensors, index + 1)) for index in range(few.layer_count))
    first = len(found.kinds)
    return found._replace(
        family="qwen3_tts",
        embeddings=(*found.embeddings, *table),
        kinds=(*found.kinds, *own),
        pattern=found.pattern + tuple(first + index for index in range(few.layer_count)) * codes,
        head=(*found.head, *last),
    )
