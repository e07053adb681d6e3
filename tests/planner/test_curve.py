"""How a server runs by the number of sequences that it decodes, by hand."""

from math import log
from types import SimpleNamespace
from typing import Any

import pytest

from calc.performance.pass_times import PassTime
from calc.performance.steady_state import State
from calc.planner.curve import Curve, busiest
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


def test_what_is_used_up_of_what_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first token after 0.155 s, 0.04 s of others and 0.02 s on the way; the tightest of times and slots counts."""
    monkeypatch.setattr("calc.planner.curve.bursts_s", lambda *asked: asked[2] / 100)
    monkeypatch.setattr(Curve, "held", lambda _, decoding: decoding)
    found = curve()
    assert found.first_s(4.0) == pytest.approx(0.155 + 0.04 + 0.02)
    assert found.strain(4.0, NO_NEED) == 4 / 64
    assert found.strain(4.0, NO_NEED._replace(tpot_s=0.04)) == pytest.approx(0.5)
    assert found.strain(4.0, NO_NEED._replace(tpot_s=0.04, ttft_s=0.25)) == pytest.approx(0.86)


def test_what_a_rank_does_not_exceed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five requests a second as it runs; of a step of 12.5 ms decoding leaves a fifth, and two prompts may wait."""
    monkeypatch.setattr(Curve, "state", lambda *_: STATE)
    found = curve()
    assert found.at_most_per_s(NO_NEED) == 5.0
    assert found.at_most_per_s(NO_NEED._replace(tpot_s=0.0125)) == pytest.approx(0.2 / 0.1)
    waits = NO_NEED._replace(ttft_s=0.2 + 0.105 + 0.02, percentile=95)
    assert found.at_most_per_s(waits) == pytest.approx(busiest(prompts=2.0, allowed=0.05) / 0.1, rel=1e-6)
    assert found.at_most_per_s(waits) < 5.0


@pytest.mark.parametrize("limit", [3.0, 10.0, 40.0])
def test_a_rank_is_full_where_what_is_allowed_is_used_up(monkeypatch: pytest.MonkeyPatch, limit: float) -> None:
    """Found between what was worked out, with states up to four times as many sequences, and no further."""
    monkeypatch.setattr(Curve, "state", lambda self, decoding: self.known.setdefault(decoding, STATE))
    monkeypatch.setattr(Curve, "held", lambda _, decoding: decoding)
    monkeypatch.setattr(Curve, "strain", lambda _, decoding, _need: decoding / limit)
    found = curve()
    found.known[1000.0] = STATE
    full = found.full(NO_NEED)
    assert full == pytest.approx(limit, rel=0.02) and found.points[-1] == 4 * full
    assert found.points == sorted(found.points) and found.points[0] == 1.0


def test_a_rank_that_only_reads_is_late() -> None:
    """Where prompts take all of the time, every request waits too long."""
    assert curve(STATE._replace(share=0.5, extra_s=0.5, step_s=0.25)).late(4.0, 1.0) == 1.0
