"""How long a step takes at least until its kernels begin, found once for all models and lengths that begin alike."""

from typing import NamedTuple

from calc.catalog.records import Accelerator, Engine
from calc.memory.budget import Demand, Layout
from calc.performance.engine_passes import Setup, kernel_classes, kernels_and_schedule, passes_of
from calc.performance.operations import Pass
from calc.performance.starts import Begun, Starts, beginnings
from calc.planner.devices import Devices
from calc.planning.layout import divisions
from calc.planning.serving_question import is_timed_on
from calc.question import Asked
from calc.scenario.engine import on_maker

OF_MODELS = ("fuses", "absorbs_latents", "absorbs_chosen")  # coefficients by which an engine computes otherwise
UNKNOWN = Begun()


class Divided(NamedTuple):
    """A model over ranks, under an engine that is set up for it."""

    engine: Engine
    setup: Setup
    demand: Demand
    layout: Layout
    kind: tuple[object, ...]  # what of it decides how its operations begin on a device, however many its stages are


def widest(asked: Asked, devices: Devices) -> Divided | None:
    """Return a model over as many tensor ranks as there may be; None where no step of it is timed on devices."""
    engine = on_maker(asked.engine, (devices.accelerator,))
    if engine is None or not asked.demand.architecture.writes or asked.placement.on_host:
        return None
    demand, layout = asked.demand, next(divisions(asked.demand, devices.number, engine), None)
    if layout is None:
        return None
    setup = Setup(engine.id, engine.era, engine.values, asked.attention, backend=engine.backend)
    family = demand.architecture.family if demand.architecture.experts else ""  # which says how experts are chosen
    states = demand.architecture.keeps_states
    kind = engine.id, asked.attention, demand.weights.id, layout.tensor, family, states
    return Divided(engine, setup, demand, layout=layout, kind=kind)


class Beginnings:
    """How steps begin: the operations of a model whatever the devices are, and each of them on devices of a kind."""

    def __init__(self) -> None:
        self.laws = dict[tuple[object, ...], Starts | None]()  # of devices under an engine; None where none is known
        self.begun = dict[tuple[object, ...], Pass]()  # of a model on so many ranks

    def least(self, divided: Divided, device: Accelerator, model: str, own: str) -> Begun:
        """Return how long a model's step takes to begin, of its `own` format; nothing where that is not known."""
        engine, setup, demand, layout, kind = divided
        if not is_timed_on(engine, device):
            return UNKNOWN
        known, classes = demand.architecture, kernel_classes(device, setup.backend)
        law = device.id, kind, engine.lacks_tuning(known.family, known.hidden_size, classes)
        if law not in self.laws:
            kernels, schedule = kernels_and_schedule(setup, demand, layout, device)
            self.laws[law] = Starts(kernels, schedule) if kernels else None
        starts = self.laws[law]
        if starts is None:
            return UNKNOWN
        key = model, own, engine.id, layout.tensor, tuple(engine.values.get(name) for name in OF_MODELS)
        if key not in self.begun:
            passes = passes_of(setup, demand=demand, layout=layout, accelerator=device)
            self.begun[key] = beginnings(passes) if passes else ()
        return starts.step(self.begun[key])
