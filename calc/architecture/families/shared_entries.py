"""DeepSeek V4.1: compressed entries that several layers share, tables of word groups, and a tower that sees.

Shapes follow the release's inference code, as NeMo AutoModel describes it (components/models/deepseek_v41); with its
drafting layers they give the count of the release's files.
"""

from calc.architecture.blocks import Mixer, layer, mixture, norms
from calc.architecture.config import Config
from calc.architecture.decoders import assemble
from calc.architecture.families.compressed import hyper_connection, low_rank_attention, windowed_attention
from calc.architecture.families.mixture import expert_counts
from calc.architecture.families.multimodal import text_of, vision_of, with_tower, with_towers
from calc.architecture.families.registry import family
from calc.architecture.families.vision import BLOCK, patches, projection, transformer
from calc.architecture.layers import Architecture, Layer, TokenCache
from calc.architecture.tensors import SPLIT_VOCAB, Tensor, Tensors, linear, norm

OWNS, CHOOSES, SHARES = "owns", "chooses", "shares"  # entries of its own, a choice of its own, or another layer's
MOST_ROWS = 2**32


def shared_attention(config: Config, role: str, rate: int) -> Mixer:
    """Return attention over a window and entries of `rate` tokens each, which the layer makes or takes from another.

    Who makes entries makes an indexer's keys of them; who chooses has queries that meet those keys.
    """
    hidden, size, block = config.hidden(), config.integer("head_dim"), "attention"
    small, count = config.integer("index_head_dim"), config.integer("index_n_heads")
    tensors, caches = low_rank_attention(config), tuple[TokenCache, ...]()
    if role == OWNS:
        name = "self_attn.compressor"
        tensors += linear(f"{name}.kv_proj", block, size, hidden) + norm(f"{name}.kv_norm", size, block=block)
        tensors += linear(f"{name}.gate_proj", block, size, hidden) if rate > 1 else ()
        tensors += linear("self_attn.indexer.k_proj", block, small, size)
        tensors += norm("self_attn.indexer.k_norm", small, block=block)
        chosen = config.integer("index_topk", default=512, most=2**24)
        caches += (TokenCache("compressed entries", 1, size, 0, stride=rate, chosen=chosen),)
        caches += (TokenCache("indexer keys", 1, small, 0, stride=rate),)
    if role in (OWNS, CHOOSES):
        tensors += linear("self_attn.indexer.q_b_proj", block, count * small, config.integer("q_lora_rank"))
        tensors += linear("self_attn.indexer.weights_proj", block, count, hidden)
    return windowed_attention(config, tensors, caches)


def engram(config: Config, rows: int) -> Tensors:
    """Return a table of hashed word groups, and what writes its rows into each residual stream (Engram).

    Ranks share its rows as those of the vocabulary: whole on each, none would hold it, and eight of 96 GB serve it.
    """
    hidden, streams = config.hidden(), config.integer("hc_mult", default=4, most=64)
    size, heads = config.integer("engram_head_dim"), config.integer("engram_n_heads", most=2**10)
    read = heads * (config.integer("engram_max_ngram_size", least=2, most=64) - 1) * size
    tensors: Tensors = (Tensor("engram.embed.weight", "other_embedding", (rows, size), SPLIT_VOCAB),)
    tensors += linear("engram.wkv", "layer_other", hidden * (streams + 1), read)
    return tensors + tuple(
        Tensor(f"engram.{name}", "layer_other", (streams, hidden)) for name in ("q_weight", "k_weight")
    )


@family("deepseek_v41_text")
def deepseek_v41_text(config: Config) -> Architecture:
    """DeepSeek V4.1: DeepSeek V4's layers, whose entries a few make for all, and two tables of word groups."""
    hidden, layers = config.hidden(), config.layers()
    streams = config.integer("hc_mult", default=4, most=64)
    rates = config.integers("compress_ratios") or ()
    if len(rates) < layers or any(not 0 <= rate <= 2**16 for rate in rates):
        raise config.error("compress_ratios", f"must give each of the {layers} layers how many tokens an entry sums up")
    owners, choosers = (set(config.integers(f"{name}_source_layer_ids") or ()) for name in ("kv", "index"))
    tables, rows = config.integers("engram_layer_ids") or (), config.integers("engram_num_embeddings") or ()
    if len(tables) != len(rows) or any(not 0 < count <= MOST_ROWS for count in rows):
        raise config.error("engram_num_embeddings", f"must give each of the {len(tables)} tables its rows")
    placed = dict(zip(tables, rows, strict=True))
    width = config.integer("moe_intermediate_size")
    shared = width * config.integer("n_shared_experts", default=1, least=0, most=64)
    around = norms(hidden, "input_layernorm", "post_attention_layernorm")
    around += hyper_connection("attn_hc", "attention", hidden, streams)
    around += hyper_connection("ffn_hc", "mlp", hidden, streams)

    def build(kind: tuple[str, ...], named: str = "n_routed_experts", chosen: str = "num_experts_per_tok") -> Layer:
        role, rate, count = kind[0], int(kind[1]), int(kind[2])
        experts, active = expert_counts(config, named, chosen=chosen)
        feed = mixture(hidden, width, (experts, active), shared_width=shared)
        biases = tuple(Tensor(f"mlp.router.{name}", "router", (experts,)) for name in ("bias", "bias_vl"))
        feed = feed._replace(tensors=feed.tensors + biases)
        return layer(shared_attention(config, role, rate), feed, *around, *(engram(config, count) if count else ()))

    def role(index: int) -> str:
        return OWNS if index in owners else CHOOSES if index in choosers else SHARES

    whole = assemble(
        config,
        hidden=hidden,
        layers=[(role(i), str(rates[i]), str(placed.get(i, 0))) for i in range(layers)],
        build=build,
        tied=config.flag("tie_word_embeddings", default=False),
    )
    if not config.has("dspark_n_routed_experts"):
        return whole
    drafting = build((SHARES, "0", "0"), "dspark_n_routed_experts", "dspark_num_experts_per_tok")
    return whole._replace(predicting=(drafting,))


def seeing_tower(config: Config, outputs: int) -> Tensors:
    """Return DeepSeek V4's tower: rotary positions, RMS norms, gated MLPs without biases, neighbours made one."""
    hidden = config.hidden()
    tensors = patches(config, bias=True)
    tensors += transformer(config, depth=config.layers(), mlp_bias=False, norm_bias=False, gated=True)
    tensors += norm("vision.norm", hidden, block=BLOCK)
    together = config.integer("downsample_ratio", default=3, most=64) ** 2
    return tensors + projection(outputs, hidden * together, bias=True)


@with_towers("deepseek_v41")
def deepseek_v41(config: Config) -> Architecture:
    """DeepSeek V4.1 with its tower."""
    text = text_of(config, "deepseek_v41_text")
    tower = seeing_tower(vision_of(config), text.hidden()) if config.has("vision_config") else ()
    return with_tower(config, text, tower)
