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
from calc.catalog.records import Accelerator, Weights
from calc.memory.budget import Layout
from calc.performance.decode import step_of
from calc.performance.flops import Work
from calc.performance.prefill import seconds_of
from calc.performance.roofline import kernel_class, machine, pass_times
from calc.performance.speed import speed_of
from calc.planning import serving_report
from calc.validation.scores import Row, SkipError

# What is estimated: everything measured that is not set by an engine's code. Others keep their value.
FITTED = (
    "weights_share",
    "cache_share",
    "matrix_share",
    "attention_share",
    "expert_share",
    "layer_gap_s",
    "step_s",
    "sequence_s",
    "host_layer_s",
    "host_expert_s",
    "pcie_latency_s",
)
# Where an estimate begins, whatever the catalogue says.
START = {
    "weights_share": 0.7,
    "cache_share": 0.6,
    "matrix_share": 0.5,
    "attention_share": 0.4,
    "expert_share": 0.3,
    "layer_gap_s": 3e-5,
    "step_s": 5e-4,
    "sequence_s": 1e-5,
    "host_layer_s": 8e-4,
    "host_expert_s": 5e-5,
    "pcie_latency_s": 5e-5,
}
LARGEST_ERROR = 1.0  # a row that is wrong by more than e counts no more


class Prepared(NamedTuple):
    """A row with the work of its passes."""

    row: Row
    engine: str
    figure: str
    measured: float
    accelerator: Accelerator
    weights: Weights
    layout: Layout
    attention: str
    prefill: Work
    passes: int
    decode: Work
    parts: int
    sequences: int
    prompt_tokens: int
    output_tokens: int

    @property
    def group(self) -> tuple[str, ...]:
        """Rows that count together as one."""
        return (self.row["source_key"], self.figure, kernel_class(self.weights, self.accelerator))

    def predict(self, values: Mapping[str, float]) -> float:
        """Return the figure under the coefficients given."""
        device = machine(
            accelerator=self.accelerator,
            weights=self.weights,
            values=values,
            layout=self.layout,
            attention=self.attention,
        )
        assert device is not None
        stages = self.layout.pipeline
        pass_s = pass_times(self.prefill, device, self.layout, decode=False).total
        first = seconds_of(passes=self.passes, pass_s=pass_s, stages=stages, overlaps=values["overlaps_prefill"])
        step = pass_times(self.decode, device, self.layout, decode=True).total
        step = step_of(pass_s=step, parts=self.parts, stages=stages)
        return {
            "prefill_tokens_per_s": self.sequences * self.prompt_tokens / first,
            "decode_tokens_per_s": self.sequences / step,
            "time_to_first_token_s": first,
            "time_per_output_token_s": step,
            "output_tokens_per_s": self.sequences
            * self.output_tokens
            / (first + step * max(self.output_tokens - 1, 0)),
        }[self.figure]

    def error(self, values: Mapping[str, float]) -> float:
        """Return the absolute logarithm of predicted over measured."""
        return abs(math.log(self.predict(values) / self.measured))


def prepare(row: Row, scenario: Mapping[str, Any], figure: str, measured: float) -> Prepared:
    """Return a row with the work of its passes; raises SkipError where its speed is not modelled."""
    found: list[tuple[dict[str, Any], Any]] = []

    def recording(**arguments: Any) -> Any:
        found.append((arguments, speed_of(**arguments)))
        return found[-1][1]

    try:
        with patch.object(serving_report, "speed_of", recording):
            estimate(scenario)
    except ScenarioError as error:
        raise SkipError(f"refused: {error.field}") from None
    if not found or found[-1][1] is None:
        raise SkipError("no speed")
    arguments, speed = found[-1]
    return Prepared(
        row,
        scenario["engine"],
        figure,
        measured,
        arguments["accelerator"],
        arguments["demand"].weights,
        arguments["layout"],
        arguments["attention"],
        speed.prefill.work,
        speed.prefill.passes,
        speed.decode.work,
        speed.decode.parts,
        speed.together,
        speed.prompt_tokens,
        speed.output_tokens,
    )


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
