"""Answers corrected by what a reader has measured: which correction holds for an answer, and how it says so."""

import json
from typing import Any

from calc.calculators.calculator import Calculator
from calc.calculators.html import element, text
from calc.calculators.inputs import Report, Values
from calc.estimate import estimate


def corrected_report(calculator: Calculator, fields: Values, kept: list[dict[str, Any]]) -> Report:
    """Return the report on a form's fields, corrected where one of the `kept` corrections is of its device and engine.

    Only calculators whose answer is one estimate are corrected; raises ScenarioError as they do.
    """
    report = calculator.report(fields)
    if calculator.answer is not estimate:
        return report
    scenario = report["scenario"]
    for entry in kept:
        if all(scenario.get(name) == entry.get(name) for name in ("accelerator", "engine")):
            return estimate({**calculator.asked(fields), "correction": entry.get("correction")})
    return report


def corrected_html(report: Report) -> str:
    """Return the mark of an answer that is corrected, with the button that takes the correction back."""
    message = next(warning["message"] for warning in report["warnings"] if warning["code"] == "corrected")
    taken = {name: report["scenario"][name] for name in ("accelerator", "engine")}
    button = element("button", "Take it back", type="button", data_uncorrect=json.dumps(taken))
    said = text(message[0].upper() + message[1:])
    return element("p", f"{element('strong', 'Corrected.')} {said}. {button}", class_="calc-corrected")
