"""Reading which adapters are served beside a model: a scenario's `adapters_served`."""

from calc.architecture.layers import Architecture
from calc.architecture.matrix_names import ALL_LINEAR, matrix_names, read_targets
from calc.catalog.records import Engine
from calc.errors import ScenarioError
from calc.memory.served_adapters import ServedAdapters
from calc.memory.training.run import Adapters
from calc.scenario.fields import OF_HOST
from calc.scenario.reader import Reader, read_object, whole

FIELDS = ("count", "rank", "targets")
RANK, MOST_RANK, MOST_ADAPTERS = 16, 4096, 10_000


def read_adapters_served(reader: Reader, engine: Engine | None, architecture: Architecture) -> ServedAdapters:
    """Return the adapters on the device: how many, their rank, and the matrices that have them."""
    field = "adapters_served"
    value = read_object(reader.given[field], field, FIELDS)
    count = whole(value.get("count", 1), f"{field}.count", 1, MOST_ADAPTERS)
    if engine is not None and count > 1 and not engine.values.get("batches_adapters"):
        message = f"does not apply: {engine.name} works on requests of one adapter at a time; count 1 works"
        raise ScenarioError(f"{field}.count", message, instead=(1,))
    for name in (name for name in OF_HOST if name in reader.given):
        raise ScenarioError(field, f"does not go together with {name}: adapters are modelled on the device alone")
    names = matrix_names(architecture)
    rank = whole(value.get("rank", RANK), f"{field}.rank", 1, MOST_RANK)
    targets = read_targets(value.get("targets", ALL_LINEAR), names, f"{field}.targets")
    targets = tuple(target for target in targets if target in names)  # adapters of the output matrix are not served
    if not targets:
        raise ScenarioError(f"{field}.targets", f"has no matrix of the layers; known are {', '.join(names)}")
    narrow = min(targets, key=lambda target: min(names[target]))
    if rank > min(names[narrow]):
        message = f"{rank} is more than the {min(names[narrow]):,} of {narrow}"
        raise ScenarioError(f"{field}.rank", message)
    reader.filled[field] = {"count": count, "rank": rank, "targets": list(targets)}
    return ServedAdapters(count, Adapters(rank, targets))
