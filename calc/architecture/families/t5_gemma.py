"""Families with an encoder before a decoder, both of Gemma's layers: T5Gemma of Gemma 2's, T5Gemma 2 of Gemma 3's."""

from calc.architecture.blocks import Mixer, keys_and_values, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import FULL, SLIDING, assemble, heads_of, mixers_of, windowed
from calc.architecture.families.encoder import reader
from calc.architecture.families.gemma import GEMMA3, GEMMA_NORMS, GEMMA_STYLE, gemma_mlp
from calc.architecture.families.registry import family
from calc.architecture.families.translation import DECODER, ENCODER
from calc.architecture.families.vision import BLOCK, siglip_tower
from calc.architecture.layers import OUTPUT, PROMPT, Architecture, Attention, Layer
from calc.architecture.tensors import Tensor, Tensors, norm

GEMMA2_2B = {
    "vocab_size": 256000,
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "sliding_window": 4096,
}
CROSS_NORMS = ("pre_cross_attn_layernorm", "post_cross_attn_layernorm")


def looking_at_both(mixer: Mixer, attention: Attention, *, again: bool) -> Mixer:
    """Return a decoder's attention over its own output and over all that the encoder read.

    `again`: with matrices of its own for the second; else one attention looks at both together.
    """
    whole = attention._replace(window_tokens=None)
    seen = keys_and_values(whole, PROMPT)._replace(label="keys and values of the encoder's output")
    cross = tuple(tensor._replace(name=tensor.name.replace("self_attn", "encoder_attn")) for tensor in mixer.tensors)
    return mixer._replace(
        tensors=mixer.tensors + cross if again else mixer.tensors,
        caches=(keys_and_values(attention, OUTPUT), seen),
        cross=whole._replace(causal=False, rotary=False) if again else None,
    )


def both_sides(config: Config, encoder: Config, decoder: Config, *, period: int, tables: Tensors) -> Architecture:
    """Put an encoder and a decoder of Gemma's layers together, of which each `period`-th sees everything."""
    hidden = decoder.hidden()
    if encoder.hidden() != hidden:
        raise encoder.error("hidden_size", f"must be the decoder's {hidden}: sides of two widths are not modelled")
    again = period == 2  # Gemma 2's, which norms no queries, and looks at what was read by itself

    def build(kind: tuple[str, ...]) -> Layer:
        side = encoder if kind[0] == ENCODER else decoder
        shape = windowed(side, Attention(*heads_of(side, hidden)), kind[1])._replace(causal=kind[0] == DECODER)
        mixer = softmax_attention(hidden, shape, qk_norm="" if again else "head")
        names = (*GEMMA_NORMS, *CROSS_NORMS) if again and kind[0] == DECODER else GEMMA_NORMS
        mixer = looking_at_both(mixer, shape, again=again) if kind[0] == DECODER else reader(mixer)
        return layer(mixer, gemma_mlp(side), *norms(hidden, *names), style=GEMMA_STYLE)

    layers: list[tuple[str, ...]] = []
    for name, side in ((ENCODER, encoder), (DECODER, decoder)):
        usual = [SLIDING if (i + 1) % period else FULL for i in range(side.layers())]
        layers += [(name, kind) for kind in mixers_of(side, usual)]
    last = norm("encoder.norm", hidden, block="final_norm") + norm("decoder.norm", hidden, block="final_norm")
    whole = assemble(decoder, hidden=hidden, layers=layers, build=build, tied=True, embeddings=tables, final=last)
    return whole._replace(family=config.text("model_type", ""))


@family("t5gemma", defaults={"encoder": {}, "decoder": {}})
def t5gemma(config: Config) -> Architecture:
    """T5Gemma (arXiv:2504.06225): both sides of Gemma 2's layers, each with a table of its own."""
    encoder, decoder = (config.nested(name).completed(GEMMA2_2B) for name in ("encoder", "decoder"))
    table = Tensor("encoder.embed_tokens.weight", "other_embedding", (encoder.integer("vocab_size"), encoder.hidden()))
    return both_sides(config, encoder, decoder, period=2, tables=(table,))


@family("t5gemma2", defaults={"encoder": {}, "decoder": {}})
def t5gemma2(config: Config) -> Architecture:
    """T5Gemma 2 (arXiv:2512.14856): Gemma 3's layers and tower; one attention of the decoder looks at both sides."""
    inner, decoder = config.nested("encoder"), config.nested("decoder").completed({**GEMMA2_2B, **GEMMA3})
    text = (inner.nested("text_config") if inner.has("text_config") else Config({})).completed({**GEMMA2_2B, **GEMMA3})
    vision = inner.nested("vision_config") if inner.has("vision_config") else Config({})
    hidden, seen = text.hidden(), vision.integer("hidden_size", default=768)
    tower = siglip_tower(vision, pooling=vision.flag("vision_use_head", default=True))
    tower += (Tensor("projector.mm_input_projection", BLOCK, (seen, hidden)),)
    tower += norm("projector.mm_soft_emb_norm", seen, block=BLOCK)
    tables = (Tensor("embed_tokens.eoi_embedding", "other_embedding", (hidden,)), *tower)
    return both_sides(config, text, decoder, period=6, tables=tables)
