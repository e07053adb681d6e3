"""Sizes of devices as servers tell them apart, by memory: those that go by it have larger steps on larger ones."""

from collections.abc import Mapping
from math import inf

from calc.catalog.records import Accelerator
from calc.memory.budget import Layout

SIZES = ("huge", "large", "middle", "small")  # smaller ones have no name
LEAST = {size: f"{size}_device" for size in SIZES}  # the coefficient that says from how many bytes on
RANKS = 4  # from which on graphs are captured for more sequences
GRAPHS = "graph_sequences"


def size_of(values: Mapping[str, float], accelerator: Accelerator | None) -> str:
    """Return the size that an engine takes a device for by its coefficients; empty for one below all of them."""
    if accelerator is None:
        return ""
    a100_is_large = "a100" not in accelerator.id or bool(values.get("a100_is_large", 1.0))
    capacity = accelerator.capacity_bytes
    for size, least in LEAST.items():
        if capacity >= values.get(least, inf) and (size != "large" or a100_is_large):
            return size
    return ""


def by_size(values: Mapping[str, float], name: str, accelerator: Accelerator | None) -> float:
    """Return a coefficient for a device of this size: its own, that of the next smaller size, or the plain one.

    >>> by_size({"batched_tokens": 2048, "batched_tokens_large": 8192}, "batched_tokens", None)
    2048
    """
    size = size_of(values, accelerator)
    for each in SIZES[SIZES.index(size) :] if size else ():
        if (own := f"{name}_{each}") in values:
            return values[own]
    return values[name]


def attention_ranks(layout: Layout) -> int:
    """Return the ranks of a pipeline stage: those that share attention, times its replicas, which share experts."""
    return layout.tensor * max(layout.expert // layout.tensor, 1)


def graph_sequences(values: Mapping[str, float], accelerator: Accelerator | None, layout: Layout) -> float:
    """Return the sequences of the largest decoding step that is captured as a graph: more over several ranks."""
    name = f"{GRAPHS}_ranks" if attention_ranks(layout) >= RANKS else GRAPHS
    return by_size(values, name, accelerator)
