"""Families of decoders with many narrow experts, a few shared ones, and a few dense layers before them."""

from calc.architecture.blocks import FeedForward, Mixer, dense, layer, mixture, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import (
    DENSE,
    FULL,
    LLAMA_NORMS,
    SLIDING,
    SPARSE,
    decoder,
    every,
    feeds_of,
    heads_of,
    llama_like,
    mixers_of,
)
from calc.architecture.families.mixture import after_first, expert_counts, shared_experts
from calc.architecture.families.registry import family
from calc.architecture.layers import AROUND, Architecture, Attention, Style, TokenCache
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, SPLIT_VOCAB, Tensor, linear


@family("glm4_moe", "glm4v_moe_text")
def glm4_moe(config: Config) -> Architecture:
    """GLM 4.5 and 4.6: a few dense layers, then experts with shared ones; query, key and value have biases."""
    return llama_like(
        config,
        attention_bias=config.flag("attention_bias", default=False),
        out_bias=False,
        qk_norm="head" if config.flag("use_qk_norm", default=False) else "",
        joined=True,
        experts=shared_experts(config),
        sparse=after_first(config),
    )


@family("bailing_moe", "sarvam_moe", defaults={"first_k_dense_replace": 1})
def bailing_moe(config: Config) -> Architecture:
    """Ling 2.0 and Sarvam: norms on query and key heads, a few dense layers, a router with a learned correction."""
    feed = shared_experts(config)
    experts, _ = expert_counts(config, "num_experts", "n_routed_experts")
    correction = Tensor("mlp.router.expert_bias", "router", (experts,))
    return llama_like(
        config,
        fused=True,
        qk_norm="head" if config.flag("use_qk_norm", default=True) else "",
        experts=feed._replace(tensors=(*feed.tensors, correction)),
        sparse=after_first(config),
    )


ERNIE = {
    "vocab_size": 103424,
    "hidden_size": 2560,
    "intermediate_size": 12288,
    "num_hidden_layers": 28,
    "num_attention_heads": 20,
    "num_key_value_heads": 4,
    "moe_intermediate_size": 1536,
    "moe_num_experts": 64,
    "moe_num_shared_experts": 2,
    "moe_k": 6,
    "moe_layer_start_index": 1,
}


@family("ernie4_5_moe", defaults=ERNIE)
def ernie4_5_moe(config: Config) -> Architecture:
    """ERNIE 4.5 MoE: experts from the second layer on, whose router adds a learned correction for each expert."""
    feed = shared_experts(config)
    experts, _ = expert_counts(config, "moe_num_experts")
    correction = Tensor("mlp.router.e_score_correction_bias", "router", (1, experts))
    first = config.integer("moe_layer_start_index", least=0)
    last = config.integer("moe_layer_end_index", default=-1, least=-1)
    step = config.integer("moe_layer_interval", default=1)
    return llama_like(
        config,
        attention_bias=config.flag("use_bias", default=False),
        experts=feed._replace(tensors=(*feed.tensors, correction)),
        sparse=lambda layer: layer >= first and (last == -1 or layer <= last) and (layer + 1) % step == 0,
        tied=True,
    )


@family("deepseek", "dots1", "solar_open", defaults={"first_k_dense_replace": 0})
def dots(config: Config) -> Architecture:
    """DeepSeek MoE, the first one, dots.llm1 and Solar Open: Llama's layout; dots has norms on query and key heads."""
    dots1 = config.text("model_type", "") == "dots1"
    bias = config.flag("attention_bias", default=False)
    layers = config.layers()
    first = config.integer("max_window_layers", default=layers, least=0)
    return llama_like(
        config,
        attention_bias=bias,
        out_bias=bias and config.text("model_type", "") != "solar_open",
        qk_norm="head" if dots1 else "",
        experts=shared_experts(config),
        sparse=after_first(config),
        pattern=every(config, lambda layer: dots1 and layer >= first),
    )


@family("exaone_moe", "hy_v3", defaults={"first_k_dense_replace": 1})
def exaone_moe(config: Config) -> Architecture:
    """K-EXAONE and Hunyuan 3: norms on each query and key head; EXAONE's last layer of each four sees everything."""
    windowed = config.text("model_type", "") == "exaone_moe" and config.has("sliding_window")
    last = config.layers() - 1
    return llama_like(
        config,
        attention_bias=config.flag("attention_bias", default=False),
        qk_norm="head",
        experts=shared_experts(config, bias=config.flag("mlp_bias", default=False)),
        sparse=after_first(config),
        pattern=every(config, lambda layer: windowed and (last - layer) % 4 != 0),
    )


@family("hunyuan_v1_moe", defaults={"vocab_size": 290943})
def hunyuan_v1_moe(config: Config) -> Architecture:
    """Hunyuan A13B: experts as wide as the MLP, beside a shared one, and norms on each query and key head."""
    width = config.integer("intermediate_size")
    feed = mixture(config.hidden(), width, expert_counts(config, "num_experts", chosen="moe_topk"), shared_width=width)
    return llama_like(config, attention_bias=config.flag("attention_bias", default=False), qk_norm="head", experts=feed)


@family("afmoe", defaults={"num_dense_layers": 1, "num_shared_experts": 2, "global_attn_every_n_layers": 4})
def afmoe(config: Config) -> Architecture:
    """Trinity (AFMoE): a gate on the attention's output, four norms a layer, windows in three layers of four."""
    hidden, first = config.hidden(), config.integer("num_dense_layers", least=0)
    period = config.integer("global_attn_every_n_layers")
    heads = Attention(*heads_of(config, hidden))
    window = config.integer("sliding_window", default=0, least=0) or None
    feed = shared_experts(config)
    experts, _ = expert_counts(config, "num_experts")
    feed = feed._replace(tensors=(*feed.tensors, Tensor("mlp.expert_bias", "router", (experts,))))

    def mixer(kind: str) -> Mixer:
        shape = heads._replace(window_tokens=window if kind == SLIDING else None, rotary=kind == SLIDING)
        found = softmax_attention(hidden, shape, bias=config.flag("attention_bias", default=False), qk_norm="head")
        gate = linear("self_attn.gate_proj", "attention", heads.heads * heads.head_dim, hidden, split=SPLIT_OUT)
        return found._replace(tensors=found.tensors + gate)

    return decoder(
        config,
        mixers=mixers_of(config, every(config, lambda layer: (layer + 1) % period != 0)),
        mixer=mixer,
        feeds=feeds_of(config, lambda layer: layer >= first),
        feed=lambda kind: feed if kind == SPARSE else dense(hidden, config.integer("intermediate_size")),
        layer_norms=("input_layernorm", "post_attention_layernorm", "pre_mlp_layernorm", "post_mlp_layernorm"),
        style=Style(place=AROUND),
    )


@family("mimo_v2_flash")
def mimo_v2_flash(config: Config) -> Architecture:
    """MiMo V2 Flash: values smaller than keys; layers with a window have KV heads of their own number, and sinks."""
    hidden, layers = config.hidden(), config.layers()
    heads, kv_heads = config.integer("num_attention_heads", most=2**20), config.integer("num_key_value_heads")
    size, value = config.integer("head_dim"), config.integer("v_head_dim")
    bias = config.flag("attention_bias", default=False)

    def mixer(kind: str) -> Mixer:
        windowed = kind == SLIDING
        shared = config.integer("swa_num_key_value_heads", default=2 * kv_heads) if windowed else kv_heads
        window = config.integer("sliding_window") if windowed else None
        return uneven_attention(hidden, Attention(heads, shared, size, window, value_dim=value), bias, windowed)

    hybrid = config.integers("hybrid_layer_pattern")
    if hybrid is not None and len(hybrid) != layers:
        raise config.error("hybrid_layer_pattern", f"must have one item for each of the {layers} layers")
    default = [SLIDING if sliding else FULL for sliding in hybrid or [int(i % 6 != 0) for i in range(layers)]]
    frequency = config.integers("moe_layer_freq")
    feed = shared_experts(config)
    return decoder(
        config,
        mixers=mixers_of(config, default),
        mixer=mixer,
        feeds=feeds_of(config, lambda layer: bool(frequency[layer]) if frequency else layer > 0),
        feed=lambda kind: feed if kind == SPARSE else dense(hidden, config.integer("intermediate_size")),
    )


def uneven_attention(hidden: int, attention: Attention, bias: bool, sinks: bool) -> Mixer:
    """Return attention whose values have a size of their own."""
    value = attention.value_dim or attention.head_dim
    kv_heads, prefix, block = attention.kv_heads, "self_attn.", "attention"
    tensors = linear(prefix + "q_proj", block, attention.heads * attention.head_dim, hidden, split=SPLIT_OUT, bias=bias)
    tensors += linear(
        prefix + "k_proj", block, kv_heads * attention.head_dim, hidden, split=SPLIT_OUT, bias=bias, units=kv_heads
    )
    tensors += linear(prefix + "v_proj", block, kv_heads * value, hidden, split=SPLIT_OUT, bias=bias, units=kv_heads)
    tensors += linear(prefix + "o_proj", block, hidden, attention.heads * value, split=SPLIT_IN)
    if sinks:
        tensors += (Tensor(prefix + "sinks", block, (attention.heads,), SPLIT_OUT),)
    cache = TokenCache("keys and values", kv_heads, attention.head_dim, value, window_tokens=attention.window_tokens)
    return Mixer(tensors, attention, caches=(cache,))


@family("laguna")
def laguna(config: Config) -> Architecture:
    """Laguna: a gate for each head or each of its elements, heads by layer, a router with a learned correction."""
    hidden, layers = config.hidden(), config.layers()
    usual, kv_heads, size = heads_of(config, hidden)
    listed = config.integers("num_attention_heads_per_layer") or [usual] * layers
    if len(listed) != layers or any(not heads or heads % kv_heads for heads in listed):
        message = f"must give each of the {layers} layers a multiple of the {kv_heads} KV heads"
        raise config.error("num_attention_heads_per_layer", message)
    window = config.integer("sliding_window", default=0, least=0) or None
    experts, active = expert_counts(config, "num_experts")
    width, shared = config.integer("moe_intermediate_size"), config.integer("shared_expert_intermediate_size")
    feed = mixture(hidden, width, (experts, active), shared_width=shared)
    correction = Tensor("mlp.router.e_score_correction_bias", "router", (experts,))
    feed = feed._replace(tensors=(*feed.tensors, correction))
    gating, bias = config.values.get("gating", True), config.flag("attention_bias", default=False)

    def mixer(kind: str) -> Mixer:
        name, _, heads = kind.partition(":")
        attention = Attention(int(heads), kv_heads, size, window if name == SLIDING else None)
        found = softmax_attention(hidden, attention, bias=bias, qk_norm="head")
        width = attention.heads * (size if gating == "per-element" else 1)
        gate = linear("self_attn.g_proj", "attention", width, hidden, split=SPLIT_OUT) if gating else ()
        return found._replace(tensors=found.tensors + gate)

    def feed_of(kind: str) -> FeedForward:
        return feed if kind == SPARSE else dense(hidden, config.integer("intermediate_size"))

    types, plain = mixers_of(config, [FULL] * layers), config.integers("mlp_only_layers") or [0]
    return decoder(
        config,
        mixers=[f"{name}:{heads}" for name, heads in zip(types, listed, strict=True)],
        mixer=mixer,
        feeds=feeds_of(config, lambda layer: layer not in plain),
        feed=feed_of,
    )


STEP = {
    "vocab_size": 128896,
    "hidden_size": 4096,
    "intermediate_size": 11264,
    "num_hidden_layers": 45,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "moe_intermediate_size": 1280,
    "moe_num_experts": 288,
    "num_experts_per_tok": 8,
    "share_expert_dim": 1280,
}
STEP_NAMES = {"num_attention_groups": "num_key_value_heads", "moe_top_k": "num_experts_per_tok"}  # of published configs


@family("step3p5", defaults=STEP)
def step3p5(config: Config) -> Architecture:
    """Step 3.5 and 3.7: a gate for each head, more heads in layers with a window, a head to each draft."""
    config = config.replaced({new: config.values[old] for old, new in STEP_NAMES.items() if config.has(old)})
    hidden, layers = config.hidden(), config.layers()
    usual, kv_heads, size = heads_of(config, hidden)
    others = config.nested("attention_other_setting") if config.has("attention_other_setting") else config
    more = others.integer("num_attention_heads", default=usual, most=2**20)
    if more % kv_heads:
        raise others.error("num_attention_heads", f"must be a multiple of the {kv_heads} KV heads, not {more}")
    window = config.integer("sliding_window", default=512)
    experts, active = expert_counts(config, "moe_num_experts", "n_routed_experts")
    width, shared = config.integer("moe_intermediate_size"), config.integer("share_expert_dim", "share_expert_dims")
    feed = mixture(hidden, width, (experts, active), shared_width=shared)
    correction = Tensor("mlp.router.bias", "router", (experts,))
    feeds = {
        SPARSE: feed._replace(tensors=(*feed.tensors, correction)),
        DENSE: dense(hidden, config.integer("intermediate_size")),
    }

    def mixer(kind: str) -> Mixer:
        heads, reach = (more, window) if kind == SLIDING else (usual, None)
        found = softmax_attention(hidden, Attention(heads, kv_heads, size, reach), qk_norm="head")
        gate = linear("self_attn.g_proj", "attention", heads, hidden, split=SPLIT_OUT)
        return found._replace(tensors=found.tensors + gate)

    listed = config.values.get("moe_layers_enum", ",".join(str(i) for i in range(3, layers)))
    sparse = {item.strip() for item in listed.split(",")} if isinstance(listed, str) else set()
    types = config.values.get("layer_types")
    if isinstance(types, list):  # those of the layers that draft stand at its end
        config = config.replaced({"layer_types": types[:layers]})
    found = decoder(
        config,
        mixers=mixers_of(config, every(config, lambda i: i % 4 != 0)),
        mixer=mixer,
        feeds=feeds_of(config, lambda i: str(i) in sparse),
        feed=feeds.__getitem__,
    )
    head = linear("mtp.head", "lm_head", config.integer("vocab_size"), hidden, split=SPLIT_VOCAB)
    draft = layer(mixer(SLIDING), feeds[DENSE], *norms(hidden, *LLAMA_NORMS), *head)
    return found._replace(predicting=(draft,))
