"""Estimating the coefficients of speed from measured rows, to show that a source left out is predicted as well.

Coordinate descent on the mean absolute logarithm of predicted over measured, each source, figure and kind of kernel
counting once. What does not change with the coefficients, the work of the passes, is prepared once.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from unittest.mock import patch

from calc import ScenarioError, estimate
from calc.catalog import catalog
from calc.catalog.records import NumberFormat
from calc.performance.speed import Question, speed_of
from calc.planning import serving_report
from calc.validation.scores import Row, SkipError

# What is estimated: everything measured that is not set by an engine's code. Others keep their value.
FITTED = (
    "weights_factor",
    "matrix_factor",
    "cache_factor",
    "attention_factor",
    "expert_reading_factor",
    "expert_factor",
    "step_s",
    "sequence_s",
    "launch_s",
)
# Where an estimate begins, whatever the catalogue says: kernels as fast as their laws.
START = {
    "weights_factor": 1.0,
    "matrix_factor": 1.0,
    "cache_factor": 1.0,
    "attention_factor": 1.0,
    "expert_reading_factor": 1.0,
    "expert_factor": 1.0,
    "step_s": 1e-3,
    "sequence_s": 1e-5,
    "launch_s": 5e-6,
}
LARGEST_ERROR = 1.0  # a row that is wrong by more than e counts no more


class Prepared(NamedTuple):
    """A row with what its speed is asked of."""

    row: Row
    engine: str
    figure: str
    measured: float
    question: Question

    @property
    def group(self) -> tuple[str, ...]:
        """Rows that count together as one."""
        weights = self.question.demand.weights
        kind = weights.kernel if isinstance(weights, NumberFormat) else weights.id
        return (self.row["source_key"], self.figure, kind)

    def predict(self, values: Mapping[str, float]) -> float:
        """Return the figure under the coefficients given."""
        speed = speed_of(self.question, values)
        assert speed is not None
        return speed.figures()[self.figure]

    def error(self, values: Mapping[str, float]) -> float:
        """Return the absolute logarithm of predicted over measured."""
        return abs(math.log(self.predict(values) / self.measured))


def prepare(row: Row, scenario: Mapping[str, Any], figure: str, measured: float) -> Prepared:
    """Return a row with the work of its passes; raises SkipError where its speed is not modelled."""
    found: list[tuple[Question, Any]] = []

    def recording(question: Question, values: Mapping[str, float]) -> Any:
        found.append((question, speed_of(question, values)))
        return found[-1][1]

    try:
        with patch.object(serving_report, "speed_of", recording):
            estimate(scenario)
    except ScenarioError as error:
        raise SkipError(f"refused: {error.field}") from None
    if not found or found[-1][1] is None:
        raise SkipError("no speed")
    return Prepared(row, scenario["engine"], figure, measured, found[-1][0])


def loss(items: Iterable[Prepared], values: Mapping[str, float]) -> float:
    """Return the mean error, each group counting once."""
    groups: dict[tuple[str, ...], list[float]] = {}
    for item in items:
        groups.setdefault(item.group, []).append(min(item.error(values), LARGEST_ERROR))
    return sum(sum(errors) / len(errors) for errors in groups.values()) / len(groups)


def plain_name(name: str) -> str:
    """Return a coefficient's name without the kernel or the class of device that it is for."""
    return next((known for known in FITTED if name.startswith(known)), "")


def fit(items: list[Prepared], engine: str, rounds: int = 6) -> dict[str, float]:
    """Return an engine's coefficients, estimated from rows; those without a value in the catalogue stay without."""
    values = dict(catalog().engine(engine).values)
    names = [name for name, value in values.items() if plain_name(name) and value > 0]
    values |= {name: START[plain_name(name)] for name in names}
    best, step = loss(items, values), 1.5
    for name in [name for name in names if name != plain_name(name)]:  # no row speaks for it: the plain one stands
        if loss(items, {**values, name: values[name] * 0.5}) == best:
            del values[name]
            names.remove(name)
    for _ in range(rounds):
        for name in names:
            for factor in (step, 1 / step):
                while True:
                    tried = {**values, name: values[name] * factor}
                    if "share" in name and tried[name] > 1:
                        break
                    reached = loss(items, tried)
                    if reached > best - 1e-5:
                        break
                    best, values = reached, tried
        step = step**0.6
    return values
