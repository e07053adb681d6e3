"""Families whose attention compresses keys and values into one latent vector: DeepSeek and what follows it."""

from collections.abc import Sequence

from calc.architecture.blocks import FeedForward, Mixer, dense, layer, mixture, mlp_tensors, norms
from calc.architecture.config import Config
from calc.architecture.decoders import FULL, LLAMA_NORMS, SPARSE, assemble, decoder, feeds_of
from calc.architecture.families.mixture import MOST_EXPERTS, after_first, expert_counts, shared_experts
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture, Attention, TokenCache
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, Tensor, Tensors, linear, norm

INDEXED = "indexed_attention"


def latent_attention(config: Config, *, indexer: bool, rotary: bool = True) -> Mixer:
    """Return multi-head latent attention (arXiv:2405.04434): it caches one latent vector and one rotary key a token.

    `indexer`: small heads choose the tokens to attend to, and cache a key of their own (DeepSeek-V3.2). Layers of such
    a model without an indexer attend to what an earlier layer's chose. `rotary` False: the rotary key is there and is
    not rotated (Kimi Linear).
    """
    hidden = config.hidden()
    heads = config.integer("num_attention_heads", most=2**20)
    rank, rope = config.integer("kv_lora_rank"), config.integer("qk_rope_head_dim", least=0)
    plain, value = config.integer("qk_nope_head_dim"), config.integer("v_head_dim")
    bias = config.flag("attention_bias", default=False)
    prefix, block = "self_attn.", "attention"
    if config.has("q_lora_rank"):
        query_rank = config.integer("q_lora_rank")
        tensors = linear(prefix + "q_a_proj", block, query_rank, hidden, bias=bias)
        tensors += norm(prefix + "q_a_layernorm", query_rank, block=block)
        tensors += linear(prefix + "q_b_proj", block, heads * (plain + rope), query_rank, split=SPLIT_OUT)
    else:
        tensors = linear(prefix + "q_proj", block, heads * (plain + rope), hidden, split=SPLIT_OUT)
    tensors += linear(prefix + "kv_a_proj_with_mqa", block, rank + rope, hidden, bias=bias)
    tensors += norm(prefix + "kv_a_layernorm", rank, block=block)
    tensors += linear(prefix + "kv_b_proj", block, heads * (plain + value), rank, split=SPLIT_OUT)
    tensors += linear(prefix + "o_proj", block, hidden, heads * value, split=SPLIT_IN, bias=bias)
    chosen = config.integer("index_topk", most=2**24) if config.has("index_topk") else None
    caches: tuple[TokenCache, ...] = (TokenCache("latent vector", 1, rank + rope, 0, chosen=chosen),)
    if indexer:
        size, count = config.integer("index_head_dim"), config.integer("index_n_heads")
        source = config.integer("q_lora_rank") if config.has("q_lora_rank") else hidden
        tensors += linear(prefix + "indexer.wq_b", block, count * size, source)
        tensors += linear(prefix + "indexer.wk", block, size, hidden)
        tensors += norm(prefix + "indexer.k_norm", size, bias=True, block=block)
        tensors += linear(prefix + "indexer.weights_proj", block, count, hidden)
        caches += (TokenCache("indexer keys", 1, size, 0),)
    attention = Attention(heads, heads, plain + rope, latent=True, value_dim=value, rotary=rotary, rotary_dim=rope)
    return Mixer(tensors, attention, caches=caches)


def deepseek_like(
    config: Config, mixers: Sequence[str], dense_layers: int | None = None, after: Tensors = ()
) -> Architecture:
    """Read a decoder of latent attention with a few dense layers and then experts; some layers may have an indexer.

    `after` stands behind the experts of a layer.
    """
    hidden = config.hidden()

    def feed(kind: str) -> FeedForward:
        if kind != SPARSE:
            return dense(hidden, config.integer("intermediate_size"))
        experts = shared_experts(config)
        return experts._replace(tensors=experts.tensors + after)

    return decoder(
        config,
        mixers=mixers,
        mixer=lambda kind: latent_attention(config, indexer=kind == INDEXED),
        feeds=feeds_of(config, after_first(config, dense_layers)),
        feed=feed,
    )


@family("deepseek_v2", "deepseek_v3", "kimi_k2")
@family("glm4_moe_lite", "mistral4", defaults={"first_k_dense_replace": 1})
def deepseek(config: Config) -> Architecture:
    """DeepSeek V2, V3 and R1, Kimi K2, GLM 4.7 Flash, Mistral 4. Multi-token-prediction layers are not part of it."""
    return deepseek_like(config, [FULL] * config.layers())


@family("sarvam_mla", defaults={"first_k_dense_replace": 1})
def sarvam_mla(config: Config) -> Architecture:
    """Sarvam 105B: DeepSeek V3's layout, whose router keeps a learned correction for each expert."""
    experts, _ = expert_counts(config, "n_routed_experts", "num_experts")
    correction = (Tensor("mlp.router.expert_bias", "router", (experts,)),)
    return deepseek_like(config, [FULL] * config.layers(), after=correction)


@family("axk1", defaults={"first_k_dense_replace": 1})
def axk1(config: Config) -> Architecture:
    """A.X K1 (arXiv:2601.09200): DeepSeek V3 with a norm behind the experts."""
    return deepseek_like(config, [FULL] * config.layers(), after=norm("post_mlp_layernorm", config.hidden()))


@family("minicpm3", "youtu")
def minicpm3(config: Config) -> Architecture:
    """MiniCPM 3 and Youtu LLM: latent attention without experts, the embedding as output matrix."""
    feed = dense(config.hidden(), config.integer("intermediate_size"), bias=config.flag("mlp_bias", default=False))
    latent = latent_attention(config, indexer=False)
    return decoder(config, mixers=[FULL] * config.layers(), mixer=lambda _: latent, feed=lambda _: feed, tied=True)


@family("longcat_flash")
def longcat_flash(config: Config) -> Architecture:
    """LongCat Flash: a layer has two attentions and two MLPs, and experts beside them, some of which do nothing."""
    hidden, width = config.hidden(), config.integer("ffn_hidden_size")
    one = latent_attention(config, indexer=False)
    both = one._replace(
        tensors=tuple(tensor._replace(name=f"{index}.{tensor.name}") for index in "01" for tensor in one.tensors),
        caches=one.caches * 2,
    )
    experts, active = expert_counts(config, "n_routed_experts", chosen="moe_topk")
    inner = config.integer("expert_ffn_hidden_size")
    none = config.integer("zero_expert_num", default=0, least=0, most=MOST_EXPERTS)
    mixed = mixture(hidden, inner, (experts, active))
    router = linear("mlp.router", "router", experts + none, hidden)
    twice = tuple(tensor for index in "01" for tensor in mlp_tensors(f"mlps.{index}", "mlp", hidden, width))
    feed = FeedForward(router + mixed.tensors[1:] + twice, max(width, active * inner), True)
    names = (f"{name}.{index}" for name in LLAMA_NORMS for index in "01")
    block = layer(both, feed, *norms(hidden, *names))
    return assemble(
        config,
        hidden=hidden,
        layers=[(FULL,)] * config.layers("num_layers", "num_hidden_layers"),
        build=lambda _: block,
        tied=config.flag("tie_word_embeddings", default=False),
    )


V32 = {"index_head_dim": 128, "index_n_heads": 64, "index_topk": 2048}


@family("deepseek_v32", defaults=V32)
def deepseek_v32(config: Config) -> Architecture:
    """DeepSeek V3.2: V3 with an indexer in every layer."""
    return deepseek_like(config, [INDEXED] * config.layers(), 3)


@family("glm_moe_dsa", defaults={"index_head_dim": 128, "index_n_heads": 32, "index_topk": 2048})
def glm_moe_dsa(config: Config) -> Architecture:
    """GLM 5: DeepSeek V3.2's layout, in which most layers share an earlier layer's indexer."""
    layers = config.layers()
    types = config.texts("indexer_types", layers)
    if types is None:
        step = config.integer("index_topk_freq", default=1)
        offset = config.integer("index_skip_topk_offset", default=2, least=0)
        types = ["full" if max(i - offset + 1, 0) % step == 0 else "shared" for i in range(layers)]
    return deepseek_like(config, [INDEXED if name == "full" else FULL for name in types], 3)


MISTRAL_LARGE4 = {
    "first_k_dense_replace": 1,
    "n_shared_experts": 1,
    "index_head_dim": 128,
    "index_n_heads": 32,
    "index_topk": 2048,
}


@family("mistral_large4_text", defaults=MISTRAL_LARGE4)
def mistral_large4_text(config: Config) -> Architecture:
    """Mistral Large 4: queries of full rank, each fourth layer without rotation, layers that share a latent vector.

    Each head, and each one of the indexer, scales its scores by the length; rotary frequencies are learned.
    """
    hidden, layers = config.hidden(), config.layers()
    heads, rope = config.integer("num_attention_heads", most=2**20), config.integer("qk_rope_head_dim")
    types = config.texts("indexer_types", layers) or ["full"] * layers
    turned = config.integers("no_rope_layers") or [int((index + 1) % 4 != 0) for index in range(layers)]
    sources = config.integers("kv_source_layers") or list(range(layers))
    if len(turned) < layers or len(sources) != layers:
        raise config.error("kv_source_layers", f"must name a layer for each of the {layers} layers")
    straight = {"qk_rope_head_dim": 0, "qk_nope_head_dim": config.integer("qk_nope_head_dim") + rope}

    def mixer(kind: tuple[str, ...]) -> Mixer:
        found = latent_attention(config if kind[2] else config.replaced(straight), indexer=kind[0] == INDEXED)
        tensors, caches = found.tensors, found.caches
        if not kind[3]:
            tensors = tuple(tensor for tensor in tensors if ".kv_a_" not in tensor.name)
            caches = caches[1:]
        scales = [("self_attn.", heads)]
        if kind[0] == INDEXED:
            scales.append(("self_attn.indexer.", config.integer("index_n_heads")))
            tensors += norm("self_attn.indexer.q_input_norm", hidden, bias=True, block="attention")
        for prefix, count in scales:
            tensors += tuple(
                Tensor(f"{prefix}softmax_scaling.{name}", "attention", (count,)) for name in ("scale", "bias")
            )
        return found._replace(tensors=tensors, caches=caches)

    def feed(kind: str) -> FeedForward:
        return shared_experts(config) if kind == SPARSE else dense(hidden, config.integer("intermediate_size"))

    kinds = zip(
        (INDEXED if name == "full" else FULL for name in types),
        feeds_of(config, after_first(config)),
        ("rotary" if turns else "" for turns in turned),
        ("own" if source == index else "" for index, source in enumerate(sources)),
        strict=False,
    )
    return assemble(
        config,
        hidden=hidden,
        layers=list(kinds),
        build=lambda kind: layer(mixer(kind), feed(kind[1]), *norms(hidden, *LLAMA_NORMS)),
        tied=config.flag("tie_word_embeddings", default=False),
        embeddings=(Tensor("rotary_emb.alpha", "other", (rope // 2,)),),
    )
