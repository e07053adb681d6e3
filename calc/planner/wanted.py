"""What a question asks to be tried: models, number formats and engines."""

from collections.abc import Callable, Mapping
from math import inf

from calc.architecture.layers import Architecture
from calc.catalog import Catalog
from calc.catalog.records import Model
from calc.errors import ScenarioError, check_names
from calc.planner.fields import listed, some
from calc.scenario.fields import DEFAULTS, ENGINES, USUAL
from calc.scenario.model import known_architecture, read_model
from calc.scenario.reader import one_of

KINDS = ("text", "task", "encoder")
ANY = "any"
YEARS = 2  # people who ask what runs mean current models


SHAPES: dict[str, Callable[[Architecture], bool]] = {
    "sees": lambda architecture: architecture.tower is not None,
    "experts": lambda architecture: architecture.experts > 0,
}  # of models that answer what they are asked


def read_models(given: Mapping[str, object], facts: Catalog, *, one: bool) -> tuple[object, ...]:
    """Return the models that are tried; `one` where the question is about one."""
    if "model" in given and "models" in given:
        raise ScenarioError("models", "is in place of model: give one of the two")
    if one:
        if "models" in given:
            raise ScenarioError("models", "does not apply: the question is about one model")
        if "model" not in given:
            raise ScenarioError("model", "is needed: for which model?")
        model = given["model"]
        read_model(model, facts)  # what is wrong with it is found once, and not in every scenario
        return (named(model, facts) if isinstance(model, str) and facts.listed_model(model) else model,)
    field = "model" if "model" in given else "models"
    value = given.get(field, ANY)
    if isinstance(value, Mapping) and "config" not in value:
        return chosen_models(value, facts)
    if value == ANY:
        return chosen_models({}, facts)
    return tuple(named(item, facts, field) if isinstance(item, str) else item for item in some(value, field))


def named(name: str, facts: Catalog, field: str = "model") -> str:
    """Return a model's id, or the repository's name where that says a number format or a variant of its own."""
    model = facts.model(name, field)
    own = name in model.published or facts.variant(name) or facts.named_format(name) is not None
    return name if own else model.id


def chosen_models(wanted: Mapping[str, object], facts: Catalog) -> tuple[object, ...]:
    """Return the catalogue's models of a kind and of a number of parameters that one can have, the newest first.

    Of two that are ranked alike, it is the one that people take.
    """
    from calc.architecture.parameters import parameters_total

    check_names(wanted, ("parameters", "kind"), "models.")
    kind = one_of(wanted.get("kind", KINDS[0]), "models.kind", KINDS)
    ends = wanted.get("parameters", [0, inf])
    if not isinstance(ends, list | tuple) or len(ends) != 2 or not all(type(end) in (int, float) for end in ends):
        raise ScenarioError("models.parameters", f"must be the fewest and the most, not {ends!r:.60}")
    if ends[0] > ends[1]:
        raise ScenarioError(
            "models.parameters", f"must be the fewest and then the most, not {ends[0]:g} and {ends[1]:g}"
        )
    return tuple(
        name
        for name, architecture in of_kind(facts, kind)
        if "parameters" not in wanted or ends[0] <= parameters_total(architecture) <= ends[1]
    )


def of_kind(facts: Catalog, kind: str) -> list[tuple[str, Architecture]]:
    """Return the catalogue's models of a kind, the newest first; found once for each loaded catalogue."""
    known = facts.once("models of kinds", dict[str, list[tuple[str, Architecture]]])
    if kind not in known:
        newest = sorted(facts.ids("models"), key=lambda name: facts.model(name).released, reverse=True)
        every = [(name, known_architecture(facts, name)) for name in newest]
        known[kind] = [one for one in every if kind_of(facts.model(one[0]), one[1]) == kind]
    return known[kind]


def recent(facts: Catalog) -> list[str]:
    """Return the models that write text and came out in the two years before the newest fact of the catalogue."""
    year, month = facts.version.split("-")[:2]
    since = f"{int(year) - YEARS}-{month}"
    entries = facts.entries("models").items()
    listed = {name for name, entry in entries if str(entry["released"]) >= since}
    return [str(name) for name in chosen_models({}, facts) if name in listed]


def made_for(task: str, facts: Catalog) -> list[str]:
    """Return the models that one can have for a task of their own, one of MADE_FOR, the newest first.

    To see, or to have experts, is none of these: many that answer questions do.
    """
    if task in SHAPES:
        return [name for name in recent(facts) if SHAPES[task](known_architecture(facts, name))]
    newest = sorted(facts.ids("models"), key=lambda name: facts.model(name).released, reverse=True)
    return [name for name in newest if facts.model(name).made_for == task and facts.model(name).repositories]


def kind_of(model: Model, architecture: Architecture) -> str:
    """Return what a model does: it writes what it is asked for, or does one task, or reads; empty if nobody has it."""
    if not model.repositories:
        return ""
    if not architecture.writes:
        return "encoder"
    return "task" if model.made_for else "text"


def read_weights(given: Mapping[str, object], facts: Catalog, *, ladder: bool) -> tuple[object, ...]:
    """Return the number formats that are tried, as they are written; none where the engine's usual ones are."""
    value = given.get("weights", ANY if ladder else DEFAULTS["weights"])
    if value == ANY:
        return ()
    for item in some(value, "weights"):
        if isinstance(item, str) and item != DEFAULTS["weights"]:
            facts.weights_format(item)
    return listed(value)


def read_engines(given: Mapping[str, object], facts: Catalog) -> tuple[str, ...]:
    """Return the engines that are tried; "usual" is the one that most people take on a device."""
    value = given.get("engine", USUAL)
    if value == ANY:
        return tuple(name for name in ENGINES if name != "none")
    return tuple(item if item == USUAL else facts.engine(str(item)).id for item in some(value, "engine"))
