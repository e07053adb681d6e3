"""From an answer to a running program: the command that starts it, why each flag is there, what is beside it."""

from collections.abc import Mapping
from typing import Any

from calc.calculators.html import element, table, text
from calc.calculators.inputs import Report
from calc.calculators.rendering import details, warnings_html
from calc.catalog import catalog

COPY = element("button", "Copy", type="button", data_copy=True)
CLUSTERS = (("slurm", "Slurm"), ("kubernetes", "Kubernetes"))


def start_html(report: Report) -> str:
    """Return the button for the command of a calculator's own answer; nothing where no program is asked for."""
    scenario = report["scenario"]
    trains = scenario["workload"] == "training"
    known = trains or scenario["engine"] in catalog().ids("launchers")
    return element("p", launch_button(), class_="calc-launch") if known else ""


def launch_button(option: str = "", label: str = "Launch command", case: str = "") -> str:
    """Return the button that asks for a command: of the form's own fields, or of an option written as JSON.

    A `case` tells it from the buttons of other options where it is heard and not seen.
    """
    heard = f"{label}: {case}" if case else None
    return element("button", label, type="button", data_launch=option, aria_label=heard)


def started_html(started: Mapping[str, Any]) -> str:
    """Return how something is started, as `calc.launch` answers: commands, what to know, flags, files, clusters."""
    parts = [block(command["where"], command["text"]) for command in started["commands"]]
    parts += [block(file["name"], file["text"]) for file in started["files"]]
    parts.append(warnings_html(started["warnings"]))
    rows = [
        [element("code", text(f"{flag['flag']} {flag['value'] or ''}".strip())), text(flag["because"])]
        for flag in started["flags"]
    ]
    if rows:
        parts.append(table(("Flag", "Because of"), rows, caption="Why each flag is there", words=2))
    for name, label in CLUSTERS:
        if started[name]:
            parts.append(details(label, name, block("", started[name])))
    return "".join(parts)


def block(name: str, written: str) -> str:
    """Return a text to copy, with what it is."""
    heading = element("p", element("strong", text(name[0].upper() + name[1:]))) if name else ""
    code = element("pre", element("code", text(written)), tabindex=0)
    return heading + element("div", code + COPY, class_="calc-code")
