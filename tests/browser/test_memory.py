"""Python's memory, kept in the browser: a later visit goes on from it, and one that is no use is forgotten."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from calc.calculators import CALCULATORS
from macros.links import calculator_page
from tests.browser.conftest import BOOT_MS, Watched, live, live_text

pytestmark = pytest.mark.browser

CACHE = "calculators/kv-cache/"
KEPT = """async (size) => {
    const whole = async () => {
        const kept = await caches.open("python");
        const [request] = await kept.keys();
        return request && (await (await kept.match(request)).arrayBuffer()).byteLength > size;
    };
    for (let tries = 0; tries < 300 && !await whole(); tries++) await new Promise((go) => setTimeout(go, 200));
    return whole();
}"""
# The same text with other letters, wherever the memory has it: as long, so that nothing else moves.
REWRITTEN = """async ([text, other]) => {
    const kept = await caches.open("python");
    const [request] = await kept.keys();
    const bytes = new Uint8Array(await (await kept.match(request)).arrayBuffer());
    const [from, to] = [text, other].map((words) => new TextEncoder().encode(words));
    let found = 0;
    for (let at = bytes.indexOf(from[0]); at >= 0; at = bytes.indexOf(from[0], at + 1)) {
        if (!from.every((byte, i) => bytes[at + i] === byte)) continue;
        bytes.set(to, at);
        found += 1;
    }
    await kept.put(request, new Response(bytes));
    return found;
}"""
CUT = """async () => {
    const kept = await caches.open("python");
    const [request] = await kept.keys();
    await kept.put(request, new Response((await (await kept.match(request)).arrayBuffer()).slice(0, 4_000_000)));
}"""


def first_visit(page: Page, site: str) -> None:
    """Have the cache's calculator answer, and wait until Python's memory is kept."""
    page.goto(site + CACHE)
    page.get_by_label("Context", exact=True).fill("4096")
    live(page)
    expect(page.locator(".calc-verdict")).to_contain_text("The cache takes 0.50 GiB", timeout=BOOT_MS)
    assert page.evaluate(KEPT, 10_000_000)


def test_a_later_visit_goes_on_from_the_kept_memory(context: BrowserContext, site: str) -> None:
    """Its words are those of the memory; what was never asked before it was kept is CPython's answer to the letter."""
    page = Watched(context).page
    first_visit(page, site)
    assert page.evaluate(REWRITTEN, ["The cache takes", "The CACHE takes"]) > 0
    page.close()
    later = Watched(context)
    later.page.goto(site + CACHE)
    later.page.get_by_label("Context", exact=True).fill("8192")
    expect(later.page.locator(".calc-verdict")).to_contain_text("The CACHE takes 1.00 GiB", timeout=BOOT_MS)
    training = CALCULATORS["training-time"]
    values = training.presets[-1].values
    later.page.goto(f"{site}{calculator_page('training-time')}?{urlencode(values)}")
    live_text(later.page, training.render(training.report(values)))
    assert later.complaints == []


def test_a_memory_that_does_not_start_is_forgotten(context: BrowserContext, site: str) -> None:
    """Half of it is no memory: Python starts as on the first visit, answers, and is kept whole again."""
    page = Watched(context).page
    first_visit(page, site)
    page.evaluate(CUT)
    page.close()
    later = Watched(context).page
    later.goto(site + CACHE)
    later.get_by_label("Context", exact=True).fill("8192")
    expect(later.locator(".calc-verdict")).to_contain_text("The cache takes 1.00 GiB", timeout=BOOT_MS)
    assert later.evaluate(KEPT, 10_000_000)
