"""Launchers: how a program is started, flag by flag."""

from typing import NamedTuple

from calc.catalog.check import Check, Entry, Tables, check_reference
from calc.catalog.records import version_numbers
from calc.catalog.schema import Rules

LAUNCHER_RULES: Rules = {
    "engine?": (str,),
    "framework?": (str,),
    "program": (list,),
    "model_flag": (str,),
    "image": (str,),
    "otherwise": (list,),
    "flags": (list,),
    "source": (str,),
    "checked": (str,),
}
FLAG_RULES: Rules = {
    "of": (str,),
    "flag": (str,),
    "because": (str,),
    "values?": (dict,),
    "switch?": (bool,),
    "several?": (bool,),
    "first?": (str,),
    "last?": (str,),
}
# The choices that a flag may be of.
CHOICES = (
    "tensor",
    "pipeline",
    "data",
    "expert",
    "context",
    "context_tokens",
    "memory_fraction",
    "slots",
    "no_graphs",
    "text_only",
    "sequences",
    "cells",
    "batched_tokens",
    "cache",
    "cache_v",
    "loading",
    "options",
    "gpu_layers",
    "experts_on_host",
    "flash",
    "split",
    "tensor_split",
    "machines",
    "rank",
    "address",
    "ray",
    "speculation",
    "adapter_count",
    "adapter_rank",
    "config",
    "dataset",
    "micro_batch",
    "gradient_accumulation",
    "sequence_tokens",
    "packing",
    "kept",
    "precision",
    "optimizer",
    "attention",
    "checkpointing",
    "loss",
    "adapters",
    "lora_rank",
    "lora_targets",
    "base",
)


class Flag(NamedTuple):
    """A flag of a program, and the choice that it is of."""

    of: str
    flag: str
    because: str
    values: dict[str, str] | None = None  # what it says for a number format; None: the choice itself
    switch: bool = False  # it has no value
    several: bool = False  # it has as many values as there are words
    first: str = ""  # version that has it
    last: str = ""

    def is_in(self, version: str) -> bool:
        """Return whether a version has the flag."""
        numbers = version_numbers(version)
        early = bool(self.first) and numbers < version_numbers(self.first)
        return not early and not (self.last and numbers > version_numbers(self.last))


class Launcher(NamedTuple):
    """How an engine, or a framework of training, is started."""

    id: str
    program: tuple[str, ...]
    model_flag: str  # before the model; empty: the model follows the program
    image: str  # of a container, empty where there is none
    otherwise: tuple[str, ...]  # choices that need no flag
    flags: tuple[Flag, ...]
    source: str
    checked: str


def check_launcher(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check how an engine is started."""
    if not check.fields(where, entry, LAUNCHER_RULES):
        return
    check_reference(check, f"{where}.source", entry["source"], tables)
    for field, kind in (("engine", "engines"), ("framework", "frameworks")):
        if field in entry:
            check.choice(f"{where}.{field}", entry[field], tables[kind])
    if ("engine" in entry) == ("framework" in entry):
        check.problem(f"{where}.engine", "an engine or a framework is started, one of the two")
    for name in entry["otherwise"]:  # type: ignore[attr-defined]
        check.choice(f"{where}.otherwise", name, CHOICES)
    for flag in entry["flags"]:  # type: ignore[attr-defined]
        place = f"{where}.flags"
        if check.fields(place, flag, FLAG_RULES):
            check.choice(f"{place}.of", flag["of"], CHOICES)


def make_launcher(entry_id: str, entry: Entry) -> Launcher:
    """Return a launcher's record from its checked table."""
    flags: list[dict[str, object]] = entry["flags"]  # type: ignore[assignment]
    return Launcher(
        id=entry_id,
        program=tuple(entry["program"]),  # type: ignore[arg-type]
        model_flag=str(entry["model_flag"]),
        image=str(entry["image"]),
        otherwise=tuple(entry["otherwise"]),  # type: ignore[arg-type]
        flags=tuple(Flag(**flag) for flag in flags),  # type: ignore[arg-type]
        source=str(entry["source"]),
        checked=str(entry["checked"]),
    )
