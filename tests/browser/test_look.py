"""How pages are laid out, on a desktop and on a phone: what is asked fits in, and no count ends a line."""

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import DATA_SAVER, Watched

pytestmark = pytest.mark.browser
SIZES = {"desktop": (1440, 900), "phone": (390, 844)}
IN_ONE_LINE = "spans => spans.map(span => span.getClientRects().length)"
TOUCHING = """plots => plots.map(plot => {
  const places = list => [...list].map(part => part.getBoundingClientRect()).filter(place => place.width > 1);
  const touch = (one, other) =>
    Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1 &&
    Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 1;
  const isBar = path => /^M[-\\d.,]+h[-\\d.]+v[-\\d.]+h[-\\d.]+Z/i.test(path.getAttribute("d"));
  const bars = places([...plot.querySelectorAll("svg path")].filter(isBar));
  const words = [...plot.querySelectorAll("svg text")];
  const beside = word => [...bars, ...places(words.filter(other => other !== word))];
  const found = words.filter(word => beside(word).some(place => touch(word.getBoundingClientRect(), place)));
  return [bars.length, found.map(word => word.textContent)];
})"""
TEXT_BEGINS = """part => {
  const range = document.createRange();
  range.selectNodeContents(part.querySelector("strong"));
  return range.getBoundingClientRect().left;
}"""
TEXT_ENDS = """verdict => {
  const range = document.createRange();
  range.selectNodeContents(verdict);
  const room = verdict.getBoundingClientRect().right;
  return room - Math.max(...[...range.getClientRects()].map(line => line.right));
}"""


SHIFTED = """() => {
  const seen = new PerformanceObserver(() => {});
  seen.observe({ type: "layout-shift", buffered: true });
  return seen.takeRecords().reduce((all, { value }) => all + value, 0);
}"""


def opened(page: Page, address: str, size: str) -> Page:
    """Open a page as it was built, without Python, in a window of that size."""
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.add_init_script(DATA_SAVER)
    page.goto(address)
    return page


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("path", ["", "calculators/fine-tune/", "calculators/what-hardware/"])
def test_a_count_stays_on_its_line(watched: Watched, site: str, path: str, size: str) -> None:
    """No line of a verdict or an example ends between a number and what it counts: 2 × GeForce, 2-way."""
    page = opened(watched.page, site + path, size)
    counts = page.locator(".calc-verdict .calc-whole, .ask-examples .calc-whole").evaluate_all(IN_ONE_LINE)
    assert counts and set(counts) == {1}


def test_the_example_of_a_line_fits_in_on_a_phone(watched: Watched, site: str) -> None:
    """What is asked stands in one line, and the example in the field is not cut off."""
    page = opened(watched.page, site, "phone")
    field = page.locator("#ask-line")
    field.evaluate("field => { field.value = field.placeholder; }")
    assert field.evaluate("field => field.scrollWidth - field.clientWidth") <= 0
    label = page.locator("label[for=ask-line]")
    assert label.evaluate("label => label.clientHeight < 2 * parseFloat(getComputedStyle(label).fontSize)")


def test_the_first_screen_shows_the_doors(watched: Watched, site: str) -> None:
    """On a desktop examples stand beside each other, in lines no longer than those of prose, and the doors below."""
    page = opened(watched.page, site, "desktop")
    widths = "all => all.map(one => one.getBoundingClientRect().width)"
    examples = page.locator(".ask-examples li").evaluate_all(widths)
    prose = page.locator(".md-content__inner > p").first.evaluate("one => parseFloat(getComputedStyle(one).maxWidth)")
    assert examples and max(examples) <= prose
    door = page.locator(".doors > div").first.bounding_box()
    assert door and door["y"] + door["height"] <= SIZES["desktop"][1]


def test_fields_of_a_filter_begin_at_one_line_on_a_phone(watched: Watched, site: str) -> None:
    """Under each other their left edges are one, and each stands in one line with its words."""
    page = opened(watched.page, site + "reference/accelerators/", "phone")
    edges = "all => all.map(one => Math.round(one.getBoundingClientRect().left))"
    left = page.locator(".filtered-search input").evaluate_all(edges)
    assert len(left) > 2 and len(set(left)) == 1


def test_what_is_noted_stands_under_the_verdict(watched: Watched, site: str) -> None:
    """The words of an answer's notes begin where those of its verdict begin."""
    page = opened(watched.page, site + "calculators/fine-tune/", "desktop")
    note, verdict = (page.locator(part).first.evaluate(TEXT_BEGINS) for part in (".calc-warnings", ".calc-verdict"))
    assert note == pytest.approx(verdict, abs=0.5)


@pytest.mark.parametrize("path", ["calculators/what-runs/", "calculators/what-hardware/"])
def test_the_bar_of_a_phone_has_an_edge(watched: Watched, site: str, path: str) -> None:
    """The words of the verdict at the lower edge end before its right end."""
    page = opened(watched.page, site + path, "phone")
    assert page.locator(".calc-answer > .calc-verdict").evaluate(TEXT_ENDS) >= 4


def test_the_devices_of_a_plan_have_room(watched: Watched, site: str) -> None:
    """Beside a form on a wide page no row of a plan takes more than five lines for its name and its command."""
    page = opened(watched.page, site + "calculators/what-hardware/", "desktop")
    lines = "rows => rows.map(row => row.clientHeight / parseFloat(getComputedStyle(row).lineHeight))"
    assert max(page.locator(".calc-offers tbody th").evaluate_all(lines)) < 6


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("path", ["will-it-fit", "speed", "training-time"])
def test_words_of_bars_stand_clear_of_them(watched: Watched, site: str, path: str, size: str) -> None:
    """In plots of bars no words touch a bar or other words, as they were drawn when the site was built."""
    page = opened(watched.page, f"{site}calculators/{path}/", size)
    plots = page.locator("[data-plot=format-ladder], [data-plot$=-sensitivity]")
    found = plots.evaluate_all(TOUCHING)
    assert found and [touching for _, touching in found] == [[] for _ in found] and all(bars for bars, _ in found)


def test_words_of_a_scatter_can_be_read_on_a_phone(watched: Watched, site: str) -> None:
    """The numbers at its axes are at least nine pixels high."""
    page = opened(watched.page, site + "calculators/plan-service/", "phone")
    heights = "words => words.map(word => word.getBoundingClientRect().height)"
    assert min(page.locator(".scatter text").evaluate_all(heights)) >= 9


def test_the_parts_of_a_device_fit_on_a_phone(watched: Watched, site: str) -> None:
    """The table of what fills the device needs no scrolling."""
    page = opened(watched.page, site + "calculators/will-it-fit/", "phone")
    box = page.locator(".calc-answer .calc-scroll").first
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") <= 0


def test_code_is_whole_on_a_touch_screen(chromium: Browser, site: str) -> None:
    """No line of it has to be scrolled, which the theme leaves to keyboards beside a pointer."""
    width, height = SIZES["phone"]
    context = chromium.new_context(viewport={"width": width, "height": height}, is_mobile=True, has_touch=True)
    page = opened(context.new_page(), site + "about/accuracy/", "phone")
    cut = page.locator("pre > code").evaluate_all("all => all.map(code => code.scrollWidth - code.clientWidth)")
    assert cut and max(cut) <= 0
    context.close()


@pytest.mark.parametrize("path", ["start/hardware/", "start/model/", "start/budget/"])
@pytest.mark.parametrize("size", SIZES)
def test_the_answer_is_on_the_first_screen(watched: Watched, site: str, path: str, size: str) -> None:
    """Who says what they have sees the verdict without scrolling."""
    page = opened(watched.page, site + path, size)
    box = page.locator(".calc-answer > .calc-verdict").bounding_box()
    assert box and box["y"] >= 0 and box["y"] + box["height"] <= SIZES[size][1] + 1


@pytest.mark.parametrize("path", ["calculators/what-hardware/", "calculators/plan-service/"])
def test_what_a_plan_costs_is_seen_without_scrolling(watched: Watched, site: str, path: str) -> None:
    """On a desktop the column of money stands within the table's box; no row moves when scripts come."""
    page = opened(watched.page, site + path, "desktop")
    page.wait_for_selector("gpu-calculator[data-state] gpu-table thead button")
    box = page.locator(".calc-answer .calc-scroll").first.bounding_box()
    cell = page.locator(".calc-offers tbody tr").first.locator("td", has_text="USD").first.bounding_box()
    assert box and cell and cell["x"] + cell["width"] <= box["x"] + box["width"]
    assert page.evaluate(SHIFTED) < 0.001
