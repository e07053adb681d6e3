"""Training time: how long a run takes on a layout, where a step goes, and what the run costs."""

from calc.calculators.asked import run_words
from calc.calculators.calculator import Calculator, Preset
from calc.calculators.certainty import fit_word, starting, unless_sure
from calc.calculators.engines import devices, division, first_repair
from calc.calculators.hosting import POWER_LIMIT
from calc.calculators.inputs import Choice, Number, Report
from calc.calculators.rendering import Verdict, answer_html, facts_html, measured_text, spoken
from calc.calculators.sizes import size_gib
from calc.calculators.training_answer import does_not_start
from calc.calculators.training_inputs import (
    ACCUMULATION,
    CHECKPOINTING,
    CONTEXT_RANKS,
    DEGREES,
    EXPERT_RANKS,
    FRAMEWORK,
    MICRO_BATCH,
    PRECISION,
    SEQUENCE,
    SHARDING_OPTIONS,
    STAGES,
    TENSOR_RANKS,
    VERSION,
)
from calc.calculators.training_speed import (
    ELECTRICITY,
    NETWORK,
    PRICE,
    TOKENS,
    cost_html,
    figures_html,
    percent,
    run_facts,
    shares_html,
    speed_assumptions,
)
from calc.catalog import catalog
from calc.units import show_large_count, show_seconds, show_tokens_per_s

MEMORY_UNITS = ("B",)  # of the steps that another calculator shows

INPUTS = (
    Choice("model", "Model", "Its operations follow from its config.json.", "llama-3.1-8b", kind="models"),
    Choice("accelerator", "GPU", "Its rates, and its links to others.", "h100-sxm-80gb", kind="accelerators"),
    Number("data", "Data-parallel ranks", "Each works on sequences of its own.", "64", least=1, most=16_384),
    Choice("sharding", "Divided over data ranks", "What they share one copy of.", "zero-3", options=SHARDING_OPTIONS),
    TENSOR_RANKS,
    STAGES,
    CONTEXT_RANKS,
    EXPERT_RANKS,
    Choice(
        "method",
        "Method",
        "What is trained: all parameters, or adapters beside them.",
        "full",
        options=(("full", "Full"), ("lora", "LoRA"), ("qlora", "QLoRA")),
    ),
    FRAMEWORK,
    VERSION,
    PRECISION,
    CHECKPOINTING,
    MICRO_BATCH,
    ACCUMULATION,
    SEQUENCE._replace(default="8192"),
    TOKENS._replace(default="1,000,000,000,000"),
    NETWORK,
    POWER_LIMIT,
    PRICE,
    ELECTRICITY,
)

PRESETS = (
    Preset("Llama 3.1 8B, a trillion tokens on 64 H100", {}),
    Preset("… in FP8", {"precision": "fp8-mixed"}),
    Preset(
        "Llama 3.1 70B, two trillion tokens on 1,024 H100",
        {
            "model": "llama-3.1-70b",
            "data": "128",
            "tensor": "8",
            "sharding": "zero-3",
            "micro_batch": "8",
            "training_tokens": "2,000,000,000,000",
        },
    ),
    Preset(
        "GPT-3's 300 billion tokens on 1,024 A100, with OPT 175B in its place",
        {
            "model": "opt-175b",
            "accelerator": "a100-sxm-80gb",
            "data": "8",
            "tensor": "8",
            "pipeline": "16",
            "sharding": "zero-1",
            "gradient_accumulation": "192",
            "sequence_tokens": "2048",
            "training_tokens": "300,000,000,000",
        },
    ),
    Preset(
        "Mixtral 8x7B, a trillion tokens on 256 H100",
        {
            "model": "mixtral-8x7b",
            "data": "64",
            "tensor": "2",
            "pipeline": "2",
            "expert": "8",
            "sharding": "zero-1",
            "gradient_accumulation": "16",
            "sequence_tokens": "4096",
        },
    ),
    Preset(
        "Llama 3.1 8B with QLoRA on an RTX 4090, ten million tokens",
        {
            "accelerator": "rtx-4090",
            "data": "1",
            "sharding": "none",
            "method": "qlora",
            "sequence_tokens": "2048",
            "gradient_accumulation": "8",
            "training_tokens": "10,000,000",
        },
    ),
    Preset(
        "Llama 3.2 1B from the start on eight RTX 3090",
        {
            "model": "llama-3.2-1b",
            "accelerator": "rtx-3090",
            "data": "8",
            "sharding": "zero-1",
            "sequence_tokens": "2048",
            "gradient_accumulation": "8",
            "training_tokens": "25,000,000,000",
        },
    ),
)


def scenario(values: dict[str, object]) -> dict[str, object]:
    """Return the scenario that the inputs make."""
    asked = {"workload": "training", **values}
    asked["parallelism"] = {name: asked.pop(name) for name in DEGREES}
    asked["sequence_parallel"] = asked["parallelism"]["tensor"] != 1  # type: ignore[index]
    if asked["method"] != "full":
        asked["lora"] = {"rank": 16}
    return asked


def headline(report: Report) -> Verdict:
    """Return whether the run fits, and how long it takes in a headline and a sentence."""
    memory, speed, scenario = report["memory"], report["speed"], report["scenario"]
    name = catalog().accelerator(scenario["accelerator"]).name
    split = division(report)
    place = f"on {devices(scenario['accelerators'], name)}" + (f" ({split})" if split else "")
    if stopped := does_not_start(report, place):
        return stopped
    if speed is None:
        return None, "Not known:", f"no source has the rate at which {name} computes."
    duration, rate = speed["duration_s"], show_tokens_per_s(speed["tokens_per_s_per_device"]["typical"])
    ends = f"{show_seconds(duration['low'])} to {show_seconds(duration['high'])}"
    tokens = show_large_count(scenario["training_tokens"])
    share = percent(speed["model_flops_utilization"]["typical"])
    said = f"for {run_words(report)} on {tokens} tokens, {place}, {ends} in four of five runs."
    said += f" Each GPU does {rate}, {share} of its rate."
    whole = show_seconds(duration["typical"])
    if memory["fits"]:
        return starting(report), whole, said + unless_sure(report)
    missing = size_gib(-memory["headroom_bytes"])
    return False, f"It does not fit, {missing} are missing.", f"If it did: {whole} {said}{first_repair(report)}"


def render(report: Report) -> str:
    """Return the answer's HTML."""
    line = headline(report)
    memory = report["memory"]
    if report["speed"] is None:
        return answer_html(line, {**report, "steps": []}, assumptions=speed_assumptions())
    used = f"{size_gib(memory['device_bytes'])} of {size_gib(memory['capacity_bytes'])}"
    items = [
        *run_facts(report),
        f"Memory of the fullest device: <strong>{used}</strong>",
        measured_text(report, "speed"),
    ]
    facts = figures_html(report) + facts_html(items) + cost_html(report)
    timed = [step for step in report["steps"] if step["unit"] not in MEMORY_UNITS]
    bars = shares_html(report)
    return answer_html(line, {**report, "steps": timed}, bars=bars, facts=facts, assumptions=speed_assumptions())


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    speed, memory = report["speed"], report["memory"]
    return (
        show_seconds(speed["duration_s"]["typical"]),
        show_tokens_per_s(speed["tokens_per_s_per_device"]["typical"]),
        percent(speed["model_flops_utilization"]["typical"]),
        fit_word(memory),
    )


CALCULATOR = Calculator(
    id="training-time",
    title="Training time",
    question="How long does this training run take, where does a step go, and what does it cost?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=scenario,
    render=render,
    status=spoken(headline),
    headings=("The run", "Each GPU", "Of its rate", "Memory"),
    row=row,
)
