"""Requests of a page's script: every answer after the first, JSON in and JSON out, in the browser."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from calc.calculators.calculator import Calculator
from calc.calculators.html import in_words
from calc.calculators.importing import offered, read_import
from calc.calculators.inputs import Report, Values
from calc.calculators.page import calculator_named, compared
from calc.errors import ScenarioError
from calc.planner.steps import Steps
from calc.units import show_count

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
    "disaggregation": "prefill_accelerators",
}


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
    inputs: dict[str, str] = {}
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
        inputs = {field.name: field.label for field in calculator.inputs}
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
    inputs: dict[str, str] = {}
    try:
        if "line" in asked:
            from calc.calculators.line import answering_line  # only the first page has one

            running = answering_line(asked["line"])
        else:
            calculator = calculator_named(str(asked["calculator"]))
            inputs = {field.name: field.label for field in calculator.inputs}
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


def refused(error: ScenarioError, inputs: Mapping[str, str]) -> dict[str, object]:
    """Return what is wrong with a form, each problem at its input; the first is said by the label there."""
    errors = [shown_problem(field, message, inputs) for field, message in error.problems]
    field, message = errors[0]["field"], errors[0]["message"]
    return {"ok": False, "errors": errors, "status": f"{inputs.get(field, field)}: {message}"}


def launched(scenario: dict[str, Any], replicas: int = 1) -> dict[str, object]:
    """Return how the case of a form, or an option, is started."""
    from calc.calculators.starting import started_html  # most answers start nothing
    from calc.launching.starting import starting

    started: Any = starting(scenario, replicas)
    where = "" if started["machines"] == 1 else f" for {started['machines']} machines"
    return {"ok": True, "html": started_html(started), "status": f"The launch command{where} is shown."}


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
