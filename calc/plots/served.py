"""A scenario's speeds, asked again and again with other numbers of sequences."""

from typing import Any, NamedTuple

from calc.errors import ScenarioError
from calc.performance.speed import Question, Speed, speed_of
from calc.planning.served import Served
from calc.planning.serving import Serving
from calc.planning.serving_question import speed_question
from calc.planning.serving_speed import serving_speed
from calc.plots.placed import Placed

Report = dict[str, Any]


class Timed(NamedTuple):
    """A placed scenario with its engine."""

    placed: Placed
    serving: Serving
    most: int  # sequences that are served at once

    def served(self, sequences: int) -> Served:
        """Return the demand of so many sequences under the engine."""
        demand, layout = self.placed.demand._replace(sequences=sequences), self.placed.layout
        return Served(self.serving, demand, layout, *self.serving.fullest(demand, layout), self.most)

    def report(self, sequences: int) -> Report:
        """Return the speeds of so many sequences, as a report has them."""
        asked = self.placed.asked
        found = serving_speed(self.served(sequences), asked.output_tokens, asked.cached_tokens)
        if found is None:
            raise unknown(self.placed)
        return found[0]

    def question(self, sequences: int) -> Question:
        """Return what the speed of so many sequences is asked of."""
        asked = self.placed.asked
        found = speed_question(self.served(sequences), asked.output_tokens, asked.cached_tokens)
        if found is None:
            raise unknown(self.placed)
        return found

    def speed(self, sequences: int) -> Speed:
        """Return the operations and the times of so many sequences."""
        found = speed_of(self.question(sequences), self.serving.engine.values)
        if not found:
            raise unknown(self.placed)
        return found


def timed(placed: Placed) -> Timed:
    """Return a placed scenario with its engine. Raises ScenarioError without an engine or a device."""
    serving = placed.serving(traffic=None, concurrency=None)
    if serving is None:
        raise ScenarioError("engine", "is missing: a speed is that of an engine")
    if placed.accelerator is None:
        raise ScenarioError("accelerator", "is missing: a speed is that of a device")
    return Timed(placed, serving, serving.most_sequences(placed.demand, placed.layout) * placed.layout.data)


def unknown(placed: Placed) -> ScenarioError:
    """Return the error for a device whose rates no source has."""
    return ScenarioError("accelerator", f"no source has the rate at which the model computes{placed.where()}")
