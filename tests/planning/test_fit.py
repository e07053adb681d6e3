"""What fits: layouts, the fewest devices, the most sequences."""

from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import estimate
from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.planning.fit import first_that_fits, in_whole_machines
from calc.planning.layout import tensor_degrees
from calc.scenario.model import known_architecture

DEVICES = ["rtx-4090", "h100-sxm-80gb", "rtx-3060-12gb"]
asked = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["llama-3.1-8b", "llama-3.1-70b", "gemma-2-27b", "qwen2.5-32b"]),
        "weights": st.sampled_from(["bf16", "awq", "fp8"]),
        "sequences": st.integers(1, 64),
        "context_tokens": st.integers(128, 32_768),
        "accelerator": st.sampled_from(DEVICES),
    }
)


def memory(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return the memory of a report."""
    found = estimate(scenario)["memory"]
    assert isinstance(found, dict)
    return found


@given(scenario=asked)
def test_the_devices_needed_hold_it_and_one_less_does_not(scenario: dict[str, Any]) -> None:
    """The answer fits with its layout, and no smaller number of devices does."""
    needed = memory(scenario)
    count = needed["devices_needed"]
    layout = needed["devices_needed_parallelism"]
    assert memory(scenario | {"parallelism": layout})["fits"]
    architecture = known_architecture(catalog(), scenario["model"])
    for fewer in range(1, count):
        for degree in tensor_degrees(architecture):
            if fewer % degree == 0 and fewer // degree <= architecture.layer_count:
                smaller = {"tensor": degree, "pipeline": fewer // degree}
                assert not memory(scenario | {"parallelism": smaller})["fits"]


@pytest.mark.parametrize(
    ("device", "count", "whole"),
    [
        ("h100-sxm-80gb", 12, 16),
        ("h100-sxm-80gb", 3, 3),
        ("gb200-186gb", 6, 8),
        ("rtx-4090", 40, 40),
        ("m4-max-64gb", 3, 3),
    ],
)
def test_servers_devices_are_had_by_the_machine(device: str, count: int, whole: int) -> None:
    """Beyond the eight of an HGX H100, or the four of a tray, they come in machines; cards of one's own come singly."""
    assert in_whole_machines(count, device, catalog()) == whole


def test_computers_that_are_asked_for_are_counted() -> None:
    """Nobody is told to join Macs; of eight that somebody has joined, as many are needed as hold it."""
    scenario = {"model": "mixtral-8x7b", "weights": "nvfp4", "sequences": 256, "context_tokens": 4096}
    scenario |= {"accelerator": "m2-ultra-192gb", "engine": "sglang"}
    assert memory(scenario)["devices_needed"] is None
    asked_for = memory(scenario | {"accelerators": 8})
    assert asked_for["devices_needed"] == memory(scenario | {"accelerators": 2})["devices_needed"] == 2


@given(scenario=asked)
def test_as_many_sequences_as_fit(scenario: dict[str, Any]) -> None:
    """With "max" it fits, and with one sequence more it does not."""
    found = memory(scenario | {"sequences": "max"})
    if not found["fits"]:
        assert found["sequences"] == 1
        return
    assert found["sequences"] == memory(scenario)["max_sequences"]
    assert not memory(scenario | {"sequences": found["sequences"] + 1})["fits"]


def test_headroom_and_fits_say_the_same() -> None:
    """Headroom is what is left of the capacity, negative where it does not fit."""
    found = memory({"model": "llama-3.1-8b", "weights": "fp32", "accelerator": "RTX 4090"})
    assert found["capacity_bytes"] == 24564 * 2**20
    assert found["headroom_bytes"] == found["capacity_bytes"] - found["device_bytes"] < 0
    assert found["fits"] is False


@pytest.mark.parametrize(("model", "degrees"), [("llama-3.1-8b", [1, 2, 4, 8, 16, 32]), ("falcon-7b", [1, 71])])
def test_tensor_degrees_divide_the_heads(model: str, degrees: list[int]) -> None:
    """32 heads with 8 KV heads allow powers of two; Falcon's 71 heads allow nothing but 1 and 71."""
    assert list(tensor_degrees(known_architecture(catalog(), model))) == degrees


def test_kv_heads_are_repeated_when_ranks_outnumber_them() -> None:
    """16 ranks over 8 KV heads hold one head each: the cache of all together is twice the one of a single device."""
    scenario = {"model": "llama-3.1-8b", "context_tokens": 4096}
    single = memory(scenario)["parts"][1]["bytes"]
    sixteen = memory(scenario | {"parallelism": {"tensor": 16}})["parts"][1]["bytes"]
    assert 16 * sixteen == 2 * single


def test_context_parallelism_divides_the_cache() -> None:
    """Four context ranks hold a quarter of a sequence's cache each."""
    scenario = {"model": "llama-3.1-8b", "context_tokens": 4096}
    single = memory(scenario)["parts"][1]["bytes"]
    assert 4 * memory(scenario | {"parallelism": {"context": 4}})["parts"][1]["bytes"] == single


@pytest.mark.parametrize(
    ("engine", "weights", "layout"),
    [("llama.cpp", "q4_k_m", (1, 2)), ("transformers", "nf4", (1, 2)), ("vllm", "awq", (2, 1))],
)
def test_an_engine_divides_a_model_its_own_way(engine: str, weights: str, layout: tuple[int, int]) -> None:
    """llama.cpp (--split-mode layer) and transformers (device_map) give each device whole layers; vLLM divides each."""
    asked = {
        "model": "llama-3.3-70b",
        "weights": weights,
        "engine": engine,
        "accelerator": "rtx-a6000",
        "accelerators": 2,
    }
    report: Any = estimate(asked)
    assert tuple(report["scenario"]["parallelism"][kind] for kind in ("tensor", "pipeline")) == layout
    needed = report["memory"]["devices_needed_parallelism"]
    assert engine == "vllm" or needed["tensor"] == 1


def test_no_engine_gives_devices_parts_of_a_layer_that_it_splits_by_layers() -> None:
    """A model has as many stages as layers at most: 16 of Llama 3.2 1B's."""
    asked = {"model": "llama-3.2-1b", "engine": "llama.cpp", "weights": "q4_k_m", "accelerator": "rtx-4090"}
    with pytest.raises(ScenarioError, match="16 would work"):
        estimate({**asked, "accelerators": 17})


@pytest.mark.parametrize("bend", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("capacity", [9, 10, 11, 40, 300, 5000])
@pytest.mark.parametrize("unknown", [0, 5, 100])
def test_the_first_place_that_fits(bend: float, capacity: int, unknown: int) -> None:
    """It is what trying each finds, in few tries: of straight and bent needs, and of some that are first unknown."""
    tried = list[int]()

    def lacking(place: int) -> float:
        tried.append(place)
        return inf if place < unknown else 10 + 1000 / (place + 1) ** bend - capacity

    found = first_that_fits(lacking, lambda place: 1 / (place + 1), 4096)
    most = len(tried)
    assert found == next((place for place in range(4096) if lacking(place) <= 0), None)
    assert most <= 20
