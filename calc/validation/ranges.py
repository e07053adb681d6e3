"""How far four of five measurements lie of a source that nobody has seen. Run it: python -m calc.validation.ranges.

The widths are quantiles of the errors of sources that were left out. A source weighs with the root of its rows: a
large one says more of what differs inside a source, and no more than a small one of what differs between them. An
engine with few sources is drawn to all engines together. Rows whose bucket no other source has rows in are errors of
answers that were not measured, and give the wider factor.

Most rows have been looked at since they were taken in, and what they taught is in the laws, also of whoever leaves them
out. Some were written down before they were predicted, and what was predicted then was kept: widths are larger by as
much as the errors of these are.

The command writes them, how many rows stand behind each bucket, and how many sources measured each model, into the
catalogue.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from statistics import mean
from typing import NamedTuple

from calc.catalog import catalog
from calc.catalog.entries import DATA
from calc.validation.left_out import KINDS, OPEN, RANGED, kept
from calc.validation.residuals import Residual
from calc.validation.scores import median_size, read_rows

SHARE = 0.8
DRAWN = 3  # sources that all engines together count, where one's width is drawn to theirs, and that no excess counts
RANGES, MEASURED, MODELS = DATA / "ranges.toml", DATA / "measured.toml", DATA / "measured_models.toml"
OF_MODELS = {
    **dict.fromkeys(("community_speed", "inference_memory", "inference_speed"), ("arch_key", "source_key")),
    "serving_runs": ("model", "source_key"),
    **dict.fromkeys(("training_memory", "training_speed"), ("model", "source")),
}  # files of rows, and the columns of their models and sources
FIGURES = {"inference-speed": "speed", "inference-memory": "memory"}  # of a kind, in the catalogue; others as they are


class Factors(NamedTuple):
    """Factors either way, of what rows stand behind and of what none do, and what they are made of."""

    measured: float
    not_measured: float
    rows: int
    sources: int


class Coverage(NamedTuple):
    """The share of rows in ranges that were made without their source: of all rows, and the mean over sources."""

    rows: float
    sources: float


class LeftOut(NamedTuple):
    """Errors of sources that were left out: the mean of their medians, and what ranges made without them cover."""

    middle: float
    covered: Coverage
    first: Coverage | None  # of what was predicted of them at first sight; None where that is not known


def by_source(residuals: Iterable[Residual]) -> dict[str, list[Residual]]:
    """Return errors by source."""
    groups: dict[str, list[Residual]] = {}
    for residual in residuals:
        groups.setdefault(residual.source, []).append(residual)
    return groups


def sources(residuals: Iterable[Residual]) -> int:
    """Return of how many sources errors are."""
    return len({row.source for row in residuals})


def middles(residuals: Iterable[Residual]) -> dict[str, float]:
    """Return the median errors of sources that were left out."""
    return {source: median_size(row.outside or 0 for row in mine) for source, mine in by_source(residuals).items()}


def width(residuals: Sequence[Residual]) -> float:
    """Return the size of error, a logarithm, that `SHARE` of rows stay below; a source weighs the root of its rows."""
    weights = {source: count**-0.5 for source, count in Counter(row.source for row in residuals).items()}
    sizes = sorted((abs(row.outside or 0), weights[row.source]) for row in residuals)
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


def excess(residuals: Sequence[Residual]) -> float:
    """Return the times that errors at first sight are larger than those of sources left out; of few sources, less.

    One where no row was kept at first sight, or these were not off by more.
    """
    first = at_first(residuals)
    return max(drawn(width(first) / width(residuals), sources(first), 1.0), 1.0) if first else 1.0


def factors(residuals: Iterable[Residual]) -> dict[tuple[str, str], Factors]:
    """Return the factors by engine and phase; of all engines together under an empty name."""
    seen = [row for row in residuals if row.outside is not None]
    found = {}
    for phase in sorted({row.phase for row in seen}):
        mine = [row for row in seen if row.phase == phase]
        known, unknown = [row for row in mine if row.known], [row for row in mine if not row.known]
        more, pooled = excess(known or mine), width(known or mine)
        apart = max(excess(unknown) * width(unknown), more * pooled) if unknown else more * pooled
        found["", phase] = entry(more * pooled, apart, mine)
        for engine in sorted({row.engine for row in known}):
            rows = [row for row in known if row.engine == engine]
            own = more * drawn(width(rows), sources(rows), pooled)
            found[engine, phase] = entry(own, max(own, apart), rows)
    return found


def entry(measured: float, not_measured: float, rows: Sequence[Residual]) -> Factors:
    """Return widths as factors, rounded up."""
    low, high = (math.ceil(100 * math.exp(width)) / 100 for width in (measured, not_measured))
    return Factors(low, high, len(rows), sources(rows))


def factor_for(found: dict[tuple[str, str], Factors], row: Residual) -> float:
    """Return the factor that a row's answer would have had."""
    of = found.get((row.engine, row.phase)) or found["", row.phase]
    return of.measured if row.known else of.not_measured


def holds(found: dict[tuple[str, str], Factors], row: Residual) -> bool:
    """Return whether a row lies in its range: in that made of its parts, or within a factor either way."""
    return abs(row.outside or 0) <= math.log(factor_for(found, row)) if row.covered is None else row.covered


def coverage(residuals: Iterable[Residual], others: Mapping[str, dict[tuple[str, str], Factors]]) -> Coverage:
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
    others = {source: factors(row for row in seen if row.source != source) for source in by_source(seen)}
    first = at_first(seen)
    return LeftOut(mean(middles(seen).values()), coverage(seen, others), coverage(first, others) if first else None)


def written_ranges() -> str:
    """Return the catalogue's file of ranges."""
    lines = ["# Written by `python -m calc.validation.ranges` from the errors of sources that were left out."]
    for kind in RANGED:
        for (engine, phase), found in factors(kept(kind).residuals).items():
            name = "_".join(filter(None, (FIGURES.get(kind, kind), engine, phase)))
            lines += ["", f'["{name}"]', *(f"{field} = {value}" for field, value in found._asdict().items())]
            lines.append(f"checked = {kept(kind).made}")
    return "\n".join(lines) + "\n"


def written_measured() -> str:
    """Return the catalogue's file of rows and sources by bucket."""
    buckets: dict[str, dict[str, list[Residual]]] = {}
    for kind in (kind for kind in KINDS if kind not in OPEN):
        for row in kept(kind).residuals:
            engine, _, rest = row.bucket.partition("_")
            names = {row.bucket}
            if "memory" in kind:  # what memory takes is asked without a device, too
                names.add(f"{engine}_any_{rest.partition('_')[2]}")
            for name in names:
                buckets.setdefault(name, {}).setdefault(FIGURES.get(kind, kind), []).append(row)
    lines = [
        "# Written by `python -m calc.validation.ranges`: rows and sources of measurements, by engine, class of",
        "# device, class of number format and kind of model.",
        "",
    ]
    for name, figures in sorted(buckets.items()):
        counts = ", ".join(f"{figure} = [{len(rows)}, {sources(rows)}]" for figure, rows in figures.items())
        lines.append(f'"{name}" = {{ {counts} }}')
    return "\n".join(lines) + "\n"


def written_models() -> str:
    """Return the catalogue's file of how many sources measured each model, by the names that it lists."""
    found: dict[str, set[str]] = {}
    for name, (model, source) in OF_MODELS.items():
        for row in read_rows(f"{name}.csv"):
            if known := catalog().lookup("models", row[model]):
                found.setdefault(known, set()).add(row[source])
    lines = ["# Written by `python -m calc.validation.ranges`: how many sources have measurements of a model.", ""]
    lines += [f'"{name}" = {{ sources = {len(sources)} }}' for name, sources in sorted(found.items())]
    return "\n".join(lines) + "\n"


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
        for (engine, phase), found in factors(residuals).items():
            ends = f"{found.measured:5.2f} {found.not_measured:5.2f}"
            print(f"  {engine or 'all':<14} {phase:<8} {ends}  {found.rows} rows, {found.sources} sources")


if __name__ == "__main__":
    main()
