"""The words of an answer are those that were read and found right: a step that changes its formula is looked at."""

import json
from typing import Any

import pytest

from calc import estimate
from calc.calculators import CALCULATORS
from tests.wording import FILE, SCENARIOS, words
from tests.working import evaluated, every_step

SAID: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


def check(name: str, report: Any) -> None:
    """Check the words of a report, and that its numbers give its values."""
    found = words(report)
    for kind, said in SAID[name].items():
        assert found[kind] == said, (name, kind)
    for step in every_step(report.get("steps")):
        assert evaluated(step["substituted"]) == pytest.approx(step["value"], rel=0.005, abs=1e-12), (name, step)


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios(name: str) -> None:
    """Names, formulas, units and sources of each step, parts, warnings and repairs, with `#` for each number."""
    check(name, estimate(SCENARIOS[name]))


@pytest.mark.parametrize("name", [name for name in SAID if name.startswith("calculator ")])
def test_worked_examples(name: str) -> None:
    """The same of each calculator's first worked example."""
    calculator = CALCULATORS[name.removeprefix("calculator ")]
    check(name, calculator.report(calculator.presets[0].values))
