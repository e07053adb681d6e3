"""Predicted against measured memory of published training runs, by source.

Run it with `python -m calc.validation.training_memory`.

Each row of training_memory.csv that states what a prediction needs becomes a scenario in the contract's fields and goes
through `calc.estimate`. Errors are of the figure that the row measured: allocated, reserved or device.
"""

from typing import Any

from calc import ScenarioError, estimate
from calc.validation.printing import print_scores
from calc.validation.scores import (
    Row,
    Score,
    Scores,
    SkipError,
    reason_of,
    reasons,
    score_rows,
)
from calc.validation.training_rows import GIB, figure_of, measured_bytes, scenario_of

FILE = "training_memory.csv"


def score_of(row: Row) -> Score:
    """Return a row's score; raises SkipError with the reason where there is none."""
    scenario = scenario_of(row)
    try:
        memory: Any = estimate(scenario, repairs=False)["memory"]
    except ScenarioError as error:
        raise SkipError(f"refused: {error.field} {error.message}") from None
    name = f"{figure_of(row)}_bytes"
    low, high = memory[f"{name}_range"]
    return Score(row, name, measured_bytes(row), memory[name], low=low, high=high)


def scores() -> Scores:
    """Return all scores, and the rows that were left out by reason."""
    return score_rows(FILE, score_of)


def written(score: Score, why: dict[str, str]) -> str:
    """Return a row as one line, with the reason of its error."""
    figures = f"measured {score.measured / GIB:6.2f} GiB, predicted {score.predicted / GIB:6.2f}"
    found_range = f"[{score.low / GIB:.2f}, {score.high / GIB:.2f}] {score.error:+.1%}"
    name = score.row["id"]
    return f"{name:22} {score.what:15} {figures} {found_range} {reason_of(score, why)}"


def main() -> None:
    """Print the tables."""
    why = reasons("training_memory")
    print_scores(scores, lambda score: written(score, why), keys=("what",))


if __name__ == "__main__":
    main()
