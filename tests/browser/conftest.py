"""The built site in a browser: built once, served with its policy as a header too, opened in headless Chromium."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.server import serving

ROOT = Path(__file__).parent.parent.parent
BOOT_MS = 60_000  # a loaded machine starts Python slowly
ANSWER_MS = 20_000  # and answers slowly
expect.set_options(timeout=ANSWER_MS)
DATA_SAVER = "Object.defineProperty(navigator, 'connection', { value: { saveData: true } })"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The whole site, built as `mkdocs build` builds it: its folder, and the address under which it is served."""
    folder = tmp_path_factory.mktemp("site")
    with serving(folder) as address:
        command = [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--site-dir",
            str(folder),
        ]  # quiet, warnings would not count
        with (ROOT / ".cache/building").open("w") as turn:  # a second process finds most of it kept by the first
            fcntl.flock(turn, fcntl.LOCK_EX)
            subprocess.run(command, cwd=ROOT, env=os.environ | {"SITE_URL": address}, check=True)
        yield folder, address


@pytest.fixture(scope="session")
def site(built: tuple[Path, str]) -> str:
    """The address of the built site."""
    return built[1]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser that guide.py found."""
    path = os.environ.get("GUIDE_BROWSER", "/usr/bin/chromium")
    assert Path(path).exists(), f"{path} is not there; python3 guide.py test finds or fetches a browser"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--process-per-site"])
        yield browser
        browser.close()


class Watched:
    """A page whose requests and complaints are kept."""

    def __init__(self, context: BrowserContext) -> None:
        self.page = context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on(
            "console", lambda message: self.complaints.append(message.text) if message.type == "error" else None
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def runtime_requests(self) -> list[str]:
        """Return the requests for parts of Python."""
        return [address for address in self.requests if "/assets/runtime/" in address]


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    """A fresh profile."""
    context = chromium.new_context()
    context.set_default_timeout(ANSWER_MS)
    yield context
    context.close()


@pytest.fixture
def first(context: BrowserContext) -> Watched:
    """A page in a fresh profile: whoever opens it has never been here, and Python starts from its files."""
    return Watched(context)


@pytest.fixture(scope="session")
def profile(chromium: Browser, site: str) -> Iterator[BrowserContext]:
    """The profile of somebody who comes back: the browser has the site's files, and keeps Python's memory.

    A tab stays open, so that the process that all tabs share has WebAssembly compiled: it takes longer than most tests.
    """
    context = chromium.new_context(service_workers="block")  # where one is asked, it is in a fresh profile
    context.set_default_timeout(ANSWER_MS)
    page = context.new_page()
    page.goto(site + "calculators/kv-cache/")
    page.hover("gpu-calculator")
    live(page)
    yield context
    context.close()


@pytest.fixture
def watched(profile: BrowserContext, site: str) -> Iterator[Watched]:
    """A page in a new tab of somebody who comes back; what its reader has chosen is forgotten after it."""
    watched = Watched(profile)
    yield watched
    watched.page.goto(site + "assets/licences/cpython.txt")  # a place of the site without scripts
    watched.page.evaluate("localStorage.clear()")
    watched.page.close()


def live(page: Page) -> None:
    """Wait until Python answers."""
    page.wait_for_selector("gpu-calculator[data-state=ready]", timeout=BOOT_MS)


def until(page: Page, condition: str) -> None:
    """Wait until an expression holds in the page, asked from outside: its policy lets no script evaluate text."""
    for _ in range(ANSWER_MS // 50):
        if page.evaluate(f"Boolean({condition})"):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never holds: {condition}")


def unfold(page: Page) -> None:
    """Open the parts of a form that are folded."""
    page.evaluate("document.querySelectorAll('.calc-topic').forEach(part => { part.open = true })")


def pick(page: Page, label: str, typed: str) -> None:
    """Choose from a long list as a reader does: type a part of a name and take the first entry."""
    field = page.get_by_role("combobox", name=label, exact=True)
    field.fill(typed)
    page.wait_for_selector(".calc-list:visible [role=option]")
    field.press("Enter")


# What scripts add to an answer: buttons that sort and save its tables and take changes, where a report goes, whole
# addresses in links.
PLAIN = """html => {
    const box = document.createElement("template");
    box.innerHTML = html;
    for (const added of box.content.querySelectorAll(".filtered-search, .table-csv")) added.remove();
    for (const button of box.content.querySelectorAll("thead button, [data-change] button")) {
        button.replaceWith(...button.childNodes);
    }
    for (const caption of box.content.querySelectorAll("caption")) caption.innerHTML = caption.innerHTML.trim();
    for (const link of box.content.querySelectorAll("a[data-send]")) {
        for (const name of ["href", "hidden"]) link.removeAttribute(name);
    }
    for (const link of box.content.querySelectorAll("a[href]")) {
        link.setAttribute("href", new URL(link.getAttribute("href"), location.href).href);
    }
    return box.innerHTML;
}"""


def plain(page: Page, html: str) -> str:
    """Return HTML as the browser writes it, without what scripts add."""
    return str(page.evaluate(PLAIN, html))


def answer_html(page: Page) -> str:
    """Return the answer on the page, without what scripts add."""
    return str(page.evaluate(f"() => ({PLAIN})(document.querySelector('.calc-answer').innerHTML)"))


def live_text(page: Page, html: str) -> None:
    """Assert that the answer on the page is `html`, as the browser writes it."""
    page.hover("gpu-calculator")
    live(page)
    wanted = plain(page, html)
    for _ in range(ANSWER_MS // 200):  # a long answer takes Python's processor to be read
        if (found := answer_html(page)) == wanted:
            return
        page.wait_for_timeout(200)
    assert found == wanted
