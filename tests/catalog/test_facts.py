"""What facts say of each other, by hand."""

import pytest

from calc.catalog import catalog
from calc.catalog.claims import ClaimCheck


def test_a_fact_is_so_many_times_another() -> None:
    """An H100 SXM computes 989.5 TFLOPS for 3.35 TB/s, by its data sheet: 295 operations for each byte."""
    device = catalog().accelerator("h100-sxm-80gb")
    assert device.facts["bf16"].times(device.facts["bandwidth"]) == pytest.approx(295, rel=0.002)


def test_units_have_so_much_together() -> None:
    """132 units of an H100 SXM have registers of 256 KiB each (NVIDIA's white paper): 33 MiB."""
    device = catalog().accelerator("h100-sxm-80gb")
    assert device.of_all_units("register_file") == 132 * 256 * 2**10
    assert device.of_all_units("nothing") is None


def test_a_link_takes_its_time() -> None:
    """64 GB over PCIe 4.0 x16, which carries 31.5 GB/s one way, take about two seconds."""
    assert catalog().link("pcie-4-x16").seconds_one_way(64e9) == pytest.approx(2.03, abs=0.01)


def test_a_machine_has_what_its_devices_have() -> None:
    """A DGX H100 has eight of 80 GB."""
    assert catalog().machine("dgx-h100").whole_bytes(80e9) == 640e9


@pytest.mark.parametrize(
    ("relation", "held"),
    [
        ("is", [0.985, 1.0, 1.015]),
        ("at least", [1.0, 1.015, 1.03]),
        ("at most", [0.97, 0.985, 1.0]),
        ("more than", [1.015, 1.03]),
        ("less than", [0.97, 0.985]),
    ],
)
def test_a_claim_holds_by_its_relation(relation: str, held: list[float]) -> None:
    """Against a claim of 1 GB, off by a fiftieth at most where it says that something is so."""
    check = ClaimCheck("one", {}, "a", claimed=1, unit="GB", relation=relation, tolerance=0.02)
    assert [number for number in (0.97, 0.985, 1.0, 1.015, 1.03) if check.holds(number * 1e9)] == held
