"""Tables of repairs: what makes a training run fit that does not."""

from calc.calculators.html import table, text
from calc.calculators.sizes import size_gib
from calc.training.changes import PRICES
from calc.training.repairs import repairs
from macros.markdown import block
from macros.training_numbers import training

__all__ = ["repair_table"]


def repair_table(caption: str, **run: object) -> str:
    """Return the single changes that make a run fit, cheapest first and what is tight last, with effect and price.

    Raises ValueError for a run that surely fits, or that no single change makes fit.
    """
    found = repairs(training(run))
    if not found:
        raise ValueError("the run fits already, or no single change makes it fit")
    rows = [
        [
            text(repair.change.what),
            size_gib(repair.saved_bytes),
            size_gib(repair.device_bytes) + ("" if repair.sure else ", tight"),
            size_gib(repair.host_bytes) if repair.host_bytes else "–",
            text(PRICES[repair.change.level]),
            text(repair.change.price),
        ]
        for repair in found
    ]
    headings = ("Change", "Saves", "Then needed", "Host memory", "Costs", "In words")
    return block(table(headings, rows, caption=caption, words=(0, 4, 5)))
