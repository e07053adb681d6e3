"""Families of decoders with experts: Llama's layout with a router and many MLPs in place of the one."""

from collections.abc import Callable

from calc.architecture.blocks import FeedForward, dense, mixture
from calc.architecture.config import Config
from calc.architecture.decoders import FULL, GPT_STYLE, SLIDING, every, llama_like
from calc.architecture.families.registry import family
from calc.architecture.layers import ON_OUTPUT, WIDE_RMS, Architecture, Style

MOST_EXPERTS = 2**16
SHARED = ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts")


def expert_counts(config: Config, *names: str, chosen: str = "num_experts_per_tok") -> tuple[int, int]:
    """Return the number of experts, under the first of `names` that is given, and how many of them a token uses."""
    experts = config.integer(*names, most=MOST_EXPERTS)
    active = config.integer(chosen, "moe_k")
    if active > experts:
        raise config.error(chosen, f"must not be more than the {experts} experts, as {active} is")
    return experts, active


def sparse_steps(config: Config) -> Callable[[int], bool]:
    """Return which layers of a Qwen mixture have experts: every `decoder_sparse_step`-th not in `mlp_only_layers`."""
    step = config.integer("decoder_sparse_step", default=1)
    plain = set(config.integers("mlp_only_layers") or ())
    return lambda layer: layer not in plain and (layer + 1) % step == 0


def after_first(config: Config, default: int | None = None) -> Callable[[int], bool]:
    """Return which layers of a DeepSeek-style mixture have experts: those after the first few."""
    first = config.integer("first_k_dense_replace", default=default, least=0)
    step = config.integer("moe_layer_freq", default=1)
    return lambda layer: layer >= first and layer % step == 0


def shared_experts(config: Config, *, chosen: str = "num_experts_per_tok", bias: bool = False) -> FeedForward:
    """Return DeepSeek-style experts: many narrow ones and a few shared ones, which are one MLP of their joint width."""
    names = ("n_routed_experts", "num_experts", "moe_num_experts", "num_local_experts")
    width = config.integer("moe_intermediate_size")
    together = config.integer(*SHARED, default=0, least=0, most=MOST_EXPERTS) * width
    counts = expert_counts(config, *names, chosen=chosen)
    return mixture(config.hidden(), width, counts, shared_width=together, shared_bias=bias)


def gated_experts(config: Config) -> FeedForward:
    """Return Qwen's experts: many narrow ones, and a shared one with a gate."""
    return mixture(
        config.hidden(),
        config.integer("moe_intermediate_size"),
        expert_counts(config, "num_experts"),
        shared_width=config.integer("shared_expert_intermediate_size"),
        shared_gate=True,
    )


@family("mixtral")
def mixtral(config: Config) -> Architecture:
    """Mixtral: Mistral's layout with experts in every layer."""
    feed = mixture(config.hidden(), config.integer("intermediate_size"), expert_counts(config, "num_local_experts"))
    return llama_like(config, experts=feed, pattern=every(config, lambda _: True))


@family("phimoe")
def phimoe(config: Config) -> Architecture:
    """Phi 3.5 MoE: Mixtral's layout with LayerNorms and biases, also on the output matrix."""
    feed = mixture(config.hidden(), config.integer("intermediate_size"), expert_counts(config, "num_local_experts"))
    return llama_like(
        config,
        attention_bias=config.flag("attention_bias", default=False),
        experts=feed,
        norm_bias=True,
        style=GPT_STYLE,
        head_bias=config.flag("lm_head_bias", default=False),
        pattern=every(config, lambda _: True),
    )


@family("qwen2_moe")
def qwen2_moe(config: Config) -> Architecture:
    """Qwen 1.5 and 2 MoE: Qwen 2 with experts and a gated shared one."""
    feed = gated_experts(config)
    first = config.integer("max_window_layers", default=28, least=0)
    sliding = config.flag("use_sliding_window", default=False)
    pattern = every(config, lambda layer: sliding and layer >= first)
    bias = config.flag("qkv_bias", default=True)
    return llama_like(
        config, attention_bias=bias, out_bias=False, experts=feed, sparse=sparse_steps(config), pattern=pattern
    )


@family("k2_horizon")
def k2_horizon(config: Config) -> Architecture:
    """K2 Horizon: Llama's layout, which may have experts beside shared ones, and a bias on each expert's score."""
    config.refuse("mova_num_experts", (0,), "attention of experts is not modelled")
    config.refuse("attention_gate_func", (None,), "a gate on what attention gives is not modelled")
    experts = shared_experts(config) if config.integer("num_experts", default=0, least=0) else None
    bias = config.flag("attention_bias", default=False)
    normed = "head" if config.flag("query_key_norm", default=False) else ""
    return llama_like(
        config, attention_bias=bias, out_bias=False, qk_norm=normed, experts=experts, sparse=sparse_steps(config)
    )


QWEN3_VL_MOE = {
    "vocab_size": 151936,
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "head_dim": 128,
    "moe_intermediate_size": 1408,
    "num_experts_per_tok": 4,
}


@family("qwen3_moe", "mellum")
@family("qwen3_vl_moe_text", defaults=QWEN3_VL_MOE)
def qwen3_moe(config: Config) -> Architecture:
    """Qwen 3 MoE and Mellum 2: Qwen 3 with experts and no shared one; a window only with `use_sliding_window`."""
    feed = mixture(
        config.hidden(),
        config.integer("moe_intermediate_size"),
        expert_counts(config, "num_experts", "num_local_experts"),
    )
    sliding = config.flag("use_sliding_window", default=False)
    return llama_like(
        config,
        attention_bias=config.flag("attention_bias", default=False),
        qk_norm="head",
        experts=feed,
        sparse=sparse_steps(config),
        pattern=every(config, lambda _: sliding),
    )


OLMOE = {
    "vocab_size": 50304,
    "hidden_size": 2048,
    "intermediate_size": 2048,
    "num_hidden_layers": 16,
    "num_attention_heads": 16,
    "num_experts": 64,
    "num_experts_per_tok": 8,
}


@family("olmoe", defaults=OLMOE)
def olmoe(config: Config) -> Architecture:
    """OLMoE: experts in every layer, norms over all query and all key heads."""
    feed = mixture(config.hidden(), config.integer("intermediate_size"), expert_counts(config, "num_experts"))
    return llama_like(config, attention_bias=config.flag("attention_bias", default=False), qk_norm="all", experts=feed)


@family("gpt_oss")
def gpt_oss(config: Config) -> Architecture:
    """gpt-oss: experts with biases, attention sinks, and a window in every second layer, from the first on."""
    feed = mixture(
        config.hidden(),
        config.integer("intermediate_size"),
        expert_counts(config, "num_local_experts"),
        bias=True,
        router_bias=True,
    )
    bias = config.flag("attention_bias", default=True)
    pattern = every(config, lambda layer: layer % 2 == 0)
    return llama_like(config, attention_bias=bias, sinks=True, style=Style(WIDE_RMS), experts=feed, pattern=pattern)


@family("granitemoe", "granitemoeshared")
def granitemoe(config: Config) -> Architecture:
    """Granite 3 MoE: Granite with experts in every layer, in some with a shared one."""
    feed = mixture(
        config.hidden(),
        config.integer("intermediate_size"),
        expert_counts(config, "num_local_experts"),
        shared_width=config.integer("shared_intermediate_size", default=0, least=0),
    )
    return llama_like(config, attention_bias=config.flag("attention_bias", default=False), experts=feed)


@family("minimax_m2")
def minimax_m2(config: Config) -> Architecture:
    """MiniMax M2: experts in every layer, norms over all query and all key heads."""
    feed = mixture(config.hidden(), config.integer("intermediate_size"), expert_counts(config, "num_local_experts"))
    return llama_like(config, qk_norm="all", experts=feed)


@family("flex_olmo", defaults={"num_experts": 7, "num_experts_per_tok": 5})
def flex_olmo(config: Config) -> Architecture:
    """FlexOlmo: OLMo 2 with experts in every layer."""
    feed = mixture(config.hidden(), config.integer("intermediate_size"), expert_counts(config, "num_experts"))
    bias = config.flag("attention_bias", default=False)
    names = ("post_attention_layernorm", "post_feedforward_layernorm")
    return llama_like(
        config, attention_bias=bias, qk_norm="all", layer_norms=names, style=Style(WIDE_RMS, ON_OUTPUT), experts=feed
    )


@family("dbrx")
def dbrx(config: Config) -> Architecture:
    """DBRX: LayerNorms without biases, experts in every layer, sizes under names of its own."""
    hidden = config.hidden("d_model")
    attention, ffn = config.nested("attn_config"), config.nested("ffn_config")
    experts, active = ffn.integer("moe_num_experts", most=MOST_EXPERTS), ffn.integer("moe_top_k")
    if active > experts:
        raise ffn.error("moe_top_k", f"must not be more than the {experts} experts, as {active} is")
    feed = mixture(hidden, ffn.integer("ffn_hidden_size"), (experts, active))
    renamed = {
        "hidden_size": hidden,
        "num_hidden_layers": config.layers("n_layers"),
        "num_attention_heads": config.integer("n_heads", most=2**20),
        "num_key_value_heads": attention.integer("kv_n_heads"),
    }
    return llama_like(config.completed(renamed), fused=True, style=GPT_STYLE, experts=feed)


LLAMA4 = {
    "vocab_size": 202048,
    "hidden_size": 5120,
    "intermediate_size": 8192,
    "intermediate_size_mlp": 16384,
    "num_hidden_layers": 48,
    "num_attention_heads": 40,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "num_experts_per_tok": 1,
    "num_local_experts": 16,
    "attention_chunk_size": 8192,
}


@family("llama4_text", defaults=LLAMA4)
def llama4_text(config: Config) -> Architecture:
    """Llama 4 (text): three layers in four see a chunk of tokens, the fourth all of them and no positions.

    All or half of the layers have experts.
    """
    hidden, width, layers = config.hidden(), config.integer("intermediate_size"), config.layers()
    feed = mixture(hidden, width, expert_counts(config, "num_local_experts"), shared_width=width)
    step = config.integer("interleave_moe_layer_step", default=1)
    listed = config.integers("moe_layers")
    every_token = config.integer("no_rope_layer_interval", default=4)
    skipping = config.integers("no_rope_layers") or [int((i + 1) % every_token != 0) for i in range(layers)]
    if len(skipping) != layers:
        raise config.error("no_rope_layers", f"must have one item for each of the {layers} layers")
    types = [SLIDING if skipping[i] else FULL for i in range(layers)]
    return llama_like(
        config.replaced({"sliding_window": config.integer("attention_chunk_size")}),
        attention_bias=config.flag("attention_bias", default=False),
        rotated=(SLIDING,),
        mlp=dense(hidden, config.integer("intermediate_size_mlp")),
        experts=feed,
        sparse=lambda layer: layer in listed if listed is not None else (layer + 1) % step == 0,
        pattern=types,
    )
