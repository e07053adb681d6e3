"""Predicted against measured speed of inference, by source. Run it: python -m calc.validation.inference_speed.

Every row of inference_speed.csv whose engine, model, number format and accelerator are modelled becomes a scenario in
the contract's fields and goes through `calc.estimate`.
"""

import re
from typing import Any

from calc import ScenarioError, estimate
from calc.catalog import catalog
from calc.catalog.records import version_numbers
from calc.scenario.model import read_model
from calc.validation.inference import (
    accelerator_of,
    model_of,
    number,
    trusted,
    version_then,
    version_with,
    weights_of,
)
from calc.validation.launch_flags import launched
from calc.validation.printing import print_scores
from calc.validation.request_lengths import conversations, spread_of, talks
from calc.validation.scores import (
    Row,
    Score,
    Scores,
    SkipError,
    score_rows,
)

FILE = "inference_speed.csv"
ENGINES = {
    "vllm": "vllm",
    "llama.cpp": "llama.cpp",
    "hf-transformers": "transformers",
    "autogptq/hf": "transformers",
    "tensorrt-llm": "tensorrt-llm",
    "sglang": "sglang",
}
FIGURES = {
    "decode_tok_s": "decode_tokens_per_s",
    "prefill_tok_s": "prefill_tokens_per_s",
    "output_tok_s": "output_tokens_per_s",
    "total_or_output_tok_s": "output_tokens_per_s",
    "total_tok_s": "output_tokens_per_s",
    "ttft_s": "time_to_first_token_s",
    "decode_ms_per_token": "time_per_output_token_s",
    "e2e_latency_s": "output_tokens_per_s",
    "mean_ttft_ms": "time_to_first_token_s",
    "median_ttft_ms": "time_to_first_token_p50_s",
    "mean_tpot_ms": "time_per_output_token_s",
}
# Versions that were current when a source appeared which states none.
CURRENT = {
    ("mlc_llm_perf_bench", "vllm"): "0.2",
    ("mlc_llm_perf_bench", "llama.cpp"): "b1500",
    ("llm_awq_tinychat", "llama.cpp"): "b3900",
    ("llm_awq_tinychat", "transformers"): "4.34",
    ("llm_awq_tinychat", "tensorrt-llm"): "0.5",
    ("autogptq_readme", "transformers"): "4.30",
    ("chatglm2_readme", "transformers"): "4.30",
    ("qwen_docs_qwen1.5", "transformers"): "4.37",
    ("glm4_docs", "transformers"): "4.41",
    ("dstack_benchmarks", "vllm"): "0.6.4",
}
REPLICATED = re.compile(r"attention DP \+ EP")  # attention on data ranks
TILED = ("hf_posts", "llm_awq_tinychat")  # llama.cpp with flash attention: long prompts are read as fast as short ones
TILES_BY_DEFAULT = (4, 36)  # of transformers: https://github.com/huggingface/transformers/releases/tag/v4.36.0
SERVED = re.compile(r"max_concurrency|(?<!offline, )\b\d+ requests")  # through a server, of many lengths
PACED = re.compile(r"(\d[\d.]*) (?:requests )?a second")  # as many requests as a client sends
LONGER = 2.0  # times as long as requests come has a run to take that says what a server can
PLUGGED = re.compile(r"PCIe (\d\.0 x\d+)")  # in notes: what cards are plugged into, where it is less than theirs
ALIKE = re.compile(r"(?:prompts begin with the same|the cache keeps) (\d+) tokens")  # in notes
STARTED = re.compile(r"--max-model-len[= ](\d+)\b|started for its lengths")  # in notes
HELD = re.compile(r"(?:held to|limited(?: to)?|capped at) (\d{3} ?W)\b")  # in notes: what cards may draw


def longest_of(row: Row, model: object) -> int:
    """Return the tokens of a text that a run's server was started for: the model's own where its row says no others."""
    started = STARTED.search(row["notes"])
    return int(started[1] or 0) if started else read_model(model, catalog()).own_tokens or 0


def scenario_of(row: Row) -> dict[str, Any]:
    """Return the scenario of a row; raises SkipError with the reason where there is none."""
    trusted(row)
    engine = ENGINES.get(row["engine"])
    if engine is None:
        raise SkipError(f"engine {row['engine']} is not one of the contract's")
    accelerator = accelerator_of(row)
    if row["source_key"] == "mlc_llm_perf_bench" and accelerator == "a100-sxm-80gb":
        accelerator = "a100-pcie-80gb"  # the source says that its cards are joined by PCIe
    found: dict[str, Any] = {"model": model_of(row), "engine": engine, "weights": weights_of(row)}
    if engine == "llama.cpp" and row["quant"].startswith("INT4"):
        found["weights"] = "q4_k_m"
    found["accelerator"] = accelerator
    devices = number(row, "n_gpus") or 1
    tensor = number(row, "tp") or 1
    if engine in ("transformers", "llama.cpp") or "PP=" in row["tp"]:
        tensor = 1  # whole layers on each device
    found["parallelism"] = {"tensor": tensor, "pipeline": max(devices // tensor, 1)}
    if REPLICATED.search(row["notes"]):
        found["parallelism"] = {"data": devices, "expert": devices}
    if version := version_of(row, engine):
        found["engine_version"] = version
    if way := attention_of(row, engine, version):
        found["attention"] = way
    lengths = lengths_of(row, engine)
    found |= launched(row, devices) | lengths
    if engine == "vllm":
        asked = lengths["prompt_tokens"] + lengths["output_tokens"]
        found["longest_tokens"] = max(longest_of(row, found["model"]), asked)
    if SERVED.search(row["batch"]) or (queued(row) and talks(row)):  # the longest answers of a batch end alone
        found = served_at_once(row) | found
    else:
        found["sequences"] = batch_of(row)
    return found | stated(row)


def stated(row: Row) -> dict[str, object]:
    """Return the fields that a row has only where they are unusual: what caches store and share, and slots of cards."""
    alike = ALIKE.search(row["notes"])
    found: dict[str, object] = {"shared_prefix_tokens": int(alike[1])} if alike else {}
    return found | slot_of(row) | ({"kv_cache": "fp8"} if row["kv_dtype"].startswith("fp8") else {})


def slot_of(row: Row) -> dict[str, str]:
    """Return the PCIe that a row says its cards are plugged into, and the limit that their power is held to."""
    plugged, held = PLUGGED.search(row["notes"]), HELD.search(row["notes"])
    return ({"pcie": plugged[1]} if plugged else {}) | ({"power_limit": held[1]} if held else {})


def attention_of(row: Row, engine: str, version: str) -> str:
    """Return how attention was done where it was not as the engine does it by default; empty else.

    llama.cpp had tiles switched off in 2023 and 2024; of transformers 4.35 and older those who wanted them say so.
    """
    if engine == "llama.cpp":
        return "flash" if row["source_key"] in TILED else "eager"
    stated = row["engine_version"]
    if engine == "transformers" and version_numbers(version) < TILES_BY_DEFAULT:
        return "" if "FA2" in stated else "eager"
    return "sdpa" if "no FlashAttention" in stated else ""


def version_of(row: Row, engine: str) -> str:
    """Return the version of the engine that a row states, or that was current when its source appeared."""
    stated = re.search(r"b\d{4,}|\d+\.\d+(\.\d+)?", row["engine_version"].replace("torch ", "torch-"))
    found = re.search(r"transformers (\d+\.\d+(\.\d+)?)", row["engine_version"]) if engine == "transformers" else stated
    if found:
        version = found.group(1) if engine == "transformers" else found.group()
    else:
        version = CURRENT.get((row["source_key"], engine), "") or version_then(row, engine)
    return version_with(model_of(row), engine, version) if version else ""


def lengths_of(row: Row, engine: str) -> dict[str, Any]:
    """Return the tokens of a row's prompts and answers; llama-bench decodes behind a cache of the prompt's length."""
    prompt, output = number(row, "input_len"), number(row, "output_len")
    if row["metric"] in ("decode_tok_s", "decode_ms_per_token"):
        output = output or 128
    if engine == "llama.cpp" and row["metric"] == "decode_tok_s" and prompt:
        return {"cached_tokens": prompt, "prompt_tokens": 1, "output_tokens": output}
    return {"prompt_tokens": max(prompt, 1), "output_tokens": output}


def served_at_once(row: Row) -> dict[str, Any]:
    """Return the requests that were in a server at a time; where it is known how many there were, they have an end.

    The first of ten rounds comes at once, which the mean of all first tokens still shows, and a run has an end. Where
    all lengths are alike requests stay in step, round after round: those that came together end together, and the next
    ones wait for each other's prompts.
    Prompts and answers of ShareGPT lie as its do about the mean that the row states; random ones of SGLang's client
    have any length up to one, unless it is told otherwise.
    """
    kept = re.search(r"max_concurrency (\d+)", row["batch"])
    count = queued(row)
    at_a_time = {"concurrency": int(kept.group(1))} if kept else {}
    spread = spread_of(row)
    if count is None:
        if kept:
            alike = spread is not None and len(set(spread(number(row, "output_len")).values())) == 1
            return at_a_time | ({"length_spread": 0.0} if alike else {})
        raise SkipError("how many requests ran at a time is not stated")
    arrivals: dict[str, Any] = {"requests": count} | at_a_time | paced(row)
    prompt, output = float(row["input_len"] or 0), float(row["output_len"] or 0)
    if talks(row):
        arrivals["lengths"] = conversations(prompt, output, count)
    elif spread:
        arrivals["lengths"] = {"prompt_tokens": spread(prompt), "output_tokens": spread(output)}
    return {"arrivals": arrivals}


def paced(row: Row) -> dict[str, Any]:
    """Return the rate at which a row's requests came; raises SkipError where its tokens say that rate and no more."""
    said = PACED.search(row["batch"])
    if not said:
        return {}
    rate = float(said.group(1))
    tokens = FIGURES[row["metric"]] == "output_tokens_per_s"
    if tokens and number(row, "output_len") / measured_of(row) < LONGER / rate:
        raise SkipError("requests came at a set rate, which is that of the tokens")
    return {"requests_per_s": rate}


def batch_of(row: Row) -> object:
    """Return the sequences of a row."""
    if row["batch"].startswith("max ("):
        return "max"
    return number(row, "batch") or 1


def asked(row: Row) -> tuple[dict[str, Any], Any]:
    """Return a row's scenario and its report; no more sequences run than were queued."""
    scenario = scenario_of(row)
    report: Any = estimate(scenario, repairs=False)
    count = queued(row)
    if count and "arrivals" not in scenario and report["memory"]["sequences"] > count:
        scenario |= {"sequences": count}
        report = estimate(scenario, repairs=False)
    return scenario, report


def queued(row: Row) -> int | None:
    """Return how many requests a run had in all, None where that is not stated."""
    found = re.search(r"(\d+) requests", row["batch"])
    return int(found.group(1)) if found else None


def measured_of(row: Row) -> float:
    """Return what a row measured, in the unit of the figure that it is compared to."""
    measured = float(row["value"])
    if row["metric"] in ("decode_ms_per_token", "mean_ttft_ms", "median_ttft_ms", "mean_tpot_ms"):
        return measured / 1000
    if row["metric"] == "total_tok_s":  # of prompt and answer together
        prompt, output = number(row, "input_len"), number(row, "output_len")
        return measured * output / (prompt + output)
    if row["metric"] == "e2e_latency_s":
        return number(row, "batch") * number(row, "output_len") / measured
    return measured


def compared(row: Row) -> tuple[str, float]:
    """Return the figure that a row is compared to, and what the row measured in its unit."""
    return FIGURES[row["metric"]], measured_of(row)


def score_of(row: Row) -> Score:
    """Return a row's score."""
    try:
        scenario, report = asked(row)
        speed = report["speed"]
    except ScenarioError as error:
        raise SkipError(f"refused: {error.field} {error.message[:60]}") from None
    if speed is None:
        raise SkipError(f"no rates of {scenario['accelerator']}")
    name, measured = compared(row)
    figure = speed[name]
    return Score(row, name, measured, figure["typical"], low=figure["low"], high=figure["high"])


def scores() -> Scores:
    """Return all scores, and the rows that were left out by reason."""
    return score_rows(FILE, score_of)


def written(score: Score) -> str:
    """Return a row as one line."""
    row = score.row
    return (
        f"{row['id']} {row['source_key'][:18]:<18} {row['arch_key']:<16} {row['quant']:<12} {row['gpu'][:22]:<22} "
        f"n={row['n_gpus']} {row['batch'][:8]:>4}×{row['input_len'][:6]}+{row['output_len']} {score.what[:18]:<18} "
        f"{score.measured:10.4g} {score.predicted:10.4g} {score.error:+.0%}"
    )


def main() -> None:
    """Print the tables."""
    print_scores(scores, written, keys=("source", "engine", "what"))


if __name__ == "__main__":
    main()
