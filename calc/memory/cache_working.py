"""The working of what is kept of a sequence: caches that grow with its tokens, and states that do not."""

from collections.abc import Mapping

from calc.architecture.layers import OUTPUT, PROMPT, StateCache, TokenCache
from calc.architecture.stages import Stage, local_heads
from calc.catalog.records import NumberFormat
from calc.derivation import Step
from calc.memory.budget import Demand, Layout
from calc.memory.kv_cache import entry_bytes, local_entries
from calc.memory.prefix import shared_entries
from calc.memory.recurrent_state import state_bits, state_elements
from calc.units import show_count

PAGES = "paged-attention"
PARTS = {PROMPT: ", over the prompt", OUTPUT: ", over the output"}


def cache_steps(demand: Demand, layout: Layout, stage: Stage) -> list[Step]:
    """Return the cache: bytes of an entry in a layer, of a sequence over the layers, of all sequences."""
    layers: dict[TokenCache, int] = {}
    for kind, count in stage.kind_counts():
        for cache in kind.caches:
            layers[cache] = layers.get(cache, 0) + count
    if not layers:
        return []
    steps: list[Step] = []
    sequence = 0
    for cache, count in layers.items():
        size = entry_bytes(
            cache=cache, tensor_parallel=layout.tensor, key_format=demand.keys, value_format=demand.values
        )
        kept = local_entries(
            cache=cache, tokens=demand.tokens, prompt_tokens=demand.prompt_tokens, context_parallel=layout.context
        )
        sequence += count * kept * size
        name = cache_name(cache)
        steps += [
            entry_step(cache, layout, demand, size, name=name),
            Step(
                f"Cache of a sequence ({name})",
                r"L \cdot s \cdot B_{\text{token}}",
                f"{count} × {show_count(kept)} × {show_count(size)}",
                count * kept * size,
                unit="B",
                source=source_of(cache) if cache.window_tokens is None else "longformer",
            ),
        ]
    sequences = demand.sequences_on(layout)
    numbers = f"{show_count(sequences)} × {show_count(sequence)}"
    formula = r"n_{\text{seq}} \cdot B_{\text{seq}}"
    total = sequences * sequence
    if sequences > 1 and (shared := shared_step(demand, layout, layers)):
        steps.append(shared)
        numbers += f" − {show_count(sequences - 1)} × {show_count(shared.value)}"
        formula += r" - (n_{\text{seq}} - 1) \cdot B_{\text{shared}}"
        total -= (sequences - 1) * round(shared.value)
    source = source_of(next(iter(layers)))
    return [*steps, Step("KV cache", formula, numbers, total, unit="B", source=source)]


def shared_step(demand: Demand, layout: Layout, layers: Mapping[TokenCache, int]) -> Step | None:
    """Return the cache of what prompts have in common, which is held once; None where it is nothing."""
    numbers, total = [], 0
    for cache, count in layers.items():
        size = entry_bytes(
            cache=cache, tensor_parallel=layout.tensor, key_format=demand.keys, value_format=demand.values
        )
        kept = shared_entries(
            cache=cache,
            tokens=demand.tokens,
            shared_tokens=demand.prefix.held_tokens,
            context_parallel=layout.context,
        )
        if kept:
            numbers.append(f"{count} × {show_count(kept)} × {show_count(size)}")
            total += count * kept * size
    if not total:
        return None
    formula = r"\sum L \cdot s_{\text{shared}} \cdot B_{\text{token}}"
    return Step("Cache that all sequences share", formula, " + ".join(numbers), total, unit="B", source=PAGES)


def cache_name(cache: TokenCache) -> str:
    """Return what a cache holds and how far back, for the name of a step."""
    if cache.fixed_tokens is not None:
        reach = f", {show_count(cache.fixed_tokens)} positions"
    elif cache.window_tokens is not None:
        reach = f", window of {show_count(cache.window_tokens)}"
    elif cache.stride > 1:
        reach = f", one entry for {show_count(cache.stride)} tokens"
    else:
        reach = PARTS.get(cache.part, "")
    return cache.label + reach


def source_of(cache: TokenCache) -> str:
    """Return the source of a cache's shape."""
    return "gqa" if cache.value_dim else "mla"


def entry_step(cache: TokenCache, layout: Layout, demand: Demand, size: int, name: str) -> Step:
    """Return the step from KV heads and their size to the bytes of an entry in one layer."""
    heads = local_heads(cache.heads, layout.tensor)
    title = f"Cache of a token in a layer ({name})"
    keys, values = f"{bits_with_scales(demand.keys):g}", f"{bits_with_scales(demand.values):g}"
    if not cache.value_dim:
        numbers = f"{heads} × {cache.key_dim} × {keys} / 8"
        return Step(title, r"n \cdot d \cdot \frac{b}{8}", numbers, size, unit="B", source=source_of(cache))
    if cache.key_dim == cache.value_dim:
        formula = r"n_{\text{kv}} \cdot d_{\text{head}} \cdot \frac{b_K + b_V}{8}"
        numbers = f"{heads} × {cache.key_dim} × ({keys} + {values}) / 8"
    else:
        formula = r"n_{\text{kv}} \cdot \frac{d_K \cdot b_K + d_V \cdot b_V}{8}"
        numbers = f"{heads} × ({cache.key_dim} × {keys} + {cache.value_dim} × {values}) / 8"
    return Step(title, formula, numbers, size, unit="B", source=source_of(cache))


def bits_with_scales(number_format: NumberFormat) -> float:
    """Return the bits of a cached element together with its share of the block's scales."""
    return number_format.bits + (number_format.group_bits / number_format.group if number_format.group else 0)


def state_steps(demand: Demand, layout: Layout, stage: Stage) -> list[Step]:
    """Return the states of the recurrent layers: of a sequence over the layers, of all sequences."""
    layers: dict[StateCache, int] = {}
    for kind, count in stage.kind_counts():
        for state in kind.states:
            layers[state] = layers.get(state, 0) + count
    if not layers:
        return []
    steps = []
    for state, count in layers.items():
        elements = state_elements(state=state, tensor_parallel=layout.tensor)
        bits = state_bits(state=state, activation_bytes=demand.activation_bytes)
        numbers = f"{count} × {show_count(elements)} × {bits} / 8"
        name = f"State of a sequence ({state.label})"
        value = count * elements * bits // 8
        steps.append(
            Step(name, r"L \cdot N_{\text{state}} \cdot \frac{b}{8}", numbers, value, unit="B", source="mamba")
        )
    sequence, sequences = sum(int(step.value) for step in steps), demand.sequences_on(layout)
    numbers = f"{show_count(sequences)} × {show_count(sequence)}"
    formula = r"n_{\text{seq}} \cdot B_{\text{state}}"
    return [*steps, Step("Recurrent state", formula, numbers, sequences * sequence, unit="B", source="mamba")]
