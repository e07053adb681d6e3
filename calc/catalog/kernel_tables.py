"""Checking the laws of kernels and the families of devices that they are for."""

from calc.catalog.check import Check, Entry, Tables, check_reference
from calc.catalog.schema import (
    KERNEL_BOUNDS,
    KERNEL_FAMILY_RULES,
    KERNEL_LAW_RULES,
    KERNEL_RATES,
    KERNEL_VALUES,
)


def check_family(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one family of devices: those measured are known, and the families it is like come to an end."""
    if not check.fields(where, entry, KERNEL_FAMILY_RULES):
        return
    check_reference(check, f"{where}.source", entry["source"], tables)
    measured = entry["measured"]
    assert isinstance(measured, list)
    for device in measured:
        check.choice(f"{where}.measured", device, tables["accelerators"])
    for field in ("matrix_factor", "memory_factor"):
        factor = entry.get(field, 1)
        if not isinstance(factor, int | float) or not 0.1 <= factor <= 3:
            check.problem(f"{where}.{field}", f"must be from 0.1 to 3, not {factor}")
    families, passed = tables["kernel_families"], [entry]
    while like := str(passed[-1].get("like", "")):
        if like not in families:
            check.choice(f"{where}.like", like, families)
            return
        if families[like] in passed:
            check.problem(f"{where}.like", f"{like!r} leads back to where it came from")
            return
        passed.append(families[like])


def check_law(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one law: it has the numbers of its kind and no others, each within its bounds."""
    if not check.fields(where, entry, KERNEL_LAW_RULES):
        return
    check_reference(check, f"{where}.source", entry["source"], tables)
    check.choice(f"{where}.family", entry["family"], tables["kernel_families"])
    check.choice(f"{where}.kind", entry["kind"], KERNEL_VALUES)
    check.choice(f"{where}.rate", entry["rate"], KERNEL_RATES)
    engines, values = entry.get("engines", []), entry["values"]
    assert isinstance(engines, list) and isinstance(values, dict)
    for engine in engines:
        check.choice(f"{where}.engines", engine, tables["engines"])
    if "rows" in entry:
        check.number(f"{where}.rows", entry["rows"], 1, 10**5)
    if "error" in entry:
        check.number(f"{where}.error", entry["error"], 0.0001, 1)
    if not entry.get("rows") and not entry.get("reason"):
        check.problem(f"{where}.reason", "is missing: a law that was not fitted says why its numbers are taken")
    rules = KERNEL_VALUES.get(str(entry["kind"]), ())
    for name in values:
        if name not in {rule.removesuffix("?") for rule in rules}:
            check.problem(f"{where}.values.{name}", f"is no number of a law of kind {entry['kind']!r}")
    for name in rules:
        check_value(check, f"{where}.values", name, values)


def check_value(check: Check, where: str, rule: str, values: Entry) -> None:
    """Check that a number is there, where it must be, and within its bounds."""
    name = rule.removesuffix("?")
    dimension, low, high = KERNEL_BOUNDS[name]
    value = values.get(name)
    if value is None:
        if not rule.endswith("?"):
            check.problem(f"{where}.{name}", f"is missing ({dimension})")
    elif not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        check.problem(f"{where}.{name}", f"must be from {low:g} to {high:g} ({dimension}), not {value!r}")
