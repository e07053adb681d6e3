"""Tables of measured training runs, row by row beside what is computed for them."""

from calc.calculators.html import table, text
from calc.calculators.sizes import size_gib
from calc.validation.scores import Score, read_rows
from calc.validation.training_memory import FILE, score_of
from macros.accuracy.page import percent
from macros.markdown import block

__all__ = ["measured_chain"]


def measured_chain(*rows: tuple[str, str], caption: str) -> str:
    """Return measured runs of which each adds something to the one before, and what is computed for them.

    A row is its words and the id of a measurement in the catalogue.
    """
    found = {row["id"]: row for row in read_rows(FILE)}
    cells = []
    before: Score | None = None
    for words, identity in rows:
        if identity not in found:
            raise ValueError(f"no measurement of training memory has the id {identity!r}")
        score = score_of(found[identity])
        saved = [size_gib(size).replace("-", "−") for size in score.saved_since(before)] if before else ["–", "–"]
        pair = [size_gib(size) for size in (score.measured, score.predicted)]
        cells.append([text(words), *pair, percent(score.error, sign=True), *saved])
        before = score
    headings = ("Run", "Measured", "Computed", "Error", "Saved, measured", "Saved, computed")
    return block(table(headings, cells, caption=caption))
