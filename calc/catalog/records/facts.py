"""Facts: one value each with unit, basis, source and day; and the documents that they were taken from."""

from typing import NamedTuple

from calc.units import from_base, show_number


class Source(NamedTuple):
    """A document that facts were taken from."""

    id: str
    title: str
    publisher: str
    kind: str
    url: str
    note: str
    checked: str
    dated: str = ""  # year, month or day of its publication, where that is known


class Fact(NamedTuple):
    """One value with where it is from. A quantity is in its base unit; `unit` is the one it is printed in."""

    value: float | str
    unit: str
    basis: str
    source: str
    checked: str
    note: str
    sparse: float = 0  # the maker's rate with structured sparsity, where it prints one

    def show(self) -> str:
        """Return the value as a reader expects it, in the unit of its source."""
        if isinstance(self.value, str):
            return self.value
        value = from_base(self.value, self.unit)
        text = f"{value:,.0f}" if value == int(value) else show_number(value, 4).rstrip("0").rstrip(".")
        return f"{text} {self.unit}"

    def times(self, other: "Fact") -> float:
        """Return how many times as much it says as another fact, or that many of its unit for each of the other's."""
        return float(self.value) / float(other.value)


class Disagreement(NamedTuple):
    """A second source that says something else, and why it was not followed."""

    field: str
    value: float | str
    unit: str
    source: str
    note: str


class Mismatch(NamedTuple):
    """Two published facts of one device that do not agree with each other, and why."""

    check: str  # one of CROSS_CHECKS
    field: str
    reason: str


class Coefficient(NamedTuple):
    """Something measured that no formula gives: a size in bytes, or a ratio with the range of its measurements."""

    id: str
    name: str
    value: float
    unit: str
    low: float
    high: float
    summary: str
    rows: str  # the measurements it comes from
    source: str
    checked: str
