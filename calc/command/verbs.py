"""What the command line answers, by verb."""

from collections.abc import Callable
from typing import Any

from calc import estimate, plan, read_line
from calc.calculators import training_answer
from calc.calculators.asked import asked_words
from calc.calculators.html import in_words
from calc.calculators.line import answer_line, report_of
from calc.calculators.line_cases import cases_of
from calc.calculators.line_sides import labels
from calc.calculators.options import fleet
from calc.calculators.rendering import by_severity
from calc.calculators.will_it_fit import CALCULATOR as WILL_IT_FIT
from calc.command.printing import Rows, print_json, print_table
from calc.lines.reading import OF_DEVICES
from calc.lines.settling import settled_question
from calc.units import show_count, show_dollars, show_gb, show_gib, show_number, show_seconds, show_tokens_per_s

Report = dict[str, Any]
Scenario = dict[str, Any]
MISSES = 1  # exit status of what does not fit or run, or where nothing serves


def fit(scenario: Scenario, *, as_json: bool) -> int:
    """Print whether a scenario fits, its memory by part, and its speed."""
    report: Report = estimate(scenario)
    if as_json:
        print_json(report)
    else:
        print(sentence(report))
        print_memory(report)
        print_speed(report)
        print_warnings(report)
    return status(report)


def explain(scenario: Scenario, *, as_json: bool) -> int:
    """Print the working of a scenario: each step with its numbers, result and source."""
    report: Report = estimate(scenario)
    if as_json:
        print_json({"scenario": report["scenario"], "steps": report["steps"]})
        return status(report)
    print(sentence(report))
    for step in report["steps"]:
        value = show_count(step["value"]) if float(step["value"]).is_integer() else show_number(step["value"], 4)
        print(
            f"\n{step['name']}\n  {step['substituted']} = {value} {step['unit']}".rstrip()
            + f"\n  source: {step['source']}"
        )
    return status(report)


def search(question: dict[str, Any], *, as_json: bool) -> int:
    """Print the best options of a question of the planner."""
    answer: Report = plan(question)
    if as_json:
        print_json(answer)
    elif answer["options"]:
        print(f"The best: {answer['options'][0]['why']}.")
        print_options(answer, question)
    else:
        for reason, entry in answer["rejected"].items():
            nearest = f", the nearest: {entry['nearest']['lacks']}" if entry["nearest"] else ""
            print(f"{reason}: {entry['count']} do not serve{nearest}")
        print("Nothing serves.")
    return 0 if answer["options"] else MISSES


def ask(line: str, *, as_json: bool) -> int:
    """Print the answer to a question in one line, and what was not understood of it."""
    reading: Report = read_line(line)
    if as_json:
        print_json(answered(reading))
        return 0 if not reading["missing"] else MISSES
    said = answer_line(line)
    print(in_words(said["status"]))
    if reading["unread"]:
        print("Not understood, and left out: " + ", ".join(part["text"] for part in reading["unread"]))
    if not reading["sides"]:
        return print_answer(reading)
    cases = cases_of(reading)
    settled = [case.found for case in cases] or [{} for _ in reading["sides"]]
    found = []
    for place, name in enumerate(labels(reading, settled)):
        print(f"\n{name}")
        found.append(print_report(cases[place].report) if cases else print_answer(reading["sides"][place]))
    return max(found)


def print_answer(reading: Report) -> int:
    """Print the options or the report that answer a reading, and return the exit status."""
    if reading["question"]:
        question, _ = settled_question(reading["question"])
        print_options(plan(question), question)
    elif reading["scenario"]:
        return print_report(report_of(reading))
    return 0 if reading["question"] or reading["asks"] in OF_DEVICES else MISSES


def print_report(report: Report) -> int:
    """Print what a case takes and how fast it is, and return the exit status."""
    print_memory(report)
    print_speed(report)
    return status(report)


def answered(reading: Report) -> Report:
    """Return a reading with what was settled, and the report or the options that answer it, or each of its sides."""
    if reading["sides"]:
        cases = cases_of(reading)
        sides = (
            map(reported, reading["sides"], [case.report for case in cases])
            if cases
            else map(answered, reading["sides"])
        )
        return {"reading": reading, "sides": list(sides)}
    if reading["question"]:
        question, _ = settled_question(reading["question"])
        return {"reading": reading, "question": question, "answer": plan(question)}
    if reading["scenario"]:
        return reported(reading, report_of(reading))
    if reading["asks"] in OF_DEVICES:
        return {"reading": reading, "answer": in_words(answer_line(reading["line"])["status"])}
    return {"reading": reading}


def reported(reading: Report, report: Report) -> Report:
    """Return a reading with the report that answers it, and the scenario that was settled."""
    return {"reading": reading, "scenario": report["scenario"], "report": report}


def status(report: Report) -> int:
    """Return the exit status of a report: 1 where it does not fit or does not run."""
    return MISSES if report["memory"].get("fits") is False or report.get("runs") is False else 0


def sentence(report: Report) -> str:
    """Return whether something fits, or what it takes where no device is said."""
    memory = report["memory"]
    if "capacity_bytes" not in memory:
        return f"It takes {show_gib(memory['device_bytes'])}: {asked_words(report)}."
    training = report["scenario"]["workload"] == "training"
    answered_by: Callable[[Report], str] = training_answer.status if training else WILL_IT_FIT.status
    return in_words(answered_by(report))


def print_memory(report: Report) -> None:
    """Print the memory of the fullest device by part."""
    parts = [part for part in report["memory"]["parts"] if part["bytes"]]
    rows: Rows = [(part["label"], show_gib(part["bytes"]), show_gb(part["bytes"])) for part in parts]
    total = report["memory"]["device_bytes"]
    print_table(("Part", "GiB", "GB"), [*rows, ("Total", show_gib(total), show_gb(total))])


def print_speed(report: Report) -> None:
    """Print what is known of the speed; nothing where nothing is."""
    shown = {
        "prefill_tokens_per_s": ("Reads", show_tokens_per_s),
        "decode_tokens_per_s": ("Writes, all sequences", show_tokens_per_s),
        "time_to_first_token_s": ("First token after", show_seconds),
        "time_per_output_token_s": ("Between tokens", show_seconds),
        "tokens_per_s_per_device": ("Trains, on each device", show_tokens_per_s),
        "step_s": ("A step", show_seconds),
        "duration_s": ("The run", show_seconds),
    }
    speed = report["speed"] or {}
    rows: Rows = [
        (name, *(show(speed[key][end]) for end in ("low", "typical", "high")))
        for key, (name, show) in shown.items()
        if speed.get(key)
    ]
    if rows:
        print_table(("Speed or time", "Low", "Typical", "High"), rows)


def print_warnings(report: Report) -> None:
    """Print what a reader should know, the gravest first."""
    for warning in by_severity(report["warnings"]):
        print(f"{warning['severity']}: {warning['message']}")


def print_options(answer: Report, question: Report) -> None:
    """Print options of the planner, the best first."""
    limits = question.get("limits", {})
    bought = bool(limits.get("buy") or "price" in limits)
    rows: Rows = []
    for option in answer["options"]:
        scenario, cost = option["scenario"], option["cost"]
        each = (option["speed"] or {}).get("time_per_output_token_s")
        rows.append(
            (
                str(scenario["model"]),
                str(scenario.get("weights", "published")),
                fleet(option),
                show_tokens_per_s(1 / each["typical"]) if each else "–",
                show_gib(option["margin_bytes"]),
                price(cost, bought=bought),
            )
        )
    print_table(("Model", "Weights", "Devices", "Each answer", "Left", "Price"), rows)


def price(cost: Report, *, bought: bool) -> str:
    """Return the rent of an hour, or what it costs to buy where that is asked or nobody rents it out."""
    if cost["rent_per_hour"] and not bought:
        return f"{show_dollars(cost['rent_per_hour'])}/h"
    return f"{show_dollars(cost['purchase'])} to buy" if cost["purchase"] else "–"
