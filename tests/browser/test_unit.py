"""The unit of sizes in a browser: one press in the header, for every size of the site, kept for the next page."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Watched, live, until

pytestmark = pytest.mark.browser
SIZES = "[...document.querySelectorAll('[data-or]')].map(size => size.textContent)"
# Of what a reader sees: a table that has a column for each unit, and facts as their sources write them, stay.
PAGES = ("calculators/will-it-fit/", "memory/inference/", "")


def units(sizes: list[str]) -> set[str]:
    """Return the units of sizes, by whether they are binary."""
    return {"GiB" if size.endswith("iB") else "GB" for size in sizes}


def test_one_press_says_all_sizes_in_a_unit(watched: Watched, site: str) -> None:
    """As written, all in GB, all in GiB, and as written again; other pages and the next answer follow."""
    page = watched.page
    for address in PAGES:
        page.goto(site + address)
        written = page.evaluate(SIZES)
        assert written
        for unit in ("GB", "GiB"):
            page.click(".guide-unit")
            assert page.inner_text(".guide-unit") == unit
            assert units(page.evaluate(SIZES)) == {unit}
        page.click(".guide-unit")
        assert page.evaluate(SIZES) == written
    page.click(".guide-unit")
    page.goto(site + PAGES[0])
    assert page.inner_text(".guide-unit") == "GB"
    assert re.search(r"with [\d.]+ GB to spare", page.inner_text(".calc-verdict"))
    page.get_by_label("Context", exact=True).fill("4096")
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("4,096")
    assert units(page.evaluate(SIZES)) == {"GB"}
    expect(page.locator(".calc-status")).to_have_text(re.compile(r"^(?!.*GiB).*[\d.]+ GB"))
    assert watched.complaints == []


def test_a_kept_unit_is_there_before_anything_is_painted(watched: Watched, site: str) -> None:
    """Who chose GB never sees GiB first."""
    page = watched.page
    page.add_init_script("""
        localStorage.setItem('gpu-unit', 'GB');
        window.painted = [];
        const look = () => {
            const verdict = document.querySelector('.calc-verdict');
            if (verdict) window.painted.push(verdict.textContent);
            if (document.readyState !== 'complete') requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
    """)
    page.goto(site + PAGES[0])
    until(page, "window.painted.length && document.readyState === 'complete'")
    painted = page.evaluate("window.painted")
    assert painted and not any("GiB" in text for text in painted)
