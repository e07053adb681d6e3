"""The pool that an engine sets aside for the cache: what of it is left free, and what of a device is left alone."""

from calc.memory.runtime import ALLOCATED, CACHES, DEVICE, Amount, Case, Runtime, total


def with_pool(
    case: Case,
    amounts: list[Amount],
    *,
    pool: int | None,
    limit: int | None,
    fixed: int,
    formula: str,
    room: int = 0,
    sequences: int = 0,
) -> Runtime:
    """Return the runtime of an engine that sets a pool aside, with the part of it that the sequences leave free.

    Where the share does not hold the demand, the device is short of what it takes to have a share that does. `room` is
    the pool that holds the caches, where parts of it stand apart and one is full before the others; `sequences` are
    those that the engine is started for.
    """
    cache = total([amount for amount in amounts if amount.id in CACHES])
    if pool is not None and not cache:  # an encoder or a classifier keeps nothing, and no pool is made for it
        pool = 0
    elif pool is not None and limit is not None:
        amounts.append(
            Amount(
                id="kv_pool_free",
                label="Cache set aside, not in use",
                bytes=max(pool - cache, 0),
                scope=ALLOCATED,
                formula=formula,
                template="max({} − {} − {}, 0)",
                numbers=(limit, fixed, cache),
                source=case.engine.source,
            )
        )
    needed = fixed + max(cache, room)
    if limit is not None and needed > limit:
        amounts.append(outside_share(case, total(amounts), needed, limit))
    return Runtime(tuple(amounts), case.visible, limit, needed, pool=pool, sequences=sequences)


def outside_share(case: Case, device: int, needed: int, limit: int) -> Amount:
    """Return what an engine leaves alone of a device whose share would hold what is needed."""
    visible = case.visible or 0
    whole = max(needed * visible // limit + 1, visible + 1) if limit else visible + needed
    return Amount(
        id="outside_share",
        label="Left alone, outside of the engine's share",
        bytes=max(whole - device, 0),
        scope=DEVICE,
        formula=r"\max(M_{\text{needed}} / M_{\text{share}} \cdot M_{\text{device}} - M_{\text{held}}, 0)",
        template="max({} / {} × {} − {}, 0)",
        numbers=(needed, limit, visible, device),
        source=case.engine.source,
    )
