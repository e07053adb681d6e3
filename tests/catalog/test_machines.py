"""Machines, links and prices: what is wrong in one is named, and what they say agrees with the accelerators."""

import json
import shutil
from pathlib import Path

import pytest

from calc.catalog import Catalog
from calc.catalog.carried import carried
from calc.catalog.loader import DATA, read_tables
from calc.errors import CatalogError
from tests.catalog.small import GOOD

LINK = """
[wire]
name = "Wire"
aliases = ["Cable"]
kind = "device"
one_way = { value = 300, unit = "GB/s", basis = "one-way" }
both_ways = { value = 600, unit = "GB/s", basis = "both-ways" }
latency = { value = 2, unit = "us", basis = "measured" }
source = "ieee-754"
checked = 2026-11-21
"""
MACHINE = """
[box]
name = "Box"
aliases = []
maker = "Us"
kind = "server"
topology = "switched"
accelerator = "good"
devices = 8
link = "wire"
host_memory = { value = 2048, unit = "GiB", basis = "fitted" }
power = { value = 6500, unit = "W", basis = "maximum" }
source = "ieee-754"
checked = 2026-11-21
"""
PRICE = """
[box-rented]
of = "machines"
item = "box"
kind = "on-demand"
price = 20
currency = "USD"
per = "hour"
source = "https://example.org/prices"
checked = 2026-07-01

[power]
of = "electricity"
kind = "retail"
price = 0.15
currency = "EUR"
per = "kWh"
source = "https://example.org/prices"
checked = 2026-11-01

[good-sold]
of = "accelerators"
item = "good"
pieces = 2
kind = "used"
price = 1400
currency = "USD"
per = "piece"
source = "https://example.org/prices"
checked = 2026-11-01
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A small sound catalogue with one machine, one link and three prices."""
    for folder in ("accelerators", "machines", "models", "sources"):
        (tmp_path / folder).mkdir()
    shutil.copy(DATA / "sources/methods.toml", tmp_path / "sources")
    shutil.copy(DATA / "number_formats.toml", tmp_path)
    (tmp_path / "accelerators/a.toml").write_text(GOOD)
    (tmp_path / "links.toml").write_text(LINK)
    (tmp_path / "machines/m.toml").write_text(MACHINE)
    (tmp_path / "prices.toml").write_text(PRICE)
    return tmp_path


def test_the_small_catalogue_is_sound(data: Path) -> None:
    """What the other tests break loads as it is, in base units, each fact with its source."""
    small = Catalog(read_tables(data))
    assert small.link("cable").bytes_per_s_one_way == 300e9
    latency = small.link("wire").latency
    assert latency is not None and latency.value == pytest.approx(2e-6)
    box = small.machine("box")
    assert (box.accelerator, box.devices, box.topology) == ("good", 8, "switched")
    assert box.quantity("host_memory") == 2048 * 2**30
    assert box.quantity("cpu_lanes") is None
    assert box.facts["power"].source == "ieee-754"


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("links.toml", 'source = "ieee-754"', "", "[wire].source: is missing"),
        ("links.toml", 'source = "ieee-754"', 'source = "ieee-755"', 'did you mean "ieee-754"'),
        ("links.toml", 'kind = "device"', 'kind = "devise"', 'did you mean "device"'),
        ("links.toml", "value = 600", "value = 300", "both_ways: is 1.00 times one_way"),
        ("links.toml", 'unit = "us"', 'unit = "GB"', "latency.unit: 'GB' measures bytes, and latency is in seconds"),
        ("links.toml", "value = 2,", "value = 2e6,", "latency.value: 2e+06 us is not possible"),
        ("links.toml", 'basis = "one-way"', 'basis = "both-ways"', "one_way.basis"),
        (
            "links.toml",
            'latency = { value = 2, unit = "us"',
            'reached = { value = 301, unit = "GB/s"',
            "carries one way",
        ),
        ("links.toml", 'kind = "device"', 'kind = "device"\naccelerators = ["goood"]', 'did you mean "good"'),
        ("machines/m.toml", 'source = "ieee-754"', "", "[box].source: is missing"),
        ("machines/m.toml", 'accelerator = "good"', 'accelerator = "goood"', 'did you mean "good"'),
        ("machines/m.toml", 'link = "wire"', 'link = "wires"', 'did you mean "wire"'),
        ("machines/m.toml", "devices = 8", "", "devices: an accelerator needs a number of devices"),
        ("machines/m.toml", "devices = 8", "devices = -8", "devices: must be from 1"),
        ("machines/m.toml", 'accelerator = "good"\ndevices = 8', "", "accelerator: is missing; a machine without one"),
        ("machines/m.toml", 'unit = "W"', 'unit = "GB/s"', "power.unit: 'GB/s' measures"),
        ("machines/m.toml", "value = 6500", "value = 6500000", "power.value: 6.5e+06 W is not possible"),
        ("machines/m.toml", 'topology = "switched"', 'topology = "star"', "topology: 'star' is not known"),
        ("machines/m.toml", "devices = 8", 'devices = 8\nnetwork = "wire"', "a network needs its number of ports"),
        ("machines/m.toml", "maker", "makr", 'makr: is not a field here; did you mean "maker"'),
        ("prices.toml", 'source = "https://example.org/prices"', "", "[box-rented].source: is missing"),
        ("prices.toml", 'item = "box"', 'item = "boxes"', 'did you mean "box"'),
        ("prices.toml", 'item = "box"', "", "item: '' is not known"),
        ("prices.toml", "price = 20", "price = -20", "price: -20 USD is not possible per hour"),
        ("prices.toml", "price = 20", "price = 200000", "price: 200000 USD is not possible per hour"),
        ("prices.toml", 'currency = "USD"', 'currency = "$"', "currency: must be three letters"),
        ("prices.toml", 'per = "hour"', 'per = "day"', "per: 'day' is not known"),
        ("prices.toml", 'per = "kWh"', 'per = "hour"', "[power].per: electricity is sold by the kWh"),
        ("prices.toml", "pieces = 2", "pieces = 0", "pieces: must be at least 1"),
        ("prices.toml", "2026-07-01", '"July"', "checked: must be a date"),
    ],
)
def test_a_mistake_is_named(data: Path, file: str, old: str, new: str, message: str) -> None:
    """By file, entry and field, with what is wrong."""
    path = data / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(CatalogError) as caught:
        read_tables(data)
    assert any(message in problem and problem.startswith(f"{file}: [") for problem in caught.value.problems), (
        caught.value.problems
    )


def test_a_price_knows_its_age(data: Path) -> None:
    """In days, until it is too old to be shown without saying so."""
    small = Catalog(read_tables(data))
    rented, sold = small.prices("machines")[0], small.prices("accelerators", "good")[0]
    assert rented.age_days("2026-07-31") == 30
    assert not rented.is_stale("2026-07-31")
    assert rented.is_stale("2026-12-31")
    assert sold.each == 700
    assert [price.id for price in small.prices()] == ["power", "good-sold", "box-rented"]


def test_a_snapshot_has_the_new_kinds(data: Path) -> None:
    """The browser reads what a maintainer wrote."""
    tables = read_tables(data)
    again, known = Catalog(**json.loads(carried(tables, "2026-01-01"))), Catalog(tables)
    assert again.version == "2026-01-01"
    facts = {name: fact._replace(note="", checked="") for name, fact in known.machine("box").facts.items()}
    assert again.machine("box") == known.machine("box")._replace(note="", checked="", facts=facts)
