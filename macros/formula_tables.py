"""The page of formulas: all that answers are computed with, collected from the workings of worked examples."""

from functools import lru_cache
from itertools import chain

from calc import estimate
from calc.calculators.html import element, table, text
from calc.calculators.mathml import mathml
from calc.calculators.page import CALCULATORS
from calc.calculators.rendering import source_html
from calc.catalog import Catalog, catalog
from calc.units import show_count
from macros.filtered import filtered
from macros.worked import Formula, formulas_of, once_each, worked

__all__ = ["formula_count", "formula_table"]

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


@lru_cache(maxsize=1)
def formulas(facts: Catalog) -> tuple[Formula, ...]:
    """Return all formulas of the guide's answers, in the order of the calculators."""
    assert facts is catalog()
    examples = chain.from_iterable(worked(name).formulas for name in CALCULATORS)
    further = formulas_of(FURTHER_GROUP, map(estimate, FURTHER))
    return tuple(once_each(chain(examples, further)))


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
