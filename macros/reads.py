"""What a page reads of the catalogue: an entry that it has not asked for decides nothing of it.

The tables note each entry that is asked for, whether there is one or not, and that those of a kind were listed. What
was remembered for an earlier page is forgotten before the next: each reads all that decides it by itself.
"""

import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import cast

from calc.catalog import Catalog, catalog
from calc.catalog.catalogue import by_item
from calc.catalog.entries import Entry, Tables
from calc.catalog.names import leading

Reads = dict[str, list[str]]  # entries by kind
LISTED = ""  # which entries of a kind there are, and their order
WHOLE = "*"  # all that is said of a kind
LED = "to:"  # before a name: the entry that it leads to
OF = "of:"  # before what prices are of, and an item: which of them there are
REMEMBERING = ("calc", "macros")
# The catalogue itself, with what follows from words alone; scores, which a server shows as of its start; a process.
LASTING = ("calc.catalog", "calc.validation.recorded", "macros.drawing")
_read: set[tuple[str, str]] = set()


class Noted(Mapping[str, Entry]):
    """The entries of a kind, which note what is read of them."""

    def __init__(self, kind: str, entries: Mapping[str, Entry]) -> None:
        self.kind, self.entries = kind, entries

    def __getitem__(self, name: str) -> Entry:
        _read.add((self.kind, name))
        return self.entries[name]

    def __contains__(self, name: object) -> bool:
        _read.add((self.kind, str(name)))
        return name in self.entries

    def __iter__(self) -> Iterator[str]:
        _read.add((self.kind, LISTED))
        return iter(self.entries)

    def __len__(self) -> int:
        _read.add((self.kind, LISTED))
        return len(self.entries)


class Led(Mapping[str, str]):
    """The entries that the names of a kind lead to, which note each name that is asked for."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __getitem__(self, name: str) -> str:
        _read.add((self.kind, LED + name))
        return led(self.kind)[name]

    def __iter__(self) -> Iterator[str]:
        _read.add((self.kind, WHOLE))
        return iter(led(self.kind))

    def __len__(self) -> int:
        return len(list(self))


class Priced(Mapping[tuple[str, str], list[str]]):
    """The prices of what there is and of each item, which note what is asked for."""

    def __getitem__(self, key: tuple[str, str]) -> list[str]:
        _read.add(("prices", OF + "/".join(key)))
        return priced()[key]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        _read.add(("prices", WHOLE))
        return iter(priced())

    def __len__(self) -> int:
        return len(list(self))


_tables: dict[str, Noted] = {}


def watch(facts: Catalog) -> None:
    """Note from here on what is read of a catalogue."""
    _tables.clear()
    _tables.update({kind: Noted(kind, cast(Mapping[str, Entry], facts.entries(kind))) for kind in facts.kinds()})
    digest.cache_clear()
    led.cache_clear()
    priced.cache_clear()
    begin()


def begin() -> None:
    """Begin a page: nothing is read, and nothing is remembered of what others have read."""
    facts = catalog()
    version = facts.version
    vars(facts).clear()
    Catalog.__init__(facts, cast(Tables, dict(_tables)), version)
    facts.leading.update({kind: Led(kind) for kind in _tables})
    facts.derived["priced"] = Priced()
    for forget in memories():
        forget()
    _read.clear()


def memories() -> Iterator[Callable[[], None]]:
    """Yield what clears each memory of a function."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in REMEMBERING:
            for value in vars(module).values():
                if hasattr(value, "cache_clear") and not value.__module__.startswith((*LASTING, __name__)):
                    yield value.cache_clear


def noted() -> Reads:
    """Return what the page has read so far."""
    found: Reads = defaultdict(list)
    for kind, name in sorted(_read):
        found[kind].append(name)
    for kind, names in found.items():
        if WHOLE in names or (LISTED in names and _tables[kind].entries.keys() <= set(names)):
            found[kind] = [WHOLE]
    return dict(found)


def add(reads: Reads) -> None:
    """Note that the page reads what decided something that was kept."""
    for kind, names in reads.items():
        every = (LISTED, *_tables[kind].entries) if WHOLE in names else names
        _read.update((kind, name) for name in every)


def state(reads: Reads) -> str:
    """Return what tells one state of what is read from another."""
    said = [digest(kind, name) for kind, names in sorted(reads.items()) for name in names]
    return hashlib.sha256("\n".join((catalog().version, *said)).encode()).hexdigest()


@cache
def digest(kind: str, name: str) -> str:
    """Return what tells one content of an entry, or of a list of them, from another."""
    if name.startswith(LED):
        return str(led(kind).get(name.removeprefix(LED)))
    if name.startswith(OF):
        of, _, item = name.removeprefix(OF).partition("/")
        return str(priced().get((of, item)))
    entries = _tables[kind].entries if kind in _tables else {}
    read = list(entries) if name == LISTED else list(entries.items()) if name == WHOLE else entries.get(name)
    return hashlib.sha256(json.dumps(read).encode()).hexdigest()


@cache
def led(kind: str) -> dict[str, str]:
    """Return the entry that each name of a kind leads to."""
    return leading(_tables[kind].entries)


@cache
def priced() -> dict[tuple[str, str], list[str]]:
    """Return the prices of what there is and of each item."""
    return by_item(_tables["prices"].entries)
