"""Variants of a model: each is published as its own repository is, by whatever name."""

import re
from typing import Any

import pytest

from calc import estimate, read_line
from calc.catalog import catalog
from calc.scenario.model import read_model


@pytest.mark.parametrize(
    "names", [("kimi-k2-thinking", "moonshotai/Kimi-K2-Thinking"), ("kimi-k2", "Kimi K2 Thinking")]
)
def test_a_variant_is_published_as_its_repository_is(names: tuple[str, str]) -> None:
    """Kimi K2 Thinking has experts in INT4, where Kimi K2 is published in FP8, whichever is asked for first."""
    for name in names:
        report: Any = estimate({"model": name})
        assert report["model"]["weights"].startswith("FP8" if name == "kimi-k2" else "INT4")


def test_a_line_names_a_variant() -> None:
    """The words of a variant's repository lead to it, and the words of the model to the model."""
    asked = [read_line(f"how many h100 do i need for {name}")["scenario"] for name in ("kimi k2 thinking", "kimi k2")]
    assert [scenario["model"] for scenario in asked] == ["moonshotai/Kimi-K2-Thinking", "kimi-k2"]  # type: ignore[index]


def test_rope_scaling_is_not_counted_twice() -> None:
    """A list of models multiplies contexts by it: what reads half a million tokens by Llama's layers says so."""
    scaled = [
        (model.id, name)
        for model in catalog().models()
        if model.config.get("model_type") in ("llama", "gemma3_text", "mistral", "qwen2", "qwen3")
        for name, tokens in ((model.repositories[0], model.context_tokens), *lengths_of(model.id))
        if (tokens or 0) >= 2**19 and not re.search(r"\d+[km]\b", name.casefold())
    ]
    assert not scaled
    report: Any = estimate({"model": "llama-3.1-tulu-3-70b", "context_tokens": 200_000})
    assert "context-beyond-trained" in {warning["code"] for warning in report["warnings"]}


def lengths_of(model: str) -> list[tuple[str, int]]:
    """Return the repositories of a model's variants with the contexts that they are made for."""
    entry: Any = catalog().entries("models")[model]
    return [
        (name, item["context_tokens"]) for name, item in entry.get("variants", {}).items() if "context_tokens" in item
    ]


@pytest.mark.parametrize("model", ["llama-68m", "bielik-minitron-7b-v3.0-instruct"])
def test_a_context_is_no_other_than_the_config_s(model: str) -> None:
    """Where a list of models has another length, the positions of the config stand."""
    found = catalog().model(model)
    assert found.context_tokens == found.config["max_position_embeddings"]


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("devstral-small-2-24b-2512", "FP8"),  # whose files hold scales of FP8, as its larger sister's
        ("devstral-2-123b", "FP8"),
        ("ministral-3-8b", "FP8"),
        ("mistralai/Ministral-3-8B-Base-2512", "BF16"),
        ("mistral-large-3", "FP8"),
        ("mistralai/Mistral-Large-3-675B-Base-2512", "BF16"),
    ],
)
def test_a_model_is_published_as_its_first_repository_is(name: str, weights: str) -> None:
    """What is fetched of a model is its first repository; its sisters, by their own names, are as they are."""
    report: Any = estimate({"model": name})
    assert report["model"]["weights"] == weights
    again: Any = estimate({"model": report["scenario"]["model"]})
    assert again["model"]["weights"] == weights


def test_words_of_a_variant_mean_it() -> None:
    """Qwen3 Coder 30B goes as far as it is made for, and not as far as the model of whose shape it is."""
    facts = catalog()
    for name in ("qwen3 coder 30b", "Qwen3 Coder 30B A3B", "qwen3-30b-a3b 2507", "qwen3 235b 2507"):
        assert read_model(name, facts).context_tokens == 262144, name
    for name in ("qwen3 30b", "qwen3-30b-a3b", "Qwen3 30B A3B", "Qwen3 14B FP8"):
        assert read_model(name, facts).context_tokens == 40960, name
    assert facts.variant("SAM 2") == ""  # whose variants are of several sizes
