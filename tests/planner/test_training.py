"""Plans of training: the fastest way that fits, of each method, and what a run costs."""

import json
from itertools import product
from random import Random
from typing import Any

import pytest

from calc import ScenarioError, estimate, plan
from calc.catalog import catalog
from calc.memory.training.phases import stays_bytes
from calc.memory.training.plan import FULL
from calc.planner.candidate import Candidate
from calc.planner.offered import CLUSTERS, COUNTS, MACHINE
from calc.planner.options import Miss, tokens_a_second
from calc.planner.question import read_question
from calc.planner.ranking import parameters
from calc.planner.training import MICRO_BATCHES, TrainingSearch
from calc.planner.training_sizing import CLOSE, chance_on
from calc.planner.training_ways import (
    CHECKPOINTING,
    WAITING,
    offloaded,
    stopped,
    training_candidates,
    trains,
    waiting_on,
    ways,
)
from calc.planning.chance import LIKELY, STRETCH, SURE, chance_of_fitting, room_of
from calc.scenario.model import known_architecture
from calc.training.reading import read_training
from calc.units import DAY_S, show_gib

TRAINING: dict[str, Any] = {"workload": "training", "training_tokens": 10_000_000}
CARDS: dict[str, Any] = {
    **TRAINING,
    "want": "hardware",
    "model": "llama-3.1-8b",
    "method": "lora",
    "limits": {"vendors": ["NVIDIA"], "segments": ["workstation"], "devices": 2},
    "count": 3,
}
HAVE = {"accelerator": "h100-sxm-80gb", "accelerators": 4}
ROOM = 10**15  # bytes, in which anything fits
EIGHT = {**HAVE, "accelerators": 8}  # in which there is room for what may be needed where nothing is said


def test_options_are_estimates() -> None:
    """An option's scenario, asked again, gives its speed; all is JSON, and each fits."""
    answer: Any = plan({**CARDS, "count": 2})
    assert json.loads(json.dumps(answer)) == answer
    for option in answer["options"]:
        report: Any = estimate(option["scenario"])
        assert report["speed"] == option["speed"] and report["memory"]["fits"]
        assert report["cost"]["rent"]["per_run"] == option["cost"]["rent_per_run"]
        assert report["memory"]["headroom_bytes"] == option["margin_bytes"]


def timed(search: TrainingSearch, candidate: Candidate) -> Candidate | Miss:
    """Return the fastest way of a candidate that surely fits, else that is likely to."""
    found = search.fastest(candidate)
    return search.fastest(found) if isinstance(found, Candidate) and found.rate is None else found


@pytest.mark.slow
@pytest.mark.parametrize("rank", ["cost", "speed", "energy", "devices", "margin", "size"])
def test_no_better_device_is_cut(rank: str) -> None:
    """Of all workstation cards the best are those that sizing and timing every number of each of them finds.

    What is only likely to fit comes after what surely does.
    """
    question = read_question({**CARDS, "rank_by": rank}, catalog())
    search = TrainingSearch(question, catalog())
    every: dict[str, tuple[bool, tuple[bool, float]]] = {}

    def place(option: Any) -> tuple[bool, tuple[bool, float]]:
        return search.is_last(option), search.value(option)

    for candidate in training_candidates(question, catalog(), "lora"):
        found = search.beyond_limits(candidate) or timed(search, candidate)
        if isinstance(found, Candidate):
            assert found.rate is not None and found.rate <= (search.most_per_s(candidate) or 0)
            option: Any = search.reported(found)
            every[candidate.group] = min(place(option), every.get(candidate.group, place(option)))
    best = search.best(training_candidates(question, catalog(), "lora"))
    assert [place(option) for option in best] == sorted(every.values())[:3]


@pytest.mark.parametrize("method", ["full", "lora"])
def test_the_fastest_way_is_taken(method: str) -> None:
    """Of all ways to shard and to recompute that surely fit, each estimated, none is faster than the one taken."""
    asked = {**TRAINING, "want": "models", "have": EIGHT, "model": "llama-3.1-8b", "method": method, "micro_batch": 1}
    question = read_question(asked, catalog())
    search = TrainingSearch(question, catalog())
    (candidate,) = training_candidates(question, catalog(), method)
    found = search.fastest(candidate)
    assert isinstance(found, Candidate)
    rates = []
    for way in ways(question, method, 8):
        report: Any = estimate({**candidate.scenario, **way})
        memory = report["memory"]
        spare, upper = memory["headroom_bytes"], memory["device_bytes_range"][1] - memory["device_bytes"]
        room = memory["capacity_bytes"]
        if memory["fits"] and chance_of_fitting(room_bytes=room, spare_bytes=spare, upper_bytes=upper) >= SURE:
            rates.append(8 * report["speed"]["tokens_per_s_per_device"]["typical"])
    assert found.rate == pytest.approx(max(rates))


def test_larger_batches_where_they_help() -> None:
    """A micro-batch that nobody gave is doubled only while that is faster and fits."""
    asked = {**TRAINING, "want": "models", "have": EIGHT, "model": "llama-3.2-1b", "method": "full", "framework": "trl"}
    answer: Any = plan({**asked, "count": 1})
    (option,) = answer["options"]
    batch = option["scenario"].get("micro_batch", 1)
    rate = option["speed"]["tokens_per_s_per_device"]["typical"]
    smaller: Any = estimate({**option["scenario"], "micro_batch": max(batch // 2, 1)})
    assert batch > 1 and rate > smaller["speed"]["tokens_per_s_per_device"]["typical"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "accelerator", "method"),
    [("gpt-oss-20b", "gb300-288gb", "full"), ("llama-3.1-8b", "gh200-96gb", "full"), ("qwen3-32b", "mi350x", "lora")],
)
def test_no_way_with_a_larger_batch_is_faster(model: str, accelerator: str, method: str) -> None:
    """What recomputes more has room for larger micro-batches, and may be faster: of all that surely fit none is."""
    have = {"accelerator": accelerator, "accelerators": 8}
    asked = {**TRAINING, "want": "models", "have": have, "model": model, "method": method, "sequence_tokens": 1024}
    (option,) = plan(asked)["options"]  # type: ignore[misc]
    taken: Any = option
    scenario = {name: taken["scenario"][name] for name in taken["scenario"] if name not in ("micro_batch", "sharding")}
    rates = []
    for way in ways(read_question(asked, catalog()), method, 8):
        for size in (1, *MICRO_BATCHES):
            report: Any = estimate({**scenario, **way, "micro_batch": size}, repairs=False)
            spare, upper = room_of(report["memory"])
            room = report["memory"]["capacity_bytes"]
            if spare < 0 or chance_of_fitting(room_bytes=room, spare_bytes=spare, upper_bytes=upper) < SURE:
                break
            rates.append(report["speed"]["tokens_per_s_per_device"]["typical"])
    assert taken["speed"]["tokens_per_s_per_device"]["typical"] == pytest.approx(max(rates))


@pytest.mark.slow
def test_no_way_is_slower_with_a_larger_batch() -> None:
    """That bounds what other ways can reach; and as much stays on a device whatever is recomputed."""
    search = TrainingSearch(read_question({**CARDS, "count": 1}, catalog()), catalog())
    chosen = Random(5)
    for _ in range(40):
        device = catalog().accelerator(chosen.choice(("rtx-4090", "h100-sxm-80gb", "mi300x-192gb", "m3-max-64gb")))
        scenario: dict[str, object] = {
            "workload": "training",
            "accelerator": device.id,
            "model": chosen.choice(("llama-3.1-8b", "gpt-oss-20b", "gpt2", "qwen3-30b-a3b")),
            "method": chosen.choice(("lora", "qlora")),
            "accelerators": (count := chosen.choice((1, 8))),
            "sharding": chosen.choice(("none", "zero-3")) if count > 1 else "none",
            "sequence_tokens": chosen.choice((128, 1024)),
        }
        for checkpoints in CHECKPOINTING:
            way = {**scenario, "checkpointing": checkpoints}
            rates = [search.rate({**way, "micro_batch": size}, device) or 0.0 for size in (1, *MICRO_BATCHES)]
            assert rates == sorted(rates)
        plans = [search.read({**scenario, "checkpointing": checkpoints}) for checkpoints in CHECKPOINTING]
        assert len({stays_bytes(one, one.stages[0]) for one in plans}) == 1


def test_a_device_of_unknown_speed_is_planned() -> None:
    """Of an M4 Max no rate is known: what fits is shown, and what has to end in time is refused for that."""
    question = {**TRAINING, "want": "models", "have": {"accelerator": "m4-max-64gb"}, "model": "llama-3.1-8b"}
    answer: Any = plan({**question, "method": "qlora"})
    (option,) = answer["options"]
    assert option["speed"] is None and estimate(option["scenario"])["memory"]["fits"]  # type: ignore[index]
    late: Any = plan({**question, "method": "qlora", "need": {"days": 9}})
    assert late["options"] == [] and late["rejected"]["speed"]["nearest"]["lacks"] == "its speed is not known"


@pytest.mark.parametrize(("device", "base"), [("tpu-v5e", "NF4"), ("p40-24gb", "INT8")])
def test_a_format_is_known_by_any_of_its_names(device: str, base: str) -> None:
    """What does not train from weights in a format does not where the format is written otherwise."""
    question = {**TRAINING, "want": "models", "have": {"accelerator": device}, "model": "gpt2", "method": "qlora"}
    answer: Any = plan({**question, "base_weights": base})
    assert answer["options"] == [] and list(answer["rejected"]) == ["runs"]


def test_the_largest_model_by_method() -> None:
    """One card trains a model 2.4 times as large with QLoRA as with LoRA, with LoRA 1.6 times as large as in full.

    The next larger ones do not surely fit by their whole reports, all recomputed, whatever waits on the host.
    """
    answer: Any = plan({**TRAINING, "want": "limit", "of": "model", "have": {"accelerator": "rtx-4090"}})
    found = [option["scenario"] for option in answer["options"]]
    assert [scenario["method"] for scenario in found] == ["qlora", "lora", "full"]
    known = {name: known_architecture(catalog(), name) for name in catalog().ids("models")}
    sizes = {name: parameters(model) for name, model in known.items() if model.writes}
    largest = [sizes[scenario["model"]] for scenario in found]
    assert largest[0] > 2.3 * largest[1] and largest[1] > 1.4 * largest[2]
    for scenario, size in zip(found, largest, strict=True):
        for name in sorted((name for name in sizes if sizes[name] > size), key=lambda name: sizes[name])[:4]:
            for away in ([], ["optimizer"]):
                more = {**scenario, "model": name, "checkpointing": "full", "offload": away}
                memory: Any = estimate(more)["memory"]
                spare, upper = room_of(memory)
                room = memory["capacity_bytes"]
                assert chance_of_fitting(room_bytes=room, spare_bytes=spare, upper_bytes=upper) < SURE, more


def test_layouts_of_a_run() -> None:
    """Every way to divide a run is of all devices, and the fastest that surely fits is first."""
    asked = {**TRAINING, "want": "layout", "have": HAVE, "model": "llama-3.1-8b", "method": "full", "micro_batch": 1}
    answer: Any = plan({**asked, "count": 100})
    rates = [
        (option["chance"] < 0.95, -option["speed"]["tokens_per_s_per_device"]["typical"])
        for option in answer["options"]
    ]
    assert rates == sorted(rates) and len(rates) > 10
    for option in answer["options"]:
        layout = option["scenario"]["parallelism"]
        assert layout["tensor"] * layout["pipeline"] * layout["data"] == 4
    assert {option["scenario"]["sharding"] for option in answer["options"]} == {"none", "zero-1", "zero-2", "zero-3"}


def test_time_and_money_bound_a_run() -> None:
    """Devices that take too long, or cost too much, are left out; the others keep both."""
    answer: Any = plan({**CARDS, "need": {"days": 0.05}, "limits": {**CARDS["limits"], "price_per_run": 3}})
    assert answer["options"]
    for option in answer["options"]:
        assert option["speed"]["duration_s"]["typical"] <= 0.05 * 86400
        assert option["cost"]["rent_per_run"]["typical"] <= 3
    assert answer["rejected"]["speed"]["count"] + answer["rejected"].get("rent", {"count": 0})["count"] > 0


@pytest.mark.parametrize("rank", ["devices", "cost"])
def test_the_fewest_machines_end_in_time(rank: str) -> None:
    """One machine fewer than is shown takes longer than a run may: numbers between those of the ladder are tried."""
    question = {
        "want": "hardware",
        "workload": "training",
        "model": "llama-3.1-8b",
        "method": "full",
        "training_tokens": 10**12,
        "need": {"days": 20},
        "limits": {"devices": 1024, "accelerators": ["h100-sxm-80gb", "h200-sxm-141gb"]},
        "rank_by": rank,
    }
    answer: Any = plan(question)
    assert len(answer["options"]) == 2
    counts = [option["scenario"]["accelerators"] for option in answer["options"]]
    assert set(counts) - {*COUNTS, *CLUSTERS}  # none of them would say nothing of what is between
    for option in answer["options"]:
        scenario = option["scenario"]
        days = [
            run_days({**scenario, "accelerators": count})
            for count in (scenario["accelerators"] - MACHINE, scenario["accelerators"])
        ]
        assert days[0] > 20 >= days[1]


def run_days(scenario: dict[str, object]) -> float:
    """Return the days of a training run."""
    report: Any = estimate(scenario, repairs=False)
    return float(report["speed"]["duration_s"]["typical"]) / DAY_S


def test_the_most_tokens() -> None:
    """What given devices train on in two days takes two days, and for half of that rent half of it."""
    asked = {"want": "limit", "of": "training_tokens", "workload": "training", "model": "llama-3.1-8b", "have": HAVE}
    by_days: Any = plan({**asked, "method": "lora", "need": {"days": 2}})
    (option,) = by_days["options"]
    assert option["speed"]["duration_s"]["typical"] == pytest.approx(2 * 86400, rel=1e-6)
    half = option["cost"]["rent_per_run"]["typical"] / 2
    by_money: Any = plan({**asked, "method": "lora", "limits": {"price_per_run": half}})
    tokens = by_money["options"][0]["scenario"]["training_tokens"]
    assert tokens == pytest.approx(option["scenario"]["training_tokens"] / 2, rel=1e-6)


def test_devices_that_train() -> None:
    """Cards that PyTorch runs on are tried, and no part of a phone or an inference chip."""
    assert all(trains(catalog().accelerator(name), catalog()) for name in ("h100-sxm-80gb", "rtx-3090", "mi300x"))
    assert not trains(catalog().accelerator("m4-max-64gb"), catalog())


def test_too_large_is_said() -> None:
    """What no way makes fit is refused with what it lacks."""
    answer: Any = plan({**TRAINING, "want": "models", "model": "llama-3.1-405b", "have": {"accelerator": "rtx-3090"}})
    assert answer["options"] == [] and "GiB" in answer["rejected"]["memory"]["nearest"]["lacks"]
    question = read_question({**CARDS, "model": "llama-3.1-405b"}, catalog())
    candidate = next(iter(training_candidates(question, catalog(), "lora")))
    assert isinstance(TrainingSearch(question, catalog()).fastest(candidate), Miss)


def test_what_may_not_fit_comes_last() -> None:
    """Of all options to fine-tune a 32B those that surely fit stand before those that may not."""
    answer: Any = plan({**TRAINING, "want": "hardware", "model": "qwen3-32b", "count": 20})
    sure = [option["chance"] >= 0.95 for option in answer["options"]]
    assert sure == sorted(sure, reverse=True) and any(sure)
    assert answer["searched"]["estimated"] <= len(answer["options"]) + 2  # no report of what is not shown


def test_a_large_model_on_two_small_cards() -> None:
    """A 70B is fine-tuned by QLoRA on two cards of 24 GB, as is published: its parameters wait in the host's memory."""
    have = {"accelerator": "rtx-3090", "accelerators": 2}
    tuned = {**TRAINING, "sequence_tokens": 512, "method": "qlora"}
    (option,) = plan({**tuned, "want": "models", "have": have, "model": "llama-2-70b"})["options"]  # type: ignore[misc]
    scenario: Any = option["scenario"]
    assert "parameters" in scenario["offload"] and scenario["sharding"] == "zero-3"
    assert estimate(scenario)["memory"]["host_bytes"] > 30e9  # type: ignore[index]


def test_a_rate_is_of_all_devices() -> None:
    """The tokens a second of an option are those of one device times their number."""
    question = read_question({**TRAINING, "want": "models", "model": "gpt2", "have": HAVE, "method": "full"}, catalog())
    search = TrainingSearch(question, catalog())
    (option,) = search.best(training_candidates(question, catalog(), "full"))
    each = option.report["speed"]["tokens_per_s_per_device"]["typical"]
    assert tokens_a_second(option) == pytest.approx(4 * each) == pytest.approx(option.candidate.rate)


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ({"weights": "awq"}, "weights"),
        ({"engine": "vllm"}, "engine"),
        ({"need": {"users": 3}}, "need"),
        ({"need": {"days": 3}, "training_tokens": None}, "training_tokens"),
        ({"limits": {"price_per_run": 3}, "training_tokens": None}, "training_tokens"),
        ({"rank_by": "latency"}, "rank_by"),
        ({"method": "dora"}, "method"),
        ({"training_tokens": "lots"}, "training_tokens"),
        ({"workload": "inference", "need": {"days": 3}}, "training_tokens"),
        ({"workload": None, "training_tokens": None, "method": None, "need": {"days": 3}}, "need.days"),
        ({"want": "limit", "of": "users", "have": HAVE}, "of"),
        ({"want": "limit", "of": "training_tokens", "have": HAVE}, "need.days"),
        ({"sequence_tokens": 0}, "sequence_tokens"),
        ({"sharding": "zero-9"}, "sharding"),
        ({"offload": "everything"}, "offload"),
    ],
)
def test_wrong_questions(question: dict[str, object], field: str) -> None:
    """What only serving has, what has no end, and what is no number is refused by its name."""
    with pytest.raises(ScenarioError) as error:
        plan({**CARDS, **question})
    assert error.value.field == field


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ({"optimizer": "adamm"}, "optimizer"),
        ({"compile": 3}, "compile"),
        ({"offload": ["everything"]}, "offload"),
        ({"base_weights": "nf5"}, "base_weights"),
        ({"lora": {"ranks": 8}}, "lora.ranks"),
        ({"micro_batch": 0}, "micro_batch"),
        ({"price_per_hour": "cheap"}, "price_per_hour"),
        ({"network_gbit_per_s": "fast"}, "network_gbit_per_s"),
        ({"want": "models", "have": HAVE | {"host": "epyc"}, "limits": {}}, "have.host"),
    ],
)
def test_wrong_words_are_refused_at_once(
    question: dict[str, object], field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no scenario may have is refused as the first one is read, before others are looked at."""
    read: list[object] = []

    def counted(*asked: Any) -> Any:
        read.append(asked)
        return read_training(*asked)

    monkeypatch.setattr("calc.planner.training_sizing.read_training", counted)
    with pytest.raises(ScenarioError) as error:
        plan({**CARDS, **question})
    assert error.value.field == field and len(read) <= 1


def test_the_longest_sequence_is_of_the_way_that_leaves_most_room() -> None:
    """A 70B trains by QLoRA on four cards of 24 GB, on none of which it fits whole: what can be divided is."""
    question = {"want": "limit", "of": "sequence_tokens", "workload": "training", "method": "qlora"}
    have = {"accelerator": "rtx-3090", "accelerators": 4}
    answer: Any = plan({**question, "model": "llama-2-70b", "have": have})
    (option,) = answer["options"]
    assert option["scenario"]["sharding"] == "zero-3" and option["scenario"]["checkpointing"] == "full"
    assert option["scenario"]["sequence_tokens"] >= 256


def test_the_longest_sequence_by_method() -> None:
    """Of each method by itself the longest is among those of all, longest first; full training had been all of it."""
    question = {"want": "limit", "of": "sequence_tokens", "workload": "training", "model": "llama-3.2-3b"}
    question |= {"have": {"accelerator": "a100-sxm-40gb"}, "framework": "trl"}
    scenarios = [option["scenario"] for option in options_of(question)]
    apart = [options_of({**question, "method": method})[0]["scenario"] for method in ("full", "lora", "qlora")]
    assert scenarios == sorted(apart, key=lambda scenario: -scenario["sequence_tokens"])
    assert [scenario.get("offload") for scenario in apart] == [["optimizer"], None, None]  # what else has no room


def options_of(question: dict[str, object]) -> list[Any]:
    """Return the options of the answer to a question."""
    answer: Any = plan(question)
    listed: list[Any] = answer["options"]
    return listed


def test_hosts_hold_what_waits_there() -> None:
    """Of eight H100, whose machines have 2 TiB at most, no plan leaves more in the hosts, and each says how much."""
    share = max(
        (machine.quantity("host_memory") or 0) / machine.devices
        for machine in catalog().machines()
        if machine.accelerator == EIGHT["accelerator"]
    )
    question = {**TRAINING, "want": "models", "have": EIGHT, "method": "full", "count": 3}
    options = options_of({**question, "models": {"parameters": [9e10, 1e12]}})
    held = [estimate(option["scenario"])["memory"]["host_bytes"] for option in options]  # type: ignore[index]
    assert share == 2**41 / 8 and held and max(held) > 2**40
    for option, size in zip(options, held, strict=True):
        assert size <= 8 * share and f"with {show_gib(size)} in the host's memory" in option["why"]
    offloaded = {"sharding": "zero-3", "checkpointing": "full", "offload": ["optimizer", "parameters"]}
    lacking: Any = plan({**question, "model": "qwen3-235b-a22b", **offloaded})
    assert lacking["rejected"]["memory"]["nearest"]["lacks"].endswith("of the hosts' memory")


@pytest.mark.parametrize(("device", "count", "host_gib"), [("rtx-4080-super", 8, 256), ("m3-ultra-512gb", 1, 0)])
def test_nothing_waits_in_memory_that_is_not_there(device: str, count: int, host_gib: int) -> None:
    """Beside people's own cards stands a desktop's memory at most, and a memory that a GPU shares is no second one."""
    have = {"accelerator": device, "accelerators": count}
    question = {**TRAINING, "want": "models", "have": have, "method": "full", "count": 3}
    options = options_of({**question, "models": {"parameters": [1.2e10, 1e12]}})
    held = [estimate(option["scenario"])["memory"]["host_bytes"] for option in options]  # type: ignore[index]
    assert 0.9 * host_gib * 2**30 <= max(held) <= host_gib * 2**30


def test_what_a_device_computes_in_decides_what_fits() -> None:
    """A V100 trains in FP16, with FP32 copies: a way that surely fits in BF16 was taken, and is tight there."""
    have = {"accelerator": "v100-sxm-16gb", "accelerators": 4}
    question = {**TRAINING, "want": "models", "have": have, "model": "qwen3-4b", "method": "full"}
    (option,) = options_of({**question, "framework": "unsloth", "sequence_tokens": 512})
    assert option["chance"] >= SURE


def test_what_nothing_bounds_is_timed() -> None:
    """Of an encoder with a decoder no bound is known: it is the fastest of two on a card, and was left out."""
    question = {**TRAINING, "want": "models", "have": HAVE, "method": "qlora", "rank_by": "speed", "count": 1}
    (option,) = options_of({**question, "models": ["smollm2-1.7b", "blip-image-captioning-base"]})
    assert option["scenario"]["model"] == "blip-image-captioning-base"


def drawn_run(seed: int) -> dict[str, Any]:
    """Return a question about training on a few devices, everything in it drawn at random."""
    draw = Random(seed)
    kinds = [record.id for record in catalog().accelerators() if record.sixteen_bit]
    return {
        **TRAINING,
        "want": "hardware",
        "model": draw.choice(["llama-3.1-8b", "qwen3-4b", "gemma-3-12b", "llama-3.2-1b"]),
        "method": draw.choice(["full", "lora", "qlora"]),
        "sequence_tokens": draw.choice([512, 2048, 8192]),
        "limits": {"accelerators": draw.sample(kinds, 3), "devices": draw.choice([1, 2, 4])},
        "rank_by": draw.choice(["cost", "speed", "energy", "devices", "margin"]),
        "count": 2,
        **draw.choice([{}, {"framework": draw.choice(["trl", "unsloth", "deepspeed"])}]),
    }


def drawn_among(seed: int) -> dict[str, Any]:
    """Return such a question under any framework, most of them about several models on given devices."""
    draw, asked = Random(seed), drawn_run(seed)
    frameworks = ["trl", "unsloth", "deepspeed", "torchtitan", "torchtune", "litgpt", "fsdp-qlora", "megatron-lm"]
    asked["framework"] = draw.choice(frameworks)
    if draw.random() < 0.6:
        limits = asked.pop("limits")
        del asked["model"]
        asked["have"] = {"accelerator": limits["accelerators"][0], "accelerators": limits["devices"]}
        models = ["llama-3.1-8b", "qwen3-4b", "llama-3.2-1b", "qwen3-30b-a3b", "phi-4", "mamba-2.8b", "t5-11b"]
        asked |= {"want": "models", "models": draw.sample(models, 3)}
    if draw.random() < 0.3:
        asked["precision"] = draw.choice(["bf16", "bf16-mixed", "fp32"])
    return asked | ({"offload": ["optimizer"]} if draw.random() < 0.2 else {})


def fastest_of_all(search: TrainingSearch, candidate: Candidate) -> tuple[bool, float, int] | None:
    """Return whether the fastest way is tight, its tokens a second and what it leaves: each way and batch estimated.

    What is left to the host comes in after what is not, only what surely fits has larger batches, and what may not fit
    recomputes all that the question leaves open.
    """
    question, count, tight = search.question, candidate.devices.number, None
    every = [{**candidate.scenario, **way} for way in ways(question, str(question.fields["method"]), count)]
    for parts in waiting_on(candidate.devices.accelerator, question):
        found = []
        for scenario, size in product(offloaded(every, parts), (1, *MICRO_BATCHES)):
            made = {**scenario, **({"micro_batch": size} if size > 1 else {})}
            try:
                report: Any = estimate(made, repairs=False)
            except ScenarioError:
                continue
            sure = report["memory"]["chance"] >= SURE
            leanest = size == 1 and ("checkpointing" in question.fields or made["checkpointing"] == FULL)
            fits = sure or (leanest and report["memory"]["chance"] >= LIKELY)
            if not fits or search.short_of(made, candidate.devices.accelerator, LIKELY):
                continue
            rate = report["speed"]["tokens_per_s_per_device"]["typical"] if report["speed"] else 0.0
            found.append((not sure, -count * rate, -report["memory"]["headroom_bytes"]))
        if found and not min(found)[0]:
            return min(found)
        tight = tight or min(found, default=None)
    return tight


def values_of_all(asked: dict[str, Any]) -> tuple[list[tuple[bool, float]], list[tuple[bool, float]]]:
    """Return whether the planner's options come last and what ranks them, and the same of all that can be tried."""
    question = read_question(asked, catalog())
    search, best, method = TrainingSearch(question, catalog()), dict[str, Any](), str(question.fields["method"])
    for candidate in training_candidates(question, catalog(), method):
        if stopped(candidate, catalog()) or not (found := fastest_of_all(search, candidate)):
            continue
        place = found[0], search.placed(candidate, -found[1], found[2])
        best[candidate.group] = min(place, best.get(candidate.group, place))
    tried = search.best(training_candidates(question, catalog(), method))
    shown = [(search.is_last(option), search.value(option)[1]) for option in tried]
    return shown, [(last, value[1]) for last, value in sorted(best.values())[:2]]


@pytest.mark.parametrize("seed", [4, 8, 9, 11, 12, 15, 17])
def test_no_better_run_is_cut_of_questions_at_random(seed: int) -> None:
    """Whatever is asked, the planner's best are those that estimating every way with every micro-batch finds."""
    found, expected = values_of_all(asked := drawn_run(seed))
    assert [last for last, _ in found] == [last for last, _ in expected], asked
    assert [value for _, value in found] == pytest.approx([value for _, value in expected]), asked


@pytest.mark.parametrize("seed", range(8))
def test_no_better_run_is_cut_under_any_framework(seed: int) -> None:
    """The same of lists of models on given devices, under frameworks that have not every sharding."""
    found, expected = values_of_all(asked := drawn_among(seed))
    assert [last for last, _ in found] == [last for last, _ in expected], asked
    assert [value for _, value in found] == pytest.approx([value for _, value in expected]), asked


@pytest.mark.parametrize("framework", ["torchtitan", "torchtune", "litgpt"])
def test_sharding_that_a_framework_has_not_is_not_taken(framework: str) -> None:
    """None divides states alone: of eight H100 all are taken, whose fastest way had been one that does not run."""
    asked = {**TRAINING, "want": "hardware", "model": "llama-3.1-8b", "method": "full", "framework": framework}
    limits = {"accelerators": ["h100-sxm-80gb"], "devices": 8}
    (option,) = options_of({**asked, "limits": limits, "rank_by": "speed", "count": 1})
    assert option["scenario"]["accelerators"] == 8 and option["scenario"]["sharding"] in ("zero-2", "zero-3")


def test_sharding_that_is_open_keeps_no_layout_from_being_tried() -> None:
    """Accelerate refuses tensor ranks in replicas that share nothing: with shards two by four devices are planned."""
    asked = {**TRAINING, "want": "hardware", "model": "llama-3.1-8b", "method": "full", "framework": "trl"}
    limits = {"accelerators": ["h100-sxm-80gb"], "devices": 8}
    (option,) = options_of({**asked, "parallelism": {"tensor": 2, "data": 4}, "limits": limits, "count": 1})
    assert option["scenario"]["sharding"] != "none"


def test_a_way_of_other_shards_may_be_faster_in_large_batches() -> None:
    """A 1B on four A10G: shards of the states are faster one sequence at a time, and none is with many of them."""
    asked = {**TRAINING, "want": "models", "model": "llama-3.2-1b", "method": "full", "sequence_tokens": 768}
    asked |= {"have": {"accelerator": "a10g-24gb", "accelerators": 4}, "framework": "unsloth", "precision": "bf16"}
    question = read_question({**asked, "rank_by": "speed", "count": 1}, catalog())
    search = TrainingSearch(question, catalog())
    (candidate,) = training_candidates(question, catalog(), "full")
    found = fastest_of_all(search, candidate)
    (option,) = search.best([candidate])
    assert found and search.value(option)[1] == pytest.approx(found[1])
    assert option.candidate.scenario["sharding"] == "none"


def test_what_stays_is_what_is_lacking() -> None:
    """A 70B has 140 GB of weights in 16 bit, which stay on a card of 24 GB: it does not lack those 24 GB."""
    question = {**TRAINING, "want": "limit", "of": "sequence_tokens", "model": "llama-2-70b", "method": "full"}
    answer: Any = plan({**question, "training_tokens": None, "have": {"accelerator": "rtx-3090"}})
    held, room = answer["rejected"]["memory"]["nearest"]["sizes_bytes"]
    assert held > 2 * 68.9e9 and room < 26e9


def test_a_rank_that_some_models_cannot_have_leaves_out_these_alone() -> None:
    """Adapters of rank 64 are no smaller than a matrix of one model, and full training has none: others are planned."""
    question = {**TRAINING, "want": "models", "have": {"accelerator": "rtx-4090"}, "lora": {"rank": 64}, "count": 2}
    answer: Any = plan(question)
    assert [option["scenario"]["method"] for option in answer["options"]].count("qlora") == 2
    assert {option["scenario"]["method"] for option in answer["options"]} == {"lora", "qlora"}


@pytest.mark.parametrize("method", ["full", "lora", "qlora"])
def test_what_recomputes_most_needs_least(method: str) -> None:
    """No way needs less than what recomputes most and leaves most in the host's memory, if that finds its blocks."""
    chosen = Random(method)
    models = ["jamba-v0.1", "qwen3-30b-a3b", "t5-11b", *chosen.sample(catalog().ids("models"), 12)]
    search = TrainingSearch(read_question({**CARDS, "count": 1}, catalog()), catalog())
    checked = 0
    for model in models:
        sharding, ranks = chosen.choice((("none", 1), ("zero-3", 8), ("zero-3", 2)))
        scenario = {"workload": "training", "model": model, "method": method, **EIGHT, "accelerators": ranks}
        tokens, framework = chosen.choice((128, 512, 2048, 8192)), chosen.choice(("trl", "torchtune", "unsloth"))
        scenario |= {"sharding": sharding, "sequence_tokens": tokens, "framework": framework}
        every = [{**scenario, "checkpointing": checkpointing} for checkpointing in CHECKPOINTING]
        found = [one for parts in WAITING for one in offloaded(every, parts)]
        try:
            for one in found:
                search.needed(one, ROOM)
        except ScenarioError:
            continue
        leanest = TrainingSearch(read_question({**CARDS, "framework": framework}, catalog()), catalog()).leanest(found)
        least = min((search.needs[search.key(one)].least for one in leanest), key=lambda total: total.typical)
        for needed in (search.needs[search.key(one)].device for one in found):
            surely = int(needed.typical * (needed.high / needed.typical) ** STRETCH)
            assert least.typical <= CLOSE * needed.typical
            assert chance_on(least, int(CLOSE * surely)) >= 0.999 * chance_on(needed, surely)
            checked += 1
    assert checked > 50


def test_as_many_devices_as_end_a_run_in_its_days() -> None:
    """A trillion tokens in a month had no answer: no more than eight devices were tried unasked."""
    asked = {**TRAINING, "want": "hardware", "model": "llama-3.1-8b", "method": "full", "sequence_tokens": 4096}
    limits = {"accelerators": ["h100-sxm-80gb"]}
    answer: Any = plan({**asked, "training_tokens": 10**12, "limits": limits, "need": {"days": 30}})
    (option,) = answer["options"]
    assert option["scenario"]["accelerators"] > 8
    rate = option["speed"]["tokens_per_s_per_device"]["typical"] * option["scenario"]["accelerators"]
    assert 10**12 / rate <= 30 * DAY_S
    plain: Any = plan({**asked, "limits": limits})
    assert all(one["scenario"]["accelerators"] <= 8 for one in plain["options"])


@pytest.mark.parametrize(("framework", "warned"), [("trl", True), ("unsloth", False)])
def test_experts_that_stay_in_16_bit_are_said_of_the_answer(framework: str, warned: bool) -> None:
    """Of QLoRA of a mixture, once, where the framework leaves its experts as they are."""
    asked = {"model": "qwen3-30b-a3b", "method": "qlora", "framework": framework, "have": EIGHT, "want": "models"}
    answer: Any = plan({**TRAINING, **asked})
    codes = [warning["code"] for warning in answer["warnings"]]
    assert answer["options"] and codes.count("experts-not-quantized") == warned


@pytest.mark.parametrize(
    ("framework", "degrees"),
    [("trl", {"tensor"}), ("axolotl", {"tensor"}), ("unsloth", set()), ("megatron-lm", {"tensor", "pipeline"})],
)
def test_layouts_are_those_that_a_framework_has(framework: str, degrees: set[str]) -> None:
    """Transformers and what is built on it have no pipeline, and Unsloth divides no layers' work.

    Where layers are merely spread over devices it may run, by no plan and in no time that is said.
    """
    have = {"accelerator": "h100-sxm-80gb", "accelerators": 4}
    asked = {**TRAINING, "want": "layout", "model": "llama-3.1-8b", "method": "lora", "sequence_tokens": 1024}
    answer: Any = plan({**asked, "framework": framework, "have": have, "count": 50})
    found = [option["scenario"]["parallelism"] for option in answer["options"]]
    assert {name for layout in found for name in ("tensor", "pipeline") if layout[name] > 1} == degrees
    assert ("runs" in answer["rejected"]) == (degrees != {"tensor", "pipeline"})
    replicated = [
        layout
        for layout, option in zip(found, answer["options"], strict=True)
        if layout["tensor"] > 1 < layout["data"] and option["scenario"]["sharding"] == "none"
    ]
    assert bool(replicated) == (framework == "megatron-lm")  # Accelerate refuses them
    told: Any = estimate({**asked_of(framework), "parallelism": {"pipeline": 2}})
    assert (told["speed"] is None) == ("pipeline" not in degrees)
    assert told["runs"] is None and any("one works at a time" in one["message"] for one in told["runs_because"]) == (
        "pipeline" not in degrees
    )


def asked_of(framework: str) -> dict[str, object]:
    """Return a run under a framework, on as many devices as its layout has."""
    model = {"model": "llama-3.1-8b", "method": "lora", "accelerator": "h100-sxm-80gb"}
    return {"workload": "training", "framework": framework, **model}
