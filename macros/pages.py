"""What stands on pages as a whole: calculators, their worked examples, the benchmark's result."""

import json
from pathlib import Path

from mkdocs.utils import get_relative_url

from calc.calculators import render_calculator, render_comparison, render_presets
from calc.calculators.html import element, table, text
from calc.calculators.line_field import render_line
from calc.calculators.page import CALCULATORS
from calc.catalog import catalog
from macros.embedded import FOLDER
from macros.links import calculator_address, module, standing_on
from macros.markdown import block
from macros.worked import worked

__all__ = [
    "benchmark",
    "calculator",
    "calculator_list",
    "embedding_table",
    "presets",
    "question",
    "side_by_side",
    "version",
]

BENCHMARK = Path(__file__).parent.parent / "docs" / "assets" / "benchmark.json"
COMPARING_SCRIPT = "assets/calculator/comparing.mjs"
QUESTION_SCRIPT = "assets/question/question.mjs"
EXAMPLES = 2  # of a calculator that the list of them names
_placed: set[tuple[str, str]] = set()  # the page and the prefix of every calculator of this build


def calculator(name: str, prefix: str = "", **changed: object) -> str:
    """Return a calculator with its finished answer; `changed` are inputs that begin with another value.

    Two on one page need a `prefix` to tell their fields and their keys in the address apart.
    """
    place = (standing_on(), prefix or name)
    if place in _placed:
        raise ValueError(f"the page has a calculator {place[1]!r} already: give this one another prefix")
    _placed.add(place)
    return block(render_calculator(name, {key: str(value) for key, value in changed.items()}, prefix))


def question(*examples: str) -> str:
    """Return the field for a question in one line, with examples whose answers are finished."""
    script = module(QUESTION_SCRIPT)
    return block(render_line(examples) + script)


def side_by_side() -> str:
    """Return the table of answers side by side, which begins with one question on two machines."""
    asked = {"model": "llama-3.3-70b", "weights": "q4_k_m"}
    devices = ({"accelerator": "rtx-3090", "accelerators": "2"}, {"accelerator": "m4-max-64gb"})
    found = render_comparison([{"calculator": "speed", "fields": {**asked, **device}} for device in devices])
    script = module(COMPARING_SCRIPT)
    return block(found + script)


def presets(name: str) -> str:
    """Return the table of a calculator's worked examples, each a link that fills in the calculator."""
    worked(name)  # for the pages of sources and formulas, which another process may render
    return block(render_presets(name, calculator_address(name)))


def calculator_list() -> str:
    """Return every calculator: its name, which leads to it, the question that it answers, and its examples."""
    rows = []
    for found in CALCULATORS.values():
        link = element("a", text(found.title), href=calculator_address(found.id))
        named = [preset.name for preset in found.presets if not preset.name.startswith("…")][:EXAMPLES]
        rest = len(found.presets) - len(named)
        examples = "; ".join(named) + (f"; {rest} more" if rest else "")
        rows.append([link, text(found.question), text(examples)])
    headings = ("Calculator", "What it answers", "Worked examples, such as")
    return block(table(headings, rows, caption="All calculators", class_="calc-worded", words=len(headings)))


def embedding_table() -> str:
    """Return the address of each calculator that stands alone."""
    rows = []
    for found in CALCULATORS.values():
        path = f"{FOLDER}/{found.id}/"
        link = element("a", text(path), href=get_relative_url(path, standing_on()))
        rows.append([text(found.title), link])
    return block(table(("Calculator", "Address"), rows, caption="Calculators that stand alone", words=2))


def version() -> str:
    """Return the date of the newest fact in the catalogue."""
    return catalog().version


def benchmark(table_name: str) -> str:
    """Return one table of the start-up benchmark's last run, as `python3 guide.py bench` wrote it."""
    result = json.loads(BENCHMARK.read_text(encoding="utf-8"))
    found = result["tables"][table_name]
    rows = [[text(cell) for cell in row] for row in found["rows"]]
    return block(table(found["headings"], rows, caption=found["caption"]))


def restart() -> None:
    """Forget which calculators the last build placed."""
    _placed.clear()
