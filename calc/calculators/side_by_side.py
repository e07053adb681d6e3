"""Scenarios side by side: what each asks and answers, a column each, with what differs marked."""

from typing import Any, NamedTuple

from calc.calculators.asked import asked_words
from calc.calculators.calculator import Calculator
from calc.calculators.html import ROOT, element, table, text
from calc.calculators.inputs import Report, Values
from calc.calculators.line_link import address_of
from calc.calculators.taking import shown
from calc.errors import ScenarioError
from calc.units import show_count, show_dollars, show_gb, show_gib, show_seconds, show_tokens_per_s

MOST = 4
NONE = "–"
SPEEDS = (
    ("decode_tokens_per_s", "Tokens written, all sequences", show_tokens_per_s),
    ("prefill_tokens_per_s", "Tokens read", show_tokens_per_s),
    ("time_to_first_token_s", "Time to the first token", show_seconds),
    ("time_per_output_token_s", "Time per output token", show_seconds),
    ("tokens_per_s_per_device", "Tokens trained, each device", show_tokens_per_s),
    ("step_s", "A step of training", show_seconds),
)
SIZES = (
    ("device_bytes", "Used on each device"),
    ("capacity_bytes", "A device has"),
    ("headroom_bytes", "Left on each device"),
    ("sum_over_devices_bytes", "All devices together"),
)


class Pinned(NamedTuple):
    """A calculator's answer that a reader has put aside: the fields that differ from the defaults, and the report."""

    calculator: Calculator
    values: Values
    report: Report


def side_by_side(pinned: list[Pinned], *, kept: bool = False) -> tuple[str, str]:
    """Return the table of up to `MOST` answers, and what differs in a sentence; raises ScenarioError for more.

    Those that are kept have no button that takes them away.
    """
    if not 0 < len(pinned) <= MOST:
        raise ScenarioError("pinned", f"must be one to {MOST} answers, not {len(pinned)}")
    rows, different = [], 0
    for label, cells in (*asked_rows(pinned), *answered_rows(pinned)):
        differs = len(set(cells)) > 1
        different += differs
        rows.append([text(label), *(marked(cell) if differs else text(cell) for cell in cells)])
    heads = [heading(one) + ("" if kept else remove(place)) for place, one in enumerate(pinned)]
    shown = table(("What", *heads), rows, caption="Side by side", class_="calc-beside", words=len(pinned) + 1)
    told = f"{len(pinned)} answers, {different} of {len(rows)} lines differ." if len(pinned) > 1 else "One answer."
    return shown, told


def heading(one: Pinned) -> str:
    """Return a column's heading: the question in a line, which leads to its form."""
    link = element("a", text(one.calculator.title), href=ROOT + address_of(one.calculator, one.values))
    return f"{link} {element('small', text(asked_words(one.report)))}"


def remove(place: int) -> str:
    """Return the button that takes a column away."""
    return " " + element("button", "Remove", type="button", data_remove=place)


def marked(cell: str) -> str:
    """Return a cell that differs from another of its row."""
    return element("mark", text(cell))


def asked_rows(pinned: list[Pinned]) -> list[tuple[str, list[str]]]:
    """Return the inputs that any of the answers has changed, by their labels."""
    labels: dict[str, str] = {}
    for one in pinned:
        fields = {field.name: field for field in one.calculator.inputs}
        labels |= {name: fields[name].label for name in one.values if one.values[name] != fields[name].default}
    return [(label, [asked_cell(one, name) for one in pinned]) for name, label in labels.items()]


def asked_cell(one: Pinned, name: str) -> str:
    """Return what an answer was asked in an input, in the words of its form; a dash where it has none."""
    field = next((field for field in one.calculator.inputs if field.name == name), None)
    return NONE if field is None else shown(field, one.values.get(name, field.default)) or NONE


def answered_rows(pinned: list[Pinned]) -> list[tuple[str, list[str]]]:
    """Return what the answers say, line by line: the verdict, memory with its parts, speeds, and the cost."""
    found = [("Answer", [one.calculator.status(one.report) for one in pinned])]
    memories: list[dict[str, Any]] = [one.report.get("memory") or {} for one in pinned]
    for name, label in SIZES:
        found.append((label, [size_cell(memory.get(name)) for memory in memories]))
    labels = {part["id"]: part["label"] for memory in memories for part in memory.get("parts", []) if part["bytes"]}
    for part_id, label in labels.items():
        sizes = [sum(part["bytes"] for part in memory.get("parts", []) if part["id"] == part_id) for memory in memories]
        found.append((f"… {label}", [size_cell(size or None) for size in sizes]))
    for name, label, show in SPEEDS:
        figures = [(one.report.get("speed") or {}).get(name) for one in pinned]
        found.append((label, [show(figure["typical"]) if figure else NONE for figure in figures]))
    costs = [((one.report.get("cost") or {}).get("rent") or {}).get("per_million_output_tokens") for one in pinned]
    found.append(
        ("Rent of a million output tokens", [show_dollars(cost["typical"]) if cost else NONE for cost in costs])
    )
    counts = [(one.report.get("memory") or {}).get("max_sequences") for one in pinned]
    found.append(("Most sequences at once", [show_count(count) if count else NONE for count in counts]))
    return [(label, cells) for label, cells in found if set(cells) != {NONE}]


def size_cell(size: int | None) -> str:
    """Return a size in both units; a dash where there is none."""
    return NONE if size is None else f"{show_gib(size)} ({show_gb(size)})"
