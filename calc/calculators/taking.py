"""An answer to take along: as Markdown for a note, as JSON, and as the call or the command that gives it."""

import json
import re
from typing import Any

from calc.calculators.calculator import Calculator
from calc.calculators.form import SEARCHED, label_of, options_of
from calc.calculators.inputs import Choice, Input, Values
from calc.calculators.rendering import SEVERITIES, by_severity
from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.estimate import estimate
from calc.planner.having import TRAINING
from calc.units import show_gb, show_gib

Report = dict[str, Any]
MARKDOWN, JSON, PYTHON, COMMAND = "markdown", "json", "python", "command"
PLACED = ("model", "accelerator")  # in a command
PLAIN = re.compile(r"[\w@%+=:,./-]+", re.ASCII)  # a word that no shell reads as more


def ways(calculator: Calculator) -> tuple[str, ...]:
    """Return the forms in which a calculator's answer can be taken along; only some are one call of `estimate`."""
    return (MARKDOWN, JSON, PYTHON, COMMAND) if calculator.answer is estimate else (MARKDOWN,)


def taken(calculator: Calculator, fields: Values, way: str, address: str) -> str:
    """Return the answer to a form's fields in the form asked for; `address` is that of the page that has it.

    Raises ScenarioError for a wrong field, and for a form in which this answer cannot be had.
    """
    if way not in ways(calculator):
        raise ScenarioError("take", f"must be {' or '.join(ways(calculator))}, not {way!r:.40}")
    if way == MARKDOWN:
        return markdown(calculator, fields, address)
    scenario = calculator.asked(fields)
    if way == PYTHON:
        return f"from calc import estimate\n\nreport = estimate({python(scenario)})\n"
    if way == COMMAND:
        return f"{command(scenario)}\n"
    return json.dumps({"scenario": scenario, "report": estimate(scenario)}, indent=2)


def markdown(calculator: Calculator, fields: Values, address: str) -> str:
    """Return what was asked, the answer, its parts and where it is from, as Markdown."""
    values, report = calculator.values(fields), calculator.report(fields)
    lines = [f"**{calculator.question}**", "", f"{calculator.status(report)}", ""]
    lines += [
        f"- {field.label}: {shown(field, values[field.name])}" for field in calculator.inputs if values[field.name]
    ]
    parts = [part for part in report.get("memory", {}).get("parts", []) if part["bytes"]]
    if parts:
        lines += ["", "| Part | GiB | GB |", "|---|--:|--:|"]
        lines += [f"| {part['label']} | {show_gib(part['bytes'])} | {show_gb(part['bytes'])} |" for part in parts]
    warnings = by_severity(report.get("warnings", []))
    notes = [f"- {SEVERITIES[warning['severity']]}: {warning['message']}." for warning in warnings]
    lines += ["", *notes, ""] if notes else [""]
    return "\n".join([*lines, f"GPU Sizing Guide, facts of {catalog().version}: <{address}>", ""])


def shown(field: Input, value: str) -> str:
    """Return a field's value in the words of the form."""
    if not isinstance(field, Choice):
        return value
    if not value:
        return field.empty
    if field.kind in SEARCHED:
        return "a model of one's own" if value.startswith("{") else label_of(field, value)
    known = {name: label for _, listed in options_of(field) for name, label in listed}
    return known.get(value, value)


def command(scenario: dict[str, object]) -> str:
    """Return the command line that asks a scenario: what has a place or a letter of its own, and then each field."""
    rest = {name: value for name, value in scenario.items() if value is not None and name != "workload"}
    words = ["calc", "fit", *(rest.pop(name) for name in PLACED if isinstance(rest.get(name), str))]
    trains = scenario.get("workload") == TRAINING
    flag, field, usual = ("--train", "method", "full") if trains else ("-e", "engine", "none")
    words += [flag, rest.pop(field, usual)]
    for name, value in rest.items():
        words += ["--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    return " ".join(map(quoted, words))


def quoted(word: object) -> str:
    """Return a word as a shell has to be given it."""
    said = str(word)
    return said if PLAIN.fullmatch(said) else "'" + said.replace("'", "'\\''") + "'"


def python(value: object, indent: int = 0) -> str:
    """Return a scenario as Python writes it, a field a line."""
    if not isinstance(value, dict) or not value:
        return repr(value)
    space = " " * (indent + 4)
    lines = [f"{space}{key!r}: {python(inner, indent + 4)},\n" for key, inner in value.items()]
    return "{\n" + "".join(lines) + " " * indent + "}"
