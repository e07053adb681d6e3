"""Servers under load and with requests that come on their own: what a report says, from states worked out by hand."""

import re
from types import SimpleNamespace
from typing import Any

import pytest

from calc import estimate
from calc.catalog import catalog
from calc.memory.budget import Layout
from calc.memory.runtime import Case
from calc.performance.arrivals import Arrivals, Kind, Objective, Request, Spread, Traffic
from calc.performance.load import Load
from calc.performance.pass_times import PassTime
from calc.performance.server import Begun, Run, Served, Server
from calc.performance.steady_state import State
from calc.planning import serving_arrivals, serving_report, serving_run
from calc.planning.served import serve
from calc.planning.serving_arrivals import LOADS, arrival_steps, at_load, at_rate, knee, knee_step
from calc.planning.serving_burst import burst_figures, burst_steps
from calc.planning.serving_load import Server as LoadedServer
from calc.planning.serving_load import figures, load_of, load_steps
from calc.planning.serving_pools import sending_rate
from calc.planning.serving_run import Found, Site, begun, percentiles, run_of, summed
from calc.question import read_question

PLAIN = PassTime((), 0.25, 0.0, 0.25)
CARRYING = PassTime((), 1.25, 0.0, 0.25)
SCHEDULE: Any = SimpleNamespace(of=lambda _: 1.0, values={})  # that reads prompts beside decoding
LOAD = Load(20.0, 8.0, 100, 11, 7, None, 0.5, 1, mixes=False)
STATE = State(4.0, 3.0, 0.4, 0.9, 0.05, 0.002, 0.25, 0.5, 1.0, 8.0, PLAIN, CARRYING, waiting_s=1.0, burst_s=0.1)
ENGINE: Any = SimpleNamespace(source="vllm", values={"request_s": 0.03, "overlaps_prefill": 1.0}, id="vllm", era="")


def served(*, most: int | None = None, slots: int = 16, **degrees: int) -> Any:
    """Return a server under an engine with so many slots."""
    held = SimpleNamespace(engine=ENGINE, running=lambda *_: slots, length_spread=None)
    layout, runtime = Layout(**degrees), SimpleNamespace(pool=None)
    return SimpleNamespace(serving=held, demand=None, layout=layout, most=most, runtime=runtime)


def question(prompt_tokens: int = 100, output_tokens: int = 11) -> Any:
    """Return what a speed is asked of."""
    return SimpleNamespace(
        demand=SimpleNamespace(prompt_tokens=prompt_tokens),
        output_tokens=output_tokens,
        cached_tokens=7,
        batched_tokens=512,
    )


@pytest.mark.parametrize(
    ("most", "degrees", "concurrency", "slots", "ranks"),
    [
        (None, {}, 20.0, 16.0, 1),
        (0, {}, 20.0, 16.0, 1),
        (10, {}, 20.0, 10.0, 1),
        (99, {}, 20.0, 16.0, 1),
        (10, {"data": 4}, 5.0, 2.5, 1),
        (10, {"data": 40}, 1.0, 0.25, 1),
        (None, {"data": 4, "tensor": 2, "expert": 8}, 5.0, 16.0, 4),
        (None, {"data": 4, "tensor": 2, "expert": 2}, 5.0, 16.0, 1),
    ],
)
def test_a_replica_s_share_of_the_load(
    most: int | None, degrees: dict[str, int], concurrency: float, slots: float, ranks: int
) -> None:
    """Twenty requests over the replicas, one at least; slots end at what fits; shared experts join replicas."""
    found = load_of(served(most=most, **degrees), question(), 20, SCHEDULE)
    assert found == Load(concurrency, slots, 100, 11, 7, 512, 0.03, ranks, mixes=True)


def test_figures_of_a_load() -> None:
    """Two busy replicas of 8 requests a second each, with the factors of prompts and of steps."""
    found = {name: (value, factor) for name, value, factor in figures(STATE, LOAD, 2, step=1.1, first=1.3)}
    assert found == {
        "prefill_tokens_per_s": (1600.0, 1.3),
        "decode_tokens_per_s": (160.0, 1.1),
        "output_tokens_per_s": (176.0, 1.1),
        "time_to_first_token_s": (3.0, 1.3),
        "time_to_first_token_p50_s": (STATE.first_p50_s, 1.3),
        "time_to_first_token_p95_s": (STATE.first_p95_s, 1.3),
        "time_per_output_token_s": (0.05, 1.1),
        "time_per_output_token_p50_s": (0.05, 1.1),
        "time_per_output_token_p95_s": (0.05 + 1.645 * 0.002, 1.1),
    }


def values(steps: list[Any]) -> dict[str, tuple[str, float, str, str]]:
    """Return the numbers of steps by name, without zeros behind a point, with value, unit and source."""
    return {step.name: (re.sub(r"\.?0+(?!\d)", zeros, step.substituted), *step[3:]) for step in steps}


def zeros(found: re.Match[str]) -> str:
    """Return what zeros at an end say: nothing behind a point, tens before one."""
    return "" if "." in found.string[: found.end()].rpartition(" ")[2] else found[0]


def test_the_working_of_a_load() -> None:
    """Each line with its numbers, for two busy replicas of two stages."""
    found = values(load_steps(served(pipeline=2), STATE, LOAD, busy=2, expected=1.0))
    assert found["Seconds of a step without prompts"][1] == 0.5
    assert found["Seconds of a pass over prompts"][1] == 1.5
    assert found["Seconds more for prompts"] == ("1 × 1.5 × 0.5", 0.5, "s", "little-law")
    assert found["Time per output token"] == ("0.5 + 0.25 × 0.5", 0.05, "s", "little-law")
    assert found["Requests a second, each replica"] == ("4 / (10 × 0.05)", 8.0, "1/s", "little-law")
    assert found["Waiting for a slot"] == ("12 / 8", 1.0, "s", "little-law")
    assert found["Time to the first token"] == ("0.5 + 1 + 0.5 × 0.05 + 0.9 + 0.4 + 0.1", 3.0, "s", "little-law")
    assert found["Decoding, all sequences"] == ("8 / 0.05", 160.0, "tokens/s", "little-law")


def test_the_working_has_digits_to_follow_it() -> None:
    """Times of passes have four digits, what is made of them five; queue, wave and burst stand in this order."""
    plain, carrying = PassTime((), 1.234567, 0.0, 0.0), PassTime((), 2.345678, 0.0, 0.0)
    state = STATE._replace(
        decoding=plain,
        prompting=carrying,
        wave_s=0.1234567,
        step_s=0.0567891,
        running=3.456789,
        requests_per_s=7.654321,
        waiting_s=1.567823,
        queueing_s=0.4321987,
        burst_s=0.1987654,
        service_s=0.9876543,
        share=0.2345678,
        extra_s=1.1728391,
    )
    load = LOAD._replace(concurrency=20.123456, request_s=0.5432198)
    found = values(load_steps(served(), state, load, busy=2, expected=1.0))
    assert found["Seconds more for prompts"][0] == "1 × 2.346 × 1"
    assert found["Time per output token"][0] == "1.235 + 0.2346 × 1.173 − 0.1235 / 10"
    assert found["Requests a second, each replica"][0] == "3.4568 / (10 × 0.056789)"
    assert found["Waiting for a slot"][0] == "12.123 / 7.6543"
    numbers = "0.54322 + 1.5678 + 0.5 × 0.056789 + 0.98765 + 0.4322 + 0.12346 + 0.19877"
    assert found["Time to the first token"][0] == numbers
    assert found["Decoding, all sequences"][0] == "6.9136 / 0.056789"
    formulas = {step.name: step.formula for step in load_steps(served(), state, load, busy=2, expected=1.0)}
    ends = r"t_{\text{queue}} + t_{\text{wave}} + t_{\text{burst}}"
    assert formulas["Time to the first token"].endswith(ends)


def test_the_working_of_a_load_that_mixes() -> None:
    """What a step takes longer; no line for a slot that nobody waits for; one token has a step, too."""
    load = LOAD._replace(mixes=True, output_tokens=1)
    found = values(load_steps(served(), STATE._replace(waiting_s=0.0), load, busy=1, expected=1.0))
    assert found["Seconds more for prompts"][0] == "1 × max(1.5 − 0.5, 0) × 1"
    assert "Seconds of a step that takes prompts along" in found
    assert "Waiting for a slot" not in found
    assert found["Requests a second, each replica"][0] == "4 / (1 × 0.05)"


def test_the_working_of_a_load_that_drafts() -> None:
    """A step that writes two tokens of each sequence takes two times theirs; a prompt waits for half of it."""
    found = values(load_steps(served(), STATE, LOAD, busy=1, expected=2.0))
    assert found["Time per output token"][0] == "(0.5 + 0.25 × 0.5) / 2"
    assert found["Time to the first token"][0] == "0.5 + 1 + 0.5 × 0.1 + 0.9 + 0.4 + 0.1"


def traffic(requests_per_s: float = 2.0, *, objective: Objective | None = None) -> Traffic:
    """Return requests that are all alike."""
    kinds = (Kind(1.0, Spread(100.0), Spread(11.0)),)
    return Traffic(Arrivals(requests_per_s, 1.0, kinds), objective or Objective())


def site(*, replicas: int = 1, slots: int = 9, room: int = 10_000) -> Site:
    """Return a server that answers eight requests a second at most, four at a time."""
    none: Any = None
    server = Server(slots, room, None, False, 0.0)
    return Site(none, none, server, replicas, room, LOAD, STATE)


def burst(count: int) -> Traffic:
    """Return so many requests that come at once."""
    asked = traffic()
    return asked._replace(arrivals=asked.arrivals._replace(requests=count))


def test_percentiles_of_many() -> None:
    """Of 1 to 200: 100, 190 and 198 are not exceeded by their shares; the order does not matter."""
    found = percentiles([float(value) for value in range(200, 0, -1)])
    assert found == {"": 100.5, "p50": 100.0, "p95": 190.0, "p99": 198.0}
    assert percentiles([]) == {"": 0.0, "p50": 0.0, "p95": 0.0, "p99": 0.0}
    assert percentiles([3.0]) == {"": 3.0, "p50": 3.0, "p95": 3.0, "p99": 3.0}


def test_a_run_in_sum() -> None:
    """The first tenth of ten requests is left out of the times, and counts in the rates of both replicas."""
    answers = [Served(0.0, 50.0, 99.0, 5)] + [Served(float(at), at + 1.0, at + 3.0, 5) for at in range(1, 9)]
    answers.append(Served(9.0, 11.0, 11.0, 1))
    run = Run(answers, 20.0, 40.0, 8, 30, 0.0, 0)
    found = summed(run, traffic(objective=Objective(first_s=1.5)), replicas=2)
    assert found.first == {"": 10 / 9, "p50": 1.0, "p95": 2.0, "p99": 2.0}
    assert found.token == {"": 0.5, "p50": 0.5, "p95": 0.5, "p99": 0.5}
    assert found.whole == {"": 26 / 9, "p50": 3.0, "p95": 3.0, "p99": 3.0}
    assert found.kept == 8 / 9
    assert (found.running, found.answered_per_s, found.output_tokens_per_s) == (4.0, 0.8, 3.0)
    assert found.run is run


def test_a_run_of_no_time() -> None:
    """None was answered when the last one came: one with three tokens after four seconds is a quarter of one a second.

    Where that took no time either, nothing is divided by zero.
    """
    run = Run([Served(0.0, 1.0, 4.0, 3)], 0.0, 0.0, 0, 0, 2.0, 0)
    found = summed(run, traffic(), replicas=2)
    assert (found.answered_per_s, found.output_tokens_per_s, found.running) == (0.5, 1.5, 1.0)
    assert summed(run._replace(served=[Served(0.0, 0.0, 0.0, 1)]), traffic(), replicas=1).answered_per_s > 0


ALIKE = [Request(5.0, 100, 11)] * 6


@pytest.mark.parametrize(
    ("running", "slots", "room", "written"),
    [(4, 9, 9999, [2, 4, 7, 9]), (9, 9, 9999, [1, 3, 5, 6, 8, 10]), (4, 2, 9999, [2, 4]), (4, 9, 206, [2, 4])],
)
def test_answers_that_a_server_is_busy_with(
    running: int, slots: int, room: int, written: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As far along as they are evenly spread over ten tokens after the first, in the slots and the room there is."""
    monkeypatch.setattr(Site, "running", lambda _, rate: running if rate == 2.0 else 0)
    found = begun(site(slots=slots, room=room), traffic(2.0), ALIKE)
    assert found == [Begun(Request(0.0, 100, 11), count) for count in written]


def test_sequences_in_progress_are_as_many_as_requests_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where n sequences answer n / 8 requests a second at each of two replicas, six a second need 24 at each."""
    monkeypatch.setattr(serving_run, "state", lambda *asked: STATE._replace(requests_per_s=asked[2] / 8))
    found = site(replicas=2)._replace(saturated=STATE._replace(running=100.0))
    assert found.running(6.0) == 24
    assert found.running(1e9) == 100
    assert found.most_per_s == 16.0


def test_a_load_is_a_share_of_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of what two replicas answer at most, in a short run."""
    seen: list[Any] = []
    monkeypatch.setattr(serving_arrivals, "run_of", lambda *given, **more: seen.append((given, more)))
    at_load(site(replicas=2), traffic(3.0), 0.5)
    assert seen == [((site(replicas=2), traffic(8.0)), {"count": 250})]
    assert at_rate(traffic(3.0), 7.0) == traffic(7.0)


def test_a_run_takes_turns_and_is_as_slow_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests of one of three replicas, none longer than the cache; steps and prompts by their factors."""
    seen: list[Any] = []
    longest: list[int] = []

    def queued(asked: Any, **more: Any) -> Run:
        seen.append((len(asked), more))
        longest.append(max(one.prompt_tokens + one.output_tokens for one in asked))
        return Run([Served(0.0, 1.0, 1.0, 1)] * 10, 1.0, 5.0, 1, 1, 0.0, 0)

    monkeypatch.setattr(serving_run, "run_queue", queued)
    monkeypatch.setattr(serving_run, "begun", lambda *_: ["half"])
    found = run_of(site(replicas=3), traffic(), count=10, factors=(2.0, 3.0))
    server = Server(9, 10_000, None, False, 0.0, step_factor=2.0, prompt_factor=3.0)
    assert seen == [(10, {"server": server, "times": None, "begun": ["half"]})]
    assert found.running == 15.0
    run_of(site(), traffic(), count=4)
    assert longest == [111, 111]
    run_of(site(room=50), traffic(), count=4)
    assert longest[2] == 50
    assert seen[1] == (4, {"server": site().server, "times": None, "begun": ["half"]})


def test_a_trial_asks_for_nothing_that_the_cache_has_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the run that it stands for: prompts are cut first, and its first tenth does not count."""
    seen: list[Any] = []

    def trial(asked: Any, *_: Any, **more: Any) -> Any:
        seen.append((max(one.prompt_tokens + one.output_tokens for one in asked), more["skipped"], more["share"]))
        return SimpleNamespace(passes=lambda: True)

    monkeypatch.setattr(serving_run, "Trial", trial)
    monkeypatch.setattr(serving_run, "begun", lambda *_: [])
    assert serving_run.passes(site(room=50), traffic(), count=40, share=0.9)
    assert seen == [(50, 4, 0.9)]


def test_ranks_share_what_is_in_the_server() -> None:
    """Eight requests are two for each of four ranks, and one request is one of one rank."""
    none: Any = None
    server = LoadedServer(none, LOAD, 4)
    assert server.load_at(8.0) == LOAD._replace(concurrency=2.0)
    assert server.load_at(1.0) == LOAD._replace(concurrency=1.0)


@pytest.mark.parametrize("best", range(len(LOADS)))
def test_the_knee_is_where_power_is_largest(best: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found wherever power has its one peak: load over time rises to it and falls from it."""

    def at(_: Site, __: Traffic, share: float) -> Any:
        power = 10 - abs(LOADS.index(share) - best)
        return SimpleNamespace(whole={"": share / power})

    monkeypatch.setattr(serving_arrivals, "at_load", at)
    assert knee(site(replicas=2), traffic()) == LOADS[best] * 16.0


def found_of(**changes: Any) -> Found:
    """Return what a run said."""
    none: Any = None
    times = {"": 4.0, "p50": 1.0, "p95": 2.0, "p99": 3.0}
    first, token, whole = ({name: value * more for name, value in times.items()} for more in (1, 10, 100))
    return Found(none, first, token, whole, 0.75, 3.0, 1.5, 20.0)._replace(**changes)


def test_figures_of_arrivals() -> None:
    """Means and percentiles by name, and rates from what is answered; 60 tokens of a prompt are read; no promises."""
    found = serving_run.figures(found_of(), traffic(), 60.0)
    assert found == {
        "prefill_tokens_per_s": 90.0,
        "decode_tokens_per_s": 20.0,
        "output_tokens_per_s": 20.0,
        **{
            f"{name}{end}_s": value * more
            for name, more in (("time_to_first_token", 1), ("time_per_output_token", 10), ("request", 100))
            for end, value in (("", 4.0), ("_p50", 1.0), ("_p95", 2.0), ("_p99", 3.0))
        },
    }


@pytest.mark.parametrize(("answered", "goodput"), [(1.5, 0.75 * 1.5), (9.0, 0.75 * 2.0)])
def test_promises_that_are_kept(answered: float, goodput: float) -> None:
    """Three quarters of what is answered, but of no more than comes."""
    found = serving_run.figures(found_of(answered_per_s=answered), traffic(objective=Objective(token_s=0.1)), 100.0)
    assert (found["within_objective"], found["goodput_requests_per_s"]) == (0.75, goodput)


def test_the_working_of_arrivals() -> None:
    """The most that two replicas do, the share of it that comes, the mean time, and the knee."""
    found = values(
        [*arrival_steps(served(), site(replicas=2), traffic(4.0), found_of()), knee_step(site(replicas=2), 8.0)]
    )
    assert found["Seconds of a step without prompts, at the most"][1] == 0.5
    assert found["Seconds of a step that takes prompts along, at the most"][1] == 1.5
    assert found["Most requests a second"] == ("4 / (10 × 0.05) × 2", 16.0, "1/s", "little-law")
    assert found["Share of the most"] == ("4 / 16", 0.25, "", "little-law")
    assert found["Mean time of a request, event by event"] == ("800,000 / 2,000", 400.0, "s", "orca")
    assert found["Load at the knee"] == ("0.5 × 16", 8.0, "1/s", "kleinrock-power")


SERVED: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "engine": "vllm",
    "accelerator": "h100-sxm-80gb",
    "prompt_tokens": 1024,
    "output_tokens": 256,
}


def test_a_report_of_load() -> None:
    """Requests in progress over three replicas, two of which have one; its ranges are factors either way."""
    found: Any = estimate({**SERVED, "concurrency": 2, "parallelism": {"data": 3}})
    one: Any = estimate({**SERVED, "concurrency": 1})
    speed, alone = found["speed"], one["speed"]
    assert speed["requests_per_s"] == pytest.approx(2 * alone["requests_per_s"])
    assert speed["running_sequences"] == pytest.approx(2 * alone["running_sequences"])
    assert speed["max_sequences"] == 3 * alone["max_sequences"] == found["memory"]["max_sequences"]
    assert speed["bound_by"] == speed["prefill_bound_by"] or speed["balanced_batch"] is None
    for name in ("time_per_output_token_s", "decode_tokens_per_s"):
        ends = speed[name]
        assert ends["low"] * ends["high"] == pytest.approx(ends["typical"] ** 2)
        assert ends["low"] < ends["typical"] < ends["high"]


def test_a_report_of_arrivals() -> None:
    """Slow runs and fast ones are the ends; the knee and the most are ranges of steps, and all answers are counted."""
    report: Any = estimate({**SERVED, "arrivals": {"requests_per_s": 4, "objective": {"ttft_s": 1.0}}})
    speed = report["speed"]
    for name, found in speed.items():
        if isinstance(found, dict):
            assert found["low"] <= found["typical"] <= found["high"], name
    steps = {step["name"]: step["value"] for step in report["steps"]}
    for name, line in (("knee", "Load at the knee"), ("most", "Most requests a second")):
        ends = speed[f"{name}_requests_per_s"]
        assert ends["typical"] == steps[line]
        assert ends["high"] / ends["typical"] == pytest.approx(ends["typical"] / ends["low"])
    assert speed["time_per_output_token_s"]["low"] < speed["time_per_output_token_s"]["high"]
    assert speed["request_s"]["low"] < speed["request_s"]["typical"] < speed["request_s"]["high"]
    assert speed["request_s"]["typical"] == steps["Mean time of a request, event by event"]
    assert speed["running_sequences"] == pytest.approx(
        speed["requests_per_s"] * 255 * speed["time_per_output_token_s"]["typical"], rel=0.03
    )
    assert (speed["preempted"], speed["balanced_batch"]) == (0, None)
    assert speed["max_sequences"] == report["memory"]["max_sequences"]


def test_a_burst_by_hand() -> None:
    """400 requests of 10 tokens, 16 a second: all are answered after 25 s, which are 160 tokens a second."""
    found = found_of(answered_per_s=16.0, output_tokens_per_s=160.0)
    *_, last, rate = burst_steps(served(), site(), burst(400), found)
    assert (last.substituted, last.value, last.unit) == ("400 / 16.000", 25.0, "s")
    assert last.formula == r"\max_i t_{\text{last}, i}"
    assert (rate.substituted, rate.value, rate.unit) == ("400 × 10.000 / 25.000", 160.0, "tokens/s")
    assert burst_figures(found, burst(400), 100.0)["all_answered_s"] == 25.0


def test_clients_that_are_fewer_than_replicas_leave_some_idle() -> None:
    """Of four replicas one client keeps one at work, whichever it is; six keep three at work with two each."""
    asked = {**SERVED, "accelerators": 4, "parallelism": {"data": 4}}
    one, four, six = (
        estimate({**asked, "arrivals": {"requests": 12 * clients, "concurrency": clients}})["speed"]
        for clients in (1, 4, 6)
    )
    rates = [found["output_tokens_per_s"]["typical"] for found in (one, four, six)]  # type: ignore[index]
    assert rates[1] == pytest.approx(4 * rates[0], rel=1e-3)
    assert rates[1] < rates[2] < 1.5 * rates[1]


def test_a_burst_waits_for_states() -> None:
    """A thousand short requests to Qwen3.5 35B-A3B under SGLang 0.5.9 on an H200, of which 512 may be in the server.

    About 132 ran at a time (2,255 tokens a second, each 58.8 ms after the last), a first token took 34 s (GPUStack):
    requests wait for states. Without a part of the pool for them twice as many would run. Its own share, a twentieth
    and more less for what sees, lets 134 in, and the tail of the burst has fewer.
    """
    lengths = {"prompt_tokens": {"median": 248, "p95": 926}, "output_tokens": {"median": 204, "p95": 762}}
    asked = {"model": "qwen3.5-35b-a3b", "engine": "sglang", "weights": "bf16", "accelerator": "h200-sxm-141gb"}
    burst = {"arrivals": {"requests": 1000, "lengths": lengths}, "sequence_slots": 512, "engine_version": "0.5.9"}
    report: Any = estimate({**asked, **burst, "prompt_tokens": 342, "output_tokens": 281})
    assert report["speed"]["running_sequences"] == pytest.approx(132, rel=0.15)
    assert report["speed"]["time_to_first_token_s"]["typical"] == pytest.approx(34.4, rel=0.3)


def test_arrivals_of_two_lengths_are_bounded_by_the_cache() -> None:
    """On a card with little room, slots are what the mean request leaves, and the most grows with the room."""
    asked = {**SERVED, "accelerator": "rtx-4090", "arrivals": {"requests_per_s": 1}}
    small: Any = estimate(asked)
    wide: Any = estimate({**asked, "accelerator": "rtx-5090"})
    assert small["speed"]["most_requests_per_s"]["typical"] < wide["speed"]["most_requests_per_s"]["typical"]
    few: Any = estimate({**asked, "sequence_slots": 2})
    assert few["speed"]["running_sequences"] <= 2


def test_what_stays_is_more_than_a_device_has() -> None:
    """Weights and cache of a stage behind the first, 60 and 40 bytes, are too much for a device of 99 bytes."""

    def overfull(visible: int | None, *, first: bool = False, on_host: bool = False) -> bool:
        budget, placement = SimpleNamespace(weights=60, kv_cache=40), SimpleNamespace(on_host=on_host)
        case: Any = SimpleNamespace(visible=visible, budget=budget, placement=placement)
        case.stage = SimpleNamespace(is_first=first)
        overfull: Any = Case.overfull
        return bool(overfull.fget(case))

    assert overfull(99) and not overfull(100)
    assert not (overfull(99, first=True) or overfull(99, on_host=True) or overfull(None))


@pytest.mark.parametrize("weights", ["bf16", "q4_k_m"])
@pytest.mark.parametrize("placed", [{}, {"gpu_layers": 60}, {"experts_on_host": 11}])
@pytest.mark.parametrize("tokens", [512, 32768])
def test_a_trial_looks_at_no_more_stages_than_it_must(weights: str, placed: dict[str, int], tokens: int) -> None:
    """Where all fit it finds the fullest that all stages together have; else one that does not fit, nor does that."""
    asked = {"model": "mixtral-8x22b" if "experts_on_host" in placed else "llama-3.3-70b", "engine": "llama.cpp"}
    asked |= {"accelerator": "rtx-4090", "accelerators": 8, "context_tokens": tokens, "sequences": 4, **placed}
    asked |= {"weights": weights, **({"host": {"memory": "1 TiB"}} if placed else {})}
    read = read_question(asked)
    serving, anew = read.serving(), read.serving()
    assert serving is not None and anew is not None
    case, runtime = serving.tried(read.demand, read.layout)
    whole, fullest = anew.fullest(read.demand, read.layout)
    assert runtime.fits == fullest.fits == serving.fits(read.demand, read.layout)
    assert not runtime.fits or (case.stage, runtime) == (whole.stage, fullest)
    assert len(list(serving.full_cases(read.demand, read.layout))) < len(serving.loaded(read.demand, read.layout))


def test_the_pool_of_a_pipeline_is_that_of_its_fewest_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages have room for 900 bytes with 30 tokens, 800 with 40, and one without a cache for none."""
    pools = {"first": (900, 30), "second": (800, 40), "last": (0, 0)}

    def pool_of(served: Any, _: bool) -> tuple[int, int]:
        assert served.runtime == f"run of {served.case}"
        return pools[served.case]

    monkeypatch.setattr(serving_report, "stage_pool", pool_of)

    def of(stages: list[str], pipeline: int) -> Any:
        own = SimpleNamespace(loaded=lambda *_: [(stage, f"run of {stage}") for stage in stages])
        fields = {"serving": own, "demand": None, "layout": Layout(pipeline=pipeline)}
        alone = {"case": "second", "runtime": "run of second"}
        return SimpleNamespace(**fields, **alone, _replace=lambda **changes: SimpleNamespace(**changes))

    assert serving_report.cache_pool(of(["first", "second", "last"], 3)) == (900, 30)
    assert serving_report.cache_pool(of(["last"], 2)) == (0, 0)
    assert serving_report.cache_pool(of(["first", "second"], 1)) == (800, 40)


@pytest.mark.parametrize(
    ("model", "more"),
    [
        # Of 2,048 tokens in blocks of 16: a window of 128 keeps nine, and while a step of 2,048 is read all and one.
        ("gpt-oss-20b", (128 + 129) / (128 + 9)),
        ("llama-3.1-8b", 1.0),
    ],
)
def test_windows_keep_less_while_answers_are_written(model: str, more: float) -> None:
    """vLLM says how many tokens its cache holds while prompts are read; answers have more room beside windows."""
    asked = {"model": model, "engine": "vllm", "accelerator": "rtx-4090", "batched_tokens": 2048}
    read = read_question({**asked, "prompt_tokens": 1024, "output_tokens": 1024, "sequences": 1})
    engine = read.serving()
    assert engine
    held = serve(engine, read.demand, read.layout, most=True)
    (size, said), (same, room) = (serving_report.cache_pool(held, decoding=decoding) for decoding in (False, True))
    assert size == same and room == pytest.approx(more * said, rel=1e-3)


@pytest.mark.parametrize(
    ("card", "link", "rate"),
    [
        ("rtx-3090", None, 0.94 * 12.5e9 / 8),  # eight cards of a machine share a port of 100 Gb/s
        ("rtx-3090", "ethernet-100", 0.94 * 12.5e9),
        ("h100-sxm-80gb", None, 0.94 * 50e9),  # a port of 400 Gb/s each
    ],
)
def test_what_a_device_sends_to_another_pool(card: str, link: str | None, rate: float) -> None:
    """Of the network of its machine its share of the ports, of a link that is named all; 94 % are reached."""
    facts = catalog()
    assert sending_rate(facts.accelerator(card), facts.link(link) if link else None) == pytest.approx(rate)


def test_stages_are_run_anew_for_other_values() -> None:
    """What was found for a demand is kept for that demand, layout and engine alone."""
    scenario = {"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "engine": "llama.cpp", "weights": "q8_0"}
    read = read_question(scenario)
    serving = read.serving()
    assert serving is not None
    first = serving.fullest(read.demand, read.layout)
    assert serving.fullest(read.demand, read.layout)[1] is first[1]
    more = read.demand._replace(tokens=2 * read.demand.tokens)
    assert serving.fullest(more, read.layout)[1].device > first[1].device
    own = serving.engine.values
    same = serving.fullest(read.demand, read.layout)[1].device
    serving.engine = serving.engine.valued({**own, "runtime_context": own["runtime_context"] + 2**30})
    assert serving.fullest(read.demand, read.layout)[1].device > same == first[1].device
