"""The long lists of the forms: models and accelerators with what a reader tells them apart by, in one file each.

Every form that asks for a model reads the same file when its list is first opened.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from calc.architecture.parameters import parameters_total
from calc.catalog import catalog
from calc.catalog.records import Accelerator, Model
from calc.scenario.model import known_architecture
from calc.units import show_large_count

FOLDER = "assets/lists"
# Value, label, note beside it, further names to find it by, parted by bars, and when a model came out: of several that
# are sought by a part of their name the newest is meant.
Entry = tuple[str, str, str, str, str]


def model_entry(model: Model) -> Entry:
    """Return a model with its size, and the names under which it is looked for."""
    note = f"{show_large_count(parameters_total(known_architecture(catalog(), model.id)))} parameters"
    names = "|".join((model.id, model.organization, *model.repositories, *model.aliases))
    return model.id, model.name, note, names, model.released


def accelerator_entry(device: Accelerator) -> Entry:
    """Return an accelerator with its memory and bandwidth, and the names under which it is looked for."""
    note = f"{device.facts['memory'].show()}, {device.facts['bandwidth'].show()}"
    return device.id, device.name, note, "|".join((device.id, device.vendor, *device.aliases)), ""


def grouped(entries: Iterable[tuple[str, Entry]]) -> list[tuple[str, list[Entry]]]:
    """Return entries by group, groups by name."""
    groups: dict[str, list[Entry]] = {}
    for group, entry in entries:
        groups.setdefault(group, []).append(entry)
    return sorted(groups.items(), key=lambda item: item[0].casefold())


def lists() -> dict[str, list[tuple[str, list[Entry]]]]:
    """Return the lists by their kind, what is newest of each maker first."""
    models = sorted(catalog().models(), key=lambda model: model.released, reverse=True)
    devices = sorted(catalog().accelerators(), key=lambda device: device.released, reverse=True)
    return {
        "models": grouped((model.organization, model_entry(model)) for model in models),
        "accelerators": grouped((device.vendor, accelerator_entry(device)) for device in devices),
    }


def write_lists(site: Path) -> None:
    """Write each list into the built site."""
    folder = site / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for kind, content in lists().items():
        (folder / f"{kind}.json").write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), "utf-8")
