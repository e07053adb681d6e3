"""The interconnect calculator: what it says of known cases, and what it refuses."""

import json
from typing import Any

import pytest

from calc.calculators import CALCULATORS, answer
from calc.calculators.interconnect_report import over_computing, sent_bytes, share_of_pass

INTERCONNECT = CALCULATORS["interconnect"]


def ask(**fields: str) -> dict[str, Any]:
    """Return the page's answer."""
    found = json.loads(answer(json.dumps({"calculator": "interconnect", "fields": fields})))
    assert isinstance(found, dict)
    return found


def test_a_bridge_shortens_what_cards_wait_for() -> None:
    """Two RTX 3090 read a prompt sooner with a bridge; club-3090 measured 35 to 49 % more tokens a second."""
    bridged = INTERCONNECT.report({"accelerator": "rtx-3090", "link": "nvlink-3-bridge"})
    plain = INTERCONNECT.report({"accelerator": "rtx-3090"})
    assert plain["seconds"] > 3 * bridged["seconds"]
    assert {warning["code"] for warning in plain["warnings"]} == {"no-peer-to-peer", "link-needs-bridge"}
    assert bridged["warnings"] == []


def test_stages_send_next_to_nothing() -> None:
    """llama.cpp's split by layers gains nothing from peer access (club-3090): it hardly sends anything."""
    tensor, stages = (INTERCONNECT.report({"traffic": traffic}) for traffic in ("tensor", "stages"))
    assert stages["seconds"] < tensor["seconds"] / 50


def test_a_machine_takes_the_place_of_the_fields() -> None:
    """A DGX H100 has eight devices on NVLink, whatever else the form says."""
    report = INTERCONNECT.report({"machine": "dgx-h100", "accelerator": "rtx-4090", "accelerators": "3"})
    assert (report["scenario"]["accelerator"], report["scenario"]["accelerators"]) == ("h100-sxm-80gb", 8)
    assert report["sent"][0][1].joined.link.id == "nvlink-4"


def test_the_working_can_be_followed() -> None:
    """Each result is what its numbers give; a reader with a calculator checks a message over a ring."""
    report = INTERCONNECT.report({"traffic": "all-gather", "message_mb": "1000", "accelerator": "a100-sxm-80gb"})
    steps = {step["name"]: step for step in report["steps"]}
    assert steps["Bytes that each device sends"]["value"] == 500e6
    rate = steps["Rate with large messages"]["value"] * 1e9
    waiting = 1e-6 * next(step["value"] for name, step in steps.items() if name.startswith("Waiting"))
    assert steps["Seconds of an all-gather"]["value"] == pytest.approx(waiting + 500e6 / rate)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"traffic": "experts"}, "traffic"),
        ({"traffic": "stages", "accelerators": "64"}, "accelerators"),
        ({"traffic": "all-reduce", "message_mb": ""}, "message_mb"),
        ({"traffic": "gossip"}, "traffic"),
        ({"accelerators": "1"}, "accelerators"),
        ({"link": "string"}, "link"),
        ({"network": "nvlink-4"}, "network"),
        ({"machine": "mentor-100"}, "machine"),
    ],
)
def test_what_cannot_be_comes_back_by_field(fields: dict[str, str], field: str) -> None:
    """With a message that says what would work."""
    found = ask(**fields)
    assert not found["ok"]
    assert [error["field"] for error in found["errors"]] == [field]


def test_a_bridge_joins_two() -> None:
    """Four RTX 3090 with bridges go over PCIe all the same, and the answer says so."""
    found = ask(accelerator="rtx-3090", link="nvlink-3-bridge", accelerators="4")
    assert "bridge-joins-two" in found["html"]


def test_what_if_a_card_had_another_link() -> None:
    """A question that may be asked, and is marked as one."""
    assert "link-not-on-device" in ask(link="nvlink-4")["html"]


def test_a_model_of_ones_own_is_sent_as_well() -> None:
    """Its hidden size and layers are what counts."""
    config = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
    config |= {"num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 1000}
    found = ask(model=json.dumps({"config": config, "name": "Mine"}), tokens="10")
    assert found["ok"], found
    report = INTERCONNECT.report({"model": json.dumps({"config": config}), "tokens": "10"})
    (part, _), *_ = report["sent"]
    assert (part.repeats, part.message_bytes) == (4, 10 * 64 * 2)


def test_sending_beside_computing() -> None:
    """Over computing it is a ratio s / c, of a pass that waits for it the share s / (s + c), by hand."""
    report = {"seconds": 3.0, "compute_seconds": 1.0}
    assert (over_computing(report), share_of_pass(report)) == (3.0, 0.75)
    alone = {"seconds": 3.0, "compute_seconds": None}
    assert (over_computing(alone), share_of_pass(alone)) == (None, 1.0)


def test_all_messages_are_counted() -> None:
    """A pass of Llama 3.1 8B over two devices has two all-reduces in each layer, of 4,096 values of 2 bytes a token."""
    report = INTERCONNECT.report({"traffic": "tensor", "tokens": "1", "accelerators": "2"})
    assert sent_bytes(report) == 32 * 2 * 4096 * 2
