"""Following a framework: what it does fills the fields of training that a scenario leaves open."""

from collections.abc import Mapping

from calc.catalog import Catalog
from calc.errors import ScenarioError
from calc.training.fields import DEFAULTS, TrainingReader

NESTED = "."  # between a field and a part of it, as in "parallelism.tensor"


def follow_framework(reader: TrainingReader, facts: Catalog) -> None:
    """Have a reader take what the scenario's framework does before it takes a default; nothing without one."""
    name = reader.given.get("framework")
    if name is None:
        return
    if not isinstance(name, str):
        raise ScenarioError("framework", f"must be the name of a framework of training, not {name!r:.60}")
    framework = facts.framework(name)
    reader.filled["framework"] = framework.id
    for preset in framework.presets:
        open_field = preset.field not in reader.given and preset.field not in reader.presets
        if open_field and holds(preset.when, reader):
            reader.presets[preset.field] = preset.value


def holds(when: Mapping[str, list[object]], reader: TrainingReader) -> bool:
    """Return whether a scenario, with the presets so far, has one of the values listed for each field."""
    return all(said(field, reader) in allowed for field, allowed in when.items())


def said(field: str, reader: TrainingReader) -> object:
    """Return what a scenario says in a field by its usual name; of a degree of parallelism, whether it is one."""
    outer, _, inner = field.partition(NESTED)
    value = reader.given.get(outer, reader.presets.get(outer, DEFAULTS.get(outer)))
    if outer == "parallelism":
        degree = value.get(inner, 1) if isinstance(value, Mapping) else 1
        return "one" if degree == 1 else "several"
    return "zero-3" if value == "fsdp" else value
