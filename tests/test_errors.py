"""What is wrong with a scenario: all of it is said, each by its field, and nothing else."""

import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import ScenarioError, estimate
from calc.catalog import catalog

Scenario = dict[str, Any]
# Wrong values, each wrong whatever the other fields say; the path of what is wrong follows.
INFERENCE = [
    ({"sequences": 0}, "sequences"),
    ({"kv_cache": "bf61"}, "kv_cache"),
    ({"weights": {"bits_per_weight": 99}}, "weights.bits_per_weight"),
    ({"engine": "vllmm"}, "engine"),
    ({"accelerator": "RTX 9999"}, "accelerator"),
    ({"prompt_tokens": -1}, "prompt_tokens"),
    ({"price_per_hour": "much"}, "price_per_hour"),
    ({"parallelism": {"tensor": 0}}, "parallelism.tensor"),
    ({"prompt_logits": "some"}, "prompt_logits"),
    ({"flavour": 1}, "flavour"),
]
TRAINING = [
    ({"method": "full-ish"}, "method"),
    ({"precision": "bf17"}, "precision"),
    ({"optimizer": "adam"}, "optimizer"),
    ({"sharding": "zero-9"}, "sharding"),
    ({"micro_batch": 0}, "micro_batch"),
    ({"sequence_tokens": "long"}, "sequence_tokens"),
    ({"checkpointing": "some"}, "checkpointing"),
    ({"offload": "optimizer"}, "offload"),
    ({"parallelism": {"data": -1}}, "parallelism.data"),
    ({"padding_mask": "yes"}, "padding_mask"),
    ({"flavour": 1}, "flavour"),
]


def problems(scenario: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return what is wrong with a scenario."""
    with pytest.raises(ScenarioError) as caught:
        estimate(scenario)
    error = caught.value
    assert error.problems[0] == (error.field, error.message)
    return error.problems


@pytest.mark.parametrize(("workload", "wrong"), [("inference", INFERENCE), ("training", TRAINING)])
@given(data=st.data())
def test_every_wrong_field_is_said(workload: str, wrong: list[tuple[Scenario, str]], data: st.DataObject) -> None:
    """Of any wrong fields together each is reported once, and no right one beside them."""
    chosen = data.draw(st.lists(st.sampled_from(wrong), min_size=1, max_size=4, unique_by=lambda pair: pair[1]))
    scenario: Scenario = {"workload": workload, "model": "llama-3.1-8b"}
    for fields, _ in chosen:
        scenario |= fields
    assert sorted(field for field, _ in problems(scenario)) == sorted(field for _, field in chosen)


@pytest.mark.parametrize(
    ("scenario", "field"),
    [
        ({"workload": "training", "method": "lora", "lora": {"ranks": 8}}, "lora.ranks"),
        ({"parallelism": {"tensors": 2}}, "parallelism.tensors"),
        ({"engine": "vllm", "arrivals": {"requests_per_s": 1, "burstines": 1}}, "arrivals.burstines"),
        ({"engine": "vllm", "arrivals": {"requests_per_s": 1, "objective": {"ttft": 1}}}, "arrivals.objective.ttft"),
        ({"engine": "vllm", "start": {"form": "disk"}}, "start.form"),
        ({"engine": "llama.cpp", "gpu_layers": 8, "host": {"processors": 2}}, "host.processors"),
        ({"engine": "vllm", "accelerator": "rtx-4090", "cache_offload": {"byte": 1}}, "cache_offload.byte"),
        ({"accelerator": [{"id": "rtx-4090", "counts": 1}]}, "accelerator.0.counts"),
        ({"sequence": 1}, "sequence"),
        ({"sequence": None}, "sequence"),
        ({"workload": "training", "micro_batches": None}, "micro_batches"),
    ],
)
def test_a_field_that_there_is_not_is_said_by_its_path(scenario: Scenario, field: str) -> None:
    """With the names that there are, and the nearest of them; one that says nothing is no field either."""
    path, message = problems({"model": "llama-3.1-8b", **scenario})[0]
    assert path == field
    assert message.startswith("is not a field") and '; did you mean "' in message and "; fields are " in message


def test_fields_of_one_object_are_said_each() -> None:
    """Two wrong degrees, and two wrong fields of adapters, are four problems."""
    scenario = {"workload": "training", "model": "llama-3.1-8b", "method": "lora"}
    wrong = {"lora": {"rank": -4, "dropout": 3}, "parallelism": {"tensor": 0, "data": -1}}
    found = [field for field, _ in problems({**scenario, **wrong})]
    assert sorted(found) == ["lora.dropout", "lora.rank", "parallelism.data", "parallelism.tensor"]


def test_a_field_that_another_one_allows_is_not_wrong_for_itself() -> None:
    """Adapters are right if the misspelled method was to be LoRA."""
    scenario = {"workload": "training", "model": "llama-3.1-8b", "method": "lorra", "lora": {"rank": 8}}
    assert [field for field, _ in problems(scenario)] == ["method"]


def test_other_fields_are_read_where_the_model_is_wrong() -> None:
    """A degree that only some models divide by is not called wrong, a count that no model allows is."""
    scenario = {"model": "lama", "parallelism": {"tensor": 3}, "sequences": 0}
    assert [field for field, _ in problems(scenario)] == ["model", "sequences"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("path", ["unread", "hidden_size", "rope_scaling.factor", "listed.1"])
def test_a_config_has_finite_numbers(value: float, path: str) -> None:
    """A number without end is refused by its path, in keys that nothing reads, too."""
    config: Scenario = {**catalog().model("llama-3.1-8b").config, "rope_scaling": {"factor": 8.0}, "listed": [1.0, 2.0]}
    *outer, last = path.split(".")
    place: Any = config
    for name in outer:
        place = place[name]
    place[int(last) if isinstance(place, list) else last] = value
    for workload in ("inference", "training"):
        assert problems({"workload": workload, "model": {"config": config}})[0][0] == f"model.config.{path}"


def test_wrong_scenarios_are_quick() -> None:
    """Finding all that is wrong takes no longer than a reader notices."""
    estimate({"model": "llama-3.1-8b"})
    scenario: Scenario = {"model": "lama"}
    for fields, _ in INFERENCE:
        scenario |= fields
    before = time.process_time()
    problems(scenario)
    assert time.process_time() - before < 1
