"""Collecting what is wrong with a catalogue: fields, choices, sources and quantities of any entry."""

import datetime
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps

from calc.catalog.entries import Entry, Tables
from calc.errors import listed, nearest
from calc.units import UNITS, to_base

# Fields of each kind of entry with the type they must have; a `?` marks those that may be left out.
Rules = Mapping[str, tuple[type, ...]]
# Every fact an accelerator may have: dimension ("text" for words), bases allowed, plausible range in base units.
FactRule = tuple[str, tuple[str, ...], float, float]
FIRST_DAY = "2015-01-01"  # on which anything of it was looked up
FIRST_YEAR = 2000  # in which anything of it was published
TIMES = ("checked", "released", "dated")
LISTS_OF_TEXTS = (
    "aliases",
    "repositories",
    "finetunes",
    "suffixes",
    "usual_on",
    "formats",
    "drafters",
    "names",
    "where",
    "kinds",
    "accelerators",
)
MAY_BE_EMPTY = ("unit", "measured")
ADDRESS = re.compile(r"https://[\w-]+(\.[\w-]+)+(/\S*)?")


class Check:
    """Collects the problems of a whole catalogue, so that one run names them all."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def problem(self, where: str, message: str) -> None:
        """Note a mistake at `where` (file, entry and field)."""
        self.problems.append(f"{where}: {message}")

    def fields(self, where: str, entry: Entry, rules: Rules) -> bool:
        """Check an entry's fields against `rules`; return whether they can be read further."""
        sound = True
        names = {rule.removesuffix("?"): rule for rule in rules}
        for name, value in entry.items():
            if name not in names:
                self.problem(f"{where}.{name}", f"is not a field here{nearest(name, names)}")
                sound = False
            elif not isinstance(value, rules[names[name]]) or (
                isinstance(value, bool) and bool not in rules[names[name]]
            ):
                wanted = " or ".join(kind.__name__ for kind in rules[names[name]])
                self.problem(f"{where}.{name}", f"must be {wanted}, not {type(value).__name__} ({value!r:.60})")
                sound = False
            elif isinstance(value, float) and not math.isfinite(value):
                self.problem(f"{where}.{name}", f"must be a finite number, not {value}")
                sound = False
            elif (
                isinstance(value, list)
                and name in LISTS_OF_TEXTS
                and not all(item and type(item) is str for item in value)
            ):
                self.problem(f"{where}.{name}", "must be a list of texts")
                sound = False
            elif name in TIMES:
                self.time(f"{where}.{name}", name, str(value))
        for rule in rules:
            if not rule.endswith("?") and rule not in entry:
                self.problem(f"{where}.{rule}", "is missing")
                sound = False
        return sound

    def time(self, where: str, name: str, value: str) -> None:
        """Check when something came out, was published or was looked up."""
        if name == "checked":
            self.date(where, value)
        elif name == "released" and not is_time(value, days=False):
            self.problem(where, f"must be a year or a month like 2026-11, not {value!r:.60}")
        elif name == "dated" and not is_time(value):
            self.problem(where, f"must be a year, a month or a day like 2026-11-21, not {value!r:.60}")

    def date(self, where: str, value: str) -> None:
        """Check a day on which something was looked up; tomorrow is today elsewhere on earth."""
        if value.count("-") != 2 or not is_time(value, last=datetime.MAXYEAR):
            self.problem(where, f"must be a date like 2026-11-21, not {value!r:.60}")
        elif value < FIRST_DAY:
            self.problem(where, f"must not be before {FIRST_DAY}, as {value} is")
        elif value > (datetime.date.today() + datetime.timedelta(days=1)).isoformat():
            self.problem(where, f"must be a day that has been, not {value}")

    def texts(self, where: str, value: object, name: str = "") -> None:
        """Check that no text within a value is empty; a unit may be, and so may the measurements of an era."""
        if isinstance(value, dict):
            for key, item in value.items():
                self.texts(f"{where}.{key}", item, key)
        elif isinstance(value, list):
            for item in value:
                self.texts(where, item, name)
        elif isinstance(value, str) and not value.strip() and name not in MAY_BE_EMPTY:
            self.problem(where, "is empty: leave the field out, or say it")

    def choice(self, where: str, value: object, allowed: Iterable[str]) -> None:
        """Check that a text is one of those allowed."""
        if value not in (choices := list(allowed)):
            hint = nearest(str(value), choices)
            self.problem(where, f"{value!r:.60} is not known{hint}; known are {listed(choices)}")

    def number(self, where: str, value: object, least: float, most: float) -> None:
        """Check that a number lies in its possible range."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            self.problem(where, f"must be a number from {least:,g} to {most:,g}, not {value!r:.60}")


def is_time(value: str, *, days: bool = True, last: int | None = None) -> bool:
    """Return whether a text is a year, a month or a day that there is, from `FIRST_YEAR` to the last or next year."""
    if not re.fullmatch(r"\d{4}(-\d\d){0,2}" if days else r"\d{4}(-\d\d)?", value):
        return False
    try:
        day = datetime.date.fromisoformat((value + "-01-01")[:10])
    except ValueError:
        return False
    return FIRST_YEAR <= day.year <= (last or datetime.date.today().year + 1)


def check_reference(check: Check, where: str, source: object, tables: Tables) -> None:
    """Check that a source is the id of an entry under sources/ or an address."""
    if not isinstance(source, str) or not (source in tables["sources"] or ADDRESS.fullmatch(source)):
        hint = nearest(str(source), tables["sources"])
        check.problem(where, f"{source!r} is neither an entry under sources/ nor an https:// address{hint}")


CheckEntry = Callable[[Check, str, Entry, Tables], None]  # where an entry stands, and all tables


def with_fields(rules: Rules) -> Callable[[CheckEntry], CheckEntry]:
    """Let a check begin with an entry's fields, and with its source where it has one; what is not sound ends there."""

    def begun(rest: CheckEntry) -> CheckEntry:
        @wraps(rest)
        def check_entry(check: Check, where: str, entry: Entry, tables: Tables) -> None:
            if check.fields(where, entry, rules):
                if "source" in entry:
                    check_reference(check, f"{where}.source", entry["source"], tables)
                rest(check, where, entry, tables)

        return check_entry

    return begun


def check_quantity(check: Check, where: str, fact: Entry, dimension: str, possible: tuple[float, float]) -> bool:
    """Check a quantity's unit and range and convert it to its base unit; return whether it could be converted."""
    value, unit = fact["value"], fact.get("unit", "")
    if isinstance(value, str) or not isinstance(value, int | float):
        check.problem(f"{where}.value", f"must be a number, not {value!r:.60}")
        return False
    if unit not in UNITS:
        hint = nearest(str(unit), UNITS)
        check.problem(f"{where}.unit", f"{unit!r:.60} is not a unit{hint}; known are {listed(UNITS)}")
        return False
    field = where.rsplit(".", 1)[-1]
    if UNITS[str(unit)][0] != dimension:
        check.problem(f"{where}.unit", f"{unit!r} measures {UNITS[str(unit)][0]}, and {field} is in {dimension}")
        return False
    base = to_base(value, str(unit))
    if not possible[0] <= base <= possible[1]:
        check.problem(f"{where}.value", f"{value:g} {unit} is not possible for {field}")
    fact["value"] = base
    return True
