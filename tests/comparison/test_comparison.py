"""The comparison with other tools: what was written is of these tools and kinds, and the page shows all of it."""

import json
import re

import pytest

from calc.catalog import catalog
from macros.accuracy.comparison import (
    KINDS,
    SERVERS,
    comparison_date,
    comparison_table,
    comparison_tools,
    result,
    serving_comparison_table,
)
from tests.comparison.__main__ import HERE, TOOLS, asked, summary
from tests.comparison.__main__ import compared as compared_cases
from tests.comparison.cases import Case, every_case
from tests.comparison.serving import NOT_A_WAY, compared, simulation
from tests.comparison.serving import Case as Server
from tests.comparison.serving import cases as servers


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
    found = compared_cases([first, second], {first.id: 1.1 * first.measured, second.id: "no such format"})["weights"]
    assert found["tool"]["median"] == pytest.approx(0.1)
    assert (found["tool"]["rows"], found["ours"]["rows"], found["silent"]) == (1, 1, {"no such format": 1})
    assert summary([(90.0, 100.0)])["bias"] == pytest.approx(-0.1)


@pytest.fixture(scope="module")
def measured() -> list[Server]:
    """A few of the servers that simulators are asked about."""
    return servers()[:4]


def test_simulators_stand_in_their_table() -> None:
    """A row for each simulator and figure that it answers."""
    tools = json.loads(SERVERS.read_text(encoding="utf-8"))["tools"]
    answered = sum("tool" in kind for tool in tools for kind in tool["kinds"].values())
    assert serving_comparison_table().count("<tr>") == answered + 1 > 3


def test_a_simulation_is_of_the_row_s_requests(measured: list[Server]) -> None:
    """As many at a time, as long, on as much memory as all devices have."""
    for case in measured:
        asked = simulation(case)
        assert asked["workload"]["num_concurrent_users"] == int(case.row["concurrency"])
        assert asked["workload"]["output_len_dist"]["value"] == int(case.row["output_len"])
        device = catalog().accelerator(case.scenario["accelerator"])
        assert asked["hardware"]["memory_capacity"] == case.devices * device.capacity_bytes


def test_errors_of_simulators_are_those_of_their_answers(measured: list[Server]) -> None:
    """Twice as long on one row, silent on the others: an error of 100 %, on one row, of both."""
    answers = {case.row["id"]: {"ttft_ms": NOT_A_WAY, "tpot_ms": NOT_A_WAY} for case in measured}
    first = measured[0].row
    found = compared(measured, {**answers, first["id"]: {"ttft_ms": "", "tpot_ms": 2 * float(first["tpot_ms"])}})
    assert "tool" not in found["ttft_ms"]
    assert found["tpot_ms"]["tool"]["median"] == pytest.approx(1.0)
    assert found["tpot_ms"]["ours"]["rows"] == 1
