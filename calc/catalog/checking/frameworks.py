"""Checking frameworks of training."""

from itertools import pairwise

from calc.catalog.checking.check import Check, Rules, check_reference, with_fields
from calc.catalog.entries import Entry, Tables
from calc.catalog.records.engines import version_numbers
from calc.errors import listed

FRAMEWORK_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "follows?": (str,),
    "megatron_core?": (bool,),
    "adapters_summed?": (bool,),
    "packed_apart?": (bool,),
    "carries?": (dict,),
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
    "since?": (str,),
    "before?": (str,),
    "reason": (str,),
    "source?": (str,),
}


@with_fields(FRAMEWORK_RULES)
def check_framework(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one framework; that its presets are fields of a scenario is checked where those are known."""
    if entry.get("follows", where) not in (where, *tables["frameworks"]):
        check.problem(f"{where}.follows", f"{entry['follows']} is not a framework")
    check_carried(check, where, entry)
    presets = entry["presets"]
    assert isinstance(presets, list)
    for number, preset in enumerate(presets, 1):
        place = f"{where}.presets.{number}"
        if not isinstance(preset, dict):
            check.problem(place, "must be a table with field, value and reason")
        elif check.fields(place, preset, PRESET_RULES):
            check_reference(check, f"{place}.source", preset.setdefault("source", entry["source"]), tables)
            check_versions(check, place, [preset[name] for name in ("since", "before") if name in preset])
            value = preset["value"]
            if preset["field"] == "lora.dropout":
                check.number(f"{place}.value", value, 0, 1)
            elif type(value) in (int, float):
                check.problem(f"{place}.value", f"must be true, false, a word or words, not {value}")
            for name, allowed in preset.get("when", {}).items():
                if not isinstance(allowed, list) or not allowed:
                    check.problem(f"{place}.when.{name}", "must be a list of the values that it holds for")


def check_carried(check: Check, where: str, entry: Entry) -> None:
    """Check which versions of the framework that another is built on came with its own: both go up."""
    carries = entry.get("carries", {})
    assert isinstance(carries, dict)
    if carries and "follows" not in entry:
        check.problem(f"{where}.carries", "needs follows, the framework that it is built on")
    check_versions(check, f"{where}.carries", list(carries))
    check_versions(check, f"{where}.carries", list(carries.values()))


def check_versions(check: Check, where: str, versions: list[object]) -> None:
    """Check that all are versions with numbers, each above the one before it."""
    numbers = [version_numbers(str(version)) for version in versions]
    if not all(numbers) or any(later <= earlier for earlier, later in pairwise(numbers)):
        check.problem(where, f"must be versions, each above the one before it, not {listed(map(str, versions))}")
