"""The page of formulas: all that answers are computed with, collected from the workings of worked examples."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from calc import estimate
from calc.calculators.html import element, table, text
from calc.calculators.mathml import mathml
from calc.calculators.page import CALCULATORS, report_of
from calc.calculators.rendering import source_html
from calc.catalog import Catalog, catalog
from calc.units import show_count, show_number
from macros.filtered import filtered

Report = dict[str, Any]
# What the calculators' examples leave out: other kinds of models, other engines, other ways to divide.
ENGINES = ("vllm", "sglang", "tensorrt-llm", "transformers")
SERVED: dict[str, object] = {"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "sequences": 8}
FURTHER: tuple[dict[str, object], ...] = (
    {"model": "deepseek-v3", "weights": "fp8", "context_tokens": 8192},
    {"model": "qwen3-next-80b-a3b", "context_tokens": 8192},
    {"model": "gemma-3-27b", "context_tokens": 8192},
    {"model": "bart-large-mnli", "context_tokens": 1024},
    *(SERVED | {"engine": engine} for engine in ENGINES),
    {
        "workload": "training",
        "model": "llama-3.1-70b",
        "accelerator": "h100-sxm-80gb",
        "parallelism": {"tensor": 8, "pipeline": 4, "data": 2},
        "sharding": "zero-1",
        "gradient_accumulation": 16,
    },
)
FURTHER_GROUP = "Other kinds of models, engines and layouts"
SUM_OF_PARTS = "Memory of the fullest device"  # it has as many forms as there are parts; the first stands for all
LARGE = 1e15  # from here on a number is shown by its power of ten


class Formula(NamedTuple):
    """A formula as an answer used it."""

    name: str
    formula: str
    example: str
    source: str
    group: str


def general(name: str) -> str:
    """Return a step's name without what belongs to one case: sizes, layers, formats.

    >>> general("All 32 layers of the stage keep"), general("Weights: attention in Q4_K"), general("KV cache")
    ('All layers of the stage keep', 'Weights', 'KV cache')
    """
    name = re.split(r": | \(| when | with \w+ checkpointing| by [A-Z]", name)[0]
    name = re.sub(r"\bof [\d,.]+ elements.*|\b[\d][\d,.]*(?!-bit)\s", "", name).strip()
    return name[0].upper() + name[1:]


def working_of(reports: Iterator[tuple[str, Report]]) -> Iterator[Formula]:
    """Yield each formula of some reports once, under its first name, with the numbers of the first case."""
    seen: set[tuple[str, str]] = set()
    for group, report in reports:
        for step in report["steps"]:
            name, formula = general(step["name"]), step["formula"]
            key = (name, "" if name == SUM_OF_PARTS else formula)
            if key not in seen:
                seen.add(key)
                yield Formula(name, formula, example_of(step), step["source"], group=group)


def example_of(step: Report) -> str:
    """Return a step's numbers and what they come to."""
    value, unit = step["value"], step["unit"]
    if abs(value) >= LARGE:
        shown = f"{value:.4g}"
    else:
        shown = show_count(value) if unit == "B" or float(value).is_integer() else show_number(value, 4)
    return f"{step['substituted']} = {shown} {unit}".strip()


def reports() -> Iterator[tuple[str, Report]]:
    """Yield a report for each worked example of each calculator, and for the further cases."""
    for calculator in CALCULATORS.values():
        for preset in calculator.presets:
            yield calculator.title.rstrip("?"), report_of(calculator.id, preset.values)
    for scenario in FURTHER:
        yield FURTHER_GROUP, estimate(scenario)


@lru_cache(maxsize=1)
def formulas(facts: Catalog) -> tuple[Formula, ...]:
    """Return all formulas of the guide's answers, in the order of the calculators."""
    assert facts is catalog()
    return tuple(working_of(reports()))


def formula_table() -> str:
    """Return all formulas: name, formula, an example with its numbers, source, and where it is used first."""
    rows = []
    for found in formulas(catalog()):
        source = source_html(found.source) if found.source else "–"
        named = element("span", text(found.name))
        rows.append([named, mathml(found.formula), text(found.example), source, text(found.group)])
    headings = ("Name", "Formula", "Example", "Source", "First used in")
    whole = table(headings, rows, caption="Formulas", class_="calc-worded claims", words=len(headings))
    return filtered(whole, things="formulas")


def formula_count() -> str:
    """Return how many formulas the table has."""
    return show_count(len(formulas(catalog())))
