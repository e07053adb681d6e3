"""Every page of the site: nothing leaves the origin, nothing complains, everybody can read it."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

from macros import styles
from tests.browser.conftest import DATA_SAVER, ROOT, Watched

pytestmark = pytest.mark.browser
DOCS = ROOT / "docs"
SOURCES = [path.relative_to(DOCS).as_posix().removesuffix(".md") for path in DOCS.rglob("*.md")]
PAGES = sorted(source.removesuffix("index").rstrip("/") for source in SOURCES)
AXE = (ROOT / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
VIOLATIONS = {"resultTypes": ["violations"]}  # and no selectors of the thousands that pass
# The header, the list of pages and the footer are the same everywhere: they are looked at on the first page.
AROUND = [[".md-header"], [".md-sidebar--primary"], [".md-footer"]]
OF_COLOURS = VIOLATIONS | {"runOnly": ["color-contrast", "link-in-text-block"]}
# Everything is open, and of a long table or list, whose rows are made alike, the first ones stand for the rest.
OPENED = """() => {
    for (const part of document.querySelectorAll("details")) part.open = true;
    for (const box of document.querySelectorAll("tbody, .calc ol, .calc ul, article > ul")) {
        for (const row of [...box.children].slice(12)) row.remove();
    }
}"""


def address(site: str, page: str) -> str:
    """Return the address of a page."""
    return f"{site}{page}/" if page else site


@pytest.mark.parametrize("name", PAGES)
def test_a_page_asks_no_one_else_and_everybody_can_read_it(watched: Watched, site: str, name: str) -> None:
    """Requests stay on the origin; nobody who saves data fetches Python; the browser has nothing to complain about.

    At 320 px nothing but tables and formulas scrolls sideways, and those in boxes of their own. No rule is violated
    that axe-core checks; in the dark scheme none that a colour can break. Pages of prose are made of what pages with
    calculators and tables have too, and are looked at in the light alone.
    """
    page = watched.page
    page.add_init_script(DATA_SAVER)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")  # colours change at once
    page.set_viewport_size({"width": 320, "height": 640})
    page.goto(address(site, name))
    page.mouse.move(100, 100)  # what a reader has not come to yet is not laid out before that
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.set_viewport_size({"width": 1280, "height": 720})
    page.evaluate(OPENED)
    page.evaluate(AXE)
    context: dict[str, object] = {"exclude": AROUND if name else []}
    broken = violations(page, context, VIOLATIONS)
    if not name or name.startswith(("calculators", "reference", "start", "about")):
        page.evaluate("document.body.dataset.mdColorScheme = 'slate'")
        broken += violations(page, context, OF_COLOURS)
    assert broken == []
    assert [request for request in watched.requests if not request.startswith(site)] == []
    assert watched.runtime_requests() == []
    assert page.context.cookies() == []
    assert watched.complaints == []


def violations(page: Page, context: dict[str, object], rules: dict[str, object]) -> list[str]:
    """Return what axe-core finds wrong in a part of a page, with the first places of each rule."""
    return [
        f"{violation['id']}: {node['html'][:120]} {node['failureSummary'][:160]}"
        for violation in page.evaluate("([context, rules]) => axe.run(context, rules)", [context, rules])["violations"]
        for node in violation["nodes"][:3]
    ]


def test_a_page_without_a_calculator_in_sight_never_loads_python(watched: Watched, site: str) -> None:
    """Reading and scrolling a page of prose fetches nothing, for longer than a look that starts a calculator."""
    watched.page.goto(site + "memory/inference/")
    for _ in range(3):
        watched.page.mouse.wheel(0, 800)
        watched.page.wait_for_timeout(500)
    assert watched.runtime_requests() == []


def test_pages_need_no_rule_that_was_left_out(built: tuple[Path, str]) -> None:
    """The joined style sheet lacks the theme's rules for parts that no page has; a page with such a part shows here."""
    pages = [page.read_text(encoding="utf-8") for page in built[0].rglob("*.html")]
    named = {name for html in pages for words in re.findall(r'class="([^"]*)"', html) for name in words.split()}
    assert len(pages) > 100 and len(named) > 100
    assert not [name for name in named if name.startswith(styles.UNUSED)]


def test_all_pages_carry_one_policy(built: tuple[Path, str]) -> None:
    """The theme brings the next page's head into the open one, where a second policy would forbid what is allowed."""
    pages = [page.read_text(encoding="utf-8") for page in built[0].rglob("*.html")]
    full = [html for html in pages if 'id="__config"' in html]
    said = {found for html in full for found in re.findall(r'Security-Policy" content="([^"]*)"', html)}
    assert len(full) > 80 and len(said) == 1
