"""Reading which matrices have adapters, under the names that libraries give them."""

from functools import lru_cache

from calc.architecture.layers import Architecture
from calc.architecture.matrix_names import ALIASES, ALL_LINEAR, matrix_names, read_targets
from calc.errors import ScenarioError, WrongValueError, nearest
from calc.memory.training.run import Adapters
from calc.scenario.reader import read_flag, read_object, whole
from calc.training.fields import (
    MOST_RANK,
    TrainingReader,
)

LORA_FIELDS = ("rank", "targets", "modules_to_save", "dora", "dropout", "experts")
LORA_RANK = 16


def read_adapters(reader: TrainingReader, method: str, architecture: Architecture) -> Adapters | None:
    """Return the adapters of LoRA and QLoRA, None for full training."""
    given = reader.given.get("lora")
    if method == "full":
        if given is not None:
            raise ScenarioError("lora", 'is for methods "lora" and "qlora"')
        return None
    values = read_object(reader.take("lora", {"rank": LORA_RANK, "targets": ALL_LINEAR}), "lora", LORA_FIELDS)
    rank = whole(values.get("rank", LORA_RANK), "lora.rank", 1, MOST_RANK)
    names = matrix_names(architecture)
    targets = read_targets(values.get("targets", ALL_LINEAR), names, "lora.targets")
    sides = [min(names[target]) for target in targets if target in names]
    if sides and rank > min(sides):
        narrow = next(target for target in targets if target in names and min(names[target]) == min(sides))
        message = f"{rank} is more than the {min(sides):,} of {narrow}: an adapter of that rank is no smaller than it"
        raise ScenarioError("lora.rank", message)
    saved = read_saved(values.get("modules_to_save"), architecture)
    flags = {
        name: read_flag(values.get(name, reader.presets.get(f"lora.{name}", usual)), f"lora.{name}")
        for name, usual in (("dora", False), ("experts", True))
    }
    dropout = values.get("dropout", reader.presets.get("lora.dropout", 0))
    if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout < 1:
        raise WrongValueError("lora.dropout", f"must be a number from 0 to below 1, not {dropout!r:.60}")
    reader.filled["lora"] = {
        "rank": rank,
        "targets": list(targets),
        "modules_to_save": list(saved),
        "dropout": dropout,
        **flags,
    }
    adapters = Adapters(rank, targets, saved, flags["dora"], dropout=dropout > 0, experts=flags["experts"])
    if not adapted_matrices(architecture, adapters):
        message = (
            "are those of experts alone, which have adapters with lora.experts (PEFT: target_parameters) and not else"
        )
        raise ScenarioError("lora.targets", message)
    return adapters


@lru_cache(maxsize=256)  # the same for most changes of a run
def adapted_matrices(architecture: Architecture, adapters: Adapters) -> tuple[tuple[int, int, int], ...]:
    """Return the matrices that have adapters: how many are alike, and the rows and columns of each."""
    return tuple(
        (layers * tensor.copies, tensor.shape[0], tensor.shape[1])
        for kind, layers in architecture.kind_counts()
        for tensor in kind.tensors
        if len(tensor.shape) == 2
        and tensor.name.endswith(".weight")
        and adapters.covers(tensor.name.removesuffix(".weight"))
    )


def read_saved(value: object, architecture: Architecture) -> tuple[str, ...]:
    """Return the modules that are trained in full beside the adapters."""
    if value is None:
        return ()
    tensors = (*architecture.embeddings, *architecture.head, *(t for kind in architecture.kinds for t in kind.tensors))
    known = list(dict.fromkeys(tensor.name.rsplit(".", 1)[0].rsplit(".", 1)[-1] for tensor in tensors))
    if not isinstance(value, list | tuple):
        raise ScenarioError("lora.modules_to_save", f"must be a list of module names: {', '.join(known)}")
    found = []
    for item in value:
        name = ALIASES.get(str(item), (str(item),))[0]
        if name == "lm_head" and architecture.tied:
            name = "embed_tokens"
        if name not in known:
            hint = nearest(name, known)
            raise ScenarioError("lora.modules_to_save", f"has no {item!r:.60}{hint}; known are {', '.join(known)}")
        found.append(name)
    return tuple(dict.fromkeys(found))
