"""How far the laws of kernels are off, on measured shapes that none of them was fitted on.

`python -m calc.validation.kernel_errors` prints it by kind of operation, and by kind and format.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import log
from statistics import median
from typing import NamedTuple

from calc.catalog import catalog
from calc.performance.kernels import Kernels
from calc.validation.kernel_samples import sample
from calc.validation.measured_kernels import Measured


class KernelError(NamedTuple):
    """The error of one group of kernels; errors are log(computed / measured)."""

    group: tuple[str, ...]
    rows: int
    error: float  # median of the sizes
    bias: float  # median with its sign
    most: float  # size that four of five stay below


@lru_cache(maxsize=1)
def measured_errors() -> tuple[tuple[Measured, float], ...]:
    """Return each kernel of the sample and how far its law is off, with the kernels of its engine on its device."""
    known: dict[tuple[str, str], Kernels] = {}
    found = []
    for row in sample():
        device = known.setdefault((row.device, row.engine), Kernels(catalog().accelerator(row.device), row.engine))
        computed = sum(device.seconds(operation) for operation in row.operations)
        found.append((row, log(computed / row.seconds)))
    return tuple(found)


def kernel_errors(group_of: Callable[[Measured], Sequence[str]]) -> list[KernelError]:
    """Return the errors of groups of kernels, in the order in which they first stand in the sample."""
    groups: dict[tuple[str, ...], list[float]] = {}
    for row, error in measured_errors():
        groups.setdefault(tuple(group_of(row)), []).append(error)
    return [error_of(group, errors) for group, errors in groups.items()]


def error_of(group: tuple[str, ...], errors: Sequence[float]) -> KernelError:
    """Return the error of one group.

    >>> error_of(("all",), [-0.1, 0.2, 0.3, 0.4, 0.5])
    KernelError(group=('all',), rows=5, error=0.3, bias=0.3, most=0.4)
    """
    sizes = sorted(map(abs, errors))
    return KernelError(group, len(errors), median(sizes), median(errors), most=sizes[(len(sizes) * 4 - 1) // 5])


def main() -> None:
    """Print the tables."""
    head = f"{'operation':<28} {'rows':>5} {'median':>7} {'80 %':>7} {'bias':>7}"
    for group_of in (lambda row: (row.kind,), lambda row: (row.kind, row.kernel)):
        lines = sorted(kernel_errors(group_of))
        body = [
            f"{' '.join(line.group):<28} {line.rows:>5} {line.error:>7.1%} {line.most:>7.1%} {line.bias:>+7.1%}"
            for line in lines
        ]
        print("\n".join([head, "-" * len(head), *body, ""]))


if __name__ == "__main__":
    main()
