"""How fast: a model under an engine on a number of devices, from the first token to the last."""

from calc.calculators import arriving, hosting, several
from calc.calculators.calculator import Calculator, Preset
from calc.calculators.inputs import Amount, Choice, Number
from calc.calculators.rendering import spoken
from calc.calculators.serving_inputs import (
    adapters,
    cache_formats,
    hit_rate,
    scenario,
    shared_prefix,
    shown_inputs,
    speculation,
    start,
)
from calc.calculators.speed_answer import headline, render, row
from calc.scenario.reader import MOST_PRICE

INPUTS = (
    Choice("model", "Model", "The parameters follow from its config.json.", "llama-3.1-8b", kind="models"),
    Choice("weights", "Number format of the weights", "Fewer bits are read sooner.", "q4_k_m", kind="weights"),
    Choice("engine", "Engine", "The program that runs the model.", "usual", kind="usual-engines"),
    Choice(
        "accelerator",
        "GPU",
        "Its bandwidth and its rate of computing are what counts.",
        "rtx-4090",
        kind="accelerators",
    ),
    Number("accelerators", "Number of GPUs", "The model is divided over them.", "1", least=1, most=4096),
    Number(
        "prompt_tokens",
        "Prompt",
        "Tokens that are read before the first is written.",
        "2048",
        least=1,
        most=100_000_000,
        topic="Lengths",
    ),
    Number(
        "output_tokens",
        "Output",
        "Tokens that are written in answer to each prompt.",
        "256",
        least=1,
        most=100_000_000,
        topic="Lengths",
    ),
    *cache_formats("Cache"),
    shared_prefix("Lengths"),
    hit_rate("Lengths"),
    Number("sequences", "Sequences at once", "Readers who wait for an answer together.", "1", least=1, most=1_000_000),
    *speculation("Drafts"),
    *adapters("Adapters"),
    *shown_inputs("Images and videos"),
    *start("Start"),
    *several.UNLIKE_INPUTS,
    *hosting.INPUTS,
    *arriving.INPUTS,
    *several.POOL_INPUTS,
    Amount(
        "price_per_hour",
        "Price of a GPU for an hour",
        "In US dollars. Empty: the catalogue's rent, with its day.",
        "",
        least=0,
        most=MOST_PRICE,
        topic="Prices",
    ),
    Amount(
        "electricity_per_kwh",
        "Price of a kWh",
        "In US dollars. Empty: the newest in the catalogue, with its day.",
        "",
        least=0,
        most=MOST_PRICE,
        topic="Prices",
    ),
)

PRESETS = (
    Preset("Llama 3.1 8B on an RTX 4090, llama.cpp", {}),
    Preset(
        "Llama 3.3 70B for 32 readers on four H100, vLLM",
        {
            "model": "llama-3.3-70b",
            "weights": "bf16",
            "engine": "vllm",
            "accelerator": "h100-sxm-80gb",
            "accelerators": "4",
            "sequences": "32",
        },
    ),
    Preset(
        "gpt-oss 120B for 8 readers on one H100, SGLang",
        {
            "model": "gpt-oss-120b",
            "weights": "mxfp4",
            "engine": "sglang",
            "accelerator": "h100-sxm-80gb",
            "sequences": "8",
        },
    ),
    Preset(
        "Qwen3 30B A3B on a Mac with M4 Max, llama.cpp",
        {"model": "qwen3-30b-a3b", "accelerator": "m4-max-64gb"},
    ),
    Preset(
        "Qwen2.5 32B for 8 readers on two RTX 3090, vLLM",
        {
            "model": "qwen2.5-32b",
            "weights": "awq",
            "engine": "vllm",
            "accelerator": "rtx-3090",
            "accelerators": "2",
            "sequences": "8",
        },
    ),
    Preset(
        "Four requests a second, Llama 3.1 8B on one H100, vLLM",
        {
            "weights": "bf16",
            "engine": "vllm",
            "accelerator": "h100-sxm-80gb",
            "requests_per_s": "4",
            "longest_share": "3",
            "ttft_s": "0.5",
            "tpot_s": "0.03",
        },
    ),
    Preset(
        "Qwen3.8 27B that drafts with its own layers, on an RTX 5090",
        {
            "model": "qwen3.8-27b",
            "accelerator": "rtx-5090",
            "speculation_method": "mtp",
            "speculation_tokens": "2",
            "speculation_acceptance": "0.8",
        },
    ),
    Preset(
        "A long text of 30 thousand tokens, Llama 3.1 8B on an RTX 3090",
        {"accelerator": "rtx-3090", "prompt_tokens": "30000", "output_tokens": "1000"},
    ),
)

CALCULATOR = Calculator(
    id="speed",
    title="How fast?",
    question="How fast does this model read and write on these GPUs, and what holds it back?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=lambda values: several.scenario(arriving.scenario(hosting.scenario(scenario(values)))),
    render=render,
    status=spoken(headline),
    headings=("Each sequence writes", "All together", "First token after"),
    row=row,
)
