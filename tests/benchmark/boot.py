"""Measures how long a reader waits for Python: the usual recipe, this site, and bare Pyodide, in one run."""

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import BrowserContext, Page, Playwright

from tests.benchmark.server import Line, Server
from tests.benchmark.site import BENCH, PAGE

OPEN_LINE = Line()
SLOW_LINE = Line(bits_per_s=20e6, round_trip_s=0.040)
READING_MS = 2500  # between two visits; the browser stores compiled code after a while
ARRIVED_MS = 400  # from the page's load event to the first intent
TIMEOUT_MS = 120_000


class Setup(NamedTuple):
    """One way to run Python on the page; `encoding` is how the server compresses."""

    id: str
    label: str
    page: str
    encoding: str


USUAL = Setup("usual", "The usual recipe: Pyodide as shipped, then the wheel (gzip)", f"{BENCH}usual/", "gzip")
FLOOR = Setup("floor", "Bare Pyodide as shipped, no package (gzip)", f"{BENCH}floor/", "gzip")
OURS = Setup("ours", "This site (brotli)", PAGE, "br")
OURS_GZIP = Setup("ours-gzip", "This site (gzip)", PAGE, "gzip")
SETUPS = (USUAL, FLOOR, OURS, OURS_GZIP)


class Visit(NamedTuple):
    """One visit: the wait, what was sent for it, and the answer, which must be the same for every set-up."""

    ms: float
    sent_bytes: int
    text: str


@contextmanager
def profile(playwright: Playwright) -> Iterator[BrowserContext]:
    """A browser with an empty profile of its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        context = playwright.chromium.launch_persistent_context(
            folder, executable_path=os.environ.get("GUIDE_BROWSER", "/usr/bin/chromium"), args=["--no-sandbox"]
        )
        context.set_default_timeout(TIMEOUT_MS)
        context.add_init_script(path=Path(__file__).with_name("probes.js"))
        yield context
        context.close()


def arrive(context: BrowserContext, address: str) -> Page:
    """Open a page and let it come to rest, without reaching for its calculator."""
    page = context.new_page()
    page.goto(address)
    page.wait_for_timeout(ARRIVED_MS)
    return page


def visits(playwright: Playwright, server: Server, base: str, setup: Setup, line: Line, count: int) -> list[Visit]:
    """Visit a page `count` times in a fresh profile, and reach for its calculator each time."""
    server.encoding = setup.encoding
    made = []
    with profile(playwright) as context:
        for number in range(count):
            server.line = OPEN_LINE
            page = arrive(context, base + setup.page)
            server.line = line
            before = server.sent_bytes
            measured: dict[str, Any] = page.evaluate("probes.boot('4096')")
            made.append(Visit(measured["ms"], server.sent_bytes - before, measured["text"]))
            if number + 1 < count:
                page.wait_for_timeout(READING_MS)
            page.close()
    return made


def boots(playwright: Playwright, server: Server, base: str, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Return cold, warm and slow waits and the bytes sent, by set-up; the order is shuffled within each round."""
    found: dict[str, dict[str, list[float]]] = {
        setup.id: {"cold_ms": [], "warm_ms": [], "slow_ms": [], "sent_bytes": []} for setup in SETUPS
    }
    texts = set()
    for number in range(rounds):
        jobs = [(setup, line) for setup in SETUPS for line in (OPEN_LINE, SLOW_LINE)]
        random.shuffle(jobs)
        for setup, line in jobs:
            print(
                f"round {number + 1} of {rounds}: {setup.id}, {'slow' if line is SLOW_LINE else 'open'} line",
                flush=True,
            )
            made = visits(playwright, server, base, setup, line, 1 if line is SLOW_LINE else 3)
            entry = found[setup.id]
            if line is SLOW_LINE:
                entry["slow_ms"].append(made[0].ms)
                entry["sent_bytes"].append(made[0].sent_bytes)
            else:
                entry["cold_ms"].append(made[0].ms)
                entry["warm_ms"].append(made[-1].ms)
            if setup is not FLOOR:
                texts.update(visit.text for visit in made)
            if len(texts) > 1:
                raise RuntimeError("the set-ups did not give the same answer:\n" + "\n".join(sorted(texts)))
    return found


def next_pages(playwright: Playwright, server: Server, base: str, rounds: int) -> list[dict[str, float]]:
    """Return the waits from a click to a live calculator on the next page, and from an edit there to its answer.

    `theme` is the wait from a click to the same page, as long and as wide, where the calculator's script is blocked.
    """
    server.encoding, server.line = OURS.encoding, OPEN_LINE
    between, pages = base + "reference/units/", (base + "calculators/kv-cache/", base + PAGE)

    def walked(blocked: bool, probe: str) -> list[Any]:
        with profile(playwright) as context:
            if blocked:
                context.route("**/calculator.mjs", lambda route: route.abort())
            page = arrive(context, base + PAGE)
            if not blocked:
                page.evaluate("probes.boot('4096')")
            found = []
            for number in range(2 * rounds):
                page.wait_for_timeout(500)
                page.evaluate("href => probes.nextShown(href)", between)
                page.wait_for_timeout(500)
                # What was typed travels along: a value that was typed before changes nothing, and nothing is answered.
                found.append(page.evaluate(probe, [pages[number % 2], str(2048 + number)]))
            return found

    live = walked(False, "([href, value]) => probes.nextPage(href, value)")
    theme = walked(True, "([href]) => probes.nextShown(href)")
    return [visit | {"theme": shown} for visit, shown in zip(live, theme, strict=True)]


def keystrokes(playwright: Playwright, server: Server, base: str, count: int) -> list[dict[str, float]]:
    """Return, for each of `count` keystrokes in a number field, the waits for the answer and for its frame."""
    server.encoding, server.line = OURS.encoding, OPEN_LINE
    with profile(playwright) as context:
        page = arrive(context, base + PAGE)
        page.evaluate("probes.boot('4096')")
        page.wait_for_timeout(3000)  # the browser's compiler comes to rest
        page.focus("[name=context_tokens]")
        page.keyboard.press("End")
        page.evaluate("window.keyTimes = probes.watchKeys(); 0")
        for number in range(count):
            page.keyboard.press("Backspace" if number % 2 else str(number // 2 % 10))
            page.wait_for_timeout(100 + random.random() * 20)
        times: list[dict[str, float]] = page.evaluate("keyTimes")
    return times


def browser_version(playwright: Playwright) -> str:
    """Return the browser's name and version."""
    with profile(playwright) as context:
        return f"Chromium {context.browser.version}" if context.browser else "Chromium"


def build_site(folder: Path, address: str) -> None:
    """Build the site for an address; instant navigation works at that address only."""
    root = Path(__file__).parent.parent.parent
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=root, env=os.environ | {"SITE_URL": address}, check=True)
