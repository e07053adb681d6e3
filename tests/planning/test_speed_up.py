"""What a speed-up is worth: the case of the report that the guide checks, and what the two figures have to do."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import ScenarioError
from calc.calculators import CALCULATORS
from calc.planning.speed_up import SpeedUp, payback_days

SPEED_UP = CALCULATORS["speed-up"]


def test_thirty_seconds_to_four() -> None:
    """Claim A028: 86.7 % less time, 7.5 times as fast; not 85 %."""
    found = SpeedUp(30, 4, 1000)
    assert found.factor == 7.5
    assert found.reduction == pytest.approx(0.8667, abs=1e-4)
    assert found.saved_hours == pytest.approx(1000 * 26 / 3600)


@given(st.floats(0.001, 1e6), st.floats(0.001, 1e6))
def test_factor_and_share_say_the_same(before: float, after: float) -> None:
    """s = 1 / (1 − r), and less time never more than all of it."""
    found = SpeedUp(before, after, 1)
    assert found.reduction < 1
    assert found.factor * (1 - found.reduction) == pytest.approx(1)


def test_a_purchase_pays_back_only_if_something_is_saved() -> None:
    """2,000 at 8 a day are 250 days; a dearer machine that works longer never pays."""
    assert payback_days(price=2000, saved_per_day=8) == 250
    assert payback_days(price=2000, saved_per_day=0) is None
    assert payback_days(price=2000, saved_per_day=-1) is None


def test_a_day_too_short_is_said() -> None:
    """20,000 pages at 30 s are 167 hours."""
    report: dict[str, Any] = SPEED_UP.report({"items": "20000"})
    assert [warning["code"] for warning in report["warnings"]] == ["day-too-short-before"]


@pytest.mark.parametrize("field", ["before_s", "after_s"])
def test_both_times_are_needed(field: str) -> None:
    """An empty time is no time."""
    with pytest.raises(ScenarioError) as caught:
        SPEED_UP.report({field: ""})
    assert caught.value.field == field
