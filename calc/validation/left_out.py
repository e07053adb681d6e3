"""What is predicted of sources that an estimate has not seen, row by row, and kept beside the rows.

`python -m calc.validation.left_out` estimates the coefficients of each engine from all rows, and again without each
source, and writes the logarithms of predicted over measured. Accuracy pages and ranges are made of these.
"""

import argparse
import json
import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import date
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from calc import ScenarioError, estimate
from calc.catalog import catalog
from calc.planning.measured import HOST
from calc.validation import (
    community_speed,
    inference_memory,
    inference_speed,
    serving_runs,
    training_left_out,
    training_speed,
)
from calc.validation.engine_starts import memory_start_of, start_of
from calc.validation.fitting import HOLD, Item, fit, without_each
from calc.validation.inference_fitting import item_of, memory_item_of
from calc.validation.processors import spread
from calc.validation.residuals import Residual, counted
from calc.validation.scores import MEASUREMENTS, Row, SkipError, median_size, read_rows, rows_digest
from calc.validation.training_fitting import start_of as training_start
from calc.validation.training_rows import as_commonest, as_usual, without_framework

Scenario = Mapping[str, Any]
# Training memory of scenarios that do not name the framework, of those that say nothing of its ways either, and of
# these if they were taken for runs of the framework that most people take.
UNNAMED, UNKNOWN, ASSUMED = (f"training-memory-{said}" for said in ("unnamed", "unknown", "assumed"))
OPEN = (UNNAMED, UNKNOWN, ASSUMED)
FIRST_SIGHT = "first_sight.csv"
RANGED = ("inference-speed", "training-speed")  # whose ranges are factors; those of memory are made part by part
STIFF = 0.3  # how strongly coefficients of speed are held: kernels have laws, and an engine has few sources


def inference_items(engines: Container[str] | None = None) -> dict[str, list[Item]]:
    """Return the rows of inference speed, of servers and of people's own machines as items, by engine; or of some."""
    found: dict[str, list[Item]] = {}
    for row, scenario, figure, measured in inference_rows():
        if engines is not None and scenario["engine"] not in engines:
            continue
        try:
            found.setdefault(scenario["engine"], []).append(item_of(row, scenario, figure, measured))
        except (SkipError, ScenarioError):
            continue
    return dict(sorted(found.items()))


def inference_rows() -> Iterator[tuple[Row, Scenario, str, float]]:
    """Iterate over rows with their scenarios, figures and what was measured."""
    for module in (inference_speed, community_speed):
        for row in read_rows(module.FILE):
            try:
                yield row, scenario_of(row, module.scenario_of), *module.compared(row)
            except (SkipError, ScenarioError):
                continue
    for run in serving_runs.sampled(read_rows(serving_runs.FILE)):
        try:
            scenario = serving_runs.scenario_of(run)
        except SkipError:
            continue
        without = serving_runs.left_out(run)
        for field, figure in serving_runs.FIGURES.items():
            if field not in without:
                yield run, scenario, figure, float(run[field]) / 1000


def scenario_of(row: Row, read: Callable[[Row], Scenario]) -> Scenario:
    """Return a row's scenario, with as many sequences as ran where it asks for as many as fit."""
    scenario = read(row)
    if scenario.get("sequences") == "max":
        report: Any = estimate(scenario, repairs=False)
        queued = inference_speed.queued(row)
        scenario = {**scenario, "sequences": min(report["memory"]["sequences"], queued or math.inf)}
    return scenario


def inference_residuals() -> list[Residual]:
    """Return the errors of inference speed, engine by engine, those with the most rows begun first."""
    items = inference_items()

    def of_engine(engine: str) -> list[Residual]:
        return residuals_of(engine, items[engine], catalog().engine(engine).values, start_of(engine), hold=STIFF)

    engines = sorted(items, key=lambda engine: -len(items[engine]))
    return sorted((row for found in spread(of_engine, engines) for row in found), key=lambda row: row.engine)


def inference_memory_residuals() -> list[Residual]:
    """Return the errors of inference memory, engine by engine."""
    items: dict[str, list[Item]] = {}
    for row in read_rows(inference_memory.FILE):
        try:
            item = memory_item_of(row)
        except (SkipError, ScenarioError):
            continue
        items.setdefault(item.bucket.partition("_")[0], []).append(item)
    return [
        residual
        for engine, mine in sorted(items.items())
        for residual in residuals_of(engine, mine, catalog().engine(engine).values, memory_start_of(engine))
    ]


def training_residuals() -> list[Residual]:
    """Return the errors of training speed."""
    return residuals_of("training", training_speed.items(), catalog().training_step.values, training_start())


def residuals_of(
    engine: str, items: list[Item], values: Mapping[str, float], start: Mapping[str, float], *, hold: float = HOLD
) -> list[Residual]:
    """Return the errors of an engine's rows, with the source of each among those estimated from and without it."""
    lines = fit(items, values, start, hold=hold)
    sources, fitted = sorted({item.source for item in items}), lines.values
    left = without_each(lines, sources) if len(sources) > 1 else {}
    return [
        Residual(
            item.id,
            item.source,
            engine,
            item.phase,
            bucket=item.bucket,
            inside=round(item.error(fitted), 4),
            outside=round(item.error(left[item.source]), 4) if item.source in left else None,
        )
        for item in items
    ]


class Kind(NamedTuple):
    """A kind of figure whose sources are left out: the files of its rows, and what computes their errors."""

    files: tuple[str, ...]
    residuals: Callable[[], list[Residual]]


KINDS = {
    "inference-speed": Kind(
        (inference_speed.FILE, community_speed.FILE, serving_runs.FILE),
        inference_residuals,
    ),
    "inference-memory": Kind((inference_memory.FILE,), inference_memory_residuals),
    "training-speed": Kind((training_speed.FILE,), training_residuals),
    "training-memory": Kind((training_left_out.FILE,), training_left_out.residuals),
    UNNAMED: Kind((training_left_out.FILE,), lambda: training_left_out.residuals(without_framework)),
    UNKNOWN: Kind((training_left_out.FILE,), lambda: training_left_out.residuals(as_usual)),
    ASSUMED: Kind((training_left_out.FILE,), lambda: training_left_out.residuals(as_commonest)),
}


def path_of(kind: str) -> Path:
    """Return the file of a kind's errors."""
    return MEASUREMENTS / f"{kind.replace('-', '_')}_left_out.json"


def digest_of(kind: str) -> str:
    """Return what tells one state of a kind's rows from another."""
    return " ".join(rows_digest(name) for name in KINDS[kind].files)


def keep(kind: str, residuals: Iterable[Residual]) -> None:
    """Write the errors, a row a line; sources, and engines with their buckets and phases, by their place in a list."""
    found = list(residuals)
    sources = sorted({row.source for row in found})
    groups = sorted({(row.engine, row.phase, row.bucket) for row in found})
    places = {group: place for place, group in enumerate(groups)}
    lines = [
        [
            row.id,
            sources.index(row.source),
            places[row.engine, row.phase, row.bucket],
            row.inside,
            row.outside,
            *([] if row.covered is None else [row.covered]),
        ]
        for row in found
    ]
    head = json.dumps({"made": date.today().isoformat(), "rows": digest_of(kind), "sources": sources, "groups": groups})
    body = ",\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
    path_of(kind).write_text(f'{head[:-1]}, "residuals": [\n{body}\n]}}\n', encoding="utf-8")


class Kept(NamedTuple):
    """The errors of a kind as they were kept, and when."""

    made: str
    residuals: list[Residual]


@lru_cache(maxsize=8)
def kept(kind: str) -> Kept:
    """Return the kept errors of a kind; raises ValueError if they are of other rows."""
    found = json.loads(path_of(kind).read_text(encoding="utf-8"))
    if found["rows"] != digest_of(kind):
        raise ValueError(f"{path_of(kind).name} is of other rows: run python -m calc.validation.left_out {kind}")
    residuals, first = [], at_first_sight(kind) if kind in RANGED else {}
    for name, source, group, inside, outside, *covered in found["residuals"]:
        engine, phase, bucket = found["groups"][group]
        residual = Residual(name, found["sources"][source], engine, phase, bucket, inside, outside, *covered)
        residuals.append(residual._replace(first=first.get(name)))
    return Kept(found["made"], counted(residuals))


def at_first_sight(kind: str) -> dict[str, float]:
    """Return the errors of rows that were written down before they were predicted, as they were before any mending.

    They are what the code predicted as of the day on which they came into the file, whose history names it.
    """
    return {row["id"]: float(row["error"]) for row in read_rows(FIRST_SIGHT) if row["kind"] == kind}


class SourceErrors(NamedTuple):
    """The median errors of an engine's rows of a source: under what other sources say, and with it among them."""

    source: str
    engine: str
    rows: int
    outside: float | None  # None where no other source has rows of the engine
    inside: float


def source_errors(residuals: Iterable[Residual]) -> list[SourceErrors]:
    """Return the median errors by source and engine."""
    groups: dict[tuple[str, str], list[Residual]] = {}
    for residual in residuals:
        groups.setdefault((residual.source, residual.engine), []).append(residual)
    found = []
    for (source, engine), mine in sorted(groups.items()):
        outside = [row.outside for row in mine if row.outside is not None]
        middle = median_size(outside) if outside else None
        found.append(SourceErrors(source, engine, len(mine), middle, inside=median_size(row.inside for row in mine)))
    return found


class OnHost(NamedTuple):
    """The median over sources of the median errors of their rows, and how many sources there are."""

    middle: float
    sources: int


def decoding_on_host(residuals: Iterable[Residual]) -> OnHost:
    """Return the errors of decoding with the host's processor where the source was left out."""
    groups: dict[str, list[float]] = {}
    for row in residuals:
        if f"_{HOST}_" in row.bucket and row.phase == "decode" and row.outside is not None:
            groups.setdefault(row.source, []).append(row.outside)
    return OnHost(median(median_size(errors) for errors in groups.values()), len(groups))


def main() -> None:
    """Estimate, leave out and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(KINDS)}; all without")
    for kind in parser.parse_args().kinds or KINDS:
        keep(kind, KINDS[kind].residuals())
        kept.cache_clear()
        print(table_of(kind))


def table_of(kind: str) -> str:
    """Return the median errors of each engine's sources as text."""
    head = f"{'engine':<14} {'source':<26} {'rows':>5} {'fitted in':>10} {'left out':>10}"
    body = []
    for found in sorted(source_errors(kept(kind).residuals), key=lambda found: (found.engine, found.source)):
        shown = "         –" if found.outside is None else f"{found.outside:>10.1%}"
        body.append(f"{found.engine:<14} {found.source:<26} {found.rows:>5} {found.inside:>10.1%} {shown}")
    return "\n".join([f"{kind}\n{head}", "-" * len(head), *body])


if __name__ == "__main__":
    main()
