"""Limits of power: the law, and what it leaves of speeds as measured."""

from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import ScenarioError, estimate
from calc.catalog import catalog
from calc.performance.power import LEAST_CLOCK, power_law
from calc.validation.power_limits import missed, scores

ASKED = {
    "model": "qwen3-14b",
    "weights": "q4_k_m",
    "engine": "llama.cpp",
    "accelerator": "rtx-3090",
    "prompt_tokens": 2048,
    "output_tokens": 128,
}


@given(st.floats(0.0, 1.5), st.floats(0.0, 1.5))
def test_more_power_is_no_slower(one: float, other: float) -> None:
    law = power_law(catalog())
    low, high = sorted((one, other))
    assert LEAST_CLOCK <= law.clock(low) <= law.clock(high) <= 1.0


def test_the_law_has_no_step_where_the_voltage_stays() -> None:
    law = power_law(catalog())
    share = (law.static + (1.0 - law.static) * law.floor**3) * law.drawn
    assert law.clock(share) == pytest.approx(law.floor)
    assert law.clock(share - 1e-9) == pytest.approx(law.floor, abs=1e-6)


def test_measured_shares_of_speed() -> None:
    """A law of four numbers is within a tenth of what eight sources' limits left, each source once."""
    assert fmean(missed(scores()).values()) < 0.1


def test_prompts_are_slowed_more_than_writing() -> None:
    free: Any = estimate(ASKED, repairs=False)
    held: Any = estimate(ASKED | {"power_limit": 220}, repairs=False)
    left = {
        name: held["speed"][name]["typical"] / free["speed"][name]["typical"]
        for name in ("prefill_tokens_per_s", "decode_tokens_per_s")
    }
    assert 0.6 < left["prefill_tokens_per_s"] < 0.75 < left["decode_tokens_per_s"] < 1.0
    assert held["scenario"]["power_limit"] == 220
    assert [warn["field"] for warn in held["warnings"] if warn["code"] == "power-limited"] == ["power_limit"]
    assert held["memory"] == free["memory"]


def test_energy_is_counted_at_the_limit() -> None:
    free: Any = estimate(ASKED, repairs=False)
    held: Any = estimate(ASKED | {"power_limit": "175 W"}, repairs=False)
    name = "energy_kwh_per_million_output_tokens"
    slower = free["speed"]["output_tokens_per_s"]["typical"] / held["speed"]["output_tokens_per_s"]["typical"]
    assert held["cost"][name]["typical"] == pytest.approx(free["cost"][name]["typical"] * slower / 2)


@pytest.mark.parametrize("device", ["rtx-3090", "a100-sxm-80gb", "gh200-141gb"])
@pytest.mark.parametrize("run", [{"engine": "vllm"}, {"workload": "training", "method": "qlora"}])
def test_a_limit_at_the_board_s_own_changes_nothing(device: str, run: dict[str, str]) -> None:
    """Nor does one just above what kernels draw, whatever power a device has for its rate, alone or as a module."""
    asked, own = run | {"model": "llama-3.1-8b", "accelerator": device}, catalog().accelerator(device).quantity("power")
    free: Any = estimate(asked, repairs=False)
    for share in (1.0, 0.97):
        held: Any = estimate(asked | {"power_limit": own and own * share}, repairs=False)
        assert held["speed"] == free["speed"]


@pytest.mark.parametrize("device", ["rtx-3090", "h100-sxm-80gb", "mi300x"])
def test_all_of_a_run_is_slowed_by_its_clock_at_most(device: str) -> None:
    """Classes of devices by their power are those of the board: a limit is not counted a second time."""
    own = catalog().accelerator(device).quantity("power") or 0.0
    asked = {"workload": "training", "model": "llama-3.1-8b", "method": "lora", "accelerator": device}
    free: Any = estimate(asked, repairs=False)
    for share in (0.85, 0.6, 0.3):
        held: Any = estimate(asked | {"power_limit": round(share * own)}, repairs=False)
        left = free["speed"]["step_s"]["typical"] / held["speed"]["step_s"]["typical"]
        assert power_law(catalog()).clock(round(share * own) / own) - 1e-6 <= left < 1.0


def test_training_is_slowed() -> None:
    asked = {"workload": "training", "model": "llama-3.1-8b", "method": "qlora", "accelerator": "rtx-4090"}
    free: Any = estimate(asked, repairs=False)
    held: Any = estimate(asked | {"power_limit": 300}, repairs=False)
    share = free["speed"]["step_s"]["typical"] / held["speed"]["step_s"]["typical"]
    assert 0.8 < share < 1.0
    used = [report["speed"]["model_flops_utilization"]["typical"] for report in (free, held)]
    assert used[1] == pytest.approx(used[0] * share)  # of what the data sheet has
    assert "power-limited" in {warn["code"] for warn in held["warnings"]}


@pytest.mark.parametrize(
    ("device", "limit", "message"),
    [
        ("rtx-3090", 400, "must be from 88 to the 350 W that GeForce RTX 3090 may draw, not 400 W"),
        ("rtx-3090", 20, "must be from 88 to the 350 W that GeForce RTX 3090 may draw, not 20 W"),
        ("rtx-3090", "much", "must be watts, or a text such as"),
        ("rtx-3090", True, "must be watts, or a text such as"),
        ("rtx-3090", float("nan"), "must be watts, or a text such as"),
        ("rtx-3090", float("inf"), "must be watts, or a text such as"),
        ("rtx-3090", 10**400, "must be watts, or a text such as"),
        ("mi430x", 500, "what Instinct MI430X may draw is in no source"),
        ("m4-max-128gb", 50, "does not apply"),
        (None, 200, "needs an accelerator"),
    ],
)
def test_limits_that_nobody_can_set(device: str | None, limit: object, message: str) -> None:
    asked = {name: value for name, value in ASKED.items() if name != "accelerator"}
    with pytest.raises(ScenarioError) as caught:
        estimate(asked | ({"accelerator": device} if device else {}) | {"power_limit": limit})
    assert caught.value.field == "power_limit"
    assert message in caught.value.message


def test_each_of_unlike_cards_has_its_own_limit() -> None:
    cards = [{"id": "rtx-3090", "power_limit": 250}, {"id": "rtx-3060-12gb"}]
    asked = {name: value for name, value in ASKED.items() if name != "accelerator"} | {"accelerator": cards}
    report: Any = estimate(asked, repairs=False)
    assert report["scenario"]["accelerator"][0] == {"id": "rtx-3090", "count": 1, "power_limit": 250}
    assert [warn["code"] for warn in report["warnings"]] == ["power-limited"]
    free: Any = estimate(asked | {"accelerator": [{"id": card["id"]} for card in cards]}, repairs=False)
    for name in ("prefill_tokens_per_s", "decode_tokens_per_s"):
        assert report["speed"][name]["typical"] < free["speed"][name]["typical"]


def test_another_device_has_another_limit() -> None:
    """A limit of the card goes with the card where a larger one is offered in its place."""
    asked = {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "rtx-4060-ti-8gb", "power_limit": 160}
    report: Any = estimate(asked)
    changes = [repair["change"] for repair in report["repairs"] if "accelerator" in repair["change"]]
    assert changes
    for change in changes:
        after = {name: value for name, value in {**asked, **change}.items() if value is not None}
        assert "power_limit" not in after
        larger: Any = estimate(after, repairs=False)
        assert larger["memory"]["fits"]
