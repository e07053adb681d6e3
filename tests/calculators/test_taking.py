"""An answer taken along is the answer: its JSON and its Python give the same report again."""

import json
import shlex

import pytest

from calc import estimate
from calc.calculators import CALCULATORS, answer
from calc.calculators.taking import command, taken, ways
from calc.command.arguments import parser, scenario_of
from calc.errors import ScenarioError

ADDRESS = "https://example.org/calculators/will-it-fit/?accelerators=2"


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("name", CALCULATORS)
def test_markdown_says_what_was_asked_and_answered(name: str) -> None:
    """Each calculator's note has its question, every value of the form, the answer and the address."""
    calculator = CALCULATORS[name]
    note = taken(calculator, {}, "markdown", ADDRESS)
    assert calculator.question in note
    assert calculator.status(calculator.report({})) in note
    assert all(f"- {field.label}: " in note for field in calculator.inputs if field.default)
    assert ADDRESS in note


@pytest.mark.parametrize("name", [name for name in CALCULATORS if "python" in ways(CALCULATORS[name])])
def test_python_and_json_give_the_same_report(name: str) -> None:
    """The call in Python runs as it is written and gives the report that the JSON holds."""
    calculator = CALCULATORS[name]
    for preset in calculator.presets:
        written = taken(calculator, preset.values, "python", ADDRESS)
        found: dict[str, object] = {}
        exec(written, found)
        copied = json.loads(taken(calculator, preset.values, "json", ADDRESS))
        assert found["report"] == copied["report"] == estimate(copied["scenario"])


@pytest.mark.parametrize("name", [name for name in CALCULATORS if "command" in ways(CALCULATORS[name])])
def test_the_command_asks_the_same_scenario(name: str) -> None:
    """A shell splits it into words of which the command line makes the form's scenario, or one with the same report."""
    calculator = CALCULATORS[name]
    for preset in calculator.presets:
        verb, *words = shlex.split(taken(calculator, preset.values, "command", ADDRESS))[1:]
        given = parser().parse_args([verb, *words])
        reports = [estimate(scenario) for scenario in (scenario_of(given), calculator.asked(preset.values))]
        assert [{**report, "defaults": []} for report in reports[1:]] == [{**reports[0], "defaults": []}]


def test_a_quote_in_a_command_stays_one() -> None:
    """What a shell would read as more is quoted: a config of one's own with an apostrophe in it."""
    scenario = {"model": {"config": {"a": "it's $HOME"}}, "context_tokens": 5}
    words = shlex.split(command(scenario))
    assert words == [
        "calc",
        "fit",
        "-e",
        "none",
        "--set",
        'model={"config": {"a": "it\'s $HOME"}}',
        "--set",
        "context_tokens=5",
    ]


def test_what_cannot_be_taken_is_refused() -> None:
    """A calculator that is more than one estimate has no call in Python, and a wrong field is named as ever."""
    with pytest.raises(ScenarioError, match="must be markdown"):
        taken(CALCULATORS["sharing"], {}, "python", ADDRESS)
    reply = json.loads(answer('{"calculator": "will-it-fit", "fields": {"sequences": "x"}, "take": "json"}'))
    assert reply["errors"][0]["field"] == "sequences"
