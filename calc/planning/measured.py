"""What stands behind an answer: measurements of its engine, device class, format and kind of model; how far it may err.

The catalogue's `measured.toml` counts rows and sources by bucket and says of which version of an engine the oldest is,
`ranges.toml` says within which factor four of five measurements of sources lay that an estimate had not seen. Both are
written by `python -m calc.validation.ranges`.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

from calc.architecture.layers import Architecture
from calc.catalog import Catalog
from calc.catalog.records import Accelerator, NumberFormat, Recipe, Weights
from calc.catalog.records.engines import version_numbers

if TYPE_CHECKING:
    from calc.memory.training.plan import Plan

SPEED, MEMORY, TRAINING_SPEED, TRAINING_MEMORY = "speed", "memory", "training-speed", "training-memory"
# Ranges of what is set aside for the cache, and of what an engine holds that sets nothing aside.
POOLS, NEW_POOLS, RANK_POOLS, TOTALS = (
    f"memory_{name}" for name in ("pool", "pool_of_new_kinds", "pool_of_unsure_ranks", "total")
)
SENSES = ("vision", "audio")  # blocks of what sees and hears
ANY = "any"  # device, where memory is asked of none
POOLED = ("NVIDIA", "AMD")  # makers of devices whose memory PyTorch's own allocator gives out: all that was measured
HOST = "host"  # device class of what stands in a host's memory, which decides the speed


class Measured(NamedTuple):
    """How many rows of how many sources stand behind a figure."""

    rows: int
    sources: int


def kind_of(architecture: Architecture) -> str:
    """Return the kind of a model, as far as it decides how well it is predicted."""
    if not architecture.writes:
        return "encoder"
    if architecture.has_encoder:
        return "encoder-decoder"
    if any(kind.recurrence is not None for kind in architecture.kinds):
        return "hybrid"
    latent = architecture.attention is not None and architecture.attention.latent
    return f"{'latent-' if latent else ''}{'mixture' if architecture.experts else 'dense'}"


def format_of(weights: Weights) -> str:
    """Return the class of a number format: how matrices in it are multiplied; llama.cpp's mixtures are one class."""
    if isinstance(weights, Recipe):
        weights = weights.base
    if isinstance(weights, NumberFormat):
        return weights.kernel.removesuffix("-block")
    return "bf16" if weights.id in ("f16", "gguf-bf16") else "gguf"


def device_of(accelerator: Accelerator | None) -> str:
    """Return the class of a device: its generation, and whether servers, workstations or players are its market."""
    if accelerator is None:
        return ANY
    name = f"{accelerator.architecture} {accelerator.segment}".casefold()
    return name.replace(" ", "-").replace("(", "").replace(")", "")


def bucket(
    *,
    engine: str,
    accelerator: Accelerator | None,
    format_class: str,
    architecture: Architecture,
    on_host: bool = False,
) -> str:
    """Return the name of what is like a scenario: engine, device class, format class and kind of model."""
    return "_".join((engine, HOST if on_host else device_of(accelerator), format_class, kind_of(architecture)))


def measured(facts: Catalog, figure: str, name: str) -> Measured:
    """Return the measurements of a figure in a bucket; none where the catalogue has no such bucket."""
    found = facts.entries("measured").get(name, {}).get(figure, (0, 0))
    assert isinstance(found, tuple | list)
    return Measured(*found)


def engine_family(engine: str, family: str) -> str:
    """Return the name under which it stands from which version of an engine on a family of models was measured."""
    return f"{engine}_family_{family}"


def measured_since(facts: Catalog, *names: str) -> str:
    """Return the engine's version from which on something was measured under all of the names; empty where none was."""
    entries = facts.entries("measured")
    versions = [str(entries.get(name, {}).get("since", "")) for name in names]
    return max(versions, key=version_numbers) if all(versions) else ""


def is_as_old(since: str, version: str) -> bool:
    """Return whether a version may have what was measured since another one, as far as it is named.

    What a newer version ran says nothing of an older one: what it refused was mended since, and families came later.

    >>> is_as_old("0.9.1", "0.9"), is_as_old("0.9.1", "0.9.0"), is_as_old("", "0.9")
    (True, False, False)
    """
    numbers = version_numbers(version)
    return bool(since) and version_numbers(since)[: len(numbers)] <= numbers


def range_factor(facts: Catalog, figure: str, *, engine: str, phase: str, sources: int) -> float:
    """Return the factor either way within which four of five measurements of an unseen source lie.

    `figure` is one of this module's, `phase` "prefill" or "decode" for speed and that of `training_phase` for training,
    `sources` those that stand behind the answer. An engine without enough sources of its own has the pooled factor.
    """
    ranges = facts.entries("ranges")
    names = ["_".join(filter(None, (figure, part, phase))) for part in (engine, "")]
    entry = next(ranges[name] for name in names if name in ranges)
    inside, between = entry["inside"], entry["between"]
    assert isinstance(inside, int | float) and isinstance(between, int | float)
    return math.exp(inside * widening(between, sources))


def family_bucket(family: str) -> str:
    """Return the name under which rows of memory are counted by family of models, of all engines."""
    return f"family_{family}"


def is_plain(architecture: Architecture) -> bool:
    """Return whether a model reads text alone and all its layers keep the same: what any engine serves alike."""
    alike = len({kind.caches for kind in architecture.kinds}) == 1
    senses = any(tensor.block in SENSES for tensor in architecture.embeddings)
    return alike and not (senses or architecture.keeps_states or architecture.has_encoder)


def engine_pools(engine: str) -> str:
    """Return the name under which an engine's pools for the cache are counted that were predicted at first sight."""
    return f"{engine}_pools"


def pool_share(facts: Catalog, engine: str, architecture: Architecture, *, ranks: bool = False) -> float:
    """Return the share of a device within which four of five pools for the cache lie of what an unseen source says.

    Of kinds that no row has shown, and of an engine whose pools nobody has predicted before he knew them, it is larger,
    and so it is of `ranks` of an engine that leaves more or less than it should.
    """
    family = measured(facts, MEMORY, family_bucket(architecture.family)).sources > 0
    known = (is_plain(architecture) or family) and measured(facts, MEMORY, engine_pools(engine)).sources > 0
    found = POOLS if known else NEW_POOLS
    return max(share_of(facts, found), share_of(facts, RANK_POOLS)) if ranks else share_of(facts, found)


def share_of(facts: Catalog, name: str) -> float:
    """Return the share that is missed by no more than one of five: of a device, or of what it holds."""
    share = facts.entries("ranges")[name]["inside"]
    assert isinstance(share, int | float)
    return share


def widening(between: float, sources: int) -> float:
    """Return by how much a range is wider than where a bucket's own error is known, as sources in it tell it.

    `between` is the variance of that error over that of sources inside a bucket. Drawn to none, the mean of n sources
    leaves `between` / (n + 1) of it: random effects, with one source's worth of what all buckets say.

    >>> round(widening(3.0, 0), 2), round(widening(3.0, 2), 2)
    (2.0, 1.41)
    """
    return math.sqrt(1 + between / (sources + 1))


def training_phase(architecture: Architecture) -> str:
    """Return the kind of work that errors of training times are of: experts add traffic and small products."""
    return "mixtures" if architecture.experts else "dense"


def measured_report(memory: Measured, speed: Measured | None) -> dict[str, object]:
    """Return the report's field: what stands behind speed and memory, and first what stands behind the answer.

    `speed` is None where the report answers no speed.
    """
    found = {"memory": memory} if speed is None else {"memory": memory, "speed": speed}
    first = found.get("speed", memory)
    return {**first._asdict(), **{name: counts._asdict() for name, counts in found.items()}}


def training_bucket(plan: "Plan", accelerator: Accelerator | None) -> str:
    """Return the name of what is like a training run: adapters or all of a model, device class, format and kind."""
    base, scheme = plan.method.base, plan.scheme.id
    format_class = "fp8" if scheme == "fp8-mixed" else "fp32" if scheme == "fp32" else "bf16"
    return bucket(
        engine="adapters" if plan.adapters else "full",
        accelerator=accelerator,
        format_class=format_of(base) if plan.adapters and base.bits < 16 else format_class,
        architecture=plan.architecture,
    )


def memory_bucket(plan: "Plan", accelerator: Accelerator | None) -> str:
    """Return the name of what is like a training run's memory, which PyTorch's allocator gives out alike on any GPU."""
    pooled = accelerator is not None and accelerator.vendor in POOLED and not plan.by_xla
    return training_bucket(plan, None if pooled else accelerator)
