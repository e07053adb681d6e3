"""Calculators on a page: the form with its first answer at build time, and every answer after that in the browser."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from calc.calculators.calculator import Calculator
from calc.calculators.html import element, in_words, table, text
from calc.calculators.importing import import_html, offered, read_import
from calc.calculators.inputs import Values, fields_html
from calc.calculators.rendering import Report
from calc.catalog import Catalog, catalog
from calc.errors import ScenarioError, nearest
from calc.planner.steps import Steps
from calc.units import show_count


class Calculators(Mapping[str, Calculator]):
    """The calculators by id, in the order of the guide. Each is imported when asked for: a page has one or two."""

    ids = (
        "what-runs",
        "what-hardware",
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
# A scenario names some things that a form has under another name.
FORM_FIELDS = {
    "parallelism": "accelerators",
    "kv_cache_v": "kv_cache",
    "arrivals": "requests_per_s",
    "cache_offload": "cache_store",
    "host": "processor",
    "prompt_tokens": "context_tokens",
    "lora": "rank",
    "speculation": "speculation_method",
    "adapters_served": "adapters_count",
    "start": "start_from",
}
OWN_VALUES = "Your own values"
WAYS = (
    ("link", "Link"),
    ("markdown", "Markdown"),
    ("json", "JSON"),
    ("python", "Python"),
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


def answer(request: str) -> str:
    """Return the page's next answer: JSON in, JSON out, and never an exception for what a reader typed.

    Of what takes long, `steps` is the same.

    In: `{"calculator": id, "fields": {name: text}}`. Out: `{"ok": true, "html", "status", "options"}`, or
    `{"ok": false, "errors": [{"field", "message"}], "status"}` where `field` is an input of the form, or empty.
    `options` are those that the form needs beside its lists, for a model that the reader brought. With `{"take": form,
    "address"}` beside the fields, out comes `{"ok": true, "text", "status"}`: the answer to take along. With
    `{"launch": {"scenario", "replicas"}}` it is `{"ok": true, "html", "status"}`: how that option is started; with
    `{"launch": {}}` the form's own case. With `{"correct": true}` a form of measurements gives `{"ok": true, "kept"}`
    and its `status`: the correction that follows, or null. `corrections` are what the reader has measured, each with
    its `accelerator`, `engine` and `correction`.
    `{"line": text}` in place of all that is a question in one line, which has no form and no options; `{"pinned":
    [{"calculator", "fields"}]}` are answers to set side by side. `unit`, "GB" or "GiB", is what sizes in a sentence are
    said in; those in HTML bring both.
    """
    asked: dict[str, Any] = json.loads(request)
    return json.dumps(spoken_in(str(asked.get("unit", "")), answered(asked)))


def spoken_in(unit: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer whose sentence, and text to take along, have sizes in words."""
    return answer | {name: in_words(answer[name], unit) for name in ("status", "text") if name in answer}


def answered(asked: dict[str, Any]) -> dict[str, Any]:
    """Return what `answer` says, its sentences as they are written into HTML."""
    fields: Values = {}
    inputs: set[str] = set()
    try:
        if "line" in asked:
            from calc.calculators.line import answer_line  # only the first page has one

            return answer_line(asked["line"])
        if "pinned" in asked:
            html, status = compared(asked["pinned"])
            return {"ok": True, "html": html, "status": status}
        if option := asked.get("launch"):
            return launched(option["scenario"], option["replicas"])
        calculator = calculator_named(str(asked.get("calculator")))
        inputs = {field.name for field in calculator.inputs}
        fields = {str(name): str(value) for name, value in asked.get("fields", {}).items()}
        if "take" in asked:
            from calc.calculators.taking import taken  # most answers stay

            copied = taken(calculator, fields, str(asked["take"]), str(asked.get("address", "")))
            return {"ok": True, "text": copied, "status": "Copied."}
        if "launch" in asked:
            return launched(calculator.asked(fields))
        if "correct" in asked:
            from calc.calculators.measured_answer import correction  # one calculator compares

            return correction(calculator.report(fields))
        kept = asked.get("corrections")
        report = corrected(calculator, fields, kept) if kept else calculator.report(fields)
        return shown(calculator, fields, report)
    except ScenarioError as error:
        return refused(error, inputs)


def steps(request: str) -> Iterator[str]:
    """Iterate over how far an answer is, `{"told": text}`, and then the answer itself, of a line or a calculator.

    Between two steps others can be answered; who wants the answer no more lets go of it.
    """
    asked: dict[str, Any] = json.loads(request)
    inputs: set[str] = set()
    try:
        if "line" in asked:
            from calc.calculators.line import answering_line  # only the first page has one

            running = answering_line(asked["line"])
        else:
            calculator = calculator_named(str(asked["calculator"]))
            inputs = {field.name for field in calculator.inputs}
            running = showing(calculator, {str(name): str(value) for name, value in asked["fields"].items()})
        while True:
            try:
                looked = next(running)
            except StopIteration as end:
                yield json.dumps(spoken_in(str(asked.get("unit", "")), end.value))
                return
            yield json.dumps({"told": f"{show_count(looked)} ways looked at."})
    except ScenarioError as error:
        yield json.dumps(refused(error, inputs))


def showing(calculator: Calculator, fields: Values) -> Steps[dict[str, Any]]:
    """Look for the answer of a calculator that has steps, and show it."""
    assert calculator.steps is not None
    report = yield from calculator.steps(calculator.asked(fields))
    return shown(calculator, fields, report)


def shown(calculator: Calculator, fields: Values, report: dict[str, Any]) -> dict[str, object]:
    """Return an answer's HTML, its sentence, and the options that the form needs beside its lists."""
    listed = list(offered(calculator.inputs, calculator.values(fields), report))
    return {"ok": True, "html": calculator.render(report), "status": calculator.status(report), "options": listed}


def refused(error: ScenarioError, inputs: Collection[str]) -> dict[str, object]:
    """Return what is wrong with a form, each problem at its input."""
    errors = [shown_problem(field, message, inputs) for field, message in error.problems]
    return {"ok": False, "errors": errors, "status": "{field}: {message}".format(**errors[0])}


def launched(scenario: dict[str, Any], replicas: int = 1) -> dict[str, object]:
    """Return how the case of a form, or an option, is started."""
    from calc.calculators.starting import started_html  # most answers start nothing
    from calc.launching.starting import starting

    started: Any = starting(scenario, replicas)
    where = "" if started["machines"] == 1 else f" for {started['machines']} machines"
    return {"ok": True, "html": started_html(started), "status": f"The launch command{where} is shown."}


def compared(pinned: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return answers side by side, and a sentence on them. Raises ScenarioError for a wrong one."""
    from calc.calculators.side_by_side import Pinned, side_by_side  # one page has them

    found = []
    for entry in pinned:
        calculator = calculator_named(str(entry.get("calculator")))
        values = {str(name): str(value) for name, value in entry.get("fields", {}).items()}
        found.append(Pinned(calculator, values, calculator.report(values)))
    return side_by_side(found)


def render_comparison(pinned: Sequence[Mapping[str, Any]]) -> str:
    """Return the element of answers side by side, which begins with those given."""
    html, _ = compared(pinned)
    answered = element("div", html, class_="calc-answer")
    status = element("p", "", class_="calc-status", role="status")
    return element("gpu-comparison", status + answered, data_first=json.dumps(list(pinned)))


def corrected(calculator: Calculator, fields: Values, kept: list[dict[str, Any]]) -> Report:
    """Return the report on a form's fields, corrected by what the reader has measured where that holds for it."""
    from calc.calculators.corrected import corrected_report  # most readers have measured nothing

    return corrected_report(calculator, fields, kept)


def shown_problem(path: str, message: str, inputs: Collection[str]) -> dict[str, str]:
    """Return a problem of a scenario at the input of a form that it is about."""
    field, _, within = path.partition(".")
    known = (name for name in (within, f"{field}_{within}", field) if name in inputs)
    place = next(known, FORM_FIELDS.get(field, field))
    return {"field": place, "message": f"{within} {message}" if field == "model" and within else message}


def imported(request: str, heads: Sequence[bytes]) -> str:
    """Return what a reader's files are in a form: JSON in, JSON out, and never an exception for what is in them.

    In: `{"calculator": id, "fields", "files": [{"name", "size"}], "text"}`, and the first bytes of each file. Out:
    `{"ok": true, "fields", "status"}`; `{"need": [bytes]}`, to be asked again with that much of each file; or
    `{"ok": false, "errors", "status", "more"}` where `more` says that further files would help.
    """
    asked: dict[str, Any] = json.loads(request)
    return json.dumps(read_import(calculator_named(str(asked["calculator"])), asked, heads))
