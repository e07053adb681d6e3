"""Requests in a server whose seconds anyone can add up: each event at the time that a reader with a pencil finds."""

from collections.abc import Sequence
from typing import Any

import pytest

from calc.memory.prefix import Prefix
from calc.performance.arrivals import Arrivals, Draws, Kind, Objective, Request, Spread, alike, pick, requests
from calc.performance.queue import UNBOUNDED, Queue, run_queue
from calc.performance.server import Begun, Run, Served, Server
from calc.performance.step_times import steps_until

SERVER = Server(slots=9, room_tokens=UNBOUNDED, batched_tokens=None, mixes=False, request_s=0.0)


class Times:
    """Steps of a second, and of `slope` more for each token of the mean context; prompts of 100 tokens a second.

    Those take `look` more for each token that they look back at.
    """

    def __init__(self, *, slope: float = 0.0, look: float = 0.0, stages: int = 1, gap: Any = None) -> None:
        self.slope, self.look, self.stages, self.gap = slope, look, stages, gap
        self.asked: list[tuple[int, int, float]] = []

    def decode(self, _: int) -> tuple[float, float]:
        """Return the seconds of a step without context, and for each token of it."""
        return 1.0, self.slope

    def prompts(self, sequences: int, tokens: int, before: float) -> float:
        """Return the seconds that prompts take."""
        self.asked.append((sequences, tokens, before))
        return tokens / 100 + self.look * before


def queue(*begun: Begun, slope: float = 0.0, step_factor: float = 1.0) -> Queue:
    """Return a server at work on answers that are half written."""
    times: Any = Times(slope=slope)
    return Queue([], begun, SERVER._replace(step_factor=step_factor), times)


def run(
    *asked: tuple[float, int, int], times: Any = None, begun: Sequence[Begun] = (), **server: Any
) -> tuple[list[Served], Run, list[tuple[int, int, float]]]:
    """Return when each request has its tokens, the whole run, and the prompts that were read."""
    times = times or Times()
    found = run_queue([Request(*one) for one in asked], server=SERVER._replace(**server), times=times, begun=begun)
    return found.served, found, times.asked


def test_prompts_wait_for_those_of_other_ranks() -> None:
    """One step of ten carries prompts: the tenth after an answer began, which two that come meanwhile wait for."""
    times = Times(gap=lambda _: 10)
    begun = [Begun(Request(0.0, 100, 101), 1)]
    served, _, asked = run((0.5, 100, 2), (3.5, 100, 2), times=times, begun=begun, mixes=True)
    assert [(one.first_s, one.last_s) for one in served] == [(13.0, 14.0)] * 2
    assert asked == [(1, 200, 50.0)]
    # Of two that a step cannot both carry, the other waits for the next ten, if other ranks will have none sooner.
    fields: dict[str, Any] = {"times": times, "begun": begun, "mixes": True, "batched_tokens": 101}
    assert [one.first_s for one in run((0.5, 100, 2), (3.5, 100, 2), **fields, held_prompts=2.0)[0]] == [12.0, 23.0]
    assert [one.first_s for one in run((0.5, 100, 2), (3.5, 100, 2), **fields, held_prompts=1.0)[0]] == [12.0, 15.0]


def test_nothing_to_decode_holds_no_prompt() -> None:
    """A request that comes to a rank with nothing to decode is read at once."""
    assert run((0.5, 100, 3), times=Times(gap=lambda _: 10))[0] == [Served(0.5, 1.5, 3.5, 3)]


def test_a_request_alone() -> None:
    """It comes at 0.5, is read in a second, and has two steps more after its first token."""
    served, found, asked = run((0.5, 100, 3))
    assert served == [Served(0.5, 1.5, 3.5, 3)]
    assert asked == [(0, 100, 50.0)]
    assert (found.seconds, found.running_s, found.answered, found.written_tokens) == (0.5, 0.0, 0, 0)
    assert (found.writing_s, found.preempted) == (2.0, 0)


@pytest.mark.parametrize(("ahead", "first_s"), [(0, 3.0), (1, 4.0)])
def test_steps_launched_ahead(ahead: int, first_s: float) -> None:
    """A request that comes in the second second finds the step under way and what was launched behind it."""
    assert run((0.0, 100, 9), (1.5, 100, 1), ahead=ahead)[0][1].first_s == first_s


@pytest.mark.parametrize(("reserves", "first_s"), [(0.1, 3.0), (1.0, 101.0)])
def test_room_for_a_share_of_the_others_answers(reserves: float, first_s: float) -> None:
    """Beside 102 tokens it needs 150: the 98 that the other will write are in the way, or a tenth of them is not."""
    assert run((0.0, 100, 100), (1.5, 100, 50), room_tokens=300, reserves=reserves)[0][1].first_s == first_s


def test_time_beside_the_device() -> None:
    """A quarter of a second of each request: of its first token, and of its last."""
    assert run((0.5, 100, 3), request_s=0.25)[0] == [Served(0.5, 1.75, 3.75, 3)]


def test_the_front_end_takes_one_after_the_other() -> None:
    """Three that come at once get in two seconds apart, and each is read in one; they have waited since they came."""
    served, _, _ = run((0.0, 100, 1), (0.0, 100, 1), (0.0, 100, 1), between_s=2.0)
    assert [one.first_s for one in served] == [1.0, 3.0, 5.0] and {one.at_s for one in served} == {0.0}


def test_the_front_end_passes_tokens_on() -> None:
    """It would take the second at 1.5; the first's two tokens of decoding keep it for four seconds each until 9.5."""
    served, _, _ = run((0.0, 100, 3), (0.0, 100, 1), between_s=1.5, stream_s=4.0)
    assert [(one.first_s, one.last_s) for one in served] == [(1.0, 3.0), (10.5, 10.5)]


def test_clients_wait_for_the_front_end() -> None:
    """The second client's request gets in at 2; the first's next one, sent at 1, at 4."""
    served, _, _ = run((0.0, 100, 1), (0.0, 100, 1), (0.0, 100, 1), between_s=2.0, clients=2)
    assert [(one.at_s, one.first_s) for one in served] == [(0.0, 1.0), (0.0, 3.0), (1.0, 5.0)]


def test_one_token_is_done_when_the_prompt_is() -> None:
    """It is written by the pass over the prompt, and nothing decodes."""
    served, found, _ = run((0.0, 100, 1), (5.0, 50, 1))
    assert served == [Served(0.0, 1.0, 1.0, 1), Served(5.0, 5.5, 5.5, 1)]
    assert (found.seconds, found.answered, found.written_tokens, found.writing_s) == (5.0, 1, 1, 0.0)


def test_a_prompt_stops_decoding() -> None:
    """The second comes within a step, is read while the first waits for a second, and both decode.

    Little's sums: 1 s of one, 1 s of one that waits, 3 s of two, 1 s of one.
    """
    served, found, asked = run((0.0, 100, 5), (1.3, 100, 5))
    assert served == [Served(0.0, 1.0, 6.0, 5), Served(1.3, 3.0, 7.0, 5)]
    assert asked == [(0, 100, 50.0), (1, 100, 50.0)]
    assert (found.seconds, found.running_s, found.writing_s) == (2.0, 1.0, 9.0)


def test_a_prompt_comes_along_with_a_step() -> None:
    """The step takes two seconds with it, and gives the first its token too."""
    served, found, _ = run((0.0, 100, 5), (1.3, 100, 5), mixes=True)
    assert served == [Served(0.0, 1.0, 6.0, 5), Served(1.3, 4.0, 8.0, 5)]
    assert (found.seconds, found.running_s, found.writing_s) == (2.0, 1.0, 1 + 2 + 4 + 2)


def test_slower_steps_and_slower_prompts() -> None:
    """Twice the steps, three times the prompts."""
    served, _, _ = run((0.0, 100, 5), step_factor=2.0, prompt_factor=3.0)
    assert served == [Served(0.0, 3.0, 11.0, 5)]


def test_a_long_prompt_is_read_in_chunks() -> None:
    """Of 60 tokens, which look back at 30, 90 and 150 and take 0.9, 1.5 and 2.1 s; the last 20, at 190, take 2.1 s."""
    served, _, asked = run((0.0, 200, 1), batched_tokens=60, times=Times(look=0.01))
    assert asked == [(0, 60, 90.0), (0, 20, 190.0)]
    assert served[0].last_s == pytest.approx(0.9 + 1.5 + 2.1 + 2.1)


def test_answers_go_on_beside_the_chunks_of_a_long_prompt() -> None:
    """It comes within the first's step, and two more take 59 of its tokens along, which look back at 59 in the mean.

    Then the first answer is done: two steps are full with 60, and 12 tokens are left.
    """
    served, _, asked = run((0.0, 10, 4), (0.5, 250, 1), batched_tokens=60, mixes=True)
    assert asked == [(0, 10, 5.0), (1, 59, 59.0), (0, 60, 178.0), (0, 12, 244.0)]
    first_s = 0.1 + 1.0 + 2 * 1.59
    assert [one.last_s for one in served] == pytest.approx([first_s, first_s + 2 * 0.6 + 0.12])


def test_prompts_share_a_step() -> None:
    """Of 60 tokens: 40 of the first and 20 of the second, then the other 30 of the second after its 20."""
    served, _, asked = run((0.0, 40, 1), (0.0, 50, 1), batched_tokens=60)
    assert asked == [(0, 60, (40 * 20 + 20 * 10) / 60), (0, 30, 35.0)]
    assert [one.last_s for one in served] == pytest.approx([0.6, 0.9])


def test_a_full_step_takes_no_part_of_the_next_prompt() -> None:
    """A prompt of just the tokens of a step leaves nothing for the second."""
    assert run((0.0, 60, 1), (0.0, 50, 1), batched_tokens=60)[2] == [(0, 60, 30.0), (0, 50, 25.0)]


def test_decoding_takes_of_the_tokens_of_a_step() -> None:
    """One that decodes leaves 59 of 60 to prompts; fifty leave 16 at least, though 60 are 10 more."""
    assert run((0.0, 10, 30), (1.0, 100, 1), batched_tokens=60, mixes=True)[2][1:] == [(1, 59, 29.5), (1, 41, 79.5)]
    many = [(0.0, 1, 90)] * 50
    asked = run(*many, (1.0, 32, 1), batched_tokens=60, mixes=True, slots=99)[2]
    assert asked[1:] == [(50, 16, 8.0), (50, 16, 24.0)]


def test_one_slot() -> None:
    """The second begins when the first is done, though there is room."""
    served, _, _ = run((0.0, 100, 3), (0.0, 100, 3), slots=1)
    assert served == [Served(0.0, 1.0, 3.0, 3), Served(0.0, 4.0, 6.0, 3)]


def test_a_slot_for_each() -> None:
    """Three that come at once are read together where there are three slots."""
    assert run((0.0, 100, 3), (0.0, 100, 3), (0.0, 100, 3), slots=3)[2] == [(0, 300, 50.0)]
    assert run((0.0, 100, 3), (0.0, 100, 3), (0.0, 100, 3), slots=2)[2] == [(0, 200, 50.0), (0, 100, 50.0)]


def test_room_for_one_prompt() -> None:
    """199 tokens do not take a second prompt of 100 in; 200 do, and one that is alone comes in whatever its length."""
    served, _, _ = run((0.0, 100, 3), (0.0, 100, 3), room_tokens=199)
    assert served == [Served(0.0, 1.0, 3.0, 3), Served(0.0, 4.0, 6.0, 3)]
    served, _, _ = run((0.0, 100, 3), (0.0, 100, 3), room_tokens=200)
    assert served[1].first_s == 2.0
    assert run((0.0, 100, 3), room_tokens=50)[0] == [Served(0.0, 1.0, 3.0, 3)]


def test_the_last_that_came_loses_its_cache() -> None:
    """Two of 50 and 60 tokens in 160: after 29 steps they hold it all; the second waits, and is read again once.

    0.5 + 0.5 s of prompts, 29 steps; the first takes of the room that the second leaves, and 30 steps alone; 80 tokens
    read again in 0.8 s, and the 29 steps that are left.
    """
    served, found, asked = run((0.0, 50, 60), (0.0, 50, 60), room_tokens=160)
    assert asked == [(0, 100, 25.0), (0, 80, 40.0)]
    assert (served[0].first_s, served[0].last_s) == pytest.approx((1.0, 60.0))
    assert (served[1].first_s, served[1].last_s) == pytest.approx((1.0, 60.8 + 29))
    assert found.preempted == 1
    assert found.writing_s == pytest.approx(2 * 29 + 30 + 29)


def test_who_loses_its_cache_takes_its_context_along() -> None:
    """The same with a hundredth of a second for each token of the mean context.

    29 steps from 51 tokens each, 30 of the first alone from 80, 29 of the second from 81.
    """
    served, _, _ = run((0.0, 50, 60), (0.0, 50, 60), room_tokens=160, times=Times(slope=0.01))
    first = 1.0 + 29 * (1 + 0.01 * 65) + 30 * (1 + 0.01 * 94.5)
    assert served[0].last_s == pytest.approx(first)
    assert served[1].last_s == pytest.approx(first + 0.8 + 29 * (1 + 0.01 * 95))


def test_what_is_promised_is_what_is_not_written() -> None:
    """Answers of 60 and 50 tokens, of which 10 and 20 are written and 4 more come: 46 and 26 are left, then the 46."""
    found = queue(Begun(Request(0.0, 50, 60), 10), Begun(Request(0.0, 50, 50), 20))
    found.decode(4, 4.0)
    assert found.promised == sum(end - found.steps for end, _ in found.writing) == 46 + 26
    found.server = found.server._replace(room_tokens=found.held)
    found.make_room(2)
    assert found.promised == sum(end - found.steps for end, _ in found.writing) == 46


def test_a_step_with_prompts_makes_room_too() -> None:
    """A prompt of 38 fills 150 of 151 tokens; a step of two has no room, so the one that came last goes."""
    served, found, asked = run((0.0, 60, 20), (0.0, 50, 20), (1.0, 38, 3), room_tokens=151, mixes=True)
    assert found.preempted == 1
    assert asked[1] == (1, 38, 19.0)
    assert served[2].first_s < served[1].last_s


def test_steps_grow_with_the_cache() -> None:
    """From 11 tokens on, a tenth of a second for each: 2.1, 2.2, 2.3 s."""
    served, _, _ = run((0.0, 10, 4), times=Times(slope=0.1))
    assert (served[0].first_s, served[0].last_s) == pytest.approx((0.1, 0.1 + 2.1 + 2.2 + 2.3))


def test_a_mean_context_decides() -> None:
    """Of contexts of 11 and 31 the mean of 21; when the short answer is done, the long one's own."""
    served, _, _ = run((0.0, 10, 2), (0.0, 30, 3), times=Times(slope=0.1))
    first = 0.4
    assert served[0].last_s == pytest.approx(first + 1 + 2.1)
    assert served[1].last_s == pytest.approx(first + 1 + 2.1 + 1 + 3.2)


@pytest.mark.parametrize(("at_s", "first_s"), [(2.0, 2.3), (2.3, 4.5), (4.3, 4.5), (6.0, 6.8)])
def test_what_comes_within_a_step_waits_for_its_end(at_s: float, first_s: float) -> None:
    """Steps of 2.1, 2.2 and 2.3 s end at 2.2, 4.4 and 6.7: a prompt of ten tokens is read in a tenth of a second."""
    served, _, _ = run((0.0, 10, 9), (at_s, 10, 1), times=Times(slope=0.1))
    assert served[1].first_s == pytest.approx(first_s)


def test_steps_until_something_comes() -> None:
    """Steps of 2 s and a tenth more each: five seconds take three; twice as slow, two; one at least."""
    half = Begun(Request(0.0, 9, 99), 1)
    growing = queue(half, slope=0.1)
    assert growing.context == 10
    assert [steps_until(time, *growing.pace(1)) for time in (5.0, 4.1, 4.2, 0.0, -3.0)] == [3, 2, 3, 1, 1]
    assert steps_until(5.0, *queue(half, slope=0.1, step_factor=2.0).pace(1)) == 2
    even = queue(half)
    assert [steps_until(time, *even.pace(1)) for time in (5.0, 4.5, 0.0)] == [5, 5, 1]


def test_prompts_pass_the_other_stages_too() -> None:
    """With three stages the first token comes two passes of a stage after the prompt has left the first one.

    Each further token takes a step after it: of an answer of three tokens, the last comes two steps later.
    """
    served, _, _ = run((0.0, 100, 3), times=Times(stages=3))
    assert served == [Served(0.0, 3.0, 5.0, 3)]


@pytest.mark.parametrize(("prompts", "first_s"), [(1, 5.0), (3, 5.0), (6, 8.0)])
def test_parts_wait_behind_one_that_has_a_prompt(prompts: int, first_s: float) -> None:
    """Three stages take a second each for a prompt. The parts of a batch without one stand behind it at each stage.

    Up to three prompts go with a part each, and their step ends three seconds later; of six, each part takes two.
    """
    begun = [Begun(Request(0.0, 100, 50), 4)] * 3
    served, _, _ = run(*[(0.5, 100, 2)] * prompts, times=Times(stages=3), begun=begun, mixes=True)
    assert {one.first_s for one in served} == {first_s}


def test_answers_that_are_half_written() -> None:
    """One of ten tokens with four written has six steps to go, before which a prompt is read; it is not counted.

    What is answered until the last request came is: the other, of two tokens with one written.
    """
    begun = [Begun(Request(0.0, 100, 10), 4), Begun(Request(0.0, 20, 2), 1)]
    busy = queue(*begun)
    assert (busy.held, busy.context, busy.written) == (104 + 21, 104 + 21, [4, 1])
    assert sorted(busy.writing) == [(1, 1), (6, 0)]
    served, found, _ = run((2.5, 100, 2), begun=begun)
    assert served == [Served(2.5, 4.0, 5.0, 2)]
    assert (found.seconds, found.running_s, found.answered, found.written_tokens) == (3.0, 4.0, 1, 2)
    assert found.writing_s == 4 + 1 + 2 + 2


def test_an_answer_that_is_written_needs_nothing() -> None:
    """All of its tokens are there: its cache is free at once."""
    busy = queue(Begun(Request(0.0, 100, 4), 4))
    assert (busy.held, busy.answered, busy.answered_tokens, busy.writing) == (0, 1, 4, [])


def test_a_prefix_is_read_once_and_held_once() -> None:
    """Of 100 tokens 60 are found: 40 are read after them, and three prompts need 120 tokens of room, not 300."""
    shared = Prefix(shared_tokens=60)
    served, _, asked = run(*[(0.0, 100, 1)] * 3, prefix=shared, room_tokens=120)
    assert asked == [(0, 120, 60 + 20.0)]
    assert [one.first_s for one in served] == [1.2] * 3
    assert run(*[(0.0, 100, 1)] * 3, prefix=shared, room_tokens=119)[2][0] == (0, 80, 80.0)
    copies = run(*[(0.0, 100, 1)] * 3, prefix=shared._replace(held_once=False), room_tokens=299)[2]
    assert copies[0] == (0, 80, 80.0)


@pytest.mark.parametrize(
    ("objective", "kept"),
    [
        (Objective(), True),
        (Objective(first_s=2.0), True),
        (Objective(first_s=1.9), False),
        (Objective(token_s=0.5), True),
        (Objective(token_s=0.4), False),
        (Objective(whole_s=7.0), True),
        (Objective(whole_s=6.9), False),
        (Objective(first_s=2.0, token_s=0.5, whole_s=6.0), False),
    ],
)
def test_what_a_request_is_promised(objective: Objective, kept: bool) -> None:
    """Of a first token after 2 s and ten more in 5 s."""
    assert Served(1.0, 3.0, 8.0, 11).keeps(objective) is kept


def test_requests_that_are_alike() -> None:
    """Each has the same prompt and answer, of a token at least; they come at random, one a second."""
    traffic = alike(500, 0)
    assert traffic.arrivals == Arrivals(1.0, 1.0, (Kind(1.0, Spread(500.0), Spread(1.0)),))
    assert traffic.objective == Objective(None, None, None)
    assert alike(500, 70).arrivals.output_tokens == 70.0


def test_means_of_several_kinds() -> None:
    """A quarter of 100 and three quarters of 500, with the mean of a lognormal spread above its median."""
    kinds = (Kind(0.25, Spread(100.0), Spread(10.0)), Kind(0.75, Spread(500.0, 1.0), Spread(20.0, 2.0)))
    arrivals = Arrivals(1.0, 1.0, kinds)
    assert arrivals.prompt_tokens == pytest.approx(25 + 375 * 1.6487213)
    assert arrivals.output_tokens == pytest.approx(2.5 + 15 * 7.3890561)


def test_a_place_among_the_shares() -> None:
    """The first kind has the places below its share, the last one what rounding leaves."""
    kinds = tuple(Kind(share, Spread(share), Spread(1.0)) for share in (0.25, 0.5, 0.25))
    found = [pick(kinds, place).prompt.median for place in (0.0, 0.24, 0.25, 0.74, 0.75, 0.999, 1.0)]
    assert found == [0.25, 0.25, 0.5, 0.5, 0.25, 0.25, 0.25]
    assert pick(kinds, 0.8) is kinds[2]
    assert pick(kinds[:1], 0.9) is kinds[0]


def test_lengths_of_a_token_at_least() -> None:
    """A spread of one length is that length, rounded."""
    assert [Draws(1).length(Spread(median)) for median in (0.2, 0.6, 7.4, 7.6)] == [1, 1, 7, 8]
    assert Draws(1).length(Spread(0.001, 0.1)) == 1


def test_what_is_too_long_loses_prompt_first() -> None:
    """700 and 300 of 800 keep the answer; an answer of 900 leaves a prompt of one token."""
    for prompt, output, kept in ((700, 300, (500, 300)), (700, 900, (1, 799)), (400, 400, (400, 400))):
        asked = Arrivals(1.0, 1.0, (Kind(1.0, Spread(float(prompt)), Spread(float(output))),))
        assert requests(asked, count=1, longest=800)[0][1:] == kept
        assert requests(asked, count=1)[0][1:] == (prompt, output)


def test_even_gaps() -> None:
    """A very large shape leaves nothing to chance: gaps of half a second, each replica's of a second."""
    asked = Arrivals(2.0, 1e6, (Kind(1.0, Spread(1.0), Spread(1.0)),))
    assert [one.at_s for one in requests(asked, count=3)] == pytest.approx([0.5, 1.0, 1.5], rel=0.01)
    assert [one.at_s for one in requests(asked, count=3, replicas=2)] == pytest.approx([1.0, 2.0, 3.0], rel=0.01)


@pytest.mark.parametrize("shape", [0.3, 0.9, 1.0, 1.5, 9.0])
def test_a_gamma_deviate_has_its_mean_and_variance(shape: float) -> None:
    """Both are the shape, at a scale of 1."""
    draws = Draws(7)
    found = [draws.gamma(shape) for _ in range(6000)]
    mean = sum(found) / len(found)
    assert mean == pytest.approx(shape, rel=0.06)
    assert sum((value - mean) ** 2 for value in found) / len(found) == pytest.approx(shape, rel=0.12)


def test_a_normal_deviate_has_its_moments() -> None:
    """Mean 0, variance 1, and 68 of 100 within one deviation (Box and Muller, 1958)."""
    draws = Draws(11)
    found = [draws.normal() for _ in range(6000)]
    assert abs(sum(found) / len(found)) < 0.04
    assert sum(value**2 for value in found) / len(found) == pytest.approx(1.0, rel=0.05)
    assert sum(abs(value) < 1 for value in found) / len(found) == pytest.approx(0.6827, abs=0.02)
