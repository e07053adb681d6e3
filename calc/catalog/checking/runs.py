"""Checking published training."""

from calc.catalog.checking.check import Check, Rules, with_fields
from calc.catalog.entries import Entry, Tables

# What each form of a law needs; calc.performance.scaling_laws has the formulas.
FORMS: dict[str, frozenset[str]] = {
    "sum": frozenset({"e", "a", "b", "alpha", "beta"}),
    "joint": frozenset({"n_c", "d_c", "alpha_n", "alpha_d", "optimal_n", "optimal_at", "optimal_power"}),
    "frontier": frozenset({"optimal_n", "optimal_at", "optimal_power"}),
}
CONSTANTS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("alpha", "beta", "alpha_n", "alpha_d", "optimal_power"), (0.01, 1)),
    "e": (0.1, 10),
    **dict.fromkeys(("a", "b"), (1, 1e5)),
    **dict.fromkeys(("n_c", "d_c"), (1e9, 1e16)),
    "optimal_n": (1e6, 1e13),
    "optimal_at": (1e15, 1e27),
}
LAW_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "form": (str,),
    "counted": (str,),
    "corpus": (str,),
    "constants": (dict,),
    "note": (str,),
    "source": (str,),
    "checked": (str,),
}
RUN_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "year": (int,),
    "parameters": (int, float),
    "active_parameters?": (int, float),
    "tokens?": (int, float),
    "accelerator?": (str,),
    "devices?": (int,),
    "days?": (int, float),
    "device_hours?": (int, float),
    "flops?": (int, float),
    "note?": (str,),
    "source": (str,),
    "checked": (str,),
}
POSSIBLE = {
    "year": (1950, 2100),
    "parameters": (1e6, 1e14),
    "active_parameters": (1e6, 1e14),
    "tokens": (1e8, 1e15),
    "devices": (1, 1e6),
    "days": (0.1, 1000),
    "device_hours": (1, 1e9),
    "flops": (1e18, 1e28),
}


@with_fields(LAW_RULES)
def check_law(check: Check, where: str, entry: Entry, _: Tables) -> None:
    """Check one scaling law: its form is known and has the constants that it needs, no more."""
    check.choice(f"{where}.form", entry["form"], FORMS)
    constants = entry["constants"]
    assert isinstance(constants, dict)
    needed = FORMS.get(str(entry["form"]), frozenset(constants))
    if set(constants) != needed:
        check.problem(f"{where}.constants", f"a law of this form has {', '.join(sorted(needed))}")
    for name, value in constants.items():
        if name in CONSTANTS:
            check.number(f"{where}.constants.{name}", value, *CONSTANTS[name])


@with_fields(RUN_RULES)
def check_run(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one training run: its figures are possible, and its device is in the catalogue."""
    if entry.get("accelerator"):
        check.choice(f"{where}.accelerator", entry["accelerator"], tables["accelerators"])
    for name, (least, most) in POSSIBLE.items():
        value = entry.get(name)
        if isinstance(value, int | float) and not least <= value <= most:
            check.problem(f"{where}.{name}", f"{value:g} is not possible: it lies between {least:g} and {most:g}")
