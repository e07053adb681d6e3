"""What the scores share: rows and their reasons, errors by group, and the tables that the command line prints."""

import csv
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import NamedTuple

from calc.catalog import catalog
from calc.catalog.entries import DATA
from calc.validation.processors import spread

MEASUREMENTS = DATA / "measurements"
Row = Mapping[str, str]
ROWS_AT_ONCE = 16  # neighbours are of one source and model, and share what is remembered of these
NOT_KNOWN = "not known"  # the reason of a row that has none


class SkipError(Exception):
    """A row that no scenario is made of, with the reason."""


class Score(NamedTuple):
    """One row: what was measured and predicted, and the range that the prediction gave."""

    row: Row
    what: str
    measured: float
    predicted: float
    low: float
    high: float

    @property
    def source(self) -> str:
        """The key of the row's source."""
        return self.row.get("source_key") or self.row["source"]

    @property
    def error(self) -> float:
        """Signed relative error of the prediction: positive where too much was predicted."""
        return self.predicted / self.measured - 1

    def saved_since(self, before: "Score") -> tuple[float, float]:
        """Return how much less it is than a row before, as measured and as predicted.

        >>> before, after = (Score({}, "", measured=size, predicted=2 * size, low=0, high=0) for size in (9, 5))
        >>> after.saved_since(before)
        (4, 8)
        """
        return before.measured - self.measured, before.predicted - self.predicted

    @property
    def covered(self) -> bool | None:
        """Whether the measurement lies in the range, None where the report gives the figure without one."""
        return None if self.low == self.high else self.low <= self.measured <= self.high


Scores = tuple[list[Score], Counter[str]]


def read_rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a file of measurements."""
    with (MEASUREMENTS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rows_digest(name: str) -> str:
    """Return what tells one state of a file of measurements from another."""
    return hashlib.sha256((MEASUREMENTS / name).read_bytes()).hexdigest()[:16]


def reasons(name: str) -> dict[str, str]:
    """Return why rows differ, by the id of a row or the key of a source; `name` is as in "training_memory"."""
    return {row["id"]: row["reason"] for row in read_rows(f"{name}_residuals.csv")}


def reason_of(score: Score, why: Mapping[str, str]) -> str:
    """Return why a row differs: its own reason, else that of all rows of its source, else nothing."""
    return why.get(score.row["id"]) or why.get(score.source, "")


def score_rows(name: str, score_of: Callable[[Row], Score]) -> Scores:
    """Return all scores of a file of measurements, and the rows that were left out by reason."""
    catalog()  # read before processes are copied, so that each of them has it
    made = spread(partial(score_or_reason, score_of), read_rows(name), at_once=ROWS_AT_ONCE)
    found = [score for score in made if isinstance(score, Score)]
    return found, Counter(reason for reason in made if isinstance(reason, str))


def score_or_reason(score_of: Callable[[Row], Score], row: Row) -> Score | str:
    """Return a row's score, or the reason why it is left out."""
    try:
        return score_of(row)
    except SkipError as skip:
        return str(skip)


def quantile(values: Iterable[float], share: float) -> float:
    """Return a quantile of values by linear interpolation."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def by(scores: Iterable[Score], *keys: str) -> dict[str, list[Score]]:
    """Return scores in groups of their source, of what was measured, of a row's fields, or of several of these."""
    groups: dict[str, list[Score]] = {}
    for score in scores:
        name = " ".join(getattr(score, key) if key in ("source", "what") else score.row[key] for key in keys)
        groups.setdefault(name, []).append(score)
    return dict(sorted(groups.items()))


def median_size(errors: Iterable[float]) -> float:
    """Return the median size of errors given as logarithms of predicted over measured, as a relative error.

    >>> round(median_size([0.1, -0.2, 0.3]), 3)
    0.181
    """
    return median(abs(math.expm1(error)) for error in errors)


class Line(NamedTuple):
    """A line of a table: a group with its errors."""

    name: str
    rows: int
    middle: float
    p80: float
    bias: float
    covered: float | None


def median_factor(scores: Iterable[Score]) -> float:
    """Return the median of by how many times predictions are off, up or down: 2 for half and for twice the measured."""
    return median(math.exp(abs(math.log(score.predicted / score.measured))) for score in scores)


def within(scores: Sequence[Score], error: float) -> float:
    """Return the share of rows that are predicted at least as well as `error`."""
    return sum(abs(score.error) <= error for score in scores) / len(scores)


def line(name: str, scores: list[Score]) -> Line:
    """Return the errors of a group."""
    sizes = [abs(score.error) for score in scores]
    ranged = [score.covered for score in scores if score.covered is not None]
    return Line(
        name,
        len(scores),
        median(sizes),
        quantile(sizes, 0.8),
        bias=median(score.error for score in scores),
        covered=sum(ranged) / len(ranged) if ranged else None,
    )


def overall(groups: Mapping[str, list[Score]]) -> Line:
    """Return the mean over sources of each figure, so that long tables do not outweigh short ones."""
    lines = [line(name, scores) for name, scores in groups.items()]
    count = len(lines)
    covered = [item.covered for item in lines if item.covered is not None]
    return Line(
        "all sources, each once",
        sum(item.rows for item in lines),
        sum(item.middle for item in lines) / count,
        sum(item.p80 for item in lines) / count,
        bias=sum(item.bias for item in lines) / count,
        covered=sum(covered) / len(covered) if covered else None,
    )


def lines_by_source(scores: list[Score]) -> list[Line]:
    """Return the errors of each source, of all rows, and of all sources with each counting once."""
    groups = by(scores, "source")
    every = [line(name, group) for name, group in groups.items()]
    return [*every, line("all rows", scores), overall(groups)]


def lines_by_reason(scores: Iterable[Score], why: Mapping[str, str], *, above: float, count: int) -> list[Line]:
    """Return the errors of rows that are off by more than `above`, by reason: the `count` commonest, and the rest."""
    groups: dict[str, list[Score]] = {}
    for score in scores:
        if abs(score.error) > above:
            groups.setdefault(reason_of(score, why) or NOT_KNOWN, []).append(score)
    largest = sorted(groups.items(), key=lambda item: -len(item[1]))
    rest = [score for _, group in largest[count:] for score in group]
    every = [*largest[:count], *([("all others", rest)] if rest else [])]
    return [line(reason, group) for reason, group in every]


def table(title: str, lines: Iterable[Line]) -> str:
    """Return a table as text."""
    head = f"{title:<44} {'rows':>5} {'median':>8} {'p80':>8} {'bias':>8} {'in range':>9}"
    body = [
        f"{item.name:<44} {item.rows:>5} {item.middle:>8.1%} {item.p80:>8.1%} {item.bias:>+8.1%} "
        + ("        –" if item.covered is None else f"{item.covered:>9.0%}")
        for item in lines
    ]
    return "\n".join([head, "-" * len(head), *body])


def skipped_lines(skipped: Mapping[str, int]) -> str:
    """Return how many rows were left out, by reason."""
    return "\n".join(f"{count:>5}  {reason}" for reason, count in sorted(skipped.items(), key=lambda item: -item[1]))
