"""Predicted against measured speed under limits of power. Run it: python -m calc.validation.power_limits [--fit].

A row of power.csv is a card whose limit was lowered, with its speed then and at its own limit. What is compared is the
share of the speed that is left; what either is alone belongs to other tables. `--fit` searches the law again, with all
sources and without each.
"""

import argparse
import math
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from statistics import fmean
from typing import Any
from unittest.mock import patch

from calc import estimate
from calc.catalog import catalog
from calc.performance.power import PowerLaw, power_law
from calc.validation.scores import Row, Score, by, lines_by_source, read_rows, table

FILE = "power.csv"
FIGURES = {"prefill": "prefill_tokens_per_s", "decode": "decode_tokens_per_s"}
TRIED = {
    "static": (0.22, 0.26, 0.3, 0.34, 0.38),
    "floor": (0.76, 0.8, 0.84, 0.88, 0.92),
    "drawn": (0.88, 0.92, 0.96, 1.0),
    "reads": (0.05, 0.1, 0.2),
}


def scenario_of(row: Row) -> dict[str, Any]:
    """Return the scenario of a row without its limit."""
    divided = "pipeline" if row["engine"] == "llama.cpp" else "tensor"
    return {
        "model": row["model"],
        "weights": row["weights"],
        "engine": row["engine"],
        "accelerator": row["accelerator"],
        "parallelism": {divided: int(row["accelerators"])},
        "sequences": int(row["requests"]),
        "prompt_tokens": int(row["prompt_tokens"]),
        "output_tokens": int(row["output_tokens"]),
    }


def speed(row: Row, scenario: dict[str, Any]) -> float:
    """Return the tokens a second of a row's figure in a scenario."""
    report: Any = estimate(scenario, repairs=False)
    found: float = report["speed"][FIGURES[row["figure"]]]["typical"]
    return found


@cache
def unlimited() -> list[tuple[Row, float]]:
    """Return the rows, each with the speed that is computed without a limit."""
    return [(row, speed(row, scenario_of(row))) for row in read_rows(FILE)]


def scores() -> list[Score]:
    """Return all scores: shares of the speed without a limit, as measured and as computed."""
    found = []
    for row, own in unlimited():
        share = speed(row, scenario_of(row) | {"power_limit": int(row["limit_w"])}) / own
        found.append(Score(row, "share", float(row["value"]) / float(row["base"]), share, low=share, high=share))
    return found


def limit_of(row: Row) -> float:
    """Return a row's limit of power, as a share of the card's own."""
    return int(row["limit_w"]) / int(row["base_w"])


def missed(found: Iterable[Score]) -> dict[str, float]:
    """Return the mean error of each source, whose rows go from limits that do nothing to such as do most."""
    return {
        source: fmean(abs(math.log(score.predicted / score.measured)) for score in mine)
        for source, mine in by(list(found), "source").items()
    }


def fits() -> Iterator[tuple[PowerLaw, dict[str, float]]]:
    """Iterate over laws that are tried, each with the error of each source."""
    for values in product(*TRIED.values()):
        law = PowerLaw(*values)
        with patch("calc.scenario.device.power_law", return_value=law):
            yield law, missed(scores())


def print_fit() -> None:
    """Print the law with the least mean of the sources' errors, and each source's error under the others' law."""
    tried = list(fits())
    best = min(tried, key=lambda one: fmean(one[1].values()))
    print(f"{best[0]} {fmean(best[1].values()):.1%}")
    outside = []
    for source in best[1]:
        law, errors = min(tried, key=lambda one: fmean(size for name, size in one[1].items() if name != source))
        outside.append(errors[source])
        print(f"without {source:<20} {tuple(law)} {errors[source]:.1%}")
    print(f"left out: {fmean(outside):.1%}")


def main() -> None:
    """Print the table, and the law that is found again."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fit", action="store_true")
    if parser.parse_args().fit:
        print_fit()
        return
    found = scores()
    print(power_law(catalog()))
    print(table("source", lines_by_source(found)))
    for score in found:
        row = score.row
        print(
            f"{row['id']} {row['source_key']:<18} {row['accelerator']:<24} {row['figure']:<8} {row['limit_w']:>4} W "
            f"{score.measured:.2f} {score.predicted:.2f} {score.error:+.0%}"
        )


if __name__ == "__main__":
    main()
