"""Caches outside of the devices: what is read, what the room holds, and how soon a cache is back."""

from typing import Any

import pytest

from calc import ScenarioError, estimate
from calc.units import GIB

ASKED: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "engine": "vllm",
    "accelerator": "h100-sxm-80gb",
    "prompt_tokens": 8192,
    "output_tokens": 256,
    "cache_offload": {"to": "host", "bytes": "64 GiB"},
}


def report(**more: object) -> Any:
    """Return the report with some fields changed."""
    return estimate({**ASKED, **more})


def test_the_room_holds_tokens() -> None:
    """Llama 3.1 8B keeps 128 KiB of a token: 64 GiB are 524,288 tokens, in the host's memory and not on the device."""
    with_it, without = report()["memory"], report(cache_offload=None)["memory"]
    assert with_it["stored_cache_tokens"] == 64 * GIB // (128 * 1024)
    assert with_it["stored_cache_bytes"] == with_it["host_bytes"] == 64 * GIB
    assert with_it["device_bytes"] == without["device_bytes"] and "stored_cache_bytes" not in without


def test_a_cache_comes_back_over_pcie() -> None:
    """8,192 tokens are a GiB; two cards reach 56.57 GB/s of PCIe 5.0 x16; two ranks take half as long."""
    ends = report()["speed"]["cache_restore_s"]
    back = ends["typical"]
    assert back == pytest.approx(GIB / 56.57e9)
    assert ends["low"] < back < ends["high"] and ends["low"] * ends["high"] == pytest.approx(back**2)
    assert report(parallelism={"tensor": 2})["speed"]["cache_restore_s"]["typical"] == pytest.approx(back / 2)
    assert report(pcie="4.0 x8")["speed"]["cache_restore_s"]["typical"] > 2 * back


def test_a_disk_is_slower_and_no_memory() -> None:
    """From a disk of 5 GB/s the GiB takes 0.21 s, and the host's memory has nothing of it."""
    found = report(cache_offload={"to": "disk", "bytes": "1 TB", "bandwidth": "5 GB/s"})
    assert found["speed"]["cache_restore_s"]["typical"] == pytest.approx(GIB / 5e9)
    assert found["memory"]["host_bytes"] == 0


def test_a_slow_way_back_is_said() -> None:
    """Reading a prompt again is quicker than a disk of 0.2 GB/s; over PCIe it is not."""
    slow = report(cache_offload={"to": "disk", "bytes": "1 TB", "bandwidth": "0.2 GB/s"})
    assert "cache-sooner-read" in {item["code"] for item in slow["warnings"]}
    assert "cache-sooner-read" not in {item["code"] for item in report()["warnings"]}


def test_the_host_has_to_have_the_room() -> None:
    """A host of 32 GiB does not hold caches of 64."""
    assert not report(host={"memory": "32 GiB"})["memory"]["fits"]
    assert report(host={"memory": "128 GiB"})["memory"]["fits"]


def test_a_filled_scenario_gives_the_same() -> None:
    """What the report says was asked can be asked again."""
    found = report()
    again: Any = estimate(found["scenario"])
    assert again["memory"] == found["memory"] and again["speed"] == found["speed"]


REFUSED = [
    ({"engine": "transformers"}, "cache_offload", "vllm"),
    ({"accelerator": None}, "cache_offload", "accelerator"),
    ({"engine": "llama.cpp", "gpu_layers": 0}, "cache_offload", "gpu_layers"),
    ({"cache_offload": "host"}, "cache_offload", "object"),
    ({"cache_offload": {"to": "host"}}, "cache_offload.bytes", "missing"),
    ({"cache_offload": {"to": "tape", "bytes": "1 GiB"}}, "cache_offload.to", "disk"),
    ({"cache_offload": {"to": "disk", "bytes": "1 GiB"}}, "cache_offload.bandwidth", "missing"),
    ({"cache_offload": {"bytes": "1 GiB", "bandwidth": "1 GB/s"}}, "cache_offload.bandwidth", "pcie"),
    ({"cache_offload": {"bytes": "1 GiB", "size": 1}}, "cache_offload.size", "bytes"),
    ({"model": "bge-m3"}, "cache_offload", "nothing is kept"),
]


@pytest.mark.parametrize(("fields", "field", "says"), REFUSED, ids=[str(case[0])[:60] for case in REFUSED])
def test_what_cannot_be_is_refused(fields: dict[str, object], field: str, says: str) -> None:
    """Each wrong field is named."""
    with pytest.raises(ScenarioError) as error:
        report(**fields)
    assert error.value.field == field and says in error.value.message
