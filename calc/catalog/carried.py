"""What the browser's copy of the catalogue carries: what calculators read. Pages show the rest, when they are built.

A record that is made of a carried entry says nothing where a field was left behind.
"""

import json
import marshal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeGuard

from calc.catalog.choices import RENTS
from calc.catalog.entries import Entry, Tables, maker_of, said_otherwise

PACKAGE = Path(__file__).resolve().parents[1]
NOT_CARRIED = ("claims", "glossary", "runs")
FINETUNES = "finetunes.json"  # a file of its own, that is read where nothing else knows a name
# Fields that are left behind by kind, each with what a record says in their place.
DAY: Entry = {"checked": ""}
LEFT_BEHIND: dict[str, Entry] = {
    "accelerators": {"also": [], "exceptions": [], **DAY},
    "coefficients": {"summary": "", "rows": "", **DAY},
    "engines": DAY,
    "frameworks": {"summary": "", "versions": "", **DAY},
    "grids": DAY,
    "ranges": {"rows": 0, "sources": 0, **DAY},
    "kernel_families": {"reason": "", **DAY},
    "kernels": {"name": "", "reason": "", "error": 0.0, "source": "", **DAY},
    "links": {"note": "", **DAY},
    "machines": {"note": "", "source": "", "cpu": "", **DAY},
    "mixtures": DAY,
    "models": {"licence": "", "gated": False, "note": "", "finetunes": (), "variants": {}, **DAY},
    "number_formats": DAY,
    "prices": {"note": ""},
    "processors": DAY,
    "protocols": {"note": "", **DAY},
    "sources": {"kind": "", "note": "", "dated": "", **DAY},
    "support": DAY,
    "trainers": DAY,
}
# Facts that pages list and no calculator works with, by kind.
LISTED_FACTS = {
    "accelerators": (
        "memory_bus",
        "memory_rate",
        "l2_cache",
        "last_level_cache",
        "register_file",
        "shared_memory",
        "matrix_clock",
        "operations_per_clock",
        "fp6",
        "fp16_accumulate",
        "rocm",
    ),
    "machines": ("cpu_lanes", "power"),
}
FACT: Entry = {"note": "", "sparse": 0, **DAY}
# Facts whose own sources answers name; of the others the browser knows that of the entry, of machines none.
SOURCED_FACTS = ("memory", "memory_reported", "memory_usable", "bandwidth", "bf16", "power")
# Kinds whose days say how new the facts are.
DATED = (
    "models",
    "accelerators",
    "number_formats",
    "mixtures",
    "links",
    "protocols",
    "machines",
    "processors",
    "engines",
    "frameworks",
    "support",
)
# Kinds whose entries are searched more often than read: what no search asks for stands apart, read with a record.
SEARCHED = ("models", "accelerators")
READ_LATE = "read late"
PACKING = 4  # of marshal's versions: every Python of ours reads it, and knows a name again that it has read
COEFFICIENT: Entry = {"reason": "", "versions": "", "rows": (), **DAY}


class KeptTables(dict[str, dict[str, Entry]]):
    """Tables from what `carried` gives, each read when it is first asked for, and its details with records.

    An estimate asks for less than half of what there is.
    """

    def __init__(self, packed: bytes) -> None:
        super().__init__()
        self.version: str
        self._packed: dict[str, bytes]
        self.version, self._packed = marshal.loads(packed)

    def __missing__(self, kind: str) -> dict[str, Entry]:
        table: dict[str, Entry] = marshal.loads(self._packed[kind])
        self[kind] = table
        return table

    def __iter__(self) -> Iterator[str]:
        return iter(self._packed)


def carried(tables: Tables) -> bytes:
    """Return checked tables as the browser's copy of the package carries them in place of the TOML.

    It is their version and the table of each kind, packed with `marshal`, and in it what is read late of an entry,
    packed again: bytecode is read with it too, a third of the time that JSON would take at a start. A source is
    carried if an entry that is carried, or the package's code, names it.
    """
    carried_tables = {kind: table for kind, table in tables.items() if kind not in NOT_CARRIED}
    carried_tables["prices"] = newest_prices(tables["prices"])
    kept = {
        kind: {name: carried_entry(kind, entry) for name, entry in table.items()}
        for kind, table in carried_tables.items()
    }
    cited = "".join(as_text(table) for kind, table in kept.items() if kind != "sources")
    cited += "".join(path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py")))
    kept["sources"] = {name: entry for name, entry in kept["sources"].items() if f'"{name}"' in cited}
    kept = json.loads(as_text(kept))  # nothing in it belongs to others, which the packing would show
    for character in map(chr, range(128)):  # of which Python has one each, and the packing shows if it is interned
        sys.intern(character)
    for entry in (entry for kind in SEARCHED for entry in kept[kind].values()):
        entry[READ_LATE] = marshal.dumps(taken_out(entry), PACKING)
    packed = {kind: marshal.dumps(table, PACKING) for kind, table in kept.items()}
    return marshal.dumps((version_of(tables), packed), PACKING)


def newest_prices(prices: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return each seller's newest price of a thing and kind, numbered: no calculator asks for an id, or for history.

    Of a device's rents those of one kind, which are asked for before the others.
    """
    newest: dict[tuple[object, ...], str] = {}
    rents: dict[object, int] = {}
    for price in (price for price in prices.values() if price["per"] == "hour"):
        rents[price["item"]] = min(rents.get(price["item"], len(RENTS)), RENTS.index(str(price["kind"])))
    for name, price in prices.items():
        if price["per"] == "hour" and RENTS[rents[price["item"]]] != price["kind"]:
            continue
        of = tuple(price.get(field) for field in ("of", "item", "kind", "per", "seller", "market", "region"))
        if of not in newest or str(price["checked"]) > str(prices[newest[of]]["checked"]):
            newest[of] = name
    left = frozenset(newest.values())
    return {str(number): price for number, (name, price) in enumerate(prices.items()) if name in left}


def taken_out(entry: Entry) -> Entry:
    """Take out of an entry, and return, what no search asks for: a model's config, a device's facts but the memory."""
    late = [name for name, part in entry.items() if name == "config" or (is_fact(part) and name != "memory")]
    return {name: entry.pop(name) for name in late}


def finetunes(tables: Tables) -> str:
    """Return the repositories that hold models under names of their own, and variants, by model, as JSON text.

    Of a variant the page gets what its config says, not where that was read.
    """
    found: dict[str, Entry] = {}
    for name, entry in tables["models"].items():
        variants = entry.get("variants", {})
        assert isinstance(variants, dict)
        said = {repository: said_otherwise(item) for repository, item in variants.items()}
        found[name] = {"finetunes": entry.get("finetunes"), "variants": said}
    late = {name: {field: value for field, value in fields.items() if value} for name, fields in found.items()}
    return as_text({name: fields for name, fields in late.items() if fields})


def version_of(tables: Tables) -> str:
    """Return the version of the facts: the last day on which one of them was checked."""
    return max(str(entry["checked"]) for kind in DATED for entry in tables[kind].values())


def as_text(value: object) -> str:
    """Return a value as JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def carried_entry(kind: str, entry: Entry) -> Entry:
    """Return what the browser needs of an entry, its facts without what the entry says too."""
    found = without(entry, LEFT_BEHIND.get(kind, {}) | dict.fromkeys(LISTED_FACTS.get(kind, ())))
    if kind == "models":
        found["organization"] = maker_of(found)  # whose teams are one to a search
    if kind == "models" and found.get("source") == own_config(found):
        del found["source"]
    if isinstance(conversions := found.get("conversions"), dict):
        found["conversions"] = list(conversions)  # not where each is listed
    if kind == "models" and (early := listed_variants(entry)):
        found["variants"] = early
    if isinstance(listed := found.get("coefficients"), dict):
        found["coefficients"] = {name: without(item, COEFFICIENT) for name, item in listed.items()}
    for name, fact in [(name, part) for name, part in found.items() if is_fact(part)]:
        unsaid = kind == "machines" or (kind == "accelerators" and name not in SOURCED_FACTS)
        same = {"source": ""} if unsaid or fact.get("source") == found.get("source") else {}
        found[name] = without(fact, FACT | same)
    return found


def is_fact(part: object) -> TypeGuard[Entry]:
    """Return whether a field of an entry is a fact, with a value and maybe a source of its own."""
    return isinstance(part, dict) and "value" in part


def listed_variants(entry: Entry) -> Entry:
    """Return those of a model's variants that stand among its repositories: these are found before others are read."""
    variants, repositories = entry.get("variants", {}), entry.get("repositories", ())
    assert isinstance(variants, dict) and isinstance(repositories, list | tuple)
    return {name: said_otherwise(item) for name, item in variants.items() if name in repositories}


def own_config(entry: Entry) -> str:
    """Return the address of the config in a model's first repository, which most entries have as their source."""
    listed = entry.get("repositories")
    first = listed[0] if isinstance(listed, list) and listed else ""
    return f"https://huggingface.co/{first}/blob/main/config.json"


def without(entry: Entry, left: Entry) -> Entry:
    """Return an entry without some of its fields."""
    return {name: value for name, value in entry.items() if name not in left}


def restored(kind: str, entry: Entry) -> Entry:
    """Return an entry with something in place of every field that may have been left behind."""
    found = LEFT_BEHIND.get(kind, {}) | entry
    if isinstance(late := found.pop(READ_LATE, None), bytes):
        found |= marshal.loads(late)
    if kind == "models":
        found.setdefault("source", own_config(found))
    if isinstance(listed := found.get("coefficients"), dict):
        found["coefficients"] = {name: COEFFICIENT | item for name, item in listed.items()}
    return found
