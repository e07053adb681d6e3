"""A change that would make a scenario of inference fit, and what it is computed from."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from calc.catalog import Catalog
from calc.catalog.records import Accelerator, Engine, Weights
from calc.memory.budget import Demand, Layout
from calc.planning.certainty import lacking_of, sure_on_larger
from calc.planning.fit import most_that_fit
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

    def after(self, change: dict[str, object], message: str, cost: str) -> "Repair":
        """Return the same together with another change, which is made before it."""
        words = f"{message}, and {self.message[0].lower()}{self.message[1:]}"
        costs = (cost,) if self.cost in (cost, LITTLE) else (cost, self.cost)
        return self._replace(change={**change, **self.change}, message=words, cost=" and ".join(costs))


class Trial(NamedTuple):
    """What a change leaves on the fullest device, and what it lacks: all of it in bytes."""

    room: int  # left; negative where it does not fit, the host does not hold what stands there, or a piece is too large
    missing: int  # on the device to fit, as evenly as it grows; not above 0 where it does
    lacking: int  # to surely fit

    @property
    def fits(self) -> bool:
        """Whether it fits."""
        return self.room >= 0

    @property
    def sure(self) -> bool:
        """Whether it surely fits, and is not tight."""
        return self.fits and self.lacking <= 0


class Wanted(NamedTuple):
    """What does not fit, or does not run: the demand under an engine, or by the mathematics alone, on its devices."""

    facts: Catalog
    demand: Demand
    layout: Layout
    accelerator: Accelerator
    serving: Serving | None
    runs: bool
    fits: bool  # so that it is tight, and other tight ones are no help
    needed: float = 1  # devices, at least, as far as is known; infinite where no number of them is enough
    weights: int = 0  # bytes of them on the fullest device, at least
    held: int = 0  # bytes of weights and caches there

    @property
    def engine(self) -> Engine | None:
        """The engine, None for the mathematics alone."""
        return self.serving.engine if self.serving else None

    def too_small(self, device: Accelerator, size: int) -> bool:
        """Return whether `weights` alone, or what is `held`, is more than a device of a kind has."""
        beside_host = self.serving is not None and self.serving.placement.on_host
        return size > device.capacity_bytes and not beside_host

    def trial(
        self, demand: Demand, layout: Layout | None = None, serving: Serving | None = None, *, whole: bool = False
    ) -> Trial:
        """Return what a change leaves, and what it lacks; where it does not fit, that much at least.

        Unless the `whole` is asked for, of several stages then only one is looked at that does not fit.
        """
        serving, layout = serving or self.serving, layout or self.layout
        if serving is None:
            room = self.accelerator.capacity_bytes - fullest(demand, layout)[1].total
            return Trial(room, -room, -room)
        find = serving.fullest if whole else serving.tried
        served = Served(serving, demand, layout, *find(demand, layout), None)
        room = (served.runtime.capacity or 0) - served.runtime.device
        missing = served.runtime.missing
        given = serving.fits_host(demand) and served.runtime.beyond_piece <= 0
        return Trial(room if given else min(room, -1), missing, max(missing, lacking_of(served)))

    def surely_on_larger(self) -> int:
        """Return the bytes on which it surely fits at the least, on a device of the maker with more memory."""
        serving = self.serving
        if serving is None:
            return 0
        held = ((case, serving.runtime(case)) for case in serving.full_cases(self.demand, self.layout))
        return min(sure_on_larger(Served(serving, self.demand, self.layout, *pair, None)) for pair in held)

    def most(self, changed: Callable[[int], Trial], least: int, most: int) -> Iterator[tuple[int, Trial]]:
        """Iterate over the most of something that surely fits, and the most that fits, with what is left then."""
        known = cache(changed)
        sizes = [lambda count: known(count).lacking, lambda count: known(count).missing]
        for size in sizes[:1] if self.fits else sizes:
            if found := most_that_fit(size, 0, least, most):
                yield found, known(found)

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

    def fitting(self, trial: Trial, change: dict[str, object], message: str, cost: str) -> Iterator[Repair]:
        """Yield a change where it leaves room."""
        if trial.fits:
            yield Repair(change, message, trial.room, cost, sure=trial.sure)


def under(serving: Serving, **changes: object) -> Serving:
    """Return a demand's engine and device with something changed."""
    asked = {name: value for name, value in vars(serving).items() if not name.startswith("last")}
    return Serving(**{**asked, **changes})
