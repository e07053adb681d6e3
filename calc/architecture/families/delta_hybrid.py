"""Families that put a recurrence beside attention: Kimi K3, Ling 2.5 to 3.0, GLM 5.3 Flash, Solar Open 2."""

from calc.architecture.blocks import FeedForward, Mixer, dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import (
    DENSE,
    FULL,
    LINEAR,
    LLAMA_NORMS,
    SPARSE,
    assemble,
    decoder,
    feeds_of,
    heads_of,
    mixers_of,
)
from calc.architecture.families.compressed import hyper_connection
from calc.architecture.families.latent import latent_attention
from calc.architecture.families.linear_attention import KIMI_LINEAR, kimi_delta, lightning
from calc.architecture.families.mixture import after_first, shared_experts
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture, Attention, Layer
from calc.architecture.tensors import SPLIT_OUT, Tensor, Tensors, linear, norm


def gated(mixer: Mixer, name: str, outputs: int, hidden: int) -> Mixer:
    """Return a mixer with one more matrix, whose output opens and closes the mixer's own."""
    return mixer._replace(tensors=mixer.tensors + linear(name, "attention", outputs, hidden, split=SPLIT_OUT))


def full_rank(config: Config, names: tuple[str, ...]) -> Mixer:
    """Return Kimi's delta rule with one whole matrix in place of two narrow ones for the gates of these names."""
    hidden, mixer = config.hidden(), kimi_delta(config)
    narrow = tuple(f"linear_attn.{name}_{part}_proj" for name in names for part in "ab")
    inner = next(tensor.shape[0] for tensor in mixer.tensors if tensor.name == "linear_attn.q_proj.weight")
    kept = tuple(tensor for tensor in mixer.tensors if not tensor.name.startswith(narrow))
    wide = (linear(f"linear_attn.{name}_proj", "ssm", inner, hidden, split=SPLIT_OUT) for name in names)
    return mixer._replace(tensors=kept + tuple(tensor for pair in wide for tensor in pair))


def narrow_experts(config: Config) -> FeedForward:
    """Return Kimi K3's experts, which read and write a space smaller than the hidden one, with a norm between."""
    hidden, small = config.hidden(), config.integer("routed_expert_hidden_size")
    feed = shared_experts(config, chosen="num_experts_per_token")
    routed = tuple(
        tensor._replace(shape=tuple(small if size == hidden else size for size in tensor.shape))
        if tensor.block == "expert"
        else tensor
        for tensor in feed.tensors
    )
    routed += linear("mlp.latent_in", "expert", small, hidden) + linear("mlp.latent_out", "expert", hidden, small)
    if config.flag("latent_moe_use_norm", default=False):
        routed += norm("mlp.latent_norm", small)
    return feed._replace(tensors=routed)


@family("kimi_k3_text", defaults=KIMI_LINEAR)
def kimi_k3_text(config: Config) -> Architecture:
    """Kimi K3: Kimi Linear with gates on its attention, narrow experts, and a weighing of earlier layers' outputs."""
    hidden, layers = config.hidden(), config.layers()
    listed = config.nested("linear_attn_config").integers("full_attn_layers") or ()
    types = [FULL if i + 1 in listed else LINEAR for i in range(layers)]
    latent = latent_attention(config, indexer=False, rotary=not config.flag("mla_use_nope", default=False))
    if config.flag("mla_use_output_gate", default=False):
        values = config.integer("num_attention_heads", most=2**20) * config.integer("v_head_dim")
        latent = gated(latent, "self_attn.g_proj", values, hidden)
    whole = config.nested("linear_attn_config").flag("use_full_rank_gate", default=False)
    delta = full_rank(config, ("g",)) if whole else kimi_delta(config)
    around = norms(hidden, *LLAMA_NORMS)
    if config.has("attn_res_block_size"):
        around += tuple(
            Tensor(f"{name}_residual.{part}", "layer_other", (hidden,))
            for name in ("attn", "mlp")
            for part in ("query", "norm")
        )

    def build(kind: tuple[str, ...]) -> Layer:
        wide = dense(hidden, config.integer("intermediate_size")) if kind[1] == DENSE else narrow_experts(config)
        return layer(latent if kind[0] == FULL else delta, wide, *around)

    return assemble(
        config,
        hidden=hidden,
        layers=list(zip(types, feeds_of(config, after_first(config)), strict=True)),
        build=build,
        tied=config.flag("tie_word_embeddings", default=False),
    )


BAILING = {
    "vocab_size": 157184,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "num_experts_per_tok": 8,
    "n_shared_experts": 1,
    "first_k_dense_replace": 2,
    "layer_group_size": 6,
}


@family("bailing_hybrid", defaults=BAILING)
def bailing_hybrid(config: Config) -> Architecture:
    """Ling and Ring 3.0: five layers of a delta rule with whole gates, then one of gated latent attention; experts.

    Those of 2.5 and 2.6, whose configs name groups of a norm, have lightning attention, and no gate on the latent one.
    """
    hidden, layers, step = config.hidden(), config.layers(), config.integer("layer_group_size")
    heads, size = config.integer("num_attention_heads", most=2**20), config.integer("head_dim", default=128)
    whole = layers // step * step
    types = [FULL if (i + 1) % step == 0 or i >= whole else LINEAR for i in range(layers)]
    latent = latent_attention(config, indexer=False)
    if config.has("group_norm_size"):
        recurrent = lightning(hidden, heads, size)
        recurrent = recurrent._replace(
            tensors=recurrent.tensors + norms(size, "linear_attn.q_norm", "linear_attn.k_norm")
        )
    else:
        sizes = {"linear_num_heads": heads, "linear_head_dim": size}
        sizes["linear_conv_kernel_dim"] = config.integer("short_conv_kernel_size", default=4)
        recurrent = full_rank(config.completed(sizes), ("f", "g"))
        latent = gated(latent, "self_attn.g_proj", heads, hidden)

    def feed(kind: str) -> FeedForward:
        return shared_experts(config) if kind == SPARSE else dense(hidden, config.integer("intermediate_size"))

    return decoder(
        config,
        mixers=mixers_of(config, types, (FULL, LINEAR)),
        mixer=lambda kind: latent if kind == FULL else recurrent,
        feeds=feeds_of(config, after_first(config)),
        feed=feed,
    )


GLM5_NEXT = {
    "vocab_size": 154880,
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "moe_intermediate_size": 2048,
    "num_hidden_layers": 45,
    "num_attention_heads": 64,
    "n_shared_experts": 1,
    "n_routed_experts": 288,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_rope_head_dim": 0,
    "v_head_dim": 256,
    "qk_nope_head_dim": 256,
    "num_experts_per_tok": 8,
    "index_head_dim": 128,
    "index_n_heads": 32,
    "linear_head_dim": 128,
    "linear_num_heads": 64,
    "linear_conv_kernel_dim": 4,
    "hc_mult": 4,
    "index_kpool": 16,
    "first_k_dense_replace": 3,
    "max_position_embeddings": 1048576,
}


@family("glm5_next_text", defaults=GLM5_NEXT)
def glm5_next_text(config: Config) -> Architecture:
    """GLM 5.3 Flash: three layers of the delta rule, then one of indexed latent attention; several residual streams."""
    hidden, layers = config.hidden(), config.layers()
    names = {"indexed_attention": FULL}
    if (given := config.texts("layer_types", layers)) is not None:
        config = config.replaced({"layer_types": [names.get(name, name) for name in given]})
    types = mixers_of(config, [FULL if i % 4 == 3 else LINEAR for i in range(layers)], (FULL, LINEAR))
    indexer = config.integer("index_head_dim")
    pool = config.integer("index_kpool", most=2**16)
    latent = latent_attention(config, indexer=True)
    pooled: Tensors = (Tensor("self_attn.indexer.kpool_ape", "attention", (pool, indexer)),)
    pooled += (Tensor("self_attn.indexer.kpool_gate", "attention", (indexer, hidden)),)
    keys = tuple(cache._replace(stride=pool) if cache.label == "indexer keys" else cache for cache in latent.caches)
    mixers = {FULL: latent._replace(tensors=latent.tensors + pooled, caches=keys), LINEAR: kimi_delta(config)}
    streams = config.integer("hc_mult", most=64)
    around = norms(hidden, *LLAMA_NORMS) + hyper_connection("attn_hc", "attention", hidden, streams)
    around += hyper_connection("ffn_hc", "mlp", hidden, streams)
    feeds = {DENSE: dense(hidden, config.integer("intermediate_size"))}
    if SPARSE in (found := feeds_of(config, after_first(config))):
        feeds[SPARSE] = shared_experts(config)
    whole = assemble(
        config,
        hidden=hidden,
        layers=list(zip(types, found, strict=True)),
        build=lambda kind: layer(mixers[kind[0]], feeds[kind[1]], *around),
        tied=config.flag("tie_word_embeddings", default=False),
    )
    drafting = layer(mixers[FULL], feeds.get(SPARSE, feeds[DENSE]), *norms(hidden, *LLAMA_NORMS))  # of one stream
    return whole._replace(predicting=(drafting,))


SOLAR_OPEN2 = {
    "vocab_size": 196608,
    "intermediate_size": 10240,
    "moe_intermediate_size": 1280,
    "n_routed_experts": 320,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 0,
    "gqa_interval": 3,
}


@family("solar_open2", defaults=SOLAR_OPEN2)
def solar_open2(config: Config) -> Architecture:
    """Solar Open 2: a layer of attention with a gate and without positions, then three of Kimi's delta rule."""
    hidden, layers = config.hidden(), config.layers()
    period = config.integer("gqa_interval") + 1
    listed = config.integers("gqa_layers")
    full = set(range(0, layers, period) if listed is None else listed)
    attention = softmax_attention(
        hidden,
        Attention(*heads_of(config, hidden), rotary=config.flag("use_rope", default=False)),
        qk_norm="head" if config.flag("use_qk_norm", default=False) else "",
        gated=config.flag("use_gqa_gate", default=True),
    )

    def feed(kind: str) -> FeedForward:
        return dense(hidden, config.integer("intermediate_size")) if kind == DENSE else shared_experts(config)

    return decoder(
        config,
        mixers=mixers_of(config, [FULL if i in full else LINEAR for i in range(layers)], (FULL, LINEAR)),
        mixer=lambda kind: attention if kind == FULL else kimi_delta(config),
        feeds=feeds_of(config, after_first(config)),
        feed=feed,
    )
