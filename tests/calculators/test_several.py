"""Forms ask for devices that are not alike and for two pools, and answers say what each of them holds."""

from typing import Any

import pytest

from calc import ScenarioError, plan
from calc.calculators.cost import CALCULATOR as COST
from calc.calculators.line_link import form_values
from calc.calculators.options import address
from calc.calculators.speed import CALCULATOR as SPEED
from calc.calculators.will_it_fit import CALCULATOR as WILL_IT_FIT

UNLIKE = {"model": "qwen3-32b", "weights": "q4_k_m", "engine": "llama.cpp", "accelerator": "rtx-3090"}
UNLIKE |= {"other_accelerator": "rtx-3060-12gb"}
POOLS = {"model": "llama-3.3-70b", "weights": "fp8", "engine": "vllm", "accelerator": "h100-sxm-80gb"}
POOLS |= {"accelerators": "8", "prefill_accelerators": "4", "decode_tensor": "4", "concurrency": "64"}


@pytest.mark.parametrize("calculator", [WILL_IT_FIT, SPEED], ids=lambda calculator: calculator.id)
def test_a_second_kind_makes_a_list(calculator: Any) -> None:
    """Both kinds are in the scenario, each with its number and slot, and the answer says which layers are where."""
    slots = {"accelerators": "2", "other_pcie": "3.0 x4", "power_limit": "300", "other_power_limit": "120"}
    asked: Any = calculator.asked({**UNLIKE, **slots})
    first, second = asked["accelerator"]
    assert first | {"power_limit": float(first["power_limit"])} == {"id": "rtx-3090", "count": 2, "power_limit": 300}
    assert second.pop("power_limit") == first["power_limit"] * 120 / 300
    assert second == {"id": "rtx-3060-12gb", "count": 1, "pcie": "3.0 x4"}
    assert not {"accelerators", "power_limit"} & asked.keys()
    report = calculator.report(UNLIKE)
    assert sum(device["layers"] for device in report["memory"]["devices"]) == report["model"]["layers"]
    html = calculator.render(report)
    assert "RTX 3090: <strong>" in html and "RTX 3060 12GB: <strong>" in html
    assert "1 × GeForce RTX 3090 and 1 × GeForce RTX 3060 12GB" in calculator.status(report)


def test_a_share_of_the_layers_is_a_tensor_split() -> None:
    """Three quarters on two cards of the first kind, a quarter on one of the other, whose sum is one."""
    asked: Any = SPEED.asked({**UNLIKE, "accelerators": "2", "first_share": "0.75"})
    assert asked["tensor_split"] == [0.375, 0.375, 0.25]


def test_engines_that_give_equal_parts_say_so() -> None:
    """vLLM divides no model over unlike cards, and the form's answer is the scenario's."""
    with pytest.raises(ScenarioError, match="not alike"):
        WILL_IT_FIT.report({**UNLIKE, "weights": "awq", "engine": "vllm"})


def test_two_pools() -> None:
    """Four devices read and eight write, in copies of four; the answer says what a reader holds, and the balance."""
    asked: Any = SPEED.asked(POOLS)
    assert asked["disaggregation"] == {
        "prefill": {"accelerators": 4, "parallelism": {"tensor": 4}},
        "decode": {"accelerators": 8, "parallelism": {"tensor": 4}},
    }
    assert not {"accelerators", "sequences"} & asked.keys()
    report = SPEED.report(POOLS)
    assert "4 × H100 SXM5 80GB that read and 8 × that write" in SPEED.status(report)
    assert "A device that reads holds" in SPEED.render(report)


def test_readers_without_room_are_said() -> None:
    """In 16 bit the model does not stand on the one device that reads, whatever those that write hold."""
    report = SPEED.report({**POOLS, "weights": "bf16", "prefill_accelerators": "1", "decode_tensor": "8"})
    assert "It does not fit on the GPUs that read." in SPEED.status(report)


def test_pools_need_a_number_of_requests() -> None:
    """The form says which field is missing."""
    with pytest.raises(ScenarioError, match="concurrency"):
        SPEED.report({name: value for name, value in POOLS.items() if name != "concurrency"})


def test_without_them_nothing_changes() -> None:
    """A form whose folded fields are empty asks for one kind of device in one pool."""
    asked: Any = SPEED.asked({})
    assert asked["accelerator"] == "rtx-4090" and asked["accelerators"] == 1
    assert not {"disaggregation", "tensor_split"} & asked.keys()


def test_an_option_of_the_planner_opens_in_the_form() -> None:
    """Of two kinds of cards the link has both, and the form that asks for one kind alone has none."""
    have = [{"id": "rtx-3090"}, {"id": "rtx-3060-12gb", "pcie": "3.0 x4"}]
    answer: Any = plan({"want": "models", "have": {"accelerator": have}, "model": "qwen3-32b", "context_tokens": 8192})
    option = answer["options"][0]
    opened = form_values(WILL_IT_FIT, option["scenario"])
    assert WILL_IT_FIT.report(opened)["memory"]["headroom_bytes"] == option["margin_bytes"]
    assert "other_accelerator=rtx-3060-12gb" in str(address(SPEED, option))
    assert address(COST, option) is None
