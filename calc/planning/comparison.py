"""Comparing accelerators: how many of each a demand takes, and how fast, for which power and money it is then served.

What a model holds under a layout is worked out once for all devices, so that a whole catalogue takes milliseconds.
"""

from collections.abc import Iterable
from typing import NamedTuple

from calc.catalog import Catalog
from calc.catalog.records import Accelerator, Engine, Price
from calc.memory.budget import Demand, Layout
from calc.memory.engines.vllm import is_large_device
from calc.performance.speed import Question, speed_of
from calc.planning.cost import MILLION, newest_purchase, newest_rent
from calc.planning.layout import best_layout, fullest
from calc.planning.serving import Serving
from calc.planning.serving_report import is_timed_on, margin, prefill_tokens
from calc.planning.support import sold_in_multiples, what_runs
from calc.units import HOUR_S, KWH_J

HELD = ("weights", "kv_cache", "recurrent_state")


class Wanted(NamedTuple):
    """What is to be served, under which engine; None for what the mathematics needs, which has no speed."""

    demand: Demand
    engine: Engine | None
    output_tokens: int
    attention: str = "flash"


class Held(NamedTuple):
    """What the fullest device of a layout has to hold and may hold."""

    needed_bytes: int
    limit_bytes: int
    spare_bytes: int  # left of the engine's share of it, beyond the range of what is needed
    prefill_tokens: int | None  # of a pass; None where the engine passes whole prompts at once


class Offer(NamedTuple):
    """The fewest devices of a kind that serve a demand, and what they give for what."""

    accelerator: Accelerator
    layout: Layout
    needed_bytes: int  # of the fullest device
    headroom_bytes: int
    speed: dict[str, float] | None  # typical figures; None where no source has the device's rates
    rent: Price | None  # of one device for an hour
    purchase: Price | None  # of one device, or of the machine that it comes in

    @property
    def devices(self) -> int:
        """How many there are."""
        return self.layout.devices

    @property
    def power_w(self) -> float | None:
        """What the boards may draw together; None where the maker does not say."""
        each = self.accelerator.quantity("power")
        return self.devices * each if each else None

    @property
    def rent_per_hour(self) -> float | None:
        """The rent of all devices for an hour."""
        return self.devices * self.rent.each if self.rent else None

    @property
    def purchase_price(self) -> float | None:
        """The price of all devices."""
        return self.devices * self.purchase.each if self.purchase else None

    @property
    def seconds_per_million(self) -> float | None:
        """Seconds in which a million output tokens are written, their prompts read before them."""
        rate = self.speed.get("output_tokens_per_s") if self.speed else None
        return MILLION / rate if rate else None

    @property
    def rent_per_million(self) -> float | None:
        """The rent of a million output tokens."""
        if self.rent_per_hour is None or self.seconds_per_million is None:
            return None
        return self.rent_per_hour * self.seconds_per_million / HOUR_S

    @property
    def kwh_per_million(self) -> float | None:
        """The energy of a million output tokens, at the limit of the boards."""
        if self.power_w is None or self.seconds_per_million is None:
            return None
        return self.power_w * self.seconds_per_million / KWH_J


class Comparison:
    """A demand that is asked of one kind of device after the other."""

    def __init__(self, *, facts: Catalog, wanted: Wanted, most_devices: int) -> None:
        self.facts, self.wanted = facts, wanted
        by_layers = wanted.engine is not None and wanted.engine.splits_layers
        ways = (best_layout(wanted.demand, count, splits_layers=by_layers) for count in range(1, most_devices + 1))
        self.layouts = [found[0] for found in ways if found is not None]
        self.found: dict[tuple[Layout, int, bool, bool], Held] = {}
        self.least = [self.held(layout, None).needed_bytes for layout in self.layouts]
        priced = [price.item for price in facts.prices("accelerators")]
        self.priced = frozenset(priced + [facts.machine(price.item).accelerator for price in facts.prices("machines")])

    def serving(self, accelerator: Accelerator | None) -> Serving | None:
        """Return the engine on a kind of device, None without an engine."""
        if self.wanted.engine is None:
            return None
        return Serving(
            engine=self.wanted.engine,
            accelerator=accelerator,
            fraction=None,
            batched_tokens=None,
            attention=self.wanted.attention,
        )

    def held(self, layout: Layout, accelerator: Accelerator | None) -> Held:
        """Return what the fullest device holds; without one, weights and cache alone, which all of them do."""
        serving = self.serving(accelerator)
        if serving is None:
            total = fullest(self.wanted.demand, layout)[1].total
            capacity = accelerator.capacity_bytes if accelerator else 0
            return Held(total, capacity, capacity - total, None)
        case, runtime = serving.fullest(self.wanted.demand, layout)
        needed = runtime.device
        if accelerator is None:
            needed = sum(amount.bytes for amount in runtime.amounts if amount.id in HELD)
        spare = (runtime.limit or 0) - runtime.needed - margin(case.engine, runtime)
        return Held(needed, runtime.capacity or 0, spare, prefill_tokens(case))

    def known(self, layout: Layout, accelerator: Accelerator) -> Held:
        """Return `held`, worked out once for all devices that an engine cannot tell apart by their memory."""
        engine = self.wanted.engine
        large = engine is not None and is_large_device(accelerator, engine)
        key = layout, accelerator.capacity_bytes, accelerator.segment == "soc", large
        if key not in self.found:
            self.found[key] = self.held(layout, accelerator)
        return self.found[key]

    def offer(self, accelerator: Accelerator) -> Offer | None:
        """Return the fewest devices of a kind on which the demand is served; None if the most do not.

        Of the ways to divide a model over a number of devices the one that needs least is taken, as `estimate` does.
        A device whose memory is a computer's own is taken once.
        """
        for layout, least in zip(self.layouts, self.least, strict=True):
            if layout.devices > 1 and not sold_in_multiples(accelerator):
                return None
            if least > accelerator.capacity_bytes:
                continue
            held = self.known(layout, accelerator)
            if held.spare_bytes >= 0 and held.needed_bytes <= held.limit_bytes:
                priced = accelerator.id in self.priced
                return Offer(
                    accelerator=accelerator,
                    layout=layout,
                    needed_bytes=held.needed_bytes,
                    headroom_bytes=held.limit_bytes - held.needed_bytes,
                    speed=self.speed(layout, accelerator, held.prefill_tokens),
                    rent=newest_rent(self.facts, accelerator) if priced else None,
                    purchase=newest_purchase(self.facts, accelerator) if priced else None,
                )
        return None

    def speed(self, layout: Layout, accelerator: Accelerator, prefill_tokens: int | None) -> dict[str, float] | None:
        """Return the typical speeds of writing; None without an engine, without the device's rates, or without text."""
        wanted = self.wanted
        if (
            wanted.engine is None
            or not is_timed_on(wanted.engine, accelerator)
            or not wanted.demand.architecture.writes
        ):
            return None
        question = Question(
            demand=wanted.demand,
            layout=layout,
            accelerator=accelerator,
            engine=wanted.engine.id,
            era=wanted.engine.era,
            output_tokens=wanted.output_tokens,
            cached_tokens=0,
            batched_tokens=prefill_tokens,
            attention=wanted.attention,
        )
        found = speed_of(question, wanted.engine.values)
        return found.figures() if found else None

    def offers(self, accelerators: Iterable[Accelerator]) -> list[Offer]:
        """Return the offers of those that serve the demand."""
        found = (self.offer(accelerator) for accelerator in self.able(accelerators))
        return [offer for offer in found if offer is not None]

    def able(self, accelerators: Iterable[Accelerator]) -> list[Accelerator]:
        """Return those on which the engine itself runs, and this model in this number format as far as is known."""
        if self.wanted.engine is None:
            return list(accelerators)
        demand = self.wanted.demand
        asked = {"weights": demand.weights, "architecture": demand.architecture}
        kept = []
        for accelerator in accelerators:
            found = what_runs(facts=self.facts, engine=self.wanted.engine, device=accelerator, **asked)  # type: ignore[arg-type]
            if found.on_device and found.runs is not False:
                kept.append(accelerator)
        return kept
