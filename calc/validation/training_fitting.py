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

# What is taken without these rows, whatever the catalogue says: kernels keep most of their speed; of attention's, what
# the papers of FlashAttention 2 and 3 say of the generation before (arXiv:2307.08691, arXiv:2407.08608).
START = {
    "product_share": 0.9,
    "attention_share_1": 0.55,
    "attention_share_1@Hopper": 0.3,
    "eager_share": 0.6,
    "fsdp.ring_share": 0.8,
    "kernel_s": 4e-5,
    "unpack_share": 0.5,
    "unpack_share_gptq": 0.1,
    "overlap": 0.5,
    "tensor_hidden": 0.2,
}
SHRINK = 0.001
LARGE_ERROR = 0.3  # of a logarithm: a row that is wrong by as much counts half, and none more than this
ROUNDS, FIRST_STEP, MOST_STEPS = 5, 1.3, 4


class Item(NamedTuple):
    """A row with the work of its step."""

    row: Row
    prepared: Prepared
    measured: float

    @property
    def group(self) -> tuple[str, str]:
        """Rows that count together as one."""
        return self.row["source"], self.prepared.accelerator.architecture

    def error(self, values: Mapping[str, float]) -> float:
        """Return the absolute logarithm of predicted over measured."""
        found, plan = step_time(self.prepared, values), self.prepared.plan
        tokens = plan.micro_batch * plan.accumulation * plan.tokens * plan.layout.data / plan.layout.devices
        return abs(math.log(tokens / found.total / self.measured))


def item_of(row: Row, scenario: Mapping[str, Any], measured: float) -> Item:
    """Return a row with its work; raises SkipError where its scenario is refused."""
    try:
        asked = read_training(scenario, catalog())
    except ScenarioError as error:
        raise SkipError(f"refused: {error.field}") from None
    assert asked.accelerator is not None
    prepared = prepare(asked.plan, asked.accelerator, asked.network_bytes_per_s)
    assert prepared is not None
    return Item(row, prepared, measured)


def damped(error: float) -> float:
    """Return an error that single rows cannot drive: small ones as they are, none above `LARGE_ERROR`.

    >>> round(damped(0.01), 4), round(damped(30.0), 2)
    (0.0097, 0.3)
    """
    return error * LARGE_ERROR / (error + LARGE_ERROR)


def loss(items: Iterable[Item], values: Mapping[str, float]) -> float:
    """Return the mean error, each group counting once, and what coefficients that lie apart cost."""
    groups: dict[tuple[str, str], list[float]] = {}
    for item in items:
        groups.setdefault(item.group, []).append(damped(item.error(values)))
    return sum(sum(errors) / len(errors) for errors in groups.values()) / len(groups) + SHRINK * distance(values)


def parent_of(name: str, values: Mapping[str, float]) -> str:
    """Return the coefficient that stands where this one is missing: without its generation, or without its trainer.

    >>> parent_of("fsdp.ring_share", {"ring_share": 1.0}), parent_of("product_share@Hopper", {"product_share": 0.9})
    ('ring_share', 'product_share')
    """
    trainer, _, rest = name.rpartition(".")
    plain, _, generation = rest.partition("@")
    for found in (
        f"{plain}@{generation}" if trainer and generation else "",
        f"{trainer}.{plain}" if generation else "",
        plain,
    ):
        if found in values and found != name:
            return found
    return ""


def start_of(name: str) -> float | None:
    """Return what a coefficient begins with; None where it is not estimated from rows."""
    return START.get(name, START.get(name.rpartition(".")[2].partition("@")[0]))


def distance(values: Mapping[str, float]) -> float:
    """Return how far coefficients lie from what stands where they are missing, in logarithms.

    So that few rows of one source move them little: they are shrunk towards their family's, and a family's to what is
    known without rows.
    """
    total = 0.0
    for name, value in values.items():
        start, parent = start_of(name), parent_of(name, values)
        if start is not None:
            total += abs(math.log(value / (values[parent] if parent and name not in START else start)))
    return total


def fit(items: list[Item]) -> dict[str, float]:
    """Return the coefficients estimated from rows.

    One for a generation without rows is left out, and the plain one stands in its place as for any new device.
    """
    values = dict(catalog().training_step.values)
    known = {item.prepared.accelerator.architecture for item in items}
    names = [name for name in values if start_of(name) is not None]
    for name in [name for name in names if "@" in name and name.partition("@")[2] not in known]:
        del values[name]
        names.remove(name)
    values |= {name: start for name in names if (start := start_of(name)) is not None}
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
        if tried[name] > 1:  # all of them are shares, or far below a second
            return values, best
        reached = loss(items, tried)
        if reached > best - 1e-5:
            return values, best
        values, best = tried, reached
    return values, best
