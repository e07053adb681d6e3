"""What the worked examples of a calculator compute: the page with them tells it to those of sources and of formulas."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from calc.calculators.page import CALCULATORS, report_of
from calc.calculators.rendering import step_result
from calc.units import with_powers
from macros import kept

Report = dict[str, Any]
SUM_OF_PARTS = "Memory of the fullest device"  # it has as many forms as there are parts; the first stands for all


class Formula(NamedTuple):
    """A formula as an answer used it."""

    name: str
    formula: str
    example: str
    source: str
    group: str


class Worked(NamedTuple):
    """What a calculator's examples compute."""

    sources: list[str]  # of each step of working, wherever it stands in a report
    formulas: list[Formula]


def worked(name: str) -> Worked:
    """Return what a calculator's examples compute; one process has computed them for all pages."""
    sources, formulas = kept.once(f"worked-{name}", lambda: computed(name))
    return Worked(sources, [Formula(*found) for found in formulas])


def computed(name: str) -> Worked:
    """Compute a calculator's examples."""
    calculator = CALCULATORS[name]
    reports = [report_of(name, preset.values) for preset in calculator.presets]
    formulas = formulas_of(calculator.title.rstrip("?"), reports)
    sources = dict.fromkeys(chain.from_iterable(map(step_sources, reports)))
    return Worked(list(sources), list(once_each(formulas)))


def step_sources(report: object) -> Iterator[str]:
    """Yield the source of each step of working in a report."""
    if isinstance(report, dict):
        if "substituted" in report:
            yield str(report["source"])
        for part in report.values():
            yield from step_sources(part)
    elif isinstance(report, list):
        for part in report:
            yield from step_sources(part)


def formulas_of(group: str, reports: Iterable[Report]) -> Iterator[Formula]:
    """Yield the formulas of the workings of some reports."""
    for step in chain.from_iterable(report["steps"] for report in reports):
        name, example = general(step["name"]), example_of(step)
        yield Formula(name, step["formula"], example, step["source"], group=group)


def once_each(formulas: Iterable[Formula]) -> Iterator[Formula]:
    """Yield each formula once, under its first name, with the numbers of the first case."""
    seen: set[tuple[str, str]] = set()
    for found in formulas:
        key = (found.name, "" if found.name == SUM_OF_PARTS else found.formula)
        if key not in seen:
            seen.add(key)
            yield found


def general(name: str) -> str:
    """Return a step's name without what belongs to one case: sizes, layers, formats.

    >>> general("All 32 layers of the stage keep"), general("Weights: attention in Q4_K"), general("KV cache")
    ('All layers of the stage keep', 'Weights', 'KV cache')
    """
    name = re.split(r": | \(| when | with \w+ checkpointing| by [A-Z]", name)[0]
    name = re.sub(r"\bof [\d,.]+ elements.*|\b[\d][\d,.]*(?!-bit)\s", "", name).strip()
    return name[0].upper() + name[1:]


def example_of(step: Report) -> str:
    """Return a step's numbers and what they come to."""
    return f"{with_powers(step['substituted'])} = {step_result(step['value'], step['unit'])}"
