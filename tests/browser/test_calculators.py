"""Calculators as a reader uses them: the number shown is asserted, and the browser's answer is CPython's."""

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Route, expect

from calc.calculators import CALCULATORS
from calc.catalog import catalog
from macros.links import calculator_page
from tests.browser.conftest import BOOT_MS, ROOT, Watched, answer_html, live, live_text, pick, unfold, until

pytestmark = pytest.mark.browser
FIT, CACHE = "calculators/will-it-fit/", "calculators/kv-cache/"
FILL = """values => {
  const form = document.querySelector("gpu-calculator form");
  form.reset();
  for (const [name, value] of Object.entries(values)) {
    const control = form.elements[name];
    if (control.dataset.list) control.append(new Option(value, value));
    control.value = value;
  }
}"""

# A second of looking has passed when the test says so: a slow machine takes longer to load the page.
LOOKED = """
    window.looked = [];
    const set = window.setTimeout;
    window.setTimeout = (act, ms, ...more) => ms === 1000 ? window.looked.push(act) : set(act, ms, ...more);
"""
VALUES = "cells => cells.map(cell => cell.value)"


def test_a_changed_field_changes_the_number(watched: Watched, site: str) -> None:
    """Llama 3.1 8B at 16,384 tokens has 2 GiB of cache, and FP8 halves it."""
    page = watched.page
    page.goto(site + FIT)
    page.fill("[name=context_tokens]", "16384")
    live(page)
    expect(page.locator(".calc-legend")).to_contain_text("KV cache 2.00 GiB")
    unfold(page)
    page.select_option("[name=kv_cache]", "fp8")
    topic = page.locator(".calc-topic", has=page.locator("[name=kv_cache]"))
    expect(topic.locator("summary")).to_contain_text("1 changed")
    expect(page.locator(".calc-legend")).to_contain_text("KV cache 1.00 GiB")
    expect(page.locator(".calc-status")).to_contain_text("It fits")
    assert watched.complaints == []


def test_the_live_answer_is_the_built_one(watched: Watched, site: str) -> None:
    """Python in the browser writes the very HTML that the build wrote."""
    page = watched.page
    page.goto(site + FIT)
    built = answer_html(page)
    page.evaluate("document.querySelector('.calc-answer').innerHTML = ''")
    page.fill("[name=context_tokens]", "8193")
    live(page)
    expect(page.locator(".calc-working")).to_contain_text("32 × 8,193")
    page.fill("[name=context_tokens]", "8192")
    expect(page.locator(".calc-working")).to_contain_text("32 × 8,192")
    assert answer_html(page) == built


@pytest.mark.parametrize("part", range(3))
def test_an_answer_is_cpython_s_digit_for_digit(watched: Watched, site: str, part: int) -> None:
    """Each calculator shows what CPython computes: its last worked example by its address, another one filled in.

    The runtime itself is asked for all of them in tests/runtime, without a page.
    """
    page = watched.page
    for name, calculator in [*CALCULATORS.items()][part::3]:
        last = calculator.presets[-1]
        other, *_ = calculator.presets[1:-1] or calculator.presets
        page.goto(f"{site}{calculator_page(name)}?{urlencode(last.values)}")
        live_text(page, calculator.render(calculator.report(last.values)))
        page.evaluate(FILL, other.values)
        live_text(page, calculator.render(calculator.report(other.values)))


def test_the_address_keeps_the_state(watched: Watched, site: str) -> None:
    """Readable keys, back and reload, a shared link, and reset."""
    page = watched.page
    page.goto(site + FIT)
    page.fill("[name=context_tokens]", "16384")
    expect(page).to_have_url(site + FIT + "?context_tokens=16384")
    pick(page, "GPU", "rtx 3090")
    expect(page).to_have_url(site + FIT + "?context_tokens=16384&accelerator=rtx-3090")
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("RTX 3090")
    page.reload()
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("16.42 GiB of 23.55 GiB on one GeForce RTX 3090")
    page.go_back()
    expect(page.locator(".calc-verdict")).to_contain_text("16.55 GiB of 23.54 GiB on one GeForce RTX 4090")
    page.go_back()
    expect(page.locator("[name=context_tokens]")).to_have_value("8192")
    expect(page.locator(".calc-verdict")).to_contain_text("15.54 GiB")
    page.go_forward()
    expect(page.locator("[name=context_tokens]")).to_have_value("16384")
    page.click(".calc-reset")
    expect(page.locator(".calc-verdict")).to_contain_text("15.54 GiB")
    expect(page).to_have_url(site + FIT)


def test_going_back_after_a_reload_brings_no_values_along(watched: Watched, site: str) -> None:
    """Instant navigation builds the page anew at a first step back after a reload; its form is the address's."""
    page = watched.page
    page.goto(site + FIT)
    page.fill("[name=context_tokens]", "16384")
    expect(page).to_have_url(site + FIT + "?context_tokens=16384")
    page.reload()
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("16.55 GiB")
    page.evaluate("document.querySelector('gpu-calculator').dataset.before = ''")
    page.go_back()
    expect(page.locator("gpu-calculator[data-before]")).to_have_count(0)
    expect(page.locator(".calc-verdict")).to_contain_text("15.54 GiB")
    expect(page.locator("[name=context_tokens]")).to_have_value("8192")
    expect(page.locator(".calc-before")).to_have_count(0)
    expect(page).to_have_url(site + FIT)


def test_a_link_with_wrong_values_shows_what_is_wrong(watched: Watched, site: str) -> None:
    """A name that is in no list is said at its field; no other question's answer shows."""
    page = watched.page
    page.goto(f"{site}{FIT}?model=llama-9&other=1")
    live(page)
    error = page.locator("#will-it-fit-model-error")
    expect(error).to_contain_text("is not in the catalogue of models")
    expect(page.get_by_role("combobox", name="Model", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".calc-stale")).to_contain_text("There is no answer to these values")
    expect(page.locator(".calc-answer")).to_be_hidden()
    pick(page, "Model", "llama 3.1 8b")
    expect(error).to_be_hidden()
    expect(page.locator(".calc-stale")).to_have_count(0)
    expect(page.locator(".calc-verdict")).to_contain_text("15.54 GiB")


def test_a_link_shows_no_answer_to_another_question(first: Watched, site: str) -> None:
    """Where Python cannot start, a link with values of its own has no answer on show, and the page says so."""
    page = first.page
    page.context.route("**/pyodide.asm.wasm", lambda route: route.abort())
    page.goto(f"{site}{FIT}?model=llama-3.3-70b&accelerator=rtx-3090&accelerators=2")
    page.wait_for_selector("gpu-calculator[data-state=failed]", timeout=BOOT_MS)
    expect(page.get_by_role("combobox", name="Model", exact=True)).to_have_value("Llama 3.3 70B")
    expect(page.locator(".calc-answer")).to_be_hidden()
    expect(page.locator(".calc-stale")).to_contain_text("There is no answer to these values")


def test_from_the_first_change_the_old_answer_is_marked(watched: Watched, site: str) -> None:
    """The old answer is dimmed and its verdict has no colour until the new one is in; then the mark is gone."""
    page = watched.page
    page.goto(site + FIT)
    good = page.evaluate("getComputedStyle(document.querySelector('.calc-verdict strong')).color")
    marked = page.evaluate(
        """() => {
            const field = document.querySelector("[name=context_tokens]");
            field.value = "16384";
            field.dispatchEvent(new Event("input", { bubbles: true }));
            const answer = document.querySelector(".calc-answer");
            const strong = getComputedStyle(answer.querySelector(".calc-verdict strong")).color;
            return [answer.dataset.stale, answer.getAttribute("aria-busy"), strong];
        }"""
    )
    assert marked[:2] == ["", "true"]
    assert marked[2] != good
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("16.55 GiB")
    expect(page.locator(".calc-answer")).not_to_have_attribute("data-stale", "")
    expect(page.locator(".calc-stale")).to_have_count(0)


def test_a_change_that_makes_it_fit_is_taken_with_a_press(watched: Watched, site: str) -> None:
    """The first change that is offered is put into the form, and the answer to it is that it fits."""
    page = watched.page
    page.goto(f"{site}{FIT}?model=llama-3.3-70b&accelerator=rtx-3090&accelerators=2")
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("does not fit")
    offered = page.locator("[data-change] button").first
    spare = page.locator("tr", has=offered).locator("td").first.inner_text()
    offered.click()
    expect(page.locator(".calc-verdict")).to_contain_text(f"It fits, with {spare} to spare")
    expect(page).to_have_url(re.compile("weights="))
    assert watched.complaints == []


def test_a_repair_of_a_training_run_is_taken_with_a_press(watched: Watched, site: str) -> None:
    """Of what alone makes a fine-tune fit the first is put into the form, and the run likely fits then."""
    page = watched.page
    page.goto(f"{site}calculators/fine-tune/?method=full")
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("does not fit")
    page.get_by_role("button", name="Train with LoRA").click()
    expect(page.locator(".calc-verdict strong")).to_contain_text("It likely fits, with")
    assert page.locator("[name=method]").input_value() == "lora"
    assert watched.complaints == []


def test_an_answer_that_takes_longer_than_a_frame_is_marked(first: Watched, site: str) -> None:
    """Where Python is there the old answer is busy from the first change, and marked while no new one comes."""
    page = first.page
    page.goto(site + FIT)
    page.fill("[name=context_tokens]", "16384")
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("16.55 GiB", timeout=BOOT_MS)
    seen = page.evaluate(
        """async () => {
            Worker.prototype.postMessage = () => {}; // Python hears nothing any more
            const field = document.querySelector("[name=context_tokens]");
            field.value = "8192";
            field.dispatchEvent(new Event("input", { bubbles: true }));
            const answer = document.querySelector(".calc-answer");
            const first = [answer.getAttribute("aria-busy"), answer.dataset.stale];
            await new Promise((later) => setTimeout(later, 150)); // before it is called late
            return [...first, answer.dataset.stale, answer.querySelector(".calc-stale")];
        }"""
    )
    assert seen == ["true", None, "", None]


def test_a_calculation_that_hangs_is_ended(first: Watched, site: str) -> None:
    """A worker that never answers is stopped, which is said, and a new one answers the next question."""
    page = first.page
    page.add_init_script(
        "window.patient = window.setTimeout;"
        "window.setTimeout = (act, ms, ...more) => patient(act, ms === 15000 ? 1000 : ms, ...more);"
    )
    page.goto(site + FIT)
    said = page.evaluate(
        """async () => {
            const { runtime } = await import(new URL("../../assets/calculator/runtime.mjs", location.href).href);
            const post = Worker.prototype.postMessage;
            Worker.prototype.postMessage = function (data) {  // Python does not hear the first question of a calculator
                if (data.request.includes("plot")) post.call(this, data);
                else Worker.prototype.postMessage = post;
            };
            const question = { calculator: "will-it-fit", fields: {} };
            return new Promise((answered) => runtime.ask({}, question, ({ status }) => answered(status)));
        }"""
    )
    assert "did not end" in said
    page.evaluate("() => { window.setTimeout = window.patient }")  # what a slow machine answers late is no hanging
    page.fill("[name=context_tokens]", "16384")
    expect(page.locator(".calc-legend")).to_contain_text("KV cache 2.00 GiB", timeout=BOOT_MS)


def test_a_wrong_value_keeps_the_last_answer(watched: Watched, site: str) -> None:
    """The message says what is allowed, tied to its field, and the answer is marked as the last valid one."""
    page = watched.page
    page.goto(site + FIT)
    expect(page.locator("#will-it-fit-processor-field, #will-it-fit-sequences-slider")).to_have_count(0)  # folded
    unfold(page)
    expect(page.get_by_role("combobox", name="Processor", exact=True)).to_be_visible()
    expect(page.locator("#will-it-fit-sequences-slider")).to_have_value("0")
    page.fill("[name=sequences]", "none")
    live(page)
    expect(page.locator("#will-it-fit-sequences-error")).to_have_text("must be a whole number from 1 to 1,000,000")
    wrong = page.locator("[name=sequences]")
    expect(wrong).to_have_attribute("aria-invalid", "true")
    expect(wrong).to_have_attribute("aria-describedby", re.compile(r"\bwill-it-fit-sequences-error\b"))
    expect(page.locator(".calc-status")).to_have_text("Sequences at once: must be a whole number from 1 to 1,000,000")
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


def test_one_python_serves_all_pages(first: Watched, site: str) -> None:
    """Instant navigation keeps the worker: the next page's calculator is live without loading anything."""
    page = first.page
    page.goto(site + FIT)
    page.fill("[name=context_tokens]", "16384")
    live(page)
    loaded = len(first.runtime_requests())
    page.click("nav >> text=KV cache >> visible=true")
    page.wait_for_selector("#kv-cache")
    page.fill("#kv-cache [name=context_tokens]", "1000")
    expect(page.locator(".calc-verdict")).to_contain_text("The cache takes 0.12 GiB")
    expect(page).to_have_url(re.compile("context_tokens=1000$"))
    page.go_back()
    page.go_back()
    page.wait_for_selector("#will-it-fit")
    expect(page.locator(".calc-verdict")).to_contain_text("16.55 GiB")
    assert len(first.runtime_requests()) == loaded
    assert first.complaints == []


def test_finetunes_are_asked_for_where_nothing_else_knows_a_name(first: Watched, site: str) -> None:
    """The name of a finetune leads to its model, by a list that is loaded then; other names load nothing more."""
    page = first.page
    (name,) = catalog().model("bge-small-en").finetunes[:1]
    for model, verdict, lists in (("qwen3-8b", "Qwen3 8B", 0), (name, "bge-small-en", 1)):
        page.goto(f"{site}{FIT}?{urlencode({'model': model})}")
        live(page)
        expect(page.locator(".calc-verdict")).to_contain_text(verdict)
        assert len({address for address in first.runtime_requests() if "finetunes" in address}) == lists
    assert first.complaints == []


def test_a_failure_says_why_and_can_be_retried(first: Watched, site: str) -> None:
    """Without its WebAssembly Python cannot start: the page says so, keeps its answer, and starts on retry."""
    page = first.page
    page.context.route("**/pyodide.asm.wasm", lambda route: route.abort())
    page.goto(site + FIT)
    page.fill("[name=context_tokens]", "16384")
    page.wait_for_selector("gpu-calculator[data-state=failed]", timeout=BOOT_MS)
    expect(page.locator(".calc-runtime")).to_contain_text("Python could not be started")
    expect(page.locator(".calc-verdict")).to_contain_text("15.54 GiB")
    page.context.unroute_all()
    page.click("text=Retry")
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("16.55 GiB")


def test_a_busy_machine_is_given_a_second_start(first: Watched, site: str) -> None:
    """A start that falls silent is repeated once by itself, and Python answers without a click."""
    page = first.page
    silent: list[Route] = []
    page.context.route("**/worker.mjs", lambda route: route.fallback() if silent else silent.append(route))
    page.clock.install()
    page.goto(site + FIT)
    page.fill("[name=context_tokens]", "16384")
    while not silent:
        page.wait_for_timeout(50)
    page.clock.fast_forward(25_000)
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("16.55 GiB")
    assert first.complaints == []


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
    """Tab reaches the fields in order, typing answers, and arrows move a slider from stop to stop."""
    page = watched.page
    page.goto(site + CACHE)
    page.get_by_role("combobox", name="Model", exact=True).focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "context_tokens"
    page.keyboard.press("Control+A")
    page.keyboard.type("4096")
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("The cache takes 0.50 GiB")
    page.keyboard.press("Tab")
    slider = page.get_by_role("slider", name="Context, in steps")
    expect(slider).to_be_focused()
    expect(slider).to_have_attribute("aria-valuetext", "4096")
    page.keyboard.press("ArrowRight")
    expect(page.locator("[name=context_tokens]")).to_have_value("8192")
    expect(page.locator(".calc-verdict")).to_contain_text("The cache takes 1.00 GiB")


def test_controls_are_large_and_in_sight(watched: Watched, site: str) -> None:
    """Targets have 24 pixels or room around them; at twice the size the focus is never under the header."""
    page = watched.page
    page.set_viewport_size({"width": 640, "height": 400})
    page.goto(site + FIT)
    page.evaluate((ROOT / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8"))
    rules = {"runOnly": ["target-size"], "resultTypes": ["violations"]}
    small = page.evaluate("rules => axe.run('gpu-calculator', rules)", rules)["violations"]
    assert [node["html"] for violation in small for node in violation["nodes"]] == []
    page.get_by_role("combobox", name="Model", exact=True).focus()
    for _ in range(12):
        page.keyboard.press("Tab")
        hidden = page.evaluate(
            """() => {
                const { left, top, width, height } = document.activeElement.getBoundingClientRect();
                const shown = document.elementFromPoint(left + width / 2, top + Math.min(height / 2, 12));
                return document.activeElement.contains(shown) ? "" : document.activeElement.outerHTML.slice(0, 120);
            }"""
        )
        assert hidden == ""


def test_an_answer_is_said_once(watched: Watched, site: str) -> None:
    """The status is empty at first, and changes once though four keys were pressed."""
    page = watched.page
    page.goto(site + CACHE)
    expect(page.locator(".calc-status")).to_have_text("")
    page.evaluate(
        """() => {
            window.said = [];
            new MutationObserver(() => window.said.push(document.querySelector(".calc-status").textContent))
                .observe(document.querySelector(".calc-status"), { childList: true });
        }"""
    )
    page.hover("gpu-calculator")
    live(page)
    page.evaluate(
        """() => {
            const field = document.querySelector("[name=context_tokens]");
            for (const typed of ["4", "40", "409", "4096"]) {
                field.value = typed;
                field.dispatchEvent(new Event("input", { bubbles: true }));
            }
        }"""
    )
    expect(page.locator(".calc-status")).to_contain_text("The cache takes 0.50 GiB")
    assert len(page.evaluate("window.said")) == 1


def test_an_option_leads_to_its_command(watched: Watched, site: str) -> None:
    """A plan can be stopped, by another value too; its table sorts, and a row opens the command that starts it."""
    page = watched.page
    page.goto(site + "calculators/plan-fine-tune/?devices=64&count=100")
    live(page)
    stop = page.get_by_role("button", name="Stop")
    expect(stop).to_be_visible(timeout=BOOT_MS)
    unfold(page)
    page.fill("[name=devices]", "1")  # while it is looked for up to 64: a field takes what is typed, and that is asked
    expect(page.locator(".calc-answer")).not_to_have_attribute("data-stale", "", timeout=BOOT_MS)
    found = page.locator(".calc-answer tbody th").all_inner_texts()
    assert found and all(text.startswith("1 × ") for text in found)
    page.fill("[name=devices]", "64")
    stop.click(timeout=BOOT_MS)
    expect(page.locator(".calc-stale")).to_contain_text("answers the values before your change")
    page.goto(site + "calculators/what-runs/?count=5")
    live(page)
    expect(page.locator(".calc-answer tbody tr")).to_have_count(5, timeout=BOOT_MS)
    page.get_by_role("button", name="Each answer").click()
    rates = [float(value) for value in page.eval_on_selector_all(".calc-answer td:nth-child(4) data", VALUES)]
    assert rates == sorted(rates, reverse=True)
    page.get_by_role("button", name="Command").first.click()
    dialog = page.get_by_role("dialog", name="Command")
    expect(dialog.locator("code").first).to_contain_text("llama-server")
    expect(dialog.locator("button").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_without_scripts_the_answer_is_there(chromium: Any, site: str) -> None:
    """The form, the finished answer, its table and its working stand in the page, and nothing that needs Python."""
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site + FIT)
    expect(page.locator(".calc-verdict")).to_contain_text("15.54 GiB of 23.54 GiB")
    expect(page.locator(".calc-parts")).to_contain_text("16.69 GB")
    page.click("details[data-key=working] > summary")
    expect(page.locator(".calc-working")).to_contain_text("32 × 8,192 × 4,096 = 1,073,741,824 B")
    expect(page.locator(".calc-runtime")).to_contain_text("Without scripts")
    expect(page.locator(".calc-import")).to_be_hidden()
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
        watched.page.add_init_script(LOOKED)
        watched.page.goto(site + FIT)
        assert watched.runtime_requests() == []
        if act == "hover":
            watched.page.hover(".calc-form")
        else:
            until(watched.page, "window.looked.length")
            watched.page.evaluate("() => { for (const act of window.looked) act() }")
        live(watched.page)
        assert watched.runtime_requests()
        watched.page.close()


def test_a_long_list_is_searched_by_any_part_of_a_name(watched: Watched, site: str) -> None:
    """Words in any order, also of the repository's name; the best is first, Enter takes it, and Escape leaves it.

    DeepSeek R1 is one of the releases of the 671B, which stands before the distillations with longer matches.
    """
    page = watched.page
    page.goto(site + FIT)
    field = page.get_by_role("combobox", name="Model", exact=True)
    expect(field).to_have_value("Llama 3.1 8B")
    options = page.locator("#will-it-fit-model-list [role=option]")
    field.fill("deepseek r1")
    expect(options.first).to_contain_text("671B A37B")
    field.fill("a3b qwen3-30")
    expect(options.first).to_contain_text("Qwen3 30B A3B")
    expect(options.first).to_contain_text("30.5 billion parameters")
    assert 1 <= options.count() < 10
    expect(field).to_have_attribute("aria-activedescendant", "will-it-fit-model-list-0")
    field.press("Enter")
    live(page)
    expect(field).to_have_value("Qwen3 30B A3B")
    expect(page.locator(".calc-verdict")).to_contain_text("It does not fit")
    expect(page).to_have_url(re.compile(r"\?model=qwen3-30b-a3b$"))
    pick(page, "GPU", "nvidia h100 94")
    expect(page.locator(".calc-verdict")).to_contain_text("It fits")
    field.fill("no such model")
    expect(page.locator("#will-it-fit-model-list")).to_contain_text("No match")
    expect(page.locator(".calc-status")).to_contain_text("No entries found")
    field.press("Escape")
    expect(field).to_have_value("Qwen3 30B A3B")
    expect(field).to_have_attribute("aria-expanded", "false")
    field.press("ArrowDown")
    expect(page.locator("#will-it-fit-model-list .calc-active")).to_contain_text("Qwen3 30B A3B")
    field.press("ArrowDown")
    field.press("Enter")
    expect(field).not_to_have_value("Qwen3 30B A3B")
    assert watched.complaints == []


def test_the_answer_is_in_view(watched: Watched, site: str) -> None:
    """On a desktop and on a phone the verdict stands on the first screen, and stays while the form is filled in."""
    page = watched.page
    for width, height in ((1440, 900), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto(site + FIT)
        for scrolled in (0, 300):
            page.mouse.wheel(0, scrolled)
            page.wait_for_timeout(100)
            expect(page.locator(".calc-verdict")).to_be_in_viewport(ratio=1)


def test_an_answer_is_taken_along(context: BrowserContext, site: str) -> None:
    """Markdown and a link are copied; the link says the day of its facts, and of an older one what it answered then."""
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    watched = Watched(context)
    page = watched.page
    page.goto(site + FIT)
    page.click("[data-take=markdown]")
    live(page)
    expect(page.locator(".calc-taken")).to_have_text("Copied.")
    note = page.evaluate("navigator.clipboard.readText()")
    assert "- Model: Llama 3.1 8B" in note and "15.54 GiB of 23.54 GiB" in note
    page.fill("[name=context_tokens]", "16384")
    expect(page.locator(".calc-verdict")).to_contain_text("16.55 GiB")
    page.click("[data-take=link]")
    expect(page.locator(".calc-taken")).to_have_text("Link copied.")
    link = page.evaluate("navigator.clipboard.readText()")
    assert "context_tokens=16384" in link and f"catalog={catalog().version}" in link
    page.goto(link.replace(f"catalog={catalog().version}", "catalog=2024-01-01"))
    expect(page.locator(".calc-before")).to_contain_text("Then, with the facts of 2024-01-01: ✓ It fits")
    expect(page.locator(".calc-now")).to_contain_text("16.55 GiB")
    assert watched.complaints == []


def test_an_example_fills_in_the_form(watched: Watched, site: str) -> None:
    """Choosing a worked example answers it; changing a field says that the values are one's own, to come back to."""
    page = watched.page
    page.goto(site + FIT)
    examples = page.get_by_label("Example", exact=True)
    expect(examples.locator("option:checked")).to_have_text("Llama 3.1 8B on an RTX 4090")
    examples.select_option(label="Llama 3.3 70B in 4 bit on two RTX 3090")
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("2 × GeForce RTX 3090")
    expect(page).to_have_url(re.compile("weights=q4_k_m"))
    own = examples.locator("option", has_text="Your own values")
    expect(own).to_be_disabled()
    page.fill("[name=context_tokens]", "4096")
    expect(examples.locator("option:checked")).to_have_text("Your own values")
    examples.select_option(label="Llama 3.1 8B on an RTX 4090")
    expect(page.locator("[name=context_tokens]")).to_have_value("8192")
    examples.select_option(label="Your own values")
    expect(page.locator("[name=context_tokens]")).to_have_value("4096")
    expect(page.locator(".calc-verdict")).to_contain_text("Llama 3.3 70B (Q4_K_M) with 4,096 tokens")


def test_the_case_goes_along(watched: Watched, site: str) -> None:
    """What was changed in one calculator begins the next one in the tab; reset forgets it, and a link comes first."""
    page = watched.page
    page.goto(site + FIT)
    page.fill("[name=context_tokens]", "16384")
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("16.55 GiB")
    page.goto(site + CACHE)
    expect(page.locator("[name=context_tokens]")).to_have_value("16384")
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("The cache takes 2.00 GiB")
    expect(page.locator(".calc-before")).to_contain_text("came along")
    expect(page).to_have_url(re.compile("context_tokens=16384$"))
    page.goto(f"{site}{FIT}?context_tokens=4096")
    expect(page.locator("[name=context_tokens]")).to_have_value("4096")
    page.goto(site + CACHE)
    expect(page.locator("[name=context_tokens]")).to_have_value("16384")
    assert page.evaluate("document.querySelector('.calc-reset').click(), sessionStorage.getItem('gpu-case')") == "{}"
    page.goto(site + FIT)
    expect(page.locator("[name=context_tokens]")).to_have_value("8192")


def test_what_is_typed_before_the_script_is_there_stays(first: Watched, site: str) -> None:
    """A field that was typed in while the page's script was under way is neither emptied nor given a carried value."""
    page = first.page
    held: list[Route] = []
    page.goto(site + FIT)
    page.evaluate("sessionStorage.setItem('gpu-case', JSON.stringify({context_tokens: '16384', sequences: '3'}))")
    page.context.route("**/calculator.mjs", lambda route: held.append(route))
    page.goto(site + CACHE, wait_until="commit")
    page.fill("[name=context_tokens]", "1000")
    while not held:
        page.wait_for_timeout(20)
    for route in held:
        route.continue_()
    live(page)
    expect(page.locator("[name=sequences]")).to_have_value("3")
    expect(page.locator("[name=context_tokens]")).to_have_value("1000")
    expect(page.locator(".calc-verdict")).to_contain_text("1,000 tokens")
    expect(page).to_have_url(re.compile("context_tokens=1000&sequences=3$"))
