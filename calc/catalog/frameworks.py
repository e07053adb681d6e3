"""Frameworks of training: what each does where a run does not say it, as entries of the catalogue."""

from typing import NamedTuple

from calc.catalog.check import Check, Entry, Tables, check_reference
from calc.catalog.schema import Rules

FRAMEWORK_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "follows?": (str,),
    "versions": (str,),
    "summary": (str,),
    "presets": (list,),
    "source": (str,),
    "checked": (str,),
}
# A field of training, its value, and the fields with the values that it holds for.
PRESET_RULES: Rules = {
    "field": (str,),
    "value": (bool, int, float, str, list),
    "when?": (dict,),
    "reason": (str,),
    "source?": (str,),
}


class Preset(NamedTuple):
    """What a framework does where a scenario does not say it."""

    field: str
    value: object
    when: dict[str, list[object]]  # empty: always
    reason: str
    source: str


class Framework(NamedTuple):
    """A framework of training, with what it does that its users seldom know."""

    id: str
    name: str
    aliases: tuple[str, ...]
    follows: str | None  # the framework that it is built on, which does what its own presets do not say
    versions: str
    summary: str
    presets: tuple[Preset, ...]
    source: str
    checked: str


def check_framework(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one framework; that its presets are fields of a scenario is checked where those are known."""
    if not check.fields(where, entry, FRAMEWORK_RULES):
        return
    check_reference(check, f"{where}.source", entry["source"], tables)
    if entry.get("follows", where) not in (where, *tables["frameworks"]):
        check.problem(f"{where}.follows", f"{entry['follows']} is not a framework")
    presets = entry["presets"]
    assert isinstance(presets, list)
    for number, preset in enumerate(presets, 1):
        place = f"{where}.presets.{number}"
        if not isinstance(preset, dict):
            check.problem(place, "must be a table with field, value and reason")
        elif check.fields(place, preset, PRESET_RULES):
            check_reference(check, f"{place}.source", preset.setdefault("source", entry["source"]), tables)
            value = preset["value"]
            if isinstance(value, int | float) and not 0 <= value <= 1:
                check.problem(f"{place}.value", f"must be true, false, a word or a share from 0 to 1, not {value}")
            for name, allowed in preset.get("when", {}).items():
                if not isinstance(allowed, list) or not allowed:
                    check.problem(f"{place}.when.{name}", "must be a list of the values that it holds for")


def make_framework(entry_id: str, entry: Entry) -> Framework:
    """Return a framework's record with its presets."""
    presets = tuple(Preset(**{"when": {}, **preset}) for preset in entry["presets"])  # type: ignore[attr-defined]
    aliases: tuple[str, ...] = tuple(entry["aliases"])  # type: ignore[arg-type]
    return Framework(**{"follows": None, **entry, "id": entry_id, "aliases": aliases, "presets": presets})  # type: ignore[arg-type]
