"""How engines lay out caches in memory: llama.cpp in cells, vLLM in pages that layers of several kinds share.

What the mathematics needs stands in `kv_cache` and `recurrent_state`. Engines round it up, and some keep another form
of it: llama.cpp a sliding cache with room for a micro-batch, and states in FP32; others the keys and values that a
latent vector stands for.
"""

from functools import lru_cache
from typing import NamedTuple

from calc.architecture.layers import StateCache, TokenCache
from calc.architecture.stages import Stage, local_heads
from calc.catalog.records import NumberFormat
from calc.memory.kv_cache import entry_bytes
from calc.memory.recurrent_state import state_bits

CELLS = 256  # llama.cpp allocates cells in multiples of it
FP32_BYTES = 4
PAGE_TOKENS = 16  # of a vLLM block, unless layers with states need larger ones
STATE_BLOCKS = 2  # of a sequence, for states: the one in use, and one that is kept for others that begin alike
NEARLY_EQUAL = 1.25  # vLLM pads the fewer layers of one kind if there are nearly as many as of the other


def padded(count: int, multiple: int) -> int:
    """Return the count rounded up to a multiple.

    >>> padded(1152, 256)
    1280
    """
    return -(-count // multiple) * multiple


def llama_cpp_cells(*, context_tokens: int, sequences: int, unified: bool) -> int:
    """Return the cells of each stream of llama.cpp's cache; `context_tokens` is shared by all sequences.

    A unified cache is one stream for all sequences, else each has a stream with its share of the context.
    Source: llama.cpp, src/llama-context.cpp and src/llama-kv-cache.cpp.

    >>> llama_cpp_cells(context_tokens=262_144, sequences=2, unified=False)
    131072
    """
    return padded(context_tokens if unified else context_tokens // sequences, CELLS)


def llama_cpp_window_cells(
    *, window_tokens: int, micro_batch_tokens: int, sequences: int, unified: bool, cells: int
) -> int:
    """Return the cells of each stream of the sliding cache: the windows of its sequences, and room for a micro-batch.

    Source: llama.cpp, src/llama-kv-cache-iswa.cpp.

    >>> llama_cpp_window_cells(window_tokens=1024, micro_batch_tokens=512, sequences=4, unified=True, cells=8192)
    4608
    """
    windows = window_tokens * (sequences if unified else 1)
    return min(cells, padded(windows + micro_batch_tokens, CELLS))


def llama_cpp_cache_bytes(
    *,
    entries: tuple[tuple[TokenCache, int], ...],
    context_tokens: int,
    sequences: int,
    unified: bool,
    micro_batch_tokens: int,
) -> tuple[int, int]:
    """Return the bytes of llama.cpp's cache: of the layers that see everything, and of those with a window.

    `entries` are the kinds of caches, with the bytes of an entry in all of their layers. What is kept of an encoder's
    output has its own length, for each sequence.
    """
    cells = llama_cpp_cells(context_tokens=context_tokens, sequences=sequences, unified=unified)
    streams = 1 if unified else sequences
    full = windowed = 0
    for cache, size in entries:
        if cache.fixed_tokens is not None:
            full += size * sequences * cache.fixed_tokens
        elif cache.window_tokens is None:
            full += size * (cells // cache.stride) * streams
        else:
            kept = llama_cpp_window_cells(
                window_tokens=cache.window_tokens,
                micro_batch_tokens=micro_batch_tokens,
                sequences=sequences,
                unified=unified,
                cells=cells,
            )
            windowed += size * kept * streams
    return full, windowed


def past_elements(state: StateCache, tensor_parallel: int = 1, drafted: int = 0) -> int:
    """Return a rank's elements of a state: a convolution has places for drafted tokens, and none for the next one."""
    first, *rest = state.shape
    first = local_heads(first, tensor_parallel)
    if state.label == "convolution" and rest:
        rest = [rest[0] - 1 + drafted]
    for size in rest:
        first *= size
    return first


def llama_cpp_state_bytes(*, stage: Stage, sequences: int, tensor_parallel: int = 1) -> int:
    """Return the bytes of llama.cpp's recurrent states, which are all FP32 (src/llama-memory-recurrent.cpp)."""
    return sequences * sum(
        count * past_elements(state, tensor_parallel) * FP32_BYTES
        for kind, count in stage.kind_counts()
        for state in kind.states
    )


class Pages(NamedTuple):
    """How vLLM lays out a stage's caches. Groups of layers take turns in the same memory, a page for each layer."""

    page_bytes: int  # of a block in one layer
    shared_layers: int  # of each group
    group_blocks: tuple[int, ...]  # that one sequence takes of each group

    def blocks(self, pool_bytes: int) -> int:
        """Return how many blocks a pool has."""
        return pool_bytes // (self.page_bytes * self.shared_layers)

    def tokens(self, pool_bytes: int, context_tokens: int) -> int:
        """Return the tokens that vLLM says a pool holds: as many sequences of the whole context as fit, in tokens."""
        needed = sum(self.group_blocks)
        return self.blocks(pool_bytes) * context_tokens // needed if needed else 0


@lru_cache(maxsize=256)  # the same for any number of sequences and any device
def vllm_pages(
    *,
    stage: Stage,
    context_tokens: int,
    batched_tokens: int,
    key_format: NumberFormat,
    value_format: NumberFormat,
    activation_bytes: int = 2,
    tensor_parallel: int = 1,
    drafting: tuple[tuple[TokenCache, int], ...] = (),
    drafted: int = 0,
    kept: int = STATE_BLOCKS,
) -> Pages:
    """Return how vLLM lays out the caches of a stage, with those of layers that are `drafting`.

    Pages of all layers have one size. Where some layers keep states, it is the size of theirs, and a block of attention
    holds as many tokens as fill it, in whole blocks of 16. Layers of one kind form groups of as many layers as the
    rarest kind has. Of each group with states a sequence has as many blocks as are `kept`, and one for each of the
    tokens that are `drafted`; a convolution keeps these tokens as well.
    Source: vLLM, v1/core/kv_cache_utils.py, v1/kv_cache_interface.py and model_executor/models/config.py.
    """
    counts: dict[TokenCache | None, int] = dict(drafting)  # layers with each cache; None: with states
    state_bytes = 0
    for kind, count in stage.kind_counts():
        for cache in (*kind.caches, *([None] if kind.states else [])):
            counts[cache] = counts.get(cache, 0) + count
        state_bytes = max(
            state_bytes, sum(paged_state(state, activation_bytes, tensor_parallel, drafted) for state in kind.states)
        )
    entries = {
        cache: entry_bytes(
            cache=cache, tensor_parallel=tensor_parallel, key_format=key_format, value_format=value_format
        )
        for cache in counts
        if cache is not None
    }
    widest = max(entries.values(), default=0)
    page_tokens = padded(max(-(-state_bytes // max(widest, 1)), 1), PAGE_TOKENS)
    page_bytes = max(widest * page_tokens, state_bytes, 1)
    fewest, most = min(counts.values(), default=1), max(counts.values(), default=1)
    shared = most if most < NEARLY_EQUAL * fewest else fewest
    groups: list[int] = []
    for cache, count in counts.items():
        blocks = kept + drafted
        if cache is not None:
            blocks = vllm_blocks(cache, context_tokens, batched_tokens, page_bytes // entries[cache])
        groups += [blocks] * -(-count // shared)
    return Pages(page_bytes, shared, tuple(groups))


def paged_state(state: StateCache, activation_bytes: int, tensor_parallel: int, drafted: int) -> int:
    """Return a rank's bytes of a state as vLLM keeps it: a convolution without the place of the next token."""
    return (
        past_elements(state, tensor_parallel, drafted) * state_bits(state=state, activation_bytes=activation_bytes) // 8
    )


def vllm_blocks(cache: TokenCache, context_tokens: int, batched_tokens: int, page_tokens: int) -> int:
    """Return the blocks that a sequence takes of a layer: for all tokens, or for a window and a batch and one more."""
    if cache.window_tokens is None:
        return -(-context_tokens // page_tokens)
    return -(-min(cache.window_tokens - 1 + batched_tokens, context_tokens) // page_tokens) + 1
