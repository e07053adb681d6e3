"""Failures and checkpoints, against a published run and Young's formula."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.planning.failures import days_between_failures, hours_between_checkpoints


def test_one_failure_in_three_hours() -> None:
    """419 interruptions in 54 days of 16,384 H100 are one in three hours (Meta, Llama 3, 2024)."""
    found = days_between_failures(failures=419, days=54, devices=16384, own_devices=16384)
    assert found * 24 == pytest.approx(3.09, abs=0.01)


@given(write=st.floats(0.1, 30), mean=st.floats(1, 1000))
def test_the_interval_costs_least(write: float, mean: float) -> None:
    """Writing and lost work together, per hour, are least at Young's interval: a tenth more or less costs more."""
    best = hours_between_checkpoints(write_minutes=write, days_between_failures=mean)

    def lost(hours: float) -> float:
        return write / 60 / hours + hours / 2 / (mean * 24)

    assert lost(best) < lost(best * 1.1)
    assert lost(best) < lost(best * 0.9)
