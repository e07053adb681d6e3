"""Replicas: as many as the load takes and no more, each within its times when requests come at random."""

import json
from typing import Any, cast

import pytest

from calc import estimate, plan
from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.performance.steady_state import state
from calc.planner.fleet import Fleet
from calc.planner.inspection import typical
from calc.planner.question import read_question
from calc.planner.search import Search
from calc.planning.chance import SURE
from calc.planning.served import serve
from calc.planning.serving_load import server_of
from calc.planning.serving_run import run_of, site_of
from calc.question import read_question as read_scenario
from calc.units import show_number
from tests.planner.tried import candidates

SERVICE: dict[str, Any] = {
    "want": "hardware",
    "model": "llama-3.1-8b",
    "prompt_tokens": 1000,
    "output_tokens": 300,
    "limits": {"vendors": ["NVIDIA"], "segments": ["workstation"]},
    "count": 3,
}
CARD = {"accelerator": "rtx-4090"}
PROMISE = {"ttft_s": 1.0, "tpot_s": 0.05}


def asked(**need: object) -> Any:
    """Return the answer on the service with a need."""
    return plan({**SERVICE, "need": {**PROMISE, **need}})


def test_a_service_on_people_s_own_cards_is_offered_a_server_s_engine() -> None:
    """On one RTX 4090 vLLM shares what takes llama.cpp several; where it is not known to run nothing else is tried."""
    cards = {**SERVICE, "limits": {"accelerators": ["rtx-4090", "m4-max-64gb"]}, "need": {"requests_per_s": 2}}
    found = {str(option["scenario"]["accelerator"]): option for option in plan(cards)["options"]}
    alone: Any = plan({**cards, "engine": "llama.cpp"})
    more = {str(option["scenario"]["accelerator"]): option for option in alone["options"]}
    assert found["rtx-4090"]["scenario"]["engine"] == "vllm"
    assert found["rtx-4090"]["replicas"] < more["rtx-4090"]["replicas"]
    assert found["m4-max-64gb"]["scenario"] == more["m4-max-64gb"]["scenario"]


def test_replicas_share_the_requests() -> None:
    """The busiest hour is divided over the replicas, none beyond what it could be given; one fewer would be."""
    answer = asked(requests_per_s=10, peak_over_mean=2, percentile=95)
    assert json.loads(json.dumps(answer)) == answer
    for option in answer["options"]:
        load, replicas = option["load"], option["replicas"]
        assert load["requests_per_s"] * replicas == pytest.approx(20)
        assert load["requests_per_s"] <= load["capacity_requests_per_s"] * (1 + 1e-6)
        assert replicas == 1 or load["capacity_requests_per_s"] * (replicas - 1) < 20
        assert load["mean_requests"] < load["planned_requests"] == option["scenario"]["concurrency"]


def test_times_are_kept_at_the_percentile() -> None:
    """With as many requests in the server as are planned for, the report's own times are within what was asked."""
    for option in asked(requests_per_s=20)["options"]:
        speed: Any = estimate(option["scenario"])["speed"]
        assert speed == option["speed"]
        assert speed["time_to_first_token_s"]["typical"] <= PROMISE["ttft_s"]
        assert speed["time_per_output_token_s"]["typical"] <= PROMISE["tpot_s"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("percentile", "more"),
    [
        (80, {"requests_per_s": 20}),
        (95, {"requests_per_s": 20}),
        (99, {"requests_per_s": 5}),
        (95, {"requests_per_s": 0.8, "ttft_s": 2.0}),
    ],
)
def test_requests_at_random_keep_the_promise(percentile: int, more: dict[str, object]) -> None:
    """What comes to a replica, asked of `estimate` as arrivals, keeps the times for the share that was asked.

    With long prompts it is the first token that waits, behind prompts that came before.
    """
    lengths = {"prompt_tokens": 8000, "output_tokens": 200} if "ttft_s" in more else {}
    promise = {name: {**PROMISE, **more}[name] for name in PROMISE}
    answer: Any = plan({**SERVICE, **lengths, "need": {**PROMISE, **more, "percentile": percentile}})
    assert answer["options"]
    for option in answer["options"]:
        scenario = {name: value for name, value in option["scenario"].items() if name != "concurrency"}
        arrivals = {"requests_per_s": option["load"]["requests_per_s"], "objective": promise}
        report: Any = estimate({**scenario, "arrivals": arrivals})
        assert report["speed"]["within_objective"]["typical"] >= percentile / 100


@pytest.mark.slow
@pytest.mark.parametrize("accelerator", ["rtx-6000-ada", "l40s-48gb", "a100-sxm-80gb", "h100-sxm-80gb"])
def test_chances_are_those_of_a_long_run(accelerator: str) -> None:
    """What a replica takes by the chances alone, a long run keeps for the share asked, within 7 of 100.

    Of long prompts and short answers some wait too long behind prompts, and others are answered too slowly.
    """
    need = read_question({**SERVICE, "need": {**PROMISE, "requests_per_s": 1000}}, catalog()).need
    for lengths in ({"prompt_tokens": 1000, "output_tokens": 300}, {"prompt_tokens": 4000, "output_tokens": 100}):
        served = {"model": "llama-3.1-8b", "accelerator": accelerator, "engine": "vllm", **lengths}
        scenario = {**served, "concurrency": 1}
        alone = read_scenario(scenario)
        engine, asked = alone.serving(), alone.asked
        assert engine
        held = serve(engine, alone.demand, alone.layout, most=False)
        server = server_of(held, asked.output_tokens, asked.cached_tokens)
        assert server
        fleet = Fleet(scenario, held, server, need)
        least: Any = fleet.at_least()
        share: Any = fleet.fewest()
        assert 1 <= least <= share.replicas
        read = read_scenario({**served, "arrivals": {"requests_per_s": share.capacity_per_s, "objective": PROMISE}})
        asked = read.asked
        assert asked.traffic
        held = serve(engine, read.demand, read.layout, most=False)
        site = site_of(held, asked.traffic, asked.output_tokens, asked.cached_tokens)
        assert site
        assert run_of(site, asked.traffic, count=6000).kept == pytest.approx(0.95, abs=0.07)


def test_more_takes_more() -> None:
    """More requests, peaks, a stricter percentile or shorter times never take fewer devices; spare ones are added."""
    plain = asked(requests_per_s=20, percentile=80)["options"]
    devices = {option["scenario"]["accelerator"]: fleet(option) for option in plain}
    for more in ({"peak_over_mean": 3}, {"percentile": 99}, {"tpot_s": 0.03}, {"requests_per_s": 40}, {"spare": 2}):
        for option in asked(**{"requests_per_s": 20, "percentile": 80, **more})["options"]:
            if option["scenario"]["accelerator"] in devices and "spare" not in more:
                name = option["scenario"]["accelerator"]
                assert option["cost"]["rent_per_month"] >= devices[name]["rent_per_month"] * 0.999
    spare = asked(requests_per_s=20, percentile=80, spare=2)["options"][0]
    each = spare["cost"]["rent_per_month"] / spare["replicas"]
    assert spare["load"]["requests_per_s"] * (spare["replicas"] - 2) == pytest.approx(20)
    assert each == pytest.approx(spare["scenario"]["accelerators"] * rent(spare) * 730)


def fleet(option: Any) -> Any:
    """Return what an option's devices cost."""
    return option["cost"]


def rent(option: Any) -> float:
    """Return the rent of one device of an option."""
    return float(option["cost"]["rent_per_hour"]) / option["replicas"] / option["scenario"]["accelerators"]


def test_users_make_requests() -> None:
    """1,800 people who ask ten times an hour are five requests a second, and twice as many at twice the mean."""
    by_users = asked(users=1800, requests_each_hour=10, peak_over_mean=2)
    by_rate = asked(requests_per_s=5, peak_over_mean=2)
    assert [option["replicas"] for option in by_users["options"]] == [
        option["replicas"] for option in by_rate["options"]
    ]
    assert by_users["options"][0]["load"]["requests_per_s"] * by_users["options"][0]["replicas"] == pytest.approx(10)


@pytest.mark.slow
def test_no_cheaper_fleet_is_cut() -> None:
    """Of all numbers of workstation cards the planner's fleets are those that sizing every one of them finds."""
    question = {**SERVICE, "need": {**PROMISE, "requests_per_s": 30}}
    read = read_question(question, catalog())
    search = Search(read, catalog())
    found = [search.value(option) for option in search.best(candidates(read, catalog()))]
    every: dict[str, tuple[bool, float]] = {}
    for candidate in candidates(read, catalog()):
        sized: Any = search.sized(candidate)
        while hasattr(sized, "given") and not (sized.share and sized.share.confirmed):
            sized = search.confirmed(sized, sized.share) if sized.share.requests else search.sized(sized)
        if hasattr(sized, "given") and hasattr(search.reported(sized), "report"):
            value = search.at_best(sized)
            every[candidate.group] = min(value, every.get(candidate.group, value))
    assert found == sorted(every.values())[:3]


def test_people_who_wait_are_spread() -> None:
    """People who wait together are spread evenly over the fewest replicas that serve them."""
    question = {**SERVICE, "need": {"users": 400, "tokens_per_s_each": 25}}
    answer: Any = plan(question)
    for option in answer["options"]:
        each, replicas = option["scenario"]["sequences"], option["replicas"]
        assert each * (replicas - 1) < 400 <= each * replicas
        assert option["speed"]["time_per_output_token_s"]["typical"] <= 1 / 25
        assert option["load"] is None
    assert max(option["replicas"] for option in answer["options"]) > 1


def test_fewer_servers_in_fewer_bits_come_before_more_in_more() -> None:
    """A limit on devices makes nothing cheaper: a server in eight bits had been offered only where two could not be."""
    need: dict[str, object] = {"users": 300, "tokens_per_s_each": 10}
    question = {"want": "hardware", "model": "llama-3.3-70b", "weights": ["bf16", "fp8", "awq"], "need": need}
    cards: dict[str, object] = {"accelerators": ["mi325x"], "rent": True}
    free, limited = (
        cast("Any", plan({**question, "limits": limits}))["options"][0] for limits in (cards, {**cards, "devices": 2})
    )
    assert free["scenario"] == limited["scenario"] and free["replicas"] == limited["replicas"]
    assert free["scenario"]["weights"] != "bf16"


def test_one_more_who_waits_is_never_cheaper() -> None:
    """Where one replica may not fit, two that surely do come before dearer devices: one more had paid more."""
    question = {**SERVICE, "engine": "llama.cpp", "context_tokens": 8192, "limits": {"accelerators": ["p40", "a40"]}}
    question = {name: question[name] for name in question if name not in ("prompt_tokens", "output_tokens")}
    prices, sure = [], []
    for users in (5, 6, 7, 10, 11, 16):
        answer: Any = plan({**question, "need": {"users": users}})
        first = answer["options"][0]
        prices.append(first["cost"]["rent_per_month"])
        sure.append(first["chance"] >= 0.95)
    assert prices == sorted(prices) and all(sure)
    assert prices[1] == prices[2] == pytest.approx(2 * prices[0])
    published = {**question, "weights": "published"}  # else fewer bits are looked for
    alone: Any = plan({**published, "need": {"users": 6}, "limits": {"accelerators": ["p40"], "devices": 1}})
    assert [option["chance"] < 0.95 for option in alone["options"]] == [True]  # there is no second one


@pytest.mark.parametrize(
    ("model", "rate", "device"),
    [("mistral-small-3.2-24b", 0.5, "rtx-4000-sff-ada"), ("qwen3-32b", 5, "rtx-6000d-84gb"), ("gpt-oss-20b", 3, "l4")],
)
def test_a_smaller_budget_finds_nothing_cheaper(model: str, rate: float, device: str) -> None:
    """What a budget finds that is surely known to run is found without it: fewer servers in fewer bits, on any engine.

    Of a pair of RTX 4000 SFF Ada two servers in FP8 had come first, and one in four bits had cost half as much.
    """
    question: dict[str, Any] = {"want": "hardware", "model": model, "weights": "any", "engine": "any"}
    question |= {"need": {"requests_per_s": rate}, "context_tokens": 2048, "count": 1}
    others = {"accelerators": [device, "a40-48gb", "rtx-a5000"], "rent": True}

    def cheapest(limits: dict[str, Any]) -> float | None:
        """Return the rent of the first option, None where none is sure and known to run."""
        found: Any = plan({**question, "limits": {**others, **limits}})
        rents = [
            option["cost"]["rent_per_month"]
            for option in found["options"]
            if option["chance"] >= SURE and estimate(option["scenario"])["runs"] is True
        ]
        return min(rents, default=None)

    first = cheapest({})
    assert first is not None
    assert cheapest({"price_per_month": 1.001 * first}) == first
    assert cheapest({"price_per_month": 0.98 * first}) is None


def test_servers_may_be_few() -> None:
    """Each takes a computer: of a few the devices have to be larger, spare ones count, and more are no dearer."""
    question = {**SERVICE, "need": {"users": 40, "tokens_per_s_each": 10}, "limits": {"buy": True}}
    found: dict[int, Any] = {most: plan({**question, "limits": {"buy": True, "servers": most}}) for most in (1, 2, 8)}
    firsts = [answer["options"][0] for answer in found.values()]
    assert all(first["replicas"] <= most for most, first in zip(found, firsts, strict=True))
    prices = [first["cost"]["purchase"] for first in firsts]
    assert prices == sorted(prices, reverse=True) and prices[0] > prices[-1]
    spare: Any = plan({**question, "need": {**question["need"], "spare": 1}, "limits": {"buy": True, "servers": 1}})
    assert not spare["options"]
    run = {"want": "hardware", "workload": "training", "model": "llama-3.1-8b", "limits": {"servers": 2}}
    with pytest.raises(ScenarioError, match="a run is one"):
        plan(run)


def test_what_there_is_may_not_be_enough() -> None:
    """Devices that there are bound the replicas: what they cannot serve is refused, with how many it would take."""
    have = {"accelerator": "l40s-48gb", "accelerators": 2}
    question = {"want": "models", "model": "qwen3-32b", "have": have, "weights": "fp8", "need": {"requests_per_s": 20}}
    answer: Any = plan(question)
    assert answer["options"] == []
    assert "replicas are needed" in answer["rejected"]["load"]["nearest"]["lacks"]


def test_a_layout_serves_a_rate() -> None:
    """Of the layouts of given devices those alone are shown that answer all requests that come."""
    have = {"accelerator": "h100-sxm-80gb", "accelerators": 4}
    need = {"requests_per_s": 30, "tpot_s": 0.05}
    answer: Any = plan({"want": "layout", "model": "qwen3-30b-a3b", "have": have, "need": need})
    assert answer["options"]
    for option in answer["options"]:
        assert option["replicas"] == 1
        assert option["load"]["requests_per_s"] == 30 <= option["load"]["capacity_requests_per_s"]
    assert answer["rejected"]["load"]["count"] > 0


def test_a_latent_cache_is_not_repeated_for_many() -> None:
    """140 people who ask DeepSeek-V3 on eight H200: each rank caches its own sequences, as no tensor ranks could."""
    have = {"accelerator": "h200", "accelerators": 8}
    need = {"users": 140}
    asked = {"want": "models", "model": "deepseek-v3", "weights": "published", "engine": "sglang", "have": have}
    question = {**asked, "need": need, "context_tokens": 8192}
    answer: Any = plan(question)
    (option,) = answer["options"]
    assert option["scenario"]["parallelism"]["data"] == option["scenario"]["parallelism"]["expert"] == 8
    assert plan({**question, "parallelism": {"tensor": 8}})["options"] == []


def test_people_who_need_no_cache_share_one_server() -> None:
    """A model that reads texts in one pass caches nothing: any number of people fits, and time alone counts."""
    question = {"want": "hardware", "model": "bge-m3", "need": {"users": 5, "ttft_s": 1}, "count": 3}
    answer: Any = plan({**question, "limits": {"vendors": ["NVIDIA"], "segments": ["workstation"]}})
    for option in answer["options"]:
        assert option["scenario"]["sequences"] * option["replicas"] >= 5
        assert option["speed"]["time_to_first_token_s"]["typical"] <= 1
    assert len(answer["options"]) == 3


@pytest.mark.parametrize("rank", ["speed", "latency", "energy"])
def test_replicas_are_timed_without_their_reports(rank: str) -> None:
    """How fast requests in a server are answered is known before its report: of what is shown alone there is one."""
    question = {**SERVICE, "rank_by": rank, "need": {"requests_per_s": 5, "tokens_per_s_each": 30}}
    answer: Any = plan(question)
    assert answer["searched"]["estimated"] == len(answer["options"]) == 3
    limit: Any = plan({"want": "limit", "of": "users", "model": "llama-3.1-8b", "need": {"ttft_s": 2}, "have": CARD})
    assert limit["searched"]["estimated"] == 1


def test_requests_are_timed_as_reports_time_them() -> None:
    """The typical speed of requests in a server is that of its report, to the digit."""
    for requests, engine in ((1, "vllm"), (40, "sglang"), (500, "vllm"), (9, "llama.cpp")):
        scenario = {"model": "qwen3-8b", "accelerator": "l40s-48gb", "engine": engine, "concurrency": requests}
        read = read_scenario({**scenario, "prompt_tokens": 700, "output_tokens": 90})
        serving = read.serving()
        assert serving is not None
        served = serve(serving, read.demand, read.layout, most=False)
        found = typical(read, served, prompts=True)
        report: Any = estimate({**scenario, "prompt_tokens": 700, "output_tokens": 90})
        assert found == {name: report["speed"][name]["typical"] for name in found} and len(found) == 9


def test_other_hours_of_use_work_out_little_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """What replicas were found to do stands for other hours of use, with the answer of a first question."""
    worked: list[object] = []

    def counted(*args: Any) -> Any:
        worked.append(args)
        return state(*args)

    monkeypatch.setattr("calc.planner.curve.state", counted)
    catalog().derived.clear()
    asked(requests_per_s=10)
    before = len(worked)
    again, between = asked(requests_per_s=10, hours_a_day=9), len(worked)
    catalog().derived.clear()
    first = asked(requests_per_s=10, hours_a_day=9)
    assert (again["options"], again["rejected"]) == (first["options"], first["rejected"])
    assert between - before < 0.2 * (len(worked) - between)


def test_who_asks_for_no_speed_is_told_how_slow_it_is() -> None:
    """Of options that many share the slowest is named where it writes slower than one reads, or begins late."""
    question = {"want": "hardware", "model": "llama-3.1-8b", "need": {"users": 500}}
    found: Any = plan(question)
    (told,) = [warning for warning in found["warnings"] if warning["code"] == "speed-not-asked"]
    step_s = max(option["speed"]["time_per_output_token_s"]["typical"] for option in found["options"])
    first_s = max(option["speed"]["time_to_first_token_s"]["typical"] for option in found["options"])
    assert step_s > 1 / 5 and f"{show_number(1 / step_s)} tokens a second" in told["message"]
    assert first_s > 2 and f"after {show_number(first_s)} s" in told["message"]
    for other in (
        {"need": {"users": 500, "tokens_per_s_each": 5}},
        {"need": {}},
        {"need": {"users": 5}, "model": "bge-m3"},
    ):
        codes = [warning["code"] for warning in plan({**question, **other})["warnings"]]  # type: ignore[attr-defined]
        assert "speed-not-asked" not in codes


def test_people_whose_first_tokens_count_ask_one_after_the_other() -> None:
    """One server keeps the times of 25 callers who ask again and again; all in one moment would take a server each."""
    asked: Any = {"want": "hardware", "model": "qwen3-8b", "context_tokens": 8192, "limits": {"vendors": ["AMD"]}}
    asked |= {"need": {"users": 25, "ttft_s": 0.3}, "count": 1}
    (option,) = plan(asked)["options"]  # type: ignore[misc]
    assert option["scenario"]["concurrency"] * option["replicas"] >= 25 and option["replicas"] < 5
    report: Any = estimate(option["scenario"])
    assert report["speed"]["time_to_first_token_s"]["typical"] <= 0.3
