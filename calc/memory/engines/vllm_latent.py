"""What vLLM sets aside in its profiling run for latent attention, which reads what is cached in pieces.

Keys and values of all heads are made anew from the latents of a piece. Attention itself does not run while vLLM
measures, so it takes the room that the largest piece would. Source: `determine_chunked_prefill_workspace_size` in
vLLM's v1/attention/backends/mla/common.py, and `forward` of its `MLACommonImpl`.
"""

from functools import lru_cache

from calc.architecture.layers import Layer
from calc.architecture.stages import Stage, local_heads, local_share
from calc.memory.engines.vllm_tables import ABSORBED
from calc.memory.runtime import ALLOCATED, Amount, Case

WHOLE_CONTEXTS, PAGES = 8, 4  # that a piece has room for: contexts of the greatest length, or pages of each sequence


def piece_tokens(case: Case, sequences: int) -> int:
    """Return the tokens of the largest piece of what is cached; 0 where a version reads it whole."""
    most, page = round(case.engine.values.get("context_piece", 0)), case.engine.whole("block_tokens")
    wanted = max(WHOLE_CONTEXTS * case.demand.tokens, PAGES * sequences * page)
    return max(min(wanted, most), sequences * page) if most else 0


def latent_amount(case: Case, sequences: int, *, tokens: int, beside: int) -> Amount | None:
    """Return what is alive while latent attention would read a context; None where no layer reads all of one.

    `beside` are the elements for each of a step's `tokens` that are alive anyway. Of attention it is queries, the
    latents, and what attention gives.
    """
    made, own = latent_widths(case.stage, case.layout.tensor)
    piece, size = piece_tokens(case, sequences), case.demand.activation_bytes
    if not (made and piece):
        return None
    return Amount(
        id="activations",
        label="Activations, and keys and values of a piece of the context",
        bytes=(tokens * (beside + own) + piece * made) * size,
        scope=ALLOCATED,
        formula=r"(T \cdot w + T_{\text{piece}} \cdot w_{\text{KV}}) \cdot b",
        template="({} × {} + {} × {}) × {}",
        numbers=(tokens, beside + own, piece, made, size),
        source=case.engine.coefficient("context_piece").source,
    )


@lru_cache(maxsize=256)  # the same for any number of sequences and any device
def latent_widths(stage: Stage, ranks: int) -> tuple[int, int]:
    """Return the elements of a token's keys and values in the layer that makes most of them, and those of attention."""
    return max((layer_widths(kind, ranks) for kind, _ in stage.kind_counts()), default=(0, 0))


def layer_widths(layer: Layer, ranks: int) -> tuple[int, int]:
    """Return the same of a layer: zeros where its attention has no latents, or looks at chosen tokens alone."""
    attention = layer.attention
    if attention is None or not attention.latent or any(cache.chosen is not None for cache in layer.caches):
        return 0, 0
    made = sum(local_share(tensor, ranks)[1][0] for tensor in layer.tensors if tensor.name.endswith(ABSORBED))
    heads = local_heads(attention.heads, ranks)
    kept = sum(cache.key_dim for cache in layer.caches)
    return made, heads * (attention.head_dim + (attention.value_dim or attention.head_dim)) + kept
