"""Every change that is offered was computed: made, it fits by as much as it says, and runs."""

import time
from math import inf
from types import MethodType, SimpleNamespace
from typing import Any

import pytest

from calc import estimate
from calc.calculators import CALCULATORS
from calc.catalog import catalog
from calc.memory.budget import Layout
from calc.memory.engines import run
from calc.planning import fewest_devices, placed_repairs, serving
from calc.planning.chance import SURE
from calc.planning.changes import Repair, Trial, Wanted
from calc.planning.placed_repairs import of_devices, of_layout, of_other_devices, on_device
from calc.planning.repairs import of_context, offered
from calc.question import read_question

COSTS = ("nothing", "a little quality", "quality", "speed", "shorter or fewer texts at once", "hardware")
CASES = [
    {"model": "llama-3.3-70b", "engine": "usual", "accelerator": "rtx-3090", "accelerators": 2},
    {"model": "llama-3.3-70b", "engine": "vllm", "accelerator": "h100-sxm-80gb", "sequences": 64},
    {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "rtx-4090", "sequences": 8, "context_tokens": "32k"},
    {"model": "llama-3.1-8b", "engine": "llama.cpp", "weights": "awq", "accelerator": "rtx-4090"},
    {"model": "deepseek-v3", "engine": "vllm", "accelerator": "h100-sxm-80gb", "accelerators": 8},
    {"model": "llama-3.3-70b", "engine": "llama.cpp", "weights": "q6_k", "accelerator": "m4-max-64gb"},
    {"model": "llama-3.3-70b", "accelerator": "rtx-4090"},
    {"model": "qwen3-14b", "engine": "sglang", "accelerator": "rtx-3090", "context_tokens": 65536},
    {"model": "gemma-3-27b", "engine": "mlx", "accelerator": "m4-pro-48gb"},
    {"model": "llama-3.1-405b", "engine": "transformers", "accelerator": "rtx-3060-12gb"},
    {
        "model": "gemma-3-27b",
        "engine": "vllm",
        "weights": "awq",
        "accelerator": "rtx-4090",
        "sequence_slots": 1024,
        "batched_tokens": 16384,
    },
    {
        "model": "Qwen/Qwen3-235B-A22B-FP8",
        "engine": "sglang",
        "accelerator": "h200-sxm-141gb",
        "accelerators": 8,
        "parallelism": {"tensor": 8},
    },
    {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "h100-sxm-80gb", "kv_cache": "q8_0"},
    {"model": "llama-3.1-8b", "engine": "llama.cpp", "accelerator": "rtx-4090", "kv_cache": "fp8"},
    {"model": "llama-3.1-8b", "engine": "usual", "accelerator": "m4-max-64gb", "kv_cache": "fp8"},
    *(
        {"model": "llama-3.1-8b", "accelerator": "rtx-4090", "weights": "bf16", "engine": engine, **lengths}
        for engine in ("transformers", "vllm")
        for lengths in (
            {"prompt_tokens": 60_000, "output_tokens": 61_000},
            {"prompt_tokens": 100_000, "output_tokens": 20_000},
            {"prompt_tokens": 60_000, "output_tokens": 256, "cached_tokens": 60_000},
        )
    ),
    {"model": "llama-3.2-1b", "engine": "tensorrt-llm", "accelerator": "v100-sxm-32gb", "parallelism": {"pipeline": 2}},
    {"model": "qwen-14b", "engine": "vllm", "accelerator": "rtx-4090", "memory_limit": "8 GiB", "display": True},
    {"model": "qwen3-235b-a22b", "engine": "llama.cpp", "accelerator": "m4-max-128gb", "weights": "q3_k_m"},
    {"model": "step-3.7-flash", "engine": "usual", "accelerator": "mi300x", "sequences": 2000, "context_tokens": 16},
    {
        "model": "llama-3.1-8b",
        "engine": "vllm",
        "accelerator": "rtx-4090",
        "context_tokens": 65536,
        "correction": {"memory": 1.5},
    },
    {
        "model": "qwen3-14b",
        "engine": "llama.cpp",
        "weights": "bf16",
        "accelerator": "rtx-4090",
        "speculation": {"method": "ngram"},
    },
    {"model": "qwen2.5-vl-7b", "engine": "vllm", "accelerator": "rtx-4090", "context_tokens": 32768},
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['model']} {case.get('engine')}")
def test_what_is_offered_fits(case: dict[str, Any]) -> None:
    """Made alone, a change leaves the room that it says, under an engine that runs it; it is sure where it says so."""
    report: Any = estimate(case)
    assert report["memory"]["fits"] is False or report["runs"] is False
    for repair in report["repairs"]:
        changed = {name: value for name, value in {**case, **repair["change"]}.items() if value is not None}
        after: Any = estimate(changed)
        assert after["memory"]["fits"] is True and after["runs"] is not False, repair
        assert after["memory"]["headroom_bytes"] == repair["headroom_bytes"] >= 0, repair
        assert (after["memory"]["chance"] >= SURE) is repair["sure"], repair
        assert set(repair["cost"].split(" and ")) <= set(COSTS) and (after["repairs"] == [] or not repair["sure"])
        said = {**repair["change"], "gpu_layers": None}  # the message says how many layers do not stay
        assert all(f"{value:,}" in repair["message"] for value in said.values() if isinstance(value, int) and value > 1)


@pytest.mark.parametrize(
    ("case", "fields"),
    [
        ({"model": "opt-350m", "engine": "transformers", "concurrency": 256}, {"concurrency"}),
        ({"model": "opt-350m", "engine": "transformers", "arrivals": {"requests_per_s": 1}}, set()),
        (
            {"model": "qwen3-14b", "weights": "bf16", "engine": "llama.cpp", "arrivals": {"requests_per_s": 1}},
            {"weights"},
        ),
    ],
)
def test_changes_go_with_requests(case: dict[str, Any], fields: set[str]) -> None:
    """Fewer at once are fewer requests, and what arrives on its own is left as it is."""
    scenario = {**case, "prompt_tokens": 2000, "output_tokens": 128, "accelerator": "rtx-3080-12gb"}
    report: Any = estimate(scenario)
    assert {name for repair in report["repairs"] for name in repair["change"]} >= fields
    for repair in report["repairs"]:
        changed = {name: value for name, value in {**scenario, **repair["change"]}.items() if value is not None}
        after: Any = estimate(changed)
        assert after["memory"]["fits"] is True and after["runs"] is not False, repair


def test_the_two_card_case() -> None:
    """A 70B on two cards of 24 GB is answered at once: Q4_K_M surely fits, and hardware comes last.

    The calculator asks for longer texts, with which Q3_K_M does.
    """
    report: Any = estimate(CASES[0])
    first, *_, last = report["repairs"]
    assert first["change"] == {"weights": "q4_k_m"} and first["headroom_bytes"] == pytest.approx(2.6 * 2**30, rel=0.1)
    assert last["cost"] == "hardware" and "perplexity of Llama 3 8B +0.1754" in first["message"]
    html = CALCULATORS["will-it-fit"].render(
        CALCULATORS["will-it-fit"].report({"model": "llama-3.3-70b", "accelerator": "rtx-3090", "accelerators": "2"})
    )
    assert "Take the weights in Q3_K_M" in html and "least harm first" in html


@pytest.mark.parametrize(
    ("case", "most", "words"),
    [
        ({"engine": "vllm", "sequences": 3, "context_tokens": "32k"}, 1, "Serve one sequence at once"),
        ({"engine": "llama.cpp", "weights": "bf16", "sequences": 64}, 7, "Serve 7 sequences at once"),
    ],
)
def test_fewer_sequences_are_said_in_words(case: dict[str, Any], most: int, words: str) -> None:
    """As many as surely fit beside 16 GB of weights on a card of 24 GiB: of 4 GiB each one, of 1 GiB each seven."""
    report: Any = estimate({"model": "llama-3.1-8b", "accelerator": "rtx-4090", "context_tokens": 8192, **case})
    said = {repair["change"].get("sequences"): repair["message"] for repair in report["repairs"]}
    assert said[most] == words


def test_a_model_that_sees_needs_no_room_for_videos() -> None:
    """vLLM holds memory for the longest video that fits the context, unless it is told that none will come."""
    report: Any = estimate({**CASES[-1], "model": "qwen2.5-vl-3b", "accelerator": "tesla-t4"})
    changes = [repair["change"] for repair in report["repairs"]]
    assert {"videos": False} in changes and {"text_only": True, "videos": None} in changes


def test_another_engine_comes_first_where_one_does_not_run() -> None:
    """AWQ does not run in llama.cpp: vLLM runs it, and llama.cpp has formats of its own."""
    report: Any = estimate(CASES[3])
    assert [next(iter(repair["change"])) for repair in report["repairs"]][:2] == ["engine", "weights"]
    assert report["repairs"][0]["change"]["engine"] == "vllm"


@pytest.mark.parametrize(("version", "offered"), [(None, False), ("0.6.3", True)])
def test_an_engine_is_no_change_from_itself(version: str | None, offered: bool) -> None:
    """Four ranks cut blocks of 128 of experts under any vLLM; one that is too old for them is told of the newest."""
    case = {"model": "Qwen/Qwen3-30B-A3B-FP8", "accelerator": "h100-sxm-80gb", "engine": "vllm"}
    layout = {"parallelism": {"tensor": 2 if version else 4}}
    report: Any = estimate(case | layout | ({"engine_version": version} if version else {}))
    assert report["runs"] is False
    assert ("Run it under vLLM" in [repair["message"] for repair in report["repairs"]]) == offered


@pytest.mark.parametrize(
    ("engine", "accelerator", "cache", "offered"),
    [
        ("llama.cpp", "rtx-4090", "fp8", [("engine", "vllm"), ("kv_cache", "q8_0")]),
        ("vllm", "h100-sxm-80gb", "q8_0", [("engine", "llama.cpp"), ("kv_cache", "fp8")]),
        ("usual", "m4-max-64gb", "fp8", [("kv_cache", "q8_0")]),
    ],
)
def test_a_cache_that_the_engine_does_not_keep(
    engine: str, accelerator: str, cache: str, offered: list[tuple[str, str]]
) -> None:
    """Another engine keeps it, or this one keeps it in a format of its own; never the same engine again."""
    report: Any = estimate({"model": "llama-3.1-8b", "engine": engine, "accelerator": accelerator, "kv_cache": cache})
    assert report["runs"] is False
    assert [next(iter(repair["change"].items())) for repair in report["repairs"]][: len(offered)] == offered


def test_another_engine_is_asked_before_it_is_offered() -> None:
    """It loads the same format otherwise, and leaves as much as it says; what it would refuse is not offered."""
    layout = {"tensor": 8, "pipeline": 2}
    scenario: dict[str, object] = {"model": "mamba-2.8b", "weights": "mxfp4", "accelerator": "a100-pcie-40gb"}
    scenario |= {"engine": "sglang", "kv_cache_v": "q4_0", "parallelism": layout}
    report: Any = estimate(scenario)
    (offered,) = (repair for repair in report["repairs"] if "engine" in repair["change"])
    after: Any = estimate({**scenario, **offered["change"]})
    assert offered["headroom_bytes"] == after["memory"]["headroom_bytes"]
    scenario = {"model": "mpt-350m", "engine": "vllm", "weights": {"format": "awq", "group_size": 64}}
    scenario |= {"accelerator": "rtx-5090", "accelerators": 8}
    free: Any = estimate(scenario)
    shared: Any = estimate({**scenario, "shared_prefix_tokens": 1})
    assert [any("engine" in repair["change"] for repair in found["repairs"]) for found in (free, shared)] == [
        True,
        False,
    ]


def test_harm_grows_down_the_list() -> None:
    """What is to be bought stands last; before it and of it, what surely fits stands before what is tight."""
    for case in CASES:
        report: Any = estimate(case)
        places = [(repair["cost"] == "hardware", not repair["sure"]) for repair in report["repairs"]]
        assert places == sorted(places)
        counts = [repair["change"].get("accelerators", 1) for repair in report["repairs"]]
        assert all(count in (1, 2, 4, 8, 16) or case["engine"] in ("usual", "transformers") for count in counts)


def test_what_is_tight_is_made_sure() -> None:
    """A 70B in four bits on two RTX 3090 is tight with 16k tokens: shorter texts make it sure."""
    scenario = {"model": "llama-3.3-70b", "weights": "q4_k_m", "accelerator": "rtx-3090", "accelerators": 2}
    scenario |= {"engine": "llama.cpp", "context_tokens": 16384}
    report: Any = estimate(scenario)
    assert report["memory"]["fits"] and report["memory"]["chance"] < SURE
    changes = [repair["change"] for repair in report["repairs"]]
    assert any("context_tokens" in change for change in changes)
    assert not any({"accelerator", "accelerators", "gpu_layers"} & change.keys() for change in changes)
    for change in changes:
        made = {name: value for name, value in {**scenario, **change}.items() if value is not None}
        assert estimate(made)["memory"]["chance"] >= SURE  # type: ignore[index]


def test_nothing_to_mend() -> None:
    """What fits and runs has no repairs, nor has what stands on no device."""
    fits: Any = estimate({"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "engine": "vllm"})
    assert fits["repairs"] == []
    assert estimate({"model": "llama-3.1-405b"})["repairs"] == []


def test_it_is_computed_while_a_reader_types() -> None:
    """The slowest of these answers, repairs and all, takes less than a tenth of a second."""
    for case in CASES:
        estimate(case)
        began = time.process_time()
        estimate(case)
        assert time.process_time() - began < 0.5  # of this process alone; 0.04 s usually


def test_what_a_change_takes_out_of_the_scenario() -> None:
    """A cache in 8 bit is of keys and values, a shorter context of prompt and output, another engine is as it is."""
    tight: Any = estimate(
        {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "rtx-4090", "context_tokens": 131072}
    )
    changes = {next(iter(repair["change"])): repair["change"] for repair in tight["repairs"]}
    assert changes["context_tokens"].keys() == {"context_tokens", "prompt_tokens", "output_tokens", "cached_tokens"}
    assert [value for value in changes["context_tokens"].values() if value is not None] == [
        changes["context_tokens"]["context_tokens"]
    ]
    half: Any = estimate(
        {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "rtx-4090", "context_tokens": 49152}
    )
    assert {"kv_cache": "fp8", "kv_cache_v": None} in [repair["change"] for repair in half["repairs"]]
    other: Any = estimate(CASES[3])
    taken = (
        "memory_fraction",
        "gpu_layers",
        "engine_version",
        "backend",
        "parallelism",
        "batched_tokens",
        "experts_on_host",
        "host",
        "graphs",
        "videos",
    )
    assert other["repairs"][0]["change"] == {"engine": "vllm", **dict.fromkeys(taken)}


def test_a_larger_share_is_offered_below_the_largest() -> None:
    """95 % of the device is given without trouble; what has as much is not offered it."""
    asked = {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "rtx-4090"}
    for share, tokens, found in ((0.5, 400, 1), (0.95, 60_000, 0), (0.99, 60_000, 0)):
        report: Any = estimate({**asked, "memory_fraction": share, "context_tokens": tokens})
        larger = [repair for repair in report["repairs"] if repair["change"].get("memory_fraction")]
        assert len(larger) == found
        for repair in larger:
            assert repair["change"] == {"memory_fraction": 0.95}
            assert (repair["message"], repair["cost"]) == ("Give vLLM 95 % of the device", "nothing")


def test_what_the_engine_is_set_up_for() -> None:
    """Fewer sequences that may run cost nobody anything, and shorter pieces of prompts cost speed; both fit."""
    report: Any = estimate(CASES[10])
    changes = {next(iter(repair["change"])): repair for repair in report["repairs"]}
    assert 1 <= changes["sequence_slots"]["change"]["sequence_slots"] < 1024
    assert changes["sequence_slots"]["cost"] == "nothing" and changes["batched_tokens"]["cost"] == "speed"
    one_more = {**CASES[10], "sequence_slots": changes["sequence_slots"]["change"]["sequence_slots"] + 1}
    assert estimate(one_more)["memory"]["chance"] < SURE  # type: ignore[index]


def test_graphs_that_are_not_recorded_leave_room() -> None:
    """A text that is a little too long for an RTX 4090 fits without graphs, at the price of speed; once only."""
    asked = {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "rtx-4090", "context_tokens": 45056}
    tight: Any = estimate(asked)
    found = [repair for repair in tight["repairs"] if "graphs" in repair["change"]]
    assert [(repair["change"], repair["cost"]) for repair in found] == [({"graphs": False}, "speed")]
    plain: Any = estimate({**asked, "graphs": False, "context_tokens": 65536})
    assert plain["repairs"] and not any("graphs" in repair["change"] for repair in plain["repairs"])


def test_a_layout_that_starts_comes_first() -> None:
    """Where ranks cut blocks of the weights, whole experts are offered, then fewer ranks, then another engine."""
    report: Any = estimate(CASES[11])
    whole, fewer, other, *_ = report["repairs"]
    assert whole["change"]["parallelism"]["expert"] == 8 and whole["cost"] == "nothing"
    assert fewer["change"]["parallelism"]["tensor"] == 4 and other["change"]["engine"] == "vllm"


def test_ranks_attend_to_sequences_of_their_own() -> None:
    """Eight tensor ranks repeat the latent cache of DeepSeek-V3: as data ranks they hold 224 texts of 8,192 tokens.

    Nothing is lost, but it is tight, so what surely fits comes before it; a model whose heads the ranks divide has no
    use for it.
    """
    case = {"engine": "sglang", "accelerator": "h200-sxm-141gb", "context_tokens": 8192, "sequences": 224}
    case |= {"memory_fraction": 0.9}  # its own rule keeps more for replicas of attention than they save here
    latent: Any = estimate({**case, "model": "deepseek-v3", "parallelism": {"tensor": 8}})
    first = next(repair for repair in latent["repairs"] if repair["cost"] == "nothing")
    assert first["change"]["parallelism"] == {"tensor": 1, "pipeline": 1, "data": 8, "context": 1, "expert": 8}
    assert not first["sure"] and latent["repairs"][0]["sure"]
    after: Any = estimate({**case, "model": "deepseek-v3", "parallelism": first["change"]["parallelism"]})
    assert after["memory"]["fits"] and after["memory"]["headroom_bytes"] == first["headroom_bytes"]
    divided: Any = estimate({**case, "model": "qwen3-235b-a22b", "parallelism": {"tensor": 4}, "sequences": 20_000})
    assert all("data parallelism" not in repair["message"] for repair in divided["repairs"])


def wanted_of(case: dict[str, Any]) -> Wanted:
    """Return what a case wants of a device that it does not fit, and how many devices are known to be needed."""
    asked, facts, needed = read_question(case), catalog(), estimate(case, repairs=False)["memory"]["devices_needed"]
    assert asked.accelerator
    wanted = Wanted(facts, asked.demand, asked.layout, asked.accelerator, asked.serving(), runs=True, fits=False)
    return wanted._replace(needed=needed or inf)


@pytest.mark.parametrize("engine", ["none", "vllm", "llama.cpp", "transformers"])
@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize(("model", "sequences"), [("llama-3.3-70b", 1), ("qwen3-30b-a3b", 200), ("gemma-2-9b", 3000)])
def test_the_search_for_hardware_leaves_nothing_out(engine: str, devices: int, model: str, sequences: int) -> None:
    """Devices are the fewest, and others the smallest, that a search through all of them finds."""
    case = {"model": model, "weights": "bf16", "engine": engine, "accelerator": "rtx-a6000", "accelerators": devices}
    wanted = wanted_of({**case, "sequences": sequences, "context_tokens": 8192})
    assert next(of_devices(wanted), None) == next(of_devices(wanted._replace(needed=1)), None)
    device = wanted.accelerator
    larger = sorted(
        (
            other
            for other in wanted.facts.accelerators()
            if (other.vendor, other.segment) == (device.vendor, device.segment)
            and other.capacity_bytes > device.capacity_bytes
            and (devices == 1 or other.sold_in_multiples)
            and on_device(wanted, other).trial(wanted.demand).fits
        ),
        key=lambda other: (other.capacity_bytes, other.released),
    )
    sure = [other for other in larger if on_device(wanted, other).trial(wanted.demand).sure]
    found = offered(of_other_devices(wanted), 3, tight=True)
    assert [repair.change["accelerator"] for repair in found] == [other.id for other in (sure or larger)[:3]]
    assert len(list(of_other_devices(wanted))) <= len(larger)


RUNS = {
    "a cache of four long texts": (
        {"model": "llama-3.2-1b", "accelerator": "a100-pcie-40gb", "engine": "transformers", "weights": "gptq-int8"}
        | {"sequences": 4, "context_tokens": 131072, "parallelism": {"pipeline": 2}},
        60,
    ),
    "a mixture that its activations fill": (
        {"model": "jamba-v0.1", "accelerator": "l40s-48gb", "engine": "transformers", "weights": "int8"}
        | {"context_tokens": 131072},
        40,
    ),
    "more devices than a machine has": (
        {"model": "deepseek-v3", "accelerator": "tesla-t4", "engine": "vllm", "weights": "int8"}
        | {"prompt_tokens": 1, "output_tokens": 1, "parallelism": {"tensor": 4, "pipeline": 2}},
        60,
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_few_trials_are_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices and layouts that cannot do better than those tried are left out: few memories of devices are run."""
    case, most = RUNS[name]
    ran = list[Any]()

    def counted(tried: Any) -> Any:
        ran.append(tried)
        return run(tried)

    for module in (serving, fewest_devices):
        monkeypatch.setattr(module, "run", counted)
    assert estimate(case)["repairs"]
    assert len(ran) <= most


def test_a_computer_of_one_memory_leaves_nothing_in_another() -> None:
    """What the GPU of a Mac may not use is all that its host has: no layer is offered a place there, nor has it one."""
    asked = {"model": "kimi-k2", "engine": "llama.cpp", "weights": "q4_k_m", "accelerator": "m3-ultra-512gb"}
    report: Any = estimate(asked)
    assert not report["memory"]["fits"] and report["repairs"]
    assert not any({"gpu_layers", "experts_on_host"} & repair["change"].keys() for repair in report["repairs"])
    left: Any = estimate({**asked, "experts_on_host": 22})
    assert left["memory"]["headroom_bytes"] > 0 and not left["memory"]["fits"]  # 194 GiB of the 128 that remain
    assert "host-memory-short" in {warning["code"] for warning in left["warnings"]}


ON_FOUR = Layout(tensor=4)


def doubled(layout: Layout = ON_FOUR, *, experts: int, rooms: dict[Layout, int]) -> Any:
    """Return what stands in for a wish: so many experts, and the room that each division leaves; of 10 it is sure."""
    wish = SimpleNamespace(
        demand=SimpleNamespace(architecture=SimpleNamespace(experts=experts), weights=None),
        layout=layout,
        engine=None,
        serving=None,
        able=lambda *_, layout: layout in rooms,
        trial=lambda _, layout: Trial(rooms[layout], -rooms[layout], 10 - rooms[layout]),
    )
    wish.fitting = MethodType(Wanted.fitting, wish)
    return wish


@pytest.mark.parametrize(
    ("experts", "expert"), [(3, None), (4, 4), (128, 4)], ids=["fewer than ranks", "one each", "many"]
)
def test_whole_experts_are_offered_where_each_rank_gets_one(
    experts: int, expert: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four ranks take whole experts where there are four; otherwise two stages of two ranks are left, by their room."""
    fewer = Layout(tensor=2, pipeline=2)
    monkeypatch.setattr(placed_repairs, "best_layout", lambda *_: fewer)
    whole = ON_FOUR._replace(expert=4)
    found = list(of_layout(doubled(experts=experts, rooms={whole: 7, fewer: 9})))
    last = Repair(
        {"parallelism": fewer._asdict()},
        "Divide it over 2 tensor ranks and 2 pipeline stages",
        9,
        "nothing",
        sure=False,
    )
    first = Repair(
        {"parallelism": whole._asdict()}, "Leave experts whole, on ranks of their own", 7, "nothing", sure=False
    )
    assert found == ([first, last] if expert else [last])


def test_no_division_is_offered_that_is_asked_for_or_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the own one, none that lacks a byte, none of one device, none that the engine refuses."""
    own, whole = ON_FOUR, ON_FOUR._replace(expert=4)
    monkeypatch.setattr(placed_repairs, "best_layout", lambda *_: own)
    assert list(of_layout(doubled(experts=8, rooms={own: 5, whole: -1}))) == []
    assert [repair.headroom_bytes for repair in of_layout(doubled(experts=8, rooms={own: 5, whole: 0}))] == [0]
    assert list(of_layout(doubled(experts=8, rooms={}))) == []
    alone = Layout()
    monkeypatch.setattr(placed_repairs, "best_layout", lambda *_: None)
    assert list(of_layout(doubled(alone, experts=8, rooms={alone._replace(expert=1): 3}))) == []


@pytest.mark.parametrize("engine", ["none", "llama.cpp", "vllm"])
def test_trial_on_another_device(engine: str) -> None:
    """It is the room that the same question has there, by the mathematics and under an engine."""
    case = {"model": "llama-3.1-8b", "weights": "fp8", "engine": engine, "accelerator": "rtx-4070"}
    case |= {"weights": "q8_0"} if engine == "llama.cpp" else {}
    for other in ("rtx-4070", "rtx-4090"):
        there: Any = estimate({**case, "accelerator": other}, repairs=False)
        moved = on_device(wanted_of(case), catalog().accelerator(other))
        assert moved.trial(moved.demand).room == there["memory"]["headroom_bytes"]
        assert moved.trial(moved.demand).fits == there["memory"]["fits"]


def test_llama_cpp_takes_any_number_of_devices() -> None:
    """A 70B in 8 bit needs four cards of 24 GB: who has three is offered one more."""
    case = {"model": "llama-3.3-70b", "weights": "q8_0", "engine": "llama.cpp", "accelerator": "rtx-3090"}
    more = next(of_devices(wanted_of({**case, "accelerators": 3})))
    assert more.change["accelerators"] == 4


def test_of_a_kind_what_surely_fits_is_offered_alone() -> None:
    """The first of those, as many as there may be; what is tight where none is sure, unless it is tight already."""
    sure, tight = (Repair({}, "", 0, "", sure=sure) for sure in (True, False))
    assert offered(iter([tight, sure, tight, sure, sure]), 2, tight=True) == [sure, sure]
    assert offered(iter([tight, tight, tight]), 2, tight=True) == [tight, tight]
    assert offered(iter([tight, tight]), 2, tight=False) == []
    rest = iter([sure, tight])
    assert offered(rest, 1, tight=True) == [sure] and next(rest) is tight  # which is not asked for


def test_the_most_that_surely_fits_and_the_most_that_fits() -> None:
    """Each takes a byte: nine fit in 9, seven surely, as two are kept; each count is tried once for both."""
    wanted, tried = wanted_of({"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "rtx-3090"}), []

    def trial(count: int) -> Trial:
        tried.append(count)
        return Trial(9 - count, count - 9, count - 7)

    found = list(wanted.most(trial, 1, 100))
    assert [count for count, _ in found] == [7, 9] and found[0][1].sure and not found[1][1].sure
    assert len(tried) == len(set(tried))
    assert [count for count, _ in wanted._replace(fits=True).most(trial, 1, 100)] == [7]  # tight is no help
    assert list(wanted.most(trial, 10, 100)) == []


@pytest.mark.parametrize(("model", "sequences", "beyond"), [("llama-3.1-70b", 4, True), ("llama-3.1-8b", 90, False)])
def test_nothing_is_tried_twice_nor_what_leaves_weights_that_are_too_much(
    model: str, sequences: int, beyond: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A 70B in 16 bit has 141 GB: a smaller cache saves it on no card of 80 GB, nor does any card of less than 141."""
    tried: list[tuple[str, ...]] = []
    trial = Wanted.trial

    def noted(self: Wanted, demand: Any, layout: Any = None, serving: Any = None) -> Trial:
        serving = serving or self.serving
        own = {**vars(serving), "engine": serving.engine.graphs, "accelerator": serving.accelerator.id}
        asked = (demand.tokens, demand.sequences, demand.weights.id, layout or self.layout, own)
        tried.append((demand.keys.id, serving.accelerator.id, str(asked)))
        return trial(self, demand, layout, serving)

    monkeypatch.setattr(Wanted, "trial", noted)
    case = {"model": model, "engine": "vllm", "accelerator": "h100-sxm-80gb", "context_tokens": 8192}
    found: Any = estimate({**case, "sequences": sequences})
    assert found["repairs"] and len(tried) == len(set(tried))
    assert beyond == all(cache != "fp8" for cache, _, _ in tried)
    others = {device for _, device, _ in tried} - {"h100-sxm-80gb"}
    assert others and (not beyond or min(catalog().accelerator(other).capacity_bytes for other in others) > 141e9)


def test_three_formats_and_three_devices_are_offered() -> None:
    """Of many that would hold it: the first formats of the engine, and the smallest devices."""
    case = {"model": "llama-3.1-8b", "engine": "llama.cpp", "accelerator": "rtx-3060-12gb", "context_tokens": 4096}
    changes: Any = [repair["change"] for repair in estimate(case)["repairs"]]  # type: ignore[attr-defined]
    assert [sum(name in change for change in changes) for name in ("weights", "accelerator")] == [3, 3]


@pytest.mark.parametrize(
    ("model", "weights", "field", "host", "enough"),
    [
        ("llama-3.3-70b", "q4_k_m", "gpu_layers", 24, True),
        ("llama-3.3-70b", "q4_k_m", "gpu_layers", 12, False),
        ("qwen3-30b-a3b", "q8_0", "experts_on_host", 20, True),
        ("qwen3-30b-a3b", "q8_0", "experts_on_host", 6, False),
    ],
)
def test_a_host_holds_what_is_left_and_not_the_whole_model(
    model: str, weights: str, field: str, host: int, enough: bool
) -> None:
    """Of 42 GB a card of 24 takes more than half: the rest fits 24 GiB of memory, which could not hold all of it."""
    case = {"model": model, "weights": weights, "engine": "llama.cpp", "accelerator": "rtx-3090"}
    case["host"] = {"memory": f"{host} GiB"}  # type: ignore[assignment]
    offered = [one["change"] for one in estimate(case)["repairs"] if field in one["change"]]  # type: ignore[attr-defined]
    assert bool(offered) == enough
    for change in offered:
        after: Any = estimate({**case, **change}, repairs=False)["memory"]
        assert after["fits"] and after["host_bytes"] <= host * 2**30
        one = change[field] + (1 if field == "gpu_layers" else -1)  # more on the device, which it does not surely hold
        assert estimate({**case, field: one}, repairs=False)["memory"]["chance"] < SURE  # type: ignore[index]


def test_nothing_is_offered_that_leaves_the_host_too_little() -> None:
    """The experts of a 235B do not fit 64 GiB beside a card that has room for the rest: a smaller cache is no help."""
    case = {"model": "qwen3-235b-a22b", "weights": "q4_k_m", "engine": "llama.cpp", "accelerator": "rtx-4090"}
    found: Any = estimate({**case, "experts_on_host": "all", "host": {"memory": "64 GiB"}, "context_tokens": 8192})
    assert found["memory"]["fits"] is False and found["memory"]["headroom_bytes"] > 0
    assert not any("kv_cache" in one["change"] or "context_tokens" in one["change"] for one in found["repairs"])


def test_texts_are_cut_by_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """From a quarter of 8,192 tokens to one step of 256 less than all of them."""
    wanted, asked = wanted_of({"model": "llama-3.1-8b", "accelerator": "rtx-3090", "context_tokens": 8192}), []
    monkeypatch.setattr(Wanted, "most", lambda *ends: asked.append(ends[2:]) or ())
    assert list(of_context(wanted)) == [] and asked == [(8, 31)]


def test_what_is_able_to_run_is_asked_of_the_device_at_hand() -> None:
    """vLLM starts with Volta: its own device is meant unless another is named."""
    wanted = wanted_of({"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "rtx-3090"})
    old = catalog().accelerator("p40-24gb")
    weights = wanted.demand.weights
    assert wanted.able(wanted.engine, weights) and not wanted.able(wanted.engine, weights, old)
    assert not wanted._replace(accelerator=old).able(wanted.engine, weights)


def test_a_gpu_may_be_given_more_of_the_memory_that_it_shares() -> None:
    """96 of 128 GiB are given by default; people run a mixture of 235B in three bits on such a computer, told to."""
    scenario: dict[str, Any] = {"model": "qwen3-235b-a22b", "weights": "q3_k_m", "engine": "llama.cpp"}
    scenario |= {"accelerator": "ryzen-ai-max-395-128gb", "context_tokens": 8192}
    (offered,) = (one for one in estimate(scenario)["repairs"] if "memory_limit" in one["change"])  # type: ignore[attr-defined]
    after: Any = estimate({**scenario, **offered["change"]})["memory"]
    assert after["chance"] >= SURE and after["headroom_bytes"] == offered["headroom_bytes"] < 10 * 2**30
    stated: Any = estimate({**scenario, "memory_limit": "90 GiB"})["repairs"]
    larger: Any = estimate({**scenario, "weights": "q4_k_m"})["repairs"]  # the system would be left too little
    assert not any(one["change"].get("memory_limit") for one in (*stated, *larger))


def test_a_person_is_asked_to_buy_last() -> None:
    """A 32B is too large for vLLM on an RTX 4090 in any format: llama.cpp runs it there, and more cards come last."""
    asked = {"model": "qwen3-32b", "engine": "vllm", "accelerator": "rtx-4090", "context_tokens": 32768}
    own: Any = estimate(asked)
    assert next(repair["change"].get("engine") for repair in own["repairs"]) == "llama.cpp"
    assert own["repairs"][-1]["cost"] == "hardware"
    for change in ({"accelerator": "l4-24gb"}, {"accelerators": 2, "context_tokens": 131072}):  # no card of one's own
        report: Any = estimate({**asked, **change})
        assert report["memory"]["fits"] is False
        assert not any("engine" in repair["change"] for repair in report["repairs"])


def test_two_changes_are_made_where_one_is_not_enough() -> None:
    """8 GB hold an 8B with 32k tokens in weights of four bits and a cache of eight, and with neither alone."""
    asked = {"model": "llama-3.1-8b", "engine": "llama.cpp", "weights": "q8_0", "accelerator": "rtx-4060"}
    report: Any = estimate({**asked, "context_tokens": 32768})
    first = report["repairs"][0]
    assert {"weights", "kv_cache"} <= first["change"].keys() and first["cost"] == "quality"
    for alone in ("weights", "kv_cache"):
        made = {**asked, "context_tokens": 32768, alone: first["change"][alone]}
        assert estimate(made)["memory"]["fits"] is False  # type: ignore[index]


def test_weights_of_two_bits_are_the_last_resort() -> None:
    """They are offered where none of three bits or more helps, and after a part in the host's memory."""
    asked = {"engine": "llama.cpp", "accelerator": "rtx-4070", "context_tokens": 8192}
    for model, weights, few in (("qwen3-14b", "q8_0", False), ("mistral-small-3.1-24b", "q3_k_m", True)):
        report: Any = estimate({**asked, "model": model, "weights": weights})
        named = [repair["change"].get("weights") for repair in report["repairs"]]
        assert ("iq2_m" in named) is few
        layers = next(place for place, repair in enumerate(report["repairs"]) if "gpu_layers" in repair["change"])
        assert not few or named.index("iq2_m") > layers


def test_other_devices_can_be_had() -> None:
    """A card is offered as its maker made it, one in a laptop to laptops alone."""
    for device, laptops in (("rtx-3070", False), ("rtx-5070-laptop", True)):
        asked = {"model": "llama-3.1-8b", "engine": "llama.cpp", "weights": "bf16", "accelerator": device}
        report: Any = estimate(asked)
        named = [repair["change"]["accelerator"] for repair in report["repairs"] if "accelerator" in repair["change"]]
        found = [catalog().accelerator(name) for name in named]
        assert found and all((other.text("form") == "laptop") is laptops for other in found)
        assert all(other.availability not in ("announced", "modified") for other in found)
