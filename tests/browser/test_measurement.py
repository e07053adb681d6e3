"""What people do with an answer: hold it against a measurement, set it beside others, take its table along."""

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Watched, live
from tests.measured_output.test_reading import pasted

pytestmark = pytest.mark.browser
MEASURED, SPEED, FIT = (f"calculators/{name}/" for name in ("your-measurement", "speed", "will-it-fit"))


def test_a_measurement_corrects_answers_until_it_is_taken_back(watched: Watched, site: str) -> None:
    """What is pasted is compared; kept, it corrects another calculator's answer, which says so; one press undoes it."""
    page = watched.page
    page.goto(site + MEASURED)
    page.fill(".calc-import textarea", pasted("llama-bench-rtx-4090"))
    page.click(".calc-import button")
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("It agrees: all 3 terms")
    page.click("text=A report of it")
    expect(page.locator("[data-send]")).to_have_attribute("href", re.compile(r"/issues/new\?title=Measured.*llama.cpp"))
    report = parse_qs(urlsplit(page.get_attribute("[data-send]", "href") or "").query)["body"][0]
    (scenario,) = re.findall(r"^\{.*?^\}", report, re.DOTALL | re.MULTILINE)
    assert json.loads(scenario)["scenario"]["accelerator"] == "rtx-4090" and "<data" not in report
    page.click("[data-correct]")
    expect(page.locator(".calc-status")).to_contain_text("Kept in this browser")
    page.goto(f"{site}{SPEED}?weights=f16")
    live(page)
    expect(page.locator(".calc-corrected")).to_contain_text("passes over prompts ×")
    page.click("[data-uncorrect]")
    expect(page.locator(".calc-corrected")).to_have_count(0)
    assert page.evaluate("localStorage.getItem('gpu-corrections')") is None
    assert watched.complaints == []


def test_answers_stand_side_by_side_and_leave_as_csv(watched: Watched, site: str, tmp_path: Path) -> None:
    """Two pinned answers are columns of one table, which the address carries; it is saved as it is shown."""
    page = watched.page
    for query in ("", "?accelerator=rtx-3060-12gb"):
        page.goto(site + FIT + query)
        live(page) if query else None
        page.click("[data-take=compare]")
        expect(page.locator(".calc-taken a")).to_be_visible()  # it is pinned
    page.click(".calc-taken a")
    expect(page.locator("gpu-comparison .calc-status")).to_contain_text("2 answers")
    expect(page.locator("mark", has_text=re.compile("^GeForce RTX 3060 12GB$"))).to_have_count(1)
    assert page.url.count("with=will-it-fit") == 2
    page.hover("gpu-comparison table")
    with page.expect_download() as started:
        page.click(".table-csv")
    saved = tmp_path / "side-by-side.csv"
    started.value.save_as(saved)
    assert started.value.suggested_filename == "side-by-side.csv"
    assert "GPU,GeForce RTX 4090,GeForce RTX 3060 12GB" in saved.read_text(encoding="utf-8-sig")
    page.locator("[data-remove='0']").click()
    expect(page.locator("gpu-comparison .calc-status")).to_have_text("One answer.")
    assert watched.complaints == []


def test_a_memo_is_printed(watched: Watched, site: str) -> None:
    """Paper has the verdict, the working, the day of the facts and the address, and nothing that one presses."""
    page = watched.page
    page.goto(f"{site}{FIT}?context_tokens=16384")
    live(page)
    page.evaluate("window.print = () => {}")
    page.click("[data-take=print]")
    page.emulate_media(media="print")
    expect(page.get_by_label("Context", exact=True)).to_be_visible()
    expect(page.locator(".calc-verdict")).to_contain_text("16.55 GiB")
    expect(page.locator(".calc-working .calc-step").last).to_be_visible()
    expect(page.locator(".calc-sources a").last).to_be_visible()
    expect(page.locator("text=/facts of .*printed on .*context_tokens=16384/")).to_be_visible()
    for chrome in (".calc-take", ".calc-reset", ".md-header"):
        expect(page.locator(chrome).first).to_be_hidden()
    assert watched.complaints == []
