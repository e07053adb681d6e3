"""Every calculator answers for every family: also without attention, without a cache, without logits."""

from typing import Any

import pytest

from calc import estimate
from calc.calculators import kv_cache, will_it_fit
from calc.networks import FAMILIES
from tests.known import family_configs

BASES = family_configs()
ASKED = {"accelerator": "h100-sxm-80gb", "context_tokens": 4096, "sequences": 2, "accelerators": 1}


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_calculators_answer_for_every_family(family: str) -> None:
    """The answer, its sentence and its row are there, and nothing in them is undefined."""
    report: dict[str, Any] = dict(estimate({"model": {"config": {**BASES[family], "model_type": family}}, **ASKED}))
    for calculator in (will_it_fit.CALCULATOR, kv_cache.CALCULATOR):
        answer = calculator.render(report)
        assert "None" not in answer
        assert calculator.status(report)
        assert len(calculator.row(report)) == len(calculator.headings)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_parts_of_every_family_are_the_values_of_their_steps(family: str) -> None:
    """Parts add up to the total, and each is the value of its last step: nothing is added without its working."""
    config = {**BASES[family], "model_type": family}
    for weights in ("bf16", "awq", "q4_k_m"):
        memory: Any = estimate({"model": {"config": config}, "weights": weights, **ASKED})["memory"]
        assert sum(part["bytes"] for part in memory["parts"]) == memory["device_bytes"]
        for part in memory["parts"]:
            if part["bytes"]:
                assert part["steps"][-1]["value"] == part["bytes"]
