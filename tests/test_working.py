"""The working of an answer: a reader with a pencil gets each value, and the last of them are what is reported."""

import random
from collections.abc import Iterator

import pytest

from calc import ScenarioError, estimate
from calc.calculators import CALCULATORS
from calc.calculators.mathml import mathml
from calc.calculators.page import report_of
from calc.catalog import catalog
from calc.memory.training.states import OPTIMIZERS as STATES
from calc.scenario.fields import SHARING_ENGINES
from tests.known import trained_models
from tests.service.test_pairs import FIELDS, refusal, with_fields
from tests.test_contract import ENGINES, OPTIMIZERS, PRECISIONS, Report, Scenario, inference, training
from tests.words import faults
from tests.working import evaluated, every_step

METHODS = ("full", "lora", "qlora")
SHARDINGS = ("none", "zero-1", "zero-2", "zero-3")
EXAMPLES = 100  # of each engine, and of each method with each sharding together
CLOSE = 0.005  # numbers are written with four digits
UNITS = {"B", "s", "tokens/s", "requests/s", "1/s", "operations", "operations/s", "kWh", "USD", "ratio", ""}
RATES = {
    "inference": ("decode_tokens_per_s", "time_to_first_token_s"),
    "training": ("step_s", "tokens_per_s_per_device", "model_flops_utilization", "duration_s"),
}


def reports(scenarios: Iterator[Scenario]) -> Iterator[tuple[Scenario, Report]]:
    """Yield what the scenarios that can be had report."""
    count = 0
    for scenario in scenarios:
        try:
            yield scenario, estimate(scenario)
        except ScenarioError:
            continue
        count += 1
        if count == EXAMPLES:
            return


def served(engine: str) -> Iterator[Scenario]:
    """Yield scenarios of one engine, with any model of the catalogue."""
    rng, models = random.Random(f"working of {engine}"), catalog().ids("models")
    while True:
        found = inference(rng) | {"engine": engine, "model": rng.choice(models)}
        if engine not in SHARING_ENGINES:
            found.pop("memory_fraction", None)
        yield found


def trained(method: str) -> Iterator[Scenario]:
    """Yield scenarios of one method with every sharding, precision and optimizer in turn, and any model."""
    rng, models = random.Random(f"working of {method}"), trained_models()
    place = 0
    while True:
        place += 1
        yield training(rng) | {
            "model": rng.choice(models),
            "method": method,
            "sharding": SHARDINGS[place % len(SHARDINGS)],
            "precision": PRECISIONS[place % len(PRECISIONS)],
            "optimizer": OPTIMIZERS[place % len(OPTIMIZERS)],
        }


def check_steps(report: Report, named: object) -> None:
    """Check that each line of working gives its value."""
    for step in every_step(report):
        found = evaluated(step["substituted"])
        assert found == pytest.approx(step["value"], rel=CLOSE, abs=1e-12), (named, step)


def check_words(report: Report, named: object) -> None:
    """Check that a reader can look up what an answer says: words, fields, parts, codes, formulas, sources, units."""
    steps = every_step(report)
    assert faults(report, steps) == [], named
    assert {step["unit"] for step in steps} <= UNITS, named
    for formula in {step["formula"] for step in steps}:
        assert mathml(formula), named
    for source in {step["source"] for step in steps}:
        assert catalog().source(source), named


def check_chain(scenario: Scenario, report: Report) -> None:
    """Check that the working leads to what is reported: each part, their sum, the speeds and the costs."""
    memory, speed, cost = report["memory"], report["speed"] or {}, report["cost"] or {}
    for part in memory["parts"]:
        if part["bytes"]:
            assert part["steps"][-1]["value"] == part["bytes"], (scenario, part)
            assert part["steps"][-1]["unit"] == "B", (scenario, part)
            assert all(step in report["steps"] for step in part["steps"]), (scenario, part["id"])
    reached = {step["value"] for step in report["steps"]}
    parts = " + ".join(f"{part['bytes']:,}" for part in memory["parts"] if part["bytes"])
    assert parts in {step["substituted"] for step in report["steps"]}, (scenario, parts)
    assert memory["device_bytes"] in reached, scenario
    for name in RATES[report["scenario"]["workload"]]:
        if speed.get(name):
            assert speed[name]["typical"] in reached, (scenario, name)
    for name in ("rent", "energy_kwh", "electricity"):
        one = (cost.get(name) or {}).get("per_run" if "step_s" in speed else "per_million_tokens")
        if one and (scenario.get("training_tokens") or "step_s" not in speed):
            assert one["typical"] in reached, (scenario, name, one)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_working_of_inference(engine: str) -> None:
    """Each line gives its value, and the lines lead to parts, totals, speeds and costs, under every engine."""
    for scenario, report in reports(served(engine)):
        check_steps(report, scenario)
        check_words(report, scenario)
        check_chain(scenario, report)


@pytest.mark.parametrize(
    ("engine", "load"),
    [
        ("vllm", {"concurrency": 3}),
        ("sglang", {"concurrency": 1}),
        ("sglang", {"concurrency": 400}),
        ("transformers", {"concurrency": 400}),
        ("vllm", {"arrivals": {"requests_per_s": 1.5}}),
    ],
)
@pytest.mark.parametrize("layout", [{"data": 2}, {"pipeline": 2}])
def test_the_working_of_servers(engine: str, load: Scenario, layout: Scenario) -> None:
    """The same of servers with so many requests at a time, or that come on their own, in replicas and in stages."""
    asked = {"model": "qwen3-4b", "engine": engine, "accelerator": "l4-24gb", "prompt_tokens": 900, "output_tokens": 90}
    scenario: Scenario = {**asked, **load, "parallelism": layout}
    report: Report = estimate(scenario)
    check_steps(report, scenario)
    check_words(report, scenario)
    if "concurrency" in load:  # of arrivals the events are the working
        check_chain(scenario, report)


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("engine", ["vllm", "sglang", "llama.cpp"])
def test_the_working_of_each_field(engine: str, name: str) -> None:
    """The same of each field that changes what an engine does, where it can be had."""
    scenario = with_fields(engine, name)
    if not refusal(engine, name):
        report: Report = estimate(scenario)
        check_steps(report, scenario)
        check_words(report, scenario)


@pytest.mark.parametrize("tokens", [{"context_tokens": 4096}, {"prompt_tokens": 1, "output_tokens": 2, "sequences": 8}])
@pytest.mark.parametrize("model", ["qwen3-4b", "gemma-3-12b", "gpt-oss-20b"])
def test_the_working_under_mlx(model: str, tokens: Scenario) -> None:
    """The same of an engine that holds what the mathematics needs: activations and logits have their working too."""
    scenario: Scenario = {"model": model, "engine": "mlx", "accelerator": "m4-max-64gb", **tokens}
    report: Report = estimate(scenario)
    check_steps(report, scenario)
    check_words(report, scenario)
    check_chain(scenario, report)


@pytest.mark.parametrize("model", ["llama-3.1-8b", "gemma-3-12b", "deepseek-v3"])
def test_the_working_of_shared_prompts_over_ranks(model: str) -> None:
    """The same of a prompt that sequences share, whose entries context ranks divide."""
    scenario: Scenario = {"model": model, "engine": "none", "sequences": 8, "context_tokens": 8192}
    scenario |= {"shared_prefix_tokens": 4096, "parallelism": {"tensor": 2, "context": 2}}
    report: Report = estimate(scenario)
    check_steps(report, scenario)
    check_chain(scenario, report)


@pytest.mark.parametrize("method", METHODS)
def test_the_working_of_training(method: str) -> None:
    """The same of training, with every sharding, precision and optimizer."""
    for scenario, report in reports(trained(method)):
        check_steps(report, scenario)
        check_words(report, scenario)
        check_chain(scenario, report)


@pytest.mark.parametrize("framework", catalog().ids("frameworks"))
def test_the_working_of_frameworks(framework: str) -> None:
    """The same of what each framework does by itself, with every optimizer in turn."""
    rng, models = random.Random(f"working of {framework}"), trained_models()
    for place, optimizer in enumerate((None, *STATES)):
        scenario: Scenario = {"workload": "training", "framework": framework, "model": rng.choice(models)}
        scenario |= {"method": METHODS[place % len(METHODS)], "accelerator": "h100-sxm-80gb", "training_tokens": 10**9}
        report: Report = estimate(scenario | ({"optimizer": optimizer} if optimizer else {}))
        check_steps(report, scenario)
        check_words(report, scenario)
        check_chain(scenario, report)


def test_the_working_of_rotary_tables() -> None:
    """Older versions of transformers own tables in each layer, whose line gives its value."""
    asked = {"model": "llama-3.1-8b", "engine": "transformers", "accelerator": "h100-sxm-80gb"}
    report: Report = estimate({**asked, "engine_version": "4.40"})
    assert any("Rotary tables" in step["name"] for step in every_step(report))
    check_steps(report, asked)


def test_the_working_of_lengths_that_vary() -> None:
    """Blocks that batches of other lengths leave behind stand in the line of what the allocator keeps."""
    asked = {"workload": "training", "model": "llama-3.2-1b", "method": "full", "varied_lengths": True}
    report: Report = estimate(asked)
    assert report["memory"]["reserved_bytes"] > estimate({**asked, "varied_lengths": False})["memory"]["reserved_bytes"]  # type: ignore[index]
    check_steps(report, asked)
    check_words(report, asked)


@pytest.mark.parametrize("name", CALCULATORS)
def test_the_working_of_worked_examples(name: str) -> None:
    """Each line of each worked example of a calculator gives its value."""
    for preset in CALCULATORS[name].presets:
        check_steps(report_of(name, preset.values), preset)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2,048 × 128,256 × 14 + 8", 2048 * 128256 * 14 + 8),
        ("max(3, 4.5) − min(1, 2,048)", 3.5),
        ("⌈10 / 4⌉ × 6 × 10⁻³", 0.018),
        ("1.5e+03 / (2 × 3)", 250),
    ],
)
def test_the_pencil(written: str, value: float) -> None:
    """The reader of these tests follows the signs that the working is written with."""
    assert evaluated(written) == pytest.approx(value)


@pytest.mark.parametrize("written", ["", "as given", "2 +", "__import__('os')", "x × 2", "1,02"])
def test_the_pencil_refuses_what_is_no_arithmetic(written: str) -> None:
    """A line that says words where it should calculate is found."""
    with pytest.raises(ValueError, match="no arithmetic"):
        evaluated(written)
