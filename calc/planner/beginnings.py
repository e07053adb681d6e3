"""How long a step takes at least until its kernels begin, found once for all models and lengths that begin alike."""

from typing import NamedTuple

from calc.catalog.records import Accelerator, Engine
from calc.memory.budget import Demand, Layout
from calc.performance.engine_passes import Setup, kernel_classes, kernels_and_schedule, passes_of
from calc.performance.starts import Begun, Numbered, Numbers, Starts, beginnings
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
    asked: tuple[object, ...]  # what of it decides how its operations begin on a device, however many its stages are

    @property
    def computes(self) -> tuple[float | None, ...]:
        """The coefficients by which the engine computes otherwise."""
        return tuple(self.engine.values.get(name) for name in OF_MODELS)


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
    kind = asked.attention, demand.weights.id, layout.tensor, family, states
    return Divided(engine, setup, demand, layout=layout, asked=kind)


class Kind:
    """Devices of a kind under an engine: what its kernels differ by there, and how operations begin."""

    def __init__(self, engine: Engine, device: Accelerator, classes: tuple[str, ...]) -> None:
        self.is_timed, self.classes = is_timed_on(engine, device), classes
        self.untuned = dict[tuple[str, int], bool]()  # families of a width whose products others were tuned for
        self.laws = dict[tuple[object, ...], Starts | None]()  # of what is asked there; None where none is known

    def lacks_tuning(self, engine: Engine, family: str, width: int) -> bool:
        """Return whether products there were tuned for other models than a family's of this width."""
        if (family, width) not in self.untuned:
            self.untuned[family, width] = engine.lacks_tuning(family, width, self.classes)
        return self.untuned[family, width]


class Beginnings:
    """How steps begin: the operations of a model whatever the devices are, and each of them on devices of a kind."""

    def __init__(self) -> None:
        self.kinds = dict[tuple[str, str], Kind]()
        self.numbers = Numbers()
        self.begun = dict[tuple[object, ...], Numbered]()  # of a model on so many ranks

    def least(self, divided: Divided, device: Accelerator, model: str, own: str) -> Begun:
        """Return how long a model's step takes to begin, of its `own` format; nothing where that is not known."""
        engine, setup, demand, layout, asked = divided
        if (kind := self.kinds.get((device.id, engine.id))) is None:
            kind = self.kinds[device.id, engine.id] = Kind(engine, device, kernel_classes(device, setup.backend))
        if not kind.is_timed:
            return UNKNOWN
        known = demand.architecture
        law = *asked, kind.lacks_tuning(engine, known.family, known.hidden_size)
        if law not in kind.laws:
            kernels, schedule = kernels_and_schedule(setup, demand, layout, device)
            kind.laws[law] = Starts(kernels, schedule, self.numbers) if kernels else None
        starts = kind.laws[law]
        if starts is None:
            return UNKNOWN
        key = model, own, engine.id, layout.tensor, divided.computes
        if key not in self.begun:
            passes = passes_of(setup, demand=demand, layout=layout, accelerator=device)
            self.begun[key] = self.numbers.of(beginnings(passes) if passes else ())
        return starts.step(self.begun[key])
