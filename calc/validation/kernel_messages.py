"""Measured messages between the devices of a machine: those of the same tables as `kernel_tables` reads."""

from collections.abc import Iterator
from pathlib import Path

from calc.catalog import catalog
from calc.performance.engine_passes import kernel_classes
from calc.performance.kernels import Kernels
from calc.performance.operations import Collective
from calc.performance.own_kernels import own_kernels
from calc.validation.measured_kernels import DEVICES, ENGINES, Measured, Row, rows, seconds_of

COLLECTIVES = {
    "all_reduce": "all-reduce",
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "alltoall": "all-to-all",
}
# Four and eight L40S stood on two sockets, whose link slowed them to 2 GB/s: of that machine, not of the cards.
MOST_JOINED = {"l40s": 2}


def messages(folder: Path) -> Iterator[Measured]:
    """Iterate over collectives within a machine: of NCCL, and the engines' own all-reduces in CUDA graphs."""
    for row in rows(folder, "nccl"):
        kind, size = COLLECTIVES.get(row["kernel"], ""), 2 if row["nccl_dtype"] == "half" else 1
        if kind and int(row["num_gpus"]) <= MOST_JOINED.get(row["device"], 8):
            yield message(row, "", kind, size * int(row["message_size"]))
    for row in rows(folder, "custom_allreduce"):
        if not row["kernel"].endswith("_eager") and int(row["num_gpus"]) <= MOST_JOINED.get(row["device"], 8):
            sum_of = message(row, ENGINES[row["engine"]], "all-reduce", 2 * int(row["message_size"]))
            if is_own(sum_of, row["version"]):  # what is larger, engines leave to NCCL
                yield sum_of


def is_own(measured: Measured, version: str) -> bool:
    """Return whether a version of an engine sends a message by its own kernel."""
    accelerator, done = catalog().accelerator(measured.device), measured.operations[-1]
    assert isinstance(done, Collective)
    values = catalog().engine(measured.engine).of_version(version, accelerator.vendor).values
    own = own_kernels(values, "flash", kernel_classes(accelerator), ranks=done.ranks)
    return Kernels(accelerator, measured.engine, own).is_own(done)


def message(row: Row, engine: str, kind: str, size: int) -> Measured:
    """Return a message as measured."""
    ranks = int(row["num_gpus"])
    done = Collective("message", kind, float(size), ranks, group="tensor")
    device, name, seconds = DEVICES[row["device"]], row["kernel"], seconds_of(row)
    return Measured("message", device, engine, name, shape=(ranks, size), operations=(done,), seconds=seconds)
