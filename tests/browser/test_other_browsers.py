"""Firefox and WebKit answer as CPython does, digit for digit, where they are installed."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from html import unescape
from pathlib import Path

import pytest

from calc.calculators import CALCULATORS
from tests.browser.drivers import FIREFOX, MINI, SCREEN, WEBKIT, Driver, firefox, webkit

pytestmark = pytest.mark.browser
Browser = Callable[[Path], AbstractContextManager[Driver]]
THERE = {"firefox": bool(FIREFOX), "webkit": bool(WEBKIT and MINI and SCREEN)}
BROWSERS: dict[str, Browser] = {"firefox": firefox, "webkit": webkit}
# Of memory, speed and training; their answers have no table to which a script adds a field.
ASKED = ("will-it-fit", "speed", "fine-tune")
ENDS = (-1, 0)  # away from what the page shows, and back to it; Chromium is asked for every example of all calculators
CHOOSE = """
    const list = document.querySelector(".calc-example select");
    list.selectedIndex = arguments[0] + 1; // the first are the reader's own values
    list.dispatchEvent(new Event("change", { bubbles: true }));
"""
GO = "[...document.querySelectorAll('a')].find(link => link.href === arguments[0]).click()"
ANSWERED = "!document.querySelector('.calc-answer').matches('[data-stale], [aria-busy], [hidden]')"


@pytest.fixture(params=BROWSERS)
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Driver]:
    """Each browser that this machine has."""
    if not THERE[request.param]:
        pytest.skip(f"{request.param} is not installed")
    with BROWSERS[request.param](tmp_path) as found:
        yield found


def words(html: str) -> str:
    """Return the text of HTML."""
    return unescape(re.sub(r"<[^>]+>", "", html))


def test_worked_examples_are_answered_as_in_cpython(driver: Driver, site: str) -> None:
    """An example that is chosen gives the text of the answer that CPython gives, in the page's own runtime."""
    driver.go(f"{site}calculators/{ASKED[0]}/")
    for name in ASKED:
        calculator = CALCULATORS[name]
        if name != ASKED[0]:  # one Python serves all pages
            driver.run(GO, f"{site}calculators/{name}/")
        driver.wait(f"document.querySelector('#{name}') && document.querySelector('.calc-example:not([hidden])')")
        for place in ENDS:
            preset = calculator.presets[place]
            driver.run(CHOOSE, place % len(calculator.presets))
            driver.wait(ANSWERED)
            said = driver.run("return document.querySelector('.calc-answer').textContent")
            assert said == words(calculator.render(calculator.report(preset.values))), (name, preset.name)
        assert driver.run("return document.querySelector('gpu-calculator').dataset.state") == "ready"
