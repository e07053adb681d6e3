"""Plots on a page: a drawing that is whole without scripts, its table, and the specification that the page fetches."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from calc.calculators.html import in_words
from calc.errors import ScenarioError
from macros import plots
from macros.links import stand_on

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _page() -> None:
    """Stand on a page two folders deep, with no plot before it."""
    stand_on("calculators/will-it-fit/")
    plots.restart()


def test_a_plot_is_whole_without_scripts(tmp_path: Path) -> None:
    """Drawing with its text, caption, table; and a file with the specification that makes the same drawing."""
    html = plots.plot("memory-over-context", calculator="will-it-fit", engine="")
    (svg,) = re.findall(r"<svg.*?</svg>", html)
    drawing = ElementTree.fromstring(svg)
    assert drawing.get("role") == "img" and "16.15 GiB" in str(drawing.get("aria-label"))
    assert "8,192: 16.15 GiB" in svg and "limit: 23.99 GiB" in svg
    assert "style=" not in svg and "http://www.w3.org/1999" not in svg
    assert re.search(r"<figcaption>Memory against context: Llama 3.1 8B on GeForce RTX 4090</figcaption>", html)
    assert '<td class="calc-figure">16.15 GiB</td>' in in_words(html)
    (source,) = re.findall(r'data-source="../../assets/plot/(\w+\.json)"', html)
    plots.write_plots(tmp_path)
    compiled = json.loads((tmp_path / "assets/plot" / source).read_text(encoding="utf-8"))
    assert compiled["$schema"].startswith("https://vega.github.io/schema/vega/v")
    assert {"points", "lines", "own", "limit"} <= {data["name"] for data in compiled["data"]}


def test_what_is_not_seen_is_left_out() -> None:
    """Empty groups and hidden words go, numbers are rounded, and everything that is painted stays."""
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" viewBox="0 0 9 9"><g role="x"><g/>'
        '<path class="background" d="M0,0h9"/><path d="M0.123456,0h9" stroke="red"/>'
        '<text opacity="0">no</text><text opacity="1" font-family="x">yes</text></g></svg>'
    )
    expected = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" role="img" aria-label="Said">'
        '<path d="M0.12,0h9" stroke="red" /><text>yes</text></svg>'
    )
    assert plots.tidy(svg, "Said") == expected


def test_the_same_plot_is_one_file() -> None:
    """Two plots of the same data share a specification in each unit; other data are another file."""
    for tokens in ("8192", "8192", "4096"):
        plots.plot("memory-over-context", calculator="will-it-fit", context_tokens=tokens)
    assert len(plots._compiled) == 4
    assert len(plots.used_in([plots.plot("memory-over-context", calculator="will-it-fit")])) == 2


def test_a_wrong_plot_stops_the_build() -> None:
    """An unknown plot and an input that the calculator lacks are named."""
    with pytest.raises(ScenarioError, match="did you mean"):
        plots.plot("roof-line")
    with pytest.raises(ScenarioError, match="is not an input"):
        plots.plot("memory-over-context", calculator="will-it-fit", contex="1")


def test_vega_is_one_file_that_evaluates_nothing() -> None:
    """The page's Vega is built from npm's, small, and has an interpreter in place of generated code."""
    from macros.vega import build

    content = build(ROOT).read_text(encoding="utf-8")
    assert len(content) < 450_000
    assert "expressionInterpreter" in content[-2000:]
    assert not re.search(r"\bimport\s*[({]?\s*[\"']", content)


def test_words_keep_their_digits() -> None:
    """Positions have two decimals; what a label or the summary says has all of its own."""
    small = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><text x="1.23456">0.897 /s</text></svg>'
    tidied = plots.tidy(small, "knee at 0.897")
    assert 'x="1.23"' in tidied and ">0.897 /s<" in tidied and 'aria-label="knee at 0.897"' in tidied
