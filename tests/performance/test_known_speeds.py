"""Prefill, decoding and loads on a device whose seconds anyone can add up."""

from collections.abc import Callable
from math import exp, sqrt
from types import SimpleNamespace
from typing import Any

import pytest

from calc.catalog import catalog
from calc.performance import speed
from calc.performance.forward import Segment
from calc.performance.load import Load
from calc.performance.operations import Experts, Product
from calc.performance.speed import Decode, Prefill, Question, Speed, decode, prefill, seconds_of, speed_of, step_of
from calc.performance.steady_state import State, burst_s, held, state, steady_state
from calc.performance.step_times import StepTimes
from tests.performance.evenly import asked_of, evenly


@pytest.mark.parametrize(
    ("sequences", "limit", "cached", "passes", "alike", "tokens", "before"),
    [
        (5, 300, 10, 20, 1.0, 250, 10 + 375),  # four chunks of each prompt, of which the one half-way has 375 before it
        (5, 2500, 10, 3, 5 / 3, 1000, 10),  # two prompts in a pass
        (5, 1000, 0, 5, 1.0, 1000, 0),
        (5, None, 0, 1, 5.0, 1000, 0),
        (2, 9000, 0, 1, 2.0, 1000, 0),  # no more than there are
    ],
)
def test_prompts_are_cut_or_put_together(
    sequences: int, limit: int | None, cached: int, passes: int, alike: float, tokens: int, before: int
) -> None:
    """Prompts of 1,000 tokens in passes of so many: how many there are, and what the mean one has."""
    found = evenly(asked_of(1000, 100), pass_s=0.5, token_s=0.001)
    answer = prefill(found, sequences=sequences, cached_tokens=cached, batched_tokens=limit, overlaps=0.0)
    assert found.asked == [(found.prompt(sequences=alike, tokens=tokens, before=before),)]
    assert answer.passes == passes
    assert answer.seconds == pytest.approx(passes * (0.5 + alike * tokens * 0.001))


def test_a_prompt_of_an_odd_length_is_cut_evenly() -> None:
    """1,001 tokens in passes of 400 are three chunks of 334, the one half-way after 333."""
    found = evenly(asked_of(1001, 0), token_s=1.0)
    assert prefill(found, sequences=1, cached_tokens=0, batched_tokens=400, overlaps=0.0).passes == 3
    assert found.asked == [(found.prompt(sequences=1.0, tokens=334, before=333),)]


def test_an_encoder_reads_a_prompt_at_once() -> None:
    """However long it is: a pass for each of three sequences."""
    found = evenly(asked_of(1000, 0, has_encoder=True), pass_s=1.0)
    assert prefill(found, sequences=3, cached_tokens=0, batched_tokens=300, overlaps=0.0).passes == 3
    assert found.asked == [(found.prompt(sequences=1.0, tokens=1000, before=0),)]


@pytest.mark.parametrize(
    ("stages", "overlaps", "seconds"), [(1, 1.0, 8.0), (4, 0.0, 8.0), (4, 1.0, 11 * 0.25), (4, 0.5, 4 + 11 / 8)]
)
def test_passes_through_stages(stages: int, overlaps: float, seconds: float) -> None:
    """Eight passes of a second through four stages of a quarter: the last one begins after seven, and takes four."""
    found = seconds_of(passes=8, pass_s=1.0, longest_s=1.0, slowest_s=1.0 / stages, overlaps=overlaps)
    assert found == seconds


def test_stages_wait_for_the_longest_pass() -> None:
    """Passes of 1.5 s and 0.5 s through two stages: the longer one's half is waited for."""
    assert seconds_of(passes=2, pass_s=1.0, longest_s=1.5, slowest_s=0.5, overlaps=1.0) == 1.75
    assert seconds_of(passes=2, pass_s=1.0, longest_s=1.5, slowest_s=0.5, overlaps=0.0) == 2.0


def test_stages_read_passes_one_behind_the_other() -> None:
    """Four stages, ten prompts, one in each pass: 13 quarters of a pass where they overlap."""
    found = evenly(asked_of(100, 0), pass_s=1.0, pipeline=4)
    answer = prefill(found, sequences=10, cached_tokens=0, batched_tokens=100, overlaps=1.0)
    assert answer.seconds == 13 / 4


@pytest.mark.parametrize(
    ("sequences", "stages", "overlaps", "parts", "step_s"),
    [
        (8, 1, True, 1, 1.0 + 8.0),
        (8, 4, True, 4, 1.0 + 2.0),
        (2, 4, True, 2, 1.0 + 1.0),
        (8, 4, False, 1, 1.0 + 8.0),
        (0, 4, True, 1, 1.0),
    ],
)
def test_a_batch_is_cut_into_as_many_parts_as_stages(
    sequences: int, stages: int, overlaps: bool, parts: int, step_s: float
) -> None:
    """A second for each pass and for each sequence; with as many parts as stages none waits for the one before it."""
    found = evenly(asked_of(1000, 101), pass_s=1.0, sequence_s=1.0, pipeline=stages)
    answer = decode(found, sequences=sequences, output_tokens=101, overlaps=overlaps)
    assert (answer.parts, answer.step_s) == (parts, step_s)
    assert found.asked == [(found.step(sequences=sequences / parts, context=1000 + 50 - 1),)]


def test_a_step_that_writes_several_tokens() -> None:
    """Two and a half of each sequence where some are drafted: each has a token more in that part of a step."""
    found = evenly(asked_of(1000, 100), pass_s=1.0, sequence_s=0.5, expected=2.5)
    assert decode(found, sequences=3, output_tokens=100, overlaps=False).step_s == 1.0
    times = StepTimes(found, prompt_tokens=100, output_tokens=20, most_tokens=512, mixes=True)
    assert times.decode(3) == pytest.approx((1.0, 0.0))


def test_a_context_is_never_negative() -> None:
    """One token without a prompt looks back at nothing."""
    found = evenly(asked_of(0, 1), pass_s=1.0)
    decode(found, sequences=1, output_tokens=1, overlaps=False)
    assert found.asked[0][0].keys == 0


@pytest.mark.parametrize(
    ("parts", "stage_s", "seconds"), [(1, 0.75, 3.0), (2, 0.75, 3.0), (4, 0.75, 3.0), (4, 1.0, 4.0)]
)
def test_parts_follow_each_other(parts: int, stage_s: float, seconds: float) -> None:
    """Four stages of 0.75 s work on four parts at once; where one of them takes a second, all wait for it."""
    assert step_of(pass_s=3.0, stage_s=stage_s, parts=parts) == seconds


def answer(*, waves: int = 1, output_tokens: int = 101) -> Speed:
    """Return a prefill of 2 s and steps of 0.5 s for 8 sequences of 1,000 tokens."""
    time: Any = None
    first, step = Prefill(time, 4, 2.0), Decode(time, 1, 0.5)
    return Speed(time, first, step, 8, 1000, output_tokens, waves=waves)


def test_the_figures_of_a_speed() -> None:
    """8 × 1,000 tokens in 2 s, 8 in each half second, and 808 in 2 s and 100 steps."""
    assert answer().figures() == {
        "prefill_tokens_per_s": 4000,
        "decode_tokens_per_s": 16,
        "time_to_first_token_s": 2,
        "time_per_output_token_s": 0.5,
        "output_tokens_per_s": 808 / 52,
    }


def test_slower_steps_and_prompts() -> None:
    """Twice the steps and three times the prefill, each in its own figures."""
    assert answer().figures(2.0, 3.0) == {
        "prefill_tokens_per_s": 8000 / 6,
        "decode_tokens_per_s": 8,
        "time_to_first_token_s": 6,
        "time_per_output_token_s": 1,
        "output_tokens_per_s": 808 / 106,
    }


def test_waves_come_one_after_the_other() -> None:
    """In three waves everything takes three times as long; one token has no step, and none no rate of output."""
    found = answer(waves=3)
    assert (found.first_s, found.step_s) == (6.0, 1.5)
    assert answer(output_tokens=1).figures()["output_tokens_per_s"] == 4.0
    assert "output_tokens_per_s" not in answer(output_tokens=0).figures()


def reading(seconds: Callable[[float], float]) -> Speed:
    """Return a speed whose products take so long for a number of sequences; all that it does takes longer."""

    def time(segment: Segment, kinds: tuple[type, ...] = ()) -> Any:
        product = kinds == (Product, Experts) and not segment.keys
        return SimpleNamespace(device_s=seconds(segment.sequences) if product else 99.0, processor_s=0.0)

    passes = evenly(asked_of(1, 1))
    passes.time = time
    return answer()._replace(passes=passes)


def test_a_balanced_batch_is_where_two_lines_meet() -> None:
    """Reading takes 4 s whatever the batch, 8,192 tokens take 32: that is 1,024 tokens' time. Others do not count."""
    found = reading(lambda sequences: max(4.0, sequences / 256))
    assert found.balanced_batch == 1024
    assert found.product_s(512) == 4.0
    assert reading(lambda _: 1.0).balanced_batch == 8192
    assert reading(lambda sequences: sequences**2).balanced_batch == 1


VALUES = {"overlaps_prefill": 1.0, "overlaps_decode": 1.0}


def asked(*, sequences: int = 8, most: int | None = None, **layout: int) -> tuple[Question, Any]:
    """Return a question about 1,000 tokens of prompt and 100 of output, and passes that answer it."""
    demand = asked_of(1000, 100, sequences)
    passes = evenly(demand, pass_s=1.0, sequence_s=0.1, token_s=0.001, **layout)
    device = catalog().accelerator("h100-sxm-80gb")
    return Question(demand, passes.layout, device, "llama.cpp", "", 100, 5, 2000, "flash", most=most), passes


def answered_by(passes: Any, monkeypatch: pytest.MonkeyPatch, values: dict[str, float] = VALUES) -> None:
    """Let questions be answered by passes, where they come with the engine's own values."""
    monkeypatch.setattr(speed, "passes_for", lambda _, given: passes if given is values else None)


def test_a_speed_is_of_what_a_replica_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight sequences on two replicas: prompts two by two, a step of four; all eight are counted."""
    question, passes = asked(data=2)
    answered_by(passes, monkeypatch)
    found = speed_of(question, VALUES)
    assert found is not None
    assert passes.asked == [
        (passes.step(sequences=4, context=1049),),
        (passes.prompt(sequences=2.0, tokens=1000, before=5),),
    ]
    assert (found.prefill.passes, found.prefill.seconds) == (2, 2 * 3.0)
    assert found.decode.step_s == pytest.approx(1.4)
    assert found[3:] == (8, 1000, 100, 1)


def test_stages_that_do_not_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four stages take a step of all eight sequences one after the other, and each prompt alone."""
    values = {**VALUES, "overlaps_prefill": 0.0, "overlaps_decode": 0.0}
    question, passes = asked(pipeline=4)
    answered_by(passes, monkeypatch, values)
    found = speed_of(question, values)
    assert found is not None
    assert (found.decode.parts, found.decode.step_s) == (1, 1.8)
    assert found.prefill.seconds == 4 * 3.0


@pytest.mark.parametrize(("most", "waves", "together"), [(None, 1, 8), (0, 1, 8), (8, 1, 8), (5, 2, 4), (3, 3, 3)])
def test_what_does_not_fit_runs_in_even_waves(
    most: int | None, waves: int, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight where five fit are twice four; where three fit, three waves of three at most."""
    question, passes = asked(most=most)
    answered_by(passes, monkeypatch)
    found = speed_of(question, VALUES)
    assert found is not None and found.waves == waves
    assert passes.asked[0][0].sequences == together


def test_no_speed_without_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device whose rates nobody states has none."""
    monkeypatch.setattr(speed, "passes_for", lambda *_: None)
    assert speed_of(asked()[0], VALUES) is None


def load(**changes: Any) -> Load:
    """Return a load of prompts of 100 tokens and answers of 11."""
    usual = Load(8.0, 8.0, 100, 11, 7, None, 0.5, 1, mixes=False)
    return usual._replace(**changes)


def test_prompts_between_steps() -> None:
    """Eleven sequences of 11 tokens end one by one: a prompt of 0.1 s between any two steps of 0.01 s.

    Half of the time is the prompts', so a prompt waits for half of one before it (Pollaczek and Khinchine).
    """
    passes = evenly(asked_of(100, 11), pass_s=0.01, token_s=0.0009)
    found = state(passes, load(), 11.0)
    assert passes.asked == [
        (passes.step(sequences=11.0, context=7 + 100 + 5),),
        (passes.prompt(sequences=1.0, tokens=100, before=7),),
    ]
    assert found.step_s == pytest.approx(0.01 + 0.1)
    assert found.queueing_s == pytest.approx(0.5 / (2 * 0.5) * 0.1)
    assert found.service_s == pytest.approx(0.1)
    assert found.first_s == pytest.approx(0.055 + 0.1 + 0.05)
    assert found.requests_per_s == pytest.approx(11 / (10 * 0.11))
    assert found.spread_s == pytest.approx(0.1 * sqrt(0.25 / 10))
    assert (found.running, found.share, found.waiting_s, found.burst_s) == (11.0, 1.0, 0.0, 0.0)
    assert found.extra_s == pytest.approx(0.1)
    assert found.decoding.total == 0.01 and found.prompting.total == pytest.approx(0.1)


@pytest.mark.parametrize(("decoding", "queueing_s"), [(0.0, 0.0), (11.0, 0.05), (44.0, 0.2), (99.0, 0.45)])
def test_prompts_queue_as_at_a_counter_with_even_service(decoding: float, queueing_s: float) -> None:
    """Of one clerk who is busy for 50, 80 and 90 % of the time, a half, two and four and a half services (M/D/1).

    These are half of the 1, 4 and 9 of a clerk whose service is exponential (Erlang; Pollaczek and Khinchine). Answers
    of 11 tokens end every 1 / 11 of a step for each that is decoded: eleven give a prompt between any two steps, and
    what is busy is prompts over prompts and steps of equal weight.
    """
    passes = evenly(asked_of(100, 11), pass_s=0.01, token_s=0.0009)
    assert state(passes, load(slots=100.0), decoding).queueing_s == pytest.approx(queueing_s)


def test_prompts_along_with_steps() -> None:
    """Fifty sequences of 501 tokens: a tenth of the steps carries a prompt of 100 tokens, in the room that 50 leave.

    Two ranks that step together meet twice as many, less those that come to both at a time.
    """
    passes = evenly(asked_of(100, 501), pass_s=0.01, token_s=0.0003)
    asked = load(output_tokens=500, batched_tokens=150, ranks=2, mixes=True)
    found = state(passes, asked, 50.9)
    each = 50.9 / 500
    met = each * (1.0 + exp(-each))
    assert passes.asked[1] == (
        passes.step(sequences=50.9, context=7 + 100 + 250),
        passes.prompt(sequences=1.0, tokens=100, before=7),
    )
    assert found.extra_s == pytest.approx(0.03)
    assert found.share == pytest.approx(met)
    assert found.step_s == pytest.approx(0.01 + met * 0.03)
    assert found.service_s == pytest.approx(0.04)
    assert found.queueing_s == pytest.approx(each / (2 * (1 - each)) * 0.04)
    assert found.requests_per_s == pytest.approx(50.9 / (499 * found.step_s))
    assert found.spread_s == pytest.approx(0.03 * sqrt(each * (1 - each) / 499))


def test_steps_that_try_drafts() -> None:
    """Four tokens of 20 sequences take 80 of a step's 150, of which two and a half each are right.

    An answer of 501 tokens then ends as often as one of 200.4 would, and a token takes that part of a step.
    """
    passes = evenly(asked_of(100, 501), pass_s=0.01, token_s=0.0003, expected=2.5)
    passes.queries = 4
    found = state(passes, load(output_tokens=501, batched_tokens=150, mixes=True), 20.0)
    each = 20 * 2.5 / 501 * 2  # a prompt of 100 in rooms of 70
    assert passes.asked[1][1] == passes.prompt(sequences=1.0, tokens=50, before=7 + 15)
    assert found.share == pytest.approx(each)
    assert found.step_s == pytest.approx((0.01 + each * 0.015) / 2.5)
    assert found.requests_per_s == pytest.approx(20 / (500 * found.step_s))
    assert found.spread_s == pytest.approx(0.015 * sqrt(each * (1 - each) / (500 * 2.5)))


def test_more_prompts_than_steps_are_carried_by_each() -> None:
    """The share of steps ends at one, and what waits at 99.5 % of them."""
    passes = evenly(asked_of(100, 2), pass_s=0.01, token_s=0.0003)
    found = state(passes, load(slots=1000, output_tokens=2, batched_tokens=150, mixes=True), 50.0)
    assert found.share == 1.0
    assert found.queueing_s == pytest.approx(0.995 / (2 * 0.005) * 0.04)


def test_a_long_prompt_comes_in_chunks() -> None:
    """Of 250 tokens in a room of 100: three chunks of 83, the mean of which has 75 before it, and three services."""
    passes = evenly(asked_of(250, 500), pass_s=0.01, token_s=0.001)
    found = state(passes, load(prompt_tokens=250, output_tokens=500, batched_tokens=150, mixes=True), 50.0)
    assert passes.asked[1][1] == passes.prompt(sequences=1.0, tokens=83, before=7 + 75)
    assert found.service_s == pytest.approx(3 * (0.01 + 0.083))
    assert found.share == pytest.approx(50 / 500 * 3)


@pytest.mark.parametrize(("output", "together"), [(10, 5 / (1 - exp(-5))), (500, 0.1 / (1 - exp(-0.1))), (4, 10.0)])
def test_short_prompts_share_a_chunk(output: int, together: float) -> None:
    """Of ten tokens each, as many as come at once if any comes (Poisson), and ten at most."""
    passes = evenly(asked_of(10, output), pass_s=0.01, token_s=0.001)
    asked = load(prompt_tokens=10, output_tokens=output, batched_tokens=150, mixes=True)
    found = state(passes, asked, 50.0)
    assert passes.asked[1][1].sequences == pytest.approx(together)
    assert found.share == pytest.approx(min(50 / output / together, 1.0))


def test_decoding_leaves_a_little_room() -> None:
    """Sixteen tokens of a step at least, however many sequences decode; between steps a prompt has all of it."""
    passes = evenly(asked_of(100, 500), pass_s=0.01, token_s=0.001)
    state(passes, load(output_tokens=500, batched_tokens=64, mixes=True), 60.0)
    assert passes.asked[1][1].queries == round(100 / 7)
    state(passes, load(output_tokens=500, batched_tokens=64), 60.0)
    assert passes.asked[3][0].queries == 50


def test_nothing_that_decodes_meets_nothing() -> None:
    """An empty server: the prompt alone, with half of a step before it."""
    passes = evenly(asked_of(100, 11), pass_s=0.01, token_s=0.0009)
    found = state(passes, load(output_tokens=0), 0.0)
    assert (found.requests_per_s, found.queueing_s, found.share) == (0.0, 0.0, 0.0)
    assert found.first_s == pytest.approx(0.005 + 0.1)


def test_stages_share_the_time_of_prompts() -> None:
    """Two stages work on two prompts at a time where decoding waits for them; a first token has both behind it."""
    one, two = (evenly(asked_of(100, 11), pass_s=0.01, token_s=0.0009, pipeline=count) for count in (1, 2))
    extra = [state(passes, load(), 11.0).extra_s for passes in (one, two)]
    assert extra[0] == pytest.approx(2 * extra[1]) == pytest.approx(0.1)
    alone = [state(passes, load(output_tokens=0), 0.0).first_s for passes in (one, two)]
    assert alone == pytest.approx([0.005 + 0.1] * 2)


@pytest.mark.parametrize(
    ("stages", "decoding", "late_s"), [(1, 11.0, 0.0), (4, 11.0, 0.0), (4, 2.0, 0.045), (4, 0.5, 0.0675)]
)
def test_parts_wait_at_each_stage_behind_a_prompt(stages: int, decoding: float, late_s: float) -> None:
    """One prompt goes with one part: the others stand behind it at every stage, so that nothing is saved by stages.

    Where fewer sequences decode than there are stages, those are not there to wait; the prompt itself passes all.
    """
    passes = evenly(asked_of(100, 5000), pass_s=0.01, token_s=0.0009, pipeline=stages)
    found = state(passes, load(output_tokens=5000, batched_tokens=200, mixes=True), decoding)
    assert found.extra_s + late_s == pytest.approx(0.09, rel=2e-3)
    passed = found.first_s - found.queueing_s - found.step_s / 2
    assert passed == pytest.approx(0.01 + 0.09, rel=0.01)


def test_each_part_takes_of_many_prompts() -> None:
    """Of ten prompts that share a step each of two parts has five: both stages are at work on them."""
    passes = evenly(asked_of(10, 4), pass_s=0.01, token_s=0.001, pipeline=2)
    found = state(passes, load(prompt_tokens=10, output_tokens=4, batched_tokens=150, mixes=True), 50.0)
    assert passes.asked[1][1].sequences == pytest.approx(10.0)
    assert found.extra_s == pytest.approx(0.1 / 2)


@pytest.mark.parametrize(
    ("requests", "batched", "passes_made", "alike", "tokens", "before"),
    [
        (8, 250, 8 / 2.5, 2.5, 100, 7),
        (8, 35, 8 * 3, 1.0, 35, 7 + 32),
        (8, None, 8, 1.0, 100, 7),
        (2, 900, 1, 2, 100, 7),
    ],
)
def test_prompts_that_come_at_once(
    requests: int, batched: int | None, passes_made: float, alike: float, tokens: int, before: int
) -> None:
    """So many prompts of 100 tokens, two and a half in a pass of 250, or each in three of 35; over two stages."""
    passes = evenly(asked_of(100, 11), pass_s=0.5, token_s=0.001, pipeline=2)
    found = burst_s(passes, load(batched_tokens=batched), requests)
    assert passes.asked == [(passes.prompt(sequences=alike, tokens=tokens, before=before),)]
    assert found == pytest.approx(passes_made * (0.5 + alike * tokens * 0.001) / 2)


def test_a_server_that_is_never_short_of_requests() -> None:
    """Twenty requests for eight slots: eight decode or are read, twelve wait, a burst adds a twentieth."""
    passes = evenly(asked_of(100, 11), pass_s=0.01, sequence_s=0.001, token_s=0.0009)
    asked = load(concurrency=20.0)
    found = steady_state(passes, asked)
    alone = state(passes, asked, found.running)
    assert held(alone) == pytest.approx(8.0, rel=2e-3)
    assert held(alone._replace(running=2.0, requests_per_s=3.0, first_s=4.0)) == 14.0
    assert found.waiting_s == pytest.approx(12 / found.requests_per_s)
    assert found.burst_s == pytest.approx(burst_s(passes, asked, 8.0) * 7 / 8 / 20)
    assert found.first_s == pytest.approx(alone.first_s + found.waiting_s + found.burst_s + 0.5)
    assert found.step_s == alone.step_s


def test_half_and_most_of_the_first_tokens() -> None:
    """Of a mean of 10 s with 2 s behind other prompts and 0.5 s of bursts: ln 2 and ln 20 of what is exponential."""
    none: Any = None
    found = State(1.0, 10.0, 2.0, 1.0, 0.1, 0.0, 0.0, 0.0, 1.0, 1.0, none, none, waiting_s=1.0, burst_s=0.5)
    assert found.first_p50_s == pytest.approx(10 - 0.5 - (1 - 0.693) * 2)
    assert found.first_p95_s == pytest.approx(10 + 9 * 0.5 + 1.996 * 2)


def table(*, mixes: bool = True, overlaps: bool = True, stages: int = 1) -> StepTimes:
    """Return a table of steps: 1 s, 0.1 s for each sequence, 0.001 s for its context; prompts by tokens and pairs."""
    passes = evenly(
        asked_of(100, 20),
        pass_s=1.0,
        sequence_s=0.1,
        context_s=0.001,
        token_s=0.01,
        pair_s=1e-4,
        pipeline=stages,
        overlaps=overlaps,
    )
    return StepTimes(passes, prompt_tokens=100, output_tokens=20, most_tokens=512, mixes=mixes)


@pytest.mark.parametrize("sequences", [1, 2, 5, 7, 100])
def test_a_step_from_the_table(sequences: int) -> None:
    """Steps are linear in sequences and in their context, so what lies between rows of the table is exact."""
    fixed, slope = table().decode(sequences)
    assert fixed == pytest.approx(1 + 0.1 * sequences)
    assert slope == pytest.approx(0.001 * sequences)


@pytest.mark.parametrize(("overlaps", "sequences", "share"), [(True, 8, 4), (True, 2, 2), (False, 8, 1)])
def test_a_step_of_stages_from_the_table(overlaps: bool, sequences: int, share: int) -> None:
    """Four stages work on four parts of a batch, if it has so many and they overlap."""
    fixed, slope = table(overlaps=overlaps, stages=4).decode(sequences)
    assert fixed == pytest.approx(1 + 0.1 * sequences / share)
    assert slope == pytest.approx(0.001 * sequences / share)


@pytest.mark.parametrize("sequences", [0, 1, 5, 40])
@pytest.mark.parametrize(
    ("tokens", "before"), [(16, 8.0), (24, 0.0), (100, 50.0), (300, 1000.0), (512, 256.0), (700, 9)]
)
def test_prompts_from_the_table(sequences: int, tokens: int, before: float) -> None:
    """Each token takes 0.01 s, and 0.0001 s for each that it looks back at, beside a step or in steps of its own."""
    expected = tokens * (0.01 + 1e-4 * before)
    alone = 1.0 if not sequences else 0.0
    assert table().prompts(sequences, tokens, before) == pytest.approx(expected + alone)
    assert table(mixes=False).prompts(sequences, tokens, before) == pytest.approx(expected + 1.0)
    assert table(stages=4).prompts(sequences, tokens, before) == pytest.approx((expected + alone) / 4)


def test_sizes_of_the_table() -> None:
    """From 16 tokens by half more to what a step takes, and the prompts' own; 32 at least."""
    assert table().sizes == [16, 24, 36, 54, 81, 100, 122, 183, 274, 411, 512]
    short = StepTimes(evenly(asked_of(5, 1)), prompt_tokens=5, output_tokens=1, most_tokens=8, mixes=True)
    assert short.sizes == [5, 16, 24, 32]
    assert (short.context, short.before) == (5.0, 16.0)


@pytest.mark.parametrize(
    ("sequences", "place"), [(0, (0, 0, 0.0)), (1, (1, 1, 0.0)), (4, (4, 4, 0.0)), (5, (4, 6, 0.5)), (7, (6, 9, 1 / 3))]
)
def test_neighbours_in_the_table(sequences: int, place: tuple[int, int, float]) -> None:
    """Rows are of 1, 2, 3, 4, 6, 9 … sequences."""
    assert table().around(sequences) == pytest.approx(place)


@pytest.mark.parametrize("mixes", [False, True])
def test_a_request_alone_waits_for_none(mixes: bool) -> None:
    """Its prompt is read at once, and each step is its own, however long the prompt is beside the answer."""
    passes = evenly(asked_of(1000, 11), pass_s=0.01, sequence_s=0.001, token_s=0.0009)
    asked = load(concurrency=1.0, prompt_tokens=1000, mixes=mixes, closed=True)
    found = steady_state(passes, asked)
    assert found.first_s == pytest.approx(0.01 + 1000 * 0.0009 + 0.5, abs=0.005)
    assert found.step_s == pytest.approx(0.01 + 0.001, rel=0.1)
