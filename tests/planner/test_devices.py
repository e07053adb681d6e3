"""What follows from so many devices, worked by hand from the catalogue's facts of one."""

from typing import Any

import pytest

from calc import estimate, plan
from calc.catalog import catalog
from calc.planner.devices import Devices

CARD, OTHER = catalog().accelerator("rtx-3090"), catalog().accelerator("rtx-3060-12gb")
PAIR = Devices(CARD, 2, 0.5, 1500.0)
UNLIKE = Devices(CARD, 2, None, None, (CARD, OTHER))


def test_times_multiplies_what_they_cost() -> None:
    """Three pairs are six cards, with the rent and the price of three; once as many are the same."""
    six = PAIR.times(3)
    assert (six.number, six.rent_per_hour, six.purchase) == (6, 1.5, 4500.0)
    assert PAIR.times(1) is PAIR
    unknown = Devices(CARD, 2, None, None).times(3)
    assert (unknown.number, unknown.rent_per_hour, unknown.purchase) == (6, None, None)


def test_several_in_one_machine_have_no_rent_that_nobody_says() -> None:
    """Where one alone is rented out, two have a price and no rent; one has its own."""
    one = Devices(CARD, 1, 0.25, 750.0, rents_one=True)
    assert (one.together(2).rent_per_hour, one.together(2).purchase) == (None, 1500.0)
    assert one.together(1).rent_per_hour == 0.25
    assert PAIR.together(2).rent_per_hour == 1.0


def test_facts_add_up() -> None:
    """Two alike have twice the fact of one; unlike ones the sum of theirs; one that lacks it leaves nothing known."""
    assert PAIR.total("bandwidth") == 2 * 936e9 == pytest.approx(1 / PAIR.seconds_each_byte)
    assert UNLIKE.total("bandwidth") == (CARD.quantity("bandwidth") or 0) + (OTHER.quantity("bandwidth") or 0)
    assert PAIR.total("power") == PAIR.power_w == 700
    assert PAIR.total("fp4") is None
    without = next(device for device in catalog().accelerators() if not device.quantity("power"))
    assert Devices(CARD, 2, None, None, (CARD, without)).power_w is None


def test_memory_is_of_each_device() -> None:
    """Alike ones have the first one's as often as they are many, unlike ones each its own."""
    assert PAIR.room == CARD.capacity_bytes and PAIR.whole_room == 2 * CARD.capacity_bytes
    assert UNLIKE.whole_room == CARD.capacity_bytes + OTHER.capacity_bytes


def test_the_fastest_format_counts() -> None:
    """Of a 3090 it is INT8; of unlike ones the rate is the sum of what each does best."""
    best = [
        max(device.quantity(name) or 0 for name in ("bf16", "fp16", "fp8", "fp4", "int8")) for device in (CARD, OTHER)
    ]
    assert PAIR.operations_per_s == 2 * best[0]
    assert UNLIKE.operations_per_s == sum(best)
    assert best[0] == CARD.quantity("int8")


def test_a_month_is_paid_by_the_hour() -> None:
    """Half a dollar an hour for 100 hours; nothing is known where nobody says."""
    assert PAIR.rent_per_month(100) == 50.0
    assert UNLIKE.rent_per_month(100) is None


def test_what_no_cloud_holds_several_of_has_no_rent_together() -> None:
    """A GH200 is rented alone: one has a rent, two that stand in one machine none, as the 8 of an H100 have theirs."""
    for device, number, rented in (("gh200-96gb", 1, True), ("gh200-96gb", 2, False), ("h100-sxm-80gb", 8, True)):
        model = "llama-3.1-8b" if number == 1 else "llama-3.3-70b" if number == 2 else "qwen3-235b-a22b"
        limits = {"accelerators": [device], "devices": number}
        found: Any = plan({"want": "hardware", "model": model, "weights": "bf16", "engine": "vllm", "limits": limits})
        (option,) = found["options"]
        assert option["scenario"]["accelerators"] == number
        assert (option["cost"]["rent_per_month"] is not None) is rented


@pytest.mark.parametrize(
    ("device", "money"), [("m6-24gb", 1100), ("m5-pro-24gb", 1700), ("ryzen-ai-max-395-64gb", 2200)]
)
def test_a_budget_finds_computers_in_the_sizes_that_have_a_price(device: str, money: float) -> None:
    """A Mac mini with 24 GB is sold for less than one with 32, which is the catalogue's entry."""
    question = {
        "want": "hardware",
        "model": "llama-3.1-8b",
        "limits": {"price": money, "segments": ["soc"]},
        "count": 8,
    }
    found: dict[str, Any] = {option["scenario"]["accelerator"]: option for option in plan(question)["options"]}
    assert found[device]["cost"]["purchase"] <= money
    assert estimate(found[device]["scenario"])["memory"]["fits"]
