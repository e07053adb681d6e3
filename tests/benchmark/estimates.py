"""Time `estimate` over random scenarios in this Python: `python -m tests.benchmark.estimates [--count N] [--rounds N]`.

Times are of the processor, so that another program on the machine does not count; it slows this one down all the same.
"""

import argparse
import random
from collections.abc import Iterator
from math import ceil
from statistics import median
from time import process_time
from typing import Any

from calc import ScenarioError, estimate
from calc.catalog import catalog
from tests.test_contract import inference, training

Scenario = dict[str, Any]
TRAINING_SHARE, ANY_MODEL, SERVERS = 0.4, 0.4, 0.2  # of the scenarios
ARRIVALS = {"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "engine": "vllm", "arrivals": {}}


def scenarios(count: int, seed: int) -> Iterator[Scenario]:
    """Iterate over random scenarios of both workloads, some of any model, some of a server with requests in it."""
    rng, models = random.Random(seed), catalog().ids("models")
    for _ in range(count):
        scenario = training(rng) if rng.random() < TRAINING_SHARE else inference(rng)
        if rng.random() < ANY_MODEL:
            scenario["model"] = rng.choice(models)
        if scenario.get("engine", "none") != "none" and rng.random() < SERVERS:
            scenario.pop("sequences", None)
            scenario["concurrency"] = rng.choice([1, 8, 64, 500])
        yield scenario


def kind_of(scenario: Scenario, report: dict[str, Any]) -> str:
    """Return what a scenario's time is reported under: workload and engine, and whether it fits."""
    kind = "training" if scenario.get("workload") == "training" else str(scenario.get("engine", "none"))
    if "concurrency" in scenario:
        kind = "a server"
    fits = report["memory"].get("fits")
    return f"{kind}, {'no device' if fits is None else 'fits' if fits else 'does not fit'}"


def milliseconds(scenario: Scenario, rounds: int) -> tuple[float, float, dict[str, Any]]:
    """Return the time of the first answer and of the fastest, with the answer."""
    found: list[float] = []
    for _ in range(rounds):
        began = process_time()
        report: dict[str, Any] = estimate(scenario)
        found.append(1000 * (process_time() - began))
    return found[0], min(found), report


def measured(count: int, rounds: int, seed: int) -> dict[str, list[tuple[float, float]]]:
    """Return the times of first and fastest answers by kind of scenario."""
    estimate(ARRIVALS | {"workload": "inference", "arrivals": None})  # the catalogue is read
    found: dict[str, list[tuple[float, float]]] = {}
    for scenario in scenarios(count, seed):
        try:
            first, fastest, report = milliseconds(scenario, rounds)
        except ScenarioError:
            continue
        found.setdefault(kind_of(scenario, report), []).append((first, fastest))
    return found


def line(name: str, times: list[float]) -> str:
    """Return the median, the 99th percentile and the longest of some times."""
    ordered = sorted(times)
    shown = (median(ordered), ordered[ceil(0.99 * len(ordered)) - 1], ordered[-1])
    return f"{name}{''.join(f'{value:9.2f}' for value in shown)}"


def main() -> None:
    """Print the times by kind, of first answers and of those that follow."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmark.estimates", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="scenarios (default 2000)")
    parser.add_argument("--rounds", type=int, default=3, help="answers to each (default 3)")
    parser.add_argument("--seed", type=int, default=1, help="of the random scenarios (default 1)")
    options = parser.parse_args()
    found = measured(options.count, options.rounds, options.seed)
    found["all of them"] = [times for listed in list(found.values()) for times in listed]
    print(f"{'milliseconds of the processor':46} median      p99  longest")
    for kind, times in sorted(found.items()):
        print(line(f"{kind:36}{len(times):6}  first ", [first for first, _ in times]))
        print(line(f"{'':42}  again ", [fastest for _, fastest in times]))
    for size in (1, 3):
        traffic = {"arrivals": {"requests_per_s": 2 * size}}
        first, fastest, _ = milliseconds(ARRIVALS | traffic, options.rounds)
        print(f"2,000 requests, {2 * size} a second: first {first:.0f}, again {fastest:.0f}")


if __name__ == "__main__":
    main()
