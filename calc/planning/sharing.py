"""Several models on one device: what each takes, what they leave, and from which context on they no longer fit."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from calc.catalog.records import Accelerator
from calc.derivation import Step
from calc.memory.budget import Demand, Layout
from calc.memory.runtime import NOT_USED, Runtime, visible_bytes
from calc.planning.fit import last
from calc.planning.serving import Serving
from calc.units import show_count

CACHES = ("kv_cache", "recurrent_state")
BESIDE = (*NOT_USED, "allocator_reserve")  # taken where there is room, and not needed
CONTEXT = "runtime_context"
OF_THE_REST = "tensorrt-llm"  # its share is of what is free, not of the whole device
LAYOUT = Layout()


class Tenant(NamedTuple):
    """A model under an engine, with what is asked of it."""

    name: str
    serving: Serving
    demand: Demand

    def runtime(self, demand: Demand | None = None) -> Runtime:
        """Return what the engine holds for a demand, the tenant's own where none is given."""
        return self.serving.fullest(demand or self.demand, LAYOUT)[1]


class Holding(NamedTuple):
    """What a tenant needs of a device by part, and what its engine takes beside that."""

    weights: int
    cache: int
    working: int  # activations, logits, workspaces, buffers, graphs
    context: int  # the driver's and its libraries', once for each process
    kept: int  # by the allocator, which gives it back to its own process alone
    claimed: int  # the engine's share of the device at its default, all of it; 0 where it takes none

    @property
    def needed(self) -> int:
        """Bytes without which the demand is not served."""
        return self.weights + self.cache + self.working + self.context


class Sharing(NamedTuple):
    """A device with several tenants."""

    capacity: int
    reserved: int  # by the driver
    display: int
    holdings: tuple[Holding, ...]
    saved: int  # contexts that tenants in one process have together

    @property
    def available(self) -> int:
        """Bytes of the device that its tenants can have."""
        return self.capacity - self.reserved - self.display

    @property
    def needed(self) -> int:
        """Bytes that all tenants need together."""
        return sum(holding.needed for holding in self.holdings) - self.saved

    @property
    def left(self) -> int:
        """Bytes that nobody needs; negative where the tenants do not fit together."""
        return self.available - self.needed

    def room(self, index: int) -> int:
        """Return the bytes that one tenant can have when the others keep to what they need."""
        return self.holdings[index].needed + self.left

    def missing_at_defaults(self) -> int:
        """Return the bytes that are missing where engines take their default share; negative where all fit."""
        return sum(max(holding.claimed, holding.needed) for holding in self.holdings) - self.saved - self.available


def share(
    *, tenants: Sequence[Tenant], accelerator: Accelerator, display_bytes: int, one_process: bool = False
) -> Sharing:
    """Return what tenants take of a device, each in a process of its own unless they are said to share one.

    $M_{left} = M_{device} - M_{driver} - M_{display} - \\sum (M_{weights} + M_{cache} + M_{working} + M_{context})$.
    """
    holdings = tuple(holding_of(tenant) for tenant in tenants)
    seen = min(visible_bytes(accelerator, tenant.serving.engine) for tenant in tenants)
    reserved = accelerator.capacity_bytes - seen
    contexts = [holding.context for holding in holdings]
    saved = sum(contexts) - max(contexts) if one_process else 0
    return Sharing(accelerator.capacity_bytes, reserved, display_bytes, holdings, saved=saved)


def holding_of(tenant: Tenant) -> Holding:
    """Return what a tenant takes of a device that it has to itself."""
    runtime = tenant.runtime()
    parts = {amount.id: 0 for amount in runtime.amounts}
    for amount in runtime.amounts:
        parts[amount.id] += amount.bytes
    cache = sum(parts.get(name, 0) for name in CACHES)
    other = ("weights", CONTEXT, *CACHES, *BESIDE)
    working = sum(size for name, size in parts.items() if name not in other)
    claimed = runtime.device if runtime.pool is not None else 0
    return Holding(
        parts["weights"], cache, working, parts.get(CONTEXT, 0), kept=parts.get("allocator_reserve", 0), claimed=claimed
    )


def needed_by(tenant: Tenant, demand: Demand) -> int:
    """Return the bytes that a demand needs under a tenant's engine."""
    return sum(amount.bytes for amount in tenant.runtime(demand).amounts if amount.id not in BESIDE)


def cache_tokens(tenant: Tenant, holding: Holding, room_bytes: int) -> int | None:
    """Return the tokens of cache that fit into a tenant's room, in all its sequences; None where it keeps no cache."""
    tokens = tenant.demand.tokens * tenant.demand.sequences
    free = room_bytes - holding.needed + holding.cache
    return max(free, 0) * tokens // holding.cache if holding.cache else None


def longest_context(tenant: Tenant, room_bytes: int) -> int | None:
    """Return the longest context with which a tenant stays in its room, None where it keeps no cache."""
    asked = tenant.demand
    written = asked.tokens - asked.prompt_tokens

    def fits(tokens: int) -> bool:
        prompt = max(tokens - written, 1)
        return needed_by(tenant, asked._replace(tokens=tokens, prompt_tokens=min(prompt, tokens))) <= room_bytes

    return last_that(fits, tenant, asked.tokens, room_bytes)


def most_sequences(tenant: Tenant, room_bytes: int) -> int | None:
    """Return the most sequences with which a tenant stays in its room, None where it keeps no cache."""
    asked = tenant.demand

    def fits(count: int) -> bool:
        return needed_by(tenant, asked._replace(sequences=count)) <= room_bytes

    return last_that(fits, tenant, asked.sequences, room_bytes)


def last_that(fits: Callable[[int], bool], tenant: Tenant, now: int, room_bytes: int) -> int | None:
    """Return the last count that fits, searched for from what the cache alone would allow."""
    holding = holding_of(tenant)
    if not holding.cache:
        return None
    if not fits(1):
        return 0
    more = (room_bytes - holding.needed) * now // holding.cache
    return last(fits, max(now + more, 1))


def fitted_fraction(tenant: Tenant, accelerator: Accelerator, room_bytes: int) -> float | None:
    """Return the engine's share of the device that fills its room, rounded down to a hundredth; None if it takes none.

    vLLM and SGLang take a share of the whole device, TensorRT-LLM one of what is free after weights and activations.
    """
    runtime = tenant.runtime()
    if runtime.pool is None:
        return None
    visible = visible_bytes(accelerator, tenant.serving.engine)
    holding = holding_of(tenant)
    pool = room_bytes - holding.needed + holding.cache
    fixed = runtime.needed - holding.cache
    whole, part = (visible - fixed, pool) if tenant.serving.engine.id == OF_THE_REST else (visible, fixed + pool)
    return max(0.0, math.floor(100 * part / whole) / 100) if whole > 0 else 0.0


def sharing_steps(sharing: Sharing, names: Sequence[str]) -> list[Step]:
    """Return the working: what the device leaves to its tenants, what each needs, and what is left."""
    steps = [
        Step(
            "What the device has for its tenants",
            r"M_{\text{device}} - M_{\text{driver}} - M_{\text{display}}",
            " − ".join(show_count(size) for size in (sharing.capacity, sharing.reserved, sharing.display)),
            sharing.available,
            unit="B",
            source="llm-d-vllm-memory",
        )
    ]
    formula = r"M_{\text{weights}} + M_{\text{cache}} + M_{\text{working}} + M_{\text{context}}"
    for name, held in zip(names, sharing.holdings, strict=True):
        numbers = " + ".join(show_count(size) for size in (held.weights, held.cache, held.working, held.context))
        steps.append(Step(f"Needed by {name}", formula, numbers, held.needed, unit="B", source="llm-d-vllm-memory"))
    shown = [show_count(sharing.available), *(show_count(held.needed) for held in sharing.holdings)]
    formula = r"M_{\text{available}} - \sum M_{\text{needed}}"
    if sharing.saved:
        formula += r" + M_{\text{shared contexts}}"
    numbers = " − ".join(shown) + (f" + {show_count(sharing.saved)}" if sharing.saved else "")
    return [*steps, Step("Left", formula, numbers, sharing.left, unit="B", source="llm-d-vllm-memory")]
