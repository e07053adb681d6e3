"""What pages must show of the catalogue."""

from pathlib import Path

from calc.calculators.html import text
from calc.calculators.page import CALCULATORS
from calc.catalog import catalog
from macros.links import stand_on
from macros.pages import calculator_list

DOCS = Path(__file__).parents[2] / "docs"


def test_every_vendor_has_its_table() -> None:
    """No accelerator is missing on the reference page because its maker is new."""
    page = (DOCS / "reference/accelerators.md").read_text(encoding="utf-8")
    for vendor in {record.vendor for record in catalog().accelerators()}:
        assert f'accelerator_table("{vendor}"' in page


def test_every_calculator_is_listed_and_has_a_page() -> None:
    """By its question, with a link that leads to its page."""
    stand_on("calculators/")
    listed = calculator_list()
    for name, found in CALCULATORS.items():
        assert text(found.question) in listed
        assert f'href="{name}/"' in listed
        assert (DOCS / f"calculators/{name}.md").exists()
