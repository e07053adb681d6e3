"""Requests in a server, event by event: what Little's law, queueing and the engine's rules ask of a run."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import ScenarioError, estimate
from calc.catalog import catalog
from calc.performance.arrivals import Arrivals, Kind, Objective, Request, Spread, requests
from calc.performance.load import Load
from calc.performance.queue import UNBOUNDED, run_queue
from calc.performance.server import Run, Server
from calc.performance.steady_state import steady_state
from calc.performance.step_times import StepTimes
from calc.performance.trial import Trial
from tests.performance.test_speed import passes

PROMPT, OUTPUT = 1024, 256
SERVED: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "engine": "vllm",
    "accelerator": "h100-sxm-80gb",
    "prompt_tokens": PROMPT,
    "output_tokens": OUTPUT,
}
SERVER = Server(slots=1024, room_tokens=UNBOUNDED, batched_tokens=8192, mixes=True, request_s=0.0)
TIMES = {
    mixes: StepTimes(passes(), prompt_tokens=PROMPT, output_tokens=OUTPUT, most_tokens=8192, mixes=mixes)
    for mixes in (True, False)
}


def ran(rate: float, count: int = 400, sigma: float = 0.5, **server: Any) -> Run:
    """Return a run of an 8B on an H100."""
    lengths = Kind(1.0, Spread(PROMPT, sigma), Spread(OUTPUT, sigma))
    asked = requests(Arrivals(rate, 1.0, (lengths,)), count=count)
    bounds = SERVER._replace(**server)
    return run_queue(asked, server=bounds, times=TIMES[bounds.mixes])


def mean(run: Run, figure: str) -> float:
    """Return the mean of a figure over all requests."""
    values = [getattr(answer, figure) for answer in run.served]
    known = [value for value in values if value is not None]
    return float(sum(known) / len(known))


def test_one_request_takes_what_the_passes_take() -> None:
    """Alone, it has a pass over its prompt and a step for each token: within 1 % of them, summed one by one."""
    found = passes()
    run = run_queue([Request(1.0, PROMPT, OUTPUT)], server=SERVER, times=TIMES[True])
    prompt = found.time(found.prompt(sequences=1, tokens=PROMPT, before=0)).total
    steps = sum(found.time(found.step(sequences=1, context=PROMPT + token)).total for token in range(1, OUTPUT))
    assert run.served[0].wait_s == pytest.approx(prompt, rel=1e-6)
    assert run.served[0].last_s - run.served[0].first_s == pytest.approx(steps, rel=0.01)


def test_one_request_takes_what_estimate_says() -> None:
    """The same figures as those of one sequence: with the time beside the device before the first token."""
    alone: Any = estimate(SERVED)["speed"]
    seldom: Any = estimate({**SERVED, "arrivals": {"requests_per_s": 0.001}})["speed"]
    token, first = "time_per_output_token_s", "time_to_first_token_p50_s"
    assert seldom[token]["typical"] == pytest.approx(alone[token]["typical"], rel=0.01)
    beside = catalog().engine("vllm").of_version().values["request_s"]
    expected = alone["time_to_first_token_s"]["typical"] + beside
    assert seldom[first]["typical"] == pytest.approx(expected, rel=0.01)


@given(st.floats(0.5, 30.0), st.booleans(), st.sampled_from([8, 64, 1024]))
def test_requests_inside_are_rate_times_stay(rate: float, mixes: bool, slots: int) -> None:
    """Little's law for the answers in progress: the time that all spend writing is that of sequences running."""
    run = ran(rate, count=150, mixes=mixes, slots=slots)
    writing = sum(answer.last_s - answer.first_s for answer in run.served)
    assert run.writing_s == pytest.approx(writing, rel=1e-6)


@given(st.floats(0.5, 15.0), st.floats(1.2, 3.0), st.booleans())
def test_more_load_is_never_faster(rate: float, more: float, mixes: bool) -> None:
    """The same requests closer together take at least as long, as a mean."""
    calm, busy = ran(rate, 200, mixes=mixes), ran(rate * more, 200, mixes=mixes)
    for figure in ("wait_s", "token_s", "whole_s"):
        assert mean(busy, figure) >= mean(calm, figure) * 0.98


@given(st.integers(1, 40), st.integers(1, 40))
def test_more_slots_never_answer_less(slots: int, more: int) -> None:
    """A server that may work on more sequences at a time is done no later."""
    few, many = (ran(20.0, 120, slots=count) for count in (slots, slots + more))
    assert max(answer.last_s for answer in many.served) <= max(answer.last_s for answer in few.served) * 1.01


@pytest.mark.parametrize("mixes", [True, False])
def test_a_steady_run_agrees_with_the_steady_state(mixes: bool) -> None:
    """The closed form of a server never short of requests, at as many as the run has running: its time of a token."""
    run = ran(8.0, 2000, sigma=0.0, mixes=mixes)
    running = run.running_s / run.seconds
    known = steady_state(passes(), Load(running, 1024.0, PROMPT, OUTPUT, 0, 8192, 0.0, 1, mixes))
    assert mean(run, "token_s") == pytest.approx(known.step_s, rel=0.06)


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
@pytest.mark.parametrize("rate", [2.0, 6.0])
def test_ranks_that_step_together_wait_for_each_other_s_prompts(engine: str, rate: float) -> None:
    """A run follows one of eight ranks that share experts, and a token takes as long as in the steady state of all."""
    model = {"model": "qwen3-235b-a22b", "accelerator": "h200-sxm-141gb", "engine": engine}
    lengths = {"prompt_tokens": 1000, "output_tokens": 300}

    def speed(**asked: object) -> Any:
        report: Any = estimate({**model, **lengths, "parallelism": {"data": 8, "expert": 8}, **asked})
        return report["speed"]

    run = speed(arrivals={"requests_per_s": rate})
    steady = speed(concurrency=round(run["running_sequences"]), length_spread=0.58)
    token = "time_per_output_token_s"
    assert run[token]["typical"] == pytest.approx(steady[token]["typical"], rel=0.15)


def test_a_full_cache_makes_the_last_wait() -> None:
    """With room for ten, requests lose their cache and are read again, all are answered, and none before it came."""
    run = ran(20.0, 300, room_tokens=10 * (PROMPT + OUTPUT))
    assert run.preempted > 0
    assert all(answer.at_s < answer.first_s <= answer.last_s for answer in run.served)
    assert mean(run, "wait_s") > 10 * mean(ran(20.0, 300), "wait_s")


def test_prompts_that_stop_decoding_make_tokens_late() -> None:
    """Prompts in steps of their own: a token waits for them longer than beside them."""
    assert mean(ran(15.0, mixes=False), "token_s") > mean(ran(15.0, mixes=True), "token_s")


def test_answers_that_have_their_room_keep_it() -> None:
    """Requests that wait for the room of their answers never lose it; those that wait for their prompts' alone do."""
    room = 10 * (PROMPT + OUTPUT)
    held, taken = (ran(float("inf"), 100, room_tokens=room, reserves=reserves) for reserves in (1.0, 0.0))
    assert held.preempted == 0 < taken.preempted


def test_a_few_requests_at_once_are_a_batch() -> None:
    """Eight that come at once, and end, take what eight sequences do; two replicas take half of them each."""
    asked = {"requests": 8}
    burst = arriving(**asked)
    batch: Any = estimate({**SERVED, "sequences": 8})["speed"]
    whole = 8 * OUTPUT / batch["output_tokens_per_s"]["typical"]
    beside = catalog().engine("vllm").of_version().values["request_s"]
    assert burst["all_answered_s"]["typical"] == pytest.approx(whole + beside, rel=0.03)
    assert burst["output_tokens_per_s"]["typical"] * burst["all_answered_s"]["typical"] == pytest.approx(8 * OUTPUT)
    assert "knee_requests_per_s" not in burst
    two: Any = estimate({**SERVED, "parallelism": {"data": 2}, "arrivals": {"requests": 16}})["speed"]
    assert two["all_answered_s"]["typical"] == pytest.approx(burst["all_answered_s"]["typical"], rel=0.01)


def test_a_burst_beyond_its_slots_runs_in_waves() -> None:
    """Of alike requests, four slots take twice as long as eight would take for half of them, and wait for a slot."""
    one: Any = estimate({**SERVED, "sequence_slots": 8, "arrivals": {"requests": 8}})
    two: Any = estimate({**SERVED, "sequence_slots": 8, "arrivals": {"requests": 16}})
    times = [report["speed"]["all_answered_s"]["typical"] for report in (one, two)]
    assert times[1] == pytest.approx(2 * times[0], rel=0.05)
    assert two["scenario"]["arrivals"] == {"requests": 16}
    again: Any = estimate(two["scenario"])
    assert again["speed"] == two["speed"]


def arriving(**arrivals: object) -> dict[str, Any]:
    """Return the speed of a report on arrivals."""
    found: Any = estimate({**SERVED, "arrivals": arrivals})["speed"]
    return found


@given(st.integers(1, 12), st.integers(1, 40), st.booleans())
def test_a_client_keeps_no_more_in_the_server(clients: int, count: int, mixes: bool) -> None:
    """At no time are more requests in it, and each comes when another is answered, `request_s` after its last token."""
    lengths = Kind(1.0, Spread(100.5, width=199.0), Spread(50.5, width=99.0))
    asked = requests(Arrivals(1.0, 1.0, (lengths,), count, clients), count=count)
    server = SERVER._replace(mixes=mixes, clients=clients, request_s=0.01)
    at_once = [request._replace(at_s=0.0) for request in asked]
    run = run_queue(at_once, server=server, times=TIMES[mixes])
    ends = sorted(answer.last_s for answer in run.served)
    came = [answer.at_s for answer in run.served]
    assert came[:clients] == [0.0] * min(clients, count)
    assert came[clients:] == pytest.approx(ends[: max(count - clients, 0)])
    for answer in run.served:
        inside = sum(other.at_s <= answer.at_s < other.last_s for other in run.served)
        assert inside <= clients


def test_a_client_that_waits_for_each_answer_has_them_one_by_one() -> None:
    """Two requests, one at a time, take twice as long as one; at once they share their steps."""
    one, two = ({**SERVED, "arrivals": {"requests": count, "concurrency": 1}} for count in (1, 2))
    alone, behind, together = (
        estimate(asked)["speed"]["all_answered_s"]["typical"]  # type: ignore[index]
        for asked in (one, two, {**SERVED, "arrivals": {"requests": 2}})
    )
    assert behind == pytest.approx(2 * alone)
    assert together < 1.3 * alone


def test_percentiles_stand_in_order() -> None:
    """Half stay below the 50th, and the 99th is the longest, at each end of the range too."""
    found = arriving(requests_per_s=10, lengths={"prompt_tokens": {"median": 800, "p95": 4000}})
    for name in ("time_to_first_token", "time_per_output_token", "request"):
        for end in ("low", "typical", "high"):
            times = [found[f"{name}_{percentile}_s"][end] for percentile in ("p50", "p95", "p99")]
            assert times == sorted(times)


def test_objectives_share_out_what_keeps_them() -> None:
    """None keeps within nothing, all within an hour; goodput is the share of what comes."""
    strict = arriving(requests_per_s=5, objective={"ttft_s": 1e-6})
    easy = arriving(requests_per_s=5, objective={"request_s": 3600})
    assert strict["within_objective"]["typical"] == 0
    assert easy["within_objective"]["typical"] == 1
    assert easy["goodput_requests_per_s"]["typical"] == pytest.approx(5, rel=0.03)
    assert "within_objective" not in arriving(requests_per_s=5)


def test_the_knee_lies_below_the_most() -> None:
    """Beyond the knee time grows faster than what is answered; two copies have it at twice the load."""
    one = arriving(requests_per_s=5)
    knee, most = (one[f"{name}_requests_per_s"]["typical"] for name in ("knee", "most"))
    assert 0.1 * most < knee < most
    asked = {**SERVED, "parallelism": {"data": 2}, "arrivals": {"requests_per_s": 5}}
    two: Any = estimate(asked)["speed"]
    assert two["most_requests_per_s"]["typical"] == pytest.approx(2 * most, rel=0.01)


def test_bursts_wait_longer() -> None:
    """The same mean load in bursts has a longer 95th percentile, and evenly a shorter one."""
    waits = [arriving(requests_per_s=15, burstiness=b)["time_to_first_token_p95_s"]["typical"] for b in (0.2, 1, 5)]
    assert waits == sorted(waits, reverse=True)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers"])
def test_every_engine_serves_arrivals(engine: str) -> None:
    """A report can be asked again, and says the same."""
    report: Any = estimate({**SERVED, "engine": engine, "arrivals": {"requests_per_s": 0.5}})
    assert report["speed"]["requests_per_s"] == pytest.approx(0.5, rel=0.1)
    again: Any = estimate(report["scenario"])
    assert again["speed"] == report["speed"]


def test_so_many_may_come_at_a_rate() -> None:
    """At a rate far above what is answered they are a burst; far below, each is alone and the last ends the run."""
    burst, fast, slow = (
        arriving(requests=20, **rate) for rate in ({}, {"requests_per_s": 1e5}, {"requests_per_s": 0.02})
    )
    assert fast["all_answered_s"]["typical"] == pytest.approx(burst["all_answered_s"]["typical"], rel=0.01)
    alone, last = arriving(requests=1), 20 / 0.02
    tokens = [found["time_per_output_token_s"]["typical"] for found in (slow, alone)]
    assert tokens[0] == pytest.approx(tokens[1], rel=0.01)
    assert last < slow["all_answered_s"]["typical"] < last + 1.1 * alone["all_answered_s"]["typical"]


@pytest.mark.parametrize(("burstiness", "replicas"), [(1.0, 1), (0.2, 1), (1.0, 4)])
def test_the_last_of_so_many_comes_when_their_rate_has_it(burstiness: float, replicas: int) -> None:
    """Few draws have another mean than many; the gaps of what comes without end are as they are drawn."""
    kinds = (Kind(1.0, Spread(100.0), Spread(10.0)),)
    some, endless = (
        requests(Arrivals(4.0, burstiness, kinds, count), count=50, replicas=replicas) for count in (50 * replicas, 0)
    )
    assert some[-1].at_s == pytest.approx(50 * replicas / 4.0)
    assert endless[-1].at_s != pytest.approx(some[-1].at_s, rel=1e-3)
    gaps = [[later.at_s / one.at_s for one, later in pairwise(found)] for found in (some, endless)]
    assert gaps[0] == pytest.approx(gaps[1])


def test_ranks_that_share_experts_wait_for_what_comes_at_a_rate() -> None:
    """As many as come without end wait for each other's prompts; where all come at once they read together."""
    ranks = {"model": "deepseek-v3", "weights": "fp8", "engine": "sglang", "accelerator": "h200-sxm-141gb"}
    ranks |= {"prompt_tokens": 2000, "output_tokens": 200, "parallelism": {"data": 8, "expert": 8}}

    def token_s(**arrivals: float) -> float:
        found: Any = estimate({**ranks, "arrivals": arrivals})
        return float(found["speed"]["time_per_output_token_s"]["typical"])

    endless = token_s(requests_per_s=1)
    assert token_s(requests_per_s=1, requests=400) == pytest.approx(endless, rel=0.15)
    assert token_s(requests_per_s=1e5, requests=64) == pytest.approx(token_s(requests=64), rel=0.02)


def test_a_client_that_keeps_so_many_has_no_rate() -> None:
    """It sends the next as one is answered."""
    with pytest.raises(ScenarioError, match="come as others end"):
        estimate({**SERVED, "arrivals": {"requests": 10, "requests_per_s": 1, "concurrency": 4}})


@pytest.mark.parametrize(
    ("arrivals", "field"),
    [
        (5, "arrivals"),
        ({}, "arrivals.requests_per_s"),
        ({"requests_per_s": 0}, "arrivals.requests_per_s"),
        ({"requests_per_s": 1, "requests": 10, "concurrency": 2}, "arrivals.requests_per_s"),
        ({"requests": 10, "burstiness": 1}, "arrivals.burstiness"),
        ({"requests": 0}, "arrivals.requests"),
        ({"requests_per_s": float("nan")}, "arrivals.requests_per_s"),
        ({"requests_per_s": True}, "arrivals.requests_per_s"),
        ({"requests_per_s": 1, "burst": 1}, "arrivals.burst"),
        ({"requests_per_s": 1, "burstiness": -1}, "arrivals.burstiness"),
        ({"requests_per_s": 1, "concurrency": 4}, "arrivals.concurrency"),
        ({"requests": 10, "concurrency": 0}, "arrivals.concurrency"),
        ({"requests_per_s": 1, "objective": {"ttft": 1}}, "arrivals.objective.ttft"),
        ({"requests_per_s": 1, "objective": 3}, "arrivals.objective"),
        ({"requests_per_s": 1, "lengths": "long"}, "arrivals.lengths"),
        ({"requests_per_s": 1, "lengths": []}, "arrivals.lengths"),
        ({"requests_per_s": 1, "lengths": [3]}, "arrivals.lengths.0"),
        ({"requests_per_s": 1, "lengths": [{"share": 0}]}, "arrivals.lengths.0.share"),
        ({"requests_per_s": 1, "lengths": {"prompt_tokens": 0}}, "arrivals.lengths.prompt_tokens"),
        ({"requests_per_s": 1, "lengths": {"prompt_tokens": {"median": 9}}}, "arrivals.lengths.prompt_tokens"),
        (
            {"requests_per_s": 1, "lengths": {"output_tokens": {"median": 9, "p95": 8}}},
            "arrivals.lengths.output_tokens.p95",
        ),
        (
            {"requests_per_s": 1, "lengths": {"output_tokens": {"least": 9, "most": 8}}},
            "arrivals.lengths.output_tokens.most",
        ),
        ({"requests_per_s": 1, "lengths": {"output_tokens": {"least": 9, "p95": 8}}}, "arrivals.lengths.output_tokens"),
    ],
)
def test_arrivals_that_cannot_be_are_refused(arrivals: object, field: str) -> None:
    """Each by the path of its field."""
    with pytest.raises(ScenarioError) as error:
        estimate({**SERVED, "arrivals": arrivals})
    assert error.value.field == field


@pytest.mark.parametrize("other", [{"engine": "none"}, {"sequences": 4}, {"concurrency": 4}])
def test_arrivals_do_not_go_with_other_numbers(other: dict[str, object]) -> None:
    """What is in the server follows from what comes."""
    with pytest.raises(ScenarioError) as error:
        estimate({**SERVED, **other, "arrivals": {"requests_per_s": 1}})
    assert error.value.field == "arrivals"


def test_a_promise_is_kept_or_not() -> None:
    """A request of one token has no time between tokens, and cannot break a promise about it."""
    run = run_queue([Request(0.0, 100, 1)], server=SERVER, times=TIMES[True])
    assert run.served[0].token_s is None
    assert run.served[0].keeps(Objective(token_s=1e-9))
    assert not run.served[0].keeps(Objective(first_s=1e-9))


@pytest.mark.parametrize(("budget", "together"), [(100, True), (99, False)])
def test_a_step_is_filled_to_its_last_token(budget: int, together: bool) -> None:
    """Prompts of 99 and of 1 token share a step of 100, and have their first tokens at once; in 99 they do not."""
    run = run_queue(
        [Request(0.0, 99, 2), Request(0.0, 1, 2)], server=SERVER._replace(batched_tokens=budget), times=TIMES[True]
    )
    assert (run.served[0].first_s == run.served[1].first_s) is together


def test_room_that_is_just_enough_is_enough() -> None:
    """Two prompts of 50 tokens with answers of 2 fill a cache of 104 to its last entry, and none waits."""
    asked = [Request(0.0, 50, 2)] * 2
    for room, together in ((104, True), (99, False)):
        run = run_queue(asked, server=SERVER._replace(room_tokens=room), times=TIMES[True])
        assert (run.served[0].first_s == run.served[1].first_s) is together
        assert not run.preempted


@pytest.mark.parametrize("rate", [2.0, 8.0, 14.0, 18.0])
def test_a_trial_ends_with_what_the_whole_run_says(rate: float) -> None:
    """Whatever is asked for, a trial says what a whole run says; where that is soon clear, it is over sooner."""
    objective, skipped = Objective(first_s=0.15, token_s=0.02), 40
    asked = requests(Arrivals(rate, 1.0, (Kind(1.0, Spread(PROMPT, 0.5), Spread(OUTPUT, 0.5)),)), count=400)
    answers = run_queue(asked, server=SERVER, times=TIMES[True]).served[skipped:]
    kept = sum(answer.keeps(objective) for answer in answers) / len(answers)
    for share in (0.05, 0.5, 0.8, 0.95, kept, kept + 0.001):
        trial = Trial(asked, [], SERVER, TIMES[True], objective=objective, share=share, skipped=skipped)
        assert trial.passes() == (kept >= share)
        assert trial.kept + trial.missed < len(answers) or abs(share - kept) < 0.1
