"""Whether something runs at all: an engine on a device, with a number format and a family of models.

Facts are those of the engines' own tables and code. What none of them says is not known, which is no yes.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from calc.architecture.layers import Architecture
from calc.catalog import Catalog
from calc.catalog.records import Accelerator, Engine, Mixture, NumberFormat, Recipe, Weights
from calc.catalog.support import (
    CACHE,
    DEVICE,
    DIVIDED,
    DIVISION,
    FAMILY,
    FORMAT,
    GGUF,
    GGUF_WRITER,
    GROUPS,
    HEADS,
    MAYBE,
    MIXTURE,
    MLX,
    NO,
    PACKED_CACHE,
    STAGED_TENSORS,
    STAGES,
    TILES,
    YES,
    Support,
)
from calc.derivation import WRONG, Warn
from calc.memory.budget import Layout
from calc.planning.blocks import EXPERTS, cut_blocks, cut_groups, cut_tiles

Told = Mapping[str, Sequence[Support]]  # facts by what they are about
ONE_DEVICE = Layout()
HALF_BITS = 16  # of a cache that nothing quantizes
ASKED = DEVICE, FAMILY, FORMAT, CACHE, DIVISION  # what facts on an engine that runs a family's models are about
REFUSED = "https://github.com/vllm-project/vllm/issues/13640"  # where cut groups were


class Runs(NamedTuple):
    """Whether something runs, None where it is not known, and the sentences behind that, each with its source."""

    runs: bool | None
    because: tuple[tuple[str, str], ...]
    on_device: bool = False  # whether the engine itself runs on the device, whatever the model

    def as_dict(self) -> dict[str, object]:
        """Return the two fields of a report."""
        listed = [{"message": message, "source": source} for message, source in self.because]
        return {"runs": self.runs, "runs_because": listed}

    def warnings(self) -> list[Warn]:
        """Return what a reader should know: that it does not run, or that nobody says it does."""
        said = "; ".join(message for message, _ in self.because)
        if self.runs is False:
            return [Warn("does-not-run", said, "engine", WRONG)]
        return [Warn("not-known-to-run", said, "engine")] if self.runs is None and self.because else []


def format_names(weights: Weights) -> list[str]:
    """Return the number formats that weights are in, as facts on engines name them; empty where they are not known."""
    if isinstance(weights, Mixture):
        return [GGUF]
    if isinstance(weights, Recipe):
        used = {weights.base, *(rule.number_format for rule in weights.rules)}
        return sorted({name for number_format in used for name in format_names(number_format)})
    if not isinstance(weights, NumberFormat):
        return []
    if weights.source == "ggml":
        return [GGUF]
    return [MLX] if weights.id.startswith(f"{MLX}-") else [weights.id]


class Place(NamedTuple):
    """What facts on engines say of a device by."""

    vendor: str
    architecture: str
    segment: str


@lru_cache(maxsize=1024)
def place_of(device: Accelerator | None) -> Place | None:
    """Return what facts say of a device by, None without one.

    A server's card with GDDR memory has the processor of a workstation's, and not that of modules with HBM.
    """
    if device is None:
        return None
    card = device.segment == "data-center" and device.text("memory_type").startswith("GDDR")
    return Place(device.vendor, device.architecture, "workstation" if card else device.segment)


def closest(facts: Sequence[Support], place: Place | None) -> Support | None:
    """Return the fact that names a device most closely, of several one on some families alone, of those the gravest.

    Those for all devices where none is given.
    """
    vendor, architecture, segment = place or ("", "", "")
    graver = (YES, MAYBE, NO).index
    ranked = [
        (fact.rank(vendor, architecture, segment), bool(fact.families), graver(fact.runs), fact) for fact in facts
    ]
    found = max(ranked, key=lambda item: item[:3], default=None)
    return found[3] if found is not None and found[0] else None


def what_runs(
    *,
    facts: Catalog,
    engine: Engine | None,
    device: Accelerator | None,
    weights: Weights,
    architecture: Architecture,
    layout: Layout = ONE_DEVICE,
    caches: tuple[str, ...] = (),
) -> Runs:
    """Return whether an engine runs a family in a number format, with caches in others; not known without an engine."""
    if engine is None:
        return Runs(None, ())
    place, divided = place_of(device), [name for name in DIVIDED if getattr(layout, name) > 1]
    if layout.pipeline > 1:
        divided += [STAGES, STAGED_TENSORS] if layout.tensor > 1 else [STAGES]
    if layout.tensor > 1 and any(facts.number_format(name).bits < HALF_BITS for name in caches):
        divided.append(PACKED_CACHE)
    known = known_runs(
        facts=facts,
        engine=engine.id,
        version=engine.version,
        place=place,
        formats=tuple(format_names(weights)),
        families=families_of(architecture),
        caches=caches,
        divided=tuple(divided),
    )
    if engine.needs_whole_blocks and (cut := cut_blocks(architecture, weights, layout.tensor, layout.expert)):
        said = (cut.message(layout.tensor), engine.coefficient("whole_blocks").source)
        return refused(known, said)
    if heads := lacking_heads(facts, engine, architecture):
        return refused(known, heads)
    if (devices := layout.tensor * layout.pipeline) > engine.most_devices:
        message = f"{devices} devices are more than the {engine.most_devices:g} that {engine.name} divides a model over"
        return refused(known, (message, engine.coefficient("most_devices").source))
    if engine.needs_whole_blocks and known.runs and (cut := cut_groups(architecture, weights, layout.tensor)):
        return refused(known, (cut.message(layout.tensor), REFUSED))
    told = told_of(facts, engine.id, engine.version)
    for fact in (*told.get(TILES, ()), *told.get(GROUPS, ())):
        asked = (architecture, weights, layout.tensor, layout.expert)
        cut = cut_tiles(*asked, fact.names) if fact.about == TILES else cut_groups(*asked, EXPERTS)
        if cut and place and closest([fact], place):
            return refused(known, (f"{fact.because}: {cut.message(layout.tensor)}", fact.source))
    return known


@lru_cache(maxsize=256)  # a plan asks the same of each layout, device and number format that it tries
def told_of(facts: Catalog, engine: str, version: str) -> Told:
    """Return the facts on an engine that hold in a version, by what they are about."""
    return by_subject(fact for fact in facts.support(engine) if fact.holds_in(version))


def by_subject(facts: Iterable[Support]) -> Told:
    """Return facts by what they are about."""
    told: dict[str, list[Support]] = {}
    for fact in facts:
        told.setdefault(fact.about, []).append(fact)
    return told


def lacking_heads(facts: Catalog, engine: Engine, architecture: Architecture) -> tuple[str, str] | None:
    """Return what keeps a version from attending in heads of a model's size, with its source; None where nothing does.

    Facts on heads name all sizes for which a version has kernels.
    """
    sizes = {str(cache.key_dim) for kind in architecture.kinds for cache in kind.caches}
    for fact in told_of(facts, engine.id, engine.version).get(HEADS, ()):
        if lacking := sizes.difference(fact.names):
            return f"{fact.because}, and the model's have {' and '.join(sorted(lacking))}", fact.source
    return None


def families_of(architecture: Architecture) -> tuple[str, ...]:
    """Return what facts name a model by: its family, and whether its tokens pass some of many experts."""
    return (architecture.family, MIXTURE) if architecture.experts else (architecture.family,)


def refused(known: Runs, said: tuple[str, str]) -> Runs:
    """Return what is known with something else against it."""
    return Runs(False, (*(known.because if known.runs is False else ()), said), known.on_device)


def has_files(*, facts: Catalog, family: str) -> bool:
    """Return whether the program that writes GGUF files is known to write a family's."""
    told = (fact for fact in facts.support(GGUF_WRITER) if fact.about == FAMILY and family in fact.names)
    return any(fact.runs == YES for fact in told)


@lru_cache(maxsize=4096)  # a plan asks the same of each number of devices
def known_runs(
    *,
    facts: Catalog,
    engine: str,
    place: Place | None,
    formats: tuple[str, ...],
    families: tuple[str, ...],
    version: str = "",
    caches: tuple[str, ...] = (),
    divided: tuple[str, ...] = (),
) -> Runs:
    """Return what facts say of an engine on a device, of the names of its number formats and of `families_of` a model.

    Of the formats of caches, and of how a model is divided, only what does not run is written down, and what is in
    doubt.
    """
    told, record, family, named = told_of(facts, engine, version), facts.engine(engine), families[0], set(families)
    known = {
        about: [fact for fact in told.get(about, ()) if not fact.families or not named.isdisjoint(fact.families)]
        for about in ASKED
    }
    asked = [(FAMILY, family, f"models of the family {family}")]
    asked += [(FORMAT, name, f"the number format {name}") for name in formats]
    found: list[Support] = []
    silent: list[tuple[str, str]] = []
    if place is not None:
        asked.insert(0, (DEVICE, "", f"{place.architecture} of {place.vendor}"))
    for about, name, words in asked:
        fact = closest([item for item in known[about] if not item.names or name in item.names], place)
        if fact is not None:
            found.append(fact)
        elif place is not None or about == FAMILY:
            silent.append((f"nothing is known of {record.name} and {words}", record.platforms))
    found += stated_of(known, CACHE, caches, place) + stated_of(known, DIVISION, divided, place)
    if GGUF in formats and engine != GGUF_WRITER and not has_files(facts=facts, family=family):
        silent.append((f"nothing is known of GGUF files of the family {family}", facts.engine(GGUF_WRITER).platforms))
    on_device = any(fact.about == DEVICE and fact.runs == YES for fact in found)
    stated = because_of(found)
    if stated[NO]:
        return Runs(False, tuple(stated[NO]), on_device)
    if stated[MAYBE] or silent or place is None or not formats:
        return Runs(None, (*stated[MAYBE], *silent), on_device)
    return Runs(True, tuple(stated[YES]), on_device)


def stated_of(told: Told, about: str, names: tuple[str, ...], place: Place | None) -> list[Support]:
    """Return the closest fact on each of the names, where there is one."""
    known = told.get(about, ())
    found = (closest([item for item in known if name in item.names], place) for name in names)
    return [fact for fact in dict.fromkeys(found) if fact is not None]


def because_of(found: list[Support]) -> dict[str, list[tuple[str, str]]]:
    """Return what facts say with their sources, by whether something runs."""
    return {runs: [(fact.because, fact.source) for fact in found if fact.runs == runs] for runs in (YES, NO, MAYBE)}
