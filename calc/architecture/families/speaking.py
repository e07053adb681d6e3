"""Families that speak: an encoder of letters, and behind it what makes sound of its output."""

from calc.architecture.blocks import FeedForward, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import heads_of
from calc.architecture.families.encoder import encoder, reader
from calc.architecture.families.hearing import AUDIO
from calc.architecture.families.registry import family
from calc.architecture.layers import AFTER, LAYER_NORM, Architecture, Attention, Style
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, Tensor, linear

VITS = {
    "vocab_size": 38,
    "hidden_size": 192,
    "num_hidden_layers": 6,
    "num_attention_heads": 2,
    "window_size": 4,
    "ffn_dim": 768,
    "ffn_kernel_size": 3,
    "flow_size": 192,
    "num_speakers": 1,
}
SPEAKING = 29_984_688  # parameters of flow, durations and what makes the waveform: the same in all with one speaker


@family("vits", defaults=VITS)
def vits(config: Config) -> Architecture:
    """VITS (arXiv:2106.06103), Meta's MMS voices: its encoder of letters, whose MLPs are convolutions, and the rest."""
    config.refuse("num_speakers", (1,), "several speakers condition what makes the sound")
    config.refuse("hidden_size", (192,), "what makes the sound is of this width")
    hidden, width = config.hidden(), config.integer("ffn_dim")
    kernel, reach = config.integer("ffn_kernel_size", most=2**10), 2 * config.integer("window_size", most=2**10) + 1
    heads, _, size = heads_of(config, hidden)
    mixer = softmax_attention(hidden, Attention(heads, heads, size, causal=False, rotary=False), bias=True)
    distances = tuple(Tensor(f"self_attn.emb_rel_{name}", "attention", (reach, size)) for name in "kv")
    # A convolution multiplies as a matrix that reads as many neighbours.
    convolved = linear("mlp.up_proj", "mlp", width, kernel * hidden, split=SPLIT_OUT, bias=True)
    convolved += linear("mlp.down_proj", "mlp", hidden, kernel * width, split=SPLIT_IN, bias=True)
    last = linear("project", "other", 2 * config.integer("flow_size"), hidden, bias=True)
    return encoder(
        config,
        hidden=hidden,
        layers=config.layers(),
        block=layer(
            reader(mixer._replace(tensors=mixer.tensors + distances)),
            FeedForward(convolved, width, activation=config.text("hidden_act", "relu")),
            *norms(hidden, "layer_norm", "final_layer_norm", bias=True),
            style=Style(LAYER_NORM, AFTER),
        ),
        embeddings=(),
        last=(*last, Tensor("audio.voice", AUDIO, (SPEAKING,))),
    )
