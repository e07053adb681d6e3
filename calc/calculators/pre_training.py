"""Pre-training memory: a model trained from the start on a parallel layout, and what would make it fit."""

from calc.calculators.calculator import Calculator, Preset
from calc.calculators.inputs import Choice, Number, Report
from calc.calculators.training_answer import HEADINGS, render, row, status
from calc.calculators.training_inputs import (
    ACCUMULATION,
    CHECKPOINTING,
    CONTEXT_RANKS,
    DEGREES,
    EXPERT_RANKS,
    FRAMEWORK,
    LOSS,
    MICRO_BATCH,
    OPTIMIZER,
    PRECISION,
    SEQUENCE,
    SHARDING_OPTIONS,
    SPLIT,
    STAGES,
    TENSOR_RANKS,
    VERSION,
)
from calc.calculators.training_speed import TOKENS

INPUTS = (
    Choice("model", "Model", "Every layer follows from its config.json.", "llama-3.1-8b", kind="models"),
    Choice(
        "accelerator", "GPU", "Compared by the memory that its driver reports.", "h100-sxm-80gb", kind="accelerators"
    ),
    Number("data", "Data-parallel ranks", "Each works on sequences of its own.", "8", least=1, most=4096),
    Choice("sharding", "Divided over data ranks", "What they share one copy of.", "zero-3", options=SHARDING_OPTIONS),
    TENSOR_RANKS,
    Choice(
        "sequence_parallel",
        "Sequence parallel",
        "Tensor ranks also divide what stands between matrices.",
        "",
        options=(("yes", "Yes"),),
        empty="No",
        topic=SPLIT,
    ),
    STAGES,
    CONTEXT_RANKS,
    EXPERT_RANKS,
    FRAMEWORK,
    VERSION,
    PRECISION,
    OPTIMIZER,
    CHECKPOINTING,
    LOSS,
    MICRO_BATCH,
    ACCUMULATION,
    SEQUENCE._replace(default="8192"),
    TOKENS._replace(default="1,000,000,000,000"),
)

LLAMA_405B = {
    "model": "llama-3.1-405b",
    "data": "8",
    "sharding": "zero-1",
    "tensor": "8",
    "sequence_parallel": "yes",
    "pipeline": "16",
    "gradient_accumulation": "32",
    "checkpointing": "none",
}
PRESETS = (
    Preset("Llama 3.1 8B on eight H100", {}),
    Preset("… without checkpointing", {"checkpointing": "none"}),
    Preset("… each with a copy of everything", {"sharding": "none"}),
    Preset("Llama 3.1 70B on 64 H100 with FSDP", {"model": "llama-3.1-70b", "data": "64"}),
    Preset(
        "… with tensor and sequence parallel",
        {"model": "llama-3.1-70b", "data": "8", "tensor": "8", "sequence_parallel": "yes"},
    ),
    Preset("Llama 3.1 405B on 1,024 H100 in three dimensions", LLAMA_405B),
    Preset(
        "Mixtral 8x7B on 64 H100 with eight expert ranks",
        {"model": "mixtral-8x7b", "data": "64", "expert": "8", "sharding": "zero-1", "sequence_tokens": "4096"},
    ),
)


def scenario(values: dict[str, object]) -> dict[str, object]:
    """Return the scenario that the inputs make."""
    asked = {"workload": "training", **values}
    asked["parallelism"] = {name: asked.pop(name) for name in DEGREES}
    asked["sequence_parallel"] = asked.get("sequence_parallel") == "yes"
    return asked


def answer(report: Report) -> str:
    """Return the answer's HTML."""
    return render(report, INPUTS, fine_tuning=False)


CALCULATOR = Calculator(
    id="pre-training",
    title="Pre-training memory",
    question="What does each GPU hold when this model is trained on this layout?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=scenario,
    render=answer,
    status=status,
    headings=HEADINGS,
    row=row,
)
