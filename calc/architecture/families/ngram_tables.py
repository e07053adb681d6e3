"""Qwen 4's experimental make, sold as Qwen 3.8 Flash Next: tables of word groups, and streams that low ranks mix."""

from functools import lru_cache
from math import isqrt

from calc.architecture.blocks import FeedForward, Mixer, layer, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import FULL, LINEAR, assemble, heads_of, mixers_of
from calc.architecture.families.linear_attention import gated_delta
from calc.architecture.families.mixture import gated_experts
from calc.architecture.families.multimodal import text_of, vision_of, with_tower, with_towers
from calc.architecture.families.registry import family
from calc.architecture.families.state_space import convolution
from calc.architecture.families.vision import qwen3_tower
from calc.architecture.layers import Architecture, Attention, Layer, TokenCache
from calc.architecture.tensors import SPLIT_VOCAB, Tensor, Tensors, linear, norm

OTHER = "layer_other"
MOST_STREAMS, MOST_TABLES, MOST_ROWS = 64, 256, 2**26


def mixed_streams(name: str, hidden: int, streams: int, rank: int, *, injects: bool) -> Tensors:
    """Return what makes a block's input of several residual streams, and what puts its output back into each."""
    wide = hidden * streams
    tensors = norm(f"{name}.hc_norm", wide, block=OTHER)
    tensors += linear(f"{name}.input_mix_weight_down", OTHER, rank, wide)
    tensors += linear(f"{name}.input_mix_weight_up", OTHER, wide, rank)
    return tensors + (linear(f"{name}.block_inject_weight", OTHER, streams, wide) if injects else ())


@lru_cache(maxsize=8)
def primes_from(start: int, skipped: int, count: int) -> tuple[int, ...]:
    """Return the primes from `start` on, `count` of them after those that are skipped.

    >>> primes_from(20, 1, 2)
    (29, 31)
    """
    found: list[int] = []
    number = start | 1
    while len(found) < skipped + count:
        if all(number % divisor for divisor in range(3, isqrt(number) + 1, 2)):
            found.append(number)
        number += 2
    return tuple(found[skipped:])


def ngram_table(config: Config, order: int) -> Tensors:
    """Return the table of hashed word groups that stands at a layer, the `order`-th that has one, and what reads it.

    Each head has a prime number of rows of its own, so that two groups of words seldom meet in all of them. Ranks share
    the rows, which are filled up to be divisible: an FP8 table of 48 GiB and all else stand on two devices of 96 GB
    beside another engine (vLLM's pull request 53896).
    """
    hidden, streams = config.hidden(), config.integer("hc_count", most=MOST_STREAMS)
    heads = (config.integer("ngram_size", most=MOST_TABLES) - 1) * config.integer("heads_per_ngram", most=MOST_TABLES)
    size, least = (
        config.integer("ple_embed_dim", default=hidden),
        config.integer("ngram_vocab_size_base", most=MOST_ROWS),
    )
    if not heads or size % heads or heads > MOST_TABLES or order * heads > MOST_TABLES:
        raise config.error("ple_embed_dim", f"must be a multiple of the {heads} heads of word groups, not {size}")
    whole = config.integer("make_ngram_vocab_size_divisible_by")
    rows = -(-sum(primes_from(least, order * heads, heads)) // whole) * whole
    wide = hidden * streams
    tensors: Tensors = (Tensor("ple.ngram_embedding.weight", "other_embedding", (rows, size // heads), SPLIT_VOCAB),)
    tensors += linear("ple.key_proj", OTHER, wide, size) + linear("ple.value_proj", OTHER, hidden, size)
    for name in ("key", "query", "conv"):
        tensors += norm(f"ple.norm_{name}", wide, block=OTHER)
    kernel = config.integer("ple_conv_kernel_size", most=1000)
    return tensors + convolution("ple.conv1d", wide, kernel, False)


def indexed_attention(config: Config) -> Mixer:
    """Return gated attention before which one small key, of several tokens together, chooses what is looked at."""
    hidden, block = config.hidden(), "attention"
    shape = Attention(*heads_of(config, hidden), joined=True)
    found = softmax_attention(hidden, shape, qk_norm="head", gated=True)
    if not config.has("indexer_n_heads"):
        return found
    count, size = config.integer("indexer_n_heads", most=2**20), config.integer("indexer_head_dim")
    tensors = linear("self_attn.indexer.index_q_proj", block, count * size, hidden)
    tensors += linear("self_attn.indexer.index_k_proj", block, size, hidden)
    tensors += norm("self_attn.indexer.q_norm", size, block=block) + norm("self_attn.indexer.k_norm", size, block=block)
    together = config.integer("indexer_compress_ratio", default=1, most=2**16)
    keys = TokenCache("indexer keys", 1, size, 0, stride=together)
    return found._replace(tensors=found.tensors + tensors, caches=(*found.caches, keys))


QWEN4 = {
    "vocab_size": 248320,
    "hidden_size": 2048,
    "num_hidden_layers": 40,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "moe_intermediate_size": 512,
    "shared_expert_intermediate_size": 512,
    "num_experts_per_tok": 10,
    "num_experts": 512,
    "hc_count": 4,
    "hc_lowrank": 320,
    "ple_conv_kernel_size": 4,
    "ngram_size": 3,
    "heads_per_ngram": 8,
    "ngram_vocab_size_base": 20_000_000,
    "make_ngram_vocab_size_divisible_by": 128,
}


@family("qwen4_exp_text", defaults=QWEN4)
def qwen4_exp_text(config: Config) -> Architecture:
    """Qwen 4 Exp: Qwen 3.5's two kinds of layers over four residual streams, with tables of word groups at a few."""
    hidden, layers = config.hidden(), config.layers()
    streams, rank = config.integer("hc_count", most=MOST_STREAMS), config.integer("hc_lowrank", most=2**16)
    interval = config.integer("full_attention_interval", default=4)
    if (given := config.texts("layer_types", layers)) is not None:
        config = config.replaced({"layer_types": [FULL if name == "indexed_attention" else name for name in given]})
    types = mixers_of(config, [LINEAR if (i + 1) % interval else FULL for i in range(layers)], (FULL, LINEAR))
    at = [str(index - 1) for index in config.integers("ple_layer_ids") or ()]
    feed = gated_experts(config)
    mixers = {FULL: indexed_attention(config), LINEAR: gated_delta(config)}
    around = mixed_streams("attn_hyper_connection", hidden, streams, rank, injects=True)
    around += mixed_streams("mlp_hyper_connection", hidden, streams, rank, injects=True)

    def build(kind: tuple[str, ...]) -> Layer:
        table = ngram_table(config, at.index(kind[1])) if kind[1] else ()
        return layer(mixers[kind[0]], feed, *around, *table)

    last = mixed_streams("hyper_connection_mixer", hidden, streams, rank, injects=False)
    whole = assemble(
        config,
        hidden=hidden,
        layers=[(kind, str(i) if str(i) in at else "") for i, kind in enumerate(types)],
        build=build,
        tied=config.flag("tie_word_embeddings", default=False),
        final=last,
    )
    drafting = layer(mixers[FULL], FeedForward(feed.tensors, feed.width, feed.gated), *around, *last)
    return whole._replace(predicting=(drafting,))


@with_towers("qwen4_exp")
def qwen4_exp(config: Config) -> Architecture:
    """Qwen 4 Exp with Qwen 3.5's tower."""
    return with_tower(config, text_of(config, "qwen4_exp_text"), qwen3_tower(vision_of(config), deep=False))
