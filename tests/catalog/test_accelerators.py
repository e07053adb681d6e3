"""What the facts of one accelerator say of each other: a sheet read wrongly contradicts itself."""

import re

import pytest

from calc.catalog import catalog
from calc.catalog.records import Accelerator

TOLERANCE = 0.02
DEVICES = list(catalog().accelerators())


def follows(device: Accelerator, *fields: str) -> bool:
    """Return whether all of these facts of a device are known."""
    return all(device.quantity(field) for field in fields)


def test_most_devices_can_be_checked() -> None:
    """A check that finds nothing to compare holds nothing: it has to apply to most of the catalogue."""
    with_bus = [device for device in DEVICES if follows(device, "memory_bus", "memory_rate")]
    with_units = [device for device in DEVICES if follows(device, "compute_units", "operations_per_clock", "clock")]
    assert len(with_bus) > 0.6 * len(DEVICES)
    assert len(with_units) > 0.55 * len(DEVICES)
    assert sum(len(device.exceptions) for device in DEVICES) < len(DEVICES) / 5


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.id)
def test_tf32_is_a_step_of_two_from_bf16(device: Accelerator) -> None:
    """TF32 is as fast as BF16, half or a quarter as fast; the loader holds narrower formats."""
    single, bfloat = device.quantity("tf32"), device.quantity("bf16")
    if single and bfloat:
        assert any(abs(times * single / bfloat - 1) <= TOLERANCE for times in (1, 2, 4))
    assert all(len(named.reason) > 20 for named in device.exceptions)


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.id)
def test_a_link_has_a_bandwidth_and_a_domain_or_is_none(device: Accelerator) -> None:
    """A device says how it is linked; without a link there is no bandwidth and nothing joined."""
    if device.text("link") == "none":
        assert device.link_bytes_per_s_one_way is None
    elif "link_bandwidth" in device.facts:
        both = device.quantity("link_bandwidth")
        assert both and device.link_bytes_per_s_one_way == both / 2


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.id)
def test_ids_are_written_alike(device: Accelerator) -> None:
    """Ids are small letters, digits and hyphens."""
    assert re.fullmatch(r"[a-z0-9.]+(-[a-z0-9.]+)*", device.id)


def test_devices_of_one_package_are_counted() -> None:
    """An entry is what software sees: a package of two is bought as one and has half of its sheet's memory in each."""
    for device in DEVICES:
        assert device.devices_per_package >= 1
        if device.devices_per_package > 1:
            assert device.facts["devices_per_package"].note


def test_amd_s_list_of_supported_devices() -> None:
    """ROCm 7.2.4 supports the RX 7900 XTX and the MI100, not the MI50, and not the RX 6800, which it does not list."""
    found = {
        name: catalog().accelerator(name).text("rocm") for name in ("rx-7900-xtx", "mi100", "mi50-32gb", "rx-6800")
    }
    assert found == {
        "rx-7900-xtx": "supported",
        "mi100": "supported",
        "mi50-32gb": "not supported",
        "rx-6800": "not supported",
    }
    assert {record.vendor for record in catalog().accelerators() if record.text("rocm")} == {"AMD"}
