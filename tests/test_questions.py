"""Does it start? Asked as people ask, against what they published: it starts, it does not, or memory runs out."""

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from calc import estimate

ROWS = list(csv.DictReader((Path(__file__).parent / "data" / "questions.csv").read_text().splitlines()))
STARTS, REFUSED, FULL = "starts", "does not start", "out of memory"
LEAST_RIGHT = 0.95


def answered(row: dict[str, str]) -> str:
    """Return the answer to a question: what does not run comes before what does not fit."""
    scenario: dict[str, Any] = {name: row[name] for name in ("model", "engine", "accelerator", "weights")}
    scenario |= {"accelerators": int(row["accelerators"]), "context_tokens": int(row["context_tokens"])}
    if row["memory_fraction"]:
        scenario["memory_fraction"] = float(row["memory_fraction"])
    if row["memory_limit"]:
        scenario["memory_limit"] = row["memory_limit"]
    report: Any = estimate(scenario)
    if report["runs"] is False:
        return REFUSED
    return STARTS if report["memory"]["fits"] else FULL


@pytest.fixture(scope="module")
def answers() -> list[tuple[dict[str, str], str]]:
    """Return every question with its answer."""
    return [(row, answered(row)) for row in ROWS]


def test_there_are_two_hundred_questions() -> None:
    """Each has a source, and all three outcomes are asked for."""
    assert len(ROWS) >= 200 and all(row["source"].startswith("https://") for row in ROWS)
    assert min(Counter(row["outcome"] for row in ROWS)[outcome] for outcome in (STARTS, REFUSED, FULL)) >= 20


def test_nearly_all_answers_are_right(answers: list[tuple[dict[str, str], str]]) -> None:
    """At least 95 of 100 are as published, whatever rows say that contradicts their own sizes."""
    wrong = [(answer, row) for row, answer in answers if answer != row["outcome"]]
    assert len(wrong) <= (1 - LEAST_RIGHT) * len(answers), wrong


@pytest.mark.parametrize("outcome", [STARTS, REFUSED, FULL])
def test_no_outcome_is_neglected(answers: list[tuple[dict[str, str], str]], outcome: str) -> None:
    """Nine in ten of each are found, and nine in ten that get it have it; eight in ten where memory runs out."""
    having = [answer for row, answer in answers if row["outcome"] == outcome]
    given = [row["outcome"] for row, answer in answers if answer == outcome]
    assert having.count(outcome) >= 0.9 * len(having)
    assert given.count(outcome) >= (0.8 if outcome == FULL else 0.9) * len(given)


def test_what_is_known_not_to_start_never_fits(answers: list[tuple[dict[str, str], str]]) -> None:
    """No question that an engine's own table answers with no gets a yes."""
    assert not [row for row, answer in answers if row["outcome"] == REFUSED and answer == STARTS]
