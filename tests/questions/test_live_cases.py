"""What people asked in trackers of engines, against what came of it.

The cases stand in `calc/catalog/data/questions/`, because a page of the guide shows them: `docs/cases/questions.md`.
"""

import datetime
import tomllib
from typing import Any

import pytest

from calc.calculators.line_link import asks_all, form_values
from calc.calculators.page import CALCULATORS
from calc.catalog.entries import DATA
from calc.validation.questions import (
    OUTCOME,
    SIZES,
    TOLERANCES,
    TOPICS,
    Figure,
    number_of,
    outcome_of,
    questions,
)

LEAST = 85
LEAST_RIGHT = 47  # of 49 that are: no change loses more unnoticed
MOST_ODD = 4
FOLDER = DATA / "questions"


def test_there_are_enough_of_many_trackers() -> None:
    """Eighty-five and more, of seven programs, each from a page of its own with its day."""
    found = questions()
    assert len(found) >= LEAST and len({question.tracker for question in found}) >= 7
    for question in found:
        assert question.url.startswith("https://github.com/") and question.asks.endswith(("?", "tokens/s."))
        assert datetime.date(2023, 1, 1) <= datetime.date.fromisoformat(question.dated) <= datetime.date(2026, 11, 22)


def test_ids_are_unique() -> None:
    """A name stands for one case over all topics."""
    names = [question.id for question in questions()]
    assert len(names) == len(set(names))


def test_every_file_is_a_topic() -> None:
    """Each topic has its file, and no file is left out."""
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(TOPICS)


def test_what_is_answered_otherwise_says_why() -> None:
    """A case has a reason where its answer is not the published one, and none where it is.

    A coefficient that moves turns a few that are near the edge: they may wait until somebody looks into them.
    """
    odd = [question.id for question in questions() if bool(question.reason) == question.right]
    assert len(odd) <= MOST_ODD, odd


def test_no_fewer_are_right() -> None:
    """What was answered right stays so, but for what is near the edge."""
    assert sum(question.right for question in questions()) >= LEAST_RIGHT


def test_tolerances_are_one_rule() -> None:
    """No case has a tolerance of its own: its unit decides."""
    for topic in TOPICS:
        for entry in tomllib.loads((FOLDER / f"{topic}.toml").read_text(encoding="utf-8")).values():
            assert all(item.keys() <= {"value", "published", "unit"} for item in entry["expects"])
            assert all(item.get("unit", "s") in TOLERANCES for item in entry["expects"])


@pytest.mark.parametrize(
    ("published", "answer", "unit", "right"),
    [
        (100, 124, "tokens/s", True),
        (100, 126, "tokens/s", False),
        (100, 79, "tokens/s", False),
        (100, None, "tokens/s", False),
        (100, 0, "s", False),
        ("starts", "starts", "", True),
        ("starts", "out of memory", "", False),
    ],
)
def test_what_is_right(published: str | float, answer: str | float | None, unit: str, *, right: bool) -> None:
    """A speed may be a quarter too high, or so low that the published one is a quarter above; outcomes are equal."""
    assert Figure("speed.decode_tokens_per_s", published, unit, answer).right is right


def test_a_number_is_found_by_its_path() -> None:
    """Parts are found by their id, ranges say their typical value, and what is not there is none."""
    report = {"memory": {"parts": [{"id": "weights", "bytes": 2**30}]}, "speed": {"x": {"low": 1, "typical": 2}}}
    assert number_of("memory.parts.weights.bytes", report, 2**20) == 1024
    assert number_of("speed.x", report, 1) == 2
    assert number_of("memory.parts.none.bytes", report, 1) is None and number_of("speed.x", None, 1) is None


def test_a_link_opens_the_very_case() -> None:
    """Where a form asks for all of a case, it answers what the page shows beside the link; many can be asked so."""
    opened = 0
    for question in questions():
        fast = any(figure.value.startswith(("speed", "cold")) for figure in question.figures)
        calculator = CALCULATORS["speed" if fast else "will-it-fit"]
        if not asks_all(calculator, question.scenario):
            continue
        opened += 1
        report: Any = calculator.report(form_values(calculator, question.scenario))
        for figure in question.figures:
            if figure.value != OUTCOME:
                assert number_of(figure.value, report, SIZES[figure.unit]) == figure.answer
            else:
                assert outcome_of(report) == figure.answer
    assert opened >= 30
