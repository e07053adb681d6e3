"""How far off published servers with pools apart are."""

import math
from functools import cache
from statistics import median

from calc.units import show_number
from calc.validation import serving_runs
from calc.validation.scores import Score

__all__ = ["pools_error"]


@cache
def pools() -> list[Score]:
    """Return the scores of all runs with pools apart."""
    return serving_runs.pooled_scores()[0]


def factors(figure: str) -> list[float]:
    """Return by how many times each run is off, up or down."""
    name = serving_runs.FIGURES[figure]
    return [math.exp(abs(math.log(score.predicted / score.measured))) for score in pools() if score.what == name]


def pools_error(figure: str) -> str:
    """Return the median error of servers with pools apart: "token" in per cent, "first" as a factor."""
    if figure == "first":
        return show_number(median(factors("ttft_ms")), 2)
    return f"{show_number(100 * (median(factors('tpot_ms')) - 1), 2)} %"
