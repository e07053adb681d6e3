"""Seconds of operations by laws with round numbers, put in the place of a device's: each term added up by hand."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.catalog import catalog
from calc.catalog.records import KernelLaw
from calc.performance.fabric import DEVICE, joined
from calc.performance.forward import Segment
from calc.performance.kernel_laws import busiest_rank, tiled_rows
from calc.performance.kernels import Kernels
from calc.performance.operations import (
    Attention,
    Collective,
    Counted,
    Experts,
    HostCopy,
    Pointwise,
    Product,
    Recurrence,
)
from calc.performance.own_kernels import OwnKernels
from calc.performance.pass_times import pass_time
from calc.performance.passes import Passes
from calc.performance.schedules import schedule_of
from calc.performance.transfers import by_protocol
from calc.validation.bases import basis_of
from tests.performance.evenly import asked_of

CARD = catalog().accelerator("h100-sxm-80gb")
READ, RATE, UNITS = 3.35e12, 989.5e12, 132.0  # of its data sheet: bytes and 16-bit operations a second, compute units
# So little of both that each part of a sum is seconds: beside a second of start a slip in microseconds is not seen.
MEMORY_SHARE, MATRIX_SHARE = 0.5e-6, 0.25e-9
SHARES = {"memory_share": MEMORY_SHARE, "matrix_share": MATRIX_SHARE, "sharpness": 1.0, "start_s": 1.0}


def law(kind: str, *kernels: str, **values: float) -> KernelLaw:
    """Return a law that reaches its shares of the memory's and of the arithmetic's rate, one after the other."""
    own = {**SHARES, **values}
    return KernelLaw("own", "Own", "hopper", kind, kernels, (), "bf16", own, 0.0, 1, "", "", "")


def device(*laws: KernelLaw) -> Kernels:
    """Return a device that takes these laws."""
    found = Kernels(CARD)
    for one in laws:
        found.take(one)
    return found


def worked(moved_bytes: float, flops: float) -> float:
    """Return the seconds at these shares of the data sheet's rates."""
    return moved_bytes / (MEMORY_SHARE * READ) + flops / (MATRIX_SHARE * RATE)


def test_the_data_sheet() -> None:
    """Bandwidth, compute units and rates are those of the entry; a format that it lacks takes the next."""
    found = device()
    assert (found.bandwidth, found.units) == (READ, UNITS)
    assert found.rate("bf16") == RATE
    assert found.rate("nf4") == found.rate("bf16") == found.rate("fp16-whatever")
    assert found.rate("fp8") == 2 * RATE


@pytest.mark.parametrize("kernel", ["bf16", "fp8"])
def test_a_product(kernel: str) -> None:
    """A second of start, steps along 2,000 of 3,000, a tile of 64 rows alone, bytes brought to the weights' format."""
    known = law("product", kernel, depth_s=0.001, tile_s=0.002, split_depth=2000.0, quantize_bytes=3e6)
    operation = Product("q", 64.0, 100, 3000, kernel, 1e9, 2e8)
    overlapped = worked(1.2e9, 2 * 64 * 100 * 3000) + 0.002 * 3000 * 64 / 256
    cast = 3e6 / READ * 64 * 3000
    found = device(known)
    assert found.seconds(operation) == pytest.approx(1 + 0.001 * 2000 + cast + overlapped)
    assert found.cast_s(operation) == pytest.approx(cast)
    wide = operation._replace(m=1024.0)
    assert found.seconds(wide) == pytest.approx(1 + 2 + 16 * cast + worked(1.2e9, 2 * 1024 * 100 * 3000) + 0.002 * 3000)


@pytest.mark.parametrize(
    ("kernel", "tile"), [("bf16", 64), ("fp8-block", 128), ("fp8-block-triton", 128), ("w4a16", 256)]
)
def test_experts(kernel: str, tile: int) -> None:
    """Eight tokens for two experts each are 16 rows; six touched experts leave half a row idle, as wide as a tile.

    Of the half, tiles of as few rows as an expert has here leave a third or less.
    """
    known = law("experts", kernel, depth_s=0.001, quantize_bytes=3e7, idle_rows=0.5, row_s=0.01)
    operation = Experts("experts", 8.0, 6.0, 16, 2.0, 30, 50, 3, kernel, 1e9, 2e8)
    rows = 16.0
    idle = 3 * (1 - math.exp(-rows / 6 / 8)) * tile / 30
    expected = 1 + 0.08 + (3e7 / READ * 80 + 0.01) * rows + worked(1.2e9, (rows + idle) * 2 * 3 * 30 * 50)
    assert device(known).seconds(operation) == pytest.approx(expected)
    plain = law("experts", kernel)
    assert device(plain).seconds(operation) == pytest.approx(1 + worked(1.2e9, rows * 2 * 3 * 30 * 50))


@pytest.mark.parametrize(("kernel", "step"), [("mxfp4", 0.25), ("bf16", 0.0)])
def test_experts_that_are_unpacked(kernel: str, step: float) -> None:
    """Experts in FP4 take a quarter of a second for each of 80 steps where they are unpacked, whatever they read."""
    operation = Experts("experts", 8.0, 6.0, 16, 2.0, 30, 50, 3, kernel, 1e9, 2e8)
    unpacked = Kernels(CARD, own=OwnKernels(fp4_depth_s=0.25))
    assert unpacked.seconds(operation) - Kernels(CARD).seconds(operation) == pytest.approx(80 * step)


@pytest.mark.parametrize(("ahead_s", "saved"), [(0.25, 0.25), (3.0, 1.0)])
def test_launched_ahead(ahead_s: float, saved: float) -> None:
    """A kernel that is launched before the one before it ends is done as much sooner, by its whole start at most."""
    operation = Product("q", 1.0, 100, 3000, "bf16", 1e9, 2e8)
    known = law("product", "bf16", depth_s=0.0, tile_s=0.0, split_depth=1.0)
    ahead = Kernels(CARD, own=OwnKernels(ahead_s=ahead_s))
    ahead.take(known)
    assert device(known).seconds(operation) - ahead.seconds(operation) == pytest.approx(saved)


def test_experts_in_turn() -> None:
    """Packed experts that are multiplied one after the other start two products each, as products in 16 bit do."""
    operation = Experts("experts", 8.0, 6.0, 16, 2.0, 30, 50, 3, "w4a16", 1e9, 2e8)
    at_once, in_turn = device(law("experts", "w4a16")), Kernels(CARD, own=OwnKernels(experts_in_turn=1.0))
    in_turn.take(law("experts", "w4a16"))
    plain = basis_of(in_turn, Product("p", 1.0, 1, 1, "bf16", 0.0, 0.0))
    assert plain is not None
    started = 16 * 2 * plain.law.values["start_s"]
    assert in_turn.seconds(operation) - at_once.seconds(operation) == pytest.approx(started)
    unpacked = operation._replace(kernel="bf16")
    assert in_turn.seconds(unpacked) == Kernels(CARD).seconds(unpacked)


@pytest.mark.parametrize(
    ("tokens", "tiled"), [(8.0, 16.0), (16.0, 8 * 16 / (1 - math.exp(-4.0))), (512.0, 8 * 128 / (1 - math.exp(-1.0)))]
)
def test_experts_in_tiles(tokens: float, tiled: float) -> None:
    """Vectors of a few tokens stand alone; of 16 tokens a tile has 16, of 512 all of 128; eight kernels start.

    Eight experts of 32 or 1,024 rows in all: 4 and 128 of each, of which tiles are full once in 1 - e^-4 or 1 - 1/e.
    An empty place counts a quarter here, and what is read and written passes memory three times.
    """
    own = OwnKernels(
        expert_tile=128.0, expert_idle_share=0.25, expert_kernels=8.0, expert_passes=3.0, vector_start_s=0.25
    )
    operation = Experts("experts", tokens, 8.0, 8, 2.0, 30, 50, 3, "q8-0", 1e9, 2e8)
    found = Kernels(CARD, own=own)
    found.take(law("product", "q8-0", depth_s=0.0, tile_s=0.0, split_depth=1.0))
    rows = 2 * tokens + 0.25 * (tiled - 2 * tokens)
    assert found.seconds(operation) == pytest.approx(8 * 0.25 + worked(1e9 + 3 * 2e8, rows * 2 * 3 * 30 * 50))


def test_tiles_of_experts_in_turn() -> None:
    """Of 64 tokens six touched experts multiply their own rows alone, with two kernels for each of three products."""
    own = OwnKernels(expert_tile=128.0, expert_kernels=8.0, experts_in_turn=2.0, expert_passes=3.0, vector_start_s=0.25)
    operation = Experts("experts", 64.0, 6.0, 8, 2.0, 30, 50, 3, "q8-0", 1e9, 2e8)
    found = Kernels(CARD, own=own)
    found.take(law("product", "q8-0", depth_s=0.0, tile_s=0.0, split_depth=1.0))
    starts = 8 + 2 * 3 * 6
    assert found.seconds(operation) == pytest.approx(starts * 0.25 + worked(1e9 + 3 * 2e8, 128 * 2 * 3 * 30 * 50))


@pytest.mark.parametrize("in_turn", [{}, {"plain_in_turn": 2.0}])
def test_experts_whose_rows_are_sorted_by_the_host(in_turn: dict[str, float]) -> None:
    """For three products of a prompt it compares each of 64 × 2 rows with eight experts; in a decoding step none.

    It does so whether one kernel multiplies the experts or a library one after the other.
    """
    own = OwnKernels(expert_tile=128.0, **in_turn)
    for tokens, waited in ((64.0, 3 * 64 * 2 * 8 * 0.5), (8.0, 0.0)):
        operation = Experts("experts", tokens, 6.0, 8, 2.0, 30, 50, 3, "bf16", 1e9, 2e8)
        sorted_there = Kernels(CARD, own=own._replace(experts_sort_s=0.5)).seconds(operation)
        assert sorted_there - Kernels(CARD, own=own).seconds(operation) == pytest.approx(waited)


@pytest.mark.parametrize(("tokens", "kernel", "products"), [(129, "bf16", 12), (128, "bf16", 0), (129, "q8-0", 0)])
def test_plain_experts_in_turn(tokens: float, kernel: str, products: int) -> None:
    """Above 128 tokens four touched experts in 16 bit are 12 products, two kernels around each; packed ones none."""
    own = OwnKernels(expert_tile=1.0, expert_kernels=8.0, plain_in_turn=2.0, expert_passes=1.0, vector_start_s=0.25)
    operation = Experts("experts", tokens, 4.0, 8, 2.0, 30, 50, 3, kernel, 1e9, 2e8)
    found = Kernels(CARD, own=own)
    found.take(law("product", kernel, depth_s=0.0, tile_s=0.0, split_depth=1.0))
    apart = worked(1e9, tokens * 2 * 2 * 3 * 30 * 50) + worked(2e8, 0)
    assert found.seconds(operation) == pytest.approx(8 * 0.25 + products * (2 * 0.25 + 1) + apart)


def test_what_is_packed_in_fp4_is_multiplied_so() -> None:
    """By a fifth of the rate in FP4 here; all else by a third of that on integers, or FP8's where a sheet has none."""
    own, gb10 = OwnKernels(integer_share=0.3, fp4_share=0.2), catalog().accelerator("dgx-spark")
    assert gb10.quantity("int8") is None
    large = Product("p", 8192.0, 8192, 8192, "mxfp4", 0.0, 0.0)
    seconds = [Kernels(gb10, "", own).seconds(large._replace(kernel=kernel)) for kernel in ("mxfp4", "q4-k")]
    assert seconds == pytest.approx([large.flops / (0.2 * 500e12), large.flops / (0.3 * 250e12)], rel=0.1)


@given(rows=st.floats(1, 1e6), touched=st.floats(1, 512), tile=st.floats(1, 256))
def test_tiles_hold_all_rows(rows: float, touched: float, tile: float) -> None:
    """Each expert fills one tile at least, all rows are held, and of no expert more than one tile is added to them."""
    found = tiled_rows(rows=rows, touched=touched, tile=tile)
    assert max(rows, touched * tile) * (1 - 1e-9) <= found <= rows + touched * tile


@pytest.mark.parametrize(
    ("rows", "flops", "bound"), [(4096.0, 1, "compute"), (64.0, 1, "memory"), (64.0, 1e-4, "launch")]
)
def test_what_a_product_waits_for(rows: float, flops: float, bound: str) -> None:
    """295 operations for each byte take as long as the byte; a product of a few microseconds waits for its start."""
    facts = catalog()
    schedule = schedule_of(
        facts.engine("vllm").values,
        era="",
        weights=facts.number_format("bf16"),
        accelerator=CARD,
        market="",
        attention="flash",
    )
    wide = round(8192 * flops)
    operation = Product("p", rows, wide, 8192, "bf16", 2.0 * wide * 8192, 0.0)
    found = pass_time((Counted(operation, 1),), kernels=Kernels(CARD), schedule=schedule, sequences=1.0, decoding=0.0)
    assert [part.bound for part in found.parts] == [bound]


def test_the_busiest_rank() -> None:
    """Layers wait for the rank that most tokens are sent to: of eight with 16 experts each it has 1.66 times the mean.

    Measured with loads by a power law under vLLM on an H200: 1.67 times the seconds of even loads.
    """
    operation = Experts("experts", 8192.0, 16.0, 16, 1.0, 30, 50, 3, "bf16", 1e9, 2e8, ranks=8)
    known, share = law("experts", "bf16"), busiest_rank(experts=128, ranks=8, tokens=8192.0)
    assert share == pytest.approx(1.66, abs=0.01)
    served = Kernels(CARD, "vllm")
    served.take(known)
    assert served.seconds(operation) == pytest.approx(1 + worked(1.2e9, share * 8192 * 2 * 3 * 30 * 50))
    assert device(known).seconds(operation) == pytest.approx(1 + worked(1.2e9, 8192 * 2 * 3 * 30 * 50))  # in training


@given(st.integers(1, 6), st.integers(1, 6), st.floats(1.0, 1e5))
def test_more_ranks_are_busier(doublings: int, more: int, tokens: float) -> None:
    """No rank has less than the mean, one alone has all, and fewer experts on each rank even out less."""
    experts, ranks = 2 ** (doublings + more), 2**doublings
    found = busiest_rank(experts=experts, ranks=ranks, tokens=tokens)
    assert 1.0 <= found <= busiest_rank(experts=experts, ranks=2 * ranks, tokens=tokens)
    assert busiest_rank(experts=experts, ranks=1, tokens=tokens) == 1.0
    assert 1.0 <= busiest_rank(experts=experts, ranks=ranks, tokens=tokens, balanced=True) <= found


def test_a_balancer_leaves_the_busiest_rank_little() -> None:
    """NVIDIA counted on 32 GB200, with 256 tokens on each: 2.56 times the mean without a balancer, 1.11 with one.

    Of 288 places one had 2.79 times the mean: with a rank for each place there is nothing to even it out.
    """
    shares = [busiest_rank(experts=256, ranks=32, tokens=8192.0, balanced=known) for known in (False, True)]
    assert shares == [pytest.approx(2.56, rel=0.07), pytest.approx(1.11)]
    alone = busiest_rank(experts=256, ranks=288, tokens=8192.0, balanced=True)
    assert alone == pytest.approx(2.79, rel=0.1)


ATTENTION = Attention("attention", 2.0, 100.0, 50.0, 8, 2, 64, 32, True, None, False, "bf16", 1e9)


def test_attention_of_a_prompt() -> None:
    """Pairs with 10 keys of setup for each query and 4 elements for an exponential, the last wave, own bytes."""
    known = law("prefill", "bf16", setup_keys=10.0, setup_width=4.0, last_wave=0.5)
    pairs, queries = 2 * (100 * 50 + 100 * 101 / 2), 200.0
    work = 2 * 8 * (pairs + 10 * queries) * (96 + 8) * (1 + 0.5 * UNITS * 128 / (8 * queries))
    expected = 1 + worked(1e9 + 2 * queries * 8 * 96, work)
    assert device(known).seconds(ATTENTION) == pytest.approx(expected)
    latent = law("latent-prefill", "bf16", setup_keys=10.0, setup_width=4.0, last_wave=0.5)
    assert device(latent).seconds(ATTENTION._replace(latent=True)) == pytest.approx(expected)


@pytest.mark.parametrize(("window", "each"), [(1000, 1000 + 128), (11990, 4000 + 8001 / 2), (20000, 4000 + 8001 / 2)])
def test_a_tile_of_queries_goes_over_all_keys_that_any_sees(window: int, each: float) -> None:
    """Of 8,000 queries after 4,000 keys each takes 128 keys more than its window, and none more than without one."""
    operation = ATTENTION._replace(queries=8000.0, keys=4000.0, window=window)
    found = device(law("prefill", "bf16", setup_keys=0.0, setup_width=0.0, last_wave=0.0))
    own = 2 * 2 * 8000 * 8 * 96
    expected = 1 + worked(1e9 + own, 2 * 8 * 2 * 8000 * each * 96)
    assert found.seconds(operation) == pytest.approx(expected)


@pytest.mark.parametrize(("queries", "padding"), [(1.0, 4.0), (3.0, 16 / 12), (4.0, 1.0), (16.0, 1.0)])
@pytest.mark.parametrize("latent", [False, True])
def test_attention_of_the_next_tokens(queries: float, padding: float, latent: bool) -> None:
    """Up to sixteen; four query heads share a KV head, and rows of a matrix instruction that are empty cost as much."""
    known = law("latent-decode" if latent else "decode", "bf16", key_s=0.001, turn_s=0.1)
    operation = ATTENTION._replace(queries=queries, latent=latent)
    flops = operation.flops * padding
    expected = 1 + 0.001 * (50 + queries) + worked(1e9, flops) + 0.1 * 2 * 2 / UNITS
    assert device(known).seconds(operation) == pytest.approx(expected)


def test_heads_that_threads_attend_to_one_by_one_leave_no_rows_empty() -> None:
    """Without matrix instructions an engine's arithmetic is that of its query heads, whatever they share."""
    found = Kernels(CARD, own=OwnKernels(heads_alone=1.0))
    found.take(law("decode", "bf16", key_s=0.0, turn_s=0.0))
    operation = ATTENTION._replace(queries=1.0)
    assert found.seconds(operation) == pytest.approx(1 + worked(1e9, operation.flops))


@pytest.mark.parametrize(("queries", "kernel", "slow"), [(1, "q8-0", True), (3, "q8-0", False), (1, "bf16", False)])
def test_a_packed_cache_is_taken_by_each_query_head_for_itself(queries: float, kernel: str, slow: bool) -> None:
    """Kernels for vectors unpack keys and values once for every query head, up to two tokens of a sequence."""
    known = law("decode", kernel, key_s=0.0, turn_s=0.0)
    found = Kernels(CARD, own=OwnKernels(packed_elements=1e-10))
    found.take(known)
    operation = ATTENTION._replace(queries=queries, kernel=kernel)
    unpacked = operation.pairs * 8 * (64 + 32) / (1e-10 * found.unit_clocks)
    expected = 1 + unpacked if slow else device(known).seconds(operation)
    assert found.seconds(operation) == pytest.approx(expected)


@pytest.mark.parametrize(("queries", "kind"), [(1.0, "latent-decode"), (100.0, "latent-prefill")])
@pytest.mark.parametrize(("heads", "filled"), [(16, 64), (64, 64), (128, 128)])
def test_chosen_entries_and_heads_that_are_filled_up(queries: float, kind: str, heads: int, filled: int) -> None:
    """Kernels for 64 query heads take as long for sixteen, and for all entries that are chosen; others for what is."""
    known = law(kind, "bf16", key_s=0.0, turn_s=0.0, setup_keys=0.0, setup_width=0.0, last_wave=0.0)
    found = Kernels(CARD, own=OwnKernels(prompt_heads=64.0, step_heads=64.0))
    found.take(known)
    plain = ATTENTION._replace(queries=queries, latent=True, kv_heads=1, heads=heads)
    whole = plain._replace(heads=filled, keys=3000.0, causal=False, window=2048, chosen=2048)
    assert found.seconds(plain._replace(chosen=2048)) == pytest.approx(device(known).seconds(whole))
    assert found.seconds(plain) == pytest.approx(device(known).seconds(plain._replace(chosen=2048)))


@pytest.mark.parametrize(("heads", "tiles"), [(8, 1), (16, 1), (17, 2), (32, 2), (128, 1)])
def test_chosen_entries_that_are_gathered_one_by_one(heads: int, tiles: int) -> None:
    """A prompt's, by units that hold sixteen query heads, or by two of them many; else none are gathered."""
    found = Kernels(CARD, own=OwnKernels(gather_cycles=1e12))
    found.take(law("latent-prefill", "bf16", setup_keys=0.0, setup_width=0.0, last_wave=0.0))
    plain = ATTENTION._replace(queries=100.0, keys=3000.0, latent=True, kv_heads=1, heads=heads, window=2048)
    entries = plain.sequences * 100 * 2048
    assert found.seconds(plain._replace(chosen=2048)) == pytest.approx(1e12 * entries * tiles / found.unit_clocks)
    assert found.seconds(plain) < 0.1 * found.seconds(plain._replace(chosen=2048))


@pytest.mark.parametrize(("window", "keys"), [(None, 1024), (100, 100), (5000, 1024)])
def test_keys_that_are_walked(window: int | None, keys: int) -> None:
    """A window's, or up to 1,024 that kernels take side by side."""
    known = law("decode", "bf16", key_s=0.001, turn_s=0.0)
    operation = ATTENTION._replace(queries=1.0, keys=3000.0, window=window)
    expected = 1 + 0.001 * keys + worked(1e9, operation.flops * 4)
    assert device(known).seconds(operation) == pytest.approx(expected)


def test_a_recurrence() -> None:
    """Two kernels; ten steps of each of two sequences in turn, and the cutting into chunks, for one token not."""
    known = law("recurrence", "bf16", step_s=0.1, chunk_s=5.0)
    operation = Recurrence("state", "state", 20.0, 2.0, 1e9, 1e9)
    found = device(known)
    assert found.seconds(operation) == pytest.approx(2 + 5 + worked(1e9, 1e9) + 0.1 * 10)
    assert found.seconds(operation._replace(tokens=2.0)) == pytest.approx(2 + worked(1e9, 1e9) + 0.1)


def test_pointwise_kernels_start_as_an_engine_s_others_do() -> None:
    """Three norms of an engine whose kernels for a few rows take a quarter of a second to start take three quarters."""
    found = Kernels(CARD, own=OwnKernels(vector_start_s=0.25))
    assert found.seconds(Pointwise("norm", 0.0, 3.0)) == pytest.approx(0.75)


def test_pointwise_work() -> None:
    """A second for each of three kernels, and the bytes."""
    assert device(law("pointwise", "bf16")).seconds(Pointwise("norm", 1e9, 3.0)) == pytest.approx(3 + worked(1e9, 0))


def test_a_copy_to_the_host() -> None:
    """At what PCIe reaches, whatever the law of kernels."""
    found = device()
    assert found.seconds(HostCopy("copy", 2 * found.host_rate)) == 2.0


@pytest.mark.parametrize(("ranks", "share"), [(2, 0.2), (8, 0.4)])
def test_a_message(ranks: int, share: float) -> None:
    """Half a second, a tenth for each of 2 (p - 1) steps, and 2 (p - 1) / p of the message at a share of the link."""
    values = {"start_s": 0.5, "hop_s": 0.1, "pair_share": 0.2, "link_share": 0.4, "ramp": 0.5}
    known = law("message", f"all-reduce/{DEVICE}", **values)
    found = device(known)
    peak = joined(CARD, ranks=ranks).peak
    waiting = 0.5 + 0.1 * 2 * (ranks - 1)
    sending = 2 * (ranks - 1) / ranks * 1e12 / (peak * share)
    message = Collective("sum", "all-reduce", 1e12, ranks, "tensor")
    expected = waiting + sending + 0.5 * (waiting * sending) ** 0.5
    assert found.seconds(message) == pytest.approx(expected)
    assert found.seconds(message._replace(ranks=1)) == 0.0
    found.take(law("message", f"all-reduce/{DEVICE}", **{**values, "start_s": 1.5}))
    assert found.seconds(message) > expected + 0.9


def test_one_device_sends_nothing() -> None:
    """By no protocol: nothing is sent, in no steps, without waiting."""
    alone = joined(CARD, ranks=1)
    for protocol in catalog().protocols():
        found = by_protocol("all-reduce", joined=alone, message_bytes=1e6, protocol=protocol)
        if found is not None:
            assert found[3:] == (1e6, 0.0, 0, 0, 0.0, 0.0, 0.0)
            assert (found.bus_rate, found.least_seconds) == (0.0, 0.0)


def passes(*, has_encoder: bool = False, all_logits: bool = False, keeps_prompt: float = 0.0) -> Passes:
    """Return passes that are asked what their segments are, and whose times are noted."""
    demand: Any = asked_of(100, 50, has_encoder=has_encoder)
    demand.all_logits = all_logits
    none: Any = None
    schedule: Any = SimpleNamespace(values={"keeps_prompt": keeps_prompt})
    return Passes(demand, none, none, none, schedule)


def test_what_a_pass_is_of() -> None:
    """A step has one new token and wants one output; a prompt those of all positions where they are asked for."""
    plain = passes()
    assert plain.step(sequences=3.0, context=70) == Segment(3.0, 1, 70, 1.0, 0, 0)
    assert plain.prompt(sequences=2.0, tokens=30, before=9) == Segment(2.0, 30, 9, 1.0, 0, 0)
    for every in (passes(all_logits=True), passes(keeps_prompt=1.0)):
        assert every.prompt(sequences=2.0, tokens=30, before=9) == Segment(2.0, 30, 9, 30.0, 0, 0)


def test_what_a_pass_is_of_where_an_encoder_reads() -> None:
    """It reads a prompt at once, and the decoder writes a token; steps look at what they have written."""
    translator = passes(has_encoder=True)
    assert translator.prompt(sequences=2.0, tokens=30, before=9) == Segment(2.0, 1, 0, 1.0, encoding=30)
    assert translator.step(sequences=3.0, context=120) == Segment(3.0, 1, 20, 1.0, encoded=100)
    assert translator.step(sequences=3.0, context=90) == Segment(3.0, 1, 0, 1.0, encoded=100)
