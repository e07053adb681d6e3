"""What of a line is a quantity, a method, or a word that says what is asked: patterns of words, and no names.

Each pattern has a name in `FOUND`, in the order in which they are looked for: what is claimed first is not read twice.
"""

import re
from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

from calc.catalog import Catalog
from calc.lines.line import Line
from calc.lines.loads import LOADS
from calc.lines.parts import NUMBER
from calc.lines.prices import PRICES, exchanged
from calc.lines.runs import RUNS
from calc.lines.speeds import SPEEDS


class Quantity(NamedTuple):
    """A part of a line that a pattern has read."""

    start: int
    end: int
    field: str
    value: object


# In ASCII a word ends where Chinese begins.
FOUND = tuple(
    (field, re.compile(pattern, re.ASCII), read) for field, pattern, read in (*PRICES, *SPEEDS, *LOADS, *RUNS)
)
OF_PEOPLE = ("sequences", "part_active", "together")  # all of them, or at a time
# Of a card that is not named; a computer's own memory is no card's.
MEMORY = re.compile(
    r"(?:(?<!\bram )(?<!\bram: )|(?=[\d.,]+\s?g(?:i?b)?\s*vram\b))(?:\b|(?<=\d[x*]))"
    rf"{NUMBER}\s?g(?:i?b)?\b(?!\s*(?:of\s+)?(?:system |main |cpu |ddr\d )?ram\b)"
    r"(?:\s*(?:of\s+)?(?:vram|unified memory|memory|gpus?|cards?)\b)*",
    re.ASCII,
)
OF_ALL = re.compile(
    rf"\b{NUMBER}(?:\s?g(?:i?b)?\b(?:\s*(?:of\s+)?(?:unified |system )?(?:memory|ram)\b)?|(?<=studio \d\d\d)\b)"
)  # of a Mac


def at_a_time(amounts: list[Quantity]) -> list[Quantity]:
    """Return amounts with the people who are there at a time, where a line says how many of all, or which part of them.

    800 employees, 5% active; 600 pupils, 60 at a time.
    """
    said = {amount.field: amount for amount in reversed(amounts)}
    people, part, several = (said.get(field) for field in OF_PEOPLE)
    if people and part:
        assert isinstance(part.value, float) and isinstance(people.value, int)
        several = people._replace(value=max(ceil(people.value * part.value), 1))
    if several is None:
        return amounts
    return [several._replace(field="sequences"), *(amount for amount in amounts if amount.field not in OF_PEOPLE)]


def quantities(line: Line, facts: Catalog) -> Iterator[Quantity]:
    """Iterate over what a line says without names, and claim it; what is paid is in dollars."""
    for field, pattern, read in FOUND:
        for match in line.found(pattern):
            value = read(match)
            rate = exchanged(match[0], facts) if isinstance(value, float) and field.startswith("price") else None
            value = round(value * rate.price, 2) if rate and isinstance(value, float) else value
            if value is not None:
                line.claim(*match.span())
                yield Quantity(*match.span(), field=field, value=value)
