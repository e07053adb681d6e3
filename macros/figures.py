"""Drawings of ideas as SVG, with what stands under them. What has data is a plot: `calc.plots` and `macros.plots`."""

from calc.calculators.html import element, text
from macros.markdown import block

WIDTH, HEIGHT = 420, 300


def whole_figure(drawn: str, legend: str, caption: str, summary: str, height: int = HEIGHT) -> str:
    """Return a drawing with its legend, if it has one, and what stands under it."""
    drawing = element("svg", drawn, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=summary)
    said = element("figcaption", text(caption))
    listed = element("ul", legend) if legend else ""
    return block(element("figure", drawing + listed + said, class_="figure"))
