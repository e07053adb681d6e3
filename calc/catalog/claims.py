"""Claims that people pass on, and terms of the field: what their entries must look like, and their records."""

import re
from typing import NamedTuple

from calc.catalog.entries import Entry
from calc.units import UNITS

VERDICTS = ("wrong", "outdated", "correct with conditions", "correct", "not verifiable")
REFUTED = ("wrong", "outdated")  # a check of such a claim must contradict it
TOPICS = (
    "The purchase of one card",
    "Memory of inference",
    "Memory of training",
    "Number formats",
    "Ways to need less memory",
    "Hardware",
    "Two cards and their links",
    "Models and their uses",
    "Serving and planning",
    "Scaling laws",
    "Large training runs",
    "Machines sold for models",
    "Tables of other guides",
)
# Units in which claims are made, with their size in the unit that `calc` computes in.
CLAIM_UNITS: dict[str, float] = {symbol: size for symbol, (_, size) in UNITS.items()}
CLAIM_UNITS |= {"": 1, "%": 0.01, "s": 1, "times": 1, "tokens": 1, "billion": 1e9, "million": 1e6, "bytes": 1}
PLACEHOLDER = re.compile(r"\{(\w+)(?::([^}]*))?\}")
TERM_GROUPS = (
    "Memory",
    "Number formats",
    "Models",
    "Attention",
    "Training",
    "Parallelism",
    "Serving",
    "Hardware",
    "Links",
    "Cost",
)


def in_base(number: float, unit: str) -> float:
    """Return a number of a claim in the unit that `calc` computes in.

    >>> in_base(2, "GiB"), in_base(7, "billion")
    (2147483648, 7000000000.0)
    """
    return number * CLAIM_UNITS[unit]


def in_unit(number: float, unit: str) -> float:
    """Return a computed number in a unit of claims.

    >>> in_unit(2**31, "GiB"), in_unit(0.25, "%")
    (2.0, 25.0)
    """
    return number / CLAIM_UNITS[unit]


class ClaimCheck(NamedTuple):
    """What is computed to check a claim, and how it is compared with what the claim says."""

    what: str
    values: dict[str, Entry]
    formula: str
    claimed: float  # in `unit`
    unit: str
    relation: str
    tolerance: float  # share of the claimed value by which "is" may be off

    def holds(self, number: float) -> bool:
        """Return whether a computed number, in its base unit, is what the claim says, by its relation."""
        claimed = in_base(self.claimed, self.unit)
        relations = {
            "is": abs(number - claimed) <= self.tolerance * abs(claimed),
            "at least": number >= claimed,
            "at most": number <= claimed,
            "more than": number > claimed,
            "less than": number < claimed,
        }
        return relations[self.relation]


class Claim(NamedTuple):
    """Something that people say about models and hardware, and whether it is so."""

    id: str
    topic: str
    claim: str
    verdict: str
    right: str  # with the names of values of its checks in braces, and the unit to show each in
    sources: tuple[str, ...]
    checked: str
    checks: tuple[ClaimCheck, ...]
    note: str
    values: dict[str, Entry]  # what `right` shows besides

    @property
    def refuted(self) -> bool:
        """Whether the claim is wrong, or no longer right."""
        return self.verdict in REFUTED


class Term(NamedTuple):
    """A word of the field: what it means, and where the guide explains it."""

    id: str
    name: str
    aliases: tuple[str, ...]
    group: str
    definition: str
    page: str
    source: str
    checked: str
    quiet: bool  # an everyday word here: explained, and not linked at first use


def make_claim(entry_id: str, entry: Entry) -> Claim:
    """Return a claim's record from its checked table."""
    listed: list[Entry] = entry.get("checks", [])  # type: ignore[assignment]
    values = {"note": "", "values": {}, **entry, "id": entry_id, "sources": tuple(entry["sources"])}  # type: ignore[arg-type]
    values["checks"] = tuple(make_check(item) for item in listed)
    return Claim(**values)  # type: ignore[arg-type]


def make_check(item: Entry) -> ClaimCheck:
    """Return the record of one check of a claim; it compares by "is", within a fiftieth, unless it says otherwise."""
    values: dict[str, Entry] = item["values"]  # type: ignore[assignment]
    defaults: Entry = {"formula": next(iter(values)), "unit": "", "relation": "is", "tolerance": 0.02}
    return ClaimCheck(**{**defaults, **item})  # type: ignore[arg-type]


def make_term(entry_id: str, entry: Entry) -> Term:
    """Return a term's record from its checked table."""
    values = {"page": "", "source": "", "quiet": False, **entry, "id": entry_id, "aliases": tuple(entry["aliases"])}  # type: ignore[arg-type]
    return Term(**values)  # type: ignore[arg-type]
