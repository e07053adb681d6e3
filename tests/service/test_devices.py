"""Devices that are not alike: what is read, how layers are split over them, and what that makes of memory and speed."""

from typing import Any

import pytest

from calc import ScenarioError, estimate
from calc.memory.placement import split_layers

TWO: list[dict[str, object]] = [{"id": "rtx-3090", "count": 1}, {"id": "rtx-3060-12gb", "count": 1}]
ASKED: dict[str, Any] = {
    "model": "qwen3-32b",
    "weights": "q4_k_m",
    "engine": "llama.cpp",
    "accelerator": TWO,
    "prompt_tokens": 2048,
    "output_tokens": 128,
}


def report(**more: object) -> Any:
    """Return the report on a model on both devices, with some fields changed."""
    return estimate({**ASKED, **more})


def decode_s(found: Any) -> float:
    """Return the seconds of a token."""
    value: float = found["speed"]["time_per_output_token_s"]["typical"]
    return value


def test_layers_are_cut_as_llama_cpp_cuts_them() -> None:
    """The output counts as one layer more: of 49 slots, those below two thirds are the first device's, 33 of 48."""
    assert split_layers(48, [24, 12]) == [33, 15]
    assert split_layers(64, [1, 1]) == [33, 31]
    assert split_layers(10, [0, 1]) == [0, 10]
    assert sum(split_layers(61, [3, 1, 2])) == 61


def test_each_device_holds_its_share_of_the_layers() -> None:
    """By free memory a card of 24 GB gets about twice the layers of one of 12, and the fullest is named."""
    memory = report()["memory"]
    large, small = memory["devices"]
    assert large["layers"] + small["layers"] == 64 and 1.9 < large["layers"] / small["layers"] < 2.5
    assert memory["fits"] and large["fits"] and small["fits"]
    assert memory["sum_over_devices_bytes"] == large["device_bytes"] + small["device_bytes"]
    assert memory["fullest"] in (large["accelerator"], small["accelerator"])
    assert memory["capacity_bytes"] in (large["capacity_bytes"], small["capacity_bytes"])
    headroom = min(item["capacity_bytes"] - item["device_bytes"] for item in (large, small))
    assert memory["headroom_bytes"] == headroom


def test_a_split_decides_who_is_full() -> None:
    """Two thirds overfill the small card; the more the large one has, the less the small one holds."""
    few, most = report(tensor_split=[1, 2])["memory"], report(tensor_split=[5, 1])["memory"]
    assert few["fullest"] == "rtx-3060-12gb" and not few["fits"]
    assert most["devices"][0]["layers"] > 50
    assert most["devices"][1]["device_bytes"] < few["devices"][1]["device_bytes"]


def test_a_step_passes_both_devices() -> None:
    """It takes as long as each card takes for its layers: between the whole model on the one and on the other."""
    mixed = report()
    alone = [report(accelerator=name, tensor_split=None) for name in ("rtx-3090", "rtx-3060-12gb")]
    assert decode_s(alone[0]) < decode_s(mixed) < decode_s(alone[1])
    shares = [item["layers"] / 64 for item in mixed["memory"]["devices"]]
    both = sum(share * decode_s(found) for share, found in zip(shares, alone, strict=True))
    assert decode_s(mixed) == pytest.approx(both, rel=0.1)
    slowest = [report(tensor_split=split)["speed"]["slowest"] for split in ([1, 1], [9, 1])]
    assert slowest == ["rtx-3060-12gb", "rtx-3090"]


def test_alike_devices_of_a_list_are_so_many_of_one_kind() -> None:
    """A list of one kind is the same question as its number, under any engine; two entries of it as well."""
    listed = [{"id": "rtx-3090", "count": 2}], [{"id": "rtx-3090"}, {"id": "RTX 3090"}]
    for engine, weights in (("llama.cpp", "q4_k_m"), ("vllm", "awq")):
        plain = report(engine=engine, weights=weights, accelerator="rtx-3090", accelerators=2)
        for devices in listed:
            found = report(engine=engine, weights=weights, accelerator=devices)
            assert found["memory"] == plain["memory"] and found["speed"] == plain["speed"]


def test_a_filled_list_can_be_asked_again() -> None:
    """The report's scenario has the list with the numbers of each, and gives the same report."""
    devices = [*TWO[:1], {"id": "RTX 3060", "pcie": "3.0 x4", "memory_limit": "10 GiB"}]
    found = report(accelerator=devices, tensor_split=[3, 1])
    again: Any = estimate(found["scenario"])
    assert again["memory"] == found["memory"] and again["speed"] == found["speed"]
    assert found["scenario"]["accelerators"] == 2 and found["memory"]["devices"][1]["capacity_bytes"] <= 10 * 2**30


def test_a_device_without_a_layer_is_said() -> None:
    """With nothing of the split a card is not used."""
    found = report(tensor_split=[1, 0], model="llama-3.1-8b")
    assert "device-without-layers" in {item["code"] for item in found["warnings"]}
    assert [item["accelerator"] for item in found["memory"]["devices"]] == ["rtx-3090"]


def test_parts_on_the_host_go_together_with_unlike_devices() -> None:
    """The last layers stand on the cards, split as before, and the host has the others."""
    found = report(gpu_layers=40, host={"processor": "ryzen-9-5950x"})
    assert sum(item["layers"] for item in found["memory"]["devices"]) == 40
    assert found["speed"]["bound_by"] == "host" and decode_s(found) > decode_s(report())


REFUSED = [
    ({"engine": "vllm", "weights": "awq"}, "accelerator", "equal parts"),
    ({"engine": "none"}, "accelerator", "equal parts"),
    ({"parallelism": {"tensor": 2}}, "parallelism", "pipeline alone"),
    ({"accelerators": 3}, "accelerators", "lists 2"),
    ({"accelerator": []}, "accelerator", "1 to 64"),
    ({"accelerator": [{"count": 2}]}, "accelerator.0", '"id"'),
    ({"accelerator": [{"id": "rtx 9999"}]}, "accelerator.0.id", "rtx 9999"),
    ({"accelerator": [*TWO, {"id": "rtx-3090", "memory": 3}]}, "accelerator.2.memory", "memory_limit"),
    ({"accelerator": [{"id": "rtx-3090", "pcie": "9 x9"}]}, "accelerator.0.pcie", "4.0 x8"),
    ({"display": True}, "display", "list"),
    ({"speculation": {"method": "ngram"}}, "speculation", "not alike"),
    ({"tensor_split": [1]}, "tensor_split", "2 numbers"),
    ({"tensor_split": [0, 0]}, "tensor_split", "all 0"),
    ({"tensor_split": [1, 1], "accelerator": "rtx-3090", "accelerators": 2}, "tensor_split", "list of devices"),
]


@pytest.mark.parametrize(("fields", "field", "says"), REFUSED, ids=[str(case[0])[:60] for case in REFUSED])
def test_lists_that_cannot_be_are_refused(fields: dict[str, object], field: str, says: str) -> None:
    """Each wrong field is named with its place in the list."""
    with pytest.raises(ScenarioError) as error:
        report(**fields)
    assert error.value.field == field and says in error.value.message
