"""Estimating the coefficients of training speed from rows, to show how well a source that was left out is predicted.

Coordinate descent on the mean absolute logarithm of predicted over measured, each source and generation counting once.
What does not change with the coefficients, the work of the steps, is prepared once.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from calc import ScenarioError
from calc.catalog import catalog
from calc.performance.training_step import Prepared, prepare, step_time
from calc.training.reading import read_training
from calc.validation.scores import Row, SkipError

FITTED = ("matrix_share", "attention_share", "fp8_gain", "kernel_s", "unpack_share", "overlap")
# Where an estimate begins, whatever the catalogue says.
START = {
    "matrix_share": 0.5,
    "attention_share": 0.4,
    "fp8_gain": 1.3,
    "kernel_s": 3e-5,
    "unpack_share": 0.1,
    "overlap": 0.5,
}
LARGE_ERROR = 0.3  # of a logarithm: a row that is wrong by as much counts half, and none more than this
ROUNDS, FIRST_STEP, MOST_STEPS = 5, 1.3, 4


class Item(NamedTuple):
    """A row with the work of its step."""

    row: Row
    prepared: Prepared
    network: float | None
    measured: float

    @property
    def group(self) -> tuple[str, str]:
        """Rows that count together as one."""
        return self.row["source"], self.prepared.accelerator.architecture

    def error(self, values: Mapping[str, float]) -> float:
        """Return the absolute logarithm of predicted over measured."""
        found, plan = step_time(self.prepared, values, self.network), self.prepared.plan
        assert found is not None
        tokens = plan.micro_batch * plan.accumulation * plan.tokens * plan.layout.data / plan.layout.devices
        return abs(math.log(tokens / found.total / self.measured))


def item_of(row: Row, scenario: Mapping[str, Any], measured: float) -> Item:
    """Return a row with its work; raises SkipError where its scenario is refused."""
    try:
        asked = read_training(scenario, catalog())
    except ScenarioError as error:
        raise SkipError(f"refused: {error.field}") from None
    assert asked.accelerator is not None
    return Item(row, prepare(asked.plan, asked.accelerator), asked.network_bytes_per_s, measured)


def damped(error: float) -> float:
    """Return an error that single rows cannot drive: small ones as they are, none above `LARGE_ERROR`.

    >>> round(damped(0.01), 4), round(damped(30.0), 2)
    (0.0097, 0.3)
    """
    return error * LARGE_ERROR / (error + LARGE_ERROR)


def loss(items: Iterable[Item], values: Mapping[str, float]) -> float:
    """Return the mean error, each group counting once."""
    groups: dict[tuple[str, str], list[float]] = {}
    for item in items:
        groups.setdefault(item.group, []).append(damped(item.error(values)))
    return sum(sum(errors) / len(errors) for errors in groups.values()) / len(groups)


def plain_name(name: str) -> str:
    """Return a coefficient's name without the generation or the format that it is for."""
    return next((known for known in FITTED if name.startswith(known)), "")


def fit(items: list[Item]) -> dict[str, float]:
    """Return the coefficients estimated from rows.

    One for a generation without rows is left out, and the plain one stands in its place as for any new device.
    """
    values = dict(catalog().training_step.values)
    known = {item.prepared.accelerator.architecture for item in items}
    names = [name for name in values if plain_name(name)]
    for name in [name for name in names if "@" in name and name.partition("@")[2] not in known]:
        del values[name]
        names.remove(name)
    values |= {name: START[plain_name(name)] for name in names}
    best, step = loss(items, values), FIRST_STEP
    for _ in range(ROUNDS):
        for name in names:
            for factor in (step, 1 / step):
                values, best = along(items, values, name, factor, best)
        step = step**0.6
    return values


def along(
    items: list[Item], values: dict[str, float], name: str, factor: float, best: float
) -> tuple[dict[str, float], float]:
    """Return coefficients and their loss after steps of one of them, as long as they help, and not many at once."""
    for _ in range(MOST_STEPS):
        tried = {**values, name: values[name] * factor}
        if ("share" in name or name == "overlap") and tried[name] > 1:
            return values, best
        reached = loss(items, tried)
        if reached > best - 1e-5:
            return values, best
        values, best = tried, reached
    return values, best
