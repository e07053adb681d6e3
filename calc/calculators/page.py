"""Calculators on a page: the form with its first answer, worked examples, and answers side by side."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from calc.calculators.calculator import Calculator
from calc.calculators.form import fields_html
from calc.calculators.html import element, table, text
from calc.calculators.importing import import_html
from calc.calculators.inputs import Report, Values
from calc.catalog import Catalog, catalog
from calc.errors import ScenarioError, nearest


class Calculators(Mapping[str, Calculator]):
    """The calculators by id, in the order of the guide. Each is imported when asked for: a page has one or two."""

    ids = (
        "what-runs",
        "what-hardware",
        "what-budget",
        "plan-service",
        "plan-fine-tune",
        "how-far",
        "will-it-fit",
        "kv-cache",
        "effective-bits",
        "speed",
        "sharing",
        "cost",
        "speed-up",
        "fine-tune",
        "pre-training",
        "training-time",
        "scaling-laws",
        "interconnect",
        "your-measurement",
        "your-training",
    )

    def __getitem__(self, name: str) -> Calculator:
        if name not in self.ids:
            raise KeyError(name)
        found: Calculator = import_module(f"calc.calculators.{name.replace('-', '_')}").CALCULATOR
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __len__(self) -> int:
        return len(self.ids)


CALCULATORS = Calculators()
OWN_VALUES = "Your own values"
WAYS = (
    ("link", "Link"),
    ("markdown", "Markdown"),
    ("json", "JSON"),
    ("python", "Python"),
    ("command", "Command line"),
    ("print", "Print"),
    ("compare", "Compare"),
    ("embed", "Embed"),
)
WITHOUT_SCRIPTS = "Without scripts, this page shows the answer to the values above; the worked examples show others."


def calculator_named(name: str) -> Calculator:
    """Return the calculator of that id. Raises ScenarioError with the nearest known ones."""
    if name not in CALCULATORS:
        message = f"{name!r} is not a calculator{nearest(name, CALCULATORS)}; there are {', '.join(CALCULATORS)}"
        raise ScenarioError("calculator", message)
    return CALCULATORS[name]


@lru_cache(maxsize=256)
def kept_report(facts: Catalog, name: str, changed: tuple[tuple[str, str], ...]) -> Report:
    """Return a calculator's report by the facts of a catalogue."""
    assert facts is catalog()
    return calculator_named(name).report(dict(changed))


def report_of(name: str, changed: Values) -> Report:
    """Return a calculator's report for inputs that differ from the defaults: several pages tell the same examples."""
    return kept_report(catalog(), name, tuple(changed.items()))


def render_calculator(name: str, changed: Values | None = None, prefix: str = "") -> str:
    """Return a calculator with its form and its finished answer.

    `changed` are inputs that begin with another value than the default; `prefix` keeps the address keys of two
    calculators on one page apart. Raises ScenarioError for an unknown calculator or a wrong value.
    """
    calculator = calculator_named(name)
    values, report = calculator.values(changed or {}), report_of(name, changed or {})
    identity = prefix or calculator.id
    fields = fields_html(calculator.inputs, identity, values)
    reset = element("button", "Reset", type="reset", class_="calc-reset")
    heading = element("legend", text(calculator.question)) + examples_html(calculator, identity, changed or {})
    form = element("form", element("fieldset", heading + fields) + reset, class_="calc-form", id=identity, method="get")
    live = element("p", WITHOUT_SCRIPTS, class_="calc-runtime") + element("p", "", class_="calc-status", role="status")
    brought = import_html(calculator, identity)
    parts = (brought, form) if calculator.pasted else (form, brought)  # what is pasted fills in the form
    asked = element("div", "".join((*parts, live, taken_html(calculator))), class_="calc-asked")
    answer = element("div", calculator.render(report), class_="calc-answer", id=f"{identity}-answer")
    inner = asked + answer
    attributes = {"data_calculator": calculator.id, "data_prefix": prefix or None, "data_catalog": catalog().version}
    attributes["data_steps"] = "" if calculator.steps else None
    return element("div", element("gpu-calculator", inner, **attributes), class_="calc")


def taken_html(calculator: Calculator) -> str:
    """Return the ways to take a calculator's answer along; it is hidden until scripts run."""
    from calc.calculators.taking import ways  # the page has it already

    known = ("link", *ways(calculator), "print", "compare", "embed")
    buttons = [element("button", label, type="button", data_take=way) for way, label in WAYS if way in known]
    return element("p", f"Take it along: {' '.join(buttons)}", class_="calc-take", hidden=True)


def examples_html(calculator: Calculator, prefix: str, changed: Values) -> str:
    """Return the list of worked examples that fill in the form; it is hidden until scripts run, and no input of it.

    They say what a form that begins with other values than the calculator's own would leave as it is.
    """
    usual = calculator.values({})
    first = {name: usual[name] for name in changed}
    own = element("option", OWN_VALUES, value="own")
    options = own + "".join(
        element("option", text(preset.name), value=json.dumps({**first, **preset.values}))
        for preset in calculator.presets
    )
    identity = f"{prefix}-example"
    inner = element("label", "Example", for_=identity) + element("select", options, id=identity, autocomplete="off")
    return element("div", inner, class_="calc-field calc-example", hidden=True)


def render_presets(name: str, address: str = "") -> str:
    """Return the table of a calculator's presets with their answers; each name is a link that fills the form."""
    calculator = calculator_named(name)
    rows = []
    for preset in calculator.presets:
        query = "&".join(f"{key}={value}" for key, value in preset.values.items())
        link = element("a", text(preset.name), href=f"{address}?{query}" if query else f"{address}?")
        rows.append([link, *calculator.row(report_of(name, preset.values))])
    caption = f"{calculator.title.rstrip('?')}: worked examples"
    return table(("Example", *calculator.headings), rows, caption=caption, class_="calc-presets")


def compared(pinned: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return answers side by side, and a sentence on them. Raises ScenarioError for a wrong one."""
    from calc.calculators.side_by_side import Pinned, side_by_side  # one page has them

    found = []
    for entry in pinned:
        calculator = calculator_named(str(entry.get("calculator")))
        values = {str(name): str(value) for name, value in entry.get("fields", {}).items()}
        found.append(Pinned(calculator, values, calculator.answer(calculator.asked(values))))
    return side_by_side(found)


def render_comparison(pinned: Sequence[Mapping[str, Any]]) -> str:
    """Return the element of answers side by side, which begins with those given."""
    html, _ = compared(pinned)
    answered = element("div", html, class_="calc-answer")
    status = element("p", "", class_="calc-status", role="status")
    return element("gpu-comparison", status + answered, data_first=json.dumps(list(pinned)))
