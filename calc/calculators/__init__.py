"""The calculators of the guide: what they ask, and how their answers are written."""

from calc.calculators.page import CALCULATORS, render_calculator, render_comparison, render_presets
from calc.calculators.requests import answer, imported, steps

__all__ = ["CALCULATORS", "answer", "imported", "render_calculator", "render_comparison", "render_presets", "steps"]
