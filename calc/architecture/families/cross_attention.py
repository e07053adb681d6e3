"""Llama 3.2 Vision: some layers attend to an image instead of the tokens before, and keep its keys and values."""

from calc.architecture.blocks import Mixer, dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import FULL, LLAMA_NORMS, assemble, heads_of
from calc.architecture.families.multimodal import LLAMA_7B, text_of, vision_of, with_tower, with_towers
from calc.architecture.families.registry import family
from calc.architecture.families.towers import MLLAMA, mllama_tower
from calc.architecture.families.vision import patch_count
from calc.architecture.layers import Architecture, Attention, Layer, TokenCache
from calc.architecture.tensors import SPLIT_VOCAB, Tensor, linear, norm

MLLAMA_TEXT = {
    **LLAMA_7B,
    "vocab_size": 128256,
    "num_hidden_layers": 40,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
}
ROWS_BESIDE = 8  # of the embedding: tokens of images, which are never the output


@family("mllama_text_model", defaults=MLLAMA_TEXT)
def mllama_text(config: Config) -> Architecture:
    """Llama 3.2 Vision (text): Llama with layers that attend to an image, whose keys and values they keep."""
    hidden, vocab = config.hidden(), config.integer("vocab_size")
    attention = Attention(*heads_of(config, hidden))
    listed = config.integers("cross_attention_layers")
    crossed = set((3, 8, 13, 18, 23, 28, 33, 38) if listed is None else listed)
    feed = dense(hidden, config.integer("intermediate_size"))
    seen = config.integer("image_tokens", default=IMAGE_TOKENS, most=2**30)

    def build(kind: tuple[str, ...]) -> Layer:
        if kind[0] == FULL:
            return layer(softmax_attention(hidden, attention), feed, *norms(hidden, *LLAMA_NORMS))
        mixer = softmax_attention(hidden, attention._replace(causal=False, rotary=False), qk_norm="head")
        size = attention.head_dim
        cache = TokenCache("keys and values of an image", attention.kv_heads, size, size, fixed_tokens=seen)
        gates = tuple(Tensor(f"cross_attn_{name}_gate", "layer_other", (1,)) for name in ("attn", "mlp"))
        cross = Mixer(mixer.tensors, mixer.attention, caches=(cache,))
        return layer(cross, feed, *norms(hidden, *LLAMA_NORMS), *gates)

    whole = assemble(
        config.replaced({"vocab_size": vocab + ROWS_BESIDE}),
        hidden=hidden,
        layers=[("crossed" if index in crossed else FULL,) for index in range(config.layers())],
        build=build,
        tied=True,
        final=norm("norm", hidden, block="final_norm") + linear("lm_head", "lm_head", vocab, hidden, split=SPLIT_VOCAB),
    )
    return whole._replace(tied=False, vocab_size=vocab, output_size=vocab)


IMAGE_TOKENS = 6404  # four tiles of 560 × 560 pixels, each of 40 × 40 patches and one position for the class


@with_towers("mllama")
def mllama(config: Config) -> Architecture:
    """Llama 3.2 Vision: the tower's output is read by layers of their own, not in the prompt; one image is counted."""
    text, vision = text_of(config, "mllama_text_model"), vision_of(config)
    found = vision.completed(MLLAMA)
    tiles, count = found.integer("max_num_tiles", most=2**10), patch_count(found) + 1
    text = text.replaced({"image_tokens": tiles * count})
    return with_tower(config, text, mllama_tower(vision, text.integer("hidden_size", default=4096)))
