"""The search knows every model, accelerator, calculator and term: each stands in the index that the page loads."""

import json
import re
import urllib.request
from html import unescape

import pytest
from playwright.sync_api import expect

from calc.calculators.page import CALCULATORS
from calc.catalog import catalog
from tests.browser.conftest import Watched


@pytest.fixture(scope="module")
def index(site: str) -> list[dict[str, str]]:
    """The entries of the built search index."""
    with urllib.request.urlopen(f"{site}search/search_index.json") as answer:
        found = json.load(answer)
    entries: list[dict[str, str]] = found["docs"]
    return entries


@pytest.fixture(scope="module")
def words(index: list[dict[str, str]]) -> str:
    """All text of the index, as a reader types it."""
    return plain(" \n ".join(f"{entry['title']} {entry['text']}" for entry in index))


def plain(text: str) -> str:
    """Return text without tags and with single spaces."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", text)))


def test_every_model_is_found(words: str) -> None:
    """By its name."""
    assert [model.name for model in catalog().models() if model.name not in words] == []


def test_every_accelerator_is_found(words: str) -> None:
    """By its name."""
    assert [device.name for device in catalog().accelerators() if device.name not in words] == []


def test_every_calculator_is_found(index: list[dict[str, str]], words: str) -> None:
    """By its title and its question; its page is one that search leads to."""
    for found in CALCULATORS.values():
        assert found.title in words
        assert found.question in words
    places = {entry["location"] for entry in index}
    assert all(any(f"calculators/{found}/" in place for place in places) for found in CALCULATORS)


def test_every_term_is_found(index: list[dict[str, str]]) -> None:
    """Each is a heading of its own, so that search leads to it and not only to its page."""
    titles = {plain(entry["title"]).strip() for entry in index}
    assert [term.name for term in catalog().terms() if term.name not in titles] == []


@pytest.mark.parametrize(
    ("typed", "place"),
    [
        ("vram", "calculators/will-it-fit/"),
        ("oom", "calculators/will-it-fit/"),
        ("how much ram for 70b", "calculators/what-hardware/"),
        ("kv cache size", "calculators/kv-cache/"),
        ("tokens per second 4090", "calculators/speed/"),
        ("ollama", "calculators/what-runs/"),
        ("quantization", "models/number-formats/"),
        ("multi gpu", "hardware/pooling/"),
        ("mac", "calculators/what-runs/"),
        ("cheapest gpu", "calculators/what-hardware/"),
        ("finetuning", "calculators/fine-tune/"),
    ],
)
def test_what_people_type_leads_to_its_answer(watched: Watched, site: str, typed: str, place: str) -> None:
    """Words that the guide itself does not use are its pages' tags: the page is among the first three results."""
    page = watched.page
    page.goto(site + "about/licences/")
    page.keyboard.press("/")
    page.get_by_role("textbox", name="Search").press_sequentially(typed)
    expect(page.locator(".md-search-result__meta")).to_contain_text("matching document")
    found = page.locator(".md-search-result__item > a.md-search-result__link")
    addresses = [found.nth(number).get_attribute("href") or "" for number in range(min(found.count(), 3))]
    assert any(address.partition("?")[0].endswith(place) for address in addresses), addresses


def test_the_index_is_light(site: str) -> None:
    """Forms, workings and the inside of tables are not in it: less than 750 kB, where all text of pages is 2.5 MB."""
    with urllib.request.urlopen(f"{site}search/search_index.json") as answer:
        assert len(answer.read()) < 750_000


def test_the_page_of_accelerators_is_light(site: str) -> None:
    """What a device's name leads to comes when it is asked for: the page is less than 420 kB, with all in it 1.4 MB."""
    with urllib.request.urlopen(f"{site}reference/accelerators/") as answer:
        assert len(answer.read()) < 420_000


def test_a_page_says_where_its_source_is_and_asks_no_other_origin(watched: Watched, site: str) -> None:
    """Its text as Markdown, its source, a report with its title, a card for links; only links, nothing is fetched."""
    page = watched.page
    page.goto(site + "memory/kv-cache/")
    hand = page.locator(".guide-hand")
    expect(hand.get_by_role("link", name="Edit this page")).to_have_attribute(
        "href", re.compile("/edit/main/docs/memory/kv-cache.md$")
    )
    report = hand.get_by_role("link", name="Something is wrong here").get_attribute("href") or ""
    assert "/issues/new?title=" in report and "cache" in report
    address = hand.get_by_role("link", name="This page as Markdown").get_attribute("href") or ""
    assert page.request.get(page.evaluate("href => new URL(href, location).href", address)).text().count("\n| ") > 3
    card = page.locator("meta[property='og:image']").get_attribute("content") or ""
    assert page.request.get(card).headers["content-type"] == "image/png"
    assert [request for request in watched.requests if not request.startswith(site)] == []


def test_an_address_that_leads_nowhere_leads_on(watched: Watched, site: str) -> None:
    """The page that a host sends then has the search, and links that hold at any depth."""
    page = watched.page
    page.goto(site + "404.html")
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing stands at this address")
    page.keyboard.press("/")
    expect(page.get_by_role("textbox", name="Search")).to_be_focused()
    expect(page.locator("#__search")).to_be_checked()  # the theme hears Escape when it has opened its results
    page.keyboard.press("Escape")
    expect(page.get_by_role("textbox", name="Search")).not_to_be_focused()
    page.locator("article").get_by_role("link", name="Will it fit?").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("Will it fit"))
    assert watched.complaints == []
