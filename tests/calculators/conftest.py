"""The planner's answers, looked for once where tests only show them."""

import json
from collections.abc import Mapping
from copy import deepcopy
from functools import lru_cache

import pytest

from calc.planner import answer
from calc.planner.steps import Steps, finished


@lru_cache(maxsize=64)
def found(question: str) -> answer.Answer:
    """Return the planner's answer to a question in JSON."""
    return finished(answer.answering(json.loads(question)))


def answering(asked: Mapping[str, object]) -> Steps[answer.Answer]:
    """Answer a question as the planner did before, in no steps."""
    yield from ()
    return deepcopy(found(json.dumps(asked)))


@pytest.fixture
def remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forms show what the planner answered to the same question before: many tests ask what a form begins with."""
    monkeypatch.setattr("calc.calculators.planned.answering", answering)
