"""Machines, links and prices: what is wrong in one is named, and what they say agrees with the accelerators."""

import datetime
import shutil
from pathlib import Path

import pytest

from calc.catalog import Catalog, catalog
from calc.catalog.carried import LISTED_FACTS, carried
from calc.catalog.checking.loader import read_tables
from calc.catalog.entries import DATA
from calc.catalog.records import Link, Machine, Price
from calc.errors import CatalogError, ScenarioError
from calc.lines.parts import CURRENCIES
from tests.catalog.small import GOOD, built_catalog

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
        ("prices.toml", 'kind = "on-demand"', 'kind = "launch"', "kind: 'launch' is not known"),
        ("prices.toml", 'per = "hour"', 'per = "day"', "per: 'day' is not known"),
        ("prices.toml", 'per = "kWh"', 'per = "hour"', "[power].per: electricity is sold by the kWh"),
        ("prices.toml", 'of = "machines"', 'of = "currencies"', "per: currencies are changed by the unit"),
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
    again, known = built_catalog(carried(tables)), Catalog(tables)
    assert again.version == known.version
    facts = {
        name: fact._replace(note="", checked="", source="")
        for name, fact in known.machine("box").facts.items()
        if name not in LISTED_FACTS["machines"]
    }
    left = known.machine("box")._replace(note="", source="", cpu="", checked="", facts=facts)
    assert again.machine("box") == left


MACHINES = list(catalog().machines())
LINKS = list(catalog().links())
PRICES = catalog().prices()


def test_there_are_some_of_each() -> None:
    """Servers, cards in slots, Macs, clouds; links of each kind; prices of everything that is priced."""
    assert {machine.kind for machine in MACHINES} >= {"server", "rack", "workstation", "desktop", "cloud"}
    assert {link.kind for link in LINKS} == {"device", "host", "network"}
    assert {price.of for price in PRICES} == {"accelerators", "machines", "models", "electricity", "currencies"}
    assert {price.item for price in catalog().prices("currencies")} == CURRENCIES.keys()
    assert {"USD", "EUR"} <= {price.currency for price in catalog().prices("electricity")}


@pytest.mark.parametrize("machine", [entry for entry in MACHINES if entry.link], ids=lambda machine: machine.id)
def test_a_machine_has_the_link_of_its_accelerator(machine: Machine) -> None:
    """What is between two devices of a machine is what its accelerator can carry, and no more devices than it joins."""
    device = catalog().accelerator(machine.accelerator)
    assert catalog().link(machine.link).bytes_per_s_one_way == pytest.approx(device.link_bytes_per_s_one_way, rel=0.01)
    assert catalog().link(machine.link).kind == "device"
    if domain := device.quantity("link_domain"):
        assert machine.devices <= domain


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.id)
def test_a_machine_is_whole(machine: Machine) -> None:
    """One device is alone and several are not; links are of the kind that their place says; the source is known."""
    assert catalog().source(machine.source).url
    if machine.claim:
        assert machine.quantity("memory")
    else:
        assert (machine.devices == 1) == (machine.topology == "single")
        device = catalog().accelerator(machine.accelerator)
        board = device.quantity("power") or 0
        assert (machine.quantity("power") or board * machine.devices) >= 0.9 * board * machine.devices
    assert machine.topology not in ("switched", "bridge") or machine.link
    for name, kind in ((machine.host_link, "host"), (machine.network, "network")):
        assert not name or catalog().link(name).kind == kind


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.id)
def test_a_link_has_both_directions(link: Link) -> None:
    """A generation of PCIe carries twice the one before, and half the lanes carry half."""
    assert catalog().source(link.source).url
    if link.id.startswith("pcie-"):
        generation, lanes = (int(part) for part in link.id.removeprefix("pcie-").split("-x"))
        assert link.bytes_per_s_one_way == pytest.approx(lanes * 2 ** (generation - 3) * 0.985e9, rel=0.05)


@pytest.mark.parametrize("price", PRICES, ids=lambda price: price.id)
def test_a_price_says_of_what_when_and_who_says_so(price: Price) -> None:
    """And a machine is named where a whole one is rented."""
    datetime.date.fromisoformat(price.checked)
    assert catalog().source(price.source).url
    assert price.each > 0
    assert price.region or price.of != "electricity"
    assert price.seller or price.kind in ("median", "retail", "used", "street")


def test_an_unknown_machine_names_the_nearest() -> None:
    """As everywhere else in a scenario."""
    with pytest.raises(ScenarioError, match="dgx-h200"):
        catalog().machine("DGX H20")
    assert catalog().machine("8x H100 SXM").accelerator == "h100-sxm-80gb"


def test_a_processor_s_bandwidth_follows_from_its_channels() -> None:
    """Twelve channels of DDR5-4800 carry 460.8 GB/s and eight of DDR4-3200 204.8 (AMD), two of DDR5-5600 89.6."""
    found = {name: catalog().processor(name).bandwidth for name in ("epyc-9554", "epyc-7003", "ryzen-9-9950x")}
    assert found == pytest.approx({"epyc-9554": 460.8e9, "epyc-7003": 204.8e9, "ryzen-9-9950x": 89.6e9})


def test_hosted_models_say_what_reading_and_writing_costs() -> None:
    """A price of a hosted model is for a million tokens, and writing never costs less than reading before did."""
    hosted = catalog().prices("models")
    assert hosted
    for price in hosted:
        assert price.per == "million tokens" and price.kind == "hosted"
        assert price.output_price is not None and price.output_price >= (price.cached_price or 0)


def test_rents_of_today_come_from_several_sellers() -> None:
    """The H100's rents of the last half year are of nine sellers on three markets, so that a middle one can be told."""
    rents = [price for price in catalog().prices("accelerators", "h100-sxm-80gb") if price.kind == "on-demand"]
    newest = [price for price in rents if price.age_days(rents[0].checked) <= 183]
    assert len({price.seller for price in newest}) >= 9
    assert {price.market for price in newest} == {"specialist", "large cloud", "marketplace"}


def test_a_seller_is_on_one_market() -> None:
    """Nobody is a large cloud for one device and a market place for another."""
    rents = [price for price in catalog().prices("accelerators") if price.market]
    assert len({(price.seller, price.market) for price in rents}) == len({price.seller for price in rents})


def test_many_devices_have_a_rent_and_many_models_a_price() -> None:
    """At least 35 devices can be rented by the hour from somebody, and 40 models are called by the token."""
    rents = {price.item for price in catalog().prices("accelerators") if price.per == "hour"}
    hosted = {price.item for price in catalog().prices("models") if price.checked}
    assert len(rents) >= 35 and len(hosted) >= 40


def test_a_link_carries_what_the_sheets_of_its_devices_say() -> None:
    """Both are of one device as software sees it: half of a chip with two, and of the ports that join devices alone."""
    for link in catalog().links():
        for name in link.accelerators:
            stated = catalog().accelerator(name).quantity("link_bandwidth")
            if stated and link.both_ways is not None:
                assert link.both_ways.value == pytest.approx(stated, rel=0.01), (link.id, name)
