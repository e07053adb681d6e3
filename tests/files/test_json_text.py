"""How deep JSON may nest: to the level, whatever else its text has."""

from typing import Any

import pytest

from calc.errors import ScenarioError
from calc.files.json_text import DEEPEST, read_json
from calc.scenario.reader import MOST_LEVELS, check_json


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_the_deepest_level_is_read_and_the_next_is_not(opening: str, closing: str) -> None:
    """Sixteen lists or objects in each other, and not seventeen; before what is cut off is found to be so."""
    value: Any = read_json(opening * DEEPEST + "1" + closing * DEEPEST, "file")
    for _ in range(DEEPEST):
        value = value["a"] if isinstance(value, dict) else value[0]
    assert value == 1
    for text in (opening * (DEEPEST + 1) + "1" + closing * (DEEPEST + 1), opening * (DEEPEST + 1)):
        with pytest.raises(ScenarioError, match="is not valid JSON: it nests deeper than 16 levels"):
            read_json(text, "file")


def test_many_brackets_are_not_deep() -> None:
    """Those beside each other, and those in texts, count for nothing; what is cut off is said to be that."""
    assert read_json("[" + "[],{}," * 100 + "[]]", "file")[-1] == []
    assert read_json('{"a": "' + "[{" * 100 + '\\"["}', "file")["a"].endswith('"[')
    with pytest.raises(ScenarioError, match="line 1, column"):
        read_json("[" + "[]," * 100, "file")


def test_a_value_of_a_scenario_nests_so_deep_and_no_deeper() -> None:
    """Thirty-one lists around a number are read, thirty-two are refused where the last one stands."""
    value: Any = 1
    for _ in range(MOST_LEVELS - 1):
        value = [value]
    check_json(value, "model")
    with pytest.raises(ScenarioError, match="nests deeper than 32 levels") as caught:
        check_json({"a": value}, "model")
    assert caught.value.field == "model.a" + ".0" * (MOST_LEVELS - 1)
