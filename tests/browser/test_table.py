"""The table of models: filtered, sorted, with a keyboard, without scripts, and after instant navigation."""

import pytest
from playwright.sync_api import Browser, Page, expect

from calc.architecture.parameters import parameters_total
from calc.calculators.html import SEEN
from calc.catalog import catalog
from macros.model_numbers import architecture_named
from tests.browser.conftest import Watched

pytestmark = pytest.mark.browser
COUNT = len(catalog().ids("models"))
SEEN_ON_A_PHONE = 13  # rows of a table at first: see table.css
SHOWN = "gpu-table tbody tr:not([hidden])"
SHIFTED = """
    window.shifted = 0;
    const add = (list) => { for (const entry of list.getEntries()) window.shifted += entry.value; };
    new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
"""


def open_models(watched: Watched, site: str) -> Page:
    """Open the page and wait for the element."""
    watched.page.goto(site + "reference/models/")
    watched.page.wait_for_selector("gpu-table input")
    return watched.page


def column(page: Page, position: int) -> list[str]:
    """Return the texts of a column, of shown rows only."""
    return page.locator(f"{SHOWN} > :nth-child({position})").all_inner_texts()


def test_typing_filters_and_the_status_says_how_many(watched: Watched, site: str) -> None:
    """Words in any order and column; the line is polite, and an empty field shows all rows again."""
    page = open_models(watched, site)
    status = page.locator("gpu-table [role=status]")
    expect(status).to_have_text(f"{COUNT} of {COUNT} models")
    field = page.get_by_label("Filter models")
    field.fill("405B LLAMA-3.1")
    expect(status).to_have_text(f"1 of {COUNT} models")
    assert column(page, 1) == ["Llama 3.1 405B"]
    field.fill("no such model")
    expect(status).to_have_text(f"0 of {COUNT} models")
    field.fill("")
    expect(status).to_have_text(f"{COUNT} of {COUNT} models")
    assert page.locator(SHOWN).count() == COUNT
    assert watched.complaints == []


def test_numbers_are_filtered_from_below_and_from_above(watched: Watched, site: str) -> None:
    """Devices with at least so much memory and bandwidth, models with at most so many parameters."""
    page = watched.page
    page.goto(site + "reference/accelerators/")
    page.wait_for_selector("gpu-table th button")
    page.get_by_label("Memory, at least").fill("80")
    page.get_by_label("Bandwidth, at least").fill("2,000")
    listed = list(catalog().accelerators())
    fit = [one for one in listed if (one.quantity("memory") or 0) >= 80e9 and (one.quantity("bandwidth") or 0) >= 2e12]
    expect(page.locator("gpu-table [role=status]")).to_have_text(f"{len(fit)} of {len(listed)} accelerators")
    assert sorted(column(page, 1)) == sorted(one.name for one in fit)
    page.get_by_label("Filter accelerators").fill("h200 sxm")
    expect(page.locator("gpu-table [role=status]")).to_have_text(f"1 of {len(listed)} accelerators")
    page = open_models(watched, site)
    page.get_by_label("Parameters, at most").fill("0.1")
    small = [model.name for model in catalog().models() if parameters_total(architecture_named(model.id)) <= 1e8]
    expect(page.locator("gpu-table [role=status]")).to_have_text(f"{len(small)} of {COUNT} models")
    assert sorted(column(page, 1)) == sorted(small)
    assert watched.complaints == []


def test_a_heading_sorts_numbers_by_size_and_then_back(watched: Watched, site: str) -> None:
    """The largest first, then the smallest; what is not known stays last; the heading says the order."""
    page = open_models(watched, site)
    heading = page.locator("gpu-table thead th", has_text="Parameters")
    values = (
        "rows => rows.map(row => row.cells[1].querySelector('data')).filter(Boolean).map(cell => Number(cell.value))"
    )
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    down = page.locator("gpu-table tbody tr").evaluate_all(values)
    assert down == sorted(down, reverse=True)
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    up = page.locator("gpu-table tbody tr").evaluate_all(values)
    assert up == sorted(down)
    expect(page.locator("gpu-table [role=status]")).to_contain_text("sorted by Parameters, ascending")
    cells = column(page, 2)
    known = [cell != "–" for cell in cells]
    assert known == sorted(known, reverse=True)


def test_words_sort_from_a_with_the_keyboard(watched: Watched, site: str) -> None:
    """A heading is a button: focus and Enter are enough, and only one heading has an order."""
    page = open_models(watched, site)
    page.locator("gpu-table thead th", has_text="Attention").get_by_role("button").click()
    button = page.locator("gpu-table thead th", has_text="Released").get_by_role("button")
    button.focus()
    page.keyboard.press("Enter")
    assert page.locator("gpu-table th[aria-sort]").count() == 1
    released = column(page, 6)
    assert released == sorted(released)


def test_the_table_is_whole_without_scripts(chromium: Browser, site: str) -> None:
    """Every row is there, and nothing that would not work."""
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site + "reference/models/")
    assert page.locator("gpu-table tbody tr").count() == COUNT
    assert page.locator("gpu-table button").count() == 0
    expect(page.locator("gpu-table input:visible")).to_have_count(0)
    context.close()


def test_only_pages_with_a_table_load_its_script_and_navigation_keeps_it(watched: Watched, site: str) -> None:
    """Another page does not ask for the module; going to the table and back and again makes one search field."""
    page = watched.page
    page.goto(site + "reference/units/")
    page.wait_for_load_state("networkidle")
    assert not [address for address in watched.requests if "table.mjs" in address]
    for _ in range(2):
        page.locator(".md-nav--primary a[href$='models/']", has_text="Models").first.click()
        page.wait_for_selector("gpu-table input")
        assert page.locator("gpu-table input[type=search]").count() == 1
        page.locator(".md-nav--primary a", has_text="Units").first.click()
        page.wait_for_selector("h1:has-text('Units')")
    assert watched.complaints == []


def test_a_device_opens_its_facts_in_place(watched: Watched, site: str) -> None:
    """Pressed by keyboard too; Escape closes them and gives the focus back; the page stays where it is."""
    page = watched.page
    page.goto(site + "reference/accelerators/")
    page.wait_for_selector("gpu-table input")
    page.get_by_label("Filter accelerators").fill("H100 SXM5")
    name = page.get_by_role("link", name="H100 SXM5 80GB", exact=True)
    name.focus()
    page.keyboard.press("Enter")
    opened = page.locator(".calc-opened:popover-open")
    expect(opened).to_contain_text("H100 SXM5 80GB: bandwidth 3,350 GB/s (peak).")
    page.keyboard.press("Escape")
    expect(opened).to_have_count(0)
    expect(name).to_be_focused()
    assert page.url == site + "reference/accelerators/"
    name.click()
    expect(opened).to_have_count(1)
    assert (
        len([address for address in watched.requests if "/assets/facts/" in address and address.endswith(".html")]) == 1
    )
    assert watched.complaints == []


def test_without_scripts_the_name_leads_to_its_facts(chromium: Browser, site: str) -> None:
    """A page of its own."""
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site + "reference/accelerators/")
    page.get_by_role("link", name="H100 SXM5 80GB", exact=True).click()
    expect(page.locator("main")).to_contain_text("H100 SXM5 80GB: memory 80 GiB")
    context.close()


def test_a_long_table_is_laid_out_when_a_reader_does_something(watched: Watched, site: str) -> None:
    """As far as it can be seen at first, where nothing shifts when the script comes; whole when the pointer moves."""
    watched.page.add_init_script(SHIFTED)
    for width, seen in ((1280, SEEN), (390, SEEN_ON_A_PHONE)):
        watched.page.goto("about:blank")  # an address that is open already would be loaded again
        watched.page.set_viewport_size({"width": width, "height": 800})
        page = open_models(watched, site)
        rows = page.locator("gpu-table tbody tr")
        assert rows.count() == COUNT
        expect(rows.nth(seen - 1)).to_be_visible()
        expect(rows.nth(seen)).to_be_hidden()
        assert page.evaluate("window.shifted") < 0.001
        page.mouse.move(width - 90, 300)
        expect(rows.nth(COUNT - 1)).to_be_visible()


def test_the_reader_s_case_is_marked_in_tables(watched: Watched, site: str) -> None:
    """What was chosen in a calculator is found again: its model and its device, one row each; no row without a case."""
    page = watched.page
    page.goto(site + "reference/models/")
    expect(page.locator("tr[aria-current]")).to_have_count(0)
    page.evaluate("""sessionStorage.setItem("gpu-case", '{"model": "llama-3.1-8b", "accelerator": "rtx-4090"}')""")
    for name, own in (("models", "Llama 3.1 8B"), ("accelerators", "GeForce RTX 4090")):
        page.goto(f"{site}reference/{name}/")
        marked = page.locator("gpu-table tr[aria-current=true] > :first-child")
        expect(marked).to_have_text(own)
        assert (
            page.evaluate("cell => getComputedStyle(cell, '::after').content", marked.element_handle())
            == '" your case"'
        )
    assert watched.complaints == []
