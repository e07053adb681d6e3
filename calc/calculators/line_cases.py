"""A line's scenarios as cases of the calculators that answer them, settled, each with its report."""

from typing import Any, NamedTuple

from calc.calculators.calculator import Calculator
from calc.calculators.hosting import leaves
from calc.calculators.inputs import Values
from calc.calculators.line_link import beyond, form_values
from calc.lines.settling import fewest, held, settled
from calc.lines.wording import ANEW
from calc.scenario.fields import PUBLISHED

CALCULATOR_OF = {
    "fits": "will-it-fit",
    "devices": "will-it-fit",
    "speed": "speed",
    "cost": "speed",
    "training": "fine-tune",
    "trained_on": "fine-tune",
    "duration": "training-time",
    "cache": "kv-cache",
}
AT_ONCE = (
    8  # requests by which rented devices are kept busy where a line says nothing of it, as the form of costs has it
)


class Worked(NamedTuple):
    """A scenario in the form of the calculator that answers it, what was settled of it, and its report."""

    calculator: Calculator
    values: Values
    found: dict[str, object]
    report: Any
    more: dict[str, Any]  # of the scenario, that the form has no field for


def names_no_device(reading: Any) -> bool:
    """Return whether a line asks what a training run takes, wherever it runs."""
    return reading["asks"] == "training" and reading["scenario"].get("accelerator") is None


def cases_of(reading: Any) -> list[Worked]:
    """Return the cases of a line's sides, in a number format in which all fit; none where one is not of a form."""
    sides = reading["sides"]
    if any(side["scenario"] is None or names_no_device(side) for side in sides):
        return []
    return on_enough(sides, in_one_format(sides, list(map(worked, sides))))


def on_enough(sides: Any, cases: list[Worked]) -> list[Worked]:
    """Return cases on as many devices as hold the model, where none fits and no side says how many there are."""
    scenarios = [side["scenario"] for side in sides]
    open_ = all(isinstance(one.get("accelerator"), str) and "accelerators" not in one for one in scenarios)
    served = all("workload" not in one and "host" not in one for one in scenarios)
    if not open_ or not served or any(case.report["memory"].get("fits") for case in cases):
        return cases
    counts = [fewest({"weights": PUBLISHED, **one})["accelerators"] for one in scenarios]
    if not all(counts):
        return cases
    found = []
    for side, scenario, count in zip(sides, scenarios, counts, strict=True):
        asked = {"weights": PUBLISHED, **scenario, "accelerators": count}
        case = worked({**side, "scenario": asked})
        found.append(case._replace(found={**case.found, "accelerators": count}))
    return found


def in_one_format(sides: Any, cases: list[Worked]) -> list[Worked]:
    """Return cases in the first of their settled number formats in which all fit; as they are where there is none."""
    formats = dict.fromkeys(str(case.found.get("weights")) for case in cases)
    if len(formats) < 2 or not all("weights" in case.found for case in cases):
        return cases
    for weights in formats:
        tried = [worked({**side, "scenario": {**side["scenario"], "weights": weights}}) for side in sides]
        if all(case.report["memory"].get("fits") and case.report.get("runs") is not False for case in tried):
            return [case._replace(found={**case.found, "weights": weights}) for case in tried]
    return cases


def worked(reading: Any) -> Worked:
    """Return what a calculator makes of a line's scenario, and what was settled; its form has lengths of its own."""
    from calc.calculators.page import CALCULATORS

    anew = reading["asks"] == "training" and ANEW.search(reading["line"].lower())
    calculator = CALCULATORS["pre-training" if anew else CALCULATOR_OF[reading["asks"]]]
    scenario, found = settled(reading["scenario"], reading["asks"])
    if scenario.get("sequences") == "max":
        scenario, busy = kept_busy(scenario)
        found |= busy
    values = form_values(calculator, scenario)
    more = beyond(calculator, scenario)
    report = answered(calculator, values, more)
    if anew:  # which no adapters do
        report = {**report, "repairs": [repair for repair in report["repairs"] if "method" not in repair["change"]]}
    if reading["asks"] == "cost" and "sequences" not in scenario:
        found["sequences"] = max(min(AT_ONCE, report["memory"].get("max_sequences") or 1), 1)
        values["sequences"] = str(found["sequences"])
        report = answered(calculator, values, more)
    return Worked(calculator, values, found, report, more=more)


def kept_busy(scenario: dict[str, Any]) -> tuple[dict[str, Any], dict[str, object]]:
    """Return a scenario with as many requests in the server as it takes at once, and how many; one where none fits."""
    report = held(scenario)
    rest = {name: value for name, value in scenario.items() if name != "sequences"}
    field = "sequences" if report["scenario"]["engine"] == "none" else "concurrency"  # which an engine alone serves
    busy = {field: report["memory"]["sequences"]} if report["memory"]["max_sequences"] else {}
    return rest | busy, busy


def answered(calculator: Calculator, values: Values, more: dict[str, Any]) -> Any:
    """Return the report of a form's inputs, with what of a line's scenario the form has no field for."""
    asked = {**calculator.asked(values), **more}
    if "host" in asked and more and "host" not in more and not leaves(asked):  # of such weights another engine is usual
        del asked["host"]
    return calculator.answer(asked)
