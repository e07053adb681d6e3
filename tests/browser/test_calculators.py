"""Calculators as a reader uses them: the number shown is asserted, and the browser's answer is CPython's."""

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Route, expect

from calc.calculators import CALCULATORS
from macros.links import CALCULATOR_PAGES
from tests.browser.conftest import BOOT_MS, Watched, live

pytestmark = pytest.mark.browser
FIT, CACHE = "calculators/will-it-fit/", "calculators/kv-cache/"
FILL = """values => {
  const form = document.querySelector("gpu-calculator form");
  form.reset();
  for (const [name, value] of Object.entries(values)) form.elements[name].value = value;
}"""


def test_a_changed_field_changes_the_number(watched: Watched, site: str) -> None:
    """Llama 3.1 8B at 16,384 tokens has 2 GiB of cache, and FP8 halves it."""
    page = watched.page
    page.goto(site + FIT)
    page.fill("[name=context_tokens]", "16384")
    live(page)
    expect(page.locator(".calc-legend")).to_contain_text("KV cache 2.00 GiB")
    page.select_option("[name=kv_cache]", "fp8")
    expect(page.locator(".calc-legend")).to_contain_text("KV cache 1.00 GiB")
    expect(page.locator(".calc-status")).to_contain_text("It fits")
    assert watched.complaints == []


def test_the_live_answer_is_the_built_one(watched: Watched, site: str) -> None:
    """Python in the browser writes the very HTML that the build wrote."""
    page = watched.page
    page.goto(site + FIT)
    built = page.inner_html(".calc-answer")
    page.evaluate("document.querySelector('.calc-answer').innerHTML = ''")
    page.fill("[name=context_tokens]", "8193")
    live(page)
    expect(page.locator(".calc-working")).to_contain_text("32 × 8,193")
    page.fill("[name=context_tokens]", "8192")
    expect(page.locator(".calc-working")).to_contain_text("32 × 8,192")
    assert page.inner_html(".calc-answer") == built


def test_every_preset_is_cpython_s_answer_digit_for_digit(watched: Watched, site: str) -> None:
    """Each worked example of each calculator shows what CPython computes: the last by its address, others filled in."""
    page = watched.page
    for name, calculator in CALCULATORS.items():
        *others, last = calculator.presets
        page.goto(f"{site}{CALCULATOR_PAGES[name]}?{urlencode(last.values)}")
        live_text(page, calculator.render(calculator.report(last.values)))
        for preset in others:
            page.evaluate(FILL, preset.values)
            live_text(page, calculator.render(calculator.report(preset.values)))


def live_text(page: Any, html: str) -> None:
    """Assert that the answer on the page is `html`, as the browser writes it."""
    page.hover("gpu-calculator")
    live(page)
    wanted = page.evaluate(
        "html => { const box = document.createElement('div'); box.innerHTML = html; return box.innerHTML }", html
    )
    for _ in range(100):
        if (found := page.inner_html(".calc-answer")) == wanted:
            return
        page.wait_for_timeout(50)
    assert found == wanted


def test_the_address_keeps_the_state(watched: Watched, site: str) -> None:
    """Readable keys, back and reload, a shared link, and reset."""
    page = watched.page
    page.goto(site + FIT)
    page.fill("[name=context_tokens]", "16384")
    expect(page).to_have_url(site + FIT + "?context_tokens=16384")
    page.select_option("[name=accelerator]", "rtx-3090")
    expect(page).to_have_url(site + FIT + "?context_tokens=16384&accelerator=rtx-3090")
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("RTX 3090")
    page.reload()
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("17.15 GiB of 24.00 GiB on one GeForce RTX 3090")
    page.go_back()
    expect(page.locator(".calc-verdict")).to_contain_text("17.15 GiB of 23.99 GiB on one GeForce RTX 4090")
    page.go_back()
    expect(page.locator("[name=context_tokens]")).to_have_value("8192")
    expect(page.locator(".calc-verdict")).to_contain_text("16.15 GiB")
    page.go_forward()
    expect(page.locator("[name=context_tokens]")).to_have_value("16384")
    page.click(".calc-reset")
    expect(page.locator(".calc-verdict")).to_contain_text("16.15 GiB")
    expect(page).to_have_url(site + FIT)


def test_a_link_with_wrong_values_shows_what_is_wrong(watched: Watched, site: str) -> None:
    """An option that is not there and a number that is none are named at their fields; the first answer stays."""
    page = watched.page
    page.goto(f"{site}{FIT}?model=llama-9&other=1")
    live(page)
    error = page.locator("#will-it-fit-model-error")
    expect(error).to_contain_text("is not in the catalogue of models")
    expect(page.locator("[name=model]")).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".calc-stale")).to_be_visible()
    expect(page.locator(".calc-verdict")).to_contain_text("16.15 GiB")
    page.select_option("[name=model]", "llama-3.1-8b")
    expect(error).to_be_hidden()
    expect(page.locator(".calc-stale")).to_have_count(0)


def test_a_wrong_value_keeps_the_last_answer(watched: Watched, site: str) -> None:
    """The message says what is allowed, tied to its field, and the answer is marked as the last valid one."""
    page = watched.page
    page.goto(site + FIT)
    page.fill("[name=sequences]", "none")
    live(page)
    expect(page.locator("#will-it-fit-sequences-error")).to_have_text("must be a whole number from 1 to 1,000,000")
    expect(page.locator(".calc-answer")).to_have_attribute("data-stale", "")
    page.fill("[name=sequences]", "2")
    expect(page.locator(".calc-legend")).to_contain_text("KV cache 2.00 GiB")
    expect(page.locator("#will-it-fit-sequences-error")).to_be_hidden()


def test_opened_working_stays_open(watched: Watched, site: str) -> None:
    """A reader who has the working open keeps it while the numbers change."""
    page = watched.page
    page.goto(site + CACHE)
    page.click("details[data-key=working] > summary")
    page.fill("[name=context_tokens]", "1000")
    live(page)
    expect(page.locator("details[data-key=working]")).to_have_attribute("open", "")
    expect(page.locator("details[data-key=working]")).to_contain_text("32 × 1,000 × 4,096 = 131,072,000 B")


def test_one_python_serves_all_pages(watched: Watched, site: str) -> None:
    """Instant navigation keeps the worker: the next page's calculator is live without loading anything."""
    page = watched.page
    page.goto(site + FIT)
    page.fill("[name=context_tokens]", "16384")
    live(page)
    loaded = len(watched.runtime_requests())
    page.click("nav >> text=KV cache >> visible=true")
    page.wait_for_selector("#kv-cache")
    page.fill("#kv-cache [name=context_tokens]", "1000")
    expect(page.locator(".calc-verdict")).to_contain_text("The cache takes 0.12 GiB")
    expect(page).to_have_url(re.compile("context_tokens=1000$"))
    page.go_back()
    page.go_back()
    page.wait_for_selector("#will-it-fit")
    expect(page.locator(".calc-verdict")).to_contain_text("17.15 GiB")
    assert len(watched.runtime_requests()) == loaded
    assert watched.complaints == []


def test_a_failure_says_why_and_can_be_retried(watched: Watched, site: str) -> None:
    """Without its WebAssembly Python cannot start: the page says so, keeps its answer, and starts on retry."""
    page = watched.page
    page.context.route("**/pyodide.asm.wasm", lambda route: route.abort())
    page.goto(site + FIT)
    page.fill("[name=context_tokens]", "16384")
    page.wait_for_selector("gpu-calculator[data-state=failed]", timeout=BOOT_MS)
    expect(page.locator(".calc-runtime")).to_contain_text("Python could not be started")
    expect(page.locator(".calc-verdict")).to_contain_text("16.15 GiB")
    page.context.unroute_all()
    page.click("text=Retry")
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("17.15 GiB")


def test_a_busy_machine_is_given_a_second_start(watched: Watched, site: str) -> None:
    """A start that falls silent is repeated once by itself, and Python answers without a click."""
    page = watched.page
    silent: list[Route] = []
    page.context.route("**/worker.mjs", lambda route: route.fallback() if silent else silent.append(route))
    page.clock.install()
    page.goto(site + FIT)
    page.fill("[name=context_tokens]", "16384")
    while not silent:
        page.wait_for_timeout(50)
    page.clock.fast_forward(25_000)
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("17.15 GiB")
    assert watched.complaints == []


def test_a_mistake_of_ours_is_said_and_survived(watched: Watched, site: str) -> None:
    """A request that no form makes breaks Python's answer, and the next one is answered."""
    page = watched.page
    page.goto(site + FIT)
    said = page.evaluate(
        """async () => {
            const { runtime } = await import(new URL("../../assets/calculator/runtime.mjs", location.href).href);
            return new Promise((answered) => runtime.ask({}, { calculator: "will-it-fit", fields: 1 }, answered));
        }"""
    )
    assert said["ok"] is False
    assert "a mistake in the guide" in said["status"]
    assert "AttributeError" in said["status"]
    page.fill("[name=context_tokens]", "16384")
    expect(page.locator(".calc-legend")).to_contain_text("KV cache 2.00 GiB")


def test_a_calculator_works_by_keyboard(watched: Watched, site: str) -> None:
    """Tab reaches the fields in order, and typing answers."""
    page = watched.page
    page.goto(site + CACHE)
    page.focus("[name=model]")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "context_tokens"
    page.keyboard.press("Control+A")
    page.keyboard.type("4096")
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("The cache takes 0.50 GiB")


def test_without_scripts_the_answer_is_there(chromium: Any, site: str) -> None:
    """The form, the finished answer, its table and its working stand in the page itself."""
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site + FIT)
    expect(page.locator(".calc-verdict")).to_contain_text("16.15 GiB of 23.99 GiB")
    expect(page.locator(".calc-parts")).to_contain_text("17.34 GB")
    page.click("details[data-key=working] > summary")
    expect(page.locator(".calc-working")).to_contain_text("32 × 8,192 × 4,096 = 1,073,741,824 B")
    expect(page.locator(".calc-runtime")).to_contain_text("Without scripts")
    context.close()


def test_a_number_in_prose_opens_its_working(watched: Watched, site: str) -> None:
    """Pressing a number shows the steps that lead to it, and Escape closes them."""
    page = watched.page
    page.goto(site + "memory/inference/")
    button = page.locator(".calc-number").first
    button.focus()
    page.keyboard.press("Enter")
    opened = page.locator(".calc-opened:popover-open")
    expect(opened).to_contain_text(re.compile(r"= [\d,]+ B"))
    page.keyboard.press("Escape")
    expect(opened).to_have_count(0)


def test_loading_starts_on_intent(context: BrowserContext, site: str) -> None:
    """A pointer over the calculator starts Python; so does a second of looking at it."""
    for act in ("hover", "look"):
        watched = Watched(context)
        watched.page.goto(site + FIT)
        assert watched.runtime_requests() == []
        if act == "hover":
            watched.page.hover(".calc-form")
        live(watched.page)
        assert watched.runtime_requests()
        watched.page.close()


def test_a_long_list_is_searched_by_any_part_of_a_name(watched: Watched, site: str) -> None:
    """Words in any order, also of the repository's name; Enter takes the first; the list is whole again after it."""
    page = watched.page
    page.goto(site + FIT)
    models = page.locator("[name=model]")
    count = models.locator("option").count()
    page.get_by_label("Find in the list: Model").fill("a3b qwen3-30")
    found = models.locator("option[data-found=yes]")
    expect(found.first).to_have_text("Qwen3 30B A3B")
    assert 1 <= found.count() < 10
    page.keyboard.press("Enter")
    live(page)
    expect(models).to_have_value("qwen3-30b-a3b")
    expect(page.locator(".calc-verdict")).to_contain_text("It does not fit")
    expect(page).to_have_url(re.compile(r"\?model=qwen3-30b-a3b$"))
    expect(models.locator("option")).to_have_count(count)
    page.get_by_label("Find in the list: GPU").fill("nvidia h100 94")
    page.locator("[name=accelerator]").select_option("h100-nvl-94gb")
    expect(page.locator(".calc-verdict")).to_contain_text("It fits")
    page.get_by_label("Find in the list: Model").fill("no such model")
    expect(page.locator(".calc-status")).to_contain_text("0 entries found")
    page.keyboard.press("Escape")
    expect(models.locator("option")).to_have_count(count)
    assert watched.complaints == []
