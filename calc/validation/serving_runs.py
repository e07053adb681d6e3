"""Predicted against measured latency of servers under load. Run it: python -m calc.validation.serving_runs.

A row of serving_runs.csv is a server that held so many requests at a time, with the mean time to the first token and
of a token. Each row gives two scores. A build scores a sample of them; the command scores all.
What the scripts of a source say of how servers were started is in serving_settings.toml.
"""

import hashlib
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from calc import ScenarioError, estimate
from calc.catalog import catalog
from calc.validation.inference import version_with
from calc.validation.printing import print_scores
from calc.validation.scores import MEASUREMENTS, Row, Score, Scores, SkipError, by, median_factor, read_rows

FILE = "serving_runs.csv"
ENGINES = {"trtllm": "tensorrt-llm", "sglang": "sglang", "vllm": "vllm"}
FIGURES = {"ttft_ms": "time_to_first_token_s", "tpot_ms": "time_per_output_token_s"}
FOUR_BITS = {"openai/gpt-oss-120b": "mxfp4"}  # what "fp4" is but for NVFP4
STEADY = "concurrency", "length_spread"  # fields of a server that is never short of requests
MACHINE = 8  # devices
STATED = 16  # devices up to which rows state all degrees
SAMPLE = 6  # a build scores one of so many rows


@lru_cache(maxsize=1)
def settings() -> list[dict[str, Any]]:
    """Return how servers were started, by columns of their rows."""
    text = (MEASUREMENTS / "serving_settings.toml").read_text(encoding="utf-8")
    return list(tomllib.loads(text)["settings"])


def settings_of(row: Row) -> Iterator[dict[str, Any]]:
    """Yield the settings that hold for a row."""
    for entry in settings():
        if all(row.get(column, "") in values for column, values in entry["rows"].items()):
            yield entry


def corrected(row: Row) -> Row:
    """Return a row with the degrees that its script had, where it says others."""
    found = dict(row)
    for entry in settings_of(row):
        found |= entry.get("degrees", {})
    return found


def left_out(row: Row) -> dict[str, str]:
    """Return which figures of a row cannot be compared, with the reason."""
    return {
        field: entry["left_out"]
        for entry in settings_of(row)
        if "left_out" in entry
        for field in entry.get("figures", FIGURES)
    }


def described(row: Row) -> Row:
    """Return a row with what it ran under the names that other files have."""
    precision, requests = row["precision"] or "bf16", row["concurrency"]
    return {**row, "arch_key": row["model"], "quant": precision, "n_gpus": row["tp"], "batch": requests}


def layout_of(row: Row) -> dict[str, int]:
    """Return the parallel degrees of a server in one pool.

    `tp` is of all devices, or of each replica of attention; which of them, the degrees of the experts say. Where these
    are equal, such as four and four, rows of one machine give their product for its devices, which has fewer.
    """
    tensor, stages = int(row["tp"]), int(row["pp"] or 1)
    experts, over = max(int(row["moe_ep"] or 1), 1), max(int(row["moe_tp"] or 1), 1)
    replicas = max(int(row["attention_dp"] or experts * over // tensor), 1)
    if experts == over and experts * over == tensor * replicas > MACHINE:
        tensor, replicas, over = min(tensor, experts), min(replicas, experts), 1
    if tensor % replicas == 0 and tensor >= experts * over:
        tensor //= replicas
    elif tensor * replicas != experts * over:
        raise SkipError("its degrees do not make up its devices")
    if tensor * replicas * stages > STATED:
        raise SkipError(f"on more than {STATED} devices not all degrees are stated")
    if replicas > 1:
        experts *= over  # no layout divides each expert over replicas of attention: whole ones are
    found = {"tensor": tensor, "pipeline": stages, "data": replicas}
    return found | ({"expert": experts} if experts > 1 else {})


def pools_of(row: Row) -> dict[str, Any]:
    """Return the pools of a server that reads prompts and writes answers on devices of their own.

    Where attention has replicas and experts no ranks of their own, each expert was divided over all devices, or rows
    count so what was not: no layout does that, and whole ones are.
    """
    found = {}
    for name in ("prefill", "decode"):
        tensor, stages, data, experts = (max(int(row[f"{name}_{kind}"] or 1), 1) for kind in ("tp", "pp", "dp", "ep"))
        if experts > tensor * data:
            raise SkipError("its degrees do not make up its devices")
        if data > 1 and experts == 1:
            experts = tensor * data
        if name == "decode" and data == 1:
            raise SkipError("whether attention was data parallel is not stated")
        degrees = {"tensor": tensor, "pipeline": stages, "data": data, "expert": experts}
        workers = max(int(row[f"{name}_workers"] or 1), 1)
        found[name] = {"accelerators": workers * tensor * stages * data, "parallelism": degrees}
    return found


def arrivals_of(row: Row) -> dict[str, Any]:
    """Return the requests of a row where it is known how many there were, of which the first come at once."""
    for entry in settings_of(row):
        if "rounds" in entry:
            kept = int(row["concurrency"])
            lengths = {
                field: {"least": round(entry["least"] * int(row[column])), "most": int(row[column])}
                for field, column in (("prompt_tokens", "input_len"), ("output_tokens", "output_len"))
            }
            return {"arrivals": {"requests": entry["rounds"] * kept, "concurrency": kept, "lengths": lengths}}
    return {}


def weights_of(row: Row) -> str:
    """Return the number format of a server's weights."""
    if row["products"] == "fp8_block":
        return "fp8-block"
    return {"fp8": "fp8", "fp4": FOUR_BITS.get(row["model"], "nvfp4"), "": "bf16"}[row["precision"]]


def scenario_of(row: Row) -> dict[str, Any]:
    """Return the scenario of a row in one pool; raises SkipError with the reason where there is none."""
    if row["mode"] != "agg":
        raise SkipError("prefill and decoding ran on devices of their own")
    found, arrivals = {**served_of(row), "parallelism": layout_of(corrected(row))}, arrivals_of(row)
    return {name: found[name] for name in found if not arrivals or name not in STEADY} | arrivals


def pooled_scenario_of(row: Row) -> dict[str, Any]:
    """Return the scenario of a row in two pools; raises SkipError with the reason where there is none."""
    if row["mode"] != "disagg":
        raise SkipError("prefill and decoding ran on the same devices")
    return {**served_of(row), "disaggregation": pools_of(row)}


def served_of(row: Row) -> dict[str, Any]:
    """Return what is served of a row, and to how many."""
    if not row["concurrency"]:
        raise SkipError("how many requests ran at a time is not stated")
    try:
        model, accelerator = catalog().model(row["model"]).id, catalog().accelerator(row["gpu"]).id
    except ScenarioError as error:
        raise SkipError(f"{error.field} is not in the catalogue") from None
    found: dict[str, Any] = {
        "model": model,
        "engine": ENGINES[row["engine"]],
        "weights": weights_of(row),
        "accelerator": accelerator,
        "concurrency": int(row["concurrency"]),
        "prompt_tokens": int(row["input_len"]),
        "output_tokens": int(row["output_len"]),
    }
    if version := version_of(row, found["engine"]):
        found["engine_version"] = version
    for entry in settings_of(row):
        found |= entry.get("scenario", {})
        for name in ("prompt_tokens", "output_tokens"):
            found[name] = round(found[name] * entry.get("lengths", 1))
    return found


def version_of(row: Row, engine: str) -> str:
    """Return the version of the engine that a row states, or SGLang's of the day; empty where it says neither.

    Rows of TensorRT-LLM may state Dynamo's, which starts it. vLLM was told to do what it has only later done by itself
    (--async-scheduling) where rows state no version.
    """
    stated = row["engine_version"]
    if stated[:1].isdigit() and engine != "tensorrt-llm":
        return stated
    day = row["measured_on"] if engine == "sglang" else ""
    return version_with(row["model"], engine, catalog().engine(engine).current_on(day)) if day else ""


def scores_of(row: Row, asked: Callable[[Row], dict[str, Any]] = scenario_of) -> list[Score]:
    """Return a row's scores, of the first token and of those that follow."""
    try:
        report: Any = estimate(asked(row), repairs=False)
    except ScenarioError as error:
        raise SkipError(f"refused: {error.field} {error.message[:60]}") from None
    if report["speed"] is None:
        raise SkipError("no rates of the device")
    found, without = [], left_out(row)
    for field, name in FIGURES.items():
        if field not in without:
            figure = report["speed"][name]
            measured = float(row[field]) / 1000
            found.append(
                Score(described(row), name, measured, figure["typical"], low=figure["low"], high=figure["high"])
            )
    return found


def pooled_scores() -> Scores:
    """Return the scores of all rows in two pools whose layout is stated."""
    found: list[Score] = []
    skipped = Counter[str]()
    for row in read_rows(FILE):
        try:
            found += scores_of(row, pooled_scenario_of)
        except SkipError as skip:
            skipped[str(skip)] += 1
    return found, skipped


@lru_cache(maxsize=1)
def pooled_factors() -> dict[str, float]:
    """Return by how many times rows in two pools are off, up or down: the median of each of their figures."""
    return {name: median_factor(found) for name, found in by(pooled_scores()[0], "what").items()}


def pooled_share(figure: str) -> float:
    """Return the median error of rows in two pools as a share of the smaller of measured and predicted."""
    return pooled_factors()[figure] - 1


def sampled(rows: Iterable[Row]) -> list[Row]:
    """Return one of six rows, the same ones each time: chosen by their ids' digest."""
    return [row for row in rows if hashlib.sha256(row["id"].encode()).digest()[0] % SAMPLE == 0]


def score_all(rows: Iterable[Row]) -> Scores:
    """Return the scores of rows, and those that were left out by reason."""
    found: list[Score] = []
    skipped = Counter[str]()
    for row in rows:
        skipped.update(set(left_out(row).values()))
        try:
            found += scores_of(row)
        except SkipError as skip:
            skipped[str(skip)] += 1
    return found, skipped


def scores() -> Scores:
    """Return the scores of the sample that a build takes."""
    return score_all(sampled(read_rows(FILE)))


def written(score: Score) -> str:
    """Return a row as one line."""
    row, model = score.row, score.row["model"].split("/")[-1][:16]
    return (
        f"{row['id']} {row['engine']:<7} {row['engine_version']:<12} {row['gpu']:<9} {model:<16} "
        f"{row['precision']:<4} tp={row['tp']} dp={row['attention_dp']} ep={row['moe_ep']} c={row['concurrency']:>5} "
        f"{row['input_len']}+{row['output_len']} {score.what[8:13]} {score.measured:9.4g} {score.predicted:9.4g} "
        f"{score.error:+.0%}"
    )


def main() -> None:
    """Print the tables of all rows."""
    print_scores(lambda: score_all(read_rows(FILE)), written, keys=("model", "engine", "gpu", "precision", "what"))


if __name__ == "__main__":
    main()
