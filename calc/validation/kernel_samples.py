"""A sample of measured kernels that no law was fitted on: written by `kernel_fits`, read by tests and pages."""

import csv
import json
from collections.abc import Iterable, Sequence
from random import Random

from calc.catalog.entries import DATA
from calc.performance import operations
from calc.performance.operations import Collective, Operation
from calc.validation.measured_kernels import Measured

SAMPLE = DATA / "measurements" / "kernels.csv"
EACH = 6  # rows of a kind, device, engine and kernel
HEAD = ("kind", "device", "engine", "kernel", "operations", "seconds")


def write_sample(kind: str, rows: Sequence[Measured]) -> None:
    """Write some of these rows of each device, engine and kernel, beside those of other kinds."""
    others = [row for row in read_lines() if row[0] != kind] if SAMPLE.exists() else []
    groups: dict[tuple[str, ...], list[Measured]] = {}
    for row in rows:
        groups.setdefault((kind, row.device, row.engine, kernel_of(row.operations[-1])), []).append(row)
    random = Random(7)
    chosen = [
        [*group, json.dumps([told(done) for done in row.operations], separators=(",", ":")), f"{row.seconds:.4g}"]
        for group, found in sorted(groups.items())
        for row in random.sample(found, min(len(found), EACH))
    ]
    with SAMPLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([HEAD, *others, *chosen])


def kernel_of(operation: Operation) -> str:
    """Return what an operation is done in: a format, or the kind of a message."""
    return operation.kind if isinstance(operation, Collective) else str(getattr(operation, "kernel", "bf16"))


def told(operation: Operation) -> list[object]:
    """Return an operation as JSON values: its kind, then its fields."""
    values = [float(f"{value:.6g}") if isinstance(value, float) else value for value in operation[1:]]
    return [type(operation).__name__, *values]


def read_lines() -> list[list[str]]:
    """Return the lines of the sample after the first."""
    with SAMPLE.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def sample() -> Iterable[Measured]:
    """Iterate over the sample."""
    for kind, device, engine, kernel, done, seconds in read_lines():
        parsed = tuple(getattr(operations, name)(kind, *values) for name, *values in json.loads(done))
        yield Measured(kind, device, engine, kernel, shape=(), operations=parsed, seconds=float(seconds))
