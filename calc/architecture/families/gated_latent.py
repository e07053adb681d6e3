"""Families of latent attention with a gate on its output and an indexer: A.X K2 and Hunyuan 4."""

from calc.architecture.blocks import FeedForward, Mixer, dense, layer, norms
from calc.architecture.config import Config
from calc.architecture.decoders import FULL, LLAMA_NORMS, SPARSE, assemble, feeds_of
from calc.architecture.families.compressed import hyper_head, separate_connection
from calc.architecture.families.latent import INDEXED, latent_attention
from calc.architecture.families.mixture import after_first, expert_counts, shared_experts
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture, Layer
from calc.architecture.tensors import SPLIT_OUT, Tensor, Tensors, linear, norm

INDEXER = {"index_head_dim": 128, "index_n_heads": 16, "index_topk": 2048, "n_shared_experts": 1}


def feed_of(config: Config, kind: str) -> FeedForward:
    """Return experts with shared ones, or a dense MLP in the first layers."""
    return shared_experts(config) if kind == SPARSE else dense(config.hidden(), config.integer("intermediate_size"))


@family("axk2", defaults={**INDEXER, "first_k_dense_replace": 1, "gated_norm_rank": 16})
def axk2(config: Config) -> Architecture:
    """A.X K2: an indexer in every layer, queries and a gate made of two low-rank vectors, and norms with a gate."""
    hidden, rank = config.hidden(), config.integer("gated_norm_rank")
    heads = config.integer("num_attention_heads", most=2**20)
    of_head = sum(config.integer(f"{part}_head_dim") for part in ("qk_nope", "qk_rope", "v"))
    both = linear(
        "self_attn.q_gate_proj", "attention", heads * of_head, 2 * config.integer("q_lora_rank"), split=SPLIT_OUT
    )
    found = latent_attention(config, indexer=True)
    own = tuple(tensor for tensor in found.tensors if not tensor.name.startswith("self_attn.q_b_proj"))
    mixer = found._replace(tensors=own + both)

    experts, _ = expert_counts(config, "n_routed_experts")
    correction = Tensor("mlp.router.expert_bias", "router", (experts,))  # of each expert's score, which files keep

    def build(kind: tuple[str, ...]) -> Layer:
        gated = LLAMA_NORMS if kind[1] == SPARSE else LLAMA_NORMS[:1]
        gates: Tensors = (correction,) if kind[1] == SPARSE else ()
        for name in gated:
            gates += linear(f"{name}.gate.fc1", "layer_other", rank, hidden)
            gates += linear(f"{name}.gate.fc2", "layer_other", hidden, rank)
        return layer(mixer, feed_of(config, kind[1]), *norms(hidden, *LLAMA_NORMS), *gates)

    return assemble(
        config,
        hidden=hidden,
        layers=[(INDEXED, kind) for kind in feeds_of(config, after_first(config))],
        build=build,
        tied=config.flag("tie_word_embeddings", default=False),
    )


@family("hy_v4", defaults={**INDEXER, "first_k_dense_replace": 1, "hc_mult": 4})
def hy_v4(config: Config) -> Architecture:
    """Hunyuan 4: a gate and sinks in latent attention, an indexer in one layer of four, several residual streams."""
    hidden, layers = config.hidden(), config.layers()
    streams = config.integer("hc_mult", most=64)
    heads, value = config.integer("num_attention_heads", most=2**20), config.integer("v_head_dim")
    types = config.texts("indexer_types", layers)
    types = types or ["full" if i == 0 or (i - 1) % 4 == 0 else "shared" for i in range(layers)]
    gate = linear("self_attn.gate_proj", "attention", heads * value, hidden, split=SPLIT_OUT)
    sinks = Tensor("self_attn.sinks", "attention", (heads,), SPLIT_OUT)

    def mixer(kind: str) -> Mixer:
        found = latent_attention(config, indexer=kind == INDEXED)
        return found._replace(tensors=(*found.tensors, *gate, sinks))

    around = norms(hidden, *LLAMA_NORMS)
    around += separate_connection("attn_hc", "attention", hidden, streams)
    around += separate_connection("ffn_hc", "mlp", hidden, streams)
    mixers = [INDEXED if name == "full" else FULL for name in types]
    return assemble(
        config,
        hidden=hidden,
        layers=list(zip(mixers, feeds_of(config, after_first(config)), strict=True)),
        build=lambda kind: layer(mixer(kind[0]), feed_of(config, kind[1]), *around),
        final=norm("norm", hidden, block="final_norm") + hyper_head(hidden, streams),
        tied=config.flag("tie_word_embeddings", default=False),
    )
