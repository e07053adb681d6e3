"""Each calculator alone, in a page of its own without header and navigation, for a frame in someone else's page."""

import re
from pathlib import Path

from calc.calculators.html import element, text
from calc.calculators.page import CALCULATORS
from macros.links import calculator_page

FOLDER = "embed"  # of the site; its pages stand as deep as those of the calculators, so that links are the same
CALCULATOR = re.compile(r'<div class="calc"><gpu-calculator .*?</gpu-calculator></div>', re.DOTALL)
HEAD = re.compile(
    r'<meta charset[^>]*>|<meta http-equiv="Content-Security-Policy"[^>]*>|<link rel="(?:stylesheet|icon)"[^>]*>'
    r"|<script>.*?</script>",
    re.DOTALL,
)
# Links open beside the page that has the frame, and searches find the full page.
OWN = (
    '<meta name="viewport" content="width=device-width,initial-scale=1">'
    '<meta name="robots" content="noindex"><base target="_blank">'
)
SCRIPTS = ("assets/calculator/embedded.mjs", "assets/calculator/calculator.mjs", "assets/table/csv.mjs")


def write_embedded(site: Path) -> None:
    """Write the pages of all calculators that the site has, each taken out of its full page."""
    for calculator in CALCULATORS.values():
        page = site / calculator_page(calculator.id) / "index.html"
        if not page.exists():  # a site of some pages alone
            continue
        target = site / FOLDER / calculator.id / "index.html"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(embedded(page.read_text(encoding="utf-8"), calculator.id, calculator.title), encoding="utf-8")


def embedded(page: str, name: str, title: str) -> str:
    """Return the page of one calculator from its full page; raises ValueError where that has none."""
    found = CALCULATOR.search(page)
    if found is None:
        raise ValueError(f"the page of {name} has no calculator to embed")
    scripts = "".join(element("script", type="module", src=f"../../{path}") for path in SCRIPTS)
    head = (
        "".join(HEAD.findall(page.partition("</head>")[0]))
        + OWN
        + element("title", text(f"{title} – GPU Sizing Guide"))
        + scripts
    )
    link = element("a", "In full, with how to read it: GPU Sizing Guide", href=f"../../{calculator_page(name)}")
    inner = element("main", found[0] + element("p", link), class_="md-typeset embedded")
    scheme = 'data-md-color-scheme="default" data-md-color-primary="teal" data-md-color-accent="teal"'
    return f'<!doctype html><html lang="en"><head>{head}</head><body {scheme}>{inner}</body></html>\n'
