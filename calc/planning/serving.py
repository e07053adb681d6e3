"""What an engine holds over the stages of a layout: the fullest device, and what fits."""

from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from calc.architecture.stages import Stage
from calc.catalog.records import Accelerator, Engine
from calc.memory.budget import Demand, Layout
from calc.memory.cache_store import HOST, CacheStore
from calc.memory.correction import UNCORRECTED, Correction
from calc.memory.device_sizes import by_size
from calc.memory.engines import run
from calc.memory.engines.llama_cpp import host_layer_bytes, looked_up_bytes
from calc.memory.engines.vllm import default_sequences
from calc.memory.placement import ON_DEVICES, Host, Placement, expert_bytes
from calc.memory.runtime import CACHES, Case, Runtime, make_case
from calc.performance.fabric import joined
from calc.performance.speed import Last
from calc.planning.fit import MOST_SEQUENCES, most_that_fit
from calc.planning.layout import best_layout, candidates, fullest_stages
from calc.planning.placed_stages import PlacedStages

if TYPE_CHECKING:
    from calc.performance.arrivals import Traffic


class Serving(PlacedStages):
    """A demand under an engine on a kind of device; the layout is asked for with each question."""

    def __init__(
        self,
        *,
        engine: Engine,
        accelerator: Accelerator | None,
        fraction: float | None,
        batched_tokens: int | None,
        attention: str,
        placement: Placement = ON_DEVICES,
        host: Host | None = None,
        devices: tuple[Accelerator, ...] = (),
        split: tuple[float, ...] = (),
        store: CacheStore | None = None,
        concurrency: int | None = None,
        length_spread: float | None = None,
        slots: int | None = None,
        traffic: "Traffic | None" = None,
        correction: Correction = UNCORRECTED,
    ) -> None:
        super().__init__(engine, placement=placement, devices=devices, split=split)
        self.accelerator, self.host = accelerator, host
        self.fraction, self.attention = fraction, attention
        # What the engine takes by itself is nothing that is asked for: on another device it takes that device's own.
        self.batched_tokens = None if batched_tokens == self.own_piece_tokens else batched_tokens
        self.store, self.correction = store, correction
        self.concurrency, self.traffic, self.slots = concurrency, traffic, slots
        self.length_spread = length_spread
        self.last: tuple[Demand, Engine, Layout, dict[tuple[int, int], Runtime]] | None = None  # asked of `runtime`
        self.last_asked: tuple[Engine, Demand] | None = None  # that cases were asked of last
        self.last_cases = dict[tuple[Layout, int, int], Case]()  # by the layers of the stage
        self.last_here = dict[Hashable, Any]()  # what they have in common
        self.last_speed = Last()

    @property
    def bounded(self) -> bool:
        """Whether it is known how much memory there is."""
        if self.placement.alone:
            return self.host is not None and self.host.memory_bytes is not None
        return self.accelerator is not None

    @property
    def most_running(self) -> int:
        """Sequences that each data-parallel rank works on at a time: as it is set up, or the engine's own number."""
        if self.slots is None and "slots" not in self.engine.values and "sequences" in self.engine.values:
            return default_sequences(self.engine, self.accelerator)
        return self.slots or round(self.engine.values.get("slots", MOST_SEQUENCES))

    def running(self, demand: Demand, layout: Layout) -> int:
        """The same for a demand: of some families an engine lets in another number, which data ranks divide."""
        own = None if self.slots else self.engine.family_slots.get(demand.architecture.family)
        return max(own // layout.data, 1) if own else self.most_running

    @property
    def piece_tokens(self) -> int | None:
        """Tokens of a prompt that pass at once, None where whole prompts do."""
        return self.own_piece_tokens if self.batched_tokens is None else self.batched_tokens

    @property
    def own_piece_tokens(self) -> int | None:
        """The same where nobody says it: by the device's size in some engines."""
        if "batched_tokens" not in self.engine.values:
            return None
        return round(by_size(self.engine.values, "batched_tokens", self.accelerator))

    def in_pieces(self, demand: Demand) -> Demand:
        """Return a demand whose prompts are read in the engine's own pieces, where it does not say in which."""
        own = self.piece_tokens
        return demand if own is None else demand._replace(batched_tokens=own)

    def case(self, demand: Demand, layout: Layout, stage: Stage) -> Case:
        """Return the case of one stage; most of it is the same for any number of sequences."""
        last = self.last_asked
        if last is None or last[0] is not self.engine or last[1] is not demand:
            if last is None or last[0] is not self.engine or last[1] != demand._replace(sequences=last[1].sequences):
                self.last_cases = {}
            if last is None or last[0] is not self.engine:
                self.last_here = {}
            self.last_asked = self.engine, demand
        key = layout, stage.first, stage.last
        known = self.last_cases.get(key)
        if known is None:
            known = self.last_cases[key] = self.first_case(demand, layout, stage)
        return known if known.demand is demand else known.of(demand)

    def first_case(self, demand: Demand, layout: Layout, stage: Stage) -> Case:
        """Return the same, which nothing is known of."""
        own = next((device for device, mine in self.places(demand) if mine.first == stage.first), self.accelerator)
        return make_case(
            demand=demand,
            layout=layout,
            stage=stage,
            engine=self.engine,
            accelerator=own,
            fraction=self.fraction,
            batched_tokens=self.batched_tokens,
            attention=self.attention,
            slots=self.slots,
            placement=self.placement,
            host=self.host,
            correction=self.correction.memory,
            here=self.last_here if own is self.accelerator else None,
        )

    def runtime(self, case: Case) -> Runtime:
        """Return the runtime of a case; the same is often asked again of the last demand."""
        last = self.last
        if last is None or last[0] is not case.demand or last[1] is not self.engine or last[2] != case.layout:
            self.last = last = case.demand, self.engine, case.layout, {}
        layers = case.stage.first, case.stage.last
        if layers not in last[3]:
            last[3][layers] = run(case)
        return last[3][layers]

    def loaded(self, demand: Demand, layout: Layout) -> list[tuple[Case, Runtime]]:
        """Return the stages that can differ with their runtimes."""
        cases = [self.case(demand, layout, stage) for stage in self.stages(demand, layout)]
        return [(case, self.runtime(case)) for case in cases]

    def fullest(self, demand: Demand, layout: Layout) -> tuple[Case, Runtime]:
        """Return the stage whose devices hold the most, with its runtime; of equals the one with the least room.

        Of devices that are not alike it is the one with the least room, whatever it holds.
        """
        return self.fullest_of(self.loaded(demand, layout))

    def tried(self, demand: Demand, layout: Layout) -> tuple[Case, Runtime]:
        """Return the same where all stages fit; else one that does not, the first that is found."""
        cases = list(self.full_cases(demand, layout))
        beyond = self.beyond(cases) if len(cases) > 1 else None
        found = cases if beyond is None else [beyond]
        return self.fullest_of([(case, self.runtime(case)) for case in found])

    def fullest_of(self, found: list[tuple[Case, Runtime]]) -> tuple[Case, Runtime]:
        """Return the same of stages that have their runtimes."""
        if len(found) == 1:
            return found[0]
        if self.devices:
            return max(found, key=lambda pair: pair[1].device - (pair[1].capacity or 0))
        return max(found, key=lambda pair: (pair[1].device, pair[1].needed))

    def full_cases(self, demand: Demand, layout: Layout) -> Iterator[Case]:
        """Iterate over the cases of the stages that can be the fullest: of those that are alike the first."""
        if not self.placed:
            yield from (
                self.case(demand, layout, stage) for stage in fullest_stages(demand.architecture, layout.pipeline)
            )
            return
        found = dict[object, Case]()
        for stage in self.placed_stages(demand, layout):
            case = self.case(demand, layout, stage)
            found.setdefault((self.key(stage), case.budget.weights), case)
        yield from found.values()

    def sum_over_devices(self, demand: Demand, layout: Layout, known: tuple[Case, Runtime]) -> int:
        """Return the bytes of all devices, each counted as the fullest of its stage; `known` is one of them."""
        ranks = layout.devices // layout.pipeline
        if layout.pipeline == 1 and not self.devices:
            return ranks * known[1].device
        keys = [(self.key(stage), stage) for stage in self.placed_stages(demand, layout)]
        sizes = {self.key(case.stage): runtime.device for case, runtime in (*self.loaded(demand, layout), known)}
        for key, stage in keys:
            if key not in sizes:
                sizes[key] = run(self.case(demand, layout, stage)).device
        return ranks * sum(sizes[key] for key, _ in keys)

    def host_bytes(self, demand: Demand) -> int:
        """Return what is in the host's memory: caches, and tables, layers and experts that llama.cpp leaves there."""
        kept = self.store.size_bytes if self.store is not None and self.store.to == HOST else 0
        return kept + (self.left_bytes(demand) if self.engine.id == "llama.cpp" else 0)

    def left_bytes(self, demand: Demand) -> int:
        """Return what llama.cpp leaves in the host's memory of a model."""
        if self.placement.alone:
            return self.fullest(demand, Layout())[1].device
        architecture, away = demand.architecture, self.placement.host_layers(demand.architecture)
        rest = Stage(architecture, away.last, architecture.layer_count)
        experts = expert_bytes(self.placement.apart(rest), demand.weights, demand.group)
        if not away.last:
            return experts + looked_up_bytes(rest, demand.weights)
        return experts + host_layer_bytes(self.case(demand, Layout(), away))

    def missing(self, demand: Demand, fullest: Runtime) -> int:
        """Return the bytes missing on the fullest device, or on the host if more are missing there."""
        known = self.host.usable_bytes if self.host else None
        return fullest.missing if known is None else max(fullest.missing, self.host_bytes(demand) - known)

    def fits_host(self, demand: Demand) -> bool:
        """Return whether the host has the memory for what stays in it, as far as its memory is stated."""
        known = self.host.usable_bytes if self.host else None
        return known is None or self.host_bytes(demand) <= known

    def fits(self, demand: Demand, layout: Layout) -> bool:
        """Return whether a layout serves the demand."""
        return self.fits_host(demand) and self.beyond(self.full_cases(demand, layout)) is None

    def beyond(self, cases: Iterable[Case]) -> Case | None:
        """Return the first stage found that does not fit, None where all do."""
        likely = list[Case]()
        for case in cases:
            if case.overfull:
                return case
            likely.append(case)
        likely.sort(key=lambda case: -case.budget.total)  # too much is soon seen
        return next((case for case in likely if not self.runtime(case).fits), None)

    def started(self, demand: Demand, devices: int) -> Layout | None:
        """Return how people start the engine on so many devices: with the most tensor ranks of a machine that fit.

        Where none fits it is the division whose fullest device holds least; None where there is none.
        """
        assert self.accelerator is not None
        ways, least = candidates(demand, devices, self.engine), best_layout(demand, devices, self.engine)
        if len(ways) < 2:
            return least
        near = [layout for layout in ways if joined(self.accelerator, ranks=layout.tensor).network is None]
        tried = near[: near.index(least)] if least in near else near
        return next((layout for layout in tried if self.fits(demand, layout)), least)

    def most_sequences(self, demand: Demand, layout: Layout, known: tuple[Case, Runtime] | None = None) -> int:
        """Return the most sequences that are served at once by one data-parallel rank; 0 if not even one is.

        `known` is the fullest stage with those that are asked for.
        """
        if not self.bounded:
            return 0
        alone = layout._replace(data=1)
        case, runtime = known or self.fullest(demand, layout)
        cases = list(self.full_cases(demand, alone))

        def missing(count: int) -> int:
            if layout == alone and count == demand.sequences:
                return self.missing(demand, runtime)
            counted = demand._replace(sequences=count)
            loaded = [(case, run(case)) for case in (alike.of(counted) for alike in cases)]
            return self.missing(counted, self.fullest_of(loaded)[1])

        each = runtime.bytes_of(*CACHES) // case.sequences
        least = demand.sequences if layout == alone and missing(demand.sequences) <= 0 else 1
        return most_that_fit(missing, 0, least, MOST_SEQUENCES - 1, each=each)
