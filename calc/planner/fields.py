"""Taking the fields of a question one by one: what is wrong with one is said by its name."""

from collections.abc import Mapping, Sequence
from math import isfinite

from calc.errors import ScenarioError, nearest

MOST_AMOUNT = 1e12


def check_names(given: Mapping[str, object], within: str, allowed: Sequence[str]) -> None:
    """Raise ScenarioError for a field that there is not, or that is not answered."""
    for name in given:
        if name not in allowed:
            shown = f"{within}.{name}" if within else str(name)
            hint = nearest(str(name), allowed)
            raise ScenarioError(shown, f"is not a field of a question{hint}; fields are {', '.join(allowed)}")


def table(given: Mapping[str, object], field: str, allowed: Sequence[str]) -> dict[str, object]:
    """Return a field that has fields of its own."""
    value = given.get(field, {})
    if not isinstance(value, Mapping):
        raise ScenarioError(field, f"must be an object with {', '.join(allowed)}, not {value!r:.60}")
    found = {str(name): item for name, item in value.items() if item is not None}
    check_names(found, field, allowed)
    return found


def one_of(value: object, field: str, allowed: Sequence[str]) -> str:
    """Return a field as one of the words allowed."""
    if value not in allowed:
        hint = nearest(str(value), allowed)
        raise ScenarioError(field, f"must be one of {', '.join(allowed)}, not {value!r:.60}{hint}")
    return str(value)


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
