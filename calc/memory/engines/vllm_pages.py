"""The blocks of vLLM's cache that a sequence takes, also where one model keeps caches of several kinds."""

from functools import lru_cache
from typing import NamedTuple

from calc.architecture.layers import TokenCache
from calc.architecture.stages import Stage
from calc.memory.cache_layouts import STATE_BLOCKS, Pages, padded, vllm_blocks, vllm_pages
from calc.memory.drafts import Draft
from calc.memory.runtime import Case

# Of compressed caches. Source: vLLM #54703 and #44376, which print their groups, and `SlidingWindowMLASpec`.
ALIGNED = 576  # bytes that pages are filled up to
FULL_TOKENS, NEAR_TOKENS = 256, 64  # of a block of compressed entries, and of one in a window
STATE_TOKENS = {True: 4, False: 8}  # of a block of what is to be compressed, with overlapping entries and without
ROTATED, SCALED = 64, 64  # elements of an entry that stay in 16 bit, and of others that share a scale
STATE_BYTES = 2 * 4  # of an element that is to be compressed: itself and its weight in FP32


def flying_tokens(case: Case, step_tokens: int) -> int:
    """Return the tokens of steps that run at a time, whose blocks are not free yet: `max_in_flight_tokens` of vLLM."""
    alone = case.engine.lacks("overlaps_steps")
    return step_tokens if alone else step_tokens * max(2, case.layout.pipeline)


def block_bytes(case: Case) -> int:
    """Return the bytes of a block of the cache in all layers of a group, where layers of several kinds share blocks."""
    pages = case_pages(case, 1)
    return pages.page_bytes * pages.shared_layers if pages else 0


def reading_bytes(case: Case, step_tokens: int) -> int:
    """Return the bytes of the blocks that one sequence takes while it is read; 0 where all layers are alike.

    vLLM does not start with a cache that has fewer (`_check_enough_kv_cache_memory`).
    """
    pages = case_pages(case, flying_tokens(case, step_tokens))
    return sum(pages.group_blocks) * pages.page_bytes * pages.shared_layers if pages else 0


def case_pages(case: Case, batched_tokens: int) -> Pages | None:
    """Return how a case's caches are laid out while so many tokens are read; None where all its layers are alike."""
    demand, stage, draft = case.demand, case.stage, case.demand.draft
    drafting = drafting_layers(draft) if draft is not None and stage.is_last else {}
    if stage.architecture.family in case.engine.compressed_pages:
        packed = not case.engine.lacks("packs_pages")
        layers = sum(drafting.values())
        return compressed_pages(stage, demand.tokens, batched_tokens, drafting=layers, packed=packed)
    caches = [*(kept for kind, _ in stage.kind_counts() for kept in kind.caches), *drafting]
    if len({(kept.window_tokens, kept.fixed_tokens) for kept in caches}) < 2 and not case.budget.recurrent_state:
        return None
    return vllm_pages(
        stage=stage,
        context_tokens=demand.tokens,
        batched_tokens=batched_tokens,
        key_format=demand.keys,
        value_format=demand.values,
        activation_bytes=demand.activation_bytes,
        tensor_parallel=case.layout.tensor,
        drafting=tuple(drafting.items()),
        drafted=draft.tokens if draft else 0,
        kept=1 if case.engine.lacks("keeps_states_of_beginnings") else STATE_BLOCKS,
    )


def drafting_layers(draft: Draft) -> dict[TokenCache, int]:
    """Return how many layers of what drafts keep each cache; none where the text itself is looked up."""
    found: dict[TokenCache, int] = {}
    for kind, count in draft.architecture.kind_counts() if draft.architecture else ():
        for kept in kind.caches:
            found[kept] = found.get(kept, 0) + draft.layers * count
    return found


class Group(NamedTuple):
    """Layers that take blocks of the same sequence together, in which they have pages of a few sizes."""

    layers: int  # of each size
    pages: tuple[int, ...]  # bytes of a block in a layer
    blocks: int  # that a sequence takes


@lru_cache(maxsize=256)  # a search asks for the same again and again
def compressed_pages(stage: Stage, context_tokens: int, batched_tokens: int, *, drafting: int, packed: bool) -> Pages:
    """Return how vLLM lays out DeepSeek V4's caches.

    A block of every group has a page for each of its layers. Beside compressed entries and the indexer's keys, each
    layer keeps a window of plain ones, and compressors keep what they still have to compress, in blocks of a few
    tokens: of a long step these take more blocks than a context. Layers with windows are divided into groups of nearly
    as many layers as others have. Until 0.24 every group had the slots of all page sizes.
    """
    light, heavy, near = Group(0, (), 0), Group(0, (), 0), Group(drafting, (), 0)
    full: dict[int, int] = {}  # layers with pages of each size
    for kind, count in stage.kind_counts():
        window, *strided = kind.caches
        entries = packed_page(window, NEAR_TOKENS)
        near = Group(near.layers + count, (entries,), vllm_blocks(window, context_tokens, batched_tokens, NEAR_TOKENS))
        overlapping = len(strided) > 1
        tokens = STATE_TOKENS[overlapping]
        for kept in strided:
            page = packed_page(kept, FULL_TOKENS)
            full[page] = full.get(page, 0) + count
        if strided:
            reach = strided[0]._replace(window_tokens=(1 + overlapping) * strided[0].stride)
            state = Group(
                count,
                tuple(padded(tokens * (1 + overlapping) * kept.key_dim * STATE_BYTES, ALIGNED) for kept in strided),
                vllm_blocks(reach, context_tokens, batched_tokens, tokens),
            )
            light, heavy = (state, heavy) if overlapping else (light, state)
    most = max(full.values(), default=near.layers)
    width = fewest_filled([near.layers, light.layers, heavy.layers], least=most)
    split = -(-near.layers // width)
    near = near._replace(layers=-(-near.layers // split))
    whole = sum(size * count for size, count in full.items())
    block = max(whole, *(group.layers * sum(group.pages) for group in (near, light, heavy)))
    if not packed:
        block = sum(full) * max(most, near.layers)
    blocks = (-(-context_tokens // FULL_TOKENS), *[near.blocks] * split, light.blocks, heavy.blocks)
    return Pages(max(block, 1), 1, blocks)


def packed_page(kept: TokenCache, tokens: int) -> int:
    """Return the bytes of a block of entries in FP8: rotated elements stay in 16 bit, an indexer's have one scale.

    >>> packed_page(TokenCache("compressed entries", 1, 512, 0, stride=4), 256)
    37440
    """
    if "indexer" in kept.label:
        entry = kept.key_dim + 4
    else:
        scales = padded(-(-(kept.key_dim - ROTATED) // SCALED), 8)
        entry = kept.key_dim + ROTATED + scales
    return padded(tokens // kept.stride * entry, ALIGNED)


def fewest_filled(counts: list[int], least: int) -> int:
    """Return the number of layers to a group, `least` or more, that leaves the fewest places empty.

    >>> fewest_filled([43, 21, 20], least=21)
    22
    """
    return min(range(least, max([least, *counts]) + 1), key=lambda width: sum(-count % width for count in counts))
