"""Kernels that were measured: rows of tables, the devices and engines that they name, what is left out of fits."""

import csv
import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from calc.performance.operations import Operation

DEVICES = {
    "a100_sxm": "a100-sxm-80gb",
    "h100_sxm": "h100-sxm-80gb",
    "h200_sxm": "h200-sxm-141gb",
    "b200_sxm": "b200-sxm-180gb",
    "gb200": "gb200-186gb",
    "b300_sxm": "b300-sxm-288gb",
    "gb300": "gb300-288gb",
    "l40s": "l40s-48gb",
    "rtx_pro_6000_server": "rtx-pro-6000-server-96gb",
    "b60": "arc-pro-b60-24gb",
}
ENGINES = {"vllm": "vllm", "sglang": "sglang", "trtllm": "tensorrt-llm"}
PART = 5  # one shape in so many is left out of fits

Row = Mapping[str, str]


class Measured(NamedTuple):
    """One kernel that was measured."""

    kind: str
    device: str  # id of the catalogue
    engine: str
    kernel: str  # as the table names it
    shape: tuple[int, ...]  # what rows are left out by: all rows of a shape or none
    operations: tuple[Operation, ...]  # that the kernel does; the last is what it is measured for
    seconds: float

    @property
    def left_out(self) -> bool:
        """Whether the shape is kept from fits, to be judged by."""
        return (
            sum(size * prime for size, prime in zip(self.shape, (7919, 104729, 1299709), strict=False)) % 97 % PART == 0
        )


def rows(folder: Path, name: str) -> Iterator[Row]:
    """Iterate over the rows of a table, compressed or not, of devices that are known."""
    path = next((path for path in (folder / f"{name}.csv.gz", folder / f"{name}.csv") if path.exists()), None)
    if path is None:
        raise FileNotFoundError(f"there is no {name}.csv or {name}.csv.gz in {folder}")
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        yield from (row for row in csv.DictReader(file) if row["device"] in DEVICES)


def seconds_of(row: Row) -> float:
    """Return how long a row's kernel took."""
    return float(row["latency_ms"]) / 1e3


def measured(
    row: Row, kind: str, name: str, *, shape: tuple[int, ...], operations: tuple[Operation, ...], seconds: float
) -> Measured:
    """Return what a row measures, on its device under its engine."""
    device, engine = DEVICES[row["device"]], ENGINES[row["engine"]]
    return Measured(kind, device, engine, name, shape=shape, operations=operations, seconds=seconds)
