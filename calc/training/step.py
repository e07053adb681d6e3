"""A training step moment by moment, and what parameters cost in it: weights, masters, gradients and states."""

from collections.abc import Mapping

from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.memory.training.moments import STEP, Moment
from calc.planning.training_fit import fullest
from calc.training.reading import read_training

LAYOUT = ("parallelism", "accelerators", "sharding", "shard_ranks", "sequence_parallel", "offload")
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


def states_bytes(scenario: Mapping[str, object]) -> int:
    """Return the bytes of all model states together, on the fullest device. Raises ScenarioError as `model_states`."""
    return together(model_states(scenario))


def saved_states(scenario: Mapping[str, object]) -> dict[str, int]:
    """Return the bytes of a checkpoint from which a run goes on, of all devices: what is trained, and its states.

    Gradients are not saved, nor frozen weights: they are those of the model that the run began with. Raises
    ScenarioError as `model_states`.
    """
    whole = {name: value for name, value in scenario.items() if name not in LAYOUT}
    parts = {name: size for name, size in model_states(whole).items() if size and name != "gradients"}
    if "adapters" in parts:
        parts.pop("weights")
    return parts


def together(parts: Mapping[str, int]) -> int:
    """Return the bytes of some parts together.

    >>> together({"weights": 2, "gradients": 4})
    6
    """
    return sum(parts.values())


def bytes_a_parameter(size_bytes: float, *, parameters: int) -> float:
    """Return the bytes that something costs for each parameter of a model.

    >>> bytes_a_parameter(112e9, parameters=7_000_000_000)
    16.0
    """
    return size_bytes / parameters
