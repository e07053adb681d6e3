"""How the match of a pattern is read: as tokens, people, money, seconds, a count or a word."""

import re
from collections.abc import Callable

from calc.lines.parts import LARGE, OF_PEOPLE
from calc.units import read_count

Rule = tuple[str, str, Callable[[re.Match[str]], object]]  # a field, a pattern, and what reads its match
MOST_BITS = 32  # of a weight
SECONDS_OF = {"s": 1, "m": 60, "h": 3600, "st": 3600} | dict.fromkeys("dtjg", 86400)  # by how their names begin


def tokens(match: re.Match[str]) -> object:
    """Return a count of tokens of a context, of which a k is 1,024."""
    return counted(match, binary=True)


def plainly(match: re.Match[str]) -> object:
    """Return a count of people or money, of which a k is a thousand."""
    return counted(match, binary=False)


def counted(match: re.Match[str], *, binary: bool) -> object:
    """Return the count that a match's first groups are, None for none."""
    number, *rest = [group for group in match.groups() if group]
    unit = rest[0] if rest else ""
    return read_count(number + LARGE.get(unit, unit)[:1], binary=binary)


def amount(match: re.Match[str]) -> object:
    """Return a number, maybe of thousands."""
    number, *rest = [group for group in match.groups() if group]
    return float(number.replace(",", "")) * (1000 if rest and rest[0] in ("k", "grand") else 1)


def each_second(match: re.Match[str]) -> object:
    """Return how many come in a second, of a number of them in a second, a minute, an hour or a day."""
    several = {"k": 1000, "m": 1e6}.get(LARGE.get(match[2], match[2]), 1)
    return float(match[1].replace(",", "")) * several / SECONDS_OF[match[3]]


def seconds(match: re.Match[str]) -> object:
    """Return the seconds of a time that is given in them or in thousandths: 50ms, 2 sec."""
    return float(match[1].replace(",", "")) * (0.001 if match[2].startswith("m") else 1)


def percent(match: re.Match[str]) -> object:
    """Return a share that is given in hundredths; None for more than all."""
    share = float(match[1].replace(",", "")) / 100
    return share if share <= 1 else None


def bits_each(match: re.Match[str]) -> object:
    """Return the bits of a weight, which need not be whole; None for more than any number has."""
    found = float(match[1])
    return found if 0 < found <= MOST_BITS else None


def in_days(match: re.Match[str]) -> object:
    """Return the days of a time in which something has to be done: in 30 days, within a week."""
    number = float(match[1].replace(",", "")) if match[1] else OF_PEOPLE.get(match[2], 1)
    return number * {"hour": 1 / 24, "day": 1, "week": 7, "month": 30}[match[3]]


def spelt(match: re.Match[str]) -> object:
    """Return a count that is written as a word."""
    return OF_PEOPLE[match[1]]


def written(match: re.Match[str]) -> object:
    """Return a count as it is written, which is of a context or of a data set: 1m, 15t."""
    return match[1] + LARGE.get(match[2], match[2])[0]


def said(value: object) -> Callable[[re.Match[str]], object]:
    """Return a reader for which a pattern always means one value."""
    return lambda _: value


def named(match: re.Match[str]) -> object:
    """Return what a match's last group says."""
    return next(group for group in reversed(match.groups()) if group)
