"""Models are found by the words that people say, and counts are read as they write them."""

from typing import Any

import pytest

from calc import ScenarioError, estimate
from calc.calculators.inputs import Number, read
from calc.catalog import catalog


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("deepseek r1", "deepseek-r1"),  # which is no distillation
        ("deepseek-r1:70b", "llama-3.3-70b"),
        ("deepseek r1 distill 70b", "llama-3.3-70b"),
        ("llama 70b", "llama-3.3-70b"),
        ("70b", "llama-3.3-70b"),
        ("8b", "llama-3.1-8b"),
        ("32b", "qwen3-32b"),
        ("gemma 27b", "gemma-3-27b"),
        ("mistral 24b", "mistral-small-3.2-24b"),
        ("qwen3:30b-a3b", "qwen3-30b-a3b"),
        ("llama3.3:70b-instruct-q4_K_M", "llama-3.3-70b"),
        ("Llama 3.3", "llama-3.3-70b"),  # which there is in no other size
        ("mixtral 8x22", "mixtral-8x22b"),
        ("gpt oss 20b q4", "gpt-oss-20b"),  # and not InternVL, which has it inside and in its name
    ],
)
def test_models_by_words(name: str, model: str) -> None:
    """A family and a size are enough; of several the newest of the maker with most, and nothing derived unasked."""
    assert catalog().model(name).id == model


@pytest.mark.parametrize("name", ["gpt-5", "llama-9b", "llama", "llama 8x7b", "no such model", "7q"])
def test_words_of_no_model(name: str) -> None:
    """A name without a size, or with one that no model has, is refused."""
    with pytest.raises(ScenarioError, match="not in the catalogue"):
        catalog().model(name)


def test_what_was_taken_is_said() -> None:
    """The answer names the model that was taken, and others that the words fit."""
    report: Any = estimate({"model": "llama 70b"})
    (warning,) = report["warnings"]
    assert (warning["code"], warning["severity"]) == ("model-ambiguous", "info")
    assert "taken as Llama 3.3 70B" in warning["message"] and "Llama 2 70B" in warning["message"]
    assert estimate(report["scenario"])["memory"] == report["memory"]


@pytest.mark.parametrize(
    ("name", "device", "count"),
    [
        ("2x3090", "rtx-3090", 2),
        ("rtx a6000", "rtx-a6000", 1),
        ("macbook pro m4 max 128gb", "m4-max-128gb", 1),
        ("Mac Studio M3 Ultra 96GB", "m3-ultra-96gb", 1),
    ],
)
def test_devices_as_people_write_them(name: str, device: str, count: int) -> None:
    """A count needs no space, and the computer around a chip is no part of its name."""
    scenario: Any = estimate({"model": "llama-3.1-8b", "accelerator": name})["scenario"]
    assert (scenario["accelerator"], scenario["accelerators"]) == (device, count)


@pytest.mark.parametrize(
    ("written", "tokens"),
    [("8k", 8192), ("8K", 8192), ("128K", 131_072), ("1M", 2**20), ("8,192", 8192), ("8 192", 8192), ("0.5k", 512)],
)
def test_counts_of_tokens(written: str, tokens: int) -> None:
    """A k of a context is 1,024, in a scenario and in a form, and the report has the number."""
    report: Any = estimate({"model": "llama-3.1-8b", "context_tokens": written})
    assert report["scenario"]["context_tokens"] == tokens
    assert read(Number("context_tokens", "", "", "1", 1, 10**8), written) == tokens


def test_counts_of_other_things() -> None:
    """A k of sequences is a thousand; of what a run reads 15T is fifteen million million."""
    report: Any = estimate({"model": "llama-3.1-8b", "sequences": "1k"})
    assert report["scenario"]["sequences"] == 1000
    run: Any = estimate({"workload": "training", "model": "llama-3.1-8b", "training_tokens": "15T"})
    assert run["scenario"]["training_tokens"] == 15 * 10**12


@pytest.mark.parametrize("written", ["", "many", "8kk", "-8k", "8.3", "1e6", "k"])
def test_what_is_no_count(written: str) -> None:
    """What is no whole number is refused by its field."""
    with pytest.raises(ScenarioError) as error:
        estimate({"model": "llama-3.1-8b", "context_tokens": written})
    assert error.value.field == "context_tokens"


def test_a_size_alone_is_a_model_that_many_measured() -> None:
    """And no old one of a maker with many: more than half as many sources have measured it as any of that size."""
    facts = catalog()
    sources = {name: entry["sources"] for name, entry in facts.entries("measured_models").items()}
    for size in ("3b", "8b", "12b", "13b", "20b", "24b", "70b", "80b", "120b", "1t"):
        read = facts.model_names.read(size)
        assert read and 2 * sources[read.id] > max(sources.get(other, 0) for other in (read.id, *read.others))


def test_a_name_of_another_size_is_none() -> None:
    """Gemma 12B has the letters of Gemma 1 2B."""
    assert catalog().lookup("models", "Gemma 1 2B") == "gemma-2b" == catalog().lookup("models", "gemma 2b")
    assert catalog().lookup("models", "gemma 12b") is None and catalog().model("gemma 12b").id != "gemma-2b"


@pytest.mark.parametrize(
    ("tag", "model", "words", "other"),
    [
        ("mistral:7b", "mistral-7b-v0.3", "Mistral 7B", "mistral-7b-v0.1"),
        ("qwen:14b", "qwen1.5-14b", "Qwen 14B", "qwen-14b"),
        ("Hermes3:8B", "llama-3.1-8b", "Hermes 2 Pro Llama 3 8B", "hermes-2-pro-llama-3-8b"),
    ],
)
def test_a_tag_is_what_ollama_has_there(tag: str, model: str, words: str, other: str) -> None:
    """A name with a colon is compared as it is written; the same words without one keep their model."""
    assert (catalog().lookup("models", tag), catalog().lookup("models", words)) == (model, other)
    assert not estimate({"model": tag})["warnings"]


def test_a_family_is_its_models_newest_first() -> None:
    """Who says no size is told which there are; what is made of another model is none of them unless it is said."""
    names = catalog().model_names
    days = [str(names.entries[model].get("released")) for model in names.of_family("mistral")]
    assert "mistral-small-24b" in names.of_family("Mistral") and days == sorted(days, reverse=True)
    assert not any("distill" in model for model in names.of_family("deepseek"))
    assert names.of_family("coder") and names.of_family("no such words") == names.of_family("") == []


def test_without_a_size_the_newest_version_of_one_size_is_meant() -> None:
    """All of DeepSeek V4.1 that there is has one size; Mistral has several, and is asked for one."""
    names = catalog().model_names
    assert names.read("mistral") is None and names.read("llama 3.3").id == "llama-3.3-70b"  # type: ignore[union-attr]


def test_whisper_alone_is_the_largest_of_the_newest() -> None:
    """A name without a size means OpenAI's large v3; with one, that size."""
    assert [catalog().model(name).id for name in ("whisper", "whisper tiny")] == ["whisper-large-v3", "whisper-tiny"]
