"""Fine-tune memory: full training, LoRA or QLoRA of a model on a number of devices, and what would make it fit."""

from calc.calculators.calculator import Calculator, Preset
from calc.calculators.inputs import Choice, Number, Report
from calc.calculators.training_answer import HEADINGS, render, row, status
from calc.calculators.training_inputs import (
    ACCUMULATION,
    CHECKPOINTING,
    FRAMEWORK,
    LOSS,
    MICRO_BATCH,
    OFFLOAD,
    OPTIMIZER,
    PRECISION,
    SEQUENCE,
    SHARDING_OPTIONS,
    VERSION,
)
from calc.calculators.training_speed import TOKENS

INPUTS = (
    Choice("model", "Model", "Every layer follows from its config.json.", "llama-3.1-8b", kind="models"),
    Choice(
        "method",
        "Method",
        "What is trained: all parameters, or adapters beside them.",
        "qlora",
        options=(("full", "Full"), ("lora", "LoRA"), ("qlora", "QLoRA")),
    ),
    Number(
        "rank",
        "Rank of the adapters",
        "On all matrices of the layers; full training has none.",
        "16",
        least=1,
        most=65_536,
        topic="Adapters",
    ),
    FRAMEWORK,
    VERSION,
    PRECISION,
    Choice(
        "base_weights",
        "Frozen base",
        "How the base is stored; full training has none.",
        "",
        options=(
            ("nf4-dq", "NF4, double quantisation"),
            ("nf4", "NF4"),
            ("bf16", "BF16"),
            ("fp16", "FP16"),
            ("fp32", "FP32"),
        ),
        empty="As usual for the method",
        topic="Adapters",
    ),
    OPTIMIZER,
    CHECKPOINTING,
    LOSS,
    MICRO_BATCH,
    ACCUMULATION,
    SEQUENCE,
    TOKENS,
    OFFLOAD,
    Choice("accelerator", "GPU", "Compared by the memory that its driver reports.", "rtx-4090", kind="accelerators"),
    Number("accelerators", "Number of GPUs", "Each works on sequences of its own.", "1", least=1, most=4096),
    Choice(
        "sharding",
        "Divided over the GPUs",
        "One GPU has nothing to divide.",
        "none",
        options=SHARDING_OPTIONS,
        topic="Several GPUs",
    ),
)

PRESETS = (
    Preset("Llama 3.1 8B with QLoRA on an RTX 4090", {}),
    Preset("… with LoRA, loss fused", {"method": "lora", "cross_entropy": "fused"}),
    Preset("… all of it, on one H100", {"method": "full", "accelerator": "h100-sxm-80gb"}),
    Preset(
        "… all of it, on eight H100 with FSDP",
        {"method": "full", "accelerator": "h100-sxm-80gb", "accelerators": "8", "sharding": "zero-3"},
    ),
    Preset(
        "Llama 3.3 70B with FSDP and QLoRA on two RTX 3090",
        {"model": "llama-3.3-70b", "accelerator": "rtx-3090", "accelerators": "2", "sharding": "zero-3"},
    ),
    Preset(
        "… its parameters in host memory",
        {
            "model": "llama-3.3-70b",
            "accelerator": "rtx-3090",
            "accelerators": "2",
            "sharding": "zero-3",
            "offload": "parameters",
        },
    ),
    Preset(
        "Qwen2.5 32B with LoRA on one A100",
        {"model": "qwen2.5-32b", "method": "lora", "accelerator": "a100-sxm-80gb"},
    ),
)


def scenario(values: dict[str, object]) -> dict[str, object]:
    """Return the scenario that the inputs make: what full training has not is left out."""
    asked = {"workload": "training", **values}
    rank = asked.pop("rank")
    if asked["method"] == "full":
        asked.pop("base_weights", None)
    else:
        asked["lora"] = {"rank": rank}
    if "offload" in asked:
        asked["offload"] = [asked["offload"]]
    return asked


def answer(report: Report) -> str:
    """Return the answer's HTML."""
    return render(report, INPUTS, fine_tuning=True)


CALCULATOR = Calculator(
    id="fine-tune",
    title="Fine-tune memory",
    question="Can I fine-tune this model on these GPUs, and what would make it fit?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=scenario,
    render=answer,
    status=status,
    headings=HEADINGS,
    row=row,
)
