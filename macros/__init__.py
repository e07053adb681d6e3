"""The macros of the guide's pages: tables, numbers, calculators, each answered by `calc`; nothing is computed here.

Each module of `ROOMS` names in `__all__` the macros that it has for pages.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from mkdocs.exceptions import BuildError

from calc import CatalogError, catalog
from calc.validation import questions, recorded
from macros import inline, kept, pages, plots, reads
from macros.calls import register

ROOMS = ("macros", "macros.accuracy", "macros.claims")  # the others build what pages load


def modules() -> Iterator[ModuleType]:
    """Iterate over the modules that have macros; others, such as hooks of a build, are not imported for it."""
    for room in ROOMS:
        for path in sorted((Path(__file__).parent.parent / room.replace(".", "/")).glob("*.py")):
            if "\n__all__ = " in path.read_text(encoding="utf-8"):
                yield import_module(f"{room}.{path.stem}")


MACROS = tuple(getattr(module, name) for module in modules() for name in module.__all__)


def define_env(env: Any) -> None:
    """Register the macros; mkdocs-macros calls this for every build, so an edited catalogue is read again."""
    try:
        facts = catalog.reload()
        recorded.digest.cache_clear()
        kept.begin()
        reads.watch(facts)
        kept.check(facts)
    except CatalogError as error:
        raise BuildError(str(error)) from None
    inline.restart()
    pages.restart()
    plots.restart()
    questions.questions.cache_clear()
    register(env, MACROS)
