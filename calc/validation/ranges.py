"""How far four of five measurements lie of a source that nobody has seen. Run it: python -m calc.validation.ranges.

The widths are quantiles of the errors of sources that were left out. A source weighs with the root of its rows: a
large one says more of what differs inside a source, and no more than a small one of what differs between them. An
engine with few sources is drawn to all engines together. Rows whose bucket no other source has rows in are errors of
answers that were not measured, and give the wider factor.

Most rows have been looked at since they were taken in, and what they taught is in the laws, also of whoever leaves them
out. Some were written down before they were predicted, and what was predicted then was kept: widths are larger by as
much as the errors of these are.

The command writes them into the catalogue, and beside them what was measured of each bucket and model.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from statistics import mean, median
from typing import NamedTuple

from calc.catalog.entries import DATA
from calc.planning.measured import POOLS, TOTALS, widening
from calc.validation.left_out import KINDS, RANGED, at_first_sight, kept
from calc.validation.measured_buckets import FIGURES, MEASURED, MODELS, written_measured, written_models
from calc.validation.pools import KIND as POOLED
from calc.validation.pools import pool_errors, total_errors
from calc.validation.residuals import Residual, sources
from calc.validation.scores import median_size

SHARE = 0.8
COUNTS = (0, 1, 4, 16)  # of sources behind an answer, for which tables say the factor
BETWEEN = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)  # tried, for want of anything finer that errors could tell apart
DRAWN = 3  # sources that all engines together count, where one's width is drawn to theirs, and that no excess counts
RANGES = DATA / "ranges.toml"


class Range(NamedTuple):
    """A range either way, as it would be if a bucket's own error were known, and what it is made of."""

    inside: float  # a logarithm
    between: float  # variance of buckets' own errors over that of the sources inside them
    rows: int
    sources: int

    def factor(self, others: int) -> float:
        """Return the factor either way of an answer that a number of sources stand behind."""
        return math.exp(self.inside * widening(self.between, others))


class Coverage(NamedTuple):
    """The share of rows in ranges that were made without their source: of all rows, and the mean over sources."""

    rows: float
    sources: float


class LeftOut(NamedTuple):
    """Errors of sources that were left out: the mean of their medians, and what ranges made without them cover."""

    middle: float
    covered: Coverage
    first: Coverage | None  # of what was predicted of them at first sight; None where that is not known


class FirstSight(NamedTuple):
    """Median errors of sources as they were predicted before anybody had looked at them, by the code of that day."""

    mean: float  # over sources
    middle: float  # which half of the sources stay below
    most: float  # which four of five of them stay within
    rows: int
    sources: int


def by_source(residuals: Iterable[Residual]) -> dict[str, list[Residual]]:
    """Return errors by source."""
    groups: dict[str, list[Residual]] = {}
    for residual in residuals:
        groups.setdefault(residual.source, []).append(residual)
    return groups


def middles(residuals: Iterable[Residual]) -> dict[str, float]:
    """Return the median errors of sources that were left out."""
    return {source: median_size(row.outside or 0 for row in mine) for source, mine in by_source(residuals).items()}


def width(residuals: Sequence[Residual], between: float) -> float:
    """Return the size of error, a logarithm, that `SHARE` of rows stay below; a source weighs the root of its rows.

    Sizes are as they would be in a bucket whose own error is known: less by what few sources in it leave open.
    """
    weights = {source: count**-0.5 for source, count in Counter(row.source for row in residuals).items()}
    sizes = sorted((abs(row.outside or 0) / widening(between, row.others), weights[row.source]) for row in residuals)
    total, passed = sum(weight for _, weight in sizes), 0.0
    for size, weight in sizes:
        passed += weight
        if passed >= SHARE * total * (1 - 1e-9):
            return size
    raise ValueError("no errors to make a range of")


def drawn(own: float, count: int, pooled: float) -> float:
    """Return a width of `count` sources drawn to that of all.

    >>> drawn(0.2, 3, 0.4)
    0.30000000000000004
    """
    return (count * own + DRAWN * pooled) / (count + DRAWN)


def at_first(residuals: Iterable[Residual]) -> list[Residual]:
    """Return the rows of which it is known how far they were off at first sight, with that error."""
    return [row._replace(outside=row.first) for row in residuals if row.first is not None]


def excess(residuals: Sequence[Residual], between: float) -> float:
    """Return the times that errors at first sight are larger than those of sources left out; of few sources, less.

    One where no row was kept at first sight, or these were not off by more.
    """
    first = at_first(residuals)
    if not first:
        return 1.0
    return max(drawn(width(first, between) / width(residuals, between), sources(first), 1.0), 1.0)


def ranges_of(residuals: Iterable[Residual], between: float) -> dict[tuple[str, str], Range]:
    """Return ranges by engine and phase; of all engines together under an empty name."""
    seen = [row for row in residuals if row.outside is not None]
    found = {}
    for phase in sorted({row.phase for row in seen}):
        mine = [row for row in seen if row.phase == phase]
        more, pooled = excess(mine, between), width(mine, between)
        found["", phase] = entry(more * pooled, between, mine)
        for engine in sorted({row.engine for row in mine}):
            rows = [row for row in mine if row.engine == engine]
            found[engine, phase] = entry(more * drawn(width(rows, between), sources(rows), pooled), between, rows)
    return found


def entry(inside: float, between: float, rows: Sequence[Residual]) -> Range:
    """Return a range, rounded up."""
    return Range(math.ceil(1000 * inside) / 1000, between, len(rows), sources(rows))


@lru_cache(maxsize=32)  # read from a file of all rows: sentences and tables share it
def first_sight(kind: str, market: str = "") -> FirstSight:
    """Return how far a kind's sources were off at first sight; raises ValueError where no row was kept.

    With a `market` only of rows whose device class is of it, such as "consumer", "data-center" or "host".
    """
    first = at_first_sight(kind)
    rows = [row for row in kept(kind).residuals if f"{row.bucket}_".split("_")[1].endswith(market)]
    seen = [row._replace(outside=first[row.id]) for row in rows if row.id in first]
    if not seen:
        raise ValueError(f"no row of {kind} was kept at first sight" + f" on {market}" * bool(market))
    errors = sorted(middles(seen).values())
    most = errors[math.ceil(SHARE * len(errors)) - 1]
    return FirstSight(mean(errors), median(errors), most, rows=len(seen), sources=len(errors))


@lru_cache(maxsize=len(KINDS))
def between_of(kind: str) -> float:
    """Return how much of a kind's errors the sources of a bucket have in common: the best of `BETWEEN`.

    The best has the least mean interval score (Gneiting and Raftery 2007) of what was predicted at first sight, or of
    sources left out where nothing was: the range's width, and ten times how far rows lie outside, each source once.
    """
    seen = [row for row in kept(kind).residuals if row.outside is not None]
    first = at_first(seen) or seen
    return min(BETWEEN, key=lambda between: interval_score(first, between))


def interval_score(residuals: Sequence[Residual], between: float) -> float:
    """Return the mean interval score over sources, in logarithms, of ranges that hold `SHARE` of each phase's rows."""
    inside = {
        phase: width([row for row in residuals if row.phase == phase], between)
        for phase in {row.phase for row in residuals}
    }
    scores: dict[str, list[float]] = {}
    for row in residuals:
        end = inside[row.phase] * widening(between, row.others)
        scores.setdefault(row.source, []).append(2 * end + 2 / (1 - SHARE) * max(abs(row.outside or 0) - end, 0))
    return mean(mean(one) for one in scores.values())


def end_of(found: Mapping[tuple[str, str], Range], row: Residual) -> float:
    """Return the end either way, a logarithm, that the range of a row's answer would have had."""
    of = found.get((row.engine, row.phase)) or found["", row.phase]
    return of.inside * widening(of.between, row.others)


def holds(found: dict[tuple[str, str], Range], row: Residual) -> bool:
    """Return whether a row lies in its range: in that made of its parts, or within a factor either way."""
    return abs(row.outside or 0) <= end_of(found, row) if row.covered is None else row.covered


def coverage(residuals: Iterable[Residual], others: Mapping[str, dict[tuple[str, str], Range]]) -> Coverage:
    """Return how many rows lie in ranges; `others` has by source the factors that the rows of all others make."""
    shares = []
    for source, mine in by_source(residuals).items():
        found = others[source]
        inside = [holds(found, row) for row in mine if ("", row.phase) in found]
        shares.append((len(inside), sum(inside)))
    return Coverage(
        sum(inside for _, inside in shares) / sum(count for count, _ in shares),
        mean(inside / count for count, inside in shares if count),
    )


@lru_cache(maxsize=len(KINDS))  # the factors are made as often as there are sources: sentences and tables share them
def left_out(kind: str) -> LeftOut:
    """Return the errors of a kind with sources left out, each source counting once."""
    seen = [residual for residual in kept(kind).residuals if residual.outside is not None]
    between = between_of(kind)
    others = {source: ranges_of((row for row in seen if row.source != source), between) for source in by_source(seen)}
    first = at_first(seen)
    return LeftOut(mean(middles(seen).values()), coverage(seen, others), coverage(first, others) if first else None)


def written_ranges() -> str:
    """Return the catalogue's file of ranges."""
    lines = ["# Written by `python -m calc.validation.ranges` from the errors of sources that were left out."]
    for kind in RANGED:
        for (engine, phase), found in ranges_of(kept(kind).residuals, between_of(kind)).items():
            name = "_".join(filter(None, (FIGURES.get(kind, kind), engine, phase)))
            lines += ["", f'["{name}"]', *(f"{field} = {value}" for field, value in found._asdict().items())]
            lines.append(f"checked = {kept(kind).made}")
    for name, found in pool_ranges().items():
        lines += ["", f"[{name}]", *(f"{field} = {value}" for field, value in found._asdict().items())]
        lines.append(f"checked = {kept(POOLED).made}")
    return "\n".join(lines) + "\n"


def pool_ranges() -> dict[str, Range]:
    """Return the shares within which memory was at first sight: of pools, and of all else drawn to these."""
    errors = {**pool_errors(), TOTALS: total_errors()}
    ends = {name: width(mine, 0.0) for name, mine in errors.items()}
    return {
        name: entry(end if name == POOLS else drawn(end, sources(errors[name]), ends[POOLS]), 0.0, errors[name])
        for name, end in ends.items()
    }


def main() -> None:
    """Write the files, and print the factors and what they cover."""
    RANGES.write_text(written_ranges(), encoding="utf-8")
    MEASURED.write_text(written_measured(), encoding="utf-8")
    MODELS.write_text(written_models(), encoding="utf-8")
    for kind in KINDS:
        residuals = kept(kind).residuals
        _, held, first = left_out(kind)
        print(f"{kind}: {held.rows:.0%} of rows, {held.sources:.0%} by source")
        if first:
            print(f"  at first sight {first.rows:.0%} of rows, {first.sources:.0%} by source")
        for (engine, phase), found in ranges_of(residuals, between_of(kind)).items() if kind in RANGED else ():
            ends = " ".join(f"{found.factor(count):5.2f}" for count in COUNTS)
            print(f"  {engine or 'all':<14} {phase:<8} {ends}  {found.rows} rows, {found.sources} sources")


if __name__ == "__main__":
    main()
