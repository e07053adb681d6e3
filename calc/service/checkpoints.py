"""Where weights in a number format come from: a repository holds them so, the engine converts them, or the reader."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from calc.catalog import Catalog
from calc.catalog.records import Model, Recipe
from calc.memory.published_formats import published_format
from calc.scenario.fields import HOST_ENGINE, PUBLISHED
from calc.scenario.model import known_architecture

SIXTEEN_BIT = ("bf16", "fp16")
CONVERTED_BY_TRANSFORMERS = ("nf4", "nf4-dq", "int8")  # by bitsandbytes, from a program and not from flags
MLX = "mlx"
AS_PUBLISHED, AS_LOADED, AS_FILE, BY_READER = "published", "loaded", "file", "reader"


class Origin(NamedTuple):
    """Where weights come from: one of the four ways, and the repository; empty where the catalogue knows none.

    A file of llama.cpp or MLX is one that somebody converted: there are such of most models, and the catalogue lists
    none of them.
    """

    way: str
    repository: str


def published_in(model: Model, facts: Catalog) -> dict[str, str]:
    """Return the repositories of a model by the number format of most of their weights, the model's own first."""
    return facts.once(f"published formats of {model.id}", lambda: stored_formats(model, facts))


def stored_formats(model: Model, facts: Catalog) -> dict[str, str]:
    """Return the same, worked out."""
    architecture = known_architecture(facts, model.id)
    found = dict[str, str]()
    plain: Mapping[str, object] = {}
    for repository, said in (*((own, plain) for own in model.repositories[:1]), *model.published.items()):
        stored = published_format({**model.config, **said}, architecture, facts.number_format)
        found.setdefault(stored.base.id if isinstance(stored, Recipe) else stored.id, repository)
    for name, repository in by_name(model.repositories[1:], facts).items():
        if repository not in model.published:
            found.setdefault(name, repository)
    return found


def converted(model: Model, facts: Catalog) -> dict[str, str]:
    """Return the repositories in which others keep a model, by number format; their configs are not known."""
    return facts.once(f"conversions of {model.id}", lambda: by_name(model.conversions, facts))


def only_in_16_bit(model: Model, number_format: str, facts: Catalog) -> bool:
    """Return whether a model is published in 16 bit, and nobody is known to keep it in a form of a number format."""
    held = [*published_in(model, facts), *converted(model, facts)]
    return bool(held) and held[0] in SIXTEEN_BIT and not any(name.startswith(number_format) for name in held)


def by_name(repositories: Iterable[str], facts: Catalog) -> dict[str, str]:
    """Return the first of the repositories for each number format that the end of a name says."""
    from calc.catalog.copies import said  # only origins and plans need it

    found = dict[str, str]()
    for repository in repositories:
        name, _ = said(repository, facts.format_names)
        if isinstance(name, str) and name in facts.entries("number_formats"):
            found.setdefault(name, repository)
    return found


def quantised(model: Model, facts: Catalog) -> dict[str, str]:
    """Return those of them that hold the very weights of the model's first repository in other formats, by names.

    A number behind its name makes it another edition: DeepSeek-V3-0324.
    """
    own = re.compile(re.escape(next(iter(model.repositories), "").partition("/")[2]) + r"-(?!\d)", re.IGNORECASE)
    held = list(published_in(model, facts).items())[1:]
    return {name: place for name, place in held if own.match(place.partition("/")[2])}


def origin(*, name: str, weights: object, engine: str, facts: Catalog) -> Origin:
    """Return where a model's weights in a format come from, for an engine that is to load them.

    What an engine makes of the model's own files comes before what others made of them, perhaps of a sister's.
    """
    model = facts.model(name)
    plain = name if "/" in name else next(iter(model.repositories), "")
    held = published_in(model, facts)
    own = next(iter(held), "bf16")
    if engine == HOST_ENGINE or str(weights).startswith(MLX):
        return Origin(AS_FILE, "")
    if weights in (PUBLISHED, own) or (weights in SIXTEEN_BIT and own in SIXTEEN_BIT):
        return Origin(AS_PUBLISHED, plain)
    if isinstance(weights, str) and weights in held:
        return Origin(AS_PUBLISHED, held[weights])
    if isinstance(weights, str) and own in SIXTEEN_BIT and weights in loaded_by(engine, facts):
        return Origin(AS_LOADED, plain)
    if isinstance(weights, str) and weights in (made := converted(model, facts)):
        return Origin(AS_PUBLISHED, made[weights])
    return Origin(BY_READER, "")


def loaded_by(engine: str, facts: Catalog) -> tuple[str, ...]:
    """Return the formats to which an engine converts 16-bit weights as it loads them."""
    flags = (flag.values or {} for flag in facts.launcher(engine).flags if flag.of == "loading")
    return CONVERTED_BY_TRANSFORMERS if engine == "transformers" else tuple(next(flags, {}))
