"""Times the reading of the catalogue that a page carries, in the page's Python: `python -m tests.benchmark.reading`.

*First* is what a visit waits for: the text, and the tables that an estimate asks for. *Again* is the median of those
that follow in the same Python, and *whole* that of all tables with every model's config.
"""

import json
from typing import Any

from playwright.sync_api import Playwright, sync_playwright

from tests.benchmark.planner import in_the_page

GOAL_MS = 20
CODE = """
import json, time
import calc.catalog as package

ASKED = "models number_formats engines accelerators kernel_families links kernels measured".split()
ASKED += ["ranges", "support", "prices"]


def reading(kinds, models):
    begun = time.perf_counter()
    facts = package.reload()
    for kind in kinds or facts.kinds():
        facts.entries(kind)
    for name in models or facts.ids("models"):
        facts.model(name)
    return 1000 * (time.perf_counter() - begun)


one = ["llama-3.1-8b"]
first = reading(ASKED, one)
again = sorted(reading(ASKED, one) for _ in range(21))[10]
whole = sorted(reading((), ()) for _ in range(21))[10]
found = json.dumps({"first": first, "again": again, "whole": whole})
"""


def measure(playwright: Playwright) -> dict[str, float]:
    """Return the milliseconds; the site's Python must have been built."""
    found: dict[str, float] = in_the_page(playwright, [CODE])[0]
    return found


def table(figures: dict[str, float]) -> dict[str, Any]:
    """Return the table of the figures."""
    rows = [
        ["The text, and the tables that an estimate asks for, first", f"{figures['first']:.0f} ms (goal {GOAL_MS})"],
        ["The same again, median", f"{figures['again']:.0f} ms"],
        ["All tables, and a record of every model, median", f"{figures['whole']:.0f} ms"],
    ]
    caption = "Reading the catalogue that a page carries, in its Python"
    return {"caption": caption, "headings": ["What", "Time"], "rows": rows}


def main() -> None:
    """Measure and print the table."""
    with sync_playwright() as playwright:
        print(json.dumps(measure(playwright)))


if __name__ == "__main__":
    main()
