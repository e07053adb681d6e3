"""What an engine holds over the stages of a layout: the fullest device, what fits, and the devices that it takes."""

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from calc.architecture.stages import Stage, stages
from calc.catalog.records import Accelerator, Engine
from calc.memory.budget import Demand, Layout, load_budget
from calc.memory.engines import run
from calc.memory.engines.vllm import default_sequences
from calc.memory.runtime import Case, Runtime, make_case
from calc.planning.fit import MOST_SEQUENCES, fewest, most_that_fit
from calc.planning.layout import MOST_DEVICES, candidates, distinct_stages, fullest, loads, tensor_degrees
from calc.planning.support import sold_in_multiples

if TYPE_CHECKING:
    from calc.performance.arrivals import Traffic


class Serving:
    """A demand under an engine on a kind of device; the layout is asked for with each question."""

    def __init__(
        self,
        *,
        engine: Engine,
        accelerator: Accelerator | None,
        fraction: float | None,
        batched_tokens: int | None,
        attention: str,
        gpu_layers: int | None = None,
        concurrency: int | None = None,
        slots: int | None = None,
        traffic: "Traffic | None" = None,
    ) -> None:
        self.engine, self.accelerator, self.gpu_layers = engine, accelerator, gpu_layers
        self.fraction, self.batched_tokens, self.attention = fraction, batched_tokens, attention
        self.concurrency, self.traffic, self.slots = concurrency, traffic, slots

    @property
    def most_running(self) -> int:
        """Sequences that each data-parallel rank works on at a time: as it is set up, or the engine's own number."""
        if self.slots is None and "slots" not in self.engine.values and "sequences" in self.engine.values:
            return default_sequences(self.engine, self.accelerator)
        return self.slots or round(self.engine.values.get("slots", MOST_SEQUENCES))

    def case(self, demand: Demand, layout: Layout, stage: Stage) -> Case:
        """Return the case of one stage."""
        return make_case(
            demand=demand,
            layout=layout,
            stage=stage,
            engine=self.engine,
            accelerator=self.accelerator,
            fraction=self.fraction,
            batched_tokens=self.batched_tokens,
            attention=self.attention,
            slots=self.slots,
        )

    def fullest(self, demand: Demand, layout: Layout) -> tuple[Case, Runtime]:
        """Return the stage whose devices hold the most, with its runtime; of equals the one with the least room."""
        cases = [self.case(demand, layout, stage) for stage in self.stages(demand, layout)]
        found = [(case, run(case)) for case in cases]
        return max(found, key=lambda pair: (pair[1].device, pair[1].needed))

    def stages(self, demand: Demand, layout: Layout) -> tuple[Stage, ...]:
        """Return the stages that can differ; the last layers alone, where only some stand on the devices."""
        if self.gpu_layers is None:
            return distinct_stages(demand.architecture, layout.pipeline)
        first, count = demand.architecture.layer_count - self.gpu_layers, min(layout.pipeline, self.gpu_layers)
        cuts = [first + self.gpu_layers * part // count for part in range(count + 1)]
        return tuple(Stage(demand.architecture, start, end) for start, end in pairwise(cuts))

    def sum_over_devices(self, demand: Demand, layout: Layout, known: tuple[Case, Runtime]) -> int:
        """Return the bytes of all devices, each counted as the fullest of its stage; `known` is one of them."""
        ranks = layout.devices // layout.pipeline
        every = list(self.stages(demand, layout)) if self.gpu_layers else stages(demand.architecture, layout.pipeline)
        case, runtime = known
        sizes = {
            alike: (runtime if stage == case.stage else run(self.case(demand, layout, stage))).device
            for alike, stage in {key(stage): stage for stage in every}.items()
        }
        return ranks * sum(sizes[key(stage)] for stage in every)

    def fits(self, demand: Demand, layout: Layout) -> bool:
        """Return whether a layout serves the demand."""
        return not self.overfull(demand, layout) and self.fullest(demand, layout)[1].fits is True

    def overfull(self, demand: Demand, layout: Layout) -> bool:
        """Return whether weights and cache alone are more than a device has, on a stage behind the first.

        It is sooner seen than what an engine takes in all. The first stage has tables that some engines keep elsewhere.
        """
        if self.accelerator is None or layout.pipeline == 1:
            return False
        capacity = self.accelerator.capacity_bytes
        budgets = (load_budget(demand=demand, load=load, layout=layout) for load in loads(demand, layout)[1:])
        return any(budget.weights + budget.kv_cache > capacity for budget in budgets)

    def devices_needed(self, demand: Demand, asked: Layout, *, fits: bool) -> tuple[int, Layout] | None:
        """Return the fewest devices that serve the demand, with the layout; None if `MOST_DEVICES` do not.

        Tried are the engine's usual layouts of each number of devices, and the one asked for, of which `fits` says
        whether it serves.
        """
        if self.accelerator is None or self.gpu_layers is not None:
            return None
        own = asked if fits else None
        tensor = 1 if self.engine.splits_layers else max(tensor_degrees(demand.architecture))
        most = own.devices - 1 if own else min(demand.architecture.layer_count * tensor, MOST_DEVICES)
        if not sold_in_multiples(self.accelerator):
            most = min(most, 1)
        held = fullest(demand, Layout())[1].held
        least = max(1, held // max(self.accelerator.capacity_bytes, 1))
        found = fewest(least, most, lambda count: self.fitting(demand, count))
        return found or ((own.devices, own) if own else None)

    def fitting(self, demand: Demand, devices: int) -> Layout | None:
        """Return the first of the engine's usual divisions over so many devices that serves the demand."""
        layouts = candidates(demand.architecture, devices, splits_layers=self.engine.splits_layers)
        return next((layout for layout in layouts if self.fits(demand, layout)), None)

    def most_sequences(self, demand: Demand, layout: Layout) -> int:
        """Return the most sequences that are served at once by one data-parallel rank; 0 if not even one is."""
        if self.accelerator is None:
            return 0
        alone = layout._replace(data=1)

        def missing(count: int) -> int:
            return self.fullest(demand._replace(sequences=count), alone)[1].missing

        return most_that_fit(missing, 0, 1, MOST_SEQUENCES - 1)


def key(stage: Stage) -> tuple[object, ...]:
    """Return what stages have in common that hold the same."""
    return stage.is_first, stage.is_last, tuple((id(kind), count) for kind, count in stage.kind_counts())


def last(holds: Callable[[int], bool], guess: int = 1) -> int:
    """Return the last count from 1 on, up to `MOST_SEQUENCES`, for which something holds that holds for 1.

    A guess that is right, or nearly, saves most of the search.

    >>> last(lambda count: count <= 70, 64), last(lambda count: count <= 70)
    (70, 70)
    """
    low, high, step = 1, MOST_SEQUENCES, 1
    if guess > 1 and holds(guess):
        low = guess
    elif guess > 1:
        high = guess
    while low + step < high:
        place = low + step if high == MOST_SEQUENCES else max(high - step, low + 1)
        if holds(place):
            low = place
            if high != MOST_SEQUENCES:
                break
        else:
            high = place
            if low + step == place:
                break
        step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
