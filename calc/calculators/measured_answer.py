"""The answer to a measurement: computed and measured side by side, what would have to be otherwise, and what to do."""

import json
from typing import Any

from calc.calculators.asked import asked_words
from calc.calculators.html import element, table, text
from calc.calculators.inputs import Report
from calc.calculators.rendering import details, listing, source_html, sources_of, verdict_html, warnings_html
from calc.calculators.sizes import size_binary, size_gib
from calc.catalog import catalog
from calc.measured_run.comparison import Compared, Figure, what_it_takes
from calc.measured_run.corrections import corrections, mismatched
from calc.measured_run.terms import BYTES, RATE, SECONDS, TERMS
from calc.measured_run.training_run import TrainingRun, what_training_takes
from calc.units import show_count, show_number, show_seconds, show_tokens_per_s

SHOWN = {BYTES: size_gib, RATE: show_tokens_per_s, SECONDS: show_seconds}
SAME = 0.01  # what differs by less is the same
HELP = {
    True: "The guide's answers for this device under this engine can be corrected by what you measured, in this "
    "browser alone. Corrected answers say so, and one press takes it back.",
    False: "The weights measured are not those of the scenario: choose the number format of the run first.",
}
KEPT = "Kept in this browser: from now on answers for this device under this engine are corrected."
ASSUMPTIONS = [
    "The run was alone on its devices, warm, and did what the form says.",
    "The range of a speed is where four of five published measurements lie; of memory it is its calibrated range; of "
    "what shapes decide, weights and cache, two in a hundred.",
    "In GiB: tools that write GB for memory mostly mean it.",
]


def shown(name: str, value: float) -> str:
    """Return a term's value as readers expect it."""
    return SHOWN.get(TERMS[name].unit, show_count)(value)


def headline(report: Report) -> tuple[bool | None, str, str]:
    """Return whether all that was measured lies in its range, and the answer in a headline and a sentence."""
    found: list[Compared] = report["compared"]
    if not report["measured_terms"]:
        return None, "Nothing measured yet:", "paste what a program printed, or put in figures under Measured."
    if not found:
        return None, "Nothing to compare:", "of what was measured, nothing is computed for this run."
    inside = [one for one in found if one.within]
    count = f"{len(inside)} of {len(found)}"
    if len(inside) == len(found):
        terms = "the one term measured lies" if len(found) == 1 else f"all {len(found)} terms measured lie"
        return True, "It agrees:", f"{terms} in the range of what is computed."
    most = max(found, key=lambda one: 0 if one.within else max(one.ratio, 1 / one.ratio if one.ratio else 1))
    said = f"{TERMS[most.id].label} is {show_number(most.ratio)} times what is computed"
    return False, "It differs:", f"{count} terms lie in their range. {said}."


def comparison_html(report: Report) -> str:
    """Return the table of what was measured beside what is computed; empty where nothing was."""
    rows = [
        [
            text(TERMS[one.id].label),
            shown(one.id, one.measured),
            computed_html(one.id, one.computed),
            f"× {show_number(one.ratio)} {element('small', 'in the range' if one.within else 'outside')}",
        ]
        for one in report["compared"]
    ]
    headings = ("Term", "Measured", "Computed", "Ratio")
    return table(headings, rows, caption="Measured and computed", class_="calc-parts") if rows else ""


def others_html(report: Report) -> str:
    """Return the table of what else is computed of the run, open where nothing was measured."""
    measured, figures = {one.id for one in report["compared"]}, report["figures"]
    names = [name for name in TERMS if name in figures and name not in measured]
    rows = [[text(TERMS[name].label), computed_html(name, figures[name])] for name in names]
    title = "What else is computed of this run" if measured else "What is computed of this run"
    shown_table = table(("Term", "Computed"), rows, caption=title, class_="calc-parts")
    return details(title, "others", shown_table) if measured else shown_table


def computed_html(name: str, figure: Figure) -> str:
    """Return what is computed of a term, with its range below."""
    value, low, high = (shown(name, size) for size in figure)
    between = "" if low == high else element("small", f"{low} to {high}")
    return value + (f" {between}" if between else "")


def otherwise_html(report: Report) -> str:
    """Return what would have to be otherwise for each term that was measured differently."""
    takes = what_training_takes if isinstance(report["run"], TrainingRun) else what_it_takes
    items = []
    for one in report["compared"]:
        if abs(one.ratio - 1) > SAME:
            show = size_binary if one.id == "kv_cache_bytes" else size_gib
            items.append(f"{text(TERMS[one.id].label)}: {text(takes(one, report, show))}.")
    if not items:
        return ""
    heading = element("p", element("strong", "For what you measured"))
    return heading + element("ul", "".join(element("li", item) for item in items), class_="calc-facts")


def correction_html(report: Report) -> str:
    """Return the offer to correct the guide's answers; empty where nothing differs that could be corrected."""
    measured, where = report["measured_terms"], report["scenario"]
    if not measured or not where.get("accelerator") or where.get("engine", "none") == "none":
        return ""  # a training run has no engine, and its coefficients are not corrected
    if mismatched(report["figures"], measured):
        return element("p", text(HELP[False]), class_="calc-help")
    if all(abs(one.ratio - 1) <= SAME for one in report["compared"]):
        return ""
    name, engine = catalog().accelerator(where["accelerator"]).name, catalog().engine(where["engine"]).name
    label = f"Correct my answers for {name} under {engine}"
    button = element("button", text(label), type="button", data_correct=True)
    return element("p", text(HELP[True]), class_="calc-help") + element("p", button, class_="calc-correct")


def correction(report: Report) -> dict[str, Any]:
    """Return the correction that a reader keeps, or None under "kept", and what to tell of it.

    Its factors take several estimates to find, so that they are sought when the button is pressed and not before.
    """
    run, where = report["run"], report["scenario"]
    found = corrections(run, report["figures"], report["measured_terms"])
    if not found:
        return {"ok": True, "kept": None, "status": "No factor of the guide's terms gives what was measured."}
    kept = {"accelerator": where["accelerator"], "engine": where["engine"], "correction": found}
    return {"ok": True, "kept": kept, "status": KEPT}


def written_report(report: Report) -> str:
    """Return what a reader may send to the guide: the scenario, what was measured and computed, as Markdown."""
    lines = [
        f"{asked_words(report)}, facts of {catalog().version}",
        "",
        "| Term | Measured | Computed | Range |",
        "|---|--:|--:|--:|",
    ]
    for one in report["compared"]:
        low, high = shown(one.id, one.computed.low), shown(one.id, one.computed.high)
        cells = (
            TERMS[one.id].label,
            shown(one.id, one.measured),
            shown(one.id, one.computed.value),
            f"{low} to {high}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    asked: dict[str, Any] = {**report["run"]._asdict(), "measured": report["measured_terms"]}
    return "\n".join([*lines, "", "```json", json.dumps(asked, indent=1), "```", "", "Where it was published, or how:"])


def report_html(report: Report) -> str:
    """Return the report to send: its text, and a link that the page's script fills with the guide's repository."""
    if not report["compared"]:
        return ""
    title = f"Measured otherwise: {asked_words(report)}"
    link = element("a", "Open it as an issue", href="#", data_send=title, hidden=True)
    body = element("pre", text(written_report(report)), tabindex=0) + element("p", link)
    return details("A report of it, ready to send", "report", body)


def render(report: Report) -> str:
    """Return the answer's HTML."""
    return "".join(
        (
            verdict_html(*headline(report), asked=asked_words(report)),
            warnings_html(report["warnings"]),
            comparison_html(report),
            otherwise_html(report),
            correction_html(report),
            others_html(report),
            report_html(report),
            listing("Assumptions", "assumptions", [text(item) for item in ASSUMPTIONS]),
            listing("Sources", "sources", [source_html(source) for source in sources_of(report)]),
        )
    )


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    found = report["compared"]
    inside = sum(one.within for one in found)
    return str(len(found)), str(inside), headline(report)[1].rstrip(":")
