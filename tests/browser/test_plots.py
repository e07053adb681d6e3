"""Plots as a reader uses them: whole without scripts, the same when they are live, and following their calculator."""

import pytest
from playwright.sync_api import Page, expect

from calc.calculators.html import in_words
from calc.plots import draw_beside, in_unit
from tests.browser.conftest import BOOT_MS, ROOT, Watched, live, pick, unfold, until

pytestmark = pytest.mark.browser
AXE = ROOT / "node_modules/axe-core/axe.min.js"
LIVING = [
    ("will-it-fit", ["memory-over-context"], {"context_tokens": "16384", "accelerator": "rtx-3090"}),
    ("will-it-fit", ["format-ladder"], {"model": "qwen3-14b"}),
    ("kv-cache", ["cache-over-context"], {"context_tokens": "16384"}),
    ("speed", ["latency-over-load"], {"accelerator": "h100-sxm-80gb", "requests_per_s": "2"}),
    ("speed", ["speed-over-batch", "roofline", "pass-timeline"], {"sequences": "8"}),
]


def texts(page: Page, plot: str) -> list[str]:
    """Return the words of a plot's drawing, in its order."""
    return page.locator(f"gpu-plot[data-plot={plot}] .plot-drawing text:not([opacity='0'])").all_text_contents()


def reach(page: Page, plot: str) -> None:
    """Reach for a plot and wait until Vega draws it."""
    page.locator(f"gpu-plot[data-plot={plot}] .plot-drawing").hover()
    page.wait_for_selector(f"gpu-plot[data-plot={plot}][data-live]", timeout=BOOT_MS)


@pytest.mark.parametrize(("calculator", "plots", "changed"), LIVING)
def test_live_plots_say_what_calc_does(
    watched: Watched, site: str, calculator: str, plots: list[str], changed: dict[str, str]
) -> None:
    """After a field changes the plots have the words, the tables and the summaries that CPython computes for it."""
    page = watched.page
    page.goto(f"{site}calculators/{calculator}/")
    for plot in plots:
        reach(page, plot)
    unfold(page)
    for name, value in changed.items():
        control = page.locator(f"#{calculator} [name={name}]")
        if control.get_attribute("data-list"):
            pick(page, page.locator(f"label[for={calculator}-{name}-field]").inner_text(), value)
        elif control.evaluate("control => control.tagName") == "SELECT":
            control.select_option(value)
        else:
            control.fill(value)
    live(page)
    for plot in plots:
        wanted = in_unit(draw_beside(plot, calculator, changed), "")
        drawing = page.locator(f"gpu-plot[data-plot={plot}]")
        expect(drawing.locator("svg")).to_have_attribute("aria-label", wanted.summary, timeout=BOOT_MS)
        expect(drawing.locator("figcaption")).to_have_text(wanted.caption)
        labels = [str(row["label"]) for rows in wanted.data.values() for row in rows if "label" in row]
        shown = texts(page, plot)
        assert shown and all(label in shown for label in labels), shown
        drawing.locator("summary").click()
        cells = drawing.locator("tbody tr").first.locator("th, td").all_inner_texts()
        assert cells == [in_words(cell) for cell in wanted.rows[0]]
    assert watched.complaints == []


@pytest.mark.parametrize("calculator", list(dict.fromkeys(calculator for calculator, *_ in LIVING)))
def test_a_plot_does_not_change_when_it_comes_alive(watched: Watched, site: str, calculator: str) -> None:
    """In a narrow column Vega writes the words that vl-convert wrote, and fetches nothing from elsewhere."""
    page = watched.page
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site}calculators/{calculator}/")
    for plot in (plot for found, plots, _ in LIVING if found == calculator for plot in plots):
        built = texts(page, plot)
        assert built
        reach(page, plot)
        assert texts(page, plot) == built
    assert [request for request in watched.requests if not request.startswith(site)] == []
    assert watched.complaints == []


def test_a_live_plot_is_as_wide_as_its_column(watched: Watched, site: str) -> None:
    """Where there is room the drawing takes it, with letters of the same size, and nothing below it moves."""
    page = watched.page
    page.goto(site + "calculators/will-it-fit/")
    figure = page.locator("gpu-plot[data-plot=memory-over-context] .plot-drawing")
    letters = "svg => svg.querySelector('text').getBoundingClientRect().height"
    before, size = figure.bounding_box(), figure.locator("svg").evaluate(letters)
    reach(page, "memory-over-context")
    after, drawn = figure.bounding_box(), figure.locator("svg").bounding_box()
    assert before and after and drawn
    assert drawn["width"] == pytest.approx(after["width"], abs=1) and after["width"] > 500
    assert after["height"] == pytest.approx(before["height"], abs=2)
    assert figure.locator("svg").evaluate(letters) == pytest.approx(size, rel=0.05)
    page.set_viewport_size({"width": 700, "height": 800})
    expect(figure.locator("svg")).not_to_have_attribute("viewBox", "")
    until(page, "document.documentElement.scrollWidth <= innerWidth")


def test_a_plot_is_not_fetched_before_it_is_reached_for(watched: Watched, site: str) -> None:
    """Opening a page with a plot below its calculator fetches neither Vega nor a specification."""
    page = watched.page
    page.goto(site + "calculators/will-it-fit/")
    page.fill("[name=context_tokens]", "16384")
    live(page)
    page.wait_for_timeout(1500)
    assert [request for request in watched.requests if "/assets/vega/" in request] == []
    assert [request for request in watched.requests if "/assets/plot/" in request] == [
        site + "assets/plot/plot.mjs",
    ]
    reach(page, "memory-over-context")
    wanted = in_unit(draw_beside("memory-over-context", "will-it-fit", {"context_tokens": "16384"}), "")
    drawing = page.locator("gpu-plot[data-plot=memory-over-context] svg")
    expect(drawing).to_have_attribute("aria-label", wanted.summary)


def test_a_mark_tells_its_numbers(watched: Watched, site: str) -> None:
    """Under the pointer, the scenario's own point says its context and its memory."""
    page = watched.page
    page.goto(site + "calculators/will-it-fit/")
    reach(page, "memory-over-context")
    page.locator("[data-plot=memory-over-context] .plot-drawing svg path[stroke-width='2']").last.hover()
    expect(page.locator(".plot-tooltip")).to_contain_text("Memory: 15.54 GiB")


def test_a_plot_comes_alive_after_instant_navigation(watched: Watched, site: str) -> None:
    """A page that the theme puts in place of another one has its plots, and follows its own calculator."""
    page = watched.page
    page.goto(site + "calculators/will-it-fit/")
    reach(page, "memory-over-context")
    page.click("nav >> text=KV cache >> visible=true")
    page.wait_for_selector("#kv-cache")
    page.fill("#kv-cache [name=context_tokens]", "4096")
    live(page)
    reach(page, "cache-over-context")
    wanted = in_unit(draw_beside("cache-over-context", "kv-cache", {"context_tokens": "4096"}), "")
    drawing = page.locator("gpu-plot[data-plot=cache-over-context] svg")
    expect(drawing).to_have_attribute("aria-label", wanted.summary)
    assert watched.complaints == []


def test_axe_finds_nothing_in_live_plots(watched: Watched, site: str) -> None:
    """What Vega draws in the page is one picture with a text, as the drawing that came with it."""
    page = watched.page
    page.goto(site + "calculators/speed/")
    for plot in ("speed-over-batch", "roofline"):
        reach(page, plot)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({ include: [['.plot']] })")
    assert [violation["id"] for violation in found["violations"]] == []
