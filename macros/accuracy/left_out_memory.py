"""The accuracy page's table of training memory with sources left out."""

import json

from calc.calculators.html import table
from calc.units import show_count
from calc.validation.scores import rows_digest
from calc.validation.training_left_out import FILE, LEFT_OUT, LeftOut, mean_line
from macros.accuracy.page import percent, source_names
from macros.markdown import block


def kept_lines() -> tuple[list[LeftOut], str]:
    """Return the kept lines and the day they were made; raises ValueError if they are of other rows."""
    kept = json.loads(LEFT_OUT.read_text(encoding="utf-8"))
    if kept["rows"] != rows_digest(FILE):
        raise ValueError(
            f"{LEFT_OUT.name} is of other rows: run python -m calc.validation.training_memory --leave-one-out"
        )
    return [LeftOut(**line) for line in kept["lines"]], kept["made"]


def left_out_memory_sources() -> str:
    """Return errors and coverage of sources with all that rows set, set by all of them and by those of others."""
    names = source_names()
    lines, made = kept_lines()
    rows = [
        [
            names.get(line.source, "All sources, each once"),
            show_count(line.rows),
            percent(line.inside),
            percent(line.outside),
            percent(line.covered_inside),
            percent(line.covered_outside),
        ]
        for line in (*lines, mean_line(lines))
    ]
    headings = ("Source", "Rows", "Error, set with it", "Error, set without", "In the range, with it", "Without")
    caption = (
        f"Training memory: median error and share in the range with and without a source's own rows, made on {made}"
    )
    return block(table(headings, rows, caption=caption))


def unknown_frameworks_table() -> str:
    """Return errors and coverage of sources where a scenario leaves to defaults what frameworks do differently."""
    names = source_names()
    lines, made = kept_lines()
    rows = [
        [
            names.get(line.source, "All sources, each once"),
            show_count(line.rows),
            percent(line.unknown),
            percent(line.covered_unknown),
        ]
        for line in (*lines, mean_line(lines))
    ]
    caption = f"Training memory: median error and share in the range, the framework unknown, made on {made}"
    return block(table(("Source", "Rows", "Error", "In the range"), rows, caption=caption))
