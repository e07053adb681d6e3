"""What the facts of one accelerator say of each other: a sheet read wrongly contradicts itself."""

import re
from collections.abc import Iterator

import pytest

from calc.catalog import catalog
from calc.catalog.records import Accelerator

TOLERANCE = 0.02
DEVICES = list(catalog().accelerators())


def differs(first: float, second: float) -> bool:
    """Return whether two figures are further apart than the tolerance."""
    return abs(first / second - 1) > TOLERANCE


def memory_bandwidth_from_bus(device: Accelerator) -> float | None:
    """Return the bytes a second that bus width and rate of a pin give; None where one of them is not known."""
    bus, rate = device.quantity("memory_bus"), device.quantity("memory_rate")
    return None if bus is None or rate is None else bus * rate / 8


def rate_from_units(device: Accelerator) -> float | None:
    """Return the 16-bit rate that units, their operations in a clock, and the clock give; None if unknown."""
    units, operations = device.quantity("compute_units"), device.quantity("operations_per_clock")
    clock = device.quantity("matrix_clock") or device.quantity("clock")
    return None if units is None or operations is None or clock is None else units * operations * clock


def matrix_field(device: Accelerator) -> str:
    """Return the 16-bit rate that `operations_per_clock` is about: BF16, or FP16 where there is no BF16."""
    return "bf16" if "bf16" in device.facts else "fp16"


def contradictions(device: Accelerator) -> Iterator[tuple[str, str]]:
    """Yield the check and field of every pair of facts that do not agree."""
    bus, bandwidth = memory_bandwidth_from_bus(device), device.quantity("bandwidth")
    if bus and bandwidth and differs(bus, bandwidth):
        yield "bandwidth", "bandwidth"
    units, rate = rate_from_units(device), device.quantity(matrix_field(device))
    if units and rate and differs(units, rate):
        yield "rate", matrix_field(device)
    for field, fact in device.facts.items():
        if fact.sparse and differs(fact.sparse, 2 * float(fact.value)):
            yield "sparse", field


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.id)
def test_facts_agree_or_the_entry_says_why_not(device: Accelerator) -> None:
    """Bus and pin rate give the bandwidth, units and clock the rate, sparsity doubles; a named exception is one."""
    assert sorted(contradictions(device)) == sorted((named.check, named.field) for named in device.exceptions)
    assert all(len(named.reason) > 20 for named in device.exceptions)


def test_most_devices_can_be_checked() -> None:
    """A check that finds nothing to compare holds nothing: it has to apply to most of the catalogue."""
    with_bus = [device for device in DEVICES if memory_bandwidth_from_bus(device)]
    with_units = [device for device in DEVICES if rate_from_units(device)]
    assert len(with_bus) > 0.6 * len(DEVICES)
    assert len(with_units) > 0.55 * len(DEVICES)
    assert sum(len(device.exceptions) for device in DEVICES) < len(DEVICES) / 5


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.id)
def test_a_driver_reports_a_little_less_than_is_advertised(device: Accelerator) -> None:
    """More than is soldered on, or a tenth less, is another device's figure; memory shared with a system loses more."""
    advertised, reported = device.quantity("memory"), device.quantity("memory_reported")
    if advertised and reported:
        assert reported <= advertised * 1.005
        assert reported >= advertised * (0.75 if device.segment == "soc" else 0.9)


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.id)
def test_rates_are_steps_of_two_from_the_full_rate(device: Accelerator) -> None:
    """A narrower format is 1, 2 or 4 times as fast as the next wider; a misread column is not."""
    full = device.quantity("fp16_accumulate") or device.quantity("bf16") or device.quantity("fp16")
    for field in ("fp8", "fp6", "fp4"):
        rate = device.quantity(field)
        if full and rate:
            assert 0.45 <= rate / full <= 8.2, field
    single, bfloat = device.quantity("tf32"), device.quantity("bf16")
    if single and bfloat:
        assert not differs(2 * single, bfloat) or not differs(single, bfloat) or not differs(4 * single, bfloat)


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.id)
def test_a_link_has_a_bandwidth_and_a_domain_or_is_none(device: Accelerator) -> None:
    """A device says how it is linked; without a link there is no bandwidth and nothing joined."""
    if device.text("link") == "none":
        assert "link_bandwidth" not in device.facts
        assert "link_domain" not in device.facts
        assert device.link_bytes_per_s_one_way is None
    elif "link_bandwidth" in device.facts:
        both = device.quantity("link_bandwidth")
        assert both and device.link_bytes_per_s_one_way == both / 2


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.id)
def test_ids_and_slots_are_written_alike(device: Accelerator) -> None:
    """Ids are small letters, digits and hyphens; PCIe is a generation and a number of lanes."""
    assert re.fullmatch(r"[a-z0-9.]+(-[a-z0-9.]+)*", device.id)
    assert re.fullmatch(r"(|[3-6]\.0 x(4|8|16))", device.text("pcie"))


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
