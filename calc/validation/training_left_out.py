"""Training memory with sources left out: what rows set, set again without each source, which is then predicted.

Rows set what an allocator keeps beyond tensors, and the ranges. Tensors follow from shapes, and are not set by rows.
`python -m calc.validation.training_left_out` prints what the catalogue's coefficients are rounded from.
"""

import math
from collections.abc import Callable, Iterable
from statistics import median
from typing import NamedTuple

from calc import ScenarioError
from calc.catalog import catalog
from calc.memory.training.reserve import FIGURES, finds_its_blocks, slack_name
from calc.planning.measured import training_bucket
from calc.planning.training_fit import fullest
from calc.training.reading import read_training
from calc.validation.residuals import Residual
from calc.validation.scores import SkipError, read_rows
from calc.validation.training_rows import (
    GIB,
    as_usual,
    figure_of,
    measured_bytes,
    scenario_of,
    without_framework,
)

FILE = "training_memory.csv"
TAIL = 0.06  # on each side: a range then holds four of five of a source that it was not made of
MOST_WEIGHT = 5  # rows from which on a source weighs no more
GRIDS = {
    "rest": (0.5, 0.75, 1.0, 1.25, 1.5),  # GiB
    "rounding": (0.0, 0.01, 0.02, 0.03, 0.04, 0.05),
    "slack": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3),
    "few": (0.03, 0.05, 0.07, 0.1, 0.15),
    "varied": (0.5, 0.75, 1.0, 1.25, 1.5),
}
START = {"rest": 1.0, "rounding": 0.02, "slack": 0.15, "few": 0.07, "varied": 1.0}
Coefficients = dict[str, float]
Ranges = dict[str, tuple[float, float]]
Way = Callable[[dict[str, object]], dict[str, object]]


def named(scenario: dict[str, object]) -> dict[str, object]:
    """Return a scenario as it is, with its framework."""
    return scenario


class Prepared(NamedTuple):
    """A row with the bytes that its prediction is made of."""

    id: str
    bucket: str
    source: str
    figure: str
    measured: float
    tensors: int
    stays: int
    pass_bytes: int  # activations and logits, where lengths vary
    slack: str  # which coefficient holds the unused blocks of what comes and goes
    tight: bool  # free blocks are used again
    context: float  # with the workspace of matrix libraries

    def predicted(self, chosen: Coefficients) -> float:
        """Return the prediction with these coefficients, as calc.memory.training.reserve makes it."""
        if self.figure == "allocated":
            return self.tensors + self.context
        moving = max(self.tensors - self.stays, 0)
        kept = chosen["rounding"] * self.stays + chosen[self.slack] * moving
        if not self.tight:
            kept += min(chosen["rest"] * GIB, moving) + chosen["varied"] * self.pass_bytes
        return self.tensors + self.context + kept

    def error(self, chosen: Coefficients) -> float:
        """Return the size of the relative error."""
        return abs(self.predicted(chosen) / self.measured - 1)

    def needed(self, chosen: Coefficients, certain: float) -> float:
        """Return the ratio of what comes and goes that would end the range at the measurement."""
        predicted = self.predicted(chosen)
        stays = min(self.stays, predicted)
        return (self.measured - certain * stays) / (predicted - stays)


def prepared(asked_as: Way = named) -> list[Prepared]:
    """Return all rows that have a prediction, their scenarios as `asked_as` makes them."""
    facts, found = catalog(), []
    for row in read_rows(FILE):
        try:
            asked = read_training(asked_as(scenario_of(row)), facts)
        except (SkipError, ScenarioError):
            continue
        plan = asked.plan
        widest, _ = fullest(plan)
        figure = figure_of(row)
        context = facts.coefficient("training-workspace").value
        if figure == "device":
            context += facts.coefficient("training-device-context").value
            context += facts.coefficient("training-collectives").value * (plan.layout.devices > 1)
        varied = widest.widest_pass if plan.varied_lengths else 0
        tensors = widest.peak.total
        size = measured_bytes(row)
        name = training_bucket(plan, asked.accelerator)
        found.append(
            Prepared(
                row["id"],
                name,
                row["source"],
                figure,
                measured=size,
                tensors=tensors,
                stays=widest.stays,
                pass_bytes=varied,
                slack="few" if slack_name(plan).endswith("few") else "slack",
                tight=finds_its_blocks(plan),
                context=context,
            )
        )
    return found


def sources(items: Iterable[Prepared]) -> dict[str, list[Prepared]]:
    """Return rows by source."""
    groups: dict[str, list[Prepared]] = {}
    for item in items:
        groups.setdefault(item.source, []).append(item)
    return dict(sorted(groups.items()))


def fitted(items: list[Prepared]) -> Coefficients:
    """Return the coefficients with the least mean over sources of the median error: each in turn until none moves."""
    groups = sources(item for item in items if item.figure != "allocated")
    chosen = dict(START)

    def loss(trial: Coefficients) -> float:
        return sum(median(item.error(trial) for item in group) for group in groups.values())

    moved = True
    while moved:
        moved = False
        for name, values in GRIDS.items():
            best = min(values, key=lambda value: loss({**chosen, name: value}))
            if loss({**chosen, name: best}) < loss(chosen) - 1e-9:
                chosen, moved = {**chosen, name: best}, True
    return chosen


def ranges(items: list[Prepared], chosen: Coefficients) -> Ranges:
    """Return for each figure the ratios that leave `TAIL` of measurements on either side; sources weigh alike."""
    stays = catalog().coefficient("training-stays")
    found = {}
    for figure in FIGURES:
        groups = sources(item for item in items if item.figure == figure)
        weights = [(item, min(len(group), MOST_WEIGHT) / len(group)) for group in groups.values() for item in group]
        low = weighted([(item.needed(chosen, stays.low), weight) for item, weight in weights], TAIL)
        high = weighted([(item.needed(chosen, stays.high), weight) for item, weight in weights], 1 - TAIL)
        found[figure] = (low, high)
    return found


def weighted(values: list[tuple[float, float]], share: float) -> float:
    """Return a quantile of weighted values."""
    ordered = sorted(values)
    total, passed = sum(weight for _, weight in ordered), 0.0
    for value, weight in ordered:
        passed += weight
        if passed >= share * total:
            return value
    return ordered[-1][0]


def covered(item: Prepared, chosen: Coefficients, found: Ranges) -> bool:
    """Return whether a row's measurement lies in its range."""
    stays = catalog().coefficient("training-stays")
    low, high = found[item.figure]
    return item.needed(chosen, stays.low) >= low and item.needed(chosen, stays.high) <= high


def residuals(asked_as: Way = named) -> list[Residual]:
    """Return the errors of each row with everything set by all rows, and by those of other sources.

    Coefficients are set by runs whose framework is known. Ranges are those of scenarios that say as much as these.
    """
    known, items = prepared(), prepared(asked_as)
    everything = fitted(known)
    result = []
    for source, mine in sources(items).items():
        chosen = fitted([item for item in known if item.source != source])
        found = ranges([item for item in items if item.source != source], chosen)
        for item in mine:
            inside, outside = (math.log(item.predicted(way) / item.measured) for way in (everything, chosen))
            held = covered(item, chosen, found)
            result.append(
                Residual(
                    item.id,
                    item.source,
                    "training",
                    item.figure,
                    bucket=item.bucket,
                    inside=round(inside, 4),
                    outside=round(outside, 4),
                    covered=held,
                )
            )
    return result


def main() -> None:
    """Print coefficients and ranges from all rows: with the framework named, and left to what is usual."""
    chosen = fitted(prepared())
    print(chosen)
    for asked_as in (named, without_framework, as_usual):
        print(
            asked_as.__name__,
            {name: [round(end, 2) for end in ends] for name, ends in ranges(prepared(asked_as), chosen).items()},
        )


if __name__ == "__main__":
    main()
