"""Plots on pages: drawn as SVG when the site is built, with what the page needs to draw them again.

`calc.plots` makes a specification in Vega-Lite; vl-convert compiles it to Vega and draws it. The page gets the drawing,
the table of its data, and the address of the compiled specification.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from mkdocs.utils import get_relative_url

from calc.calculators.html import element, text
from calc.plots import Plot, draw, draw_beside, in_unit, size_fields, table_html
from macros.drawing import drawing
from macros.links import module, standing_on
from macros.markdown import unsearched

__all__ = ["plot"]

FOLDER = "assets/plot"
SCRIPT = f"{FOLDER}/plot.mjs"
SVG = "http://www.w3.org/2000/svg"
# What Vega writes for assistants that read marks one by one, for fonts that the page sets, and for the pointer.
SPARE = ("role", "aria-hidden", "aria-roledescription", "class", "font-family", "pointer-events", "style", "version")
SOURCE = re.compile(rf'data-source(?:-gb)?="[^"]*{FOLDER}/([0-9a-f]{{12}}\.json)"')
LONG_NUMBER = re.compile(r"(\d+\.\d{2})\d+")
_compiled: dict[str, str] = {}  # specifications of this build, by the name of their file


def plot(name: str, *, calculator: str = "", prefix: str = "", **asked: object) -> str:
    """Return a plot with the table of its data; `asked` are the arguments of its function in `calc.plots`.

    With `calculator` it is the plot of what that calculator's form on the page holds, and follows it: `asked` are then
    the inputs that begin with another value, and `prefix` is that of the calculator.
    """
    if calculator:
        drawn = draw_beside(name, calculator, {key: str(value) for key, value in asked.items()})
    else:
        drawn = draw(name, **asked)
    attributes = {"data_plot": name, "data_calculator": calculator or None, "data_prefix": prefix or None}
    return plot_html(drawn, **attributes)


def plot_html(drawn: Plot, **attributes: str | None) -> str:
    """Return a plot's figure and table, and the script that draws it again; the script stands beside what needs it."""
    written = in_unit(drawn, "")
    found = drawing(written.whole())
    picture = tidy(found.svg, written.summary)
    sources = {"data_source": address_of(found.vega)}
    if size_fields(drawn):
        sources["data_source_gb"] = address_of(drawing(in_unit(drawn, "GB").whole()).vega)
    figure = element("div", picture, class_="plot-drawing") + element("figcaption", text(written.caption))
    listed = element("summary", "The numbers of this plot") + element("div", table_html(drawn), class_="plot-table")
    inner = element("figure", figure, class_="plot-figure") + element("details", listed)
    script = module(SCRIPT)
    whole = element("gpu-plot", inner, **sources, **attributes) + script
    return unsearched(whole, class_="plot")


def address_of(compiled: dict[str, Any]) -> str:
    """Note a compiled specification, and return its address from the page."""
    return get_relative_url(f"{FOLDER}/{keep(compiled)}", standing_on())


def keep(compiled: dict[str, Any]) -> str:
    """Note a compiled specification, to be written with the site, and return the name of its file."""
    content = json.dumps(compiled, separators=(",", ":"), ensure_ascii=False)
    name = f"{hashlib.sha256(content.encode()).hexdigest()[:12]}.json"
    _compiled[name] = content
    return name


def tidy(svg: str, summary: str) -> str:
    """Return a drawing in a third of the bytes: what is not seen is left out, and numbers have two decimals."""
    ElementTree.register_namespace("", SVG)
    root = ElementTree.fromstring(svg)
    thin(root)
    for name in ("width", "height"):
        del root.attrib[name]  # the page gives it the width there is
    for node in root.iter():  # where marks stand; what they say keeps its digits
        node.attrib.update({name: LONG_NUMBER.sub(r"\1", value) for name, value in node.attrib.items()})
    root.set("role", "img")
    root.set("aria-label", summary)
    return ElementTree.tostring(root, encoding="unicode").replace("\n", " ")


def thin(node: ElementTree.Element) -> None:
    """Take out what is empty or hidden within a node, and attributes that change nothing."""
    for name in SPARE:
        node.attrib.pop(name, None)
    if node.get("opacity") == "1":
        del node.attrib["opacity"]
    for child in list(node):
        thin(child)
        shape = child.tag.removeprefix(f"{{{SVG}}}")
        unseen = child.get("opacity") == "0" or child.get("display") == "none"
        empty = (shape == "g" and not len(child)) or (shape == "path" and not painted(child))
        if unseen or empty:
            node.remove(child)
        elif shape == "g" and not child.attrib:  # a group that says nothing of its parts
            place = list(node).index(child)
            node[place : place + 1] = list(child)


def painted(path: ElementTree.Element) -> bool:
    """Return whether a path has a colour of its own; Vega writes one for every shape that it paints."""
    return any(path.get(name) not in (None, "none", "transparent") for name in ("fill", "stroke"))


def write_plots(site: Path) -> None:
    """Write the specifications of all plots of this build."""
    folder = site / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in _compiled.items():
        (folder / name).write_text(content, encoding="utf-8")


def used_in(pieces: Iterable[str]) -> dict[str, str]:
    """Return the specifications that the plots within pieces of HTML are drawn from."""
    names = {name for html in pieces for name in SOURCE.findall(html)}
    return {name: _compiled[name] for name in sorted(names)}


def restore(compiled: Mapping[str, str]) -> None:
    """Take the specifications of a page that was rendered earlier into this build."""
    _compiled.update(compiled)


def restart() -> None:
    """Forget the plots of the last build."""
    _compiled.clear()
