"""The facts that the name of a device leads to."""

from html import unescape
from pathlib import Path

from calc.catalog import catalog
from macros import facts, links

H100 = catalog().accelerator("h100-sxm-80gb")


def test_a_name_leads_to_its_page_from_any_depth() -> None:
    """The address is relative to the page that the name stands on."""
    links.stand_on("hardware/links/")
    assert 'href="../../assets/facts/h100-sxm-80gb.html"' in facts.device_link(H100)
    links.stand_on("")
    assert 'href="assets/facts/h100-sxm-80gb.html"' in facts.device_link(H100)


def test_a_page_has_every_fact_with_its_source_and_day() -> None:
    """Memory and bandwidth as the catalogue has them, each linked to its source and dated."""
    page = unescape(facts.fact_page(H100))
    for field, found in H100.facts.items():
        assert f"{field.replace('_', ' ')} {found.show()}" in page
        assert f"checked {found.checked}" in page
    assert page.count('<span class="calc-step">') == len(H100.facts)
    assert page.count("<a href=") >= len(H100.facts)
    assert "Content-Security-Policy" in page


def test_every_device_has_a_page(tmp_path: Path) -> None:
    """One for each, by its id."""
    facts.write_facts(tmp_path)
    written = {file.stem for file in (tmp_path / facts.FOLDER).glob("*.html")}
    assert written == set(catalog().ids("accelerators"))
