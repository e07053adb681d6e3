"""The planner: known questions, and the best of all that there is to try against what it finds."""

import json
import random
import re
import subprocess
import sys
from itertools import product
from typing import Any

import pytest

from calc import ScenarioError, estimate, plan
from calc.catalog import catalog
from calc.planner.bound import Bounds
from calc.planner.candidate import Candidate
from calc.planner.candidates import places
from calc.planner.devices import Devices
from calc.planner.fleet import fewest
from calc.planner.need import Share
from calc.planner.options import Option, short, slow, tight, too_heavy
from calc.planner.question import RANKS, read_question
from calc.planner.ranking import parameters
from calc.planner.search import Search
from calc.planner.sharing import OF_FLEETS
from calc.planner.wanted import chosen_models
from calc.planning.chance import LIKELY, SURE
from calc.question import read_placement
from calc.scenario.model import known_architecture
from tests.planner.tried import candidates

UNLIKE: list[dict[str, object]] = [{"id": "rtx-3090"}, {"id": "rtx-3060-12gb", "count": 2}]
PAIR = {"accelerator": "rtx-3090", "accelerators": 2}
CARD = {"accelerator": "rtx-3090"}
HOST = {"host": {"processor": "ryzen-9-9950x", "memory": "64 GiB"}}
SEED = 20261122


def some_models(count: int) -> list[str]:
    """Return a random sample of models that write text."""
    every = [name for name in catalog().ids("models") if known_architecture(catalog(), name).writes]
    return sorted(random.Random(SEED).sample(every, count))


def served(search: Search, candidate: Candidate) -> Option | None:
    """Return the first scenario of a candidate that surely fits, else the best that serves, by whole reports."""
    serve = list[Option]()
    for scenario in candidate.scenarios:
        option = served_as(search, candidate, scenario)
        if option and option.is_sure:
            return option
        serve += [option] if option else []
    likely = min(serve, key=search.value, default=None)
    if candidate.beside is None or not lacks_memory(candidate.scenarios[-1]):
        return likely
    if divided := least_on_host(candidate.beside):
        option = served_as(search, candidate._replace(scenarios=(divided,), beside=None), divided)
        likely = option if option and (option.is_sure or likely is None) else likely
    return likely


def served_as(search: Search, candidate: Candidate, scenario: dict[str, object]) -> Option | None:
    """Return a candidate's option as one of its scenarios by a whole report; None where that does not serve."""
    try:
        report: dict[str, Any] = estimate(scenario)
    except ScenarioError:
        return None
    limit = catalog().model(str(scenario["model"])).context_tokens
    if report["runs"] is False or report["scenario"]["engine"] == "none":
        return None
    if report["scenario"]["context_tokens"] > limit:
        return None
    found = search.judge(candidate, report)
    return found if isinstance(found, Option) else None


def lacks_memory(scenario: dict[str, object]) -> bool:
    """Return whether the device's memory is what keeps a scenario from being sure."""
    try:
        report: Any = estimate(scenario, repairs=False)
    except ScenarioError:
        return False
    return bool(report["memory"]["chance"] < SURE)


def least_on_host(scenario: dict[str, object]) -> dict[str, object] | None:
    """Return a scenario with the fewest experts, else layers, in the host's memory that let it fit: each is tried."""
    architecture = known_architecture(catalog(), str(scenario["model"]))
    layers, likely = architecture.layer_count, None
    ways: list[dict[str, object]] = [{"experts_on_host": away} for away in range(1, layers + 1) if architecture.experts]
    for way in ways + [{"gpu_layers": kept} for kept in range(layers - 1, 0, -1)]:
        try:
            report: Any = estimate(scenario | way, repairs=False)
        except ScenarioError:
            return None
        chance = report["memory"]["chance"]
        if chance >= SURE:
            return scenario | way
        likely = likely or (scenario | way if chance >= LIKELY else None)
    return likely


def first_served(search: Search, candidate: Candidate, people: int) -> Option | None:
    """Return what the fewest replicas serve that there may be, each number of them tried; of as many in most bits.

    Where their number does not rank it is the first scenario that serves.
    """
    if people == 1:
        return served(search, candidate)
    likely, sure = None, list[Option]()
    for scenario in candidate.scenarios:
        for replicas in range(1, min(candidate.most_replicas, people) + 1):
            share = Share(replicas, -(-people // replicas))
            given = candidate._replace(scenarios=(scenario,)).given(share)
            if search.beyond_limits(given) is None and (option := served(search, given)):
                if option.is_sure:
                    sure.append(option)
                likely = likely or option
                break
    fewest = search.question.rank_by in OF_FLEETS
    return min(sure, key=lambda option: option.candidate.replicas if fewest else 0, default=likely)


def every_value(question: dict[str, object]) -> list[tuple[bool, tuple[bool, float]]]:
    """Return what ranks the best option of each group, best first, with every candidate estimated.

    Options that may not fit come last.
    """
    read = read_question(question, catalog())
    search = Search(read, catalog())
    best: dict[str, tuple[bool, tuple[bool, float]]] = {}
    people = read.need.waiting or 1
    for candidate in candidates(read, catalog()):
        if search.beyond_limits(candidate) is None and (option := first_served(search, candidate, people)):
            value = search.is_last(option), search.value(option)
            best[candidate.group] = min(value, best.get(candidate.group, value))
    return sorted(best.values())


def found_values(question: dict[str, object]) -> list[tuple[bool, tuple[bool, float]]]:
    """Return what ranks the planner's options."""
    read = read_question(question, catalog())
    search = Search(read, catalog())
    return [(search.is_last(option), search.value(option)) for option in search.best(candidates(read, catalog()))]


@pytest.mark.slow
@pytest.mark.parametrize("rank", RANKS)
def test_no_better_model_is_cut(rank: str) -> None:
    """Of a random sample of models the planner's best are those that estimating every one of them finds."""
    question = {
        "want": "models",
        "have": PAIR,
        "models": some_models(12),
        "context_tokens": 2048,
        "rank_by": rank,
        "count": 4,
    }
    assert found_values(question) == every_value(question)[:4]


def test_no_larger_model_is_cut_of_what_money_buys() -> None:
    """Of all consumer cards below a price each runs the largest model that estimating all of them finds for it."""
    question = {
        "want": "hardware",
        "models": some_models(5),
        "limits": {"price": 330, "devices": 2, "segments": ["consumer"], "vendors": ["NVIDIA", "Intel"]},
        "context_tokens": 2048,
        "count": 100,
    }
    assert found_values(question) == every_value(question) != []


def test_money_buys_devices_by_what_they_run() -> None:
    """The largest model comes first, on the cheapest of what runs it; each device is listed once, within the price."""
    asked = {"want": "hardware", "models": ["qwen3-8b", "qwen3-14b", "llama-3.3-70b"], "limits": {"price": 1000}}
    found: Any = plan(asked)
    options = found["options"]
    prices = [option["cost"]["purchase"] for option in options]
    sizes = [parameters(known_architecture(catalog(), option["scenario"]["model"])) for option in options]
    kinds = [option["scenario"]["accelerator"] for option in options]
    assert sizes == sorted(sizes, reverse=True) and len(set(kinds)) == len(kinds) == 10
    assert max(prices) <= 1000 and "price" in found["rejected"]
    for size in set(sizes):
        alike = [price for price, own in zip(prices, sizes, strict=True) if own == size]
        assert alike == sorted(alike)


def test_what_does_not_fit_as_published_is_offered_in_fewer_bits() -> None:
    """A 70B within two consumer cards, or on two RTX 3090: the format that fits, and it is said; a named one stands."""
    asked = {"want": "hardware", "model": "llama-3.3-70b", "limits": {"devices": 2, "segments": ["consumer"]}}
    longest = {"want": "limit", "of": "context_tokens", "model": "llama-3.3-70b", "have": PAIR}
    for question in (asked, longest):
        found = plan(question)
        assert found["options"] and "fewer-bits" in [warning["code"] for warning in found["warnings"]]
        assert all(option["scenario"]["weights"] != "published" for option in found["options"])
        assert not plan({**question, "weights": "published"})["options"]
    bare, every = (plan({**asked, **more})["options"] for more in ({}, {"weights": "any"}))
    assert [option["scenario"] for option in bare] == [option["scenario"] for option in every]


def test_what_is_held_as_published_may_be_had_in_fewer_bits() -> None:
    """DeepSeek V3 on sixteen bought cards is dearer than in AWQ on eight, which is said; also how many computers."""
    asked: dict[str, Any] = {"want": "hardware", "model": "deepseek-v3"}
    asked |= {"limits": {"buy": True, "devices": 16, "segments": ["workstation"]}}
    found: Any = plan(asked)
    told = {warning["code"]: warning["message"] for warning in found["warnings"]}
    assert found["options"][0]["scenario"]["accelerators"] == 16 and "as-published" in told
    assert "2 of them" in told["devices-alone"]
    fewer: Any = plan({**asked, "weights": "any"})
    assert fewer["options"][0]["cost"]["purchase"] < found["options"][0]["cost"]["purchase"]
    for named in (fewer, plan({**asked, "weights": "published"})):
        assert "as-published" not in {warning["code"] for warning in named["warnings"]}  # type: ignore[union-attr]


def test_what_surely_fits_nowhere_as_published_is_offered_in_fewer_bits() -> None:
    """DeepSeek V3 for 400 people on bought cards may fit as published on a hundred servers, and surely does in AWQ."""
    asked: dict[str, Any] = {"want": "hardware", "model": "deepseek-v3", "context_tokens": 8192, "need": {"users": 400}}
    asked |= {"limits": {"buy": True, "accelerators": ["rtx-pro-6000-blackwell"]}, "rank_by": "cost"}
    found: Any = plan(asked)
    (option,) = found["options"]
    assert option["scenario"]["weights"] == "awq" and option["chance"] >= SURE
    assert "fewer-bits" in [warning["code"] for warning in found["warnings"]]
    (tight,) = plan({**asked, "weights": "published"})["options"]  # type: ignore[misc]
    assert tight["chance"] < SURE and tight["replicas"] > 10 * option["replicas"]


def test_places_count_what_is_tried_on_them() -> None:
    """The number of a place's scenarios is that of its candidates, whether or not attention is divided apart."""
    for question in (
        {
            "want": "hardware",
            "models": ["deepseek-v3", "qwen3-8b"],
            "need": {"users": 8},
            "engine": ["usual", "sglang"],
        },
        {"want": "layout", "model": "qwen3-30b-a3b", "have": {"accelerator": "l4-24gb", "accelerators": 4}},
    ):
        read = read_question(question, catalog())
        found = [(place.number, list(place.candidates())) for place in places(read, catalog())]
        assert all(number == sum(len(one.scenarios) for one in tried) for number, tried in found)
        orders = [one.order for _, tried in found for one in tried]
        assert orders == list(range(len(orders)))


@pytest.mark.slow
@pytest.mark.parametrize("need", [{"users": 4, "tokens_per_s_each": 5}, {"tokens_per_s_each": 20}])
@pytest.mark.parametrize("rank", RANKS)
def test_no_better_device_is_cut(rank: str, need: dict[str, float]) -> None:
    """Of all workstation cards the planner's best are those that estimating every number of each of them finds."""
    question = {
        "want": "hardware",
        "model": "qwen3-32b",
        "weights": "fp8",
        "limits": {"devices": 2, "segments": ["workstation"], "vendors": ["NVIDIA"]},
        "need": need,
        "rank_by": rank,
        "count": 3,
    }
    assert found_values(question) == every_value(question)[:3]


@pytest.mark.slow
@pytest.mark.parametrize("rank", ["speed", "latency", "energy", "margin"])
def test_no_better_format_is_cut(rank: str) -> None:
    """Where more bits are likely to fit and not certain, fewer may be better: they come as trying all of them finds."""
    question = {
        "want": "hardware",
        "model": "gemma-3-12b",
        "weights": ["published", "fp8", "gptq-int4"],
        "limits": {"devices": 4, "segments": ["workstation"], "vendors": ["NVIDIA"]},
        "context_tokens": 32000,
        "sequences": 8,
        "rank_by": rank,
        "count": 5,
    }
    assert found_values(question) == every_value(question)[:5]


def drawn_question(seed: int) -> dict[str, Any]:
    """Return a question about a few devices, everything in it drawn at random."""
    draw = random.Random(seed)
    kinds = [record.id for record in catalog().accelerators() if record.segment != "cloud" and record.architecture]
    limits: dict[str, Any] = {"accelerators": draw.sample(kinds, 4), "devices": draw.choice([1, 2, 4])}
    if draw.random() < 0.4:
        limits |= draw.choice([{"buy": True}, {"power_w": 700}, {"price_per_month": 1500}])
    need = draw.choice([{}, {"tokens_per_s_each": 15}, {"ttft_s": 3}, {"users": 6, "tokens_per_s_each": 8}])
    return {
        "want": "hardware",
        "model": draw.choice(["llama-3.1-8b", "qwen3-30b-a3b", "gemma-3-12b", "mamba-2.8b", "qwen3-32b", "phi-4"]),
        "weights": draw.choice(["any", "published", ["fp8", "awq"], ["q8_0", "q4_k_m"], ["bf16", "gptq-int4"]]),
        "context_tokens": draw.choice([1024, 4096, 16384]),
        "limits": limits,
        "need": need,
        "rank_by": draw.choice(RANKS),
        "count": 3,
    }


@pytest.mark.parametrize("seed", [*range(12), 60])  # of the last, more bits are tight where fewer leave more
def test_no_better_is_cut_of_questions_at_random(seed: int) -> None:
    """Whatever is asked, the planner's best are those that estimating every way finds."""
    question = drawn_question(seed)
    assert found_values(question) == every_value(question)[:3], question


def drawn_machine(seed: int) -> dict[str, Any]:
    """Return a question about given devices: equal ones, unlike ones, or one beside a host; drawn at random."""
    draw = random.Random(seed)
    kinds = [record.id for record in catalog().accelerators() if record.segment != "cloud" and record.architecture]
    every = [name for name in catalog().ids("models") if known_architecture(catalog(), name).writes]
    one, other = draw.sample(kinds, 2)
    machine: dict[str, Any] = draw.choice(
        [
            {"accelerator": one, "accelerators": draw.choice([1, 2, 4])},
            {"accelerator": [{"id": one}, {"id": other, "count": draw.choice([1, 2])}]},
            {"accelerator": one, "host": {"processor": "ryzen-9-9950x", "memory": draw.choice(["32 GiB", "96 GiB"])}},
        ]
    )
    layout = draw.random() < 0.3
    asked: dict[str, Any] = {"want": "models", "have": machine, "models": draw.sample(every, 4)}
    if layout:
        large = draw.choice(["llama-3.1-8b", "qwen3-30b-a3b", "gpt-oss-120b", "qwen3-next-80b-a3b"])
        asked = {"want": "layout", "have": {"accelerator": one, "accelerators": draw.choice([2, 4, 8])}, "model": large}
    if draw.random() < 0.4:  # one engine alone works on unlike devices
        unlike = isinstance(asked["have"]["accelerator"], list)
        asked["engine"] = "llama.cpp" if unlike else draw.choice(["any", ["vllm", "sglang"], "llama.cpp"])
    if draw.random() < 0.3:
        asked["kv_cache"] = draw.choice(["fp8", "q8_0"])
    return asked | {
        "weights": draw.choice(["any", "published", ["fp8", "awq"], ["q8_0", "q4_k_m"]]),
        "context_tokens": draw.choice([1024, 4096, 16384]),
        "need": draw.choice([{}, {"tokens_per_s_each": 10}, {"ttft_s": 3}]),
        "rank_by": draw.choice(RANKS),
        "count": 3,
    }


@pytest.mark.parametrize("seed", range(24))
def test_no_better_is_cut_of_machines_at_random(seed: int) -> None:
    """Of given devices, unlike ones and a host's memory too, the best are those that estimating every way finds."""
    question = drawn_machine(seed)
    assert found_values(question) == every_value(question)[:3], question


def test_experts_that_stay_packed_are_no_larger_than_they_are() -> None:
    """A file of gpt-oss in Q4_K_M has its experts in MXFP4: bounds take them as they are, and it fits in 80 GiB."""
    question = {
        "want": "layout",
        "have": {"accelerator": "rtx-3080", "accelerators": 8},
        "model": "gpt-oss-120b",
        "weights": ["published", "q4_k_m"],
        "context_tokens": 1024,
        "rank_by": "latency",
        "count": 3,
    }
    assert found_values(question) == every_value(question)[:3] != []
    assert plan(question)["options"][0]["scenario"]["weights"] == "q4_k_m"  # type: ignore[index]


def test_a_format_that_is_too_slow_leaves_the_others_their_place() -> None:
    """A model in 16 bit fits two cards and is too slow there; in 8 bit it takes less energy than others do."""
    names = ["granite-4.0-1b", "lfm2.5-2.6b", "qwen2.5-14b", "qwen3.6-35b-a3b", "yi-9b"]
    asked = {"want": "models", "have": {"accelerator": "rtx-5060-ti-16gb", "accelerators": 2}, "models": names}
    question = {**asked, "context_tokens": 1024, "need": {"tokens_per_s_each": 15}, "rank_by": "energy", "count": 4}
    assert found_values(question) == every_value(question)[:4]


def test_more_devices_take_no_less_energy() -> None:
    """Twice the devices are at most twice as fast, which spares the search all but the fewest that serve."""
    draw, checked = random.Random(14), 0
    devices = [record.id for record in catalog().accelerators() if not record.shares_host_memory]
    models = some_models(20)
    while checked < 40:
        scenario = {"model": draw.choice(models), "accelerator": draw.choice(devices), "context_tokens": 2048}
        scenario |= {"engine": "usual", "sequences": draw.choice([1, 8, 64])}
        count = draw.choice([1, 2, 4])
        rates = [rate_of({**scenario, "accelerators": number}) for number in (count, 2 * count)]
        if rates[0] and rates[1]:
            assert rates[1] <= 2 * rates[0], scenario
            checked += 1


def rate_of(scenario: dict[str, object]) -> float:
    """Return the tokens a second that a scenario writes; 0 where it does not fit or run."""
    try:
        report: Any = estimate(scenario, repairs=False)
    except ScenarioError:
        return 0.0
    speed = report["speed"] if report["memory"]["fits"] else None
    return speed.get("output_tokens_per_s", {}).get("typical", 0.0) if speed else 0.0


@pytest.mark.slow
@pytest.mark.parametrize("rank", ["cost", "devices", "energy"])
def test_no_cheaper_spread_is_cut(rank: str) -> None:
    """People are spread over as few servers, in as many bits, as trying every number of them finds."""
    cards = ["rtx-4000-sff-ada", "rtx-pro-4000", "l40s-48gb", "rtx-a6000"]
    question = {
        "want": "hardware",
        "model": "qwen3-32b",
        "weights": ["bf16", "fp8", "awq"],
        "limits": {"accelerators": cards},
        "need": {"users": 23, "tokens_per_s_each": 12},
        "rank_by": rank,
        "count": 3,
    }
    assert found_values(question) == every_value(question)[:3]


@pytest.mark.slow
@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize(("model", "accelerator"), [("qwen3-32b", "rtx-4090"), ("qwen3-30b-a3b", "l40s-48gb")])
def test_no_better_layout_is_cut(rank: str, model: str, accelerator: str) -> None:
    """Of all layouts of four devices the planner's best are those that estimating every one of them finds."""
    have = {"accelerator": accelerator, "accelerators": 4}
    question = {"want": "layout", "model": model, "have": have, "context_tokens": 8192, "sequences": 4, "count": 3}
    assert found_values({**question, "rank_by": rank}) == every_value({**question, "rank_by": rank})[:3]


def long_models(count: int) -> list[str]:
    """Return a random sample of models of a card's size that are made for long texts."""
    known = [catalog().model(name) for name in catalog().ids("models")]
    sized = [
        record.id
        for record in known
        if (record.context_tokens or 0) >= 40960
        and known_architecture(catalog(), record.id).writes
        and 4e9 < parameters(known_architecture(catalog(), record.id)) < 30e9
    ]
    return sorted(random.Random(SEED).sample(sized, count))


@pytest.mark.slow
@pytest.mark.parametrize("model", long_models(4))
def test_no_more_is_cut(model: str) -> None:
    """Of all numbers of sequences in any format the planner finds the most that serve, counted one by one."""
    asked = {"model": model, "context_tokens": 40960, "engine": "llama.cpp"}
    have, weights = {"accelerator": "rtx-4090"}, ["q8_0", "q4_k_m"]
    need = {"tokens_per_s_each": 12}
    question = {"want": "limit", "of": "sequences", **asked, "have": have, "weights": weights, "need": need}
    answer: Any = plan(question)
    search = Search(read_question(question, catalog()), catalog())
    most = 0
    for name in weights:
        scenario, count = {**asked, **have, "weights": name}, 0
        while serves(search, {**scenario, "sequences": count + 1}):
            count += 1
        most = max(most, count)
    assert [option["scenario"]["sequences"] for option in answer["options"]] == ([most] if most else [])


@pytest.mark.slow
@pytest.mark.parametrize("model", long_models(3))
def test_no_longer_context_is_cut(model: str) -> None:
    """Of all lengths in any format, counted in pages of 1,024 tokens, none beyond the planner's most serves."""
    asked = {"model": model, "engine": "llama.cpp", "output_tokens": 100}
    have, weights = {"accelerator": "rtx-4090"}, ["q8_0", "q4_k_m"]
    question = {"want": "limit", "of": "context_tokens", **asked, "have": have, "weights": weights}
    answer: Any = plan({**question, "need": {"tokens_per_s_each": 12}})
    search = Search(read_question({**question, "need": {"tokens_per_s_each": 12}}, catalog()), catalog())
    longest = (catalog().model(model).context_tokens or 0) - 100
    found = [option["scenario"]["prompt_tokens"] for option in answer["options"]] or [0]
    for name in weights:
        for tokens in range(1024, longest + 1, 1024):
            served = serves(search, {**asked, **have, "weights": name, "prompt_tokens": tokens})
            assert not served or tokens <= found[0]
            assert served or name != weights[-1] or tokens > found[0]


@pytest.mark.slow
@pytest.mark.parametrize("model", long_models(3))
def test_no_more_users_are_cut(model: str) -> None:
    """Of up to 40 requests at a time in any format the planner finds the most that serve, counted one by one."""
    asked = {"model": model, "engine": "vllm", "prompt_tokens": 4000, "output_tokens": 200}
    have, weights = {"accelerator": "rtx-4090"}, ["fp8", "awq"]
    question = {"want": "limit", "of": "users", **asked, "have": have, "weights": weights}
    need = {"tpot_s": 0.05, "ttft_s": 3}
    answer: Any = plan({**question, "need": need})
    search = Search(read_question({**question, "need": need}, catalog()), catalog())
    most = 0
    for name in weights:
        counts = [
            count for count in range(1, 41) if serves(search, {**asked, **have, "weights": name, "concurrency": count})
        ]
        most = max(most, *counts, 0)
    assert [min(option["scenario"]["concurrency"], 40) for option in answer["options"]] == ([most] if most else [])


def serves(search: Search, scenario: dict[str, object]) -> bool:
    """Return whether a scenario serves, by its whole report."""
    return isinstance(
        search.judge(Candidate("", search_devices("rtx-4090"), (scenario,), 0), estimate(scenario)), Option
    )


def test_bounds_are_bounds() -> None:
    """No estimate needs less memory for the weights, or less time for a token, than the cheap bound says."""
    checked = 0
    question = {"want": "models", "have": PAIR, "models": some_models(25), "context_tokens": 2048}
    for candidate in candidates(read_question(question, catalog()), catalog()):
        for scenario in candidate.scenarios[:2]:
            report: Any = estimate(scenario)
            bound = Bounds(catalog()).of(candidate, scenario)
            weights = next(part["bytes"] for part in report["memory"]["parts"] if part["id"] == "weights")
            assert bound.least.held <= 2 * weights * 1.002, scenario  # a stage of fewer caches may weigh more
            if report["speed"]:
                assert bound.step_s <= report["speed"]["time_per_output_token_s"]["typical"], scenario
                checked += 1
    assert checked > 20


def test_layers_one_after_the_other_are_read_by_one_device_at_a_time() -> None:
    """Two RTX 3090 with half of the layers each read 15 GB of weights at the 936 GB/s of one: 16 ms a token, not 8."""
    asked = {"want": "models", "model": "llama-3.1-8b", "weights": "any", "have": PAIR, "rank_by": "latency"}
    search = Search(read_question(asked, catalog()), catalog())
    (candidate,) = candidates(search.question, catalog())
    own: Any = search.nearer(candidate)
    surely: Any = search.nearer(own)
    known: Any = search.nearer(surely)
    assert surely.sure and surely.own.stages == 2
    at_best = search.at_best(surely)[1] - surely.own.cache_s - search.bounds.begun(surely, surely.scenario).starts_s
    assert at_best == pytest.approx(2 * (8.030e9 - 0.525e9) / 936e9, rel=1e-3)  # the table of words is read by row
    assert known.speed["time_per_output_token_s"] > search.at_best(surely)[1]


@pytest.mark.parametrize(
    "more",
    [
        {"speculation": {"method": "ngram", "tokens": 8, "acceptance": 0.95}},
        {"shared_prefix_tokens": 3000, "prompt_tokens": 4000, "output_tokens": 100},
        {"prefix_hit_rate": 0.9, "prompt_tokens": 4000, "output_tokens": 100},
    ],
)
def test_bounds_leave_room_for_what_saves(more: dict[str, object]) -> None:
    """Drafted tokens and shared prompts serve better than without, and never better than the bounds say."""
    question = {"want": "hardware", "model": "llama-3.1-8b", "engine": "vllm", **more}
    need = {"requests_per_s": 100, "tpot_s": 0.05}
    limits = {"segments": ["workstation"], "vendors": ["NVIDIA"]}
    read = read_question({**question, "need": need, "limits": limits}, catalog())
    search, checked = Search(read, catalog()), 0
    for candidate in candidates(read, catalog()):
        if candidate.devices.number > 1:
            continue
        bound = Bounds(catalog()).of(candidate, candidate.scenario)
        sized = search.sized(candidate)
        if isinstance(sized, Candidate) and sized.share and not sized.share.requests:
            least = sized.share.replicas
            sized = search.sized(sized)
            assert not isinstance(sized, Candidate) or least <= sized.replicas
        if isinstance(sized, Candidate) and sized.share:
            assert fewest(candidate, bound, read.need) <= sized.share.replicas
            report: Any = estimate(sized.scenario)
            assert bound.step_s <= report["speed"]["time_per_output_token_s"]["typical"]
            checked += 1
    assert checked > 5


def test_options_are_estimates() -> None:
    """The scenario of an option, asked again, gives the speed and the memory that the option shows; all is JSON."""
    answer: Any = plan({"want": "models", "have": PAIR, "context_tokens": 16384, "count": 5})
    assert json.loads(json.dumps(answer)) == answer
    assert len(answer["options"]) == 5
    for option in answer["options"]:
        report: Any = estimate(option["scenario"])
        assert report["speed"] == option["speed"]
        assert report["memory"]["fits"] is option["fits"] is True
        assert report["memory"]["headroom_bytes"] >= option["margin_bytes"] >= 0
        assert option["chance"] >= 0.5


def test_largest_model_of_a_mac() -> None:
    """On a Mac of 64 GB the largest model at 10 tokens/s is a mixture of experts: a dense one as large is too slow."""
    question = {"want": "models", "have": {"accelerator": "m4-max-64gb"}, "need": {"tokens_per_s_each": 10}}
    answer: Any = plan({**question, "context_tokens": 8192})
    first = answer["options"][0]
    model = estimate(first["scenario"])["model"]
    assert isinstance(model, dict)
    assert model["parameters_active"] * 4 < model["parameters_total"]
    assert first["speed"]["decode_tokens_per_s"]["typical"] >= 10
    assert answer["rejected"]["speed"]["count"] > 0
    assert "ms is more than" in answer["rejected"]["speed"]["nearest"]["lacks"]


def test_machine_for_five_people() -> None:
    """Five people with 128k each and a 70B: rents rise down the list, and a limit leaves out what is dearer."""
    question = {"want": "hardware", "model": "llama-3.3-70b", "context_tokens": 131072, "need": {"users": 5}}
    answer: Any = plan(question)
    rents = [option["cost"]["rent_per_month"] for option in answer["options"]]
    assert rents == sorted(rents)
    assert all(option["scenario"]["sequences"] * option["replicas"] >= 5 for option in answer["options"])
    limited: Any = plan({**question, "limits": {"price_per_month": rents[1]}})
    sure = [option for option in limited["options"] if option["chance"] >= SURE]  # those that may not fit come last
    assert [option["cost"]["rent_per_month"] for option in sure] == rents[:2]
    assert limited["rejected"]["rent"]["count"] > 0


def test_hours_make_the_month() -> None:
    """Eight hours a day cost a third of the rent of all hours."""
    question = {"want": "hardware", "model": "llama-3.1-8b", "count": 1}
    whole, part = (plan({**question, "need": {"hours_a_day": hours}}) for hours in (24, 8))
    first: Any = whole["options"]
    second: Any = part["options"]
    assert first[0]["cost"]["rent_per_month"] == pytest.approx(3 * second[0]["cost"]["rent_per_month"])


def test_frontier_is_not_beaten() -> None:
    """An option is on the frontier exactly where no other is at least as good in cost and speed and differs."""
    answer: Any = plan({"want": "hardware", "model": "llama-3.1-8b", "limits": {"devices": 2}})
    points = [
        (option["cost"]["rent_per_month"], -option["speed"]["decode_tokens_per_s"]["typical"])
        for option in answer["options"]
    ]
    beaten = [any(a <= c and b <= d and (a, b) != (c, d) for a, b in points) for c, d in points]
    assert answer["frontier"] == [index for index, is_beaten in enumerate(beaten) if not is_beaten]


@pytest.mark.parametrize(
    ("of", "name", "more"),
    [
        ("context_tokens", "context_tokens", {"output_tokens": 256}),
        ("sequences", "sequences", {"need": {"tpot_s": 0.05}}),
        ("users", "concurrency", {"need": {"tpot_s": 0.05, "ttft_s": 5}}),
    ],
)
def test_one_more_is_too_many(of: str, name: str, more: dict[str, object]) -> None:
    """The most that is found serves, and one more does not."""
    question = {"want": "limit", "of": of, "model": "llama-3.1-8b", "have": {"accelerator": "rtx-3090"}, **more}
    answer: Any = plan(question)
    (option,) = answer["options"]
    filled: Any = estimate(option["scenario"])["scenario"]
    (reason,) = answer["rejected"]
    beyond: Any = estimate(answer["rejected"][reason]["nearest"]["scenario"])
    assert beyond["scenario"][name] == filled[name] + 1
    speed = beyond["speed"]
    step, first = (speed[name]["typical"] for name in ("time_per_output_token_s", "time_to_first_token_s"))
    assert reason == "memory" or step > 0.05 or first > 5


def test_the_end_of_the_search_is_said_whatever_else_was_too_much() -> None:
    """Texts as long as the model is made for fit in fewer bits: that ends the search, not what did not fit.

    Of formats in which as much is served the one that surely fits is taken.
    """
    question = {"want": "limit", "of": "context_tokens", "have": CARD, "model": "llama-3.1-8b", "weights": "any"}
    answer: Any = plan(question | {"need": {"tokens_per_s_each": 20}})
    (option,) = answer["options"]
    assert option["scenario"]["prompt_tokens"] + option["scenario"]["output_tokens"] == 131072
    assert option["chance"] >= SURE and "memory" in answer["rejected"]
    assert [warning["code"] for warning in answer["warnings"]] == ["limit-not-met"]
    assert "131,072" in option["why"]
    shorter: Any = plan(question | {"weights": "q8_0"})
    assert shorter["warnings"] == [] and shorter["options"][0]["scenario"]["prompt_tokens"] < 130000


def test_longest_training_sequence() -> None:
    """The longest sequence of a QLoRA run fits, and one token more is more likely than not too long."""
    question = {"want": "limit", "of": "sequence_tokens", "workload": "training", "method": "qlora"}
    answer: Any = plan({**question, "model": "llama-3.1-8b", "have": {"accelerator": "rtx-4090"}})
    (option,) = answer["options"]
    report: Any = estimate(option["scenario"])
    assert report["memory"]["fits"] is True
    nearest = answer["rejected"]["memory"]["nearest"]["scenario"]
    assert nearest["sequence_tokens"] == option["scenario"]["sequence_tokens"] + 1
    shorter = option["surer"]["sequence_tokens"]
    assert option["chance"] < SURE and f"sequences of {shorter:,} tokens make it sure" in option["why"]
    found: Any = plan({"want": "models", "have": {"accelerator": "rtx-4090"}, **sure_run(option, shorter)})
    assert "fits with" in found["options"][0]["why"]
    longer: Any = plan({"want": "models", "have": {"accelerator": "rtx-4090"}, **sure_run(option, shorter + 1)})
    assert "tight" in longer["options"][0]["why"]


def sure_run(option: dict[str, Any], tokens: int) -> dict[str, object]:
    """Return an option's training run with other sequences, on whatever devices."""
    kept = {name: value for name, value in option["scenario"].items() if not name.startswith("accelerator")}
    return {**kept, "sequence_tokens": tokens, "micro_batch": 1, "offload": []}


def test_layouts_use_all_devices() -> None:
    """Each layout is of all the devices, no two are alike, and the fastest is first."""
    have = {"accelerator": "h100-sxm", "accelerators": 8}
    answer: Any = plan({"want": "layout", "model": "qwen3-30b-a3b", "have": have, "sequences": 32, "count": 50})
    layouts = [option["scenario"]["parallelism"] for option in answer["options"]]
    assert all(layout["tensor"] * layout["pipeline"] * layout["data"] == 8 for layout in layouts)
    assert len({json.dumps(layout) for layout in layouts}) == len(layouts) > 3
    rates = [option["speed"]["decode_tokens_per_s"]["typical"] for option in answer["options"]]
    assert rates == sorted(rates, reverse=True)
    assert any(layout["expert"] > 1 for layout in layouts)


def test_nothing_serves() -> None:
    """Where nothing serves the answer says so, with the nearest miss and what it lacks."""
    answer: Any = plan({"want": "models", "model": "deepseek-v3", "have": {"accelerator": "rtx-3090"}})
    assert answer["options"] == [] and answer["frontier"] == []
    assert "GiB" in answer["rejected"]["memory"]["nearest"]["lacks"]
    assert [warning["code"] for warning in answer["warnings"]] == ["no-option"]


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ({}, "want"),
        ({"want": "model"}, "want"),
        ({"want": "models", "have": PAIR, "contxt_tokens": 1}, "contxt_tokens"),
        ({"want": "models", "have": {**PAIR, "hots": 1}}, "have.hots"),
        ({"want": "models", "have": {"accelerator": "rtx-9999"}}, "have.accelerator"),
        ({"want": "models", "have": {**PAIR, "accelerators": 0}}, "have.accelerators"),
        ({"want": "models"}, "have.accelerator"),
        ({"want": "models", "have": PAIR, "models": "no-such-model"}, "models"),
        ({"want": "models", "have": PAIR, "models": {"parameters": 7}}, "models.parameters"),
        ({"want": "models", "have": PAIR, "models": {"parameters": [9e9, 7e9]}}, "models.parameters"),
        ({"want": "models", "have": PAIR, "context_tokens": "lots"}, "context_tokens"),
        ({"want": "models", "have": PAIR, "need": {"percentil": 95}}, "need.percentil"),
        ({"want": "models", "have": PAIR, "need": {"percentile": 95, "users": 3}}, "need.percentile"),
        ({"want": "models", "have": PAIR, "need": {"percentile": 30, "requests_per_s": 3}}, "need.percentile"),
        ({"want": "models", "have": PAIR, "need": {"spare": 1}}, "need.spare"),
        ({"want": "models", "have": PAIR, "need": {"peak_over_mean": 0.5, "users": 3}}, "need.peak_over_mean"),
        ({"want": "models", "have": PAIR, "need": {"requests_each_hour": 6}}, "need.users"),
        ({"want": "models", "have": PAIR, "need": {"users": 3, "requests_per_s": 6}}, "need.requests_per_s"),
        ({"want": "models", "have": PAIR, "need": {"requests_per_s": 6}, "concurrency": 4}, "need.requests_per_s"),
        ({"want": "models", "have": PAIR, "concurrency": "many"}, "concurrency"),
        ({"want": "models", "have": PAIR, "parallelism": {"tensr": 2}}, "parallelism.tensr"),
        ({"want": "models", "have": PAIR | {"host": "epyc"}}, "have.host"),
        ({"want": "models", "have": PAIR, "speculation": {"method": "guess"}}, "speculation.method"),
        (
            {
                "want": "limit",
                "of": "context_tokens",
                "model": "gpt2",
                "have": PAIR,
                "need": {"requests_per_s": 6},
            },
            "need.requests_per_s",
        ),
        ({"want": "models", "have": PAIR, "need": {"tpot_s": -1}}, "need.tpot_s"),
        ({"want": "hardware", "model": "llama-3.1-8b", "have": PAIR}, "have"),
        ({"want": "hardware"}, "model"),
        ({"want": "hardware", "model": "no-such-model"}, "model"),
        ({"want": "hardware", "workload": "training", "models": ["gpt2", "llama-3.1-8b"]}, "models"),
        ({"want": "layout", "have": PAIR, "models": ["gpt2", "llama-3.1-8b"]}, "models"),
        ({"want": "models", "have": PAIR, "model": "no-such-model"}, "model"),
        ({"want": "models", "have": PAIR, "models": []}, "models"),
        ({"want": "models", "have": PAIR, "weights": []}, "weights"),
        ({"want": "models", "have": PAIR, "engine": []}, "engine"),
        ({"want": "models", "have": PAIR, "workload": "trianing"}, "workload"),
        ({"want": "models", "have": {"host": {"processor": "ryzen-9-9950x"}}}, "have.host.memory"),
        ({"want": "models", "have": {"host": {"memory": "64 GiB", "speed": 2}}}, "have.host.speed"),
        ({"want": "models", "have": {**HOST, "accelerators": 2}}, "have.accelerators"),
        ({"want": "models", "have": HOST, "engine": "vllm"}, "engine"),
        ({"want": "models", "have": HOST, "gpu_layers": 30}, "have.accelerator"),
        ({"want": "models", "have": HOST, "workload": "training"}, "have.accelerator"),
        ({"want": "layout", "have": HOST, "model": "llama-3.1-8b"}, "have.accelerator"),
        ({"want": "models", "have": HOST, "need": {"requests_per_s": 1}}, "need.requests_per_s"),
        ({"want": "models", "have": PAIR, "gpu_layers": 0}, "gpu_layers"),
        ({"want": "hardware", "model": "llama-3.1-8b", "limits": {"vendors": "Nvidea"}}, "limits.vendors"),
        ({"want": "hardware", "model": "llama-3.1-8b", "limits": {"rent": False, "buy": False}}, "limits.buy"),
        ({"want": "hardware", "model": "llama-3.1-8b", "limits": {"rent": "no"}}, "limits.rent"),
        ({"want": "models", "have": PAIR, "limits": {"devices": 1}}, "limits.devices"),
        ({"want": "models", "have": PAIR, "limits": {"vendors": ["AMD", "Apple"]}}, "limits.vendors"),
        ({"want": "models", "have": {"accelerator": UNLIKE}, "limits": {"devices": 1}}, "limits.devices"),
        ({"want": "models", "have": PAIR, "limits": {"accelerators": "rtx-4090"}}, "limits.accelerators"),
        ({"want": "layout", "model": "gpt2", "have": {"accelerator": UNLIKE}}, "have.accelerator"),
        ({"want": "models", "engine": "vllm", "have": {"accelerator": UNLIKE}}, "engine"),
        ({"want": "models", "have": {"accelerator": [{"id": "rtx-9999"}]}}, "have.accelerator.0.id"),
        ({"want": "models", "have": {"accelerator": 3090}}, "have.accelerator"),
        ({"want": "models", "have": PAIR, "account": {"pue": 0.5}}, "account.pue"),
        ({"want": "models", "have": PAIR, "account": {"grid": "Atlantis"}}, "account.grid"),
        ({"want": "models", "have": PAIR, "account": {"resale_share": 2}}, "account.resale_share"),
        ({"want": "models", "have": PAIR, "account": {"hosted_price": 2}}, "account.hosted_output_price"),
        ({"want": "models", "have": PAIR, "account": {"price": 2}}, "account.price"),
        ({"want": "limit", "model": "llama-3.1-8b", "have": PAIR}, "of"),
        ({"want": "limit", "of": "users", "model": "llama-3.1-8b", "have": PAIR}, "need.ttft_s"),
        ({"want": "limit", "of": "users", "model": "bge-m3", "have": PAIR, "need": {"ttft_s": 1}}, "of"),
        ({"want": "limit", "of": "training_tokens", "model": "llama-3.1-8b", "have": PAIR}, "workload"),
        ({"want": "models", "have": PAIR, "rank_by": "price"}, "rank_by"),
        ({"want": "models", "have": PAIR, "count": 0}, "count"),
        ({"want": "models", "have": PAIR, "kv_cache": "q9"}, "kv_cache"),
        ({"want": "models", "have": PAIR, "engine": "vllm", "memory_fraction": 2}, "memory_fraction"),
        ({"want": "models", "have": PAIR, "engine": "vlm"}, "engine"),
        ({"want": "models", "have": PAIR, "weights": "q9"}, "weights"),
        ({"want": "models", "have": PAIR, "text_only": "yes"}, "text_only"),
        ({"want": "models", "have": PAIR, "videos": 0}, "videos"),
        ({"want": "models", "have": PAIR, "engine": "vllm", "start": {"compiled": "no"}}, "start.compiled"),
        (
            {"want": "models", "have": PAIR, "weights": {"format": "q4_0", "importance_matrix": 1}},
            "weights.importance_matrix",
        ),
        ({"want": "layout", "model": "llama-3.1-8b", "have": PAIR, "parallelism": {"tensor": 2}}, "parallelism"),
        ({"want": "limit", "of": "sequences", "model": "llama-3.1-8b", "have": PAIR, "sequences": 2}, "sequences"),
        ({"want": "models", "have": PAIR, "need": {"users": 2}, "sequences": 2}, "need.users"),
        ({"want": "models", "have": {**PAIR, "host": {"processor": "no-such-one"}}}, "have.host.processor"),
        ({"want": "models", "have": PAIR, "model": "llama-3.1-8b", "experts_on_host": "all"}, "experts_on_host"),
    ],
)
def test_wrong_questions(question: dict[str, object], field: str) -> None:
    """A question that is wrong, or is not answered, names its field."""
    with pytest.raises(ScenarioError) as error:
        plan(question)
    assert error.value.field == field


@pytest.mark.parametrize(
    ("question", "lacks"),
    [
        ({"want": "models", "have": CARD, "experts_on_host": "all", "count": 50}, "experts_on_host"),
        ({"want": "models", "have": CARD, "gpu_layers": 30, "count": 50}, "gpu_layers"),
        ({"want": "models", "have": CARD, "speculation": {"method": "mtp", "tokens": 1}}, "speculation.method"),
        ({"want": "hardware", "model": "gpt-oss-20b", "memory_fraction": 0.5}, "memory_fraction"),
        ({"want": "hardware", "model": "gpt-oss-20b", "graphs": False}, "graphs"),
    ],
)
def test_a_field_that_some_cannot_have_leaves_out_these_alone(question: dict[str, object], lacks: str) -> None:
    """A field of mixtures of experts, of some engines or of large models refuses others, and not the whole question."""
    answer: Any = plan(question)
    assert len(answer["options"]) >= 10
    assert answer["rejected"]["field"]["nearest"]["lacks"].startswith(lacks)


def test_unlike_devices_work_together() -> None:
    """A 3090 and two 3060 hold a larger model than the 3090 alone, under llama.cpp, and less than three 3090."""
    sizes = []
    for have in (
        {"accelerator": "rtx-3090"},
        {"accelerator": UNLIKE},
        {"accelerator": [{"id": "rtx-3090", "count": 3}], "accelerators": 3},
    ):
        answer: Any = plan({"want": "limit", "of": "model", "have": have, "weights": "q4_k_m", "engine": "llama.cpp"})
        (option,) = answer["options"]
        report: Any = estimate(option["scenario"])
        assert report["speed"] == option["speed"] and option["scenario"]["engine"] == "llama.cpp"
        sizes.append(report["model"]["parameters_total"])
    assert sizes[0] < sizes[1] < sizes[2]
    answer = plan({"want": "models", "have": {"accelerator": UNLIKE}, "models": some_models(12)})
    power = sum(
        catalog().accelerator(str(one["id"])).quantity("power") * int(str(one.get("count", 1))) for one in UNLIKE
    )  # type: ignore[operator]
    assert answer["options"] and all(option["energy"]["power_w"] == power for option in answer["options"])


@pytest.mark.parametrize("rank", ["size", "speed", "margin"])
def test_a_processor_works_alone(rank: str) -> None:
    """On a computer without a GPU the planner's best are those that estimating every model in its memory finds."""
    question = {"want": "models", "have": HOST, "models": some_models(20), "context_tokens": 2048, "rank_by": rank}
    answer: Any = plan({**question, "count": 20})
    found = {option["scenario"]["model"]: option for option in answer["options"]}
    values = [ranked_alone(option, rank) for option in answer["options"] if option["chance"] >= SURE]
    assert values == sorted(values, reverse=True)
    room, checked = 62 * 2**30, 0  # less what the system keeps
    for model in some_models(20):
        report: Any = estimate({**HOST, "gpu_layers": 0, "engine": "llama.cpp", "model": model, "context_tokens": 2048})
        left = room - report["memory"]["device_bytes"]
        if model in found and found[model]["scenario"]["weights"] == "published":
            assert found[model]["margin_bytes"] == left and found[model]["speed"] == report["speed"]
            checked += 1
        if model not in found:
            (reason,) = one_reason(model)
            assert left < 0 if reason == "memory" else reason in ("runs", "context")
    assert checked > 3


def one_reason(model: str) -> list[str]:
    """Return what stands against a model in the format that it is published in, on a processor."""
    answer: Any = plan({"want": "models", "have": HOST, "model": model, "weights": "published", "context_tokens": 2048})
    return list(answer["rejected"])


def ranked_alone(option: dict[str, Any], rank: str) -> float:
    """Return what ranks an option of a processor."""
    if rank == "margin":
        return float(option["margin_bytes"])
    if rank == "speed":
        return float(option["speed"]["decode_tokens_per_s"]["typical"])
    return float(parameters(known_architecture(catalog(), str(option["scenario"]["model"]))))


def test_the_memory_of_the_host_is_kept() -> None:
    """Experts that do not fit beside the processor stand against a way as what does not fit on a device does."""
    question = {"want": "models", "model": "gpt-oss-120b", "experts_on_host": "all"}
    for memory, serves in (("128 GiB", True), ("16 GiB", False)):
        answer: Any = plan({**question, "have": {"accelerator": "rtx-4090", "host": {"memory": memory}}})
        assert bool(answer["options"]) is serves
    assert answer["rejected"]["memory"]["nearest"]["lacks"].endswith("of the host's memory")


def test_the_longest_context_on_unlike_devices() -> None:
    """The most of a quantity is found on devices that are not alike too, and one more is too much."""
    question = {"want": "limit", "of": "context_tokens", "model": "llama-3.3-70b", "weights": "q4_k_m"}
    answer: Any = plan({**question, "have": {"accelerator": [*UNLIKE, {"id": "rtx-3060-12gb"}]}})
    (option,) = answer["options"]
    found = option["scenario"]["prompt_tokens"]
    assert answer["rejected"]["memory"]["nearest"]["scenario"]["prompt_tokens"] == found + 1


def test_tight_options_say_what_makes_them_sure() -> None:
    """A tight option names a shorter context, with which its chance of fitting is 95 % or close to it."""
    checked = 0
    asked = [("rtx-3090", "qwen1.5-7b", "q8_0"), ("l4-24gb", "qwen3-8b", "published")]
    for (accelerator, model, weights), context in product(asked, range(12288, 36864, 512)):
        have = {"accelerator": accelerator}
        question = {"want": "models", "have": have, "context_tokens": context, "model": model, "weights": weights}
        answer: Any = plan(question)
        for option in answer["options"]:
            assert (option["surer"] is None) or option["chance"] < 0.95
            if option["surer"] is None:
                continue
            scenario = {**option["scenario"], **option["surer"]}
            search = Search(read_question(question, catalog()), catalog())
            candidate = Candidate("", search_devices(accelerator), (scenario,), 0)
            found = search.judge(candidate, estimate(scenario))
            assert isinstance(found, Option) and found.chance >= 0.93, (scenario, found)
            assert f"{option['surer']['context_tokens']:,} tokens" in option["why"]
            checked += 1
    assert checked > 5


@pytest.mark.parametrize(
    ("of", "device", "more"),
    [
        ("context_tokens", "rtx-4090", {"model": "llama-3.1-8b", "weights": "q8_0"}),
        ("sequences", "rtx-4090", {"model": "llama-3.1-8b", "weights": "q4_k_m", "context_tokens": 8192}),
        ("users", "rtx-pro-6000-blackwell", {"model": "gpt-oss-120b", "context_tokens": 2500, "need": {"ttft_s": 3}}),
    ],
)
def test_the_most_says_how_much_of_it_is_sure(of: str, device: str, more: dict[str, Any]) -> None:
    """What the most leaves open is how much of the very same surely fits: that fits by its report, one more may not."""
    asked = {"want": "limit", "of": of, "have": {"accelerator": device}, **more}
    answer: Any = plan(asked)
    (option,) = answer["options"]
    ((field, most),) = option["surer"].items()
    assert option["chance"] < SURE and f"{most:,}" in option["why"].partition("tight")[2]
    search = Search(read_question(asked, catalog()), catalog())
    scenario = {name: value for name, value in option["scenario"].items() if name not in ("prompt_tokens", field)}
    chances = []
    for value in (most, most + 1):
        candidate = Candidate("", search_devices(device), ({**scenario, field: value},), 0)
        found = search.judge(candidate, estimate(candidate.scenario))
        assert isinstance(found, Option)
        chances.append(found.chance)
    assert chances[0] >= SURE > chances[1]


def test_second_hand_prices_are_said() -> None:
    """What no shop has is bought second hand: a warning names each such device of the options, and no other."""
    cards = {"model": "llama-3.1-8b", "limits": {"buy": True, "accelerators": ["p40-24gb", "rtx-5090"]}}
    answer: Any = plan({"want": "hardware", **cards})
    kinds = {option["scenario"]["accelerator"]: option["cost"]["prices"] for option in answer["options"]}
    assert {name for name, prices in kinds.items() if prices["purchase"]["kind"] == "used"} == {"p40-24gb"}
    (said,) = (warning["message"] for warning in answer["warnings"] if warning["code"] == "second-hand")
    assert "Tesla P40:" in said and "5090" not in said
    own: Any = plan({"want": "hardware", **cards, "account": {"purchase_price": 100}})
    assert all(warning["code"] != "second-hand" for warning in own["warnings"])


def test_what_may_not_fit_comes_last() -> None:
    """Options that surely fit come first, in fewer bits if need be; what is tight and left out is counted."""
    question = {"want": "models", "have": PAIR, "context_tokens": 4096, "models": {"parameters": [60e9, 90e9]}}
    answer: Any = plan({**question, "count": 40})
    chances = [option["chance"] >= 0.95 for option in answer["options"]]
    assert chances == sorted(chances, reverse=True) and True in chances and False in chances
    short: Any = plan({**question, "count": sum(chances)})
    assert [option["chance"] >= 0.95 for option in short["options"]] == [True] * sum(chances)
    nearest = short["rejected"]["tight"]["nearest"]
    said = re.search(r"with a chance of (\d+) %: texts of ([\d,]+) tokens make it sure$", nearest["lacks"])
    assert said is not None, nearest
    tight_ones = [option["chance"] for option in answer["options"] if option["chance"] < 0.95]
    assert int(said[1]) == int(100 * max(tight_ones))
    shorter: Any = estimate(nearest["scenario"] | {"context_tokens": int(said[2].replace(",", ""))})
    assert shorter["memory"]["chance"] > 0.93


def test_misses_are_of_what_is_not_offered() -> None:
    """Of a model that is offered in fewer bits nobody asks why not in more; where all are offered, that is said."""
    question = {"want": "models", "have": PAIR, "context_tokens": 16384, "models": {"parameters": [60e9, 90e9]}}
    answer: Any = plan(question | {"count": 1})
    (offered,) = (option["scenario"]["model"] for option in answer["options"])
    assert all(entry["nearest"]["scenario"]["model"] != offered for entry in answer["rejected"].values())
    alone: Any = plan({"want": "models", "have": PAIR, "context_tokens": 16384, "model": offered})
    assert alone["options"] and alone["rejected"]["memory"]["nearest"]["scenario"]["model"] == offered


def test_of_models_alike_the_newest_comes_first() -> None:
    """Llama 3.3 70B has the size of Llama 3.1 70B, and is newer: it is offered before it."""
    question = {"want": "models", "have": {"accelerator": "h200-sxm-141gb"}, "models": {"parameters": [70e9, 71e9]}}
    answer: Any = plan(question)
    facts, sizes = catalog(), dict[int, list[str]]()
    for option in answer["options"]:
        size = estimate(option["scenario"])["model"]["parameters_total"]  # type: ignore[index]
        sizes.setdefault(size, []).append(facts.model(option["scenario"]["model"]).released)
    assert max(len(released) for released in sizes.values()) >= 3
    assert all(released == sorted(released, reverse=True) for released in sizes.values())


def test_limits_under_an_engine_that_is_known_to_run_come_first() -> None:
    """MLX has a back end for CUDA, and nobody says on which devices: what it would reach is no first answer."""
    question = {"want": "limit", "of": "sequences", "model": "llama-3.1-8b", "context_tokens": 8192}
    have = {"have": {"accelerator": "rtx-4090"}}
    both: Any = plan({**question, **have, "engine": ["mlx", "vllm"], "count": 2})
    alone: Any = plan({**question, **have, "engine": "vllm"})
    assert both["options"][0]["scenario"] == alone["options"][0]["scenario"]


def search_devices(accelerator: str) -> Devices:
    """Return one device."""
    return Devices(catalog().accelerator(accelerator), 1, None, None)


def test_repositories_keep_their_format() -> None:
    """A repository that stores a model in another format is planned in that one."""
    have = {"accelerator": "h200-sxm-141gb", "accelerators": 8}
    question = {"want": "models", "model": "zai-org/GLM-5-FP8", "weights": "published", "have": have}
    answer: Any = plan(question)
    (option,) = answer["options"]
    assert option["scenario"]["model"] == "zai-org/GLM-5-FP8"


def test_a_variant_is_planned_as_itself() -> None:
    """A finetune for longer texts has its length in a plan, and not its model's."""
    question = {"want": "models", "model": "01-ai/Yi-9B-200K", "have": {"accelerator": "h200-sxm-141gb"}}
    answer: Any = plan({**question, "context_tokens": 100_000})
    (option,) = answer["options"]
    assert option["scenario"]["model"] == "01-ai/Yi-9B-200K"
    assert "context-beyond-trained" not in {warning["code"] for warning in estimate(option["scenario"])["warnings"]}


def test_import_is_lazy() -> None:
    """Who imports `calc` does not load the planner."""
    code = "import sys, calc; assert not any(name.startswith('calc.planner') for name in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_nobody_says_comes_last() -> None:
    """vLLM is for DGX Spark, and another project's for Macs: these stand behind it, whatever they cost."""
    limits = {"devices": 1, "segments": ["soc"], "vendors": ["NVIDIA", "Apple"]}
    question = {"want": "hardware", "model": "llama-3.1-8b", "engine": "vllm", "context_tokens": 4096}
    found: Any = plan({**question, "limits": limits, "rank_by": "cost", "count": 12})["options"]
    runs = [estimate(option["scenario"])["runs"] for option in found]
    assert runs == sorted(runs, key=lambda known: known is None)
    assert True in runs and None in runs


@pytest.mark.parametrize("trains", [False, True], ids=["serves", "trains"])
def test_what_has_no_rent_is_counted(trains: bool) -> None:
    """Devices of which nobody says what they cost come last; where that leaves them out, the answer says how many."""
    asked = {"workload": "training", "method": "qlora"} if trains else {"context_tokens": 4096}
    question = {"want": "hardware", "model": "llama-3.1-8b", "limits": {"devices": 1}, **asked}
    few: Any = plan(question)
    assert all(option["cost"]["rent_per_hour"] for option in few["options"])
    assert few["rejected"]["rent"]["nearest"]["lacks"] == "no rent of it is known"
    every: Any = plan({**question, "count": 300})
    unpriced = [option for option in every["options"] if option["cost"]["rent_per_hour"] is None]
    assert "rent" not in every["rejected"] and 0 < len(unpriced) <= few["rejected"]["rent"]["count"]
    bought: Any = plan({**question, "limits": {"devices": 1, "buy": True}})
    assert bought["rejected"]["price"]["nearest"]["lacks"] == "no price of it is known"


def test_what_is_not_rented_is_bought() -> None:
    """And the other way round: `false` of one limit asks for the other."""
    question = {"want": "hardware", "model": "llama-3.1-8b", "limits": {"devices": 1}}
    said: Any = [plan({**question, "limits": {"devices": 1, **one}}) for one in ({"buy": True}, {"rent": False})]
    assert said[0]["options"] == said[1]["options"] and said[0]["options"][0]["cost"]["purchase"]
    said = [plan({**question, "limits": {"devices": 1, **one}}) for one in ({"rent": True}, {"buy": False})]
    assert said[0]["options"] == said[1]["options"] and said[0]["options"][0]["cost"]["rent_per_month"]


@pytest.mark.parametrize("rank", ["speed", "latency", "energy"])
def test_whole_reports_are_of_options_alone(rank: str) -> None:
    """What ranks by speed is timed without its report: only what is shown, or tight, is reported."""
    question = {"want": "hardware", "model": "llama-3.1-8b", "rank_by": rank, "need": {"tokens_per_s_each": 30}}
    answer: Any = plan(question)
    tight = answer["rejected"].get("tight", {"count": 0})["count"]
    assert answer["searched"]["estimated"] == len(answer["options"]) + tight and len(answer["options"]) == 10


def test_devices_that_one_can_have() -> None:
    """No device is offered that only a price of its first day, or of a market place, speaks of."""
    found: Any = plan({"want": "hardware", "model": "llama-3.1-8b", "count": 200, "limits": {"devices": 1}})
    devices = [catalog().accelerator(option["scenario"]["accelerator"]) for option in found["options"]]
    assert len(devices) > 60
    for device in devices:
        known = catalog().prices("accelerators", device.id)
        asked = [price for price in known if price.kind != "launch" and price.market != "marketplace"]
        assert device.availability == "sold" or asked or (device.availability == "rented" and not known), device.id
        assert device.availability != "modified"


def test_longer_texts_are_refused_in_every_format() -> None:
    """What a model is not made for is counted once for each way, and the nearest is the one that misses least."""
    models = ["gpt2", "llama-2-7b"]
    question = {"want": "models", "models": models, "have": PAIR, "context_tokens": 8192, "rank_by": "speed"}
    found: Any = plan(question)
    assert found["options"] == []
    assert found["rejected"]["context"]["count"] == found["searched"]["candidates"] > len(models)
    assert found["rejected"]["context"]["nearest"]["scenario"]["model"] == "llama-2-7b"


def test_servers_hold_powers_of_two() -> None:
    """Of devices for servers as many are tried as are rented, of people's own any number that holds layers."""
    read = read_question({"want": "hardware", "model": "llama-3.1-8b"}, catalog())
    tried = [(one.devices.accelerator.segment, one.devices.number) for one in candidates(read, catalog())]
    assert {number for segment, number in tried if segment == "data-center"} == {1, 2, 4, 8}
    assert {number for segment, number in tried if segment == "consumer"} == {1, 2, 3, 4, 6, 8}


def test_where_offers_start_is_the_rent_of_one() -> None:
    """Of a card that is rented at the start of a market place's offers alone, one has a rent and two have none."""
    limits = {"accelerators": ["p40-24gb"]}
    for weights, number in (("q4_k_m", 1), ("q8_0", 2)):
        question = {"want": "hardware", "model": "qwen3-32b", "weights": weights, "limits": limits, "rank_by": "cost"}
        answer: Any = plan(question)
        (option,) = answer["options"]
        assert option["scenario"]["accelerators"] == number
        assert (option["cost"]["rent_per_month"] is None) == (number > 1)
    own: Any = plan({**question, "price_per_hour": 0.1})
    assert own["options"][0]["cost"]["rent_per_month"] == pytest.approx(2 * 0.1 * 730)


def test_boards_are_bought_whole() -> None:
    """Of an Instinct MI250, which is two devices on a board, and of an A16, which is four, none is tried in part."""
    read = read_question({"want": "hardware", "model": "llama-3.1-8b"}, catalog())
    tried = {(one.devices.accelerator.id, one.devices.number) for one in candidates(read, catalog())}
    assert {number for name, number in tried if name == "mi250"} == {2, 4, 8}
    assert {number for name, number in tried if name == "a16-16gb"} <= {4, 8}


def test_older_devices_for_servers_run_what_people_run_on_them() -> None:
    """On a Tesla P40, on which vLLM does not run, files of llama.cpp are tried, and their speed is known."""
    answer: Any = plan({"want": "models", "have": {"accelerator": "Tesla P40"}, "context_tokens": 8192})
    first = answer["options"][0]
    assert first["scenario"]["engine"] == "llama.cpp" and first["speed"]["decode_tokens_per_s"]["typical"] > 1


def test_candidates_that_are_ranked_alike_are_taken_in_turn() -> None:
    """A candidate's further formats may be worth what its first is: nothing else of the two is compared."""
    question = {"want": "hardware", "model": "llama-3.1-8b", "weights": "any", "need": {"users": 1000}}
    answer: Any = plan({**question, "prompt_tokens": 2000, "output_tokens": 500})
    assert answer["options"] and all(option["replicas"] >= 1 for option in answer["options"])


def test_what_lacks_little_is_said_so() -> None:
    """No miss says that it lacks nothing, or that a number is more than the same number."""
    assert short(10**6, 10**9).lacks == "it lacks less than 0.01 GiB on the fullest device"
    assert short(2**30, 2**33).lacks == "it lacks 1.00 GiB on the fullest device"
    assert too_heavy(2**33 + 5, 2**33).lacks == "the weights alone need a little more than 8.00 GiB"
    assert slow(0.0500004, 0.05) == "50.0004 ms is more than 50.0000 ms"
    assert slow(0.06, 0.05) == "60.0 ms is more than 50.0 ms"
    assert tight(0.9499).lacks == "it fits with a chance of 94 %"


def test_what_people_mean_by_models() -> None:
    """Speech, translations, vectors and tests are tasks of their own; of GPT-3 nobody has the weights."""
    found = {kind: set(chosen_models({"kind": kind}, catalog())) for kind in ("text", "task", "encoder")}
    assert {"llama-3.1-8b", "gemma-3-270m", "qwen3-vl-8b"} <= found["text"]
    assert {"whisper-large-v3", "nllb-200-3.3b", "qwen3-embedding-8b", "tiny-mixtral", "dots.ocr"} <= found["task"]
    assert {"bge-m3", "bert-base"} <= found["encoder"] and not found["text"] & (found["task"] | found["encoder"])
    assert "gpt-3-175b" not in found["text"] | found["task"] | found["encoder"]
    fastest: Any = plan({"want": "models", "have": {"accelerator": "rtx-3090"}, "rank_by": "speed", "count": 3})
    assert {option["scenario"]["model"] for option in fastest["options"]} <= found["text"]


def test_a_device_that_nothing_serves_is_known_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of eight TPU v5e one model is read, by which a wrong field is refused; of all it is said that no engine runs."""
    read: list[object] = []

    def counted(reader: Any, asked: Any) -> Any:
        read.append(reader)
        return read_placement(reader, asked)

    monkeypatch.setattr("calc.planner.bound.read_placement", counted)
    own = {"want": "models", "have": {"accelerator": "tpu-v5e", "accelerators": 8}}
    answer: Any = plan(own)
    assert answer["options"] == [] and answer["rejected"]["engine"]["count"] > 1000
    assert len(read) == 1
    with pytest.raises(ScenarioError, match="kv_cache"):
        plan({**own, "kv_cache": "fp9"})
    named: Any = plan({**own, "engine": "vllm"})
    assert len(read) > 2 and named["rejected"]
