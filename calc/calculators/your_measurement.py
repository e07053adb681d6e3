"""Your measurement: what a run showed beside what is computed of it, term by term."""

from collections.abc import Mapping
from typing import Any

from calc.calculators import hosting, measured_answer
from calc.calculators.calculator import Calculator, Preset
from calc.calculators.inputs import Amount, Choice, Input, Number, Report, Text, Values, amount
from calc.calculators.measured_inputs import (
    measured_fields,
    measured_inputs,
    measured_of,
    names_of,
    read_pasted,
    set_beside,
)
from calc.calculators.rendering import spoken
from calc.calculators.serving_inputs import cache_formats
from calc.measured_run.comparison import Run
from calc.measured_run.terms import SERVED, Reading
from calc.service.traffic import MOST_REQUESTS

LENGTHS, ENGINE = "Lengths", "Engine"
MEASURED_NAMES = names_of(SERVED)
INPUTS: tuple[Input, ...] = (
    Choice("model", "Model", "The parameters follow from its config.json.", "llama-3.1-8b", kind="models"),
    Choice("weights", "Number format of the weights", "As the run had them.", "published", kind="weights"),
    Choice("engine", "Engine", "The program that ran the model.", "usual", kind="usual-engines"),
    Choice("accelerator", "GPU", "That it ran on.", "rtx-4090", kind="accelerators"),
    Number("accelerators", "Number of GPUs", "The model is divided over them.", "1", least=1, most=4096),
    *measured_inputs(SERVED),
    Number("prompt_tokens", "Prompt", "Tokens of each.", "2048", least=1, most=100_000_000, topic=LENGTHS),
    Number("output_tokens", "Output", "Tokens of each answer.", "256", least=1, most=100_000_000, topic=LENGTHS),
    Number(
        "cached_tokens",
        "In the cache before",
        "llama-bench's -d: tokens that a test looks back at.",
        "0",
        least=0,
        most=100_000_000,
        topic=LENGTHS,
    ),
    Choice(
        "apart",
        "Prompts and answers",
        "llama-bench measures them apart: an answer looks back at no prompt.",
        "no",
        options=(("no", "Measured together"), ("yes", "Measured apart")),
        topic=LENGTHS,
    ),
    Number("sequences", "Sequences at once", "All at the same moment.", "1", least=1, most=1_000_000, topic=LENGTHS),
    Amount(
        "concurrency",
        "Requests at a time",
        "In a server, in place of sequences. Empty: not a server.",
        "",
        least=1,
        most=1_000_000,
        topic=LENGTHS,
    ),
    Amount(
        "requests",
        "Requests in all",
        "Of a test that ends: at a rate, so many at a time or all at once. Empty: it goes on.",
        "",
        least=1,
        most=MOST_REQUESTS,
        topic=LENGTHS,
    ),
    Amount(
        "requests_per_s",
        "Requests a second",
        "That came on their own, in place of sequences.",
        "",
        least=0.001,
        most=1_000_000,
        topic=LENGTHS,
    ),
    Text("engine_version", "Version of the engine", "0.10.2, b4000. Empty: the newest.", topic=ENGINE),
    Choice(
        "backend",
        "Back end",
        "What llama.cpp was built for.",
        "",
        options=(("cuda", "CUDA"), ("rocm", "ROCm"), ("sycl", "SYCL"), ("metal", "Metal"), ("vulkan", "Vulkan")),
        empty="The usual one on the GPU",
        topic=ENGINE,
    ),
    Choice(
        "division",
        "Divided over the GPUs",
        "What each of them has.",
        "",
        options=(("tensor", "A part of each layer (tensor)"), ("pipeline", "Whole layers (pipeline)")),
        empty="As the engine's users mostly do",
        topic=ENGINE,
    ),
    Amount(
        "memory_fraction", "Share of the device", "From 0 to 1. Empty: its own.", "", least=0.01, most=1, topic=ENGINE
    ),
    Amount(
        "sequence_slots",
        "Sequences that it is set up for",
        "max_num_seqs, --parallel. Empty: its own number.",
        "",
        least=1,
        most=1_000_000,
        topic=ENGINE,
    ),
    Amount(
        "batched_tokens",
        "Tokens of a pass",
        "max_num_batched_tokens, -ub. Empty: its own number.",
        "",
        least=1,
        most=10_000_000,
        topic=ENGINE,
    ),
    Choice(
        "attention",
        "Attention",
        "llama.cpp's -fa 0 stores scores.",
        "flash",
        options=(("flash", "In tiles (flash)"), ("eager", "With stored scores")),
        topic=ENGINE,
    ),
    *cache_formats("Cache"),
    *hosting.INPUTS,
)
NAMES = {field.name for field in INPUTS}
REQUESTS = ("concurrency", "requests", "requests_per_s")  # how they came
WHOLE = ("concurrency", "requests", "sequence_slots", "batched_tokens")  # numbers that may be left empty
PRESETS = (
    Preset("Nothing measured yet: Llama 3.1 8B on an RTX 4090", {}),
    Preset(
        "Llama 2 7B in F16 on an RTX 4090, llama-bench",
        {
            "model": "llama-2-7b",
            "weights": "f16",
            "engine": "llama.cpp",
            "prompt_tokens": "512",
            "output_tokens": "128",
            "apart": "yes",
            "measured_prefill_tokens_per_s": "11048.22",
            "measured_decode_tokens_per_s": "61.03",
            "measured_file_gib": "12.55",
        },
    ),
    Preset(
        "Llama 3.1 70B in INT8 on an H100, start-up log of vLLM",
        {
            "model": "llama-3.1-70b",
            "weights": "int8-channel",
            "engine": "vllm",
            "accelerator": "h100-sxm-80gb",
            "prompt_tokens": "1792",
            "memory_fraction": "0.98",
            "measured_weights_gib": "67.7229",
            "measured_kv_pool_tokens": "22096",
        },
    ),
    Preset(
        "gpt-oss 20B on an H100, SGLang's benchmark",
        {
            "model": "gpt-oss-20b",
            "engine": "sglang",
            "accelerator": "h100-sxm-80gb",
            "prompt_tokens": "512",
            "output_tokens": "1024",
            "concurrency": "4",
            "requests": "20",
            "measured_output_tokens_per_s": "481.95",
            "measured_time_to_first_token_s": "2.731",
        },
    ),
)


def scenario(values: dict[str, object]) -> dict[str, object]:
    """Return what a form holds: the run's scenario, whether its parts were measured apart, and what was measured."""
    plain = {name: value for name, value in values.items() if name not in MEASURED_NAMES.values()}
    apart, division = plain.pop("apart") == "yes", plain.pop("division", None)
    for name in WHOLE:
        if name in plain:
            plain[name] = round(amount(plain, name))
    if division:
        plain["parallelism"] = {division: plain.pop("accelerators")}
    return {"scenario": hosting.scenario(served(plain)), "apart": apart, "measured": measured_of(values, SERVED)}


def served(plain: dict[str, object]) -> dict[str, object]:
    """Return a scenario with its requests as they came: at a rate, so many at a time, in a test that ends or not."""
    rate, requests = plain.pop("requests_per_s", None), plain.pop("requests", None)
    if rate:
        return asked_of_server(plain, ({"requests": requests} if requests else {}) | {"requests_per_s": rate})
    if requests:
        kept = plain.pop("concurrency", None)
        return asked_of_server(plain, {"requests": requests} | ({"concurrency": kept} if kept else {}))
    if "concurrency" in plain:
        del plain["sequences"]
    return plain


def asked_of_server(plain: dict[str, object], arrivals: dict[str, object]) -> dict[str, object]:
    """Return a scenario whose requests come by themselves, in place of so many sequences at once."""
    return {name: value for name, value in plain.items() if name != "sequences"} | {"arrivals": arrivals}


def answer(asked: dict[str, object]) -> Report:
    """Return the report on a run, with its comparison beside."""
    run = Run(dict(asked["scenario"]), bool(asked["apart"]))  # type: ignore[call-overload]
    measured: dict[str, float] = asked["measured"]  # type: ignore[assignment]
    reports = run.reports()
    return set_beside(reports[0], run=run, figures=run.figures(reports=reports), measured=measured)


def pasted(text: str, present: Mapping[str, str]) -> tuple[Values, str]:
    """Return the fields of the form that a pasted text fills in, and a sentence on it; raises ScenarioError.

    What was measured before is forgotten; of the run what the text does not say stays as it is.
    """
    found, said = read_pasted(text)
    fields = measured_fields(found.terms, SERVED)
    fields |= dict.fromkeys(REQUESTS, "") | {"sequences": "1", "cached_tokens": "0", "apart": "no"}
    fields |= {name: str(value) for name, value in run_fields(found, present).items() if name in NAMES}
    return fields, said


def run_fields(found: Reading, present: Mapping[str, str]) -> dict[str, object]:
    """Return the form's fields of a run: lengths and layers in the form's own way."""
    fields: dict[str, Any] = dict(found.fields)
    if "context_tokens" in fields and "prompt_tokens" not in fields:
        output = min(int(present.get("output_tokens", "256") or 256), fields["context_tokens"] // 2)
        fields |= {"output_tokens": output, "prompt_tokens": fields["context_tokens"] - output}
    layers = fields.pop("gpu_layers", None)
    if layers is not None:  # llama.cpp's -ngl counts the output matrix as one layer more
        fields["gpu_layers"] = max(layers - 1, 0)
    return fields


CALCULATOR = Calculator(
    id="your-measurement",
    title="Your measurement",
    question="What did your machine show, and what does the guide compute of it?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=scenario,
    render=measured_answer.render,
    status=spoken(measured_answer.headline),
    headings=("Terms measured", "In the range", "Answer"),
    row=measured_answer.row,
    answer=answer,
    pasted=pasted,
)
