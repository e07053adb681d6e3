"""The guide without a network: what was opened once is there again, and answers."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from calc.catalog import catalog
from tests.browser.conftest import BOOT_MS, DATA_SAVER, Watched, live

pytestmark = pytest.mark.browser


def kept(page: Page, addresses: list[str]) -> None:
    """Wait until the worker has kept all these addresses."""
    script = """async (addresses) => {
        const missing = async () => {
            const requests = await (await caches.open("guide")).keys();
            const found = new Set(requests.map(({ url }) => url));
            return addresses.filter((address) => !found.has(address.split("#")[0]));
        };
        for (let tries = 0; tries < 600 && (await missing()).length; tries++) {
            await new Promise((go) => setTimeout(go, 100));
        }
        return missing();
    }"""
    assert page.evaluate(script, addresses) == []


def test_what_was_opened_answers_without_a_network(first: Watched, site: str) -> None:
    """A calculator opened once computes anew without a network; the number is that of Python, not of the page."""
    page = first.page
    page.add_init_script(DATA_SAVER)  # Python waits for the reader, who comes when the page itself is kept already
    page.goto(site + "calculators/will-it-fit/")
    kept(page, [page.url])
    page.get_by_label("Context", exact=True).focus()
    live(page)
    kept(page, [page.url, *first.requests])
    page.context.set_offline(True)
    page.reload()
    page.get_by_label("Context", exact=True).fill("16384")
    page.wait_for_selector("gpu-calculator[data-state=ready]", timeout=BOOT_MS)
    expect(page.locator(".calc-verdict")).to_contain_text("16,384 tokens", timeout=BOOT_MS)
    # A name that only the list of finetunes has: the list is not here, and Python lives on.
    (name,) = catalog().model("bge-small-en").finetunes[:1]
    page.goto(f"{site}calculators/will-it-fit/?{urlencode({'model': name})}")
    expect(page.locator("#will-it-fit-model-error")).to_contain_text("not in the catalogue", timeout=BOOT_MS)
    page.goto(f"{site}calculators/will-it-fit/?context_tokens=32768")
    expect(page.locator(".calc-verdict")).to_contain_text("32,768 tokens", timeout=BOOT_MS)


def test_a_page_never_opened_says_so(first: Watched, site: str) -> None:
    """And leads to the first page, which was."""
    page = first.page
    page.goto(site)
    kept(page, [site])
    page.context.set_offline(True)
    page.goto(site + "memory/inference/")
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "There is no network, and this page was not opened before"
    )
    page.get_by_role("link").click()
    expect(page).to_have_url(site)


def test_with_a_network_nothing_is_old(first: Watched, context: BrowserContext, site: str) -> None:
    """A page that has changed since it was kept is shown as it is now."""
    page = first.page
    page.goto(site + "about/licences/")
    kept(page, [page.url])
    changed = "<!doctype html><title>New</title><h1>As it is now</h1>"
    context.route("**/about/licences/", lambda route: route.fulfill(body=changed, content_type="text/html"))
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("As it is now")
