"""The comparison with other tools: what was written is of these tools and kinds, and the page shows all of it."""

import re

import pytest

from macros.accuracy.comparison import KINDS, comparison_date, comparison_table, comparison_tools, result
from tests.comparison.__main__ import HERE, TOOLS, asked, compared, summary
from tests.comparison.cases import Case, every_case


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """All cases, made when the first test asks for them."""
    return list(every_case())


def test_the_result_is_of_these_tools() -> None:
    """Each tool that the script asks has a result with a version, for every kind of case."""
    found = {tool["name"]: tool for tool in result()["tools"]}
    assert list(found) == [tool.name for tool in TOOLS]
    for tool in TOOLS:
        pinned = dict(package.partition("==")[::2] for package in tool.packages).get(tool.name)
        assert found[tool.name]["version"] == pinned
        assert found[tool.name]["counts"] == tool.counts
        assert set(found[tool.name]["kinds"]) == set(KINDS)
        assert (HERE / "adapters" / f"{tool.adapter}.py").exists()


def test_every_answer_is_in_the_table() -> None:
    """A row for each tool and kind with answers, and a row for each tool."""
    answered = sum("tool" in kind for tool in result()["tools"] for kind in tool["kinds"].values())
    assert comparison_table().count("<tr>") == answered + 1
    assert comparison_tools().count("<tr>") == len(TOOLS) + 1
    assert re.search(r"\d{4}-\d\d-\d\d", comparison_date())


@pytest.mark.parametrize("kind", KINDS)
def test_cases_are_of_every_kind_and_have_what_adapters_read(cases: list[Case], kind: str) -> None:
    """Each kind has cases with a config, something measured, and the guide's own answer."""
    of_kind = [case for case in cases if case.kind == kind]
    assert of_kind
    for case in of_kind[:5]:
        request = asked(case)
        assert request["config"]["model_type"] and request["parameters"] > 0 and request["largest_layer"] > 0
        assert case.measured > 0 and case.ours > 0


def test_errors_are_those_of_the_answers_alone(cases: list[Case]) -> None:
    """A tool that is 10 % too high on what it answers, and silent else, has an error of 10 % and a reason."""
    first, second = [case for case in cases if case.kind == "weights"][:2]
    found = compared([first, second], {first.id: 1.1 * first.measured, second.id: "no such format"})["weights"]
    assert found["tool"]["median"] == pytest.approx(0.1)
    assert (found["tool"]["rows"], found["ours"]["rows"], found["silent"]) == (1, 1, {"no such format": 1})
    assert summary([(90.0, 100.0)])["bias"] == pytest.approx(-0.1)
