"""The command that trains with torchtitan: a configuration of its own for the model, and what the answer assumed."""

from collections.abc import Iterator, Mapping
from typing import Any

from calc.catalog import Catalog
from calc.derivation import INFO, Warn
from calc.launching.command import flags_of
from calc.launching.trained import PORT, Trained, keeps_wide

NAME = "torchtitan"
HEAD = "$HEAD"  # the first machine
SHARDED = ("zero-2", "zero-3")


def started(filled: Mapping[str, Any], facts: Catalog, *, machines: int, devices: int) -> Trained:
    """Return what is started for a scenario of training with torchtitan, as its report filled it in."""
    launcher = facts.launcher(NAME)
    said, left = flags_of(launcher, dict(choices(filled)), "")
    own = launcher.configurations.get(str(filled["model"]), "")
    module, config = own.split() if own else ("MODULE", "CONFIGURATION")
    joined = ["--nnodes", str(machines), "--nproc_per_node", str(devices)]
    if machines > 1:
        joined += ["--rdzv_backend", "c10d", "--rdzv_endpoint", f"{HEAD}:{PORT}"]
    words = (*launcher.program, *joined, "-m", "torchtitan.train", launcher.model_flag, module, "--config", config)
    return Trained(
        framework=NAME,
        words=words,
        said=tuple(said),
        files=(),
        machines=machines,
        devices=devices,
        warnings=(*doubts(filled, known=bool(own)), *left),
        each="each machine, with HEAD the first of them",
    )


def choices(filled: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Iterate over what a run is told, by the name that flags have for it."""
    layout, sharding, own = filled["parallelism"], filled["sharding"], filled["micro_batch"]
    sequences = own * filled["gradient_accumulation"] * layout["data"]
    piped = layout["pipeline"] > 1  # whose batch is divided into passes, and is not made of steps of their own
    yield "micro_batch", own * filled["gradient_accumulation"] if piped else own
    yield "global_batch", sequences
    if piped:
        yield "piece", own
    yield "sequence_tokens", filled["sequence_tokens"]
    if tokens := filled.get("training_tokens"):
        yield "steps", -(-tokens // (sequences * filled["sequence_tokens"]))
    yield "kept", "fp32" if keeps_wide(filled["precision"]) or filled["precision"].endswith("-mixed") else "bf16"
    yield "precision", filled["precision"]
    if filled["offload"]:
        yield "offload", " ".join(sorted(filled["offload"]))
    yield from ((name, layout[name]) for name in ("tensor", "pipeline", "context", "expert") if layout[name] > 1)
    shared = sharding in SHARDED
    yield "replicas", 1 if shared else layout["data"]
    yield "shards", layout["data"] if shared else 1
    if shared:
        yield "gathered", sharding
    if filled["compile"] is True:
        yield "compiled", True
    if filled["optimizer"] != "adamw":
        yield "optimizer", filled["optimizer"]
    if filled["method"] != "full":
        yield "adapters", True
    yield "checkpointing", filled["checkpointing"]


def doubts(filled: Mapping[str, Any], *, known: bool) -> Iterator[Warn]:
    """Iterate over what the command does not say of the scenario."""
    yield Warn(
        "dataset-needed", "its configurations read C4: name your own texts in a configuration", "training_tokens"
    )
    if not known:
        model = filled["model"] if isinstance(filled["model"], str) else "this model"
        message = f"torchtitan has no configuration of {model}: write one, and put it in place of these words"
        yield Warn("weights-needed", message, "model", INFO)
    if filled["precision"].endswith("-mixed"):
        message = (
            "torchtitan keeps no weights in 16 bit beside those in FP32: precision bf16-autocast says what it takes"
        )
        yield Warn("precision-differs", message, "precision")
