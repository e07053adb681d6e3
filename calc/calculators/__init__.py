"""The calculators of the guide: what they ask, and how their answers are written."""

from calc.calculators.page import (
    CALCULATORS,
    answer,
    imported,
    render_calculator,
    render_comparison,
    render_presets,
    steps,
)

__all__ = ["CALCULATORS", "answer", "imported", "render_calculator", "render_comparison", "render_presets", "steps"]
