"""Launchers: how a program is started, flag by flag."""

from typing import NamedTuple

from calc.catalog.entries import Entry
from calc.catalog.records import version_numbers


class Flag(NamedTuple):
    """A flag of a program, and the choice that it is of."""

    of: str
    flag: str
    because: str
    values: dict[str, str] | None = None  # what it says for a number format; None: the choice itself
    switch: bool = False  # it has no value
    several: bool = False  # it has as many values as there are words
    first: str = ""  # version that has it
    last: str = ""

    def is_in(self, version: str) -> bool:
        """Return whether a version has the flag; empty: the newest."""
        if not version:
            return not self.last
        numbers = version_numbers(version)
        early = bool(self.first) and numbers < version_numbers(self.first)
        return not early and not (self.last and numbers > version_numbers(self.last))


class Launcher(NamedTuple):
    """How an engine, or a framework of training, is started."""

    id: str
    program: tuple[str, ...]
    model_flag: str  # before the model; empty: the model follows the program
    image: str  # of a container, empty where there is none
    otherwise: tuple[str, ...]  # choices that need no flag
    flags: tuple[Flag, ...]
    source: str
    checked: str
    configurations: dict[str, str]  # of models, where a program has one of each: its words by the model's id
    images: dict[str, str]  # of containers for devices of other makers, by the maker
    prepare: str  # what comes before the command in a container
    listens: str  # the flag by which it listens to others, where it has to be told


def make_launcher(entry_id: str, entry: Entry) -> Launcher:
    """Return a launcher's record from its checked table."""
    flags: list[dict[str, object]] = entry["flags"]  # type: ignore[assignment]
    return Launcher(
        id=entry_id,
        program=tuple(entry["program"]),  # type: ignore[arg-type]
        model_flag=str(entry["model_flag"]),
        image=str(entry["image"]),
        otherwise=tuple(entry["otherwise"]),  # type: ignore[arg-type]
        flags=tuple(Flag(**flag) for flag in flags),  # type: ignore[arg-type]
        source=str(entry["source"]),
        checked=str(entry["checked"]),
        configurations=entry.get("configurations", {}),  # type: ignore[arg-type]
        images=entry.get("images", {}),  # type: ignore[arg-type]
        prepare=str(entry.get("prepare", "")),
        listens=str(entry.get("listens", "")),
    )
