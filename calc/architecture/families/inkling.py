"""Inkling: attention with learned distances in place of rotary positions, and short convolutions around it."""

from calc.architecture.blocks import (
    FeedForward,
    Mixer,
    dense,
    keys_and_values,
    layer,
    mixture,
    norms,
    softmax_attention,
)
from calc.architecture.config import Config
from calc.architecture.decoders import DENSE, FULL, LLAMA_NORMS, SLIDING, SPARSE, assemble, feeds_of, mixers_of
from calc.architecture.families.mixture import expert_counts
from calc.architecture.families.multimodal import with_tower, with_towers
from calc.architecture.families.registry import family
from calc.architecture.families.state_space import convolution
from calc.architecture.families.towers import AUDIO
from calc.architecture.families.vision import BLOCK
from calc.architecture.layers import Architecture, Attention, Layer, StateCache
from calc.architecture.tensors import SPLIT_OUT, Tensor, Tensors, linear, norm

INKLING = {
    "vocab_size": 201024,
    "hidden_size": 6144,
    "num_hidden_layers": 66,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "sliding_window_size": 512,
    "d_rel": 16,
    "rel_extent": 1024,
    "sconv_kernel_size": 4,
    "dense_intermediate_size": 24576,
    "intermediate_size": 3072,
    "n_routed_experts": 256,
    "num_experts_per_tok": 6,
    "n_shared_experts": 2,
    "dense_mlp_idx": 0,
}


def near_attention(config: Config, kind: str) -> Mixer:
    """Return attention whose scores know distances up to an extent, with convolutions over keys and over values."""
    hidden, prefix = config.hidden(), "swa_" if kind == SLIDING else ""
    usual = [config.integer(name) for name in ("num_attention_heads", "num_key_value_heads", "head_dim")]
    names = (f"{prefix}num_attention_heads", f"{prefix}num_key_value_heads", f"{prefix}head_dim")
    heads, kv_heads, size = (config.integer(name, default=use) for name, use in zip(names, usual, strict=True))
    if heads % kv_heads:
        raise config.error(names[1], f"must divide the {heads} attention heads, not be {kv_heads}")
    window = config.integer("sliding_window_size") if kind == SLIDING else None
    attention = Attention(heads, kv_heads, size, window, rotary=False)
    far, kernel = config.integer("d_rel"), config.integer("conv_kernel_size", "sconv_kernel_size", most=1000)
    tensors = softmax_attention(hidden, attention, qk_norm="head").tensors
    tensors += linear("self_attn.r_proj", "attention", heads * far, hidden, split=SPLIT_OUT)
    tensors += (Tensor("self_attn.rel_logits_proj", "attention", (far, window or config.integer("rel_extent"))),)
    for name in "kv":
        tensors += convolution(f"self_attn.{name}_sconv.conv1d", kv_heads * size, kernel, False)
    for name in ("attn", "mlp"):
        tensors += convolution(f"{name}_sconv.conv1d", hidden, kernel, False)
    states = (StateCache("convolution", (2 * kv_heads * size + 2 * hidden, kernel)),)
    return Mixer(tensors, attention, caches=(keys_and_values(attention),), states=states)


@family("inkling_text", defaults=INKLING)
def inkling_text(config: Config) -> Architecture:
    """Inkling's decoder: five layers with a window, then one without; a few dense layers, then experts."""
    hidden, layers = config.hidden(), config.layers()
    listed = config.integers("local_layer_ids")
    near = set(range(layers)) - set(range(5, layers, 6)) if listed is None else set(listed)
    experts, active = expert_counts(config, "n_routed_experts")
    # Transformers 5.24 names the widths as other families do; checkpoints call the dense one by a name of its own.
    renamed = config.has("moe_intermediate_size")
    width = config.integer("moe_intermediate_size" if renamed else "intermediate_size")
    shared = config.integer("n_shared_experts", least=0, most=2**16)
    feed = mixture(hidden, width, (experts, active), shared_width=shared * width)
    router = linear("mlp.router", "router", experts + shared, hidden)  # shared experts are weighed with the others
    scale = (Tensor("mlp.global_scale", "router", (1,)),)
    plain = dense(hidden, config.integer("intermediate_size" if renamed else "dense_intermediate_size"))
    feeds: dict[str, FeedForward] = {
        SPARSE: feed._replace(tensors=router + feed.tensors[1:] + scale),
        DENSE: plain._replace(tensors=plain.tensors + scale),
    }
    first = config.integer("dense_mlp_idx", least=0)

    def build(kind: tuple[str, ...]) -> Layer:
        return layer(near_attention(config, kind[0]), feeds[kind[1]], *norms(hidden, *LLAMA_NORMS))

    types = mixers_of(config.replaced({"layer_types": None}), [SLIDING if i in near else FULL for i in range(layers)])
    return assemble(
        config,
        hidden=hidden,
        layers=list(zip(types, feeds_of(config, lambda i: i >= first), strict=True)),
        build=build,
        tied=config.flag("tie_word_embeddings", default=False),
        embeddings=norm("embed_norm", hidden, block="other_embedding"),
    )


# Rows and columns of a patch of 40 by 40 pixels over two frames that are folded into channels, and the channels made
# of them (transformers, models/inkling: plan_out_scales, with four layers).
FOLDS = ((75, 128), (512, 320), (5120, 4800))
LAST_FOLD = 9600


def folding_tower(vision: Config, outputs: int) -> Tensors:
    """Return the tower that sees: matrices over ever larger squares of a patch, without attention."""
    for name, value in (("patch_size", 40), ("temporal_patch_size", 2), ("n_layers", 4)):
        vision.refuse(name, (value,), "all published ones fold patches alike")
    tensors: Tensors = ()
    for index, (inputs, channels) in enumerate(FOLDS):
        tensors += linear(f"vision.encoder_layers.{index}", BLOCK, channels, inputs)
        tensors += norm(f"vision.encoder_layers.{index}.norm", channels, block=BLOCK)
    tensors += linear("vision.encoder_layers.3", BLOCK, outputs, LAST_FOLD)
    return tensors + norm("vision.final_norm", outputs, block=BLOCK)


def sounds(audio: Config, outputs: int) -> Tensors:
    """Return the table of how loud each of the bands of a spectrogram is."""
    bands, steps = audio.integer("n_mel_bins", default=80), audio.integer("mel_vocab_size", default=256)
    table = Tensor("audio.embed_audio_tokens.weight", AUDIO, (bands * steps, outputs))
    return table, *norm("audio.norm", outputs, block=AUDIO)


@with_towers("inkling_mm_model")
def inkling(config: Config) -> Architecture:
    """Inkling with what it sees and hears through."""
    text = config.nested("text_config").completed({"model_type": "inkling_text"})
    outputs = text.integer("hidden_size", default=6144)

    def part(name: str) -> Config:
        return config.nested(name) if config.has(name) else Config({}, f"{config.field}.{name}")

    tower = folding_tower(part("vision_config"), outputs) + sounds(part("audio_config"), outputs)
    return with_tower(config, text, tower)
