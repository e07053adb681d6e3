"""What devices do not hold stands in the host's memory, where a question says how much there is."""

from typing import Any

import pytest

from calc import estimate, plan
from calc.planner.beside_host import memory_of
from calc.units import GIB

MODELS = ["llama-3.1-8b", "qwen3-30b-a3b", "llama-3.3-70b", "gpt-oss-120b", "deepseek-v3"]
CARD = "rtx-3060-12gb"


def models(host_gib: int | None, **more: Any) -> Any:
    """Return what of five models runs on one card, beside so much memory."""
    host = {} if host_gib is None else {"host": {"memory": host_gib * GIB}}
    asked = {"want": "models", "models": MODELS, "weights": "any", "context_tokens": 8192, **more}
    return plan({**asked, "have": {"accelerator": CARD, **host}})


def names(answer: Any) -> list[str]:
    """Return the models of the options, in their order."""
    return [option["scenario"]["model"] for option in answer["options"]]


def test_a_host_holds_what_the_card_does_not() -> None:
    """12 and 64 GiB hold 44 GB of a 70B in four bits, 12 and 24 GiB do not, and neither hold a model of 671 billion."""
    assert names(models(None)) == ["llama-3.1-8b"]
    assert names(models(24)) == ["qwen3-30b-a3b", "llama-3.1-8b"]
    assert names(models(96)) == ["gpt-oss-120b", "llama-3.3-70b", "qwen3-30b-a3b", "llama-3.1-8b"]


def test_experts_are_left_there_before_layers() -> None:
    """Of a mixture the experts of some layers, of a dense model whole layers; what fits leaves nothing there."""
    placed = {
        option["scenario"]["model"]: option["scenario"].keys() & {"gpu_layers", "experts_on_host"}
        for option in models(96)["options"]
    }
    assert placed == {
        "gpt-oss-120b": {"experts_on_host"},
        "llama-3.3-70b": {"gpu_layers"},
        "qwen3-30b-a3b": {"experts_on_host"},
        "llama-3.1-8b": set(),
    }


@pytest.mark.parametrize("more", [{}, {"rank_by": "speed"}, {"need": {"tokens_per_s_each": 5}}])
def test_options_are_those_of_their_reports(more: dict[str, Any]) -> None:
    """Each surely fits by its own report, in both memories, leaves there as little as has to be, and is as fast."""
    for option in models(96, **more)["options"]:
        report: Any = estimate(option["scenario"])
        assert report["memory"]["fits"] and option["chance"] >= 0.95
        assert report["memory"].get("host_bytes", 0) <= 96 * GIB
        assert option["speed"]["decode_tokens_per_s"] == report["speed"]["decode_tokens_per_s"]
        if kept := option["scenario"].get("gpu_layers"):
            more_layers: Any = estimate({**option["scenario"], "gpu_layers": kept + 5})
            assert not more_layers["memory"]["fits"]


def test_what_the_host_reads_may_be_too_slow() -> None:
    """The 70B of which half is in the host's memory writes two tokens a second, the mixtures more."""
    assert names(models(96, need={"tokens_per_s_each": 5})) == ["gpt-oss-120b", "qwen3-30b-a3b", "llama-3.1-8b"]


def test_a_service_is_planned_on_devices_alone() -> None:
    """People who come at random are not served from a host's memory, and another engine leaves nothing there."""
    assert names(models(96, need={"users": 20})) == names(models(None, need={"users": 20}))
    assert names(models(96, engine="vllm")) == names(models(None, engine="vllm"))


def test_the_largest_model_is_one_of_both_memories() -> None:
    """The most of something counts the host's memory too."""
    asked = {"want": "limit", "of": "model", "models": MODELS, "weights": "any", "context_tokens": 8192}
    found: Any = plan({**asked, "have": {"accelerator": CARD, "host": {"memory": f"{96} GiB"}}})
    assert found["options"][0]["scenario"]["model"] == "gpt-oss-120b"


def test_the_host_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many models reach its memory, and the processor beside it is the device's usual one."""
    read = list[object]()

    def counted(question: Any, facts: Any) -> int:
        read.append(question)
        return memory_of(question, facts)

    monkeypatch.setattr("calc.planner.beside_host.memory_of", counted)
    assert len(names(models(96))) == 4 and len(read) == 1
