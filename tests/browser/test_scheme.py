"""Colours are there before the theme's script is, and a drawer shows what it holds when it is opened."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Watched, until

pytestmark = pytest.mark.browser
SCHEME = "document.body.dataset.mdColorScheme"


def test_colours_are_the_systems_until_a_reader_chooses(watched: Watched, site: str) -> None:
    """A dark system has a dark page though the theme's script never comes; the button's choice outlives the page."""
    page = watched.page
    page.route("**/bundle.*.js", lambda route: route.abort())
    page.emulate_media(color_scheme="dark")
    page.goto(site + "reference/units/")
    assert page.evaluate(SCHEME) == "slate"
    assert page.evaluate("document.documentElement.className") == "js js-focus-visible"
    page.emulate_media(color_scheme="light")
    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "default")
    page.get_by_role("button", name="Switch to dark colours").click()
    assert page.evaluate(SCHEME) == "slate"
    page.reload()
    assert page.evaluate(SCHEME) == "slate"
    expect(page.get_by_role("button", name="Switch to light colours")).to_be_visible()


def test_the_theme_finds_nothing_to_change_about_the_whole_page(watched: Watched, site: str) -> None:
    """What the theme's script would set, so that every style is worked out anew, is set before it or not at all."""
    page = watched.page
    page.goto(site + "reference/units/")
    until(page, "window.document$")
    assert page.evaluate("document.documentElement.className") == "js js-focus-visible"
    assert page.locator("meta[name=color-scheme], [data-md-component=palette]").count() == 0


def test_a_drawer_is_not_worked_out_before_it_is_opened(watched: Watched, site: str) -> None:
    """On a phone the links of the navigation are none of the page's until it is opened, and can be pressed then."""
    page = watched.page
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(site + "reference/units/")
    home = page.locator(".md-nav--primary a", has_text="Home").first
    shown = "link => link.checkVisibility()"
    assert not home.evaluate(shown)
    page.click("label[for=__drawer].md-header__button")
    assert home.evaluate(shown)
