"""A server under load: Little's law, what more requests do, and what waits."""

from math import sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import ScenarioError, estimate
from calc.performance.load import LENGTH_SPREAD, Load
from calc.performance.steady_state import State, held, state, steady_state
from tests.performance.test_speed import passes

SERVED: dict[str, Any] = {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "h100-sxm-80gb"}
ENGINES = ["vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers"]


def speed(**fields: object) -> dict[str, Any]:
    """Return the speed of a report."""
    found: Any = estimate({**SERVED, **fields})["speed"]
    return found


def loaded(concurrency: float, slots: float = 1e9, *, mixes: bool = True, prompt: int = 1024) -> State:
    """Return an 8B on an H100 under so many requests of a prompt and 256 tokens."""
    return steady_state(passes(), Load(concurrency, slots, prompt, 256, 0, 8192, 0.0, 1, mixes))


@given(st.integers(1, 2000), st.sampled_from([16.0, 256.0, 1e9]), st.booleans(), st.sampled_from([64, 1024, 16384]))
def test_requests_are_where_little_says(concurrency: int, slots: float, mixes: bool, prompt: int) -> None:
    """Those that decode and those that wait for their first token are all, within a hundredth for short prompts."""
    found = loaded(concurrency, slots, mixes=mixes, prompt=prompt)
    active = min(concurrency, slots)
    inside = held(found._replace(first_s=found.first_s - found.waiting_s - found.burst_s))
    # A long prompt takes a step more or less when a sequence more or less decodes: there the numbers leap.
    assert inside == pytest.approx(active, rel=0.01 if prompt <= 1024 else 0.3) or found.running == active
    assert found.waiting_s == pytest.approx(max(concurrency - active, 0) / found.requests_per_s)


@given(st.integers(1, 500), st.integers(1, 500))
def test_more_requests_take_longer_and_give_more(concurrency: int, more: int) -> None:
    """Each token takes longer, and there are more, or up to a fiftieth fewer where prompts' tiles carry them."""
    few, many = (loaded(count) for count in (concurrency, concurrency + more))
    assert few.step_s <= many.step_s * 1.002
    assert few.requests_per_s <= many.requests_per_s * 1.02


def test_one_request_decodes_as_one_sequence() -> None:
    """Alone, a request never meets another's prompt: its tokens take as long as those of a batch of one."""
    one, batch = speed(concurrency=1), speed(sequences=1)
    assert one["time_per_output_token_s"]["typical"] == pytest.approx(
        batch["time_per_output_token_s"]["typical"], rel=0.1
    )


def test_what_has_no_slot_waits() -> None:
    """With eight slots for 64 requests, tokens come as fast as with eight, and the first comes late."""
    eight, waiting = speed(concurrency=8), speed(concurrency=64, sequence_slots=8)
    same = "time_per_output_token_s"
    assert waiting[same]["typical"] == pytest.approx(eight[same]["typical"], rel=0.01)
    assert waiting["time_to_first_token_s"]["typical"] > 5 * eight["time_to_first_token_s"]["typical"]


def test_prompts_that_stop_decoding_make_tokens_late() -> None:
    """SGLang reads prompts between steps, vLLM along with them: the mean token waits longer for the first.

    But for the tiles of prompts that tokens along with them take, which cost vLLM about as much.
    """
    served, between = passes(), loaded(256, mixes=False).step_s
    bare = served._replace(schedule=served.schedule._replace(tile_rows=0.0))
    along = steady_state(bare, Load(256, 1e9, 1024, 256, 0, 8192, 0.0, 1, True)).step_s
    assert between > along


def test_prompts_that_come_together_wait_for_one_another() -> None:
    """Long prompts, short answers, prompts before decoding: the first token waits for half of the reading of a group.

    Answers of one length end with one step, and all prompts come together. Where lengths differ, answers end over so
    many steps, and no further one ends while prompts are read.
    """
    load = Load(64, 1e9, 4096, 128, 0, 8192, 0.0, 1, mixes=False, closed=True)
    even, tests = (state(passes(), load._replace(spread=spread), 64.0) for spread in (0.0, LENGTH_SPREAD))
    tokens, plain_s = load.output_tokens - 1, even.decoding.total
    for found, steps in ((even, 1.0), (tests, sqrt(12) * LENGTH_SPREAD * tokens)):
        reading = found.share * found.extra_s * tokens
        assert found.wave_s == pytest.approx(reading / steps / 2)
        # Whatever the first token waits for longer, the others need not wait for.
        assert found.step_s == pytest.approx(plain_s + (reading - found.wave_s) / tokens)
    assert even.wave_s > 10 * even.service_s > 5 * tests.wave_s
    # What client and front end take one by one lies further apart.
    assert state(passes(), load._replace(request_s=99.0), 64.0).wave_s == 0


def test_a_steady_state_is_what_a_run_comes_to() -> None:
    """Sixteen rounds of 64 requests whose lengths lie 5 % about 1,000, where decoding waits for prompts."""
    asked = {"engine": "sglang", "weights": "bf16", "prompt_tokens": 1000, "output_tokens": 1000}
    lengths = {"least": 950, "most": 1050}
    run = {"requests": 1024, "concurrency": 64, "lengths": {"prompt_tokens": lengths, "output_tokens": lengths}}
    steady = speed(**asked, concurrency=64, length_spread=0.0289)
    events = speed(**asked, arrivals=run)
    for name, near in (("time_to_first_token_p50_s", 0.35), ("output_tokens_per_s", 0.05)):
        assert steady[name]["typical"] == pytest.approx(events[name]["typical"], rel=near)


def test_fewer_requests_than_replicas_read_fewer_experts() -> None:
    """Of eight replicas that share experts: with each more that has a request, each token takes longer."""
    fields = {
        "model": "qwen3-30b-a3b",
        "parallelism": {"data": 8, "expert": 8},
        "prompt_tokens": 64,
        "output_tokens": 64,
    }
    found = [speed(**fields, concurrency=count)["time_per_output_token_s"]["typical"] for count in (1, 2, 4, 8)]
    assert found == sorted(found) and found[0] < 0.95 * found[-1]
    run = {"requests": 16, "concurrency": 1, "lengths": {"prompt_tokens": 64, "output_tokens": 64}}
    assert speed(**fields, arrivals=run)["time_per_output_token_s"]["typical"] == pytest.approx(found[0], rel=0.05)


@pytest.mark.parametrize(("spread", "near"), [(0.1, 2.0), (0.2, 2.0)])
def test_a_cache_holds_more_answers_than_at_full_length(spread: float, near: float) -> None:
    """256 requests of 1,024 and 1,024 tokens on an H100 are more than fit at full length, and less than half written.

    They are let in as in a run of the same schedule: with room for whole answers first tokens came 14 times as late.
    """
    lengths = {"least": round(1024 * (1 - sqrt(3) * spread)), "most": round(1024 * (1 + sqrt(3) * spread))}
    fields = {"prompt_tokens": 1024, "output_tokens": 1024}
    steady = speed(**fields, concurrency=256, length_spread=spread)
    assert steady["max_sequences"] < 256
    run = {"requests": 2048, "concurrency": 256, "lengths": dict.fromkeys(fields, lengths)}
    events = speed(**fields, arrivals=run)
    first = "time_to_first_token_s"
    assert 1 / near < steady[first]["typical"] / events[first]["typical"] < near
    assert steady["output_tokens_per_s"]["typical"] == pytest.approx(events["output_tokens_per_s"]["typical"], rel=0.1)


@pytest.mark.parametrize(
    ("fields", "arrivals", "decoding", "steps"),
    [
        ({}, 0.1, 32.0, 1.0),
        ({"held_steps": 60.0}, 0.1, 32.0, 10.0),
        ({"held_steps": 60.0, "held_prompts": 3.0}, 0.1, 32.0, 30.0),
        ({"held_steps": 60.0, "held_prompts": 3.0}, 0.01, 32.0, 60.0),
        ({"held_steps": 60.0, "held_prompts": 3.0}, 0.1, 2.0, 10.0),
        ({"held_steps": 60.0, "held_prompts": 3.0}, 5.0, 32.0, 1.0),
        ({"held_steps": 60.0, "concurrency": 1.0, "closed": True}, 0.1, 1.0, 1.0),
    ],
)
def test_steps_in_which_prompts_wait_for_other_ranks(
    fields: dict[str, Any], arrivals: float, decoding: float, steps: float
) -> None:
    """Until each has one, or as long as they may, or as any has something to decode; a request alone for none."""
    load = Load(32.0, 64.0, 1024, 256, 0, 8192, 0.0, 8, mixes=True)._replace(**fields)
    assert load.gap(arrivals, decoding) == pytest.approx(steps)


def test_ranks_that_wait_for_each_other_s_prompts_decode_faster() -> None:
    """Fewer steps carry prompts, which come later for it: by half of the steps that they are held."""
    apart = Load(32.0, 64.0, 1024, 256, 0, 8192, 0.0, 8, mixes=True, closed=True)
    found, held = (state(passes(), load, 32.0) for load in (apart, apart._replace(held_steps=60.0, held_prompts=2.7)))
    assert held.step_s < found.step_s
    gap = apart._replace(held_steps=60.0, held_prompts=2.7).gap(32 / 256, 32.0)
    assert held.step_waits == pytest.approx(0.5 + (gap - 1.0) / 2.0)
    assert held.first_s - held.service_s - held.queueing_s == pytest.approx(held.step_waits * held.step_s)


@pytest.mark.parametrize("running", [2.0, 32.0, 512.0])
def test_a_rank_decodes_while_others_read(running: float) -> None:
    """Each step of its own is as long as one pass of theirs at most, however many of them read."""
    load = Load(running, running, 1024, 256, 0, 8192, 0.0, 8, mixes=False)
    found, alone = (state(passes("sglang"), load._replace(ranks=ranks), running) for ranks in (8, 1))
    longer = found.step_s - alone.step_s
    assert 0.0 < longer <= found.extra_s - found.decoding.total + 1e-9
    assert 1 <= found.replicas <= 8


@pytest.mark.parametrize("mixes", [False, True])
def test_answers_of_one_length_end_together(mixes: bool) -> None:
    """Prompts that follow them share a step, as far as the step has room; those of chats come one by one."""
    load = Load(64, 1e9, 128, 129, 0, 8192 + 64, 0.0, 1, mixes, closed=True)
    even, tests, chats = (state(passes(), load._replace(spread=spread), 64.0) for spread in (0.0, 0.03, 0.9))
    # One step of an answer has all of the prompts, and those that decode meet none of them.
    assert even.share == pytest.approx(0.0 if mixes else (64 / 129) / 64, rel=0.01, abs=1e-4)
    assert even.share < tests.share < chats.share
    if mixes:
        assert even.step_s == pytest.approx(even.decoding.total, rel=5e-3)
    # Where client and front end take 4 ms for each, 64 prompts come over a quarter of a second.
    apart = state(passes(), load._replace(spread=0.0, between_s=0.004), 64.0)
    assert even.share < apart.share < chats.share


def test_no_step_is_shorter_than_its_front_end_takes() -> None:
    """A tenth of a second for each of eight tokens, and a second for each request, of which a step has 8 in 128."""
    load = Load(8, 8, 128, 128, 0, 8192, 0.0, 1, mixes=True, closed=True, stream_s=0.1, between_s=1.0)
    found = state(passes(), load, 8.0)
    assert found.step_s == found.front_s == pytest.approx(8 * 0.1 + 8 / 128 * 1.0)
    assert state(passes(), load._replace(stream_s=0.0, between_s=0.0), 8.0).front_s == 0.0


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_serves(engine: str) -> None:
    """Figures fit together: half of the times lie below 95 % of them, and rates are requests times tokens."""
    found = speed(engine=engine, concurrency=32, prompt_tokens=512, output_tokens=128)
    for name in ("time_to_first_token", "time_per_output_token"):
        assert found[f"{name}_p50_s"]["typical"] <= found[f"{name}_p95_s"]["typical"]
    assert found["output_tokens_per_s"]["typical"] == pytest.approx(found["requests_per_s"] * 128)
    assert found["prefill_tokens_per_s"]["typical"] == pytest.approx(found["requests_per_s"] * 512)


def test_what_does_not_fit_runs_in_waves() -> None:
    """64 texts of 4,096 tokens of a 70B on four A100 of 40 GB, which hold a few at once: not at the speed of 64."""
    asked: dict[str, Any] = {
        "model": "llama-3.1-70b",
        "weights": "int8",
        "engine": "vllm",
        "accelerator": "a100-sxm-40gb",
        "parallelism": {"tensor": 4},
        "prompt_tokens": 3840,
        "output_tokens": 256,
    }
    report: Any = estimate({**asked, "sequences": 64})
    most = report["memory"]["max_sequences"]
    assert 0 < most < 64
    few: Any = estimate({**asked, "sequences": most})["speed"]
    assert report["speed"]["decode_tokens_per_s"]["typical"] <= few["decode_tokens_per_s"]["typical"] * 1.001
    assert report["speed"]["time_to_first_token_s"]["typical"] > few["time_to_first_token_s"]["typical"]


def test_as_many_as_fit_stop_at_the_engines_own_limit() -> None:
    """A small model would fit thousands; the server was set up for 16."""
    report: Any = estimate({**SERVED, "model": "qwen3-0.6b", "sequences": "max", "sequence_slots": 16})
    assert report["memory"]["sequences"] == 16


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"engine": "none", "concurrency": 4}, "concurrency"),
        ({"sequences": 4, "concurrency": 4}, "concurrency"),
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": 4, "length_spread": -0.1}, "length_spread"),
        ({"concurrency": 4, "length_spread": "wide"}, "length_spread"),
        ({"sequences": 4, "length_spread": 0.5}, "length_spread"),
        ({"engine": "none", "sequence_slots": 4}, "sequence_slots"),
    ],
)
def test_load_that_cannot_be_is_refused(fields: dict[str, object], field: str) -> None:
    """Each by the name of its field."""
    with pytest.raises(ScenarioError) as error:
        estimate({**SERVED, **fields})
    assert error.value.field == field


def test_a_report_of_load_can_be_asked_again() -> None:
    """The scenario in a report gives the same speed."""
    report: Any = estimate({**SERVED, "concurrency": 16})
    again: Any = estimate(report["scenario"])
    assert again["speed"] == report["speed"]
