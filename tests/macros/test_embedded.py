"""A calculator alone: taken out of its full page, under the same policy, with nothing of the theme around it."""

import pytest

from calc.calculators import render_calculator
from macros.embedded import embedded

POLICY = '<meta http-equiv="Content-Security-Policy" content="default-src \'self\'">'
STYLE = '<link rel="stylesheet" href="../../assets/stylesheets/main.min.css">'


def test_it_is_the_calculator_and_nothing_else() -> None:
    """Policy, styles and the finished calculator are kept; header, navigation and prose are not; links open beside."""
    calculator = render_calculator("kv-cache")
    head = f'<head><meta charset="utf-8">{POLICY}{STYLE}<script src="bundle.js"></script></head>'
    page = f"{head}<body><header>Search</header><nav>All</nav><h1>KV cache</h1>{calculator}<p>Prose</p></body>"
    found = embedded(page, "kv-cache", "KV cache")
    assert calculator in found and POLICY in found and STYLE in found
    assert not {"<header>", "<nav>", "Prose", "bundle.js"} & set(found.replace(">", "> ").split())
    assert "Prose" not in found and "bundle.js" not in found and "<nav>" not in found
    assert '<base target="_blank">' in found and 'href="../../calculators/kv-cache/"' in found


def test_a_page_without_one_stops_the_build() -> None:
    """What is promised to be embeddable has a calculator."""
    with pytest.raises(ValueError, match="kv-cache"):
        embedded("<body></body>", "kv-cache", "KV cache")
