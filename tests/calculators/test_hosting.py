"""What forms ask of the host, the scenario that it makes, and what answers say of it."""

from typing import Any

import pytest

from calc import ScenarioError
from calc.calculators import hosting
from calc.calculators.asked import asked_words
from calc.calculators.page import CALCULATORS


def scenario(**typed: str) -> dict[str, object]:
    """Return the scenario of *Will it fit?* for what was typed."""
    return CALCULATORS["will-it-fit"].asked(typed)


def answer(**typed: str) -> str:
    """Return the answer of *Will it fit?* in a sentence."""
    found: Any = CALCULATORS["will-it-fit"]
    return str(found.status(found.report(typed)))


MIXTURE = {"model": "qwen3-30b-a3b", "weights": "q4_k_m", "accelerator": "rtx-3060-12gb"}


def test_a_host_is_asked_about_where_something_could_be_left_to_it() -> None:
    """Under llama.cpp, the usual engine of a consumer's card; vLLM leaves none. The slot of the GPU always is."""
    assert "host" in scenario(processor="epyc-9554")
    assert "host" not in scenario(processor="epyc-9554", engine="vllm")
    assert "host" not in scenario(processor="epyc-9554", accelerator="h100-sxm-80gb")
    assert scenario(pcie="4.0 x8")["pcie"] == "4.0 x8"
    found = scenario(gpu_layers="20", processor="epyc-9554", host_cores="32", host_bandwidth="300", host_memory="128")
    assert found["gpu_layers"] == 20.0
    assert found["host"] == {"processor": "epyc-9554", "cores": 32, "bandwidth": "300.0 GB/s", "memory": 128 * 2**30}
    assert not hosting.FIELDS & (found.keys() - {"gpu_layers", "experts_on_host", "pcie"})


@pytest.mark.parametrize(("host", "helps"), [({"host_memory": ""}, True), ({}, False), ({"host_memory": "512"}, True)])
def test_no_more_is_left_to_a_host_than_it_has(host: dict[str, str], helps: bool) -> None:
    """The experts of DeepSeek V3 go to no host of 64 GiB, which the form has where nobody says; none at all is any."""
    typed = {"model": "deepseek-v3", "weights": "q4_k_m", "accelerator": "rtx-4090"}
    report: Any = CALCULATORS["will-it-fit"].report(typed | host)
    moved = [repair for repair in report["repairs"] if {"experts_on_host", "gpu_layers"} & repair["change"].keys()]
    assert bool(moved) is helps


def test_none_of_the_experts_is_no_question() -> None:
    """Empty and 0 leave nothing on the host."""
    assert "experts_on_host" not in scenario(**MIXTURE, experts_on_host="0")
    assert scenario(**MIXTURE, experts_on_host="30")["experts_on_host"] == 30.0


def test_an_answer_says_what_stays_on_the_host() -> None:
    """Layers, experts, or all of it, and the processor that works on them."""
    assert "the experts of 30 of 48 layers in the memory of a host with Ryzen 5 5600X" in answer(
        **MIXTURE, experts_on_host="30"
    )
    assert "28 of 48 layers in the memory of a host with EPYC 9554" in answer(
        **MIXTURE, gpu_layers="20", processor="epyc-9554"
    )
    assert "on a host with Ryzen 5 5600X alone" in answer(**MIXTURE, gpu_layers="0")


def test_caches_that_pause_have_a_room() -> None:
    """64 GiB are 524,288 tokens of Llama 3.1 8B; a prompt's are back soon, and the host has to have the room."""
    typed = {"accelerator": "h100-sxm-80gb", "engine": "vllm", "cache_store": "64", "host_memory": "128"}
    calculator = CALCULATORS["speed"]
    html = calculator.render(calculator.report({**typed, "weights": "bf16"}))
    assert "524,288" in html and "is back after" in html
    said = calculator.status(calculator.report({**typed, "weights": "bf16", "host_memory": "32"}))
    assert "host's memory" in said


def test_a_small_host_is_said() -> None:
    """16 GiB of experts do not stay in 8, of which the system leaves 6."""
    said = answer(**MIXTURE, experts_on_host="48", host_memory="8")
    assert "It does not fit into the host's memory" in said and "its system leaves" in said and "6.00 GiB" in said


def test_a_processor_alone_is_named_and_no_card_that_is_not_used() -> None:
    """The line below the verdict, the table of parts and the range say that it is the host."""
    found: Any = CALCULATORS["will-it-fit"]
    typed = {"model": "qwen3-8b", "weights": "q4_k_m", "engine": "llama.cpp", "gpu_layers": "0", "host_memory": "8"}
    report = found.report(typed | {"processor": "epyc-9554"})
    shown = found.render(report)
    assert "4090" not in asked_words(report) and asked_words(report).endswith("EPYC 9554")
    assert "Memory of the host, by part" in shown and "Used of the host" in shown


def test_a_processor_alone_needs_its_memory() -> None:
    """Who empties the field is told so: without it nothing says what fits."""
    with pytest.raises(ScenarioError, match="host_memory"):
        answer(**MIXTURE, gpu_layers="0", host_memory="")
