"""Models that rows name and the catalogue does not: their configs, and other names of those that it has."""

import tomllib
from functools import lru_cache

from calc.validation.scores import MEASUREMENTS


@lru_cache(maxsize=1)
def entries() -> dict[str, dict[str, object]]:
    """Return the file of models by their name in rows; "names" is a table of names in the catalogue."""
    return tomllib.loads((MEASUREMENTS / "models.toml").read_text(encoding="utf-8"))


def named(name: str) -> object:
    """Return a model as the contract takes it: a config where the catalogue has none, else its name there.

    >>> named("tiny-llama")
    'tinyllama-1.1b'
    """
    names = entries()["names"]
    if name != "names" and name in entries():
        return {"config": entries()[name]["config"]}
    return names.get(name, name)
