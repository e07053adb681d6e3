"""The accuracy page's tables of single kernels."""

from calc.catalog import catalog
from calc.validation.kernel_errors import kernel_errors
from macros.accuracy.kernels import SHOWN, kernel_device_table, kernel_table
from macros.accuracy.page import percent


def test_every_operation_and_device_stands_in_a_table() -> None:
    """Each kind of operation is shown by format, and each measured device by name."""
    by_format, by_device = kernel_table(), kernel_device_table()
    for shown in SHOWN.values():
        assert shown in by_format
    for family in catalog().kernel_families():
        for name in family.measured:
            assert catalog().accelerator(name).name in by_device


def test_a_line_says_what_was_computed() -> None:
    """The error of BF16 products is that of the sample."""
    lines = kernel_errors(lambda row: (row.kind, row.kernel))
    error = next(line.error for line in lines if line.group == ("product", "bf16"))
    assert percent(error) in kernel_table()
