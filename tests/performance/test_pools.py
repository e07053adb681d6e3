"""Prefill and decoding on pools of their own: what is sent, the balance of both, and published servers."""

from itertools import pairwise
from math import log
from statistics import median
from typing import Any

import pytest

from calc import ScenarioError, estimate
from calc.performance.load import Load
from calc.performance.pools import Pools
from calc.performance.steady_state import TOGETHER
from calc.validation.serving_runs import pooled_scores

FOUR = {"parallelism": {"tensor": 4}}
ASKED: dict[str, Any] = {
    "model": "llama-3.3-70b",
    "weights": "fp8",
    "engine": "vllm",
    "accelerator": "h100-sxm-80gb",
    "concurrency": 64,
    "prompt_tokens": 4000,
    "output_tokens": 500,
}


def asked(prefill: object = FOUR, decode: object = FOUR, **fields: object) -> Any:
    """Return the report on two pools."""
    return estimate({**ASKED, "disaggregation": {"prefill": prefill, "decode": decode, **fields}})


def test_cache_is_sent_by_all_ranks_at_once() -> None:
    """4,000 tokens of 80 layers with 8 heads of 128 in 16 bit, keys and values, a quarter from each rank."""
    size = 4000 * 80 * 2 * 8 * 128 * 2 / 4
    seconds = [
        asked(link=link)["speed"]["disaggregation"]["transfer_s"] for link in ("infiniband-hdr", "infiniband-ndr")
    ]
    assert size / 25e9 < seconds[0] < 1.5 * size / 25e9
    assert seconds[0] == pytest.approx(2 * seconds[1], rel=0.1)


def test_the_slower_pool_sets_the_requests() -> None:
    """Requests a second are at most those of either pool; copies of a reader read in proportion."""
    found = [asked({"accelerators": 4 * copies, **FOUR})["speed"] for copies in (1, 2, 4)]
    for speed in found:
        pools = speed["disaggregation"]
        assert speed["requests_per_s"] <= min(pools["prefill_requests_per_s"], pools["decode_requests_per_s"])
        assert pools["balance"] == pytest.approx(pools["decode_requests_per_s"] / pools["prefill_requests_per_s"])
    for fewer, more in pairwise(speed["disaggregation"] for speed in found):
        assert more["prefill_requests_per_s"] == pytest.approx(2 * fewer["prefill_requests_per_s"])
        assert more["balance"] == pytest.approx(fewer["balance"] / 2)


def test_a_range_lies_as_far_below_as_above() -> None:
    """By a factor of its own for each figure: the first tokens' is the widest."""
    speed = asked()["speed"]
    figures = [name for name, value in speed.items() if isinstance(value, dict) and "typical" in value]
    factors = {name: speed[name]["high"] / speed[name]["typical"] for name in figures}
    assert len(figures) == 5 and min(factors.values()) > 1
    for name in figures:
        assert speed[name]["low"] * factors[name] == pytest.approx(speed[name]["typical"])
    assert max(factors, key=factors.__getitem__) == "time_to_first_token_s"


def test_both_pools_say_what_bounds_them() -> None:
    """Prompts of 4,000 tokens are computed; steps of few sequences read weights."""
    speed = asked()["speed"]
    assert (speed["prefill_bound_by"], speed["bound_by"]) == ("compute", "memory")


def test_no_prompt_joins_a_step() -> None:
    """With readers enough, tokens come sooner than where prompts and answers share both copies."""
    together: Any = estimate({**ASKED, "parallelism": {"tensor": 4, "data": 2}})
    apart = asked()
    name = "time_per_output_token_s"
    assert apart["speed"][name]["typical"] < 0.8 * together["speed"][name]["typical"]
    assert "first-token-of-pools" in [warning["code"] for warning in apart["warnings"]]


def test_a_prefill_pool_too_small_does_not_fit() -> None:
    """In 16 bit 70 billion parameters do not fit one device: the scenario does not, whatever the other pool holds."""
    report: Any = estimate({**ASKED, "weights": "bf16", "disaggregation": {"prefill": {}, "decode": FOUR}})
    assert report["memory"]["device_bytes"] < report["memory"]["capacity_bytes"]
    assert (report["memory"]["prefill_pool"]["fits"], report["memory"]["fits"], report["repairs"]) == (False, False, [])


def test_scenario_of_a_report_gives_it_again() -> None:
    """All that was filled in is in the scenario, and prices are of both pools."""
    report = asked()
    again: Any = estimate(report["scenario"])
    assert {**again, "defaults": None} == {**report, "defaults": None}


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"parallelism": {"tensor": 2}}, "parallelism"),
        ({"accelerators": 8}, "accelerators"),
        ({"engine": "llama.cpp"}, "vllm"),
        ({"model": "e5-large-v2"}, "writes no text"),
        ({"accelerator": [{"id": "h100-sxm-80gb", "count": 4}, {"id": "h200-sxm-141gb", "count": 4}]}, "accelerator"),
        ({"disaggregation": {"prefill": FOUR}}, "decode"),
        ({"disaggregation": {"prefill": {"accelerators": 3, **FOUR}, "decode": FOUR}}, "3"),
        ({"disaggregation": {"prefill": {"parallelism": {"tensors": 4}}, "decode": FOUR}}, "tensor"),
        ({"disaggregation": {"prefill": FOUR, "decode": FOUR, "link": "wire"}}, "wire"),
        ({"disaggregation": {"prefill": FOUR, "decode": FOUR, "link": 3}}, "link"),
        ({"disaggregation": {"prefill": {"parallelism": 4}, "decode": FOUR}}, "object"),
        ({"disaggregation": {"prefill": 4, "decode": FOUR}}, "object"),
    ],
)
def test_refusals_name_what_is_wrong(fields: dict[str, object], named: str) -> None:
    """What does not go together, what is left out, and what is misspelled."""
    with pytest.raises(ScenarioError) as caught:
        estimate({**ASKED, "disaggregation": {"prefill": FOUR, "decode": FOUR}, **fields})
    assert caught.value.field.split(".")[0] in ("disaggregation", "accelerator")
    assert named in f"{caught.value.field} {caught.value}"


def test_needs_concurrency() -> None:
    """Without a number of requests there is no steady state."""
    plain = {name: value for name, value in ASKED.items() if name != "concurrency"}
    with pytest.raises(ScenarioError, match="concurrency"):
        estimate({**plain, "disaggregation": {"prefill": FOUR, "decode": FOUR}})


def test_published_servers_in_two_pools() -> None:
    """Tokens come at the computed pace; first tokens are held within a factor that the answer gives as its range."""
    scores, skipped = pooled_scores()
    tokens = [abs(score.error) for score in scores if score.what == "time_per_output_token_s"]
    firsts = [score.low <= score.measured <= score.high for score in scores if score.what == "time_to_first_token_s"]
    assert len(tokens) > 90  # of a script's layout that its rows do not state are eight more
    assert median(tokens) < 0.11
    assert sum(firsts) > 0.75 * len(firsts)
    factors = [abs(log(score.predicted / score.measured)) for score in scores if score.what == "time_to_first_token_s"]
    assert sum(skipped.values()) > len(tokens)
    assert median(factors) < log(1.85)  # 1.80, and 1.67 with the smaller steps of before; what runs set is not told


def test_ranks_of_a_server_wait_for_each_other() -> None:
    """Eight ranks in one server read no sooner than eight servers of one: a prompt waits for the pass of others.

    SGLang divides its chunk over them besides, and a prompt of 4,000 tokens takes four passes in place of one.
    """
    for engine, most in (("vllm", 1.0), ("sglang", 0.95)):
        speeds = []
        for degrees, count in (({"tensor": 1, "data": 8}, 8), ({"tensor": 1}, 8)):
            pool = {"accelerators": count, "parallelism": degrees}
            fields = {"model": "llama-3.1-8b", "engine": engine, "disaggregation": {"prefill": pool, "decode": pool}}
            found: Any = estimate({**ASKED, **fields})
            speeds.append(found["speed"])
        first = [speed["time_to_first_token_s"]["typical"] for speed in speeds]
        reads = [speed["disaggregation"]["prefill_requests_per_s"] for speed in speeds]
        assert first[0] > first[1] and reads[0] <= most * reads[1]


def test_figures_are_those_of_the_requests() -> None:
    """Each brings 4,000 tokens to read and takes 500 along; what decodes has a token each in a step's time."""
    speed = asked()["speed"]
    typical = {
        name: value["typical"] for name, value in speed.items() if isinstance(value, dict) and "typical" in value
    }
    assert typical["prefill_tokens_per_s"] == pytest.approx(4000 * speed["requests_per_s"])
    assert typical["output_tokens_per_s"] == pytest.approx(500 * speed["requests_per_s"])
    assert typical["decode_tokens_per_s"] == pytest.approx(
        speed["running_sequences"] / typical["time_per_output_token_s"]
    )


def test_a_first_token_waits_for_its_cache() -> None:
    """Over half the network it comes later by what sending takes longer."""
    slow, fast = (asked(link=link)["speed"] for link in ("infiniband-hdr", "infiniband-ndr"))
    later = slow["time_to_first_token_s"]["typical"] - fast["time_to_first_token_s"]["typical"]
    longer = slow["disaggregation"]["transfer_s"] - fast["disaggregation"]["transfer_s"]
    assert later == pytest.approx(longer, rel=0.2)


def test_who_is_not_read_waits_before_the_readers() -> None:
    """By Little's law: where readers are at their end, 1,000 more requests wait 1,000 / rate seconds more."""
    few, many = (
        estimate({**ASKED, "concurrency": count, "disaggregation": {"prefill": FOUR, "decode": FOUR}})["speed"]
        for count in (2000, 3000)
    )
    rate = few["requests_per_s"]
    assert many["requests_per_s"] == pytest.approx(rate) == few["disaggregation"]["prefill_requests_per_s"]
    longer = many["time_to_first_token_s"]["typical"] - few["time_to_first_token_s"]["typical"]
    assert longer == pytest.approx((1 + 1 / (2 * TOGETHER)) * 1000 / rate, rel=0.01)


@pytest.mark.parametrize(("rate", "waits"), [(0.0, 0.0), (0.5, 1.0), (0.8, 4.0)])
def test_waiting_at_a_counter(rate: float, waits: float) -> None:
    """Even service of 2 s at loads of a half and of 0.8: s · u / (2 (1 − u)) (Pollaczek and Khinchine)."""
    none: Any = None
    pools = Pools(none, none, readers=1, in_step=1, writers=1, transfer_s=0.0, overlaps=False)
    load = Load(1.0, 1.0, 100, 10, 0, None, 0.0, 1, mixes=False)
    assert pools.waits_s(load, rate, 1.0, 2.0) == pytest.approx(waits)
