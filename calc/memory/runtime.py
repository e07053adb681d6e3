"""Memory under an engine: what it takes on a device besides what the mathematics needs, and the cache it sets aside.

Each engine has a module under `calc.memory.engines` with one function from a `Case` to a `Runtime`. Numbers that an
engine's code sets, or that measurements gave, are coefficients of its entry in the catalogue.
"""

from collections.abc import Callable, Hashable, Iterable
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from calc.architecture.stages import Stage
from calc.catalog.records import Accelerator, Engine
from calc.derivation import Step
from calc.memory.budget import Budget, Demand, Layout, Load, load_budget, stage_load
from calc.memory.drafts import DRAFT_LABELS
from calc.memory.kv_cache import sequence_bytes
from calc.memory.placement import ON_DEVICES, Host, Placement
from calc.memory.prefix import shared_bytes
from calc.units import show_term

# Who sees an amount: the framework's allocator as in use, as reserved, or the driver alone.
ALLOCATED, RESERVED, DEVICE = "allocated", "reserved", "device"
EAGER = "eager"
CACHES = ("kv_cache", "recurrent_state", "draft_cache")  # what is kept of each sequence
NOT_USED = ("kv_pool_free", "outside_share")  # amounts that an engine takes, or leaves, beyond what a demand uses
T = TypeVar("T")


class Amount(NamedTuple):
    """One use of memory under an engine, with its formula and the numbers in it."""

    id: str
    label: str
    bytes: int
    scope: str
    formula: str = ""
    template: str = ""  # the numbers put in, `{}` where one of `numbers` stands
    numbers: tuple[float, ...] = ()
    source: str = ""

    def step(self) -> Step | None:
        """Return the amount's working; None where the parts of the mathematics have their own."""
        if not self.formula:
            return None
        substituted = self.template.format(*(show_term(number) for number in self.numbers))
        return Step(self.label, self.formula, substituted, self.bytes, unit="B", source=self.source)


class Runtime(NamedTuple):
    """A device under an engine. `pool` is the cache that the engine sets aside, with what `kv_cache` takes of it."""

    amounts: tuple[Amount, ...]
    capacity: int | None  # bytes that programs see of the device; None without an accelerator
    limit: int | None  # the share of it that `needed` may not exceed
    needed: int  # bytes that have to fit into the share for the demand to be served
    pool: int | None  # None where no share of the device is set aside
    sequences: int = 0  # that vLLM is started for at most
    beyond_piece: int = 0  # bytes of a buffer beyond what the driver gives at once; not above 0 where it gives enough

    def scoped(self, *scopes: str) -> int:
        """Return the bytes of all amounts in the given scopes."""
        return total([amount for amount in self.amounts if amount.scope in scopes])

    def bytes_of(self, *parts: str) -> int:
        """Return the bytes of amounts with the given ids."""
        return total([amount for amount in self.amounts if amount.id in parts])

    @property
    def device(self) -> int:
        """Bytes that the driver shows as used."""
        return total(self.amounts)

    @property
    def used(self) -> int:
        """Bytes that the demand itself uses: not what is set aside beyond it, or left alone."""
        return total([amount for amount in self.amounts if amount.id not in NOT_USED])

    @property
    def usable(self) -> int | None:
        """Bytes of the device that `used` may come to: the engine's share, and what stands outside of it."""
        return None if self.limit is None else max(self.limit + self.used - self.needed, 0)

    @property
    def fits(self) -> bool | None:
        """Whether the device holds all of it; None without an accelerator."""
        return None if self.capacity is None else self.device <= self.capacity and self.beyond_piece <= 0

    @property
    def missing(self) -> int:
        """Bytes missing of the share, or of the device where the share holds it all; not above 0 where it fits.

        An engine fills its share whatever is asked of it, so that what it takes says nothing of the room that is left.
        """
        if self.capacity is None or self.limit is None:
            return 0
        if self.beyond_piece > 0:
            return max(self.beyond_piece, self.device - self.capacity)
        return self.needed - self.limit if self.fits or self.needed > self.limit else self.device - self.capacity


class Case(NamedTuple):
    """What an engine is asked to hold on a device."""

    demand: Demand
    layout: Layout
    load: Load
    budget: Budget
    engine: Engine
    accelerator: Accelerator | None
    visible: int | None  # bytes that programs see of the device, less what the driver keeps; of a host that works alone
    fraction: float | None
    batched_tokens: int | None  # None: the engine's own default
    attention: str
    slots: int | None  # sequences that it is set up for; None: the engine's own number
    placement: Placement
    correction: float  # by which a reader has measured other than is computed what the engine takes for itself
    known: dict[Hashable, Any]  # what `once` was asked for
    here: dict[Hashable, Any]  # what `on_device` was asked for, of any stage and layout

    def of(self, demand: Demand) -> "Case":
        """Return the same case with another number of sequences, as a search asks for it again and again."""
        budget = load_budget(demand=demand, load=self.load, layout=self.layout, alike=self.budget)
        return self._replace(demand=demand, budget=budget)

    def once(self, name: Hashable, make: Callable[["Case"], T]) -> T:
        """Return what does not depend on the number of sequences, worked out once for all of them."""
        if name not in self.known:
            self.known[name] = make(self)
        found: T = self.known[name]
        return found

    def on_device(self, name: Hashable, make: Callable[["Case"], T]) -> T:
        """Return what depends on the engine and the device alone, beside what `name` says, worked out once for both."""
        if name not in self.here:
            self.here[name] = make(self)
        found: T = self.here[name]
        return found

    @property
    def stage(self) -> Stage:
        """The pipeline stage."""
        return self.load.stage

    @property
    def sequences(self) -> int:
        """Sequences on the fullest data-parallel rank."""
        return self.demand.sequences_on(self.layout)

    @property
    def cache(self) -> int:
        """Bytes of all that is kept of the sequences."""
        return self.budget.kv_cache + self.budget.recurrent_state

    def sequence_bytes(self, tokens: int, prompt_tokens: int | None = None) -> int:
        """Return the cache of one sequence when it is `tokens` long."""
        return sequence_bytes(
            entries=self.load.entries,
            tokens=tokens,
            prompt_tokens=min(self.demand.prompt_tokens if prompt_tokens is None else prompt_tokens, tokens),
            context_parallel=self.layout.context,
        )

    def paged_cache(self, block_tokens: int) -> int:
        """Return the caches of all sequences in whole pages of `block_tokens`."""
        tokens = -(-self.demand.tokens // block_tokens) * block_tokens
        each = self.once(("pages", block_tokens), lambda case: case.sequence_bytes(tokens))
        return self.sequences * each - self.saved_cache(block_tokens)

    def saved_cache(self, block_tokens: int) -> int:
        """Return the bytes that sequences do not cache again because all share them, in whole pages."""
        return (self.sequences - 1) * shared_bytes(
            entries=self.load.entries,
            tokens=-(-self.demand.tokens // block_tokens) * block_tokens,
            shared_tokens=self.demand.prefix.held_tokens // block_tokens * block_tokens,
            context_parallel=self.layout.context,
        )

    @property
    def overfull(self) -> bool:
        """Whether weights and cache alone are more than a device has, on a stage behind the first.

        It is sooner seen than what an engine takes in all. The first stage has tables that some engines keep elsewhere.
        """
        if self.visible is None or self.stage.is_first or self.placement.on_host:
            return False
        return self.budget.weights + self.budget.kv_cache > self.visible

    @property
    def joined_by_pcie(self) -> bool:
        """Whether the device has no link to others of its own, or one that takes a bridge."""
        if self.accelerator is None:
            return False
        link = self.accelerator.text("link")
        return link in ("", "none") or "bridge" in link


def visible_bytes(accelerator: Accelerator, engine: Engine) -> int:
    """Return the bytes of a device that programs see: what they are known to get, or what the driver does not keep."""
    known = accelerator.shares_host_memory or "memory_usable" in accelerator.facts
    return max(accelerator.capacity_bytes - (0 if known else engine.whole("driver_reserve")), 0)


def make_case(
    *,
    demand: Demand,
    layout: Layout,
    stage: Stage,
    engine: Engine,
    accelerator: Accelerator | None,
    fraction: float | None,
    batched_tokens: int | None,
    attention: str,
    slots: int | None = None,
    placement: Placement = ON_DEVICES,
    host: Host | None = None,
    correction: float = 1.0,
    here: dict[Hashable, Any] | None = None,
) -> Case:
    """Return the case of a pipeline stage; `here` is what cases of the engine on the device have in common."""
    load = stage_load(demand=demand, stage=stage, layout=layout)
    visible = None if accelerator is None else visible_bytes(accelerator, engine)
    if placement.alone:
        visible = host.usable_bytes if host else None
    return Case(
        demand=demand,
        layout=layout,
        load=load,
        budget=load_budget(demand=demand, load=load, layout=layout),
        engine=engine,
        accelerator=accelerator,
        visible=visible,
        fraction=fraction,
        batched_tokens=batched_tokens,
        attention=attention,
        slots=slots,
        placement=placement,
        correction=correction,
        known={},
        here={} if here is None else here,
    )


def held_amounts(
    case: Case, *, weights: int | None = None, cache: int | None = None, state: int | None = None
) -> list[Amount]:
    """Return weights, cache and recurrent state; an engine's own sizes replace those of the mathematics."""
    budget, drafts = case.budget, DRAFT_LABELS.items() if case.demand.draft is not None else ()
    return [
        Amount("weights", "Weights", budget.weights if weights is None else weights, ALLOCATED),
        Amount("kv_cache", "KV cache", budget.kv_cache if cache is None else cache, ALLOCATED),
        Amount("recurrent_state", "Recurrent state", budget.recurrent_state if state is None else state, ALLOCATED),
        *(Amount(name, label, getattr(budget, name), ALLOCATED) for name, label in drafts),
        *([Amount("adapters", "Adapters", budget.adapters, ALLOCATED)] if case.demand.adapters is not None else []),
    ]


def constant(case: Case, part: str, label: str, coefficient: str, scope: str = DEVICE, times: int = 1) -> Amount:
    """Return an amount that measurements gave, `times` over."""
    known = case.engine.coefficient(coefficient)
    each = case.engine.values[coefficient]
    value = round(each) * times
    formula = r"M_{\text{measured}}" if times == 1 else r"n \cdot M_{\text{measured}}"
    template, numbers = ("{}", (each,)) if times == 1 else ("{} × {}", (times, each))
    return Amount(
        id=part,
        label=label,
        bytes=value,
        scope=scope,
        formula=formula,
        template=template,
        numbers=numbers,
        source=known.source,
    )


def corrected(case: Case, amounts: Iterable[Amount]) -> list[Amount]:
    """Return what an engine takes for itself, by the factor that a reader has measured."""
    factor = case.correction
    if factor == 1.0:
        return list(amounts)
    return [
        amount._replace(
            bytes=round(amount.bytes * factor),
            formula=rf"({amount.formula or 'M'}) \cdot c",
            template=f"({amount.template or '{}'}) × {{}}",
            numbers=(*(amount.numbers or (amount.bytes,)), factor),
            source=amount.source or case.engine.source,
        )
        for amount in amounts
    ]


def total(amounts: Iterable[Amount]) -> int:
    """Return the bytes of amounts."""
    return sum(map(attrgetter("bytes"), amounts))  # again and again, in a search
