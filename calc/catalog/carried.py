"""What the browser's copy of the catalogue carries: what calculators read. Pages show the rest, when they are built.

A record that is made of a carried entry says nothing where a field was left behind.
"""

import json

from calc.catalog.check import Entry, Tables

NOT_CARRIED = ("claims", "glossary", "runs")
# Fields that are left behind by kind, each with what a record says in their place.
DAY: Entry = {"checked": ""}
LEFT_BEHIND: dict[str, Entry] = {
    "accelerators": {"also": [], "exceptions": [], **DAY},
    "coefficients": {"summary": "", "rows": "", **DAY},
    "engines": DAY,
    "frameworks": {"summary": "", "versions": "", **DAY},
    "grids": DAY,
    "kernel_families": {"reason": "", **DAY},
    "kernels": {"name": "", "reason": "", "error": 0.0, "source": "", **DAY},
    "links": {"note": "", **DAY},
    "machines": {"note": "", **DAY},
    "mixtures": DAY,
    "models": {"licence": "", "gated": False, "note": "", **DAY},
    "number_formats": DAY,
    "processors": DAY,
    "protocols": {"note": "", **DAY},
    "sources": {"kind": "", "note": "", "dated": "", **DAY},
    "support": DAY,
    "trainers": DAY,
}
FACT: Entry = {"note": "", "sparse": 0, **DAY}
COEFFICIENT: Entry = {"reason": "", "versions": "", "rows": (), **DAY}


def carried(tables: Tables, version: str) -> str:
    """Return checked tables as the JSON text that the browser's copy of the package carries in place of the TOML."""
    kept = {
        kind: {name: carried_entry(kind, entry) for name, entry in table.items()}
        for kind, table in tables.items()
        if kind not in NOT_CARRIED
    }
    return json.dumps({"tables": kept, "version": version}, separators=(",", ":"), ensure_ascii=False)


def carried_entry(kind: str, entry: Entry) -> Entry:
    """Return what the browser needs of an entry, its facts without what the entry says too."""
    found = without(entry, LEFT_BEHIND.get(kind, {}))
    if isinstance(listed := found.get("coefficients"), dict):
        found["coefficients"] = {name: without(item, COEFFICIENT) for name, item in listed.items()}
    facts = {name: part for name, part in found.items() if isinstance(part, dict) and "value" in part}
    for name, fact in facts.items():
        same = {"source": ""} if fact.get("source") == found.get("source") else {}
        found[name] = without(fact, FACT | same)
    return found


def without(entry: Entry, left: Entry) -> Entry:
    """Return an entry without some of its fields."""
    return {name: value for name, value in entry.items() if name not in left}


def restored(kind: str, entry: Entry) -> Entry:
    """Return an entry with something in place of every field that may have been left behind."""
    found = LEFT_BEHIND.get(kind, {}) | entry
    if isinstance(listed := found.get("coefficients"), dict):
        found["coefficients"] = {name: COEFFICIENT | item for name, item in listed.items()}
    return found
