"""Taking the fields of a question one by one: what is wrong with one is said by its name."""

from collections.abc import Mapping, Sequence
from math import isfinite

from calc.errors import ScenarioError
from calc.scenario.reader import read_object

MOST_AMOUNT = 1e12


def table(given: Mapping[str, object], field: str, allowed: Sequence[str]) -> dict[str, object]:
    """Return a field that has fields of its own, without those that say nothing."""
    return {name: item for name, item in read_object(given.get(field, {}), field, allowed).items() if item is not None}


def listed(value: object) -> tuple[object, ...]:
    """Return a list's items, or one thing alone."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def some(value: object, field: str) -> tuple[object, ...]:
    """Return the same of a field that must name one at least."""
    if not (items := listed(value)):
        raise ScenarioError(field, "must name one at least")
    return items


def amount(given: Mapping[str, object], within: str, name: str, most: float = MOST_AMOUNT) -> float | None:
    """Return a number above 0, None where it is left out."""
    value = given.get(name)
    if value is None:
        return None
    good = not isinstance(value, bool) and isinstance(value, int | float) and isfinite(value)
    if not good or not isinstance(value, int | float) or not 0 < value <= most:
        raise ScenarioError(f"{within}.{name}", f"must be a number above 0 and at most {most:,g}, not {value!r:.60}")
    return float(value)
