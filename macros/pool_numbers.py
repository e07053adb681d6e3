"""How far off published servers with pools apart are."""

from calc.units import show_number
from calc.validation.serving_runs import FIGURES, pooled_factors, pooled_share

__all__ = ["pools_error"]


def pools_error(figure: str) -> str:
    """Return the median error of servers with pools apart: "token" in per cent, "first" as a factor."""
    if figure == "first":
        return show_number(pooled_factors()[FIGURES["ttft_ms"]], 2)
    return f"{show_number(100 * pooled_share(FIGURES['tpot_ms']), 2)} %"
