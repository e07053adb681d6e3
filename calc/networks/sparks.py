"""Muse Spark: gated attention and experts in a narrower space, behind a tower that sees and one that hears."""

from itertools import pairwise

from calc.architecture.blocks import FeedForward, layer, mixture, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import SLIDING, SPARSE, assemble, every, heads_of, mixers_of, windowed
from calc.architecture.families.mixture import expert_counts
from calc.architecture.families.multimodal import text_of, vision_of, with_tower, with_towers
from calc.architecture.families.registry import family
from calc.architecture.families.seeing import audio_of
from calc.architecture.families.towers import AUDIO
from calc.architecture.families.vision import BLOCK, positions, transformer
from calc.architecture.layers import Architecture, Attention, Layer
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, Tensor, Tensors, linear, norm

MUSE_SPARK = {
    "vocab_size": 202048,
    "hidden_size": 8192,
    "intermediate_size": 16384,
    "num_hidden_layers": 62,
    "num_attention_heads": 128,
    "num_key_value_heads": 16,
    "head_dim": 64,
    "sliding_window": 2048,
    "num_local_experts": 256,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 4096,
    "moe_hidden_size": 4096,
}
NORMS = ("input_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")
SEES = {
    "hidden_size": 1536,
    "intermediate_size": 8960,
    "num_hidden_layers": 50,
    "num_attention_heads": 16,
    "patch_size": 14,
}
HEARS = {"patch_sizes": [16, 6, 5, 4], "hidden_sizes": [256, 512, 1024, 2048], "depths": [2, 2, 2, 2]}


def narrow_mixture(config: Config) -> FeedForward:
    """Return experts between two matrices into a narrower space and back, with a norm before and after them."""
    hidden, small = config.hidden(), config.integer("moe_hidden_size")
    width = config.integer("moe_intermediate_size")
    feed = mixture(hidden, width, expert_counts(config, "num_local_experts"), expert_hidden=small)
    around = linear("mlp.pre_expert_proj", "mlp", small, hidden) + linear("mlp.post_expert_proj", "mlp", hidden, small)
    for name in ("pre", "post"):
        around += norm(f"mlp.{name}_expert_norm", small, block="mlp")
    return feed._replace(tensors=feed.tensors + around)


@family("muse_spark_text", defaults=MUSE_SPARK)
def muse_spark_text(config: Config) -> Architecture:
    """Muse Spark's decoder: a window in three of four layers, the last of four without positions; gated residuals."""
    hidden, last = config.hidden(), config.layers() - 1
    config.refuse("mlp_layer_types", (None, [SPARSE] * (last + 1)), "no published one has dense layers")
    heads = Attention(*heads_of(config, hidden))
    feed = narrow_mixture(config)
    gates = tuple(Tensor(f"{name}_residual_gate.gate", "layer_other", (hidden,)) for name in ("attention", "mlp"))

    def build(kind: tuple[str, ...]) -> Layer:
        seen = windowed(config, heads._replace(rotary=kind[0] == SLIDING), kind[0])
        return layer(softmax_attention(hidden, seen, gated=True), feed, *norms(hidden, *NORMS), *gates)

    return assemble(
        config,
        hidden=hidden,
        layers=[(name,) for name in mixers_of(config, every(config, lambda layer: (last - layer) % 4 != 0))],
        build=build,
        tied=config.flag("tie_word_embeddings", default=False),
    )


def hearing(config: Config, outputs: int) -> Tensors:
    """Return the tower that hears: at each step pieces of sound become fewer and wider, and pass convolutions."""
    patches, widths, depths = (config.integers(name) or [] for name in HEARS)
    if not len(patches) == len(widths) == len(depths) > 0:
        raise config.error("depths", "must have one entry for each of the hidden sizes, as must the patch sizes")
    ratio = config.integer("mlp_ratio", default=4, most=64)
    kernel = config.integer("conv_kernel_size", default=7, most=2**10)
    tensors: Tensors = ()
    for step, ((before, width), patch, depth) in enumerate(zip(pairwise([1, *widths]), patches, depths, strict=True)):
        name = f"audio.layers.{step}"
        tensors += linear(f"{name}.proj", AUDIO, width, before * patch, bias=True) + norm(
            f"{name}.norm", width, block=AUDIO
        )
        conv = (Tensor("conv.weight", AUDIO, (width, 1, kernel)), Tensor("conv.bias", AUDIO, (width,)))
        block = conv + norm("norm", width, block=AUDIO)
        block += linear("fc1", AUDIO, ratio * width, width, bias=True) + linear(
            "fc2", AUDIO, width, ratio * width, bias=True
        )
        tensors += tuple(
            tensor._replace(name=f"{name}.blocks.{index}.{tensor.name}") for index in range(depth) for tensor in block
        )
    tensors += norm("audio.norm", widths[-1], block=AUDIO)
    tensors += linear("audio.proj", AUDIO, outputs, widths[-1], bias=True)
    return tensors + norm("audio.post_proj_norm", outputs, block=AUDIO)


@with_towers("muse_spark")
def muse_spark(config: Config) -> Architecture:
    """Muse Spark with a tower over two frames and its adapter, and one over the wave of sound itself."""
    vision, text = vision_of(config).completed(SEES), text_of(config, "muse_spark_text").completed(MUSE_SPARK)
    hidden, outputs = vision.hidden(), text.hidden()
    frames = vision.integer("patch_temporal", default=2, most=64)
    tower: Tensors = linear("vision.patch_embedding", BLOCK, hidden, 3 * frames * vision.integer("patch_size") ** 2)
    rows = vision.integer("pos_emb_height", default=32) * vision.integer("pos_emb_width", default=32)
    tower += (positions(rows, hidden),)
    for name in ("ln_pre", "ln_post"):
        tower += norm(f"vision.{name}", hidden, bias=True, block=BLOCK)
    tower += transformer(vision, depth=vision.layers())
    merged, inner = (
        config.integer("out_hidden_size", default=6144),
        config.integer("projector_hidden_size", default=4096),
    )
    tower += linear("projector.fc1", BLOCK, inner, merged, split=SPLIT_OUT)
    tower += linear("projector.fc2", BLOCK, inner, inner, split=SPLIT_IN)
    tower += linear("projector.out", BLOCK, outputs, inner)
    return with_tower(config, text, tower + hearing(audio_of(config).completed(HEARS), outputs))
