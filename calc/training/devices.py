"""What a training run is divided over: its ranks, those that share a copy of what is trained, and their network."""

from calc.architecture.layers import Architecture
from calc.errors import ScenarioError, WrongValueError
from calc.memory.budget import Layout
from calc.memory.training.plan import GRADIENTS, OPTIMIZER, PARAMETERS
from calc.planning.layout import check_layout
from calc.scenario.fields import MOST_DEGREE
from calc.scenario.layout import read_layout
from calc.training.fields import SHARDING, TrainingReader

LEAST_NETWORK, MOST_NETWORK = 0.01, 100_000  # Gb/s


def read_division(reader: TrainingReader, architecture: Architecture) -> tuple[Layout, int, int]:
    """Return the layout, what sharding divides, and how many ranks share a copy. Devices are data ranks by default."""
    layout, devices = read_layout(reader)
    if layout is None:
        layout = Layout(data=devices or 1)
    check_layout(architecture, layout)
    if architecture.layer_count % layout.pipeline and layout.pipeline > architecture.layer_count:
        raise ScenarioError("parallelism.pipeline", f"must not be more than the {architecture.layer_count} layers")
    for name in ("parallelism", "accelerators"):
        if name not in reader.given:
            reader.defaults.append(name)
    reader.filled["accelerators"], reader.filled["parallelism"] = layout.devices, layout._asdict()
    stage = SHARDING[reader.choice("sharding", tuple(SHARDING))]
    if reader.filled["sharding"] == "fsdp":
        reader.filled["sharding"] = "zero-3"
    ranks = layout.data * layout.context
    shards = ranks if stage else 1
    if "shard_ranks" in reader.given:
        shards = reader.count("shard_ranks", most=MOST_DEGREE)
        if not stage:
            raise ScenarioError("shard_ranks", "needs sharding: it says how many ranks share one copy")
        if ranks % shards:
            raise ScenarioError("shard_ranks", f"must divide the {ranks} data × context ranks, not be {shards}")
    return layout, stage, shards


def expert_shares(layout: Layout, stage_of_zero: int) -> tuple[int, int, int]:
    """Return how many times fewer ranks share what an expert has than share the rest: those taken for expert ranks.

    Expert ranks beyond the tensor-parallel ones are data-parallel ranks that hold other experts.
    """
    fewer = max(1, layout.expert // layout.tensor)
    states, gradients, weights = (fewer if stage_of_zero >= what else 1 for what in (OPTIMIZER, GRADIENTS, PARAMETERS))
    return states, gradients, weights


def read_network(reader: TrainingReader) -> float | None:
    """Return a device's share of the network between machines in bytes a second, None where nothing is said."""
    value = reader.given.get("network_gbit_per_s")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not LEAST_NETWORK <= value <= MOST_NETWORK:
        message = f"must be a device's share in Gb/s, from {LEAST_NETWORK:g} to {MOST_NETWORK:,}, not {value!r:.60}"
        raise WrongValueError("network_gbit_per_s", message)
    reader.filled["network_gbit_per_s"] = value
    return value * 1e9 / 8
