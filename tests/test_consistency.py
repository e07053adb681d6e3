"""Nothing that a report says contradicts itself, over random scenarios of both workloads."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from calc import ScenarioError, estimate
from calc.catalog import catalog
from calc.planning.chance import LIKELY
from calc.scenario.model import known_architecture
from tests.drawn_scenarios import check, drawn
from tests.known import trained_models
from tests.test_contract import MODELS as CONTRACT_MODELS
from tests.test_contract import inference, training

Scenario = dict[str, Any]
Report = Any
Make = Callable[[random.Random], Scenario]
EXAMPLES = 60
MODELS = trained_models()


def asked(make: Make, seed: int) -> Iterator[tuple[Scenario, Report]]:
    """Iterate over random scenarios with their reports: any model, and shares of a device up to all of it."""
    rng = random.Random(seed)
    for _ in range(EXAMPLES):
        scenario = make(rng)
        if rng.random() < 0.5:
            scenario["model"] = rng.choice(MODELS)
        if scenario.get("engine") in ("vllm", "sglang", "tensorrt-llm") and rng.random() < 0.5:
            scenario["memory_fraction"] = rng.choice([0.3, 0.9, 0.99, 1.0])
        if scenario.get("engine") == "llama.cpp" and rng.random() < 0.3:
            scenario["gpu_layers"] = rng.choice([1, 5])
        try:
            yield scenario, estimate(scenario)
        except ScenarioError:
            continue


@pytest.mark.parametrize("make", [inference, training])
def test_what_fits_is_no_more_than_the_device_has(make: Make) -> None:
    """`fits` says whether the device's bytes are within its capacity, and the headroom is what lies between."""
    for scenario, report in asked(make, 1):
        memory = report["memory"]
        if "capacity_bytes" in memory:
            assert memory["fits"] == (memory["device_bytes"] <= memory["capacity_bytes"]), scenario
            assert memory["headroom_bytes"] == memory["capacity_bytes"] - memory["device_bytes"], scenario
            assert memory["fits"] == (memory["chance"] >= LIKELY), scenario


def test_a_share_of_all_leaves_no_room_for_the_rest() -> None:
    """vLLM at a share of 1 has no room for its graphs and the driver's context beside it."""
    scenario = {"model": "llama-3.2-1b", "accelerator": "rtx-4090", "engine": "vllm", "memory_fraction": 1.0}
    memory: Any = estimate(scenario)["memory"]
    assert not memory["fits"] and memory["headroom_bytes"] < 0
    usual: Any = estimate({**scenario, "memory_fraction": 0.9})["memory"]
    assert usual["fits"] and usual["headroom_bytes"] > 0


@pytest.mark.parametrize("make", [inference, training])
def test_the_fullest_device_is_the_fullest(make: Make) -> None:
    """All devices together hold at most as often the fullest as there are devices."""
    for scenario, report in asked(make, 2):
        memory, count = report["memory"], report["scenario"]["accelerators"]
        assert memory["device_bytes"] <= memory["sum_over_devices_bytes"] <= count * memory["device_bytes"], scenario


@pytest.mark.parametrize(
    ("model", "accelerator", "weights", "stages"),
    [
        ("laguna-xs", "rtx-4090", "q4_k_m", 2),
        ("laguna-xs", "h100-sxm-80gb", "int8", 4),
        ("internvl2.5-1b", "h100-sxm-80gb", "int8", 8),
    ],
)
def test_the_stage_that_needs_most_is_not_always_the_fullest(
    model: str, accelerator: str, weights: str, stages: int
) -> None:
    """SGLang fills its share of each device, so that a stage that needs less may hold more: no stage holds more still.

    Where the stage that needs most stood for all of them, all together held more than so many times as much.
    """
    scenario: Scenario = {"model": model, "accelerator": accelerator, "weights": weights, "engine": "sglang"}
    memory: Any = estimate({**scenario, "parallelism": {"pipeline": stages}, "context_tokens": 1000, "sequences": 8})[
        "memory"
    ]
    assert memory["device_bytes"] < memory["sum_over_devices_bytes"] <= stages * memory["device_bytes"]


@pytest.mark.parametrize("make", [inference, training])
def test_a_filled_scenario_gives_the_same_report(make: Make) -> None:
    """What a report says was asked can be asked again, and the answer is the same but for what was filled in.

    A repair changes what was asked, and defaults follow it: where they were filled in, they do not.
    """
    for scenario, report in asked(make, 3):
        again: Any = estimate(report["scenario"], repairs=False)
        for name in report.keys() - {"defaults", "warnings", "repairs"}:
            assert again[name] == report[name], (name, scenario)


@pytest.mark.parametrize("workload", ["inference", "training"])
@pytest.mark.parametrize("model", ["FacebookAI/roberta-large", "google-bert/bert-base-multilingual-cased"])
def test_a_repository_with_other_ends_is_asked_again_as_itself(model: str, workload: str) -> None:
    """Its head is trained too: a run's scenario named the entry, whose model ends before it."""
    report: Any = estimate({"workload": workload, "model": model}, repairs=False)
    again: Any = estimate(report["scenario"], repairs=False)
    assert report["scenario"]["model"] == model
    assert again["model"] == report["model"] and again["memory"] == report["memory"]


@pytest.mark.parametrize("framework", [None, "unsloth", "ms-swift", "megatron-lm", "deepspeed"])
def test_a_precision_that_nobody_states_runs(framework: str | None) -> None:
    """What a framework takes on an older device is what the report says: stated, it runs there as well."""
    scenario: Scenario = {"workload": "training", "model": "llama-3.2-1b"} | (
        {"framework": framework} if framework else {}
    )
    taken = {}
    for device in ("gtx-1080-ti", "v100-sxm-32gb", "t4-16gb", "a100-sxm-80gb"):
        report: Any = estimate({**scenario, "accelerator": device}, repairs=False)
        again: Any = estimate(report["scenario"], repairs=False)
        assert (again["runs"], again["runs_because"]) == (report["runs"], report["runs_because"]), device
        taken[device] = report["scenario"]["precision"]
    assert taken["v100-sxm-32gb"] == taken["t4-16gb"] == "fp16-mixed"
    assert taken["a100-sxm-80gb"].startswith("bf16")


def test_what_is_filled_in_may_be_asked() -> None:
    """Transformers reads all prompts at once: so many tokens as two thousand of the longest have are a number too."""
    scenario: Scenario = {"model": "llama-3.1-8b", "engine": "transformers", "accelerator": "h100-sxm-80gb"}
    report: Any = estimate({**scenario, "sequences": 2000, "prompt_tokens": 1_000_000})
    assert report["scenario"]["batched_tokens"] == 2_000_000_000
    again: Any = estimate(report["scenario"])
    assert again["memory"] == report["memory"] and again["speed"] == report["speed"]


@pytest.mark.parametrize("model", ["llama-3.1-70b", "qwen3-next-80b-a3b"])  # the second keeps states, too
@pytest.mark.parametrize("engine", ["vllm", "sglang", "llama.cpp", "transformers"])
def test_what_does_not_fit_is_timed_as_if_it_did(model: str, engine: str) -> None:
    """Requests that come on their own have times and costs even where not one has room; no share is below 0."""
    scenario: Scenario = {"model": model, "weights": "bf16", "accelerator": "rtx-4090", "engine": engine}
    for load in ({"arrivals": {"requests_per_s": 1}}, {"arrivals": {"requests": 10}}, {"concurrency": 8}, {}):
        report: Any = estimate({**scenario, **load})
        memory, speed, cost = report["memory"], report["speed"], report["cost"]
        assert not memory["fits"] and memory["limit_bytes"] >= 0
        assert speed["output_tokens_per_s"]["low"] > 0 and speed["time_to_first_token_s"]["low"] > 0
        assert cost["rent"]["per_million_output_tokens"]["high"] > 0


def test_a_server_that_is_far_too_slow_answers_at_its_own_rate() -> None:
    """Where all requests have come before one is answered, what the whole run writes in its time is the rate."""
    scenario: Scenario = {"model": "mimo-v2.6-pro", "accelerator": "ai-pro-r9700", "engine": "vllm"}
    scenario |= {"output_tokens": 1, "sequence_slots": 1, "arrivals": {"requests_per_s": 100}}
    report: Any = estimate(scenario, repairs=False)
    speed = report["speed"]
    rate, most = speed["output_tokens_per_s"]["typical"], speed["most_requests_per_s"]["typical"]
    assert 0 < rate == pytest.approx(most, rel=0.1)


def test_each_request_is_answered() -> None:
    """Requests that follow each other write a token at least; without a number of them a prompt may be read alone."""
    scenario: Scenario = {"model": "llama-3.1-8b", "accelerator": "rtx-4090", "engine": "vllm", "output_tokens": 0}
    with pytest.raises(ScenarioError) as caught:
        estimate({**scenario, "concurrency": 8})
    assert caught.value.field == "output_tokens"
    alone: Any = estimate(scenario)
    assert alone["speed"]["time_to_first_token_s"]["typical"] > 0 and alone["cost"] is None


def one_of_each_family() -> list[str]:
    """Return a model of each family that ends in a vocabulary, and one of each that does not."""
    ends = {name: known_architecture(catalog(), name) for name in MODELS}
    return list({(each.family, each.output_size > 0): name for name, each in ends.items()}.values())


@pytest.mark.parametrize("name", one_of_each_family())
def test_every_family_trains_with_every_loss(name: str) -> None:
    """An encoder has no vocabulary to divide by."""
    for loss in ("full", "chunked", "compiled", "fused"):
        asked_for = {"workload": "training", "model": name, "cross_entropy": loss, "accelerator": "h200"}
        report: Any = estimate(asked_for, repairs=False)
        speed = report["speed"]
        if speed:
            assert speed["model_flops_utilization"]["high"] <= 1


@pytest.mark.parametrize("accelerator", ["RTX 5090", "RTX 4060"])
def test_no_run_does_more_than_the_device_can(accelerator: str) -> None:
    """Where large products keep a device busy, a range is cut at its rate: the upper end, and not the lower."""
    scenario: Scenario = {"workload": "training", "model": "llama-3.1-70b", "accelerator": accelerator}
    report: Any = estimate({**scenario, "sequence_tokens": 4096, "micro_batch": 8, "compile": True}, repairs=False)
    found = report["speed"]["model_flops_utilization"]
    assert found["typical"] < found["high"] <= 1
    assert found["high"] / found["typical"] < 0.999 * found["typical"] / found["low"]


@pytest.mark.parametrize("accelerator", ["RTX 5080 Laptop", "RTX 4090", "RTX PRO 6000 Blackwell"])
@pytest.mark.parametrize("method", ["full", "lora"])
def test_no_product_outruns_its_matrix_units(accelerator: str, method: str) -> None:
    """In TF32 such a device was said to do up to 1.1 times its rate, as it does more than others of that in 16 bit."""
    scenario: Scenario = {"workload": "training", "model": "nemotron-4-340b", "accelerator": accelerator}
    report: Any = estimate({**scenario, "method": method, "precision": "fp32"}, repairs=False)
    assert 0.5 < report["speed"]["model_flops_utilization"]["typical"] < 0.95


def test_the_most_sequences_say_where_the_search_ended() -> None:
    """An encoder keeps nothing of a text, so that memory bounds their number nowhere."""
    scenario = {"model": "mamba-130m", "accelerator": "h100-sxm-80gb", "sequences": "max", "context_tokens": 16}
    bounded: Any = estimate(scenario)
    assert "sequences-at-limit" not in [warning["code"] for warning in bounded["warnings"]]
    for engine in ("vllm", "none"):
        free: Any = estimate({**scenario, "model": "bge-small", "engine": engine})
        assert "sequences-at-limit" in [warning["code"] for warning in free["warnings"]], engine


def ranges(value: Report) -> Iterator[list[float]]:
    """Iterate over the ranges of a report."""
    if isinstance(value, dict):
        if set(value) == {"low", "typical", "high"}:
            yield [value["low"], value["typical"], value["high"]]
        for name, item in value.items():
            yield from [item] if name.endswith("_range") else ranges(item)


@pytest.mark.parametrize("seed", range(4))
def test_any_field_of_any_scenario_is_answered_soundly(seed: int) -> None:
    """Or refused by its name: nothing else is raised, and no report is against itself."""
    rng = random.Random(seed)
    scenarios = [drawn(rng) for _ in range(EXAMPLES)]
    assert sum(check(scenario) for scenario in scenarios) > EXAMPLES / 4


@pytest.mark.parametrize("make", [inference, training])
def test_ranges_are_ranges(make: Make) -> None:
    """Low, typical and high stand in that order, and none of them is below zero."""
    for scenario, report in asked(make, 4):
        for ends in ranges(report):
            assert ends[0] >= 0 and ends == sorted(ends), (ends, scenario)


LENGTHS = (1, 16, 128, 512, 513, 1000, 2048, 2049, 5000, 8192, 8193, 20_000, 32_768)
LAYOUTS = ({}, {"tensor": 2}, {"pipeline": 2}, {"tensor": 4, "data": 2}, {"context": 2}, {"data": 4, "expert": 4})


@pytest.mark.parametrize("accelerator", ["A100 80GB", "V100", "RTX 4090"])
def test_a_few_more_rows_never_answer_sooner(accelerator: str) -> None:
    """llama.cpp has kernels of their own for up to eight and sixteen rows."""
    scenario: Scenario = {"engine": "llama.cpp", "model": "llama-3.1-8b", "weights": "q4_k_m", "output_tokens": 8}
    reports: Any = [
        estimate({**scenario, "accelerator": accelerator, "prompt_tokens": tokens}, repairs=False)
        for tokens in range(1, 20)
    ]
    first = [report["speed"]["time_to_first_token_s"]["typical"] for report in reports]
    assert first == sorted(first)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers", "mlx"])
def test_more_prompt_never_answers_sooner(engine: str) -> None:
    """Of the same sequences in the same layout, a longer prompt has its first token no earlier.

    Three thousandths are left to chunks: two halves of a pass may waste less of their last tiles than the whole.
    Among tensor ranks it is 6 %: sums larger than an engine's own kernels take are NCCL's, which may be faster there
    (8 MiB between two B200 were measured to take 50.6 and 41.5 microseconds).
    """
    rng = random.Random(engine)
    for _ in range(10):
        device = "M2 Ultra" if engine == "mlx" else rng.choice(("H100", "RTX 4090", "MI300X", "Tesla T4", "B200"))
        scenario: Scenario = {"engine": engine, "model": rng.choice(CONTRACT_MODELS), "accelerator": device}
        scenario |= {"parallelism": {} if engine == "mlx" else rng.choice(LAYOUTS), "output_tokens": 128}
        scenario |= {"sequences": rng.choice((1, 7, 64)), "cached_tokens": rng.choice((0, 0, 1000))}
        before = 0.0
        for tokens in LENGTHS:
            try:
                report: Any = estimate({**scenario, "prompt_tokens": tokens})
            except ScenarioError:
                break
            if report["speed"] is None:
                break
            first = report["speed"]["time_to_first_token_s"]["typical"]
            slack = 0.94 if scenario["parallelism"].get("tensor", 1) > 1 else 0.997
            assert first >= slack * before, (tokens, scenario)
            before = first


@pytest.mark.parametrize("method", ["lora", "qlora"])
@pytest.mark.parametrize("checkpointing", ["none", "selective", "full"])
@pytest.mark.parametrize("model", ["gpt-oss-20b", "llama-3.1-8b", "bert-base", "opt-350m", "fnet-base"])
def test_adapters_that_keep_more_than_full_training_say_so(model: str, checkpointing: str, method: str) -> None:
    """Where a layer keeps more with adapters than without, its working says by how much; and only there.

    With full checkpointing that is what the layer at work keeps.
    """
    scenario: Scenario = {"workload": "training", "model": model, "checkpointing": checkpointing}
    scenario |= {"precision": "bf16-mixed", "sequence_tokens": 2048, "micro_batch": 8}
    kept, names = {}, []
    for way in ("full", method):
        report: Any = estimate({**scenario, "method": way})
        steps = next(part["steps"] for part in report["memory"]["parts"] if part["id"] == "activations")
        names = [step["name"] for step in steps]
        which = "A layer keeps" if checkpointing == "full" else "of the stage keep"
        kept[way] = next((step["value"] for step in steps if step["name"].endswith(which)), 0)
    said = any(name.startswith("… more than where") for name in names)
    assert said == (kept[method] > kept["full"])
