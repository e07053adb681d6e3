"""The engine that people take on a device, which engines run there at all, and the number formats that one has."""

from functools import lru_cache

from calc.architecture.layers import Architecture
from calc.catalog import Catalog
from calc.catalog.records import Accelerator, Engine, Mixture, Weights
from calc.catalog.support import DEVICE, NO, YES
from calc.planning.support import Place, closest, families_of, format_names, known_runs, place_of


def usual_engine(
    *,
    facts: Catalog,
    device: Accelerator | None,
    weights: Weights,
    architecture: Architecture,
    caches: tuple[str, ...] = (),
) -> Engine | None:
    """Return the engine that most people take on a device, or the first other one that runs the model there.

    None where no engine is known to run it, and without a device. Where all refuse the number formats of caches it is
    the one that runs it with others, and says so.
    """
    if device is None:
        return None
    formats, place, families = tuple(format_names(weights)), place_of(device), families_of(architecture)
    for kept in dict.fromkeys((caches, ())):
        if name := first_engine(facts=facts, place=place, formats=formats, families=families, caches=kept):
            return facts.engine(name)
    return None


@lru_cache(maxsize=4096)
def known_on(*, facts: Catalog, engine: str, place: Place | None) -> bool:
    """Return whether an engine is known to run on a device, or not to; in doubt it is not."""
    return of_device(facts=facts, engine=engine, place=place) in (YES, NO)


@lru_cache(maxsize=4096)
def runs_on(*, facts: Catalog, engine: str, place: Place | None) -> bool:
    """Return whether nobody says that an engine does not run on the device."""
    return of_device(facts=facts, engine=engine, place=place) != NO


@lru_cache(maxsize=1024)
def is_served(*, facts: Catalog, place: Place | None) -> bool:
    """Return whether any engine is known to run on a device, with some model at least."""
    told = (fact for engine in facts.engines() for fact in facts.support(engine.id))
    return place is not None and any(
        fact.about == DEVICE and fact.runs == YES and fact.rank(place.vendor, place.architecture, place.segment)
        for fact in told
    )


def of_device(*, facts: Catalog, engine: str, place: Place | None) -> str:
    """Return what facts say of an engine on a device, empty where none does."""
    known = [fact for fact in facts.support(engine) if fact.about == DEVICE and fact.holds_in("")]
    fact = closest(known, place)
    return fact.runs if fact is not None else ""


def by_use(facts: Catalog, segment: str) -> list[Engine]:
    """Return the engines in the order in which people take them on devices of a segment."""
    return sorted(facts.engines(), key=lambda engine: (segment not in engine.usual_on, not engine.usual_on))


@lru_cache(maxsize=16384)  # a plan asks for it of hundreds of models on each kind of device
def first_engine(
    *, facts: Catalog, place: Place, formats: tuple[str, ...], families: tuple[str, ...], caches: tuple[str, ...]
) -> str | None:
    """Return the first engine that is known to run it, in the order in which people take them on a device."""
    for engine in by_use(facts, place.segment):
        known = known_runs(
            facts=facts, engine=engine.id, place=place, formats=formats, families=families, caches=caches
        )
        if known.runs:
            return engine.id
    return None


def format_of_bits(engine: Engine, bits: int, facts: Catalog) -> str:
    """Return the first of an engine's number formats with no more bits than asked for, or its last; BF16 from 16 on."""
    return format_within(engine, bits, facts) or engine.formats[-1]


def format_within(engine: Engine, bits: int, facts: Catalog) -> str | None:
    """Return the same, None where all of the engine's formats have more bits."""
    if bits >= 16:
        return "bf16"
    for name in engine.formats:
        record = facts.weights_format(name)
        element = facts.number_format(record.base) if isinstance(record, Mixture) else record
        if element.bits <= bits:
            return name
    return None
