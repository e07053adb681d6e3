"""Which version of an engine a row was measured with."""

import pytest

from calc.validation.inference import version_then, version_with


@pytest.mark.parametrize(
    ("model", "stated", "found"),
    [("glm-5", "0.5", "0.5.9"), ("glm-5", "0.5.10", "0.5.10"), ("llama-3.1-8b", "0.5", "0.5")],
)
def test_what_was_measured_ran(model: str, stated: str, found: str) -> None:
    """SGLang knows GLM-5 from 0.5.9 on: a day that says its era means that version, and a later one itself."""
    assert version_with(model, "sglang", stated) == found


@pytest.mark.parametrize(
    ("day", "found"), [("2026-03-13", "b7700"), ("2026-03-14", "b8333"), ("2026-03", "b8333"), ("2025-12", "b6280")]
)
def test_a_month_alone_is_its_middle(day: str, found: str) -> None:
    """Build 8333 of llama.cpp is of 14 March 2026, build 7500 of 20 December 2025."""
    assert version_then({"notes": f"measured {day}", "engine": "llama.cpp"}, "llama.cpp") == found
