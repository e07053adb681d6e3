"""How a server runs by the number of sequences that it decodes, by hand."""

from math import log
from types import SimpleNamespace
from typing import Any

import pytest

from calc.performance.load import State
from calc.performance.pass_times import PassTime
from calc.planner.curve import Curve
from calc.planner.need import NO_NEED

PASS = PassTime((), 0.01, 0.0, 0.0)
# A prompt is read in 0.1 s between steps of 0.01 s, and half of the time is the prompts': 0.05 s behind others.
STATE = State(
    running=4.0,
    first_s=0.005 + 0.1 + 0.05,
    waiting_s=0.0,
    queueing_s=0.05,
    burst_s=0.0,
    service_s=0.1,
    step_s=0.02,
    spread_s=0.0,
    share=0.1,
    extra_s=0.1,
    waits=1.0,
    requests_per_s=5.0,
    decoding=PASS,
    prompting=PASS,
)


def curve(state: State = STATE) -> Curve:
    """Return the curve of a server that runs the same way with any number of sequences."""
    load = SimpleNamespace(slots=64, request_s=0.02, ranks=1, mixes=False)
    server: Any = SimpleNamespace(load=load, passes=SimpleNamespace(expected=1.0))
    found = Curve(server)
    found.known = dict.fromkeys((1e-3, 1.0, 2.0, 4.0), state)
    found.points = [1.0, 2.0, 4.0]
    return found


def test_what_a_request_may_wait() -> None:
    """Of a second: all but the half step, its own prompt and the way through the server; not the wait for others."""
    assert curve().spare_s(4.0, 1.0) == pytest.approx(1.0 - 0.005 - 0.1 - 0.02)


def test_the_share_that_waits_too_long() -> None:
    """With half of the time taken, waits of even prompts fall by y where (exp(y) - 1) / y is 2; or all are late."""
    found = curve()
    assert found.busy(4.0) == pytest.approx(0.1 * 0.1 / 0.02)
    falls = 1.2564312
    assert falls == pytest.approx(log(1 + falls / 0.5), rel=1e-6)
    late = 0.5 / (0.5 * (1 + falls / 0.5) - 1) * (1 + falls / 0.5) ** -((1 - 0.125) / 0.1)
    assert found.late(4.0, 1.0) == pytest.approx(late, rel=1e-5)
    assert found.late(4.0, 0.12) == 1.0
    assert curve(STATE._replace(share=0.0)).late(4.0, 1.0) == 0.0


def test_a_request_has_to_keep_both_times() -> None:
    """Of those that wait short enough as many are answered too slowly as of all: together fewer keep both times."""
    need, found = NO_NEED._replace(percentile=84.0, ttft_s=0.3), curve()
    on_time = 1 - found.late(4.0, 0.3)
    assert 0.84 < on_time < 0.95
    assert found.most_in_time(need, 5.0, lambda _: 0.85 / on_time) == pytest.approx(5.0)
    assert found.most_in_time(need._replace(ttft_s=None), 5.0, lambda _: 0.0) == 5.0
    found.state = lambda count: STATE._replace(requests_per_s=1.25 * count)  # type: ignore[method-assign]
    fewer = found.most_in_time(need, 5.0, lambda rate: (0.84 + (2.5 - rate) / 10) / on_time)
    assert fewer == pytest.approx(2.5, rel=0.1)
