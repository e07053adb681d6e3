"""Memory of the KV cache: the keys and values that attention keeps of every token it may look back at."""

from functools import lru_cache

from calc.architecture.layers import Architecture, Attention, TokenCache
from calc.architecture.stages import Stage, local_heads
from calc.catalog.records import NumberFormat
from calc.memory.weights import stored_bytes


def entry_bytes(
    *, cache: TokenCache, tensor_parallel: int, key_format: NumberFormat, value_format: NumberFormat
) -> int:
    r"""Return the bytes of one entry of a layer's cache, on one tensor-parallel rank: what it keeps of one token.

    $n_{kv} \cdot d_{head} \cdot (b_K + b_V)$: a key and a value of `head_dim` elements for each KV head, not for each
    query head (GQA, arXiv:2305.13245). A latent vector serves as both and is on every rank (MLA, arXiv:2405.04434).
    FP8 and INT8 have one scale for a layer's whole cache, which weighs nothing.
    """
    heads = local_heads(cache.heads, tensor_parallel)
    return sum(
        stored_bytes(shape=(heads, size), number_format=in_cache(cache_format))
        for size, cache_format in ((cache.key_dim, key_format), (cache.value_dim, value_format))
        if size
    )


@lru_cache(maxsize=64)
def in_cache(number_format: NumberFormat) -> NumberFormat:
    """Return a number format without what it stores once for a whole tensor."""
    return number_format._replace(row_bits=0, tensor_bytes=0)


def local_entries(*, cache: TokenCache, tokens: int, prompt_tokens: int, context_parallel: int) -> int:
    """Return how many entries of a sequence a rank holds: those in the window, divided over the context ranks."""
    return -(-cache.entries(tokens, prompt_tokens) // context_parallel)


def stage_sequence_bytes(
    *,
    stage: Stage,
    tokens: int,
    prompt_tokens: int,
    tensor_parallel: int,
    key_format: NumberFormat,
    value_format: NumberFormat,
) -> int:
    """Return the bytes that a pipeline stage caches of one sequence of `tokens`, on its fullest rank."""
    entries = stage_entries(
        stage=stage, tensor_parallel=tensor_parallel, key_format=key_format, value_format=value_format
    )
    return sequence_bytes(entries=entries, tokens=tokens, prompt_tokens=prompt_tokens, context_parallel=1)


def stage_entries(
    *, stage: Stage, tensor_parallel: int, key_format: NumberFormat, value_format: NumberFormat
) -> tuple[tuple[TokenCache, int], ...]:
    """Return each kind of cache in a stage with the bytes of one entry in all layers that have it, on one rank."""
    found: dict[TokenCache, int] = {}
    for kind, count in stage.kind_counts():
        for cache in kind.caches:
            size = entry_bytes(
                cache=cache, tensor_parallel=tensor_parallel, key_format=key_format, value_format=value_format
            )
            found[cache] = found.get(cache, 0) + count * size
    return tuple(found.items())


def sequence_bytes(
    *, entries: tuple[tuple[TokenCache, int], ...], tokens: int, prompt_tokens: int, context_parallel: int
) -> int:
    """Return the bytes of a sequence of `tokens` in caches whose entries have so many bytes each."""
    return sum(
        size * local_entries(cache=cache, tokens=tokens, prompt_tokens=prompt_tokens, context_parallel=context_parallel)
        for cache, size in entries
    )


def expanded_cache(attention: Attention, least: int = 0) -> TokenCache:
    """Return what an engine caches that expands the latent vector of MLA: a key and a value for each query head.

    Heads narrower than `least` are filled up to it. Source: DeepSeek-V2 (arXiv:2405.04434), section 2.1.2 and its
    table 1.
    """
    value = attention.head_dim if attention.value_dim is None else attention.value_dim
    return TokenCache("expanded keys and values", attention.heads, max(attention.head_dim, least), max(value, least))


def with_expanded_caches(architecture: Architecture, least: int = 0) -> Architecture:
    """Return a model whose latent vectors are cached as keys and values of all heads, each at least so wide."""
    kinds = tuple(
        kind._replace(caches=(expanded_cache(kind.attention, least), *(c for c in kind.caches if "indexer" in c.label)))
        if kind.attention is not None and kind.attention.latent and kind.caches
        else kind
        for kind in architecture.kinds
    )
    return architecture._replace(kinds=kinds)


def expanded_token_bytes(
    *, architecture: Architecture, key_format: NumberFormat, value_format: NumberFormat, tokens: int = 1
) -> int:
    """Return the bytes of tokens' cache over all layers where latent attention is expanded; 0 for other models."""
    return tokens * sum(
        count
        * entry_bytes(
            cache=expanded_cache(kind.attention),
            tensor_parallel=1,
            key_format=key_format,
            value_format=value_format,
        )
        for kind, count in architecture.kind_counts()
        if kind.attention is not None and kind.attention.latent
    )
