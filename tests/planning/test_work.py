"""How much work an answer is: how often memory is worked out for it, which no busy machine changes."""

import random
from collections import Counter
from typing import Any

import pytest

from calc import ScenarioError, estimate
from calc.memory.budget import Demand, Layout
from calc.memory.training.moments import Timeline
from calc.memory.training.phases import Step
from calc.planning.chance import SURE
from calc.planning.fit import most_that_fit
from calc.planning.serving import Serving
from tests.test_contract import inference, training

EXAMPLES = 80
ONE_ANSWER, MOST_ANSWERS = 20, 100  # evaluations of an answer that fits, and of any: repairs are looked for


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the fullest devices that are worked out under an engine, and the steps of training that are walked."""
    found: Counter[str] = Counter()
    fullest, walk = Serving.fullest, Step.walk

    def of_serving(self: Serving, demand: Demand, layout: Layout) -> Any:
        found["serving"] += 1
        return fullest(self, demand, layout)

    def of_training(self: Step, most_bytes: float) -> Timeline | None:
        found["training"] += 1
        return walk(self, most_bytes)

    monkeypatch.setattr(Serving, "fullest", of_serving)
    monkeypatch.setattr(Step, "walk", of_training)
    return found


def test_an_answer_under_an_engine_works_out_memory_a_few_times(counted: Counter[str]) -> None:
    """The most sequences lie on a line that three of them give; devices needed and the sum over them are known."""
    estimate({"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "engine": "vllm", "context_tokens": 8192})
    assert 1 <= counted["serving"] <= 6
    counted.clear()
    estimate({"model": "bge-small", "accelerator": "h100-sxm-80gb", "engine": "vllm", "context_tokens": 512})
    assert 1 <= counted["serving"] <= 6  # memory bounds the texts of an encoder nowhere


def test_what_fits_nowhere_is_soon_seen(counted: Counter[str]) -> None:
    """Weights that no device holds are not placed on thousands of them one by one."""
    estimate({"model": "llama-3.1-405b", "accelerator": "rtx-3060-12gb", "engine": "vllm", "context_tokens": 131072})
    assert 1 <= counted["serving"] <= 60
    scenario = {"workload": "training", "model": "llama-3.1-8b", "accelerator": "rtx-3060-12gb", "sharding": "zero-3"}
    estimate({**scenario, "sequence_tokens": 131072, "micro_batch": 32})
    assert 1 <= counted["training"] <= 30


@pytest.mark.parametrize(("make", "kind"), [(inference, "serving"), (training, "training")])
def test_no_answer_takes_many_evaluations(make: Any, kind: str, counted: Counter[str]) -> None:
    """Over random scenarios, where something fits a few are enough, and where nothing does a hundred are."""
    rng, most = random.Random(8), 0
    for _ in range(EXAMPLES):
        counted.clear()
        scenario = make(rng)
        try:
            report: Any = estimate(scenario)
        except ScenarioError:
            continue
        most = max(most, counted[kind])
        repaired = report["memory"].get("chance", 1) < SURE or report.get("runs") is False
        assert counted[kind] <= (MOST_ANSWERS if repaired else ONE_ANSWER), scenario
    assert most > 1


@pytest.mark.parametrize("bend", [1, 40, 700, 99_990])
def test_a_bend_costs_few_tries(bend: int) -> None:
    """A size that grows a thousand times faster from some count on is met in few tries, and exactly."""
    tries = 0

    def size(count: int) -> int:
        nonlocal tries
        tries += 1
        return count if count <= bend else bend + 1000 * (count - bend)

    capacity = bend + 5000
    assert most_that_fit(size, capacity, 1, 10**7) == bend + 5
    assert tries <= 40
