"""Following a framework: what it does fills the fields of training that a scenario leaves open."""

from collections.abc import Iterator, Mapping
from math import prod

from calc.catalog import Catalog
from calc.catalog.frameworks import Framework, Preset
from calc.errors import ScenarioError, WrongValueError
from calc.memory.training.plan import LAYERS, WHOLE_STEP
from calc.scenario.reader import read_version
from calc.training.fields import DEFAULTS, USUAL, TrainingReader

NESTED = "."  # between a field and a part of it, as in "parallelism.tensor"


def follow_framework(reader: TrainingReader, facts: Catalog, family: str) -> None:
    """Have a reader take what the scenario's framework does before it takes a default; nothing without one.

    `family` is that of the model, which some of it depends on.
    """
    name = reader.given.get("framework")
    version = read_version(reader.given.get("engine_version"), '"4.45" or "0.9.2"')
    if name is None:
        if version is not None:
            raise ScenarioError("engine_version", "does not apply: no framework is named")
        return
    if not isinstance(name, str):
        raise WrongValueError("framework", f"must be the name of a framework of training, not {name!r:.60}")
    framework = facts.framework(name)
    reader.filled["framework"] = framework.id
    if version is not None:
        reader.filled["engine_version"] = version
    for preset in presets_of(framework, facts, version or ""):
        open_field = preset.field not in reader.given and preset.field not in reader.presets
        if open_field and holds(preset.when, reader, family):
            reader.presets[preset.field] = preset.value


def presets_asked(fields: Mapping[str, object], facts: Catalog) -> Iterator[Preset]:
    """Iterate over what the framework that a question's fields name does in their version; nothing without one."""
    name = fields.get("framework")
    if isinstance(name, str):
        yield from presets_of(facts.framework(name), facts, str(fields.get("engine_version") or ""))


def presets_of(framework: Framework, facts: Catalog, version: str = "") -> Iterator[Preset]:
    """Iterate over what a version of a framework does: its own presets, then those of the one that it is built on."""
    yield from (preset for preset in framework.presets if preset.is_done_by(version))
    if framework.follows:
        yield from presets_of(facts.framework(framework.follows), facts, framework.carried_by(version))


def holds(when: Mapping[str, list[object]], reader: TrainingReader, family: str) -> bool:
    """Return whether a scenario, with the presets so far, has one of the values listed for each field."""
    return all(said(field, reader, family) in allowed for field, allowed in when.items())


def said(field: str, reader: TrainingReader, family: str) -> object:
    """Return what a scenario says in a field by its usual name; of a degree of parallelism, whether it is one.

    Of a model, `model.family` is its family.
    """
    outer, _, inner = field.partition(NESTED)
    if outer == "model":
        return family
    value = reader.given.get(outer, reader.presets.get(outer, DEFAULTS.get(outer, USUAL)))
    if outer == "parallelism":
        degrees = value if isinstance(value, Mapping) else {}
        degree = degrees.get(inner, data_ranks(degrees, reader) if inner == "data" else 1)
        return "one" if degree == 1 else "several"
    return value


def data_ranks(degrees: Mapping[str, object], reader: TrainingReader) -> int:
    """Return the data ranks that a scenario's devices leave, where it names none; 1 where that cannot be said yet."""
    devices = reader.given.get("accelerators", 1)
    others = [degree for degree in degrees.values() if isinstance(degree, int) and degree > 0]
    return devices // prod(others) if isinstance(devices, int) else 1


def framework_is(trait: str, reader: TrainingReader, facts: Catalog) -> bool:
    """Return whether a trait holds for the scenario's framework, as its record has it; not where none is named."""
    framework = reader.filled.get("framework")
    return isinstance(framework, str) and bool(getattr(facts.framework(framework), trait))


def read_graphs(reader: TrainingReader, facts: Catalog) -> str:
    """Return what of a step is captured as CUDA graphs; raises ScenarioError where the framework captures nothing."""
    layers = reader.take("graphs") == LAYERS
    captured = LAYERS if layers else WHOLE_STEP * reader.flag("graphs")
    if captured and not framework_is("megatron_core", reader, facts):
        listed = map(facts.framework, facts.ids("frameworks"))
        names = " and ".join(framework.name for framework in listed if framework.megatron_core)
        raise ScenarioError("graphs", f"needs a framework that captures a step of training: {names} do")
    return captured
