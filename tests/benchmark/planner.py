"""Times the planner's questions, in this Python and in the page's: `python -m tests.benchmark.planner [--only WORD]`.

Each question is asked in a Python of its own that has answered one estimate. *First* is the first question of a visit;
*changed* is the median of those that follow, each with texts of another length, as when a field is changed. Times at
the desk are of the processor; those in the page are by the clock, as the browser's Python has no other.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Playwright, sync_playwright

from tests.benchmark.boot import profile
from tests.server import serving

ROOT = Path(__file__).parent.parent.parent
ROUNDS = 5
ONE_MODEL, ALL_MODELS = (40, 100), (None, 150)  # goals in milliseconds: at the desk, in the page
LENGTHS = ("prompt_tokens", "sequence_tokens", "output_tokens", "context_tokens")
START = {"model": "llama-3.1-8b", "accelerator": "rtx-4090", "engine": "vllm"}
LARGE = {"want": "hardware", "model": "llama-3.3-70b", "context_tokens": 8192}
PAIR = {"want": "models", "have": {"accelerator": "rtx-3090", "accelerators": 2}, "context_tokens": 16384}
TUNED = {"workload": "training", "framework": "trl", "training_tokens": 50_000_000, "sequence_tokens": 2048}
MONEY = {"want": "hardware", "models": "any", "limits": {"price": 2000, "devices": 2}, "context_tokens": 8192}
EIGHT = {"accelerator": "tpu-v5e", "accelerators": 8}
TEXTS = {"want": "hardware", "model": "bge-m3", "prompt_tokens": 256, "need": {"requests_per_s": 2000, "ttft_s": 0.2}}
SERVICE = {"users": 100, "requests_each_hour": 10, "peak_over_mean": 3, "ttft_s": 2, "tokens_per_s_each": 10}


class Asked(NamedTuple):
    """A question, and the milliseconds that a changed one may take at the desk and in the page; None: no goal."""

    name: str
    question: dict[str, object]
    goals: tuple[float | None, float | None] = (None, None)


QUESTIONS = (
    Asked("Hardware for a 70B, by rent", LARGE, ONE_MODEL),
    Asked("… for five people with 127k each", LARGE | {"context_tokens": 130_000, "need": {"users": 5}}, ONE_MODEL),
    Asked("… by speed", LARGE | {"rank_by": "speed"}, ONE_MODEL),
    Asked("… by the time for a token", LARGE | {"rank_by": "latency"}, ONE_MODEL),
    Asked("… by energy", LARGE | {"rank_by": "energy"}, ONE_MODEL),
    Asked("Models on two RTX 3090, by size", PAIR, ALL_MODELS),
    Asked("… by speed", PAIR | {"rank_by": "speed"}, ALL_MODELS),
    Asked("… by energy", PAIR | {"rank_by": "energy"}, ALL_MODELS),
    Asked(
        "Models on a Mac of 64 GB, 10 tokens a second",
        PAIR | {"have": {"accelerator": "m4-max-64gb"}, "need": {"tokens_per_s_each": 10}},
        ALL_MODELS,
    ),
    Asked("Models on eight TPU v5e, which no engine serves", PAIR | {"have": EIGHT}, ALL_MODELS),
    Asked("What two thousand dollars run, 10 tokens a second", MONEY | {"need": {"tokens_per_s_each": 10}}),
    Asked("A service for a hundred people, 70B in FP8", LARGE | {"weights": "fp8", "need": SERVICE}),
    Asked("… in any format", LARGE | {"weights": "any", "need": SERVICE}),
    Asked("Hardware to embed 2,000 texts a second", TEXTS),
    Asked(
        "Layouts of DeepSeek-V3 on eight H200",
        {
            "want": "layout",
            "model": "deepseek-v3",
            "have": {"accelerator": "h200-sxm-141gb", "accelerators": 8},
            "sequences": 32,
            "context_tokens": 8192,
        },
    ),
    Asked(
        "The longest context of an 8B on an RTX 3090",
        {
            "want": "limit",
            "of": "context_tokens",
            "model": "llama-3.1-8b",
            "have": {"accelerator": "rtx-3090"},
            "output_tokens": 256,
        },
    ),
    Asked("Hardware to fine-tune a 32B, by any method", {"want": "hardware", "model": "qwen3-32b", **TUNED}),
    Asked("… by QLoRA", {"want": "hardware", "model": "qwen3-32b", "method": "qlora", **TUNED}),
    Asked("Models to train on an RTX 4090", {"want": "models", "have": {"accelerator": "rtx-4090"}, **TUNED}),
)


def code(question: dict[str, object], clock: str) -> str:
    """Return Python that asks a question, then others of other lengths, and puts the figures as JSON into `found`."""
    name = next(name for name in LENGTHS if name in question)
    return f"""
import json
from time import {clock} as clock
from calc import estimate, plan
estimate(json.loads({json.dumps(START)!r}))
question, times = json.loads({json.dumps(question)!r}), []
for turn in range({ROUNDS + 1}):
    question[{name!r}] += 16 * turn
    began = clock()
    searched = plan(question)["searched"]
    times.append(1000 * (clock() - began))
found = json.dumps({{"first": times[0], "changed": sorted(times[1:])[{ROUNDS // 2}], **searched}})
"""


def at_the_desk(question: dict[str, object]) -> dict[str, Any]:
    """Return the figures of a question in a CPython of its own."""
    asked = [sys.executable, "-c", code(question, "process_time") + "print(found)"]
    run = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def in_the_page(playwright: Playwright, codes: list[str]) -> list[dict[str, Any]]:
    """Return what pieces of Python find, each in a worker of its own of the Python that the site's pages start."""
    ask = """code => new Promise((resolve, reject) => {
        const worker = new Worker("planner_worker.mjs", { type: "module" });
        worker.onmessage = ({ data }) => { worker.terminate(); resolve(data); };
        worker.onerror = ({ message }) => reject(new Error(message));
        worker.postMessage(code);
    })"""
    with tempfile.TemporaryDirectory() as name, profile(playwright) as context:
        folder = Path(name)
        shutil.copytree(ROOT / "docs/assets/runtime", folder / "runtime")
        shutil.copyfile(Path(__file__).with_name("planner_worker.mjs"), folder / "planner_worker.mjs")
        (folder / "index.html").write_text("<!doctype html><title>Planner</title>", encoding="utf-8")
        with serving(folder) as address:
            page = context.new_page()
            page.goto(address)
            return [json.loads(page.evaluate(ask, asked + "found")) for asked in codes]


def measure(playwright: Playwright, only: str = "") -> list[dict[str, Any]]:
    """Return the figures of the questions in whose name a word stands; the site's Python must have been built."""
    asked = tuple(one for one in QUESTIONS if only in one.name)
    page = in_the_page(playwright, [code(one.question, "perf_counter") for one in asked])
    return [
        {"name": one.name, "goals": one.goals, "desk": at_the_desk(one.question), "page": found}
        for one, found in zip(asked, page, strict=True)
    ]


def shown(value: float, goal: float | None = None) -> str:
    """Return milliseconds, with the goal behind them where there is one."""
    return f"{value:,.0f} ms" + (f" (goal {goal:.0f})" if goal else "")


def table(figures: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the table of the figures."""
    rows = []
    for entry in figures:
        desk, page, goals = entry["desk"], entry["page"], entry["goals"]
        times = [desk["first"], desk["changed"], page["first"], page["changed"]]
        cells = [shown(value, goal) for value, goal in zip(times, [None, goals[0], None, goals[1]], strict=True)]
        rows.append([entry["name"], f"{desk['candidates']:,}", f"{desk['estimated']:,}", *cells])
    headings = ["Question", "Ways", "Whole reports", "Desk, first", "Desk, changed", "Page, first", "Page, changed"]
    return {"caption": "What the planner takes for a question", "headings": headings, "rows": rows}


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmark.planner", description=__doc__)
    parser.add_argument("--only", default="", help="questions in whose name this stands")
    only = parser.parse_args().only
    with sync_playwright() as playwright:
        found = table(measure(playwright, only))
    print(" | ".join(found["headings"]), *(" | ".join(row) for row in found["rows"]), sep="\n")


if __name__ == "__main__":
    main()
