"""Which version of an engine a row was measured with."""

import pytest

from calc.validation.inference import version_with


@pytest.mark.parametrize(
    ("model", "stated", "found"),
    [("glm-5", "0.5", "0.5.9"), ("glm-5", "0.5.10", "0.5.10"), ("llama-3.1-8b", "0.5", "0.5")],
)
def test_what_was_measured_ran(model: str, stated: str, found: str) -> None:
    """SGLang knows GLM-5 from 0.5.9 on: a day that says its era means that version, and a later one itself."""
    assert version_with(model, "sglang", stated) == found
