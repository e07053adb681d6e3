"""Further parts of passes and steps worked by hand: processors, caches that are copied, states, ranks and messages."""

import re
from types import SimpleNamespace
from typing import Any

import pytest

from calc.architecture.stages import Stage
from calc.catalog import catalog
from calc.memory.budget import Layout
from calc.memory.placement import Placement
from calc.performance.collectives import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER, TREE
from calc.performance.copies import copies_of_cache
from calc.performance.exchanges import CONTEXT, DATA, EXPERT, PIPELINE, TENSOR, stride
from calc.performance.expert_ranks import expert_ranks
from calc.performance.fabric import joined
from calc.performance.forward import Segment, forward
from calc.performance.host_part import host_models
from calc.performance.kernels import kernels
from calc.performance.operations import Attention, Collective, Counted, Experts, Pointwise, Product, Recurrence
from calc.performance.processor import processor_law, processor_s
from calc.performance.rank_layers import STATE_FLOPS
from calc.performance.rank_model import rank_model
from calc.performance.step_traffic import step_traffic
from calc.performance.training_clock import MOVED, Launches, Timed
from calc.performance.training_pace import PRODUCT_SHARE, Pace, most_products_per_s
from calc.performance.training_step import micro_batch
from calc.performance.transfers import by_protocol, transfer
from calc.question import read_asked
from calc.scenario.model import known_architecture
from calc.scenario.reader import Reader
from tests.plans import plan_of
from tests.working import evaluated

FACTS = catalog()
BF16 = FACTS.number_format("bf16")


def rank_of(model: str, **degrees: int) -> Any:
    """Return a rank of a model in 16 bit."""
    architecture = known_architecture(FACTS, model)
    return rank_model(
        stage=Stage(architecture, 0, architecture.layer_count),
        weights=BF16,
        group=None,
        keys=BF16,
        values=BF16,
        element_bytes=2,
        layout=Layout(**degrees),
    )


@pytest.mark.parametrize(
    ("values", "ranks", "sent"),
    [
        ({"gathers_tokens": 1.0, "sends_fp8": 1.0}, 8, [(ALL_GATHER, 8 * 4 * 2), (REDUCE_SCATTER, 8 * 4 * 2)]),
        ({"gathers_tokens": 1.0, "sends_fp8": 1.0}, 16, [(ALL_TO_ALL, 8 * 4 * 2)] * 2),
        ({"sends_once": 1.0}, 8, [(ALL_TO_ALL, 8 * (1 - (7 / 8) ** 8) * 4 * 2)] * 2),
    ],
)
def test_how_tokens_get_to_their_experts(values: dict[str, float], ranks: int, sent: list[tuple[str, float]]) -> None:
    """Four tokens of 2,048 elements with eight experts each: to all eight ranks, to each expert of many, or once.

    In 16 bit, for these experts multiply in no other format.
    """
    model = rank_of("qwen3-30b-a3b", data=ranks, expert=ranks)
    demand: Any = SimpleNamespace(balances_experts=None)
    found = expert_ranks(values, demand, model.layout, FACTS.accelerator("h100-sxm-80gb"))
    assert found.balanced == (ranks > 8)
    listed = forward(model._replace(expert_ranks=found), Segment(4.0, 1, 100, 1.0))
    sent_by = [(one, times) for one, times in listed if isinstance(one, Collective)]
    messages = [(one.kind, one.message_bytes) for one, times in sent_by for _ in range(round(times / model.layers))]
    assert messages == [(kind, pytest.approx(2048 * size)) for kind, size in sent]


def test_replicas_without_a_request_pass_the_same_token_along() -> None:
    """With two of eight busy there are three tokens that differ: fewer experts are read than by one of each."""
    model = rank_of("qwen3-30b-a3b", data=8, expert=8)
    few = model._replace(expert_ranks=model.expert_ranks._replace(busy=2))
    tokens = [
        next(one.tokens for one, _ in forward(each, Segment(1.0, 1, 100, 1.0)) if isinstance(one, Experts))
        for each in (few, model, few._replace(expert_ranks=few.expert_ranks._replace(busy=7)))
    ]
    assert tokens == [3, 8, 8]


def test_operands_are_sent_in_their_own_format() -> None:
    """By DeepEP in FP8 with scales, in NVFP4 where a device multiplies that; what is gathered in 16 bit."""
    engine, many, few = {"gathers_tokens": 1.0, "sends_fp8": 1.0}, Layout(data=16, expert=16), Layout(data=8, expert=8)
    demand: Any = SimpleNamespace(balances_experts=False)
    hopper, blackwell = (FACTS.accelerator(name) for name in ("h100-sxm-80gb", "b200-sxm-180gb"))
    assert expert_ranks(engine, demand, many, hopper).sent_bytes("fp8-block", 2) == 1 + 4 / 128
    assert expert_ranks({}, demand, many, hopper).sent_bytes("fp8-block", 2) == 2
    assert [expert_ranks(engine, demand, many, card).sent_bytes("nvfp4", 2) for card in (hopper, blackwell)] == [
        2,
        0.5625,
    ]
    assert expert_ranks(engine, demand, few, blackwell).sent_bytes("nvfp4", 2) == 2
    assert not expert_ranks(engine, demand, many, hopper).balanced


def test_a_processor_by_hand() -> None:
    """Half of 80 GB/s and of 10^12 operations, of 16-bit numbers a quarter of that, and 8 × 8 pairs of threads."""
    host: Any = SimpleNamespace(bandwidth=80e9, rate=1e12, cores=8)
    values = {
        "processor_read_share": 0.5,
        "processor_rate_share": 0.5,
        "processor_plain_factor": 0.25,
        "processor_unpack": 3.0,
        "processor_pair_s": 1e-6,
    }
    law = processor_law(host, values)
    assert (law.read, law.rate, law.plain_rate, law.unpack) == (40e9, 5e11, 1.25e11, 3.0)
    assert law.start_s == pytest.approx(64e-6)
    one = Product("x", 2, 1000, 1000, "bf16", 2_000_000, 8000)
    assert processor_s(law, one) == pytest.approx(64e-6 * one.launches + 2e6 / 40e9 + 4e6 / 1.25e11)
    packed = one._replace(kernel="q8_0", weight_bytes=1_062_500)
    assert processor_s(law, packed) == pytest.approx(64e-6 * one.launches + 1_062_500 / 40e9 + (4e6 + 3e6) / 5e11)


def test_new_entries_join_a_cache_by_hand() -> None:
    """1,000 bytes are read and written once to join; eight heads of four query heads each read it and write four."""
    one = Attention("Attention", 2, 1, 100, 32, 8, 128, 128, True, None, False, "bf16", 1000.0)
    schedule: Any = SimpleNamespace(
        cache_passes=2.0, repeats_heads=True, of={"join_cycles": 3.0, "repeat_cycles": 5.0}.__getitem__
    )
    join, repeat = copies_of_cache((Counted(one, 7),), schedule)
    assert (join.operation.bytes, join.times, join.operation.cycles) == (2000.0, 7, 3.0 * 500)
    assert (repeat.operation.bytes, repeat.operation.cycles) == (5000.0, 5.0 * 4 * 500)
    assert len(copies_of_cache((Counted(one._replace(heads=8), 7),), schedule)) == 1


def test_a_recurrent_mixer_by_hand() -> None:
    """Mamba 2.8B keeps 16 values of each of 5,120 channels, and its convolution sees four tokens of each."""
    found = [one for one, _ in forward(rank_of("mamba-2.8b"), Segment(1.0, 1, 100, 1.0)) if isinstance(one, Recurrence)]
    assert {one.flops for one in found} == {2.0 * 4 * 5120 + STATE_FLOPS * 16 * 5120}


@pytest.mark.parametrize(
    ("group", "apart"), [(TENSOR, 1), (EXPERT, 1), (CONTEXT, 2), (DATA, 2), (PIPELINE, 8)], ids=str
)
def test_ranks_stand_so_far_apart(group: str, apart: int) -> None:
    """Of 16 devices in two stages of two tensor ranks, tensor ranks are neighbours and stages eight apart."""
    plan = plan_of(parallelism={"tensor": 2, "data": 4, "pipeline": 2}, gradient_accumulation=4)
    found = stride(plan, group)
    assert found == apart and isinstance(found, int)


@pytest.mark.parametrize(
    "parallelism",
    [{"tensor": 4}, {"tensor": 2, "data": 2}, {"pipeline": 2, "data": 2}, {"context": 4}],
    ids=str,
)
@pytest.mark.parametrize("apart", [False, True])
def test_what_is_sent_can_be_followed(parallelism: dict[str, int], apart: bool) -> None:
    """Each purpose has its name, and the numbers put into its formula give its bytes; `apart` divides norms too."""
    cut = {"sequence_parallel": True} if apart and "tensor" in parallelism else {}
    listed = step_traffic(plan_of(parallelism=parallelism, sharding="zero-3", gradient_accumulation=4, **cut))
    assert listed
    for one in listed:
        assert re.fullmatch(r"[A-Z].+", one.what)
        assert evaluated(one.numbers) == pytest.approx(one.bytes, rel=1e-6)


def test_every_message_is_of_a_group() -> None:
    """So that it goes over the link that its ranks have."""
    listed = [one for one, _ in forward(rank_of("llama-3.1-8b", tensor=2), Segment(1.0, 8, 0, 1.0))]
    messages = [one for one in listed if isinstance(one, Collective)]
    assert len(messages) > 1 and {one.group for one in messages} == {TENSOR}


@pytest.mark.parametrize(("model", "kernels"), [("llama-3.1-8b", 5), ("deepseek-v3", 8), ("deepseek-v3.2", 17)])
def test_kernels_around_attention(model: str, kernels: int) -> None:
    """Norms, activation, rotation, entry; norms of latents and two parts that are joined; what an indexer does."""
    listed = forward(rank_of(model), Segment(1.0, 1, 100, 1.0))
    assert {one.kernels for one, _ in listed if isinstance(one, Pointwise) and one.kernels > 1} == {kernels}


@pytest.mark.parametrize(("model", "layers"), [("minimax-m2", 62), ("olmo-2-7b", 32), ("qwen3-8b", 0)])
def test_norms_over_all_heads_are_a_message(model: str, layers: int) -> None:
    """Each rank has some of the heads: two sums of squares in FP32 of each token. Norms of single heads need none."""
    listed = forward(rank_of(model, tensor=4), Segment(1.0, 8, 0, 1.0))
    found = [(one, count) for one, count in listed if isinstance(one, Collective) and one.message_bytes == 8 * 2 * 4]
    assert sum(count for _, count in found) == layers
    assert {(one.kind, one.ranks, one.group) for one, _ in found} == ({(ALL_REDUCE, 4, TENSOR)} if layers else set())
    assert not [one for one, _ in forward(rank_of(model), Segment(1.0, 8, 0, 1.0)) if isinstance(one, Collective)]


@pytest.mark.parametrize(("ranks", "between"), [(8, False), (16, True), (32, True)])
def test_messages_between_machines_wait_for_the_network(ranks: int, between: bool) -> None:
    """Eight H100 stand in one machine, sixteen in two: a small message takes steps over the network then."""
    group = joined(FACTS.accelerator("h100-sxm-80gb"), ranks=ranks)
    way = transfer(ALL_REDUCE, joined=group, message_bytes=1000)
    assert (group.machines > 1) == between == (way.steps_between > 0)
    assert way.seconds > (20e-6 if between else 0)


@pytest.mark.parametrize("kind", [ALL_REDUCE, ALL_GATHER])
def test_a_ring_over_machines_is_no_sooner_than_within_one(kind: str) -> None:
    """It passes through each machine: sixteen T4 in two share the PCIe of each, as no data sheet says."""
    device = kernels(FACTS.accelerator("t4-16gb"))
    assert device is not None
    within, over = (device.collective(Collective("Sum", kind, 1e8, ranks, group=DATA)) for ranks in (8, 16))
    sheet = transfer(kind, joined=joined(device.accelerator, ranks=16), message_bytes=1e8).seconds
    assert sheet < within == over


def test_the_most_of_products_is_the_largest_share() -> None:
    """Of a generation's own shares where it has one, else of those for all; a device without 16 bit has none."""
    hopper, other = FACTS.accelerator("h100-sxm-80gb"), FACTS.accelerator("m4-32gb")
    device = kernels_of(hopper)
    plain = {PRODUCT_SHARE: 0.5, "power_exponent": 0.5, "product_most": 0.95}
    own = plain | {f"{PRODUCT_SHARE}@Hopper": 0.6, f"{PRODUCT_SHARE}_x@Hopper": 0.7}
    shared = plain | {f"{PRODUCT_SHARE}_x": 0.4, f"{PRODUCT_SHARE}_y@Hopper": 0.9}
    assert most_products_per_s(hopper, own) == pytest.approx(0.7 * device)
    assert most_products_per_s(hopper, shared) == pytest.approx(0.9 * device)
    assert most_products_per_s(hopper, plain) == pytest.approx(0.5 * device)
    assert other.sixteen_bit is None and most_products_per_s(other, own) is None


def kernels_of(accelerator: Any) -> float:
    """Return the rate of a law's largest products on a device."""
    found = kernels(accelerator)
    assert found is not None
    return float(found.most_rate)


@pytest.mark.parametrize(("hidden", "waits"), [(0.0, 5.0), (0.5, 4.0), (1.0, 3.0)])
def test_what_a_trainer_hides_is_not_waited_for(hidden: float, waits: float) -> None:
    """Of two seconds of tensor ranks and three of experts, all of the experts' and what is left of the others'."""
    sent: Any = tuple(
        SimpleNamespace(operation=Collective("x", ALL_REDUCE, 8.0, 2, group=group), seconds=seconds)
        for group, seconds in ((TENSOR, 2.0), (EXPERT, 3.0))
    )
    clock: Any = None
    nothing = Launches()
    whole, none = (Timed(clock, (), sums, parts, nothing, nothing) for sums, parts in (({MOVED: 1.0}, sent), ({}, ())))
    pace = Pace(plan_of(), FACTS.accelerator("h100-sxm-80gb"), dict(FACTS.training_step.values))
    pace.tensor_hidden = hidden
    of: Any = SimpleNamespace(micro_batch=whole, forward=none, reduced=none)
    assert micro_batch(of, pace, 1).waiting == pytest.approx(waits)


def test_experts_apart_are_all_that_a_host_keeps_of_their_layers() -> None:
    """Attention, norms and sums of a layer stay on the device where only its experts do not."""
    demand = read_asked(Reader({"model": "mixtral-8x7b"})).demand
    (apart,) = host_models(demand, Placement(host_experts=10), fuses=True)
    kept = (apart.matrices, apart.looks, apart.states, apart.pointwork, apart.reductions)
    assert kept == ((), (), (), (), ()) and apart.experts
    layers, apart = host_models(demand, Placement(22, host_experts=15), fuses=True)
    assert layers.looks and layers.matrices and not apart.looks


@pytest.mark.parametrize(("ranks", "trees"), [(8, False), (16, True)])
def test_trees_are_between_machines(ranks: int, trees: bool) -> None:
    """From two machines on an all-reduce may go up and down a tree of them (NCCL); in one there is none."""
    group = joined(FACTS.accelerator("h100-sxm-80gb"), ranks=ranks)
    found = [by_protocol(ALL_REDUCE, group, 1000.0, one) for one in FACTS.protocols() if one.algorithm == TREE]
    assert found and any(way is not None for way in found) == trees
