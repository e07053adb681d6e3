"""MiniMax M3: small heads of an indexer choose the blocks of tokens that attention looks at."""

from calc.architecture.blocks import dense, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import FULL, SPARSE, decoder, feeds_of, heads_of
from calc.architecture.families.latent import INDEXED
from calc.architecture.families.mixture import shared_experts
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture, Attention, TokenCache
from calc.architecture.tensors import linear, norm


@family("minimax_m3", "minimax_m3_vl_text", defaults={"n_shared_experts": 1})
def minimax_m3(config: Config) -> Architecture:
    """MiniMax M3: attention whose small heads choose blocks of tokens, in all but the first layers; shared experts.

    Checkpoints have the indexer in an object of its own, what transformers writes has it among the other fields.
    """
    hidden, layers = config.hidden(), config.layers()
    sparse = config.nested("sparse_attention_config") if config.has("sparse_attention_config") else config
    types = config.texts("layer_types", layers)
    chosen = sparse.integers("sparse_attention_freq") or [int(name != FULL) for name in types or [INDEXED] * layers]
    placed = config.integers("moe_layer_freq") or [1] * layers
    if len(chosen) < layers or len(placed) < layers:
        raise config.error("moe_layer_freq", f"must say of each of the {layers} layers whether it has experts")
    plain = softmax_attention(hidden, Attention(*heads_of(config, hidden)), qk_norm="head")
    size = sparse.integer("sparse_index_dim", "index_head_dim")
    count = sparse.integer("sparse_num_index_heads", "index_n_heads")
    extra = linear("self_attn.index_q_proj", "attention", count * size, hidden)
    extra += linear("self_attn.index_k_proj", "attention", size, hidden)
    extra += tuple(tensor for name in "qk" for tensor in norm(f"self_attn.index_{name}_norm", size, block="attention"))
    keys = TokenCache("indexer keys", 1, size, 0)
    indexed = plain._replace(tensors=plain.tensors + extra, caches=(*plain.caches, keys))
    width = config.integer("dense_intermediate_size", "intermediate_size")
    shared = config.completed({"moe_intermediate_size": config.integer("intermediate_size")})
    whole = decoder(
        config,
        mixers=[INDEXED if chosen[i] else FULL for i in range(layers)],
        mixer=lambda kind: plain if kind == FULL else indexed,
        feeds=feeds_of(config, lambda i: placed[i] > 0),
        feed=lambda kind: shared_experts(shared) if kind == SPARSE else dense(hidden, width),
    )
    return whole._replace(prediction_layers=0)  # its files hold none of those that its config names
