"""What ranks ways to answer, worked by hand: two cards, their price, their rent, and what they draw."""

from math import inf
from typing import Any

import pytest

from calc import estimate, plan
from calc.catalog import catalog
from calc.planner.candidate import Candidate, Own
from calc.planner.devices import Devices
from calc.planner.need import Share
from calc.planner.options import Miss, Option
from calc.planner.question import read_question
from calc.planner.ranking import Ranking
from calc.planning.fit import MOST_SEQUENCES
from tests.planner.tried import candidates

CARD = catalog().accelerator("rtx-3090")
PAIR = Devices(CARD, 2, 0.5, 1500.0)
SCENARIO: dict[str, object] = {
    "model": "llama-3.1-8b",
    "weights": "bf16",
    "engine": "vllm",
    "accelerator": CARD.id,
    "accelerators": 2,
}
CANDIDATE = Candidate("a", PAIR, (SCENARIO,), 0)
WRITES = {"decode_tokens_per_s": 80.0, "output_tokens_per_s": 70.0, "time_per_output_token_s": 0.05}
READS = {"time_to_first_token_s": 0.5}


def ranking(rank_by: str = "cost", **said: Any) -> Ranking:
    """Return the ranking of a question about hardware for one model."""
    asked = {"want": "hardware", "model": "llama-3.1-8b", "rank_by": rank_by}
    return Ranking(read_question(asked | said, catalog()), catalog())


def test_a_price_is_a_rent_unless_one_buys() -> None:
    """730 hours at half a dollar; with a limit of the price, or asked to buy, 1,500; with spare ones theirs too."""
    assert ranking().price(CANDIDATE) == 365.0
    assert ranking(limits={"buy": True}).price(CANDIDATE) == ranking(limits={"price": 9000}).price(CANDIDATE) == 1500.0
    spare = ranking(need={"users": 3, "spare": 2})
    assert spare.price(CANDIDATE) == 3 * 365.0 and spare.fleet(CANDIDATE).number == 6
    assert spare.fleet(CANDIDATE._replace(share=Share(4, 1))).number == 12
    assert ranking(need={"users": 3, "hours_a_day": 12}).price(CANDIDATE) == pytest.approx(182.5)


def test_what_costs_nothing_known_comes_last() -> None:
    """By cost the price, and those without one after it by their number; by devices the number."""
    unknown = CANDIDATE._replace(devices=Devices(CARD, 2, None, None))
    assert ranking().at_best(CANDIDATE) == (False, 365.0)
    assert ranking().at_best(unknown) == (True, 2)
    assert ranking("devices").at_best(unknown) == (False, 2)
    assert ranking().value(Option(CANDIDATE, {}, 5, 1.0)) == (False, 365.0)


def test_limits_are_kept_by_all_devices_together() -> None:
    """Each limit is named with how far beyond it they are; at it they are within, and what is not known is beyond."""
    assert ranking().beyond_limits(CANDIDATE) is None
    assert ranking(limits={"price": 1500}).beyond_limits(CANDIDATE) is None
    assert ranking(limits={"price": 1000}).beyond_limits(CANDIDATE) == Miss(
        "price", "1,500 USD is more than 1,000", 1.5
    )
    rent = Miss("rent", "365.0 USD a month is more than 300.0", 365 / 300)
    assert ranking(limits={"price_per_month": 300}).beyond_limits(CANDIDATE) == rent
    power = Miss("power", "700.0 W is more than 500.0", 1.4)
    assert ranking(limits={"power_w": 500}).beyond_limits(CANDIDATE) == power
    unknown = CANDIDATE._replace(devices=Devices(CARD, 2, None, None))
    assert ranking(limits={"buy": True}).beyond_limits(unknown) == Miss("price", "no price of it is known", inf)
    assert ranking(limits={"rent": True}).beyond_limits(unknown) == Miss("rent", "no rent of it is known", inf)
    assert ranking(limits={"power_w": 900}).beyond_limits(unknown) is None
    share = CANDIDATE._replace(share=Share(2, 1))
    several = Miss("price", "2 of these servers are needed, and 3,000 USD is more than 2,000", 1.5)
    assert ranking(limits={"price": 2000}).beyond_limits(share) == several


def test_a_known_speed_ranks() -> None:
    """By speed all tokens a second, by latency a token's time, by energy the watts of a token; unknown comes last."""
    assert ranking("speed").ranked(CANDIDATE, WRITES) == (False, -80.0)
    assert ranking("latency").ranked(CANDIDATE, WRITES) == (False, 0.05)
    assert ranking("energy").ranked(CANDIDATE, WRITES) == (False, 10.0)  # 700 W at 70 tokens a second
    assert ranking("energy").ranked(CANDIDATE, {}) == ranking("speed").ranked(CANDIDATE, {}) == (True, 0.0)
    unlike = CANDIDATE._replace(devices=PAIR._replace(unlike=(CARD, CARD)))
    assert ranking("energy").ranked(unlike, WRITES) == (True, 0.0)
    texts = CANDIDATE._replace(scenarios=({**SCENARIO, "sequences": 4},))
    assert ranking("energy").ranked(texts, READS) == (False, 700 / 8)
    assert ranking("speed").ranked(texts, READS) == (False, -8.0)
    assert ranking("latency").ranked(texts, READS) == (False, 0.5)


@pytest.mark.parametrize("rank", ["speed", "latency", "energy"])
def test_what_was_timed_ranks_as_it_was(rank: str) -> None:
    """A candidate whose speed is known is ranked by it, and an option by its typical figures, alike."""
    timed = CANDIDATE._replace(speed=WRITES)
    report = {"speed": {name: {"typical": value} for name, value in WRITES.items()}}
    found = ranking(rank)
    assert found.at_best(timed) == found.ranked(CANDIDATE, WRITES) == found.value(Option(CANDIDATE, report, 5, 1.0))


def test_sizes_and_margins() -> None:
    """The largest model, and the most that is left, come first."""
    option = Option(CANDIDATE, {"model": {"parameters_total": 8}, "speed": None}, 5, 1.0)
    assert ranking("size").value(option) == (False, -8) and ranking("margin").value(option) == (False, -5)
    assert ranking("size").at_best(CANDIDATE) == (False, -8_030_261_248)
    assert ranking("margin").at_best(CANDIDATE._replace(spare_bytes=7)) == (False, -7)


def test_weights_bound_what_is_left_and_how_fast_it_is() -> None:
    """16.06 GB less an input table, which need not be on a device: 15.01 GB at 1,872 GB/s are 8 ms for each token."""
    step_s = (8_030_261_248 - 128_256 * 4096) * 2 / 1872e9
    assert ranking("latency").hoped(CANDIDATE) == (False, pytest.approx(step_s, rel=1e-3))
    assert ranking("speed").hoped(CANDIDATE) == (False, pytest.approx(-1 / step_s, rel=1e-3))
    assert ranking("energy").hoped(CANDIDATE) == (False, pytest.approx(700 * step_s, rel=1e-3))
    left = (PAIR.whole_room - 2 * (8_030_261_248 - 128_256 * 4096)) / 2
    assert ranking("margin").at_best(CANDIDATE) == (False, pytest.approx(-left, rel=1e-3))
    own = CANDIDATE._replace(own=Own(cache_s=0.001, prompt_s=0.002, steps=0.5))
    starts_s, messages_s = ranking("latency").bounds.begun(own, own.scenario)
    assert messages_s > 0  # of two tensor ranks; where each has layers of its own, one reads after the other
    begun_s = starts_s + messages_s + 0.001  # until kernels begin, and messages, and to read the cache
    assert ranking("latency").at_best(own) == (False, pytest.approx(step_s + begun_s, rel=1e-3))
    assert ranking("energy").at_best(own) == (False, pytest.approx(700 * ((step_s + begun_s) / 2 + 0.002), rel=1e-3))
    staged = CANDIDATE._replace(own=Own(stages=2))
    assert ranking("latency").at_best(staged) == (False, pytest.approx(2 * step_s + starts_s, rel=1e-3))


def test_of_what_surely_serves_the_first_way_counts() -> None:
    """The best of all ways bounds a candidate that may need a later one: here that with half the bytes to read."""
    both = CANDIDATE._replace(scenarios=(SCENARIO, {**SCENARIO, "weights": "fp8"}))
    assert ranking("latency").at_best(both._replace(sure=True)) == ranking("latency").at_best(CANDIDATE)
    assert ranking("latency").at_best(both)[1] < 0.8 * ranking("latency").at_best(CANDIDATE)[1]


def test_sequences_together_bound_speed() -> None:
    """Ten people who wait are ten answers; where requests come one is counted, and many for their energy."""
    one = ranking("speed").at_best(CANDIDATE)[1]
    assert ranking("speed", need={"users": 10}).at_best(CANDIDATE)[1] == pytest.approx(10 * one)
    assert ranking("speed", need={"requests_per_s": 9}).at_best(CANDIDATE)[1] == pytest.approx(one)
    energy = ranking("energy").at_best(CANDIDATE)[1]
    coming = ranking("energy", need={"requests_per_s": 9}).at_best(CANDIDATE)[1]
    assert coming == pytest.approx(energy / MOST_SEQUENCES)


def test_more_devices_take_no_less_energy() -> None:
    """What two were found to take bounds four of their kind, and not two or others; a shared load says nothing."""
    found = ranking("energy")
    four = CANDIDATE._replace(devices=PAIR.times(2), scenarios=({**SCENARIO, "accelerators": 4},))
    assert found.no_better(four) is None
    found.remember(CANDIDATE._replace(speed=WRITES))
    assert found.no_better(four) == (False, 10.0)
    assert found.no_better(CANDIDATE) is None
    assert found.no_better(four._replace(speed=WRITES)) is None
    assert found.no_better(four._replace(scenarios=four.scenarios * 2)) is None
    assert found.no_better(four._replace(scenarios=four.scenarios * 2, sure=True)) == (False, 10.0)
    assert found.no_better(four._replace(scenarios=({**SCENARIO, "weights": "fp8"},))) is None
    for other in (ranking("speed"), ranking("energy", need={"users": 10})):
        other.remember(CANDIDATE._replace(speed=WRITES))
        assert other.no_better(four) is None


def test_what_is_not_known_bounds_nothing() -> None:
    """A scenario that cannot be read may be the best; devices whose power nobody says come last."""
    wrong = CANDIDATE._replace(scenarios=({**SCENARIO, "context_tokens": -1},))
    assert ranking("latency").hoped(wrong) == ranking("latency").hoped(CANDIDATE)  # names alone were read
    unread = wrong._replace(scenarios=({**SCENARIO, "context_tokens": -1, "kv_cache": "fp8"},))
    assert {ranking(rank).at_best(unread) for rank in ("latency", "speed", "energy", "margin")} == {(False, -inf)}
    silent = next(device for device in catalog().accelerators() if not device.quantity("power"))
    unnamed = CANDIDATE._replace(devices=Devices(silent, 2, None, None))
    assert ranking("energy").at_best(unnamed) == (True, 0.0)
    assert ranking(limits={"price": 2000}).beyond_limits(unnamed._replace(devices=PAIR)) is None
    assert ranking().beyond_limits(unnamed) is None
    assert ranking("energy").ranked(CANDIDATE, READS) == (False, 350.0)  # one text where nothing is said


@pytest.mark.parametrize("rank_by", ["speed", "latency", "energy", "cost"])
def test_what_is_hoped_is_no_worse_than_what_is_at_best(rank_by: str) -> None:
    """It leaves out which engine gives each device whole layers, and how long kernels take to begin."""
    asked = {"want": "hardware", "models": ["llama-3.1-8b", "qwen3-30b-a3b", "gpt-oss-20b"], "rank_by": rank_by}
    question = read_question({**asked, "limits": {"segments": ["consumer", "data-center"]}}, catalog())
    rank, far = Ranking(question, catalog()), 0
    for candidate in candidates(question, catalog()):
        hoped, best = rank.hoped(candidate), rank.at_best(candidate)
        assert hoped <= best
        far += hoped < best
    assert bool(far) == (rank_by != "cost")


def test_what_nobody_says_runs_comes_last_before_it_is_looked_at() -> None:
    """SGLang is not known to run a family: what names say puts all of it behind the rest, and few reports are made."""
    asked = {"want": "hardware", "model": "zamba-7b-v1", "engine": "sglang", "rank_by": "size"}
    found: Any = plan({**asked, "need": {"requests_per_s": 10, "ttft_s": 0.3, "tokens_per_s_each": 5}})
    assert found["options"] and found["searched"]["estimated"] <= len(found["options"])
    assert all(estimate(option["scenario"])["runs"] is None for option in found["options"])
