"""A change that would make a scenario of inference fit, and what it is computed from."""

from collections.abc import Iterator
from typing import NamedTuple

from calc.catalog import Catalog
from calc.catalog.records import Accelerator, Engine, Weights
from calc.memory.budget import Demand, Layout
from calc.planning.certainty import lacking_of
from calc.planning.layout import fullest
from calc.planning.served import Served
from calc.planning.serving import Serving
from calc.planning.support import what_runs

NONE, LITTLE, SPEED, QUALITY, SCOPE, HARDWARE = (
    "nothing",
    "a little quality",
    "speed",
    "quality",
    "shorter or fewer texts at once",
    "hardware",
)


class Repair(NamedTuple):
    """A change with its effect. A field of `change` whose value is None is taken out of the scenario."""

    change: dict[str, object]
    message: str
    headroom_bytes: int
    cost: str
    sure: bool  # whether it surely fits then, or is tight


class Wanted(NamedTuple):
    """What does not fit, or does not run: the demand under an engine, or by the mathematics alone, on its devices."""

    facts: Catalog
    demand: Demand
    layout: Layout
    accelerator: Accelerator
    serving: Serving | None
    runs: bool
    needed: int | None = None  # devices, at least, where that is known
    surely: bool = False  # whether what fits has to be nearly certain to

    @property
    def engine(self) -> Engine | None:
        """The engine, None for the mathematics alone."""
        return self.serving.engine if self.serving else None

    def room(self, demand: Demand, layout: Layout | None = None, serving: Serving | None = None) -> int:
        """Return the bytes that are left on the fullest device; negative where it does not fit, or not surely."""
        serving, layout = serving or self.serving, layout or self.layout
        if serving is None:
            return self.accelerator.capacity_bytes - fullest(demand, layout)[1].total
        if not serving.fits_host(demand):
            return -1
        served = on_fullest(serving, demand, layout)
        spare = (served.runtime.capacity or 0) - served.runtime.device
        return min(spare, -1) if self.surely and lacking_of(served) > 0 else spare

    def missing(self, demand: Demand, serving: Serving | None = None) -> int:
        """Return the bytes missing on the fullest device, as evenly as they grow; not above 0 where it fits."""
        serving = serving or self.serving
        if serving is None:
            return -self.room(demand)
        served = on_fullest(serving, demand, self.layout)
        lacking = serving.missing(demand, self.layout, served.runtime)
        return max(lacking, lacking_of(served)) if self.surely else lacking

    def able(
        self,
        engine: Engine | None,
        weights: Weights,
        accelerator: Accelerator | None = None,
        layout: Layout | None = None,
        caches: tuple[str, ...] | None = None,
    ) -> bool:
        """Return whether an engine is not known to refuse number formats of weights and caches on devices."""
        device = accelerator or self.accelerator
        found = what_runs(
            facts=self.facts,
            engine=engine,
            device=device,
            weights=weights,
            architecture=self.demand.architecture,
            layout=layout or self.layout,
            caches=caches or self.demand.cache_formats,
        )
        return found.runs is not False

    def fitting(self, room: int, change: dict[str, object], message: str, cost: str) -> Iterator[Repair]:
        """Yield a change where it leaves room."""
        if room >= 0:
            yield Repair(change, message, room, cost, sure=self.surely)


def on_fullest(serving: Serving, demand: Demand, layout: Layout) -> Served:
    """Return a demand on the fullest device, as many sequences as it says."""
    return Served(serving, demand, layout, *serving.fullest(demand, layout), None)


def under(serving: Serving, **changes: object) -> Serving:
    """Return a demand's engine and device with something changed."""
    return Serving(**{**vars(serving), **changes})
