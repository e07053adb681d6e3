"""Several models on one card: up to four on one device, what is left, and from which context on it breaks."""

from calc.calculators.calculator import Calculator, Preset
from calc.calculators.inputs import Choice, Input, Number
from calc.calculators.serving_inputs import cache_formats
from calc.calculators.sharing_answer import render, row, status
from calc.calculators.sharing_report import FIRST, FOURTH, ONE_PROCESS, OWN_PROCESS, SECOND, THIRD, share


def whole_inputs(suffix: str, name: str, model: str, weights: str, context: str, help_: str) -> tuple[Input, ...]:
    """Return the inputs of a model of which everything can be said."""
    return (
        Choice(f"model{suffix}", f"{name} model", help_, model, kind="models"),
        Choice(
            f"weights{suffix}",
            f"{name} model's weights",
            "The number format they are kept in.",
            weights,
            kind="weights",
        ),
        Choice(
            f"engine{suffix}", f"{name} model's engine", "The program that runs it.", "transformers", kind="engines"
        ),
        *cache_formats("Caches", suffix, name),
        Number(
            f"context_tokens{suffix}",
            f"{name} model's context",
            "Tokens of a sequence.",
            context,
            least=1,
            most=100_000_000,
        ),
        Number(
            f"sequences{suffix}",
            f"{name} model's sequences at once",
            "Texts or conversations.",
            "1",
            least=1,
            most=1_000_000,
        ),
    )


def short_inputs(suffix: str, name: str) -> tuple[Input, ...]:
    """Return the inputs of a further model, which may be none."""
    help_ = "Under transformers, with one sequence of the second model's context."
    return (
        Choice(f"model{suffix}", f"{name} model", help_, "", kind="models", empty="None"),
        Choice(
            f"weights{suffix}", f"{name} model's weights", "The number format they are kept in.", "fp16", kind="weights"
        ),
    )


INPUTS: tuple[Input, ...] = (
    Choice("accelerator", "GPU", "Compared by the memory that its driver reports.", "rtx-4090", kind="accelerators"),
    Number(
        "display", "Kept for a display", "MiB: a desktop takes some hundreds; 0 for none.", "512", least=0, most=65_536
    ),
    Choice(
        "processes",
        "Processes",
        "Each process has a context of the driver.",
        OWN_PROCESS,
        options=((OWN_PROCESS, "One for each model"), (ONE_PROCESS, "One for all models")),
    ),
    *whole_inputs(
        FIRST, "First", "llama-3-8b", "fp16", context="8192", help_="The parameters follow from its config.json."
    ),
    *whole_inputs(
        SECOND, "Second", "bart-large-mnli", "fp32", context="1024", help_="A classifier or encoder keeps no cache."
    ),
    *short_inputs(THIRD, "Third"),
    *short_inputs(FOURTH, "Fourth"),
)
PRESETS = (
    Preset("Llama 3 8B and a classifier on an RTX 4090", {}),
    Preset("… with the whole of 128 thousand tokens", {"model": "llama-3.1-8b", "context_tokens": "131072"}),
    Preset("… the language model under vLLM", {"engine": "vllm"}),
    Preset(
        "… in 4 bit under llama.cpp, with four conversations of 16 thousand tokens",
        {"weights": "q4_k_m", "engine": "llama.cpp", "context_tokens": "16384", "sequences": "4"},
    ),
    Preset(
        "A chat model and an embedding model on an RTX 3060",
        {
            "accelerator": "rtx-3060-12gb",
            "model": "qwen2.5-7b",
            "weights": "q4_k_m",
            "engine": "llama.cpp",
            "model_2": "bge-m3",
            "weights_2": "fp16",
            "context_tokens_2": "8192",
        },
    ),
    Preset(
        "Chat, embeddings, speech and pictures on an RTX 5090",
        {
            "accelerator": "rtx-5090",
            "model": "qwen2.5-14b",
            "weights": "q4_k_m",
            "engine": "llama.cpp",
            "model_2": "bge-m3",
            "weights_2": "fp16",
            "model_3": "whisper-large-v3",
            "model_4": "clip-vit-large-patch14",
        },
    ),
)
CALCULATOR = Calculator(
    id="sharing",
    title="Several models on one card",
    question="Do these models fit on one device together, and how much cache is left?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=dict,
    render=render,
    status=status,
    headings=("Needed together", "They", "Cache tokens of the first"),
    row=row,
    answer=share,
)
