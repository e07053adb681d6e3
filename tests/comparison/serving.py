"""Ask two simulators of servers about measured ones: python -m tests.comparison.serving --inference-lab A --infersim B.

A is the unpacked npm package `@doublewordai/inference-lab`, which Node runs; B a checkout of alibaba/InferSim. Both get
what they ask for: the model's shape, the device's data sheet, the requests at a time. Rows are those that
`calc.validation.serving_runs` scores, on the H200, which both of them know.
"""

import argparse
import datetime
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.estimate import estimate
from calc.validation.scores import Row, SkipError, read_rows
from calc.validation.serving_runs import FIGURES, FILE, sampled, scenario_of
from tests.comparison.__main__ import HERE, summary

RESULT = HERE.parents[1] / "docs" / "assets" / "serving-comparison.json"
DEVICE = "h200_sxm"
MOST_REQUESTS = 256  # at a time: inference-lab takes minutes for more
ROUNDS = 4  # of requests that it simulates
MS = 1000.0
NOT_A_WAY = "no such division over devices"
Answers = dict[str, dict[str, float | str]]


class Case:
    """A row with its scenario and the guide's report on it."""

    def __init__(self, row: Row) -> None:
        self.row, self.scenario = row, scenario_of(row)
        self.report: Any = estimate(self.scenario)
        if not self.report["speed"] or not self.report["memory"]["fits"]:
            raise SkipError("does not fit by the guide's own account")
        self.devices = self.report["scenario"]["accelerators"]
        self.degrees = self.scenario["parallelism"]
        self.config = catalog().model(self.scenario["model"]).config


def cases() -> list[Case]:
    """Return the rows that can be asked, of those that a build scores."""
    found = []
    for row in sampled(read_rows(FILE)):
        if row["gpu"] == DEVICE and row["concurrency"] and int(row["concurrency"]) <= MOST_REQUESTS:
            try:
                found.append(Case(row))
            except (SkipError, ScenarioError):
                continue
    return found


def simulation(case: Case) -> dict[str, Any]:
    """Return a case as inference-lab reads it: all devices as one, of as much memory and as many operations."""
    device = catalog().accelerator(case.scenario["accelerator"])
    number_format = catalog().number_format(case.scenario["weights"])
    size, model, count = number_format.bits / 8, case.report["model"], case.devices
    row, config = case.row, case.config
    rate = device.facts[number_format.native or "bf16"].value
    requests = int(row["concurrency"])
    return {
        "hardware": {
            "name": device.name,
            "compute_flops": float(rate) * count,
            "memory_bandwidth": float(device.facts["bandwidth"].value) * count,
            "memory_capacity": float(device.capacity_bytes) * count,
            "bytes_per_param": round(size),
            "gpu_memory_utilization": 0.9,
        },
        "model": {
            "name": case.scenario["model"],
            "num_parameters": model["parameters_total"],
            "num_active_parameters": model["parameters_active"],
            "num_layers": config["num_hidden_layers"],
            "hidden_dim": config["hidden_size"],
            "num_heads": config["num_attention_heads"],
            "num_kv_heads": config["num_key_value_heads"],
            "max_seq_len": config["max_position_embeddings"],
        },
        "scheduler": {
            "max_num_batched_tokens": 8192,
            "max_num_seqs": 1024,
            "policy": "fcfs",
            "enable_chunked_prefill": True,
            "long_prefill_token_threshold": 0,
            "max_num_partial_prefills": 1,
            "block_size": 16,
            "enable_preemption_free": False,
        },
        "workload": {
            "arrival_pattern": "closed_loop",
            "arrival_rate": 1.0,
            "num_concurrent_users": requests,
            "input_len_dist": {"type": "fixed", "value": int(row["input_len"])},
            "output_len_dist": {"type": "fixed", "value": int(row["output_len"])},
            "num_requests": ROUNDS * requests,
            "seed": 1,
        },
        "simulation": {"log_interval": 100},
    }


def inference_lab(folder: Path, asked: list[Case]) -> Answers:
    """Return the seconds to the first token and for each more, by row."""
    request = json.dumps({case.row["id"]: simulation(case) for case in asked})
    adapter = HERE / "adapters" / "inference_lab.mjs"
    ran = subprocess.run(["node", adapter, folder.resolve()], input=request, capture_output=True, text=True, check=True)
    found: Answers = {}
    for case in asked:
        metrics = json.loads(ran.stdout)[case.row["id"]]
        if isinstance(metrics, str):
            found[case.row["id"]] = dict.fromkeys(FIGURES, metrics[:100])
            continue
        tokens = (metrics["e2e_mean"] - metrics["ttft_mean"]) / (int(case.row["output_len"]) - 1)
        found[case.row["id"]] = {"ttft_ms": metrics["ttft_mean"], "tpot_ms": tokens}
    return found


def infersim(folder: Path, asked: list[Case]) -> Answers:
    """Return the seconds of a token, by row; it has no queue, and its prefill is not a time to the first token."""
    found: Answers = {}
    for case in asked:
        tensor, experts = case.degrees.get("tensor", 1), case.degrees.get("expert", 1)
        name = case.row["id"]
        found[name] = {"ttft_ms": "has no queue", "tpot_ms": NOT_A_WAY}
        if case.degrees.get("pipeline", 1) > 1 or (tensor > 1 and experts > 1):
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".json") as config:
            names = {"num_routed_experts": case.config.get("n_routed_experts")}
            json.dump({**case.config, **{key: value for key, value in names.items() if value}}, config)
            config.flush()
            here = max(int(case.row["concurrency"]) // (case.devices // tensor), 1)
            degrees = ["--world-size", str(case.devices), "--tp-size", str(tensor), "--decode-bs", str(here)]
            lengths = ["--target-isl", case.row["input_len"], "--target-osl", case.row["output_len"]]
            formats = ["--use-fp8-gemm"] if case.scenario["weights"] == "fp8" else []
            options = ["--config-path", config.name, "--device-type", "H200", "--decode-only"]
            command = [sys.executable, "main.py", *options, *degrees, *lengths, *formats]
            ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        match = re.search(r"TPOT \(ms\): +([\d.]+)", ran.stdout)
        found[name]["tpot_ms"] = float(match[1]) if match else ran.stderr.strip().rpartition("\n")[2][:100] or "nothing"
    return found


def compared(asked: list[Case], answers: Answers) -> dict[str, Any]:
    """Return a simulator's errors by figure, beside those of the guide on the same rows."""
    result: dict[str, Any] = {}
    for figure, name in FIGURES.items():
        theirs, ours = [], []
        for case in asked:
            answer = answers[case.row["id"]][figure]
            if isinstance(answer, float):
                measured = float(case.row[figure])
                theirs.append((answer, measured))
                ours.append((MS * case.report["speed"][name]["typical"], measured))
        result[figure] = {"cases": len(asked)}
        if theirs:
            result[figure] |= {"tool": summary(theirs), "ours": summary(ours)}
    return result


def main() -> None:
    """Ask both and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inference-lab", type=Path, required=True)
    parser.add_argument("--infersim", type=Path, required=True)
    options = parser.parse_args()
    asked = cases()
    version = json.loads((options.inference_lab / "package.json").read_text(encoding="utf-8"))["version"]
    lab = "https://github.com/doublewordai/inference-lab"
    tools = [
        {"name": "inference-lab", "version": version, "url": lab, "kinds": inference_lab(options.inference_lab, asked)},
        {
            "name": "InferSim",
            "version": "f2293da",
            "url": "https://github.com/alibaba/InferSim",
            "kinds": infersim(options.infersim, asked),
        },
    ]
    for tool in tools:
        tool["kinds"] = compared(asked, tool["kinds"])  # type: ignore[arg-type]
    result = {"date": datetime.date.today().isoformat(), "tools": tools}
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
