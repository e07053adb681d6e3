"""Rows of training speed as items of a fit: the work of a step is prepared once, and coefficients are tried on it."""

from collections.abc import Mapping
from typing import Any

from calc import ScenarioError
from calc.catalog import catalog
from calc.performance.training_step import prepare, step_time
from calc.planning.measured import training_bucket
from calc.training.reading import read_training
from calc.validation.fitting import Item
from calc.validation.scores import Row, SkipError

# What is estimated, and where an estimate begins, whatever the catalogue says.
START = {
    "matrix_share": 0.5,
    "attention_share": 0.4,
    "fp8_gain": 1.3,
    "kernel_s": 3e-5,
    "unpack_share": 0.1,
    "overlap": 0.5,
}


def start_of() -> dict[str, float]:
    """Return the coefficients of a step that rows set, at the values where an estimate begins."""
    found = {}
    for name in catalog().training_step.values:
        plain = next((known for known in START if name.startswith(known)), "")
        if plain:
            found[name] = START[plain]
    return found


def item_of(row: Row, scenario: Mapping[str, Any], measured: float) -> Item:
    """Return a row as an item; raises SkipError where its scenario is refused."""
    try:
        asked = read_training(scenario, catalog())
    except ScenarioError as error:
        raise SkipError(f"refused: {error.field}") from None
    assert asked.accelerator is not None
    plan, network = asked.plan, asked.network_bytes_per_s
    prepared = prepare(plan, asked.accelerator)
    tokens = plan.micro_batch * plan.accumulation * plan.tokens * plan.layout.data / plan.layout.devices

    def predict(values: Mapping[str, float]) -> float:
        found = step_time(prepared, values, network)
        assert found is not None
        return float(tokens / found.total)

    group = (row["source"], asked.accelerator.architecture)
    return Item(row["id"], row["source"], group, "", training_bucket(plan, asked.accelerator), measured, predict)
