"""What prompts have in common: tokens at the start of all of them, which a cache holds once, and those found in it.

Pages of equal beginnings are shared by the sequences that have them (PagedAttention, arXiv:2309.06180, section 4.4;
RadixAttention, arXiv:2312.07104).
"""

from typing import NamedTuple

from calc.architecture.layers import WHOLE, TokenCache


class Prefix(NamedTuple):
    """What prompts find in the cache of those before them."""

    shared_tokens: int = 0  # at the start of all prompts
    hit_rate: float = 0.0  # share of a prompt's tokens that is found, the shared ones among them
    held_once: bool = True  # by all sequences together; else each slot of the engine has a copy

    @property
    def held_tokens(self) -> int:
        """Tokens that are held once, however many sequences there are."""
        return self.shared_tokens if self.held_once else 0

    def found(self, prompt_tokens: int) -> int:
        """Return how many tokens of a prompt are not read again; its last one always is.

        >>> Prefix(shared_tokens=1000).found(1200), Prefix(hit_rate=0.5).found(1200), Prefix(hit_rate=1.0).found(1200)
        (1000, 600, 1199)
        """
        return max(min(max(self.shared_tokens, round(self.hit_rate * prompt_tokens)), prompt_tokens - 1), 0)


def shared_entries(*, cache: TokenCache, tokens: int, shared_tokens: int, context_parallel: int = 1) -> int:
    """Return how many entries of a sequence of `tokens` are of the shared tokens, on one context rank.

    A window that has moved on holds fewer of them, or none. An encoder's keys depend on the whole prompt.

    >>> shared_entries(cache=TokenCache("keys and values", 8, 128, 128), tokens=4096, shared_tokens=1000)
    1000
    >>> shared_entries(cache=TokenCache("keys and values", 8, 128, 128, 1024), tokens=4096, shared_tokens=3500)
    428
    """
    if cache.part != WHOLE or cache.fixed_tokens is not None:
        return 0
    held = tokens if cache.window_tokens is None else min(tokens, cache.window_tokens)
    return max(shared_tokens - (tokens - held), 0) // cache.stride // context_parallel


def shared_bytes(
    *, entries: tuple[tuple[TokenCache, int], ...], tokens: int, shared_tokens: int, context_parallel: int
) -> int:
    """Return the bytes of a sequence's caches that all sequences have in common; entries have so many bytes each."""
    if not shared_tokens:
        return 0
    return sum(
        size
        * shared_entries(cache=cache, tokens=tokens, shared_tokens=shared_tokens, context_parallel=context_parallel)
        for cache, size in entries
    )
