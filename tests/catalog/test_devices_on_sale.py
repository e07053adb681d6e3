"""What clouds rent out and shops sell is in the catalogue, or has a reason why not; large clouds' machines too."""

import csv
from pathlib import Path
from typing import Any

import pytest

from calc import read_line
from calc.catalog import catalog
from calc.errors import ScenarioError
from tests.known import load

FILE = load("devices_on_sale.json")
ROWS = FILE["rows"]
LISTED = Path(__file__).parents[1] / "data/cloud_machines.csv"
MACHINES = list(csv.DictReader(LISTED.read_text(encoding="utf-8").splitlines()))


def called(row: dict[str, Any]) -> str:
    """A device as a reader would write it: what stands behind an instance's name, or the place's own name."""
    return str(row.get("written", row["name"]))


def place_and_name(row: dict[str, Any]) -> str:
    """What a test of this row is called."""
    return f"{row['place']} {row['name']}"


def test_each_place_has_a_source_and_rows() -> None:
    """Four clouds have 119 names, eight sellers of rents 99, three lists of shops 223; 425 of all have a device."""
    assert set(FILE["places"]) == {row["place"] for row in ROWS}
    assert (len(ROWS), sum(row["device"] is not None for row in ROWS)) == (441, 425)


@pytest.mark.parametrize("row", [row for row in ROWS if row["device"]], ids=place_and_name)
def test_what_is_on_sale_leads_to_its_device(row: dict[str, Any]) -> None:
    """A name leads to one device, which has a memory and a bandwidth."""
    device = catalog().accelerator(called(row))
    assert device.id == row["device"]
    assert all(device.facts.get(field) for field in ("memory", "bandwidth"))


@pytest.mark.parametrize("row", [row for row in ROWS if not row["device"]], ids=place_and_name)
def test_what_has_no_entry_has_a_reason_and_is_refused(row: dict[str, Any]) -> None:
    """Nothing else is put in its place."""
    assert row["reason"]
    with pytest.raises(ScenarioError):
        catalog().accelerator(called(row))


def test_the_machines_of_three_large_clouds() -> None:
    """Of 194 names 143 have whole devices that the catalogue knows; the others have reasons."""
    assert set(FILE["machines"]) == {row["place"] for row in MACHINES}
    assert (len(MACHINES), sum(bool(row["device"]) for row in MACHINES)) == (202, 151)


@pytest.mark.parametrize("row", MACHINES, ids=place_and_name)
def test_a_machine_of_a_cloud_has_its_devices(row: dict[str, str]) -> None:
    """Each leads by its name to its device and how many it has, also in a typed line; what has parts is no machine."""
    found = catalog().lookup("machines", row["name"])
    if row["reason"]:
        assert (found, row["device"]) == (None, "")
        return
    machine = catalog().machine(row["name"])
    assert (machine.accelerator, str(machine.devices)) == (row["device"], row["devices"])
    said = {chip["field"]: chip["value"] for chip in read_line(f"llama 3.1 8b on {row['name']}")["chips"]}
    assert (said["accelerator"], str(said.get("accelerators", 1))) == (row["device"], row["devices"])
