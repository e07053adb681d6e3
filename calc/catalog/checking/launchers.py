"""Checking how programs are started."""

from calc.catalog.checking.check import Check, Rules, with_fields
from calc.catalog.entries import Entry, Tables

LAUNCHER_RULES: Rules = {
    "engine?": (str,),
    "framework?": (str,),
    "program": (list,),
    "model_flag": (str,),
    "image": (str,),
    "images?": (dict,),
    "prepare?": (str,),
    "listens?": (str,),
    "otherwise": (list,),
    "flags": (list,),
    "configurations?": (dict,),
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
    "attention_apart",
    "exchange",
    "balanced",
    "context_tokens",
    "memory_fraction",
    "slots",
    "stored_cache",
    "prefixes",
    "no_graphs",
    "largest_graph",
    "text_only",
    "no_videos",
    "sequences",
    "cells",
    "batched_tokens",
    "batch",
    "cache",
    "cache_v",
    "loading",
    "options",
    "gpu_layers",
    "experts_on_host",
    "unmapped",
    "flash",
    "split",
    "tensor_split",
    "machines",
    "rank",
    "head",
    "address",
    "ray",
    "speculation",
    "drafts_by",
    "draft_steps",
    "draft_width",
    "compared",
    "looked_up",
    "drafter",
    "adapter_count",
    "adapter_rank",
    "adapted",
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
    "storage",
    "global_batch",
    "piece",
    "steps",
    "offload",
    "replicas",
    "shards",
    "gathered",
    "compiled",
)


@with_fields(LAUNCHER_RULES)
def check_launcher(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check how an engine is started."""
    for field, kind in (("engine", "engines"), ("framework", "frameworks")):
        if field in entry:
            check.choice(f"{where}.{field}", entry[field], tables[kind])
    if ("engine" in entry) == ("framework" in entry):
        check.problem(f"{where}.engine", "an engine or a framework is started, one of the two")
    for model in entry.get("configurations", {}):  # type: ignore[attr-defined]
        check.choice(f"{where}.configurations", model, tables["models"])
    for name in entry["otherwise"]:  # type: ignore[attr-defined]
        check.choice(f"{where}.otherwise", name, CHOICES)
    for flag in entry["flags"]:  # type: ignore[attr-defined]
        place = f"{where}.flags"
        if check.fields(place, flag, FLAG_RULES):
            check.choice(f"{place}.of", flag["of"], CHOICES)
            if flag.get("flag") == "":
                check.problem(f"{place}.{flag['of']}", "names no option")
