"""Predicted against measured speed on people's own machines. Run it: python -m calc.validation.community_speed.

Rows of community_speed.csv: consumer cards, workstations and Macs, with layers or experts in the host's memory, or on a
processor alone. Nearly all are of one request at a time.
"""

import re
from typing import Any

from calc import ScenarioError, estimate
from calc.catalog import catalog
from calc.validation.inference import (
    MEASURED_ON,
    accelerator_of,
    model_of,
    number,
    trusted,
    version_then,
    version_with,
    weights_of,
)
from calc.validation.inference_speed import compared as compared_alone
from calc.validation.inference_speed import slot_of
from calc.validation.printing import print_scores
from calc.validation.scores import Row, Score, Scores, SkipError, score_rows

FILE = "community_speed.csv"
ENGINES = {
    "llama.cpp": "llama.cpp",
    "llama.cpp (ollama)": "llama.cpp",
    "ik_llama.cpp": "llama.cpp",
    "mlx-lm": "mlx",
    "vllm": "vllm",
    "sglang": "sglang",
}
ASKED = ("llama.cpp", "ik_llama.cpp")  # whose users say how attention is done
# Of an engine, not of what is around it.
VERSION = re.compile(r"\bb\d{4,}\b|^\d+\.\d+(\.\d+)?|(?<=vllm )\d+\.\d+(\.\d+)?")
BACKEND = re.compile(r"(?:; |backend: )(cuda|hip|metal|rocm|sycl|vulkan)\b", re.IGNORECASE)  # of llama.cpp, in notes
TILES = re.compile(r"-fa ([01])\b")  # of llama.cpp, in notes
WAYS = {"0": "eager", "1": "flash"}
# Through a server, which chooses, writes and sends each token; llama-bench takes any token as the next.
SERVED = re.compile(r"llama-server|\ba server\b|\bollama\b|\bLM Studio\b|\bstreamed\b|\bllmfit\b", re.IGNORECASE)
BARE = re.compile(r"llama-bench")
UNMAPPED = "2026-01-14"  # from when on llama-bench maps no file unless it is asked (pull request 18841 of llama.cpp)
DRAFTED = "spec"  # rows with drafts, which calc.validation.speculation compares
OUTPUT = 128  # tokens written where a row measures the prompt alone, or decoding without saying for how long


def scenario_of(row: Row) -> dict[str, Any]:
    """Return the scenario of a row; raises SkipError with the reason where there is none."""
    trusted(row)
    if row["kind"] == DRAFTED:
        raise SkipError("tokens are drafted ahead: its gain is compared in a table of its own")
    if "repacked" in row["notes"]:
        raise SkipError("other weights ran than were published")
    found: dict[str, Any] = {"model": model_of(row), "engine": ENGINES[row["engine"]], "weights": weights_of(row)}
    if row["kind"] == "cpu":
        found |= {"gpu_layers": 0, "host": host_of(row)}
    else:
        found |= {"accelerator": accelerator_of(row)} | slot_of(row)
        if found["engine"] == "llama.cpp":
            found |= asked_of(row)
    devices, tensor = number(row, "n_gpus") or 1, number(row, "tp") or 1
    found["parallelism"] = {"tensor": tensor, "pipeline": max(devices // tensor, 1)}
    found["concurrency" if is_served(row) else "sequences"] = number(row, "batch") or 1
    prompt, output = number(row, "input_len"), number(row, "output_len") or OUTPUT
    if row["metric"] == "decode_tok_s":
        found |= {"cached_tokens": prompt, "prompt_tokens": 1, "output_tokens": output}
    else:
        found |= {"prompt_tokens": max(prompt, 1), "output_tokens": output}
        if row["depth"]:
            found["cached_tokens"] = number(row, "depth")
        if row["ubatch"]:
            found["batched_tokens"] = number(row, "ubatch")
    if row["kv_dtype"]:
        found["kv_cache"] = row["kv_dtype"]
    found = version_of(row, found["engine"]) | found
    if "--enforce-eager" in row["notes"]:
        found["graphs"] = False
    return found | offload_of(row)


def is_served(row: Row) -> bool:
    """Return whether a row is of a server's requests, not of an engine alone."""
    if ENGINES[row["engine"]] != "llama.cpp":
        return False
    said = f"{row['engine']} {row['engine_version']} {row['notes']}"
    return bool(SERVED.search(said)) and not BARE.search(said)


def asked_of(row: Row) -> dict[str, str]:
    """Return the back end of llama.cpp that a row names, and whether attention was asked for in tiles or without."""
    built, tiles = BACKEND.search(row["notes"]), TILES.search(row["notes"])
    return ({"backend": built[1]} if built else {}) | ({"attention": WAYS[tiles[1]]} if tiles else {})


def version_of(row: Row, engine: str) -> dict[str, str]:
    """Return the version of the engine that a row states, or that was current when it was measured.

    Those who measure llama.cpp ask for flash attention, whatever a build of that day did by itself; Ollama's people
    are not asked (its `FlashAttention` names few models, none before 2025).
    """
    if stated := VERSION.search(row["engine_version"]):
        return {"engine_version": stated.group()}
    version = version_then(row, engine)
    if not version:
        return {}
    version = version_with(model_of(row), engine, version)
    return {"engine_version": version} | ({"attention": "flash"} if row["engine"] in ASKED else {})


def host_of(row: Row) -> dict[str, Any]:
    """Return the host that a row ran on: its processor, and the bandwidth of its memory where that is stated."""
    found: dict[str, Any] = {"processor": row["cpu"]} if row["cpu"] else {}
    if row["host_bandwidth_gb_s"]:
        found["bandwidth"] = f"{row['host_bandwidth_gb_s']} GB/s"
    return found


def offload_of(row: Row) -> dict[str, Any]:
    """Return which layers and experts stay in the host's memory."""
    if row["kind"] != "offload":
        return {}
    if row["draft"]:
        raise SkipError("drafts beside layers in the host's memory: no row is without either")
    host, measured = host_of(row), MEASURED_ON.search(row["notes"])
    if not host and not row["host_memory"]:
        raise SkipError("of the host, which decides, neither processor nor memory is stated")
    if "llama-bench" in row["notes"] and measured and measured[1] >= UNMAPPED:
        host["pinned"] = True
    found: dict[str, Any] = {"host": host} if host else {}
    if row["n_cpu_moe"]:
        found["experts_on_host"] = int(row["n_cpu_moe"])
    elif row["gpu_layers"]:
        found["gpu_layers"] = int(row["gpu_layers"])
    else:
        raise SkipError("what stays in the host's memory is not stated")
    return found


def compared(row: Row) -> tuple[str, float]:
    """Return the figure that a row is compared to, and what the row measured in its unit.

    The rate at which a server says that a request was read is that of its prompt from when it began to read until the
    first token, and that at which it was written is that of the tokens after it.
    """
    if is_served(row) and row["metric"] in ("decode_tok_s", "prefill_tok_s"):
        if row["metric"] == "decode_tok_s":
            return "time_per_output_token_s", 1.0 / float(row["value"])
        before = catalog().engine(ENGINES[row["engine"]]).coefficient("request_s").value
        return "time_to_first_token_s", before + max(number(row, "input_len"), 1) / float(row["value"])
    return compared_alone(row)


def score_of(row: Row) -> Score:
    """Return a row's score; raises SkipError with the reason where there is none."""
    scenario = scenario_of(row)
    try:
        report: Any = estimate(scenario, repairs=False)
    except ScenarioError as error:
        raise SkipError(f"refused: {error.field} {error.message[:60]}") from None
    if report["speed"] is None:
        raise SkipError("no rates of the device")
    name, measured = compared(row)
    figure = report["speed"][name]
    return Score(row, name, measured, figure["typical"], low=figure["low"], high=figure["high"])


def scores() -> Scores:
    """Return all scores, and the rows that were left out by reason."""
    return score_rows(FILE, score_of)


def written(score: Score) -> str:
    """Return a row as one line."""
    row = score.row
    return (
        f"{row['id']} {row['source_key'][:16]:<16} {row['kind']:<7} {row['arch_key'][:18]:<18} {row['quant'][:10]:<10} "
        f"{row['gpu'][:22]:<22} {row['input_len']}+{row['output_len']} {score.what[:18]:<18} "
        f"{score.measured:9.4g} {score.predicted:9.4g} {score.error:+.0%}"
    )


def main() -> None:
    """Print the tables."""
    print_scores(scores, written, keys=("gpu", "engine", "what"))


if __name__ == "__main__":
    main()
