"""Writing to a terminal: tables with rich where it is installed and a person looks, else as plain text; JSON."""

import json
import sys
from collections.abc import Sequence

Rows = list[tuple[str, ...]]


def print_json(value: object) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(headings: Sequence[str], rows: Rows) -> None:
    """Print a table; the first column is words, the others stand to the right."""
    if sys.stdout.isatty() and rich_table(headings, rows):
        return
    widths = [max(len(cell) for cell in column) for column in zip(headings, *rows, strict=True)]
    print()
    for row in (headings, *rows):
        first, *others = (
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join((first, *others)).rstrip())


def rich_table(headings: Sequence[str], rows: Rows) -> bool:
    """Print a table with rich; return whether it is installed."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        return False
    table = Table()
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place == 0 else "right")
    for row in rows:
        table.add_row(*row)
    Console().print(table)
    return True
