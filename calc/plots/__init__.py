"""The plots of the guide: specifications in Vega-Lite with their data, the same at build time and in the browser."""

from calc.plots.drawing import PLOTS, answer, draw, draw_beside, table_html
from calc.plots.in_unit import in_unit, size_fields
from calc.plots.plot import Plot

__all__ = ["PLOTS", "Plot", "answer", "draw", "draw_beside", "in_unit", "size_fields", "table_html"]
