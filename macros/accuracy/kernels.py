"""The accuracy page's tables of single kernels: laws against measured shapes that no law was fitted on."""

from calc.calculators.html import table
from calc.catalog import catalog
from calc.units import show_count
from calc.validation.kernel_errors import KernelError, kernel_errors
from calc.validation.measured_kernels import Measured
from macros.accuracy.page import percent
from macros.filtered import filtered
from macros.markdown import unsearched

__all__ = ["kernel_device_table", "kernel_table"]

SHOWN = {
    "product": "Matrix product",
    "prefill": "Attention over a prompt",
    "decode": "Attention of the next token",
    "latent-decode": "Latent attention, a whole module",
    "experts": "A layer's experts",
    "recurrence": "Gated delta nets",
    "message": "Messages within a machine",
}
HEADINGS = ("Measured", "Median error", "80 % are within", "Bias")


def kernel_table() -> str:
    """Return the errors of kernels by operation and format."""
    rows = [
        [SHOWN[line.group[0]], line.group[1], *told(line)] for line in kernel_errors(lambda row: (row.kind, row.kernel))
    ]
    caption = "Kernels that no law was fitted on: computed against measured seconds, by operation and format"
    return unsearched(table(("Operation", "Format or message", *HEADINGS), rows, caption=caption, words=2))


def kernel_device_table() -> str:
    """Return the errors of kernels by operation and device."""
    facts = catalog()
    lines = sorted(kernel_errors(by_device), key=lambda line: list(SHOWN).index(line.group[0]))
    rows = [[SHOWN[line.group[0]], facts.accelerator(line.group[1]).name, *told(line)] for line in lines]
    caption = "Kernels that no law was fitted on, by operation and device"
    whole = table(("Operation", "Device", *HEADINGS), rows, caption=caption, words=2)
    return unsearched(filtered(whole, things="devices"))


def by_device(row: Measured) -> tuple[str, str]:
    """Return the group of a kernel in the table by device."""
    return row.kind, row.device


def told(line: KernelError) -> list[str]:
    """Return the cells of a group of kernels."""
    return [show_count(line.rows), percent(line.error), percent(line.most), percent(line.bias, sign=True)]
