"""Time the planner's two searches in this Python: `python -m tests.benchmark.planner [--rounds N]`."""

import argparse
from statistics import median
from time import perf_counter, process_time

from calc import plan

# What is asked, and the goal in milliseconds of the processor.
QUESTIONS: dict[str, tuple[float, dict[str, object]]] = {
    "the whole catalogue for one model": (40, {"want": "hardware", "model": "llama-3.3-70b"}),
    "all models for one machine": (
        60,
        {"want": "models", "have": {"accelerator": "rtx-3090", "accelerators": 2}, "context_tokens": 16384},
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
        print(f"{name}: {later:.0f} ms, goal {goal:.0f}; the first answer {first:.0f} ms")


if __name__ == "__main__":
    main()
