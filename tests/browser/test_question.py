"""The first page: a question in one line, answered in view, corrected by its lists, and kept in the address."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from calc import estimate
from calc.units import show_gib
from tests.browser.conftest import BOOT_MS, ROOT, Watched

pytestmark = pytest.mark.browser
AXE = ROOT / "node_modules/axe-core/axe.min.js"
TWO_3090 = "Can I run Llama 3.3 70B on my two 3090?"


def ask(page: Page, line: str) -> None:
    """Type a line and press Enter."""
    page.fill("#ask-line", line)
    page.press("#ask-line", "Enter")


def spare(count: int, weights: str) -> str:
    """Return what the answer about Llama 3.3 70B on so many RTX 3090 says is left."""
    scenario = {"model": "llama-3.3-70b", "weights": weights, "accelerator": "rtx-3090", "accelerators": count}
    report = estimate({**scenario, "context_tokens": 8192, "engine": "usual"})
    return show_gib(abs(report["memory"]["headroom_bytes"]))  # type: ignore[index]


def test_a_question_is_answered_corrected_and_kept(watched: Watched, site: str) -> None:
    """The number shown is that of the calculation; another entry of a list asks again; the address has the question."""
    page = watched.page
    page.goto(site)
    ask(page, TWO_3090)
    verdict = page.locator(".ask-answer > .calc-verdict").first
    expect(verdict).to_contain_text(f"It likely fits, with {spare(2, 'q4_k_m')} to spare", timeout=BOOT_MS)
    expect(verdict).to_be_in_viewport()
    expect(page).to_have_url(re.compile(r"\?ask=Can\+I\+run"))
    page.get_by_label("How many").select_option("3x")
    expect(verdict).to_contain_text(f"It fits, with {spare(3, 'q6_k')} to spare")
    expect(page.locator("#ask-line")).to_have_value("Can I run Llama 3.3 70B on my 3x 3090?")
    page.go_back()
    expect(verdict).to_contain_text(f"It likely fits, with {spare(2, 'q4_k_m')} to spare")
    expect(page.locator("#ask-line")).to_have_value(TWO_3090)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in found] == []
    assert watched.complaints == []


def test_the_search_offers_to_ask(watched: Watched, site: str) -> None:
    """Words in the site's search can be asked of the first page; a single word looks for pages alone."""
    page = watched.page
    page.goto(site + "reference/units/")
    page.click(".md-search__input")
    page.keyboard.type("llama")
    expect(page.locator(".ask-search")).to_be_hidden()
    page.keyboard.type(" 70b on 2x3090")
    expect(page.get_by_role("link", name="Ask the guide: “llama 70b on 2x3090”")).to_be_visible()
    page.click(".ask-search")
    expect(page.locator("#ask-line")).to_have_value("llama 70b on 2x3090")
    expect(page.locator(".ask-answer > .calc-verdict").first).to_contain_text("It likely fits", timeout=BOOT_MS)


def test_a_link_asks_and_what_is_not_understood_is_said(watched: Watched, site: str) -> None:
    """The address alone asks; words that the guide does not know are named, and no other question is answered."""
    page = watched.page
    page.goto(f"{site}?ask=run+flux+on+a+4090")
    expect(page.locator(".calc-verdict")).to_contain_text("“flux” makes images or video by diffusion", timeout=BOOT_MS)
    ask(page, "run foolink on a 4090")
    expect(page.locator(".ask-unread")).to_contain_text("foolink")
    ask(page, "qlora 13b 4090")
    expect(page.locator(".ask-unread")).to_have_count(0)
    page.get_by_role("link", name="Every field").click()
    expect(page).to_have_url(re.compile("calculators/fine-tune/.*model=llama-2-13b"))


def test_this_or_that_stands_side_by_side(watched: Watched, site: str) -> None:
    """Both cases are answered, in a table that scrolls in its own box on a phone; each link opens its own case."""
    page = watched.page
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site}?ask=4090+vs+3090+for+qwen3+32b+q4")
    expect(page.locator(".ask-answer > .calc-verdict")).to_contain_text("Both fit", timeout=BOOT_MS)
    expect(page.locator(".ask-chips")).to_contain_text("GeForce RTX 3090")
    expect(page.locator(".calc-beside th", has_text="GeForce RTX")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run('.ask', { resultTypes: ['violations'] })")["violations"]
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in found] == []
    page.locator(".ask-sides").get_by_role("link", name="Every field").last.click()
    expect(page).to_have_url(re.compile("calculators/will-it-fit/.*accelerator=rtx-3090"))
    assert watched.complaints == []


def test_on_a_phone_the_answer_is_in_view(chromium: Browser, site: str) -> None:
    """At 390 by 844 pixels nothing has to be scrolled to read the verdict, nor what was understood and taken for it."""
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(site)
    page.tap("#ask-line")
    ask(page, TWO_3090)
    verdict = page.locator(".ask-answer > .calc-verdict").first
    expect(verdict).to_contain_text("It likely fits", timeout=BOOT_MS)
    box = verdict.bounding_box()
    assert page.evaluate("scrollY") == 0 and box is not None and box["y"] + box["height"] <= 844
    chips = [chip.bounding_box() for chip in page.locator(".ask-chip").all()]
    assert len(chips) > 3 and all(chip and chip["x"] + chip["width"] <= 390 for chip in chips)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    context.close()
