"""Frameworks of training: what each does where a run does not say it, as entries of the catalogue."""

from collections.abc import Mapping
from typing import NamedTuple

from calc.catalog.entries import Entry
from calc.catalog.records.engines import version_numbers


class Preset(NamedTuple):
    """What a framework does where a scenario does not say it."""

    field: str
    value: object
    when: dict[str, list[object]]  # empty: always
    reason: str
    source: str
    since: str = ""  # the framework's version that first did it; empty: all
    before: str = ""  # the first one that no longer does; empty: the newest does

    def is_done_by(self, version: str) -> bool:
        """Return whether a version of the framework does this; without one the newest."""
        if not version:
            return not self.before
        numbers = version_numbers(version)
        return numbers >= version_numbers(self.since) and not (self.before and numbers >= version_numbers(self.before))


class Framework(NamedTuple):
    """A framework of training, with what it does that its users seldom know."""

    id: str
    name: str
    aliases: tuple[str, ...]
    follows: str | None  # the framework that it is built on, which does what its own presets do not say
    megatron_core: bool  # its modules are Megatron Core's, which can capture CUDA graphs
    adapters_summed: bool  # what an adapter gives is added by its own product, and scaled there (addmm_)
    packed_apart: bool  # queries and keys of packed sequences are turned by position one sequence after the other
    versions: str
    summary: str
    presets: tuple[Preset, ...]
    source: str
    checked: str
    carries: Mapping[str, str] = {}  # by its own version, oldest first, that of the one it is built on

    def carried_by(self, version: str) -> str:
        """Return which version of the framework it is built on came with one of its own; empty: the newest."""
        if not version:
            return ""
        numbers = version_numbers(version)
        known = [theirs for mine, theirs in self.carries.items() if version_numbers(mine) <= numbers]
        return known[-1] if known else next(iter(self.carries.values()), "")


def make_framework(entry_id: str, entry: Entry) -> Framework:
    """Return a framework's record with its presets."""
    presets = tuple(Preset(**{"when": {}, **preset}) for preset in entry["presets"])  # type: ignore[attr-defined]
    aliases: tuple[str, ...] = tuple(entry["aliases"])  # type: ignore[arg-type]
    usual = {"follows": None, "megatron_core": False, "adapters_summed": False, "packed_apart": False}
    return Framework(**{**usual, **entry, "id": entry_id, "aliases": aliases, "presets": presets})  # type: ignore[arg-type]
