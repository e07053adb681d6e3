"""The part of a report that an engine answers for: parts of its memory, totals with ranges, what fits."""

from math import inf

from calc.catalog import catalog
from calc.derivation import Part, Step
from calc.memory.cache_working import cache_steps, state_steps
from calc.memory.drafts_working import draft_steps
from calc.memory.engines import run
from calc.memory.engines.sglang import windowed_pool
from calc.memory.engines.vllm import fewer_sequences, step_tokens
from calc.memory.engines.vllm_pages import case_pages, flying_tokens
from calc.memory.runtime import ALLOCATED, CACHES, DEVICE, RESERVED, Amount
from calc.memory.weights_working import weights_steps
from calc.memory.working import activation_steps, adapter_steps, logit_steps
from calc.planning.fewest_devices import devices_needed
from calc.planning.layout import division
from calc.planning.measured import TOTALS as TOTALS_RANGE
from calc.planning.measured import pool_share, share_of
from calc.planning.served import Served, bounded

Report = dict[str, object]
TOTALS = {
    "allocated_bytes": (ALLOCATED,),
    "reserved_bytes": (ALLOCATED, RESERVED),
    "device_bytes": (ALLOCATED, RESERVED, DEVICE),
}


def serving_parts(served: Served, *, working: bool = True) -> list[Part]:
    """Return the parts of the fullest device's memory, with their `working`; their bytes add up to `device_bytes`."""
    if not working:
        return [Part(amount.id, amount.label, amount.bytes, ()) for amount in served.runtime.amounts]
    demand, layout, stage = served.demand, served.layout, served.case.stage
    own = {
        "weights": weights_steps(demand, layout, stage),
        "kv_cache": cache_steps(demand, layout, stage),
        "recurrent_state": state_steps(demand, layout, stage),
        **draft_steps(demand, layout, stage),
        "adapters": adapter_steps(demand, layout, stage),
    }
    if any(amount.id == "activations" and amount.step() is None for amount in served.runtime.amounts):
        own["activations"] = activation_steps(demand, layout, stage, served.case.budget)
        own["logits"] = logit_steps(demand, layout, stage, served.case.budget)
    return [
        Part(amount.id, amount.label, amount.bytes, tuple(amount_steps(amount, own.get(amount.id, []))))
        for amount in served.runtime.amounts
    ]


def amount_steps(amount: Amount, steps: list[Step]) -> list[Step]:
    """Return an amount's steps; where the engine stores more or less than the mathematics needs, one says so."""
    own = amount.step()
    if own is not None:
        return [own]
    if steps and round(steps[-1].value) != amount.bytes:
        change = amount.bytes - round(steps[-1].value)
        sign = "+" if change > 0 else "-"
        formula = rf"M {sign} M_{{\text{{difference}}}}"
        numbers = f"{steps[-1].value:,.0f} {sign.replace('-', '−')} {abs(change):,}"
        return [
            *steps,
            Step(
                f"{amount.label} as the engine holds it",
                formula,
                numbers,
                amount.bytes,
                unit="B",
                source=steps[-1].source,
            ),
        ]
    return steps


def serving_totals(served: Served) -> Report:
    """Return the three totals that people read, each with its range of 80 %."""
    logits = served.runtime.bytes_of("logits")
    report: Report = {"phase": "head" if logits else "layer"}
    for name, scopes in TOTALS.items():
        value = served.runtime.scoped(*scopes)
        report[name] = value
        report[f"{name}_range"] = total_range(served, value, RESERVED in scopes)
    if served.serving.engine.id == "llama.cpp" or served.serving.store is not None:
        report["host_bytes"] = served.serving.host_bytes(served.demand)
    report["sum_over_devices_bytes"] = served.serving.sum_over_devices(
        served.demand, served.layout, (served.case, served.runtime)
    )
    report["sequences"] = served.demand.sequences
    return report


def total_range(served: Served, value: int, reserved: bool) -> list[int]:
    """Return the range of a total: weights within their own, the rest within what measurements showed.

    It is no narrower than what was missed at first sight.

    What the allocator may keep is in the upper end alone: it gives some of it back at times that none foresees. An
    engine that fills a share of the device varies by what lies outside of the share, and where that is too small by
    what it would have to be larger. What older drivers keep of graphs is in the upper end alone, too.
    """
    values = served.serving.engine.values
    if served.runtime.pool is not None:
        if served.runtime.fits:
            varies = outside_bytes(served) // 2
            kept = int((values.get("graphs_kept", 1) - 1) * served.runtime.bytes_of("cuda_graphs"))
        else:
            varies, kept = pool_spread(served), 0
        return [max(value - varies, 0), value + varies + kept]  # a small encoder takes less than varies outside
    weights = next(amount.bytes for amount in served.runtime.amounts if amount.id == "weights")
    kept = served.runtime.scoped(RESERVED) if reserved else 0
    spread = values.get("range_rest", 0.0)
    below, above = values.get("range_low", 1 - spread), values.get("range_high", 1 + spread)
    low = weights * (1 - values["range_weights"]) + (value - weights - kept) * below
    high = weights * (1 + values["range_weights"]) + (value - weights) * above
    missed = int(share_of(catalog(), TOTALS_RANGE) * value)
    return [min(int(low), value - missed), max(int(high), value + missed)]


def outside_bytes(served: Served) -> int:
    """Return the bytes outside of an engine's share of the device, where what is needed fits into the share."""
    return max(served.runtime.used - served.runtime.needed, 0)


def range_above(served: Served, size: int) -> int:
    """Return by how many bytes the upper end of a size's range is above it, which has what the allocator keeps."""
    return total_range(served, size, True)[1] - size


def pool_range(served: Served, pool: int) -> list[int]:
    """Return the range of the cache set aside; of what is left for one, by as much as what is held may be more."""
    spread = pool_spread(served) if served.runtime.pool is not None else range_above(served, served.runtime.device)
    return [max(pool - spread, 0), pool + spread] if pool else [0, 0]


def pool_spread(served: Served) -> int:
    """Return the bytes by which four of five pools are off: a share of the device, larger for what no row has shown."""
    engine = served.serving.engine
    ranks = bool(engine.values.get("unsure_ranks")) and served.layout.tensor > 1
    share = pool_share(catalog(), engine.id, served.case.demand.architecture, ranks=ranks)
    return int(share * (served.runtime.capacity or 0))


def pool_tokens(served: Served, pool: int, cache: int, *, decoding: bool = False) -> int:
    """Return the tokens that a pool holds of one replica; layers of several kinds share vLLM's pages.

    Under SGLang layers with a window have room for whole sequences, too, not for the window alone. vLLM says how many
    while prompts are read, when layers with a window keep a step's tokens beside it; of sequences that are `decoding`
    they keep the window alone.
    """
    case, demand = served.case, served.demand
    if served.serving.engine.id == "vllm":
        pages = case_pages(case, 1 if decoding else flying_tokens(case, step_tokens(case)))
        if pages is not None:
            return pages.tokens(pool, demand.tokens)
    alone = cache + case.saved_cache(round(case.engine.values.get("block_tokens", 1)))
    if served.serving.engine.id == "sglang":
        alone = max(alone, windowed_pool(case))
    return pool * demand.tokens * case.sequences // alone if cache else 0


def cache_pool(served: Served, *, decoding: bool = False) -> tuple[int, int]:
    """Return the bytes of cache that a device has room for, and the tokens of a replica in them.

    Of a pipeline, on the stage whose devices have room for the fewest tokens: no sequence is longer than there.
    """
    serving, demand, layout = served.serving, served.demand, served.layout
    if layout.pipeline == 1:
        return stage_pool(served, decoding)
    pools = [
        stage_pool(served._replace(case=case, runtime=runtime), decoding)
        for case, runtime in serving.loaded(demand, layout)
    ]
    return min((pool for pool in pools if pool[0]), key=lambda pool: pool[1], default=(0, 0))


def stage_pool(served: Served, decoding: bool) -> tuple[int, int]:
    """Return the same of the stage that is asked about; nothing where nothing is kept of a sequence."""
    runtime = served.runtime
    cache = runtime.bytes_of(*CACHES)
    if not cache:
        return 0, 0
    pool = max((runtime.limit or 0) - runtime.needed + cache, 0) if runtime.pool is None else runtime.pool
    return pool, pool_tokens(served, pool, cache, decoding=decoding)


def state_slots(served: Served) -> float:
    """Return the requests that a replica works on at a time where states of recurrent layers have a pool of their own.

    Each is let in with room for all of its states, however short it is.
    """
    runtime, values = served.runtime, served.serving.engine.values
    state = runtime.bytes_of("recurrent_state")
    if not state or "state_pool_share" not in values or runtime.pool is None:
        return inf
    return values["state_pool_share"] * runtime.pool * served.case.sequences // (values["states_held"] * state)


def serving_fit(served: Served, *, fewest: bool = True) -> Report:
    """Return what fits on the devices under the engine, and on how few of them it would, where that is asked."""
    serving, runtime, demand = served.serving, served.runtime, served.demand
    if runtime.capacity is None or runtime.limit is None:
        return {}
    pool, tokens = cache_pool(served)
    found: Report = {
        **placed_devices(served),
        "capacity_bytes": runtime.capacity,
        "limit_bytes": runtime.usable,
        "fits": runtime.fits and serving.fits_host(demand),
        "headroom_bytes": runtime.capacity - runtime.device,
        "kv_pool_bytes": pool,
        "kv_pool_bytes_range": pool_range(served, pool),
        "kv_pool_tokens": tokens,
        "max_sequences": bounded(served),
        "sequence_limit": fewer_sequences(served.case, runtime),
    }
    if fewest:
        needed = devices_needed(serving, demand, served.layout, fits=runtime.fits is True)
        found["devices_needed"] = needed.devices if needed else None
        found["devices_needed_parallelism"] = division(needed) if needed else None
    return found


def placed_devices(served: Served) -> Report:
    """Return what each device holds where they are not alike, and which is the fullest."""
    serving, demand, layout = served.serving, served.demand, served.layout
    if not serving.devices:
        return {}
    found: list[Report] = []
    for device, stage in serving.places(demand):
        runtime = run(serving.case(demand, layout, stage))
        found.append(
            {
                "accelerator": device.id,
                "layers": stage.last - stage.first,
                "device_bytes": runtime.device,
                "capacity_bytes": runtime.capacity,
                "fits": runtime.fits,
            }
        )
    fullest = served.case.accelerator
    return {"devices": found, "fullest": fullest.id if fullest else None}
