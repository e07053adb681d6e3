"""From a row of training_memory.csv to a scenario in the contract's fields: every reading decision is here."""

import re

from calc.catalog import catalog
from calc.memory.training.loss import COMPILED, NARROW, SHIFTED
from calc.validation.models import named
from calc.validation.scores import Row, SkipError
from calc.validation.training_sources import CURRENT, FRAMEWORKS, IMPOSSIBLE, LATER_BITSANDBYTES, LOSS_COMPILED

GIB = 2**30


PRECISIONS = (
    ("float8", "fp8-mixed"),
    ("fp32 sharded", "bf16-autocast"),
    ("bf16 under autocast", "bf16-autocast"),
    ("fp16 under autocast", "fp16-autocast"),
    ("bf16-mixed (fp32", "bf16-autocast"),
    ("gptq int4 base (autogptq)", "fp16-mixed"),  # with DeepSpeed, which runs no autocast
    ("gptq", "bf16"),
    ("amp", "bf16-mixed"),
    ("mixed precision via deepspeed", "bf16-mixed"),
    ("hybrid-zero", "bf16-mixed"),
    ("masters beside", "bf16-mixed"),
    ("fp16 mixed", "fp16-mixed"),
    ("bf16", "bf16"),
    ("fp32", "fp32"),
)
TARGETS = {
    "all-linear": "all-linear",
    "query,key,value,projection,mlp,head": ["q", "k", "v", "o", "mlp", "head"],
    "query,value": ["q", "v"],
    "query_key_value": ["query_key_value"],
    "c_attn": ["c_attn"],
    "c_attn,c_proj,w1,w2": ["c_attn", "c_proj", "w1", "w2"],
}


def model_of(row: Row) -> object:
    """Return the row's model as the contract takes it."""
    if row["model"].startswith("Llama-3-shaped"):
        return named(row["model"].casefold())
    name = row["model"].casefold().split(" (readme")[0].replace(" (gptq)", "")
    name = name.removesuffix("-int4").removesuffix("-chat")
    model = named(name)
    if FRAMEWORKS.get(row["source"]) != "litgpt" or not isinstance(model, str):
        return model
    return {"config": {**catalog().model(model).config, "tie_word_embeddings": False}}  # litgpt keeps both matrices


def number(text: str) -> int | None:
    """Return the first whole number in a cell."""
    found = re.search(r"\d+", text)
    return int(found.group()) if found else None


def degrees(row: Row) -> tuple[dict[str, int], str]:
    """Return the row's parallel degrees and its sharding."""
    text = row["parallelism"].casefold()
    found = {key: int(value) for key, value in re.findall(r"(fsdp|tp|pp|dp|cp|ep)=(\d+)", text)}
    devices = int(row["n_gpus"])
    layout = {"tensor": found.get("tp", 1), "pipeline": found.get("pp", 1), "context": found.get("cp", 1)}
    layout["data"] = devices // (layout["tensor"] * layout["pipeline"] * layout["context"])
    if found.get("ep", 1) > 1:
        layout["expert"] = found["ep"]
    if "distributed optimizer" in text and layout["data"] > 1:
        return layout, "zero-1"
    for stage in (1, 2, 3):
        if f"zero{stage}" in text and devices > 1:
            return layout, f"zero-{stage}"
    if row["source"] == "internevo" and "fsdp" not in text:
        return layout, "zero-1"  # HybridZeroOptimizer, on one data-parallel rank too
    if row["source"] == "qwen_readme" and row["method"] in ("full", "qlora") and devices == 1:
        return layout, "zero-2"  # DeepSpeed on one device; the source does not state the stage
    return layout, "fsdp" if "fsdp" in text else "none"


# What notes of rows say, and the fields that say it.
NOTES: dict[str, dict[str, object]] = {
    "packed": {"varied_lengths": False},
    "batches differ in length": {"varied_lengths": True},
    "expandable segments": {"expandable_segments": True},
    "eager attention": {"attention": "eager"},
    "attention in tiles": {"attention": "flash"},
    "adapters in BF16": {"adapter_dtype": "bf16"},
    "adapters in FP32": {"adapter_dtype": "fp32"},
    "base in BF16": {"base_weights": "bf16"},
    "base in FP16": {"base_weights": "fp16"},
    "base in FP32": {"base_weights": "fp32"},
    "gathered in FP32": {"gather_dtype": "fp32"},
    "made outside zero.Init": {"gathered_weights_kept": True},
    "filled sequences": {"varied_lengths": False},
    "padded, with a mask": {"padding_mask": True},
    "logits held": {"keep_logits": True},
    "loss fused with the output matrix": {"cross_entropy": "fused"},
    "loss in pieces": {"cross_entropy": "chunked"},
    "logits let go": {"keep_logits": False},
    "sums of gradients in BF16": {"gradient_dtype": "bf16"},
    "gradients reduced in BF16": {"reduce_dtype": "bf16"},
    "gradients wait whole, in FP32": {"gradient_reduction": "last", "gradient_dtype": "fp32"},
    "gradients reduced with each micro-batch": {"gradient_reduction": "each"},
    "CUDA graphs of the whole step": {"graphs": True},
    "CUDA graphs of attention and routers": {"graphs": "layers"},
}
COMMONEST = "transformers"
OF_FRAMEWORK = ("framework", "engine_version", "tables_apart")
# What a scenario may say of the ways of a framework, beside its name.
WAYS = (*OF_FRAMEWORK, "base_inputs_kept", "compile", "expandable_segments", "varied_lengths")


def without_framework(scenario: dict[str, object]) -> dict[str, object]:
    """Return a scenario that does not name its framework; what the row's source says of the run stays."""
    return {name: value for name, value in scenario.items() if name not in OF_FRAMEWORK}


def as_usual(scenario: dict[str, object]) -> dict[str, object]:
    """Return a scenario with all ways of its framework left to their defaults, and of libraries' versions."""
    usual = {name: value for name, value in scenario.items() if name not in WAYS}
    if usual["cross_entropy"] == "compiled":
        usual["cross_entropy"] = "full"
    if usual["optimizer"] == "adamw-foreach-2.0":
        usual["optimizer"] = "adamw-foreach"
    return usual


def as_commonest(scenario: dict[str, object]) -> dict[str, object]:
    """Return a scenario that says nothing of its ways as if the framework that most people take had run it."""
    return as_usual(scenario) | {"framework": COMMONEST}


def check(row: Row) -> None:
    """Raise SkipError with the reason where a row has no figure, or none that can be true."""
    if row["confidence"] == "low":
        raise SkipError("low confidence: its notes say why")
    if "logits are whole on each tensor rank" in row["notes"]:
        raise SkipError("each tensor rank has the logits of the whole vocabulary, which no field says")
    if row["outcome"] == "OOM":
        raise SkipError("the run did not fit, so nothing was measured")
    if not row["measured_GiB_per_gpu"]:
        raise SkipError("a limit is stated and no figure")
    if row["source"] == "glm4":
        raise SkipError("a limit on lengths is stated that its data set does not come near")
    if row["id"] in IMPOSSIBLE:
        raise SkipError("less than weights, gradients and the states of the optimizer named: something else was run")


def scenario_of(row: Row) -> dict[str, object]:
    """Return the row as a scenario; raises SkipError with the reason where there is none."""
    check(row)
    method = {"pretrain-full": "full"}.get(row["method"], row["method"])
    if method not in ("full", "lora", "qlora"):
        raise SkipError(f"method {row['method']} is not one of the contract's")
    tokens, batch = number(row["seq_len"]), number(row["micro_batch"])
    if not (tokens and batch):
        raise SkipError("length of sequences or micro-batch is not stated")
    layout, sharding = degrees(row)
    if layout["pipeline"] > 1 and number(row["micro_batch"]) and row["source"] == "torchtitan":
        batch = max(batch // layout["pipeline"], 1)  # the column is cut into as many micro-batches as stages
    scheme = row["dtype_scheme"].casefold()
    scenario: dict[str, object] = {
        "workload": "training",
        "model": model_of(row),
        "method": method,
        "precision": next((name for word, name in PRECISIONS if word in scheme), "bf16"),
        "optimizer": optimizer_of(row),
        "sharding": sharding,
        "parallelism": layout,
        "micro_batch": batch,
        "sequence_tokens": tokens,
        "checkpointing": next(
            (name for name in ("full", "selective") if row["act_checkpoint"].startswith(name)), "none"
        ),
        "cross_entropy": loss_of(row),
        "compile": row["torch_compile"].startswith(("yes", "fused")),
        "sequence_parallel": layout["tensor"] > 1 and "no sequence" not in row["parallelism"],
    }
    steps = number(row["grad_accum"]) or 1
    scenario["gradient_accumulation"] = layout["pipeline"] if layout["pipeline"] > 1 else steps
    if "fused in backward" in row["optimizer"] or "optimizer_in_bwd" in row["optimizer"]:
        scenario["optimizer_in_backward"] = True
        scenario["gradient_accumulation"] = 1
    if method != "full":
        scenario["lora"] = adapters_of(row)
        if "nf4" in scheme:
            double = "torchao" in scheme or "nf4-dq" in scheme
            scenario["base_weights"] = "nf4-dq" if double else "nf4"
        for words, base in (("gptq", "gptq-int4"), ("over int8", "int8")):
            if words in scheme:
                scenario["base_weights"] = base
    return scenario | noted(row) | framework_of(row) | offload_of(row)


def noted(row: Row) -> dict[str, object]:
    """Return what a row's notes say of its run."""
    found: dict[str, object] = {}
    for words, fields in NOTES.items():
        if words in row["notes"]:
            found |= fields
    return found


def framework_of(row: Row) -> dict[str, object]:
    """Return what trained the row, in which version, and what it did otherwise then than it does now."""
    framework = "torchtitan" if "torchtitan" in row["which_metric"] else FRAMEWORKS.get(row["source"])
    if framework is None:
        return {}
    found: dict[str, object] = {"framework": framework, **version_of(row, framework)}
    if framework == "torchtitan" and row["source"] in ("torchtitan", "torchao"):
        return found | {"tables_apart": False}  # units of their own since a later date
    if "bnb" in row["dtype_scheme"] and row["source"] not in LATER_BITSANDBYTES:
        return found | {"base_inputs_kept": True}
    return found


def version_of(row: Row, framework: str) -> dict[str, str]:
    """Return the framework's version that a row's notes state, or that was current when its source appeared.

    >>> version_of({"notes": "measured 2026-09-10; TRL 1.12; packed", "source": "peft_3712"}, "trl")
    {'engine_version': '1.12'}
    """
    name = catalog().framework(framework).name.split()[-1]
    stated = re.search(rf"\b{name} (\d[\d.]*\d|\d)\b", row["notes"], re.IGNORECASE)
    version = stated[1] if stated else CURRENT.get(row["source"])
    return {"engine_version": version} if version else {}


def offload_of(row: Row) -> dict[str, object]:
    """Return what the row keeps in the memory of the host."""
    if row["offload"].startswith("params"):
        return {"offload": ["parameters", "optimizer"]}
    if row["offload"] == "optimizer":
        return {"offload": ["optimizer"]}
    return {"offload": ["activations"]} if "activation" in row["offload"] else {}


def loss_of(row: Row) -> str:
    """Return how the row computes its loss."""
    text = row["fused_or_chunked_loss"]
    if row["id"] in LOSS_COMPILED:
        return "compiled"
    if "chunked" in text.casefold():
        return "chunked"
    if "16-bit" in text:
        return NARROW
    if "shifted" in text:
        return SHIFTED
    if text == COMPILED:
        return text
    return "fused" if "fused" in text else "full"


def optimizer_of(row: Row) -> str:
    """Return the row's optimizer. torch.optim's default on a GPU works on all tensors at once ("foreach")."""
    text = row["optimizer"].casefold()
    if row["source"] == "internevo":
        return "adamw-foreach-2.0"  # its FSDP needs PyTorch 2.0 (use_orig_params); it took 2.1 in February 2024
    if "8bit" in text or "8-bit" in text:
        return "paged-adamw-8bit" if "paged" in text else "adamw-8bit"
    if "paged" in text:
        return "paged-adamw"
    if text == "adafactor":
        return text
    if "tensor by tensor" in text:
        return "adamw-for-loop"
    return "adamw-foreach" if "torch.optim" in text else "adamw"


def adapters_of(row: Row) -> dict[str, object]:
    """Return the row's adapters."""
    text = re.sub(r"\(.*", "", row["lora_target_modules"]).strip()
    modules, _, saved = text.partition("+")
    modules = modules.strip()
    targets: object = TARGETS.get(modules, [name for name in modules.split(",") if name] or ["q", "v"])
    adapters: dict[str, object] = {"rank": number(row["lora_rank"]) or 8, "targets": targets}
    if row["source"] in ("dgx_spark_stack", "fms", "litgpt_hub", "qwen_readme") or "dropout 0.05" in row["notes"]:
        adapters["dropout"] = 0.05  # of their scripts; the framework has none of its own
    if saved:
        adapters["modules_to_save"] = ["wte", "lm_head"]
    return adapters


def measured_bytes(row: Row) -> float:
    """Return the row's figure in bytes; a "GB" that nothing explains is read as GiB."""
    unit = 1e9 if row["unit_basis"].startswith("decimal_GB_not_converted") else GIB
    return float(row["measured_GiB_per_gpu"]) * unit


def figure_of(row: Row) -> str:
    """Return which of the three totals the row measured."""
    metric = row["which_metric"].casefold()
    if "reserved (" in metric or metric == "max_reserved":
        return "reserved"
    return "device" if "not stated" in metric or "nvidia" in metric else "allocated"
