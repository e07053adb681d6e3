"""Live cases: what people asked in trackers of engines, what came of it, and what `estimate` answers.

One rule says which answer is right, the same for all: an outcome is the published one; what a program allocated is
within 5 %, what it sets aside for a cache within 15 %, speeds and times within a quarter.
"""

import tomllib
from functools import lru_cache
from typing import Any, NamedTuple

from calc.catalog.entries import DATA
from calc.errors import ScenarioError
from calc.estimate import estimate

TOPICS = {
    "memory": "Does it fit, and how long a text?",
    "running": "Does it run at all?",
    "host": "A part on the host",
    "speed": "How fast is it?",
}
OUTCOME = "outcome"
STARTS, FULL, REFUSED = "starts", "out of memory", "does not start"
TOLERANCES = {"MiB": 0.05, "GiB": 0.05, "tokens": 0.15, "tokens/s": 0.25, "s": 0.25}  # by unit
SIZES = {"MiB": 2**20, "GiB": 2**30, "tokens": 1, "tokens/s": 1, "s": 1}


class Figure(NamedTuple):
    """One published figure of a case, and what is answered: an outcome, or a number in its unit."""

    value: str  # a path into the report, or "outcome"
    published: str | float
    unit: str
    answer: str | float | None

    @property
    def right(self) -> bool:
        """Whether the answer is the published outcome, or as near as its unit asks for."""
        if isinstance(self.published, str) or not isinstance(self.answer, int | float) or self.answer <= 0:
            return self.answer == self.published
        return max(self.answer / self.published, self.published / self.answer) <= 1 + TOLERANCES[self.unit]


class Question(NamedTuple):
    """A live case, with what is answered."""

    id: str
    topic: str
    tracker: str
    asks: str
    url: str
    dated: str
    scenario: dict[str, Any]
    figures: tuple[Figure, ...]
    reason: str  # why the answer is another one; empty where it is right

    @property
    def right(self) -> bool:
        """Whether all figures are answered right."""
        return all(figure.right for figure in self.figures)


@lru_cache(maxsize=1)
def questions() -> tuple[Question, ...]:
    """Return all live cases, each answered now."""
    return tuple(
        answered(name, topic, entry)
        for topic in TOPICS
        for name, entry in tomllib.loads((DATA / "questions" / f"{topic}.toml").read_text(encoding="utf-8")).items()
    )


def answered(name: str, topic: str, entry: dict[str, Any]) -> Question:
    """Return a live case with what `estimate` says of it."""
    try:
        report = estimate(entry["scenario"], repairs=False)
    except ScenarioError:
        report = None
    return Question(
        id=name,
        topic=topic,
        tracker=entry["tracker"],
        asks=entry["asks"],
        url=entry["url"],
        dated=str(entry["dated"]),
        scenario=entry["scenario"],
        figures=tuple(figure_of(item, report) for item in entry["expects"]),
        reason=entry.get("reason", ""),
    )


def figure_of(item: dict[str, Any], report: dict[str, Any] | None) -> Figure:
    """Return one figure of a case beside what the report says; a scenario that is refused does not start."""
    unit = item.get("unit", "")
    if item["value"] == OUTCOME:
        return Figure(OUTCOME, item["published"], unit, outcome_of(report))
    return Figure(item["value"], item["published"], unit, number_of(item["value"], report, SIZES[unit]))


def outcome_of(report: dict[str, Any] | None) -> str:
    """Return whether it starts: what does not run comes before what does not fit."""
    if report is None or report["runs"] is False:
        return REFUSED
    return STARTS if report["memory"].get("fits", True) else FULL


def number_of(path: str, report: dict[str, Any] | None, size: float) -> float | None:
    """Return a number of a report by its path, of a range the typical one; None where it says none."""
    found: Any = report
    for name in path.split("."):
        if isinstance(found, list):
            found = next((item for item in found if item["id"] == name), None)
        else:
            found = found.get(name) if found else None
    if isinstance(found, dict):
        found = found["typical"]
    return None if found is None else found / size
