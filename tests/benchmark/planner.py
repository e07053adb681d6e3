"""Time the planner's searches in this Python: `python -m tests.benchmark.planner [--rounds N]`."""

import argparse
from statistics import median
from time import perf_counter, process_time

from calc import plan

# What is asked, and the goal in milliseconds of the processor; None where none was set.
QUESTIONS: dict[str, tuple[float | None, dict[str, object]]] = {
    "the whole catalogue for one model": (40, {"want": "hardware", "model": "llama-3.3-70b"}),
    "all models for one machine": (
        60,
        {"want": "models", "have": {"accelerator": "rtx-3090", "accelerators": 2}, "context_tokens": 16384},
    ),
    "fleets for requests that come": (
        None,
        {"want": "hardware", "model": "llama-3.3-70b", "weights": "fp8", "need": {"requests_per_s": 5, "tpot_s": 0.05}},
    ),
    "devices for a fine-tune, of each method": (
        None,
        {"want": "hardware", "workload": "training", "model": "qwen3-32b", "training_tokens": 50_000_000},
    ),
}


def times(question: dict[str, object], rounds: int) -> tuple[float, float]:
    """Return the milliseconds of the first answer, by the clock, and the median of later ones, of the processor."""
    began = perf_counter()
    plan(question)
    first = 1000 * (perf_counter() - began)
    found = []
    for _ in range(rounds):
        began = process_time()
        plan(question)
        found.append(1000 * (process_time() - began))
    return first, median(found)


def main() -> None:
    """Print the times beside their goals."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmark.planner", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="answers after the first (default 7)")
    rounds = parser.parse_args().rounds
    for name, (goal, question) in QUESTIONS.items():
        first, later = times(question, rounds)
        wanted = "no goal" if goal is None else f"goal {goal:.0f}"
        print(f"{name}: {later:.0f} ms, {wanted}; the first answer {first:.0f} ms")


if __name__ == "__main__":
    main()
