"""Predicted against measured speed of published training runs, by source.

Run it with `python -m calc.validation.training_speed`.

Each row of training_speed.csv that states what a prediction needs becomes a scenario in the contract's fields and goes
through `calc.estimate`. Errors are of tokens a second and device, which every row gives or leads to.
"""

from typing import Any

from calc import ScenarioError, estimate
from calc.validation.fitting import Item
from calc.validation.printing import print_scores
from calc.validation.scores import (
    Row,
    Score,
    Scores,
    SkipError,
    read_rows,
    reason_of,
    reasons,
    score_rows,
)
from calc.validation.training_fitting import item_of
from calc.validation.training_scenarios import scenario_of

FILE = "training_speed.csv"
FIGURE = "tokens_per_s_per_device"


def score_of(row: Row) -> Score:
    """Return a row's score; raises SkipError with the reason where there is none."""
    scenario = scenario_of(row)
    try:
        speed: Any = estimate(scenario, repairs=False)["speed"]
    except ScenarioError as error:
        raise SkipError(f"refused: {error.field} {error.message}") from None
    figure = speed[FIGURE]
    measured = float(row["tokens_per_s_per_gpu_derived"])
    return Score(row, FIGURE, measured, figure["typical"], low=figure["low"], high=figure["high"])


def scores() -> Scores:
    """Return all scores, and the rows that were left out by reason."""
    return score_rows(FILE, score_of)


def items() -> list[Item]:
    """Return the rows as items of a fit."""
    found: list[Item] = []
    for row in read_rows(FILE):
        try:
            found.append(item_of(row, scenario_of(row), float(row["tokens_per_s_per_gpu_derived"])))
        except SkipError:
            continue
    return found


def written(score: Score, why: dict[str, str]) -> str:
    """Return a row as one line, with the reason of its error."""
    row = score.row
    return (
        f"{row['id']:<22} {row['model'][:18]:<18} {row['n_gpus']:>4} {row['parallelism'][:24]:<24} "
        f"{score.measured:10.1f} {score.predicted:10.1f} {score.error:+.0%} "
        f"{reason_of(score, why)[:60]}"
    )


def main() -> None:
    """Print the tables."""
    why = reasons("training_speed")
    print_scores(scores, lambda score: written(score, why))


if __name__ == "__main__":
    main()
