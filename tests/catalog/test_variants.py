"""Variants of a model: each is published as its own repository is, by whatever name."""

from typing import Any

import pytest

from calc import estimate, read_line


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
