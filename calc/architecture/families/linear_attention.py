"""Families of linear attention: in all or most layers a recurrence over keys and values in place of a cache."""

from calc.architecture.blocks import FeedForward, Mixer, dense, layer, mixture, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import (
    DENSE,
    FULL,
    LINEAR,
    LLAMA_NORMS,
    SLIDING,
    assemble,
    decoder,
    feeds_of,
    heads_of,
    mixers_of,
    rotary_dim,
)
from calc.architecture.families.latent import latent_attention
from calc.architecture.families.mixture import after_first, expert_counts, gated_experts, shared_experts, sparse_steps
from calc.architecture.families.registry import family
from calc.architecture.families.state_space import FP32, MOST_STATE, convolution
from calc.architecture.layers import (
    ON_OUTPUT,
    WIDE_RMS,
    Architecture,
    Attention,
    Layer,
    Recurrence,
    StateCache,
    Style,
)
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, Tensor, linear, norm


def gated_delta(config: Config) -> Mixer:
    """Return linear attention with a gated delta rule (arXiv:2412.06464): each value head's state is key by value."""
    hidden, block = config.hidden(), "ssm"
    key_heads, value_heads = config.integer("linear_num_key_heads"), config.integer("linear_num_value_heads")
    key_dim, value_dim = config.integer("linear_key_head_dim"), config.integer("linear_value_head_dim")
    kernel = config.integer("linear_conv_kernel_dim", most=MOST_STATE)
    values = value_heads * value_dim
    channels = 2 * key_heads * key_dim + values
    tensors = linear("linear_attn.in_proj_qkv", block, channels, hidden, split=SPLIT_OUT)
    tensors += linear("linear_attn.in_proj_z", block, values, hidden, split=SPLIT_OUT)
    tensors += linear("linear_attn.in_proj_b", block, value_heads, hidden, split=SPLIT_OUT)
    tensors += linear("linear_attn.in_proj_a", block, value_heads, hidden, split=SPLIT_OUT)
    tensors += convolution("linear_attn.conv1d", channels, kernel, False)
    tensors += tuple(Tensor(f"linear_attn.{name}", block, (value_heads,), SPLIT_OUT) for name in ("dt_bias", "A_log"))
    tensors += norm("linear_attn.norm", value_dim, block=block)
    tensors += linear("linear_attn.out_proj", block, hidden, values, split=SPLIT_IN)
    states = (
        StateCache("convolution", (channels, kernel)),
        StateCache("delta net", (value_heads, key_dim, value_dim), FP32),
    )
    return Mixer(tensors, recurrence=Recurrence(key_heads, channels + 2 * values), states=states)


@family("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")
def qwen3_next(config: Config) -> Architecture:
    """Qwen 3 Next and 3.5: three layers of linear attention, then one of gated attention; dense or with experts."""
    hidden = config.hidden()
    heads = heads_of(config, hidden)
    attention = Attention(*heads, joined=True, rotary_dim=rotary_dim(config, heads[2]))
    gated = config.flag("attn_output_gate", default=True)
    bias = config.flag("attention_bias", default=False)
    softmax = softmax_attention(hidden, attention, bias=bias, qk_norm="head", gated=gated)
    interval = config.integer("full_attention_interval", default=4)
    types = [LINEAR if (i + 1) % interval else FULL for i in range(config.layers())]
    sparse = sparse_steps(config)
    has_experts = config.integer("num_experts", default=0, least=0) > 0

    def feed(kind: str) -> FeedForward:
        return dense(hidden, config.integer("intermediate_size")) if kind == DENSE else gated_experts(config)

    return decoder(
        config,
        mixers=mixers_of(config, types, (FULL, LINEAR)),
        mixer=lambda kind: softmax if kind == FULL else gated_delta(config),
        feeds=feeds_of(config, lambda i: has_experts and sparse(i)),
        feed=feed,
        style=Style(WIDE_RMS),
    )


@family("olmo_hybrid")
def olmo_hybrid(config: Config) -> Architecture:
    """OLMo Hybrid: three layers of the gated delta rule, then one of attention in OLMo 2's layout."""
    hidden = config.hidden()
    heads = Attention(*heads_of(config, hidden))
    attention = softmax_attention(hidden, heads, bias=config.flag("attention_bias", default=False), qk_norm="all")
    types = [LINEAR if (i + 1) % 4 else FULL for i in range(config.layers())]
    feed = dense(hidden, config.integer("intermediate_size"))

    def build(kind: tuple[str, ...]) -> Layer:
        if kind[0] == FULL:
            around = norms(hidden, "post_attention_layernorm", "post_feedforward_layernorm")
            return layer(attention, feed, *around, style=Style(WIDE_RMS, ON_OUTPUT))
        return layer(gated_delta(config), feed, *norms(hidden, *LLAMA_NORMS), style=Style(WIDE_RMS))

    return assemble(
        config,
        hidden=hidden,
        layers=[(name,) for name in mixers_of(config, types, (FULL, LINEAR))],
        build=build,
        tied=config.flag("tie_word_embeddings", default=False),
    )


def kimi_delta(config: Config) -> Mixer:
    """Return Kimi Delta Attention (arXiv:2510.26692): a delta rule with a forgetting rate for each channel."""
    hidden, block = config.hidden(), "ssm"
    given = config.nested("linear_attn_config") if config.has("linear_attn_config") else config
    heads = given.integer("num_heads", "linear_num_heads", default=32, most=2**20)
    size = given.integer("head_dim" if given is not config else "linear_head_dim", default=128)
    kernel = given.integer("short_conv_kernel_size", "linear_conv_kernel_dim", default=4, most=MOST_STATE)
    inner = heads * size
    tensors = tuple(
        tensor
        for name in ("q_proj", "k_proj", "v_proj")
        for tensor in linear(f"linear_attn.{name}", block, inner, hidden, split=SPLIT_OUT)
    )
    tensors += convolution("linear_attn.conv1d", 3 * inner, kernel, False)
    tensors += (Tensor("linear_attn.dt_bias", block, (inner,), SPLIT_OUT),)
    tensors += (Tensor("linear_attn.A_log", block, (heads,), SPLIT_OUT),)
    for name in ("f", "g"):
        tensors += linear(f"linear_attn.{name}_a_proj", block, size, hidden)
        tensors += linear(f"linear_attn.{name}_b_proj", block, inner, size, split=SPLIT_OUT)
    tensors += linear("linear_attn.b_proj", block, heads, hidden, split=SPLIT_OUT)
    tensors += norm("linear_attn.o_norm", size, block=block)
    tensors += linear("linear_attn.out_proj", block, hidden, inner, split=SPLIT_IN)
    states = (StateCache("convolution", (3 * inner, kernel)), StateCache("delta net", (heads, size, size), FP32))
    return Mixer(tensors, recurrence=Recurrence(heads, 5 * inner), states=states)


KIMI_LINEAR = {
    "vocab_size": 163840,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "num_experts": 256,
    "num_experts_per_token": 8,
    "num_shared_experts": 1,
    "first_k_dense_replace": 1,
}


@family("kimi_linear", defaults=KIMI_LINEAR)
def kimi_linear(config: Config) -> Architecture:
    """Kimi Linear: three layers of Kimi Delta Attention, then one of latent attention; experts after the first."""
    hidden, layers = config.hidden(), config.layers()
    types = [LINEAR if (i + 1) % 4 else FULL for i in range(layers)]
    if config.has("linear_attn_config"):
        listed = config.nested("linear_attn_config").integers("full_attn_layers") or ()
        types = [FULL if i + 1 in listed else LINEAR for i in range(layers)]
    latent = latent_attention(config, indexer=False, rotary=False)

    def feed(kind: str) -> FeedForward:
        if kind == DENSE:
            return dense(hidden, config.integer("intermediate_size"))
        return shared_experts(config, chosen="num_experts_per_token")

    return decoder(
        config,
        mixers=mixers_of(config, types, (FULL, LINEAR)),
        mixer=lambda kind: latent if kind == FULL else kimi_delta(config),
        feeds=feeds_of(config, after_first(config)),
        feed=feed,
    )


def lightning(hidden: int, heads: int, size: int) -> Mixer:
    """Return lightning attention (arXiv:2501.08313): linear attention with a gate and a norm on its output."""
    inner, block = heads * size, "ssm"
    tensors = linear("linear_attn.qkv_proj", block, 3 * inner, hidden, split=SPLIT_OUT)
    tensors += linear("linear_attn.output_gate", block, inner, hidden, split=SPLIT_OUT)
    tensors += (Tensor("linear_attn.norm.weight", block, (inner,), SPLIT_OUT),)
    tensors += linear("linear_attn.out_proj", block, hidden, inner, split=SPLIT_IN)
    states = (StateCache("linear attention", (heads, size, size), FP32),)
    return Mixer(tensors, recurrence=Recurrence(heads, 5 * inner), states=states)


@family("minimax", "minimax_m1", "minimax_text_01")
def minimax(config: Config) -> Architecture:
    """MiniMax Text 01 and M1: seven layers of lightning attention, then one of attention; experts in every layer."""
    hidden, layers = config.hidden(), config.layers()
    heads, kv_heads, size = heads_of(config, hidden)
    attention = softmax_attention(hidden, Attention(heads, kv_heads, size))
    linear_layers = lightning(hidden, heads, size)
    kinds = config.integers("attn_type_list")
    if kinds is not None and len(kinds) != layers:
        raise config.error("attn_type_list", f"must have one item for each of the {layers} layers")
    types = [FULL if full else LINEAR for full in kinds or [(i + 1) % 2 for i in range(layers)]]
    feed = mixture(hidden, config.integer("intermediate_size"), expert_counts(config, "num_local_experts"))
    return decoder(
        config,
        mixers=mixers_of(config, types, (FULL, LINEAR)),
        mixer=lambda kind: attention if kind == FULL else linear_layers,
        feed=lambda _: feed,
    )


RECURRENT_GEMMA = {
    "vocab_size": 256000,
    "hidden_size": 2560,
    "intermediate_size": 7680,
    "num_hidden_layers": 26,
    "num_attention_heads": 10,
    "attention_window_size": 2048,
    "conv1d_width": 4,
}


@family("recurrent_gemma", defaults=RECURRENT_GEMMA)
def recurrent_gemma(config: Config) -> Architecture:
    """RecurrentGemma (arXiv:2402.19427): two layers of a gated linear recurrence, then one of attention in a window."""
    hidden, width = config.hidden(), config.integer("intermediate_size") // 2
    heads, kv_heads, size = heads_of(config, hidden)
    window = config.integer("attention_window_size")
    attention = softmax_attention(
        hidden,
        Attention(heads, kv_heads, size, window, joined=True),
        bias=config.flag("attention_bias", default=False),
        out_bias=True,
    )
    listed = (
        config.listed_texts("block_types") if config.has("block_types") else ["recurrent", "recurrent", "attention"]
    )
    names = {"recurrent": LINEAR, "attention": SLIDING}
    if not listed or not set(listed) <= set(names):
        raise config.error("block_types", f"must be a list of {' and '.join(names)}")
    types = [names[listed[i % len(listed)]] for i in range(config.layers())]
    recurrent = gated_recurrence(config, heads)
    feed = dense(hidden, width, bias=True, activation=config.text("hidden_activation", "gelu_pytorch_tanh"))
    return decoder(
        config,
        mixers=types,
        mixer=lambda kind: recurrent if kind == LINEAR else attention,
        feed=lambda _: feed,
        style=Style(WIDE_RMS),
        layer_norms=("temporal_pre_norm", "channel_pre_norm"),
        tied=True,
    )


def gated_recurrence(config: Config, heads: int) -> Mixer:
    """Return RecurrentGemma's recurrence: a short convolution, and a decay ruled by two gates of blocks of channels."""
    hidden, block = config.hidden(), "ssm"
    inner, kernel = config.integer("lru_width", default=hidden), config.integer("conv1d_width", most=MOST_STATE)
    if inner % heads:
        raise config.error("lru_width", f"must be a multiple of the {heads} heads, not {inner}")
    size = inner // heads
    tensors = linear("recurrent.linear_y", block, inner, hidden, split=SPLIT_OUT, bias=True)
    tensors += linear("recurrent.linear_x", block, inner, hidden, split=SPLIT_OUT, bias=True)
    tensors += linear("recurrent.linear_out", block, hidden, inner, split=SPLIT_IN, bias=True)
    tensors += convolution("recurrent.conv1d", inner, kernel, True)
    tensors += (Tensor("recurrent.rg_lru.recurrent_param", block, (inner,), SPLIT_OUT),)
    for name in ("input_gate", "recurrent_gate"):
        tensors += (Tensor(f"recurrent.rg_lru.{name}_weight", block, (heads, size, size), SPLIT_OUT),)
        tensors += (Tensor(f"recurrent.rg_lru.{name}_bias", block, (heads, size), SPLIT_OUT),)
    states = (StateCache("convolution", (inner, kernel - 1)), StateCache("recurrence", (inner,), FP32))
    return Mixer(tensors, recurrence=Recurrence(heads, 4 * inner), states=states)
