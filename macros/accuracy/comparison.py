"""The same cases through other public tools, as `python -m tests.comparison` last asked them."""

import json
from pathlib import Path
from typing import Any

from calc.calculators.html import element, table, text
from calc.units import show_count
from calc.validation.tools import answered
from macros.accuracy.page import percent
from macros.markdown import block, inline

__all__ = ["comparison_date", "comparison_table", "comparison_tools", "serving_comparison_table"]

ASSETS = Path(__file__).parents[2] / "docs" / "assets"
RESULT, SERVERS = ASSETS / "comparison.json", ASSETS / "serving-comparison.json"
FIGURES = {"ttft_ms": "Time to the first token", "tpot_ms": "Time per output token"}
KINDS = {
    "weights": "Weights",
    "cache": "Cache",
    "inference": "Inference, all of a device",
    "pool": "Cache that vLLM sets aside",
    "training": "Training, all of a device",
}


def result() -> dict[str, Any]:
    """Return what the tools answered."""
    found: dict[str, Any] = json.loads(RESULT.read_text(encoding="utf-8"))
    return found


def linked(tool: dict[str, Any]) -> str:
    """Return a tool's name and version, as a link."""
    return element("a", text(f"{tool['name']} {tool['version']}"), href=tool["url"], rel="noopener")


def comparison_date() -> str:
    """Return the day on which the tools were asked."""
    return inline(text(result()["date"]))


def comparison_table() -> str:
    """Return for each kind of figure the errors of each tool that answers it, beside the guide's on the same cases."""
    rows = []
    for kind, label in KINDS.items():
        rows += compared_rows(result()["tools"], kind, label)
    return compared_table(rows, "The same cases through other tools")


def serving_comparison_table() -> str:
    """Return the errors of simulators of servers under load, beside the guide's on the same rows."""
    tools = json.loads(SERVERS.read_text(encoding="utf-8"))["tools"]
    rows = [row for figure, label in FIGURES.items() for row in compared_rows(tools, figure, label)]
    return compared_table(rows, "The same servers through simulators")


def compared_rows(tools: list[dict[str, Any]], kind: str, label: str) -> list[list[str]]:
    """Return a row for each tool that answers a kind of figure."""
    rows = []
    for tool in tools:
        found = tool["kinds"][kind]
        if "tool" not in found:
            continue
        theirs, ours = found["tool"], found["ours"]
        answered = f"{show_count(theirs['rows'])} of {show_count(found['cases'])}"
        errors = [percent(side[key]) for side in (theirs, ours) for key in ("median", "p80", "largest")]
        rows.append([text(label), linked(tool), answered, percent(theirs["bias"], sign=True), *errors])
    return rows


def compared_table(rows: list[list[str]], caption: str) -> str:
    """Return errors of tools and of the guide as a table."""
    names = ("Figure", "Tool", "Cases", "Bias", "Median error", "80 % within", "Largest")
    headings = (*names, "This guide: median", "80 % within", "Largest")
    return block(table(headings, rows, caption=caption, words=2))


def comparison_tools() -> str:
    """Return what each tool says that it counts, and how often it has no answer."""
    rows = []
    for tool in result()["tools"]:
        said, every = answered(tool)
        rows.append([linked(tool), text(tool["counts"]), f"{show_count(said)} of {show_count(every)}"])
    return block(table(("Tool", "What it counts", "Answered"), rows, caption="What the tools count", words=2))
