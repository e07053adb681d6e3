"""From a few words on a command line to a device's entry in the catalogue."""

import datetime
import re
from collections.abc import Mapping
from pathlib import Path

from calc.catalog import catalog
from calc.catalog.checking.device_rules import ACCELERATOR_FACTS
from calc.catalog.entries import DATA
from calc.maintenance.models import id_of
from calc.maintenance.toml_text import append, key_text, line_text

AMOUNT = re.compile(r"([0-9.]+) *([A-Za-z/]+)")


def fact_of(name: str, text: str) -> dict[str, object]:
    """Return a fact as the catalogue has it; raises ValueError for an amount without its unit.

    >>> fact_of("memory", "24 GiB")
    {'value': 24, 'unit': 'GiB', 'basis': 'advertised'}
    """
    dimension, bases, _, _ = ACCELERATOR_FACTS[name]
    if dimension == "text":
        return {"value": text}
    found = AMOUNT.fullmatch(text)
    if found is None:
        raise ValueError(f"{name} must be an amount with its unit, like 24 GiB, not {text!r}")
    value = float(found[1])
    return {"value": int(value) if value.is_integer() else value, "unit": found[2], "basis": bases[0]}


def entry_of(name: str, facts: Mapping[str, str]) -> dict[str, object]:
    """Return an entry: what the schema names as facts with their basis, and all else as it is."""
    entry: dict[str, object] = {
        "name": name,
        **{k: v for k, v in facts.items() if k not in ACCELERATOR_FACTS},
        "aliases": [alias.strip() for alias in facts.get("aliases", "").split(",") if alias.strip()],
        "checked": datetime.date.today(),
    }
    return entry | {key: fact_of(key, facts[key]) for key in ACCELERATOR_FACTS if key in facts}


def file_for(facts: Mapping[str, str], folder: Path = DATA) -> Path:
    """Return the file with most devices of this architecture, or a new one of the vendor and the architecture."""
    line = re.compile(rf'^architecture = "{re.escape(facts["architecture"])}"$', re.MULTILINE)
    files = sorted((folder / "accelerators").glob("*.toml"))
    most = max(files, key=lambda path: len(line.findall(path.read_text(encoding="utf-8"))), default=None)
    if most is not None and line.search(most.read_text(encoding="utf-8")):
        return most
    return folder / "accelerators" / f"{id_of(facts['vendor'])}-{id_of(facts['architecture'].replace(' ', '-'))}.toml"


def add(name: str, facts: Mapping[str, str], folder: Path = DATA) -> str:
    """Write the entry of a device into its architecture's file; return what was done.

    Raises ValueError where the catalogue has the device or a word is missing, and CatalogError for what is not sound.
    """
    if found := catalog().lookup("accelerators", name):
        raise ValueError(f"{name} is in the catalogue, as {found}")
    needed = ("vendor", "segment", "architecture", "released", "availability", "source", "memory", "bandwidth")
    if missing := [key for key in needed if key not in facts]:
        raise ValueError(f"{name} needs {', '.join(missing)}, each as KEY=VALUE")
    entry_id, target = id_of(name.replace(" ", "-")), file_for(facts, folder)
    lines = (line_text(key, value) for key, value in entry_of(name, facts).items())
    append(target, f"[{key_text(entry_id)}]\n{''.join(lines)}", folder)
    return f"{entry_id} stands in {target.name} now"
