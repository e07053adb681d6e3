"""Says how many published outcomes are answered as they came out, and how surely: `python -m tests.outcomes`.

An answer is sure where it says that something does not run, and where what it says of memory is by its `chance` as
likely as `SURE` asks for. That it starts is sure only where it is not in doubt that it runs, and somebody has measured
the like: of what had room at first sight and nobody had measured, four of ten did not run. Of a version that is named
it has to be measured in this one or an older one, and the family of models too: of what was sure without that, half
did not start. Of training it is known only what does not run, and all of its memory has to be counted.
`first_answers.csv` keeps what was answered to questions that were written down before anything was computed of them.
"""

from collections import Counter
from collections.abc import Iterable
from csv import DictReader
from pathlib import Path
from typing import Any, NamedTuple

from calc import ScenarioError, estimate
from calc.planning.chance import SURE

DATA = Path(__file__).parent / "data"
STARTS, REFUSED, FULL = "starts", "does not start", "out of memory"
UNKNOWN = "not in the catalogue"
SAID: dict[str, Any] = {"true": True, "false": False}
DEGREES = ("tensor", "pipeline", "data", "context", "expert")
Row = dict[str, str]


class Answer(NamedTuple):
    """What is said of an outcome, and whether it is surely so."""

    outcome: str
    sure: bool


def read(name: str) -> list[Row]:
    """Return the rows of a file of outcomes."""
    return list(DictReader((DATA / name).read_text().splitlines()))


def scenario_of(row: Row) -> dict[str, Any]:
    """Return what a row asks; of a training run `engine` is the framework, and the context a sequence's length."""
    more: dict[str, Any] = dict(pair.split("=") for pair in row["more"].split())
    trains = more.get("workload") == "training"
    engine, tokens = ("framework", "sequence_tokens") if trains else ("engine", "context_tokens")
    stated = {"model": "model", "engine": engine, "accelerator": "accelerator", "weights": "weights"}
    stated["memory_limit"] = "memory_limit"
    scenario: dict[str, Any] = {field: row[name] for name, field in stated.items() if row[name]}
    scenario |= {"accelerators": int(row["accelerators"]), tokens: int(row["context_tokens"])}
    if row["memory_fraction"]:
        scenario["memory_fraction"] = float(row["memory_fraction"])
    more = {name: SAID.get(value, int(value) if value.isdigit() else value) for name, value in more.items()}
    if "offload" in more:
        more["offload"] = more["offload"].split("+")
    if degrees := {name: more.pop(name) for name in DEGREES if name in more}:
        scenario["parallelism"] = degrees
    return {**scenario, **more}


def answered(row: Row) -> Answer:
    """Return the answer to a question: what does not run comes before what does not fit."""
    try:
        report: Any = estimate(scenario_of(row), repairs=False)
    except ScenarioError as error:
        if error.field.startswith("parallelism"):  # a layout that no engine takes
            return Answer(REFUSED, sure=True)
        assert error.field in ("model", "accelerator") and "not in the catalogue" in error.message
        return Answer(UNKNOWN, sure=False)
    if report["runs"] is False:
        return Answer(REFUSED, sure=True)
    memory = report["memory"]
    if memory["fits"]:
        runs = report["runs"] is True or memory.get("counted", False)  # of training it is not known what runs
        return Answer(STARTS, sure=runs and report["measured"].get("started", False) and memory["chance"] >= SURE)
    return Answer(FULL, sure=memory["chance"] <= 1 - SURE)


def line(title: str, answers: Iterable[tuple[str, Answer]]) -> str:
    """Return a line on answers: how many are right, and how many of those that are sure."""
    listed = list(answers)
    counts = Counter((answer.sure, answer.outcome == outcome) for outcome, answer in listed)
    unknown = sum(answer.outcome == UNKNOWN for _, answer in listed)
    sure, right = counts[True, True] + counts[True, False], counts[True, True] + counts[False, True]
    return (
        f"{title}: {right} of {len(listed)} right, {unknown} not known; sure {sure}, of which {counts[True, True]} "
        f"right ({counts[True, True] / max(sure, 1):.1%}); unsure {len(listed) - sure - unknown}, of which "
        f"{counts[False, True]} right"
    )


def main() -> None:
    """Print what is answered now, and what was at first sight."""
    print(line("now", ((row["outcome"], answered(row)) for row in read("questions.csv"))))
    firsts = [(row, Answer(row["answer"], row["sure"] == "yes")) for row in read("first_answers.csv")]
    for batch in dict.fromkeys(row["batch"] for row, _ in firsts):
        print(
            line(
                f"{batch}, at first sight", ((row["outcome"], first) for row, first in firsts if row["batch"] == batch)
            )
        )
    print(line("the same, now", ((row["outcome"], answered(row)) for row, _ in firsts)))


if __name__ == "__main__":
    main()
