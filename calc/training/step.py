"""A training step moment by moment, and what parameters cost in it: weights, masters, gradients and states."""

from collections.abc import Mapping

from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.memory.training.moments import STEP, Moment
from calc.planning.training_fit import fullest
from calc.training.reading import read_training

STATES = ("weights", "master_weights", "adapters", "gradients", "optimizer_states")


def moments(scenario: Mapping[str, object]) -> tuple[Moment, ...]:
    """Return the widest moments of a step on the fullest device of a scenario of `workload: training`, in their order.

    Raises ScenarioError for a scenario that is wrong.
    """
    return fullest(read_training(scenario, catalog()).plan)[0].moments


def model_states(scenario: Mapping[str, object]) -> dict[str, int]:
    """Return the bytes that parameters cost on the fullest device when the optimizer works, by part.

    Every gradient is there then, and no activation (arXiv:1910.02054 calls this the model states). Raises ScenarioError
    for a run without such a moment: with `optimizer_in_backward` no two layers' gradients are there at once.
    """
    alive = next((moment.parts for moment in moments(scenario) if moment.phase == STEP), None)
    if alive is None:
        raise ScenarioError("optimizer_in_backward", "leaves no moment at which all gradients are there")
    return {name: alive[name] for name in STATES}
