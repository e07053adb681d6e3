"""The guide without a network: what was opened once is there again, and answers."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from calc.catalog import catalog
from tests.browser.conftest import BOOT_MS, DATA_SAVER, Watched, live
from tests.measured_output.test_reading import pasted

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


def paste(page: Page) -> None:
    """Bring the output of a program, as a reader of *Your measurement* does."""
    page.fill(".calc-import textarea", pasted("llama-bench-rtx-4090"))
    page.click(".calc-import button")


def test_what_reads_a_pasted_output_is_fetched_for_it(first: Watched, site: str) -> None:
    """Not before: a page's first answer needs none of it. Then it stays, and reads without a network too."""
    page = first.page
    page.add_init_script(DATA_SAVER)
    page.goto(site + "calculators/your-measurement/")
    kept(page, [page.url])
    page.locator(".calc-form input").first.focus()
    live(page)
    assert first.runtime_requests() and not late_requests(first)
    paste(page)
    expect(page.locator(".calc-verdict")).to_contain_text("It agrees: all 3 terms", timeout=BOOT_MS)
    (address,) = late_requests(first)
    kept(page, [address, *first.runtime_requests()])
    page.context.set_offline(True)
    page.goto(site + "calculators/your-measurement/")
    paste(page)
    expect(page.locator(".calc-verdict")).to_contain_text("It agrees: all 3 terms", timeout=BOOT_MS)


def test_what_was_never_asked_for_says_so_without_a_network(first: Watched, site: str) -> None:
    """And is there once there is a network again, in the same Python."""
    page = first.page
    page.goto(site + "calculators/your-measurement/")
    kept(page, [page.url])
    page.locator(".calc-form input").first.focus()
    live(page)
    page.context.set_offline(True)
    paste(page)
    expect(page.locator(".calc-import")).to_contain_text("try again with a network", timeout=BOOT_MS)
    page.context.set_offline(False)
    paste(page)
    expect(page.locator(".calc-verdict")).to_contain_text("It agrees: all 3 terms", timeout=BOOT_MS)


def late_requests(watched: Watched) -> list[str]:
    """Return the requests for what no first answer needs."""
    return [address for address in watched.runtime_requests() if "/asked-" in address]
