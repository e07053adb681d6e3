"""What pages must show of the catalogue."""

from pathlib import Path

from calc.calculators.html import text
from calc.calculators.page import CALCULATORS
from calc.catalog import catalog
from macros.hardware_tables import (
    accelerator_table,
    bin_of,
    claim_table,
    machine_table,
    memory_option_table,
)
from macros.links import stand_on
from macros.pages import calculator_list
from macros.price_tables import hosted_table, price_table

DOCS = Path(__file__).parents[2] / "docs"

# The cards of the table that this guide began with, with the size under which they stood.
NAMED = {
    20: ("rx-7900-xt", "rtx-a4500", "rtx-4000-ada"),
    24: ("rx-7900-xtx", "rtx-4090", "rtx-a5000", "rtx-a5500", "rtx-4500-ada"),
    32: ("w7800-32gb", "rtx-5000-ada"),
    48: ("w7900-48gb", "rtx-a6000", "rtx-6000-ada", "rtx-5880-ada"),
    80: ("h100-sxm-80gb",),
    128: ("mi300a",),
}


def test_every_accelerator_has_its_row_and_what_its_name_opens() -> None:
    """The reference table is the whole catalogue; a name leads to its facts, which are no part of what is filtered."""
    html = accelerator_table()
    body = html[html.index("<tbody>") : html.index("</tbody>")]
    count = len(catalog().ids("accelerators"))
    assert body.count("<tr>") == body.count("data-facts") == count
    assert "checked 20" not in body


def test_what_one_can_have_today_comes_first() -> None:
    """Devices that are sold or rented out stand before all others, those that most sellers offer ahead."""
    html = accelerator_table()
    listed = sorted(catalog().accelerators(), key=lambda device: html.index(f"facts/{device.id}.html"))
    current = [device.availability in ("sold", "rented") for device in listed]
    assert current == sorted(current, reverse=True) and not all(current)
    today = [device for device, now in zip(listed, current, strict=True) if now]
    sellers = [len({price.seller for price in catalog().prices("accelerators", device.id)}) for device in today]
    ranked = [(number, device.released) for number, device in zip(sellers, today, strict=True)]
    assert ranked == sorted(ranked, reverse=True)
    assert today[0].name.startswith("H100")


def test_named_cards_stand_in_their_sizes() -> None:
    """80 GB is not more than 80: an H100 has a row of its own size, and an MI300X one above it."""
    html = memory_option_table()
    for size, names in NAMED.items():
        for name in names:
            record = catalog().accelerator(name)
            assert bin_of(record) == size
            assert record.name in html
    assert bin_of(catalog().accelerator("mi300x")) > 180


def test_every_machine_stands_in_a_table_or_is_a_claim() -> None:
    """None is left out because its kind is new."""
    html = machine_table("server", "rack", "workstation", "desktop", "cloud")
    for machine in catalog().machines():
        assert machine.claim or f">{machine.name}</a>" in html


def test_every_price_stands_in_a_table_with_its_day() -> None:
    """Newest first; one that is older than four months says so."""
    shown = {of: price_table(of) for of in ("accelerators", "machines", "electricity", "currencies")}
    shown["models"] = hosted_table()
    for price in catalog().prices():
        assert f">{price.checked}</a>" in shown[price.of]
    assert "older than 120 days" in shown["machines"]


def test_claims_stand_beside_what_is_computed() -> None:
    """64 GB hold Llama 2 70B in 4 bit and not in 8, and a full fine-tune is many times too large."""
    html = claim_table({"maingear-shodan-64": "llama-2-70b"})
    row = html[html.index("<tbody>") :]
    assert row.count("too large") == 3 and row.count("fits") == 2
    assert "fine-tunes a model of 70B" in row


def test_every_calculator_is_listed_and_has_a_page() -> None:
    """By its question, with a link that leads to its page."""
    stand_on("calculators/")
    listed = calculator_list()
    for name, found in CALCULATORS.items():
        assert text(found.question) in listed
        assert f'href="{name}/"' in listed
        assert (DOCS / f"calculators/{name}.md").exists()
