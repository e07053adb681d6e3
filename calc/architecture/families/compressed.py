"""DeepSeek V4: attention over a window and over entries that sum up the tokens before it."""

from calc.architecture.blocks import Mixer, layer, mixture, norms
from calc.architecture.config import Config
from calc.architecture.decoders import assemble
from calc.architecture.families.mixture import MOST_EXPERTS, expert_counts
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture, Attention, TokenCache
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, Tensor, Tensors, linear, norm

COMPRESSED, HEAVILY_COMPRESSED, WINDOW_ONLY = (
    "compressed_sparse_attention",
    "heavily_compressed_attention",
    "sliding_attention",
)


def low_rank_attention(config: Config) -> Tensors:
    """Return what each layer of DeepSeek V4 has: queries and outputs through low ranks, one head of keys as values."""
    hidden, heads, size = config.hidden(), config.integer("num_attention_heads", most=2**20), config.integer("head_dim")
    query_rank, rank = config.integer("q_lora_rank"), config.integer("o_lora_rank")
    groups = config.integer("o_groups", most=heads)
    prefix, block = "self_attn.", "attention"
    tensors: Tensors = (Tensor(prefix + "sinks", block, (heads,), SPLIT_OUT),)
    tensors += linear(prefix + "q_a_proj", block, query_rank, hidden)
    tensors += norm(prefix + "q_a_norm", query_rank, block=block)
    tensors += linear(prefix + "q_b_proj", block, heads * size, query_rank, split=SPLIT_OUT)
    tensors += linear(prefix + "kv_proj", block, size, hidden) + norm(prefix + "kv_norm", size, block=block)
    tensors += linear(prefix + "o_a_proj", block, groups * rank, heads * size // groups, split=SPLIT_OUT)
    return tensors + linear(prefix + "o_b_proj", block, hidden, groups * rank, split=SPLIT_IN)


def windowed_attention(config: Config, tensors: Tensors, caches: tuple[TokenCache, ...]) -> Mixer:
    """Return attention over a window, and over what `caches` keep of the tokens before it."""
    size, window = config.integer("head_dim"), config.integer("sliding_window", default=128)
    near = TokenCache("keys as values", 1, size, 0, window_tokens=window)
    return Mixer(tensors, Attention(config.integer("num_attention_heads"), 1, size, window), caches=(near, *caches))


def compressed_attention(config: Config, kind: str, rate: int) -> Mixer:
    """Return DeepSeek V4's attention: one key-value head in a window, and before it entries that sum up `rate` tokens.

    The light compression has overlapping entries, hence double width, and an indexer that chooses among them.
    """
    hidden, size, query_rank = config.hidden(), config.integer("head_dim"), config.integer("q_lora_rank")
    prefix, block = "self_attn.", "attention"
    tensors, caches = low_rank_attention(config), tuple[TokenCache, ...]()
    if kind != WINDOW_ONLY:
        wide = 2 if kind == COMPRESSED else 1
        tensors += compressor(prefix + "compressor", hidden, size, wide * size, rate=rate)
        chosen = config.integer("index_topk", default=512, most=2**24) if kind == COMPRESSED else None
        caches += (TokenCache("compressed entries", 1, size, 0, stride=rate, chosen=chosen),)
    if kind == COMPRESSED:
        small, count = config.integer("index_head_dim"), config.integer("index_n_heads")
        tensors += compressor(prefix + "compressor.indexer", hidden, small, 2 * small, rate=rate)
        tensors += linear(prefix + "compressor.indexer.q_b_proj", block, count * small, query_rank)
        tensors += linear(prefix + "compressor.indexer.scorer.weights_proj", block, count, hidden)
        caches += (TokenCache("indexer keys", 1, small, 0, stride=rate),)
    return windowed_attention(config, tensors, caches)


def compressor(name: str, hidden: int, size: int, width: int, rate: int) -> tuple[Tensor, ...]:
    """Return what turns `rate` tokens into one entry of `size`: a projection, weights for the sum, and a norm."""
    tensors: Tensors = (Tensor(f"{name}.position_bias", "attention", (rate, width)),)
    tensors += linear(f"{name}.kv_proj", "attention", width, hidden)
    tensors += linear(f"{name}.gate_proj", "attention", width, hidden)
    return tensors + norm(f"{name}.kv_norm", size, block="attention")


def hyper_connection(name: str, block: str, hidden: int, streams: int) -> tuple[Tensor, ...]:
    """Return what mixes the residual streams around a block (hyper-connections, arXiv:2409.19606)."""
    outputs = streams * (2 + streams)
    fn = Tensor(f"{name}.fn", block, (outputs, streams * hidden))
    return fn, Tensor(f"{name}.base", block, (outputs,)), Tensor(f"{name}.scale", block, (3,))


def separate_connection(name: str, block: str, hidden: int, streams: int) -> tuple[Tensor, ...]:
    """Return what weighs each residual stream before and after a block, and mixes none with another (Hunyuan 4)."""
    outputs = 2 * streams
    fn = Tensor(f"{name}.fn", block, (outputs, streams * hidden))
    return fn, Tensor(f"{name}.base", block, (outputs,)), Tensor(f"{name}.scale", block, (2,))


def hyper_head(hidden: int, streams: int) -> tuple[Tensor, ...]:
    """Return what makes one of the residual streams behind the last layer."""
    weights = Tensor("hc_head.hc_fn", "other", (streams, streams * hidden))
    return weights, Tensor("hc_head.hc_base", "other", (streams,)), Tensor("hc_head.hc_scale", "other", (1,))


COMPRESSION = {0: WINDOW_ONLY, 4: COMPRESSED, 128: HEAVILY_COMPRESSED}


@family("deepseek_v4")
def deepseek_v4(config: Config) -> Architecture:
    """DeepSeek V4: compressed attention in two strengths, experts in every layer, several residual streams."""
    hidden, layers = config.hidden(), config.layers()
    streams = config.integer("hc_mult", default=4, most=64)
    ratios = config.integers("compress_ratios")
    types = config.texts("layer_types", layers)
    if types is None:
        if ratios is None or len(ratios) < layers or not set(ratios[:layers]) <= set(COMPRESSION):
            raise config.error("compress_ratios", f"must give 0, 4 or 128 for each of the {layers} layers")
        types = [COMPRESSION[ratio] for ratio in ratios[:layers]]
    rates = {name: rate for rate, name in COMPRESSION.items()}
    for name in types:
        if name not in rates:
            raise config.error("layer_types", f"{name!r:.60} is not modelled; modelled are {', '.join(rates)}")
    width = config.integer("moe_intermediate_size")
    shared = width * config.integer("n_shared_experts", default=1, least=0, most=MOST_EXPERTS)
    feed = mixture(hidden, width, expert_counts(config, "n_routed_experts"), shared_width=shared)
    around = norms(hidden, "input_layernorm", "post_attention_layernorm")
    around += hyper_connection("attn_hc", "attention", hidden, streams)
    around += hyper_connection("ffn_hc", "mlp", hidden, streams)
    last = norm("norm", hidden, block="final_norm") + hyper_head(hidden, streams)
    whole = assemble(
        config,
        hidden=hidden,
        layers=[(name,) for name in types],
        build=lambda kind: layer(compressed_attention(config, kind[0], rates[kind[0]]), feed, *around),
        final=last,
        tied=config.flag("tie_word_embeddings", default=False),
    )
    drafting = layer(compressed_attention(config, WINDOW_ONLY, 0), feed, *around, *last[1:])
    return whole._replace(predicting=(drafting,))
