"""SGLang: a share of the device for weights and cache together; the rest is left to activations and graphs."""

from calc.architecture.blocks import keys_and_values
from calc.architecture.layers import Architecture, Attention, TokenCache
from calc.catalog.records import Engine
from calc.memory.device_sizes import attention_ranks, by_size, graph_sequences, size_of
from calc.memory.engines.vllm import running_sequences, step_amounts
from calc.memory.kv_cache import entry_bytes, local_entries
from calc.memory.pool import with_pool
from calc.memory.runtime import CACHES, Amount, Case, Runtime, held_amounts, total
from calc.units import GIB, MIB

LARGE = ("large", "huge")
# Before its rule for it (SGLang #7054) the share was that of so many ranks at least (#823); of devices above 80 GiB,
# what 13 GiB left since 0.4.5.post3 (#5604).
SHARES = ((16, 0.79), (8, 0.81), (4, 0.85), (2, 0.87), (1, 0.88))
LARGER_BYTES, LEFT_BYTES = 80 * GIB, 13 * GIB
FEW_GRAPHS = 300  # sequences above which replicas of attention keep more for each


def sglang(case: Case) -> Runtime:
    """Return SGLang's memory of a device.

    $M_{pool} = f \\cdot (M_{device} - M_{context} - M_{links}) - M_{weights}$: a share of what is free when weights
    begin to load. Where no share is given it is what a rule of the engine leaves: so many MiB for each token of a
    prefill chunk and each sequence of the largest CUDA graph. Workspaces come after the pool, out of what is left.
    Source: `profile_max_num_token` in SGLang's model_runner.py, `_handle_gpu_memory_settings` in its server_args.py.
    """
    amounts = held_amounts(case, cache=case.paged_cache(case.engine.whole("block_tokens")))
    step = step_amounts(case, running_sequences(case))
    amounts += step.all
    fixed = case.budget.weights + case.budget.beside
    joined = total(amount for amount in step.links if amount.id == "communication_buffers")
    limit = None
    if case.visible is not None:
        limit = int(case.once("fraction", static_fraction) * max(case.visible - step.context.bytes - joined, 0))
    pool = None if limit is None else max(limit - fixed, 0)
    return with_pool(
        case,
        amounts,
        pool=pool,
        limit=limit,
        fixed=fixed,
        formula=r"\max(f \cdot M_{\text{device}} - M_{\text{fixed}} - M_{\text{cache}}, 0)",
        room=max(parted_pool(case, amounts), windowed_pool(case)),
    )


def parted_pool(case: Case, amounts: list[Amount]) -> int:
    """Return the pool that holds the caches where a part of it is for the states of recurrent layers alone.

    A request is let in while there are several states for it: its own, that of the beginning that it shares with
    others, and one to be kept for the next. Source: `handle_max_mamba_cache` in its model_runner_kv_cache_mixin.py.
    """
    values = case.engine.values
    states = total(amount for amount in amounts if amount.id == "recurrent_state")
    if not states:
        return 0
    tokens = total(amount for amount in amounts if amount.id in CACHES) - states
    share = values["state_pool_share"]
    return round(max(values["states_held"] * states / share, tokens / (1.0 - share)))


def windowed_pool(case: Case) -> int:
    """Return the pool that holds the caches where some layers have a window.

    Of families that the engine knows, layers with one have room for a share of the tokens that layers without hold,
    `--swa-full-tokens-ratio`, whatever the window is: what ends first ends both. Of all others every layer has room
    for every token. Layers that use another's cache have a place of their own all the same. Source:
    `is_hybrid_swa_model` and `get_hybrid_layer_ids` in SGLang's model_config.py, `SWATokenToKVPoolAllocator`, and the
    sizes of its pools in its model_runner_kv_cache_mixin.py.
    """
    entries = case.load.entries + case.once("borrowed", borrowed_entries)
    windows = [(cache, size) for cache, size in entries if cache.window_tokens is not None]
    if not windows or any(cache.stride > 1 for cache, _ in entries):
        return 0
    tokens, known = case.demand.tokens, case.demand.architecture.family in case.engine.window_pools
    share = case.engine.values["window_share"] if known and len(windows) < len(entries) else 1.0
    token = sum(size * (share if cache.window_tokens is not None else 1.0) for cache, size in entries)
    prompt = min(case.demand.prompt_tokens, tokens)
    held = [
        local_entries(cache=cache, tokens=tokens, prompt_tokens=prompt, context_parallel=case.layout.context)
        for cache, _ in windows
    ]
    shared = case.demand.prefix.held_tokens
    own = max(tokens - shared, *(count / share for count in held)) if known else tokens - shared
    return round((case.sequences * own + shared) * token)


def borrowed_entries(case: Case) -> tuple[tuple[TokenCache, int], ...]:
    """Return caches of layers that use another's, as if each had its own: with the bytes of an entry in all of them."""
    keys, values, found = case.demand.keys, case.demand.values, []
    for kind, count in case.stage.kind_counts():
        if isinstance(kind.attention, Attention) and not kind.caches:
            cache = keys_and_values(kind.attention)
            ranks = case.layout.tensor
            size = entry_bytes(cache=cache, tensor_parallel=ranks, key_format=keys, value_format=values)
            found.append((cache, count * size))
    return tuple(found)


def static_fraction(case: Case) -> float:
    """Return the share of the device for weights and cache: as given, or by the engine's rule."""
    seeing = seeing_share(case.demand.architecture, case.engine)
    if case.fraction is not None:
        return case.fraction * (seeing if case.engine.lacks("looks_at_towers") else 1.0)
    values, visible = case.engine.values, case.visible or 0
    ranks = attention_ranks(case.layout)
    if case.engine.lacks("rules_its_share"):
        return earlier_fraction(case, ranks * case.layout.pipeline, visible) * seeing
    replicas = ranks // case.layout.tensor
    chunk = case.batched_tokens or by_size(values, "batched_tokens", case.accelerator)
    graph = graph_sequences(values, case.accelerator, case.layout)
    kept = values["kept"] + chunk * values["kept_token"] + graph * values["kept_sequence"]
    kept += ranks * case.layout.pipeline / 8 * 1024 * MIB
    if replicas > 1:
        kept += graph * replicas * values["kept_replica" if graph <= FEW_GRAPHS else "kept_replica_many"]
    kept += prompt_graphs_kept(case, chunk)
    if size_of(values, case.accelerator) in LARGE:
        kept = max(kept, values["kept_large"])
    return round(max(visible - kept, 0) / visible, 3) * seeing if visible else 0.0


def earlier_fraction(case: Case, ranks: int, visible: int) -> float:
    """Return the share of the device for weights and cache before there was a rule for it, by the ranks in use."""
    if visible > LARGER_BYTES and not case.engine.lacks("leaves_more_on_larger"):
        return 1.0 - LEFT_BYTES / visible
    return next(share for least, share in SHARES if ranks >= least)


def prompt_graphs_kept(case: Case, chunk: float) -> float:
    """Return what is left for the graphs of prompts, for each length that is captured.

    None is known to be captured of latent attention, for which the rule has a number of its own, nor of a model that
    sees, where adapters are served, or where ranks have whole layers or requests of
    their own. Source: `_handle_piecewise_cuda_graph` in SGLang's server_args.py and `reserve_for_graph_mb` in its
    memory_hook.py.
    """
    engine, device, layout, architecture = case.engine, case.accelerator, case.layout, case.demand.architecture
    if not engine.values.get("prompt_graphs") or not engine.graphs or (device and device.vendor != "NVIDIA"):
        return 0.0
    alike = layout.pipeline == layout.context == 1 and attention_ranks(layout) == layout.tensor
    latent = architecture.attention is not None and architecture.attention.latent
    if not alike or latent or architecture.tower is not None or case.budget.adapters:
        return 0.0
    return captured_lengths(round(chunk)) * engine.values["kept_prompt_graph"]


def captured_lengths(tokens: int) -> int:
    """Return for how many lengths of pieces of prompts, up to so many tokens, graphs are captured.

    Source: `generate_prefill_cuda_graph_batch_sizes` in SGLang's cuda_graph_hook.py.

    >>> captured_lengths(2048), captured_lengths(8192)
    (42, 58)
    """
    steps = ((4, 32, 4), (48, 256, 16), (288, 512, 32), (576, 1024, 64), (1280, 4096, 256), (4608, tokens, 512))
    return sum(len(range(first, min(last, tokens) + 1, step)) for first, last, step in steps)


def seeing_share(architecture: Architecture, engine: Engine) -> float:
    """Return the part of its share that SGLang takes of itself for a model that sees, whose towers need room.

    It is 0.95, and a tenth less each time that layers and width squared are those of CLIP's large tower again, or a
    little more for a smaller one. A share that is given is taken as it is. Before it looked at the tower, it was 0.9
    for each, of a share that is given too. Source: `adjust_mem_fraction_for_vlm` in SGLang's memory_hook.py, in its
    server_args.py before, and `mem_fraction_static` in its model_runner.py then.
    """
    if architecture.tower is None:
        return 1.0
    if engine.lacks("looks_at_towers"):
        return 0.9
    layers, width = architecture.tower
    times = layers * width**2 / (24 * 1024**2)
    return 0.95 * max(0.8, min(1.05, 1.0 - 0.1 * (times - 1.0)))
