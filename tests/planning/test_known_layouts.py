"""Layouts and the fewest devices: which divisions there are, what is refused in which words, what searches find."""

from math import inf
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from calc import ScenarioError, estimate
from calc.architecture.layers import Architecture
from calc.architecture.stages import Stage
from calc.catalog import catalog
from calc.memory.budget import Demand, Layout
from calc.planning import fit, training_fit
from calc.planning.blocks import Cut, cut_blocks
from calc.planning.fit import fewest, last
from calc.planning.layout import (
    apart_layouts,
    best_layout,
    candidates,
    check_layout,
    distinct_stages,
    division,
    fullest_stages,
    tensor_degrees,
)
from calc.planning.training_fit import devices_needed, divided
from calc.question import read_question
from calc.scenario.model import known_architecture


def architecture(model: str = "llama-3.1-8b") -> Architecture:
    """Return the architecture of a model of the catalogue."""
    return known_architecture(catalog(), model)


def demand(model: str = "llama-3.1-8b") -> Demand:
    """Return the demand of a sequence on a model of the catalogue, as it is published."""
    return read_question({"model": model}).demand


@pytest.mark.parametrize(
    ("model", "degrees", "field", "message"),
    [
        (
            "llama-3.1-8b",
            {"tensor": 3},
            "parallelism.tensor",
            "3 does not divide the attention heads and their KV heads evenly; 1, 2, 4, 8, 16, 32 do",
        ),
        ("llama-3.1-8b", {"pipeline": 33}, "parallelism.pipeline", "33 stages are more than the 32 layers"),
        ("llama-3.1-8b", {"expert": 2}, "parallelism.expert", "must be 1: the model has no experts to divide"),
        (
            "mixtral-8x7b",
            {"expert": 9, "data": 9},
            "parallelism.expert",
            "must not be more than the 8 experts of a layer, as 9 is",
        ),
        (
            "mixtral-8x7b",
            {"expert": 4, "data": 2},
            "parallelism.expert",
            "4 expert ranks cannot be taken out of 1 tensor × 2 data ranks: they divide the tensor ranks, or are a"
            " multiple of them",
        ),
        (
            "qwen3-30b-a3b",
            {"expert": 6, "tensor": 4, "data": 3},
            "parallelism.expert",
            "6 expert ranks cannot be taken out of 4 tensor × 3 data ranks: they divide the tensor ranks, or are a"
            " multiple of them",
        ),
    ],
)
def test_divisions_that_cannot_be(model: str, degrees: dict[str, int], field: str, message: str) -> None:
    """Each is refused by its degree, with what would do; the field may stand elsewhere."""
    with pytest.raises(ScenarioError) as error:
        check_layout(architecture(model), Layout(**degrees))
    assert (error.value.field, error.value.message) == (field, message)
    with pytest.raises(ScenarioError) as other:
        check_layout(architecture(model), Layout(**degrees), "layout")
    assert other.value.field == field.replace("parallelism", "layout")


@pytest.mark.parametrize(
    ("model", "degrees"),
    [
        ("llama-3.1-8b", {"tensor": 32, "pipeline": 32}),
        ("mixtral-8x7b", {"tensor": 4, "expert": 2}),
        ("mixtral-8x7b", {"tensor": 2, "data": 4, "expert": 8}),
        ("mixtral-8x7b", {"data": 8, "expert": 8}),
    ],
)
def test_divisions_that_can_be(model: str, degrees: dict[str, int]) -> None:
    """Up to one head, one layer and one expert on a device."""
    check_layout(architecture(model), Layout(**degrees))


def test_stages_that_differ() -> None:
    """First, last, and of those between one of each content: Llama's 32 layers in five stages are 6, 6, 7, 7 and 6."""
    llama = architecture()
    found = distinct_stages(llama, 5)
    assert len(found) == 4
    assert (found[0].first, found[-1].last) == (0, 32)
    assert sorted(stage.last - stage.first for stage in found[1:-1]) == [6, 7]
    assert [stage.last - stage.first for stage in fullest_stages(llama, 5)] == [6, 7, 6]
    assert distinct_stages(llama, 1) == (Stage(llama, 0, 32),)
    assert len(distinct_stages(llama, 2)) == 2


def test_ways_to_divide() -> None:
    """The widest tensor parallelism first, of powers of two, and no more stages than layers; or layers alone."""
    llama, layers = demand(), catalog().engine("llama.cpp")
    assert candidates(llama, 8) == [
        Layout(tensor=8),
        Layout(tensor=4, pipeline=2),
        Layout(tensor=2, pipeline=4),
        Layout(pipeline=8),
    ]
    assert candidates(llama, 64) == [
        Layout(tensor=32, pipeline=2),
        *(Layout(16, 4), Layout(8, 8), Layout(4, 16), Layout(2, 32)),
    ]
    assert candidates(llama, 6) == [Layout(tensor=2, pipeline=3), Layout(pipeline=6)]
    assert candidates(llama, 32, layers) == [Layout(pipeline=32)]
    assert candidates(llama, 33, layers) == []
    assert candidates(demand("falcon-7b"), 71) == []  # 71 heads are no power of two, and 32 layers too few


def test_blocks_stay_whole() -> None:
    """Experts 1,536 wide in blocks of 128 are for up to 4 ranks: vLLM takes no other by itself, mathematics does."""
    minimax, vllm = demand("minimax-m2"), catalog().engine("vllm")
    assert [layout.tensor for layout in candidates(minimax, 8, vllm)] == [4, 2, 1]
    assert [layout.tensor for layout in candidates(minimax, 8)] == [8, 4, 2, 1]
    assert best_layout(minimax, 8, vllm) == Layout(4, 2)


def test_a_server_is_started_with_tensor_ranks() -> None:
    """Qwen 3.5 has two KV heads, which eight ranks repeat; four and two stages would hold less, and be slower."""
    asked: dict[str, object] = {"accelerator": "h200-sxm-141gb", "accelerators": 8, "engine": "vllm"}
    report: Any = estimate({"model": "qwen3.5-397b-a17b", **asked})
    assert report["memory"]["fits"] and report["scenario"]["parallelism"]["tensor"] == 8
    assert best_layout(demand("qwen3.5-397b-a17b"), 8) == Layout(4, 2)
    two: Any = estimate({"model": "deepseek-r1", **asked, "accelerator": "h100-sxm-80gb", "accelerators": 16})
    assert two["memory"]["fits"] and division(Layout(**two["scenario"]["parallelism"])) == {"tensor": 8, "pipeline": 2}


@pytest.mark.parametrize(
    ("model", "tensor", "expert", "found"),
    [
        ("minimax-m2", 8, 1, Cut("expert", 1536, 192, 128, instead="expert parallelism")),
        ("minimax-m2", 8, 8, None),  # whole experts
        ("minimax-m2", 4, 1, None),
        ("deepseek-v3", 16, 1, None),
        ("deepseek-v3", 32, 1, Cut("mlp", 18432, 576, 128)),  # as vLLM's issue 12256 and SGLang's 3345 have it
        ("llama-3.1-8b", 32, 1, None),  # no blocks
    ],
)
def test_blocks_that_ranks_cut(model: str, tensor: int, expert: int, found: Cut | None) -> None:
    """A piece has to be whole blocks on the side that is split; experts that stand whole on a rank are not cut."""
    asked = demand(model)
    assert cut_blocks(asked.architecture, asked.weights, tensor, expert) == found


def test_degrees_of_what_is_no_attention() -> None:
    """Mamba 2 divides its heads; every degree divides the heads of all layers."""
    mamba = tensor_degrees(architecture("codestral-mamba-7b"))
    assert mamba[:4] == (1, 2, 4, 8) and 128 % max(mamba) == 0


def test_a_layout_in_a_report() -> None:
    """Tensor and pipeline always, of the others those that divide."""
    assert division(Layout()) == {"tensor": 1, "pipeline": 1}
    assert division(Layout(2, 1, 4, 1, 8)) == {"tensor": 2, "pipeline": 1, "data": 4, "expert": 8}


@pytest.mark.parametrize("enough", [1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 99, 100])
@pytest.mark.parametrize("least", [1, 3, 60])
def test_the_fewest_that_are_enough(enough: int, least: int) -> None:
    """Whatever their number, from the least on; None where the most are not."""
    tried: list[int] = []

    def fitting(count: int) -> str | None:
        tried.append(count)
        return f"{count} do" if count >= enough else None

    found = fewest(least, 100, fitting)
    assert found == f"{max(enough, least)} do"
    assert min(tried) >= least and max(tried) <= 100
    assert fewest(least, 100, lambda count: None if count < 101 else "never") is None
    assert fewest(101, 100, lambda _: "too many") is None


def test_holes_in_what_is_enough() -> None:
    """Six and eight are enough and seven are not: each is tried from the last that was not, which is four."""
    assert fewest(1, 100, lambda count: count if count in (6, 8) else None) == 6


@pytest.mark.parametrize("most", [1, 2, 3, 4, 9, 70, 1000, 10**7 - 1])
@pytest.mark.parametrize("guess", [1, 2, 60, 69, 70, 71, 90, 10**6])
def test_the_last_that_holds(most: int, guess: int) -> None:
    """Whatever was guessed, right, too much or too little."""
    assert last(lambda count: count <= most, guess) == most


class Plan(NamedTuple):
    """What of a training plan its division asks for."""

    architecture: Any
    stage_of_zero: int = 0
    layout: Layout = Layout()
    accumulation: int = 1
    sequence_parallel: bool = False
    shard_ranks: int = 0
    in_backward: bool = False

    def on(self, layout: Layout) -> "Plan":
        """Return the plan in another layout."""
        return self._replace(layout=layout)


def plan(**changes: Any) -> Any:
    """Return a plan for Llama 3.1 8B."""
    return Plan(architecture())._replace(**changes)


@pytest.mark.parametrize(
    ("devices", "layout"),
    [
        (1, Layout()),
        (8, Layout(tensor=8)),
        (6, Layout(tensor=2, pipeline=3)),
        (64, Layout(tensor=8, pipeline=8)),
        (256, Layout(tensor=8, pipeline=32)),
    ],
)
def test_a_run_without_sharding_is_divided_over_a_node(devices: int, layout: Layout) -> None:
    """Eight tensor ranks at most, then stages, each of which wants a micro-batch."""
    found: Any = divided(plan(accumulation=2, sequence_parallel=True), devices, Layout())
    assert (found.layout, found.shard_ranks) == (layout, 1)
    assert found.accumulation == max(2, layout.pipeline)
    assert found.sequence_parallel is (layout.tensor > 1)
    assert divided(plan(), 264, Layout()) is None  # 33 stages of 32 layers


def test_a_sharded_run_is_divided_over_copies() -> None:
    """Twelve devices in parts of two tensor and two context ranks are three data ranks, and six shard one copy."""
    found: Any = divided(plan(stage_of_zero=3), 12, Layout(tensor=2, context=2, data=5))
    assert (found.layout, found.shard_ranks) == (Layout(tensor=2, context=2, data=3), 6)
    assert found.sequence_parallel is False
    alone: Any = divided(plan(stage_of_zero=3, accumulation=4), 7, Layout())
    assert (alone.layout, alone.shard_ranks, alone.accumulation) == (Layout(data=7), 7, 4)


@pytest.mark.parametrize(
    ("zero", "part", "least", "found"),
    [
        (3, Layout(), 1, 1),
        (3, Layout(), 11, 11),
        (3, Layout(tensor=2), 11, 12),
        (3, Layout(), 4096, 4096),
        (3, Layout(), 4097, None),
        (3, Layout(tensor=4), 4096, 4096),
        (0, Layout(), 11, 16),
        (0, Layout(), 257, None),
    ],
)
def test_the_fewest_devices_of_a_run(zero: int, part: Layout, least: int, found: int | None) -> None:
    """With sharding any number of parts, without it powers of two, up to 4,096 and to a layer on each stage."""
    layout = training_fit.fewest(
        plan(stage_of_zero=zero), part, lambda asked: least - asked.layout.devices if asked else inf
    )
    assert (layout.devices if layout else None) == found


def sized(monkeypatch: pytest.MonkeyPatch, size: dict[int, int], stays: int = 0) -> None:
    """Let plans take so many bytes of a device by the number of devices, of which `stays` are there all the time."""
    monkeypatch.setattr(
        training_fit, "fullest_within", lambda asked, capacity: None if stays > capacity else (asked, [])
    )

    def device_bytes(asked: Any, step: Any, facts: Any) -> int:
        assert asked is step and facts is catalog()
        return size[asked.layout.devices]

    monkeypatch.setattr(training_fit, "device_bytes", device_bytes)


def test_devices_that_a_run_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fewest of a search, of the plan's own division, and of the plan as it stands."""
    sized(monkeypatch, {count: 1200 // count for count in range(1, 5000)})
    assert devices_needed(plan(stage_of_zero=3), 100, catalog(), fits=False) == Layout(data=12)
    assert devices_needed(plan(), 100, catalog(), fits=False) == Layout(tensor=8, pipeline=2)
    own = plan(stage_of_zero=3, layout=Layout(tensor=5, data=9))
    assert devices_needed(own, 100, catalog(), fits=True) == Layout(data=12)
    stated = plan(layout=Layout(tensor=4, pipeline=3))
    assert devices_needed(stated, 100, catalog(), fits=True) == Layout(tensor=4, pipeline=3)
    assert devices_needed(stated, 99, catalog(), fits=False) == Layout(tensor=8, pipeline=2)


def test_runs_that_no_number_of_devices_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what stays is too much, and where gradients that leave at once should add up."""
    sized(monkeypatch, dict.fromkeys(range(1, 5000), 50), stays=101)
    assert devices_needed(plan(stage_of_zero=3), 100, catalog(), fits=False) is None
    sized(monkeypatch, dict.fromkeys(range(1, 5000), 50), stays=100)
    assert devices_needed(plan(stage_of_zero=3), 100, catalog(), fits=False) == Layout()
    assert devices_needed(plan(stage_of_zero=3, in_backward=True, accumulation=2), 100, catalog(), fits=False) is None
    assert devices_needed(plan(stage_of_zero=3, in_backward=True), 100, catalog(), fits=False) == Layout()


def test_a_part_that_only_its_own_division_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tensor ranks where data ranks alone are never enough; not where experts are divided."""
    monkeypatch.setattr(
        training_fit, "fullest_within", lambda asked, _: None if asked.layout.tensor < 2 else (asked, [])
    )
    monkeypatch.setattr(training_fit, "device_bytes", lambda *_: 100)
    own = plan(stage_of_zero=3, layout=Layout(tensor=2, data=4))
    assert devices_needed(own, 100, catalog(), fits=False) == Layout(tensor=2)
    experts = own._replace(layout=Layout(tensor=2, data=4, expert=2))
    assert devices_needed(experts, 100, catalog(), fits=True) == experts.layout


@pytest.mark.parametrize(
    ("name", "several"),
    [
        ("h100-sxm-80gb", True),
        ("rtx-4090", True),
        ("gh200-96gb", True),
        ("m4-max-64gb", False),
        ("gb300-desktop-252gb", False),
    ],
)
def test_what_is_sold_in_multiples(name: str, several: bool) -> None:
    """Not what is a part of a computer, nor a superchip that stands alone in a workstation."""
    assert catalog().accelerator(name).sold_in_multiples is several


def _total(*, demand: int, load: int, **_: object) -> Any:
    return SimpleNamespace(total=5 + 5 * load * demand)


def test_most_sequences_of_the_mathematics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes ten bytes beside five: of 100 bytes nine fit, of 4 none; the search ends at its most."""
    demand: Any = SimpleNamespace(_replace=lambda sequences: sequences)
    monkeypatch.setattr(fit, "loads", lambda *_: (1, 2))
    monkeypatch.setattr(fit, "load_budget", _total)
    for capacity, most in ((100, 9), (105, 10), (14, 0), (15, 1), (25, 2), (10**12, 10**7 - 1)):
        assert fit.most_sequences(demand, Layout(), capacity) == most


@pytest.mark.parametrize(
    ("model", "accelerator", "count", "more"),
    [
        ("gpt-oss-120b", "h100-sxm-80gb", 8, {"weights": "fp8", "context_tokens": 16384, "sequences": 32}),
        (
            "qwen3-235b-a22b",
            "h100-sxm-80gb",
            4,
            {"weights": "fp8", "context_tokens": 2048, "sequences": 32, "engine": "sglang"},
        ),
        ("deepseek-v3", "a100-sxm-80gb", 16, {"weights": "fp8", "context_tokens": 120000, "engine": "tensorrt-llm"}),
    ],
)
def test_devices_are_divided_by_the_pieces_that_the_engine_reads(
    model: str, accelerator: str, count: int, more: dict[str, object]
) -> None:
    """Who says the engine's own pieces of a prompt gets the division of who leaves them out."""
    device = {"accelerator": accelerator, "accelerators": count}
    asked: dict[str, object] = {"model": model, "engine": "vllm", **device, **more}
    taken: Any = estimate(asked, repairs=False)
    stated: Any = estimate({**asked, "batched_tokens": taken["scenario"]["batched_tokens"]}, repairs=False)
    assert taken["scenario"]["parallelism"] == stated["scenario"]["parallelism"]
    assert taken["memory"]["device_bytes"] == stated["memory"]["device_bytes"]


@pytest.mark.parametrize(
    ("model", "ranks", "tensor"),
    [
        ("phi-3.5-moe", 8, []),  # eight heads of keys and values, one for each rank
        ("phi-3.5-moe", 16, [1, 2, 4, 8]),  # as many ranks as experts
        ("phi-3.5-moe", 32, []),
        ("deepseek-v3", 2, [1]),  # latent attention is repeated by any tensor ranks
        ("deepseek-v3", 1, []),
        ("llama-3.1-8b", 16, []),  # no experts
    ],
)
def test_attention_apart_from_experts(model: str, ranks: int, tensor: list[int]) -> None:
    """Where tensor ranks would repeat a cache and there is an expert for each, attention may have fewer of them."""
    found = apart_layouts(architecture(model), ranks)
    assert found == tuple(Layout(tensor=degree, data=ranks // degree, expert=ranks) for degree in tensor)


def test_an_answer_is_the_same_after_one_of_a_model_that_is_alike() -> None:
    """Jamba 1.5 Mini has the layers of Jamba 0.1: what is known of the stages of one is no other stage of the other."""
    asked = {"engine": "llama.cpp", "weights": "q4_k_m", "accelerator": "rtx-3060-12gb", "accelerators": 8}
    sums = []
    for first in ("jamba-1.5-mini", "jamba-v0.1"):
        distinct_stages.cache_clear()
        fullest_stages.cache_clear()
        estimate({**asked, "model": first})
        sums.append(estimate({**asked, "model": "jamba-1.5-mini"})["memory"]["sum_over_devices_bytes"])  # type: ignore[index]
    assert sums[0] == sums[1]
