"""Every page of the site: nothing leaves the origin, nothing complains, everybody can read it."""

from typing import Literal

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import ROOT, Watched

pytestmark = pytest.mark.browser
DOCS = ROOT / "docs"
SOURCES = [path.relative_to(DOCS).as_posix().removesuffix(".md") for path in DOCS.rglob("*.md")]
PAGES = sorted(source.removesuffix("index").rstrip("/") for source in SOURCES)
AXE = (ROOT / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
SCHEMES: dict[Literal["light", "dark"], dict[str, object]] = {
    "light": {"resultTypes": ["violations"]},  # and no selectors of the thousands that pass
    "dark": {"resultTypes": ["violations"], "runOnly": ["color-contrast", "link-in-text-block"]},
}


def address(site: str, page: str) -> str:
    """Return the address of a page."""
    return f"{site}{page}/" if page else site


@pytest.mark.parametrize("name", PAGES)
def test_a_page_asks_no_one_else_and_fits_a_small_phone(watched: Watched, site: str, name: str) -> None:
    """Requests stay on the origin; Python is not fetched; the browser has nothing to complain about.

    At 320 px nothing but tables and formulas scrolls sideways, and those in boxes of their own.
    """
    watched.page.goto(address(site, name))
    watched.page.wait_for_load_state("networkidle")
    assert [request for request in watched.requests if not request.startswith(site)] == []
    assert not name or watched.runtime_requests() == []  # the first page's field is in view: a second later it starts
    watched.page.set_viewport_size({"width": 320, "height": 640})
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= 320
    assert watched.complaints == []


def test_a_page_without_a_calculator_in_sight_never_loads_python(watched: Watched, site: str) -> None:
    """Reading and scrolling a page of prose for three seconds fetches nothing."""
    watched.page.goto(site + "memory/inference/")
    for _ in range(6):
        watched.page.mouse.wheel(0, 800)
        watched.page.wait_for_timeout(500)
    assert watched.runtime_requests() == []


# Everything is open, and of a long table or list, whose rows are made alike, the first ones stand for the rest.
OPENED = """() => {
    for (const part of document.querySelectorAll("details")) part.open = true;
    for (const box of document.querySelectorAll("tbody, .calc ol, .calc ul, article > ul")) {
        for (const row of [...box.children].slice(12)) row.remove();
    }
}"""


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(chromium: Browser, site: str, name: str) -> None:
    """No violation of the rules that axe-core checks; in the dark scheme of those that a colour can break.

    Pages of prose are made of what pages with calculators and tables have too, and are looked at in the light alone.
    """
    pages = []
    for scheme, rules in SCHEMES.items():
        if scheme == "dark" and not name.startswith(("calculators", "reference", "start", "about")) and name:
            continue
        page = chromium.new_context(color_scheme=scheme).new_page()
        page.goto(address(site, name))
        page.evaluate(OPENED)
        page.evaluate(AXE)
        page.evaluate("rules => { window.checking = axe.run(rules); }", rules)  # both at once, on two processors
        pages.append(page)
    broken = [
        f"{violation['id']}: {node['html'][:120]} {node['failureSummary'][:160]}"
        for page in pages
        for violation in page.evaluate("window.checking")["violations"]
        for node in violation["nodes"][:3]
    ]
    assert broken == []
    for page in pages:
        page.context.close()


def test_the_page_for_lost_readers_works_at_any_depth(watched: Watched, site: str) -> None:
    """An address that leads nowhere shows the site's own page with its styles."""
    watched.page.goto(site + "404.html")
    assert watched.page.inner_text("h1") == "Nothing stands at this address"
    assert watched.complaints == []
