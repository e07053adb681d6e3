"""Seconds of single kernels, worked by hand from laws with round numbers: what each term adds, and where it begins."""

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.performance.kernel_laws import (
    DecodeLaw,
    ExpertsLaw,
    MessageLaw,
    PrefillLaw,
    ProductLaw,
    StreamLaw,
    blend,
    decode_s,
    experts_s,
    message_s,
    most_touched,
    prefill_s,
    product_s,
    stream_s,
)


def test_blends() -> None:
    """A right triangle of 3 and 4 with a power of 2, their sum with 1, and one alone as it is, in either order."""
    assert blend(3.0, 4.0, 2.0) == blend(4.0, 3.0, 2.0) == 5.0
    assert blend(3.0, 4.0, 1.0) == 7.0
    assert blend(0.0, 2.0, 3.0) == blend(2.0, 0.0, 3.0) == 2.0
    assert blend(0.0, 0.0, 2.0) == 0.0
    assert blend(2.0, 2.0, 2.0) == pytest.approx(2 * 2**0.5)
    assert blend(0.25, 0.5, 1.0) == 0.75  # both below one


PRODUCT = ProductLaw(
    start_s=100.0, depth_s=0.5, tile_s=0.0, split_depth=8.0, read=2.0, rate=4.0, sharpness=1.0, quantize_s=0.0
)


@pytest.mark.parametrize(
    ("law", "m", "k", "seconds"),
    [
        (PRODUCT, 2, 4, 100 + 0.5 * 4 + 12 / 2 + 40 / 4),
        (PRODUCT, 2, 16, 100 + 0.5 * 8 + 16),  # kernels split what is deeper than 8
        (PRODUCT._replace(quantize_s=3.0), 2, 4, 100 + 2 + 3 * 2 * 4 + 16),
        (PRODUCT._replace(tile_s=2.0), 128, 4, 100 + 2 + 16 + 2 * 4 / 2),  # half a tile of 256 rows
        (PRODUCT._replace(tile_s=2.0), 256, 4, 100 + 2 + 16 + 2 * 4),
        (PRODUCT._replace(tile_s=2.0), 512, 4, 100 + 2 + 16 + 2 * 4),  # more rows are more tiles, side by side
        (PRODUCT._replace(tile_s=0.25), 256, 2, 100 + 1 + 16 + 0.5),
    ],
)
def test_a_product(law: ProductLaw, m: float, k: float, seconds: float) -> None:
    """12 bytes at 2 a second, 40 operations at 4, one after the other; the way through the depth; tiles that idle."""
    assert product_s(law, m=m, k=k, flops=40.0, moved_bytes=12.0) == pytest.approx(seconds)


def test_a_product_overlaps_by_its_sharpness() -> None:
    """Three seconds of memory beside four of arithmetic are five, and beside twelve of tiles thirteen."""
    law = ProductLaw(0.0, 0.0, 12.0, 1.0, 1.0, 1.0, 2.0, 0.0)
    assert product_s(law, m=256, k=1, flops=4.0, moved_bytes=3.0) == pytest.approx(13.0)


def test_a_cast_costs_by_the_element_and_by_the_row() -> None:
    """By hand: 3 for the product, 2 · 5 · 4 for the elements of 5 rows, and 7 for each row's scale."""
    law = ProductLaw(0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 7.0)
    assert product_s(law, m=5, k=4, flops=0.0, moved_bytes=3.0) == pytest.approx(3.0 + 2.0 * 5 * 4 + 7.0 * 5)


PREFILL = PrefillLaw(
    start_s=10.0, read=2.0, rate=8.0, sharpness=1.0, setup_keys=3.0, setup_width=5.0, last_wave=0.0, units=4.0
)


@pytest.mark.parametrize(
    ("law", "widths", "seconds"),
    [
        # 2 operations × 6 heads × (7 pairs + 3 × 2 queries) × (width + 2 × 5) at 8 a second, and 20 bytes at 2
        (PREFILL, 6, 10 + 20 / 2 + 2 * 6 * 13 * 16 / 8),
        (PREFILL, 512, 10 + 10 + 2 * 6 * 13 * 522 / 8),
        (PREFILL, 1024, 10 + 10 + 2 * 6 * 13 * 1034 / 8 * 2),  # twice as wide as what stays in registers
        # a quarter of a wave of 4 units × 128 queries, over 6 × 2 rows of queries
        (PREFILL._replace(last_wave=0.25), 6, 10 + 10 + 2 * 6 * 13 * 16 / 8 * (1 + 0.25 * 4 * 128 / 12)),
    ],
)
def test_attention_of_a_prompt(law: PrefillLaw, widths: float, seconds: float) -> None:
    """Pairs and what each query costs besides, by the elements of a head and what the exponential takes."""
    found = prefill_s(law, pairs=7.0, queries=2.0, heads=6.0, widths=widths, moved_bytes=20.0)
    assert found == pytest.approx(seconds)


@pytest.mark.parametrize(("keys", "walked"), [(10, 10), (1024, 1024), (5000, 1024)])
def test_attention_of_one_token(keys: float, walked: float) -> None:
    """Keys one after the other up to 1,024, which run side by side; the cache, turns of units, and operations."""
    law = DecodeLaw(start_s=2.0, key_s=0.5, read=4.0, rate=8.0, sharpness=1.0, turn_s=3.0)
    found = decode_s(law, keys=keys, turns=5.0, flops=16.0, cache_bytes=12.0)
    assert found == pytest.approx(2 + 0.5 * walked + 12 / 4 + 3 * 5 + 16 / 8)
    sharp = law._replace(sharpness=2.0, start_s=0.0, key_s=0.0)  # 3 and 4 are 5; 5 and 12 are 13
    assert decode_s(sharp, keys=keys, turns=4 / 3, flops=96.0, cache_bytes=12.0) == pytest.approx(13.0)


EXPERTS = ExpertsLaw(
    1.0, depth_s=3.0, read=2.0, rate=8.0, sharpness=1.0, quantize_s=0.5, idle_rows=2.0, row_s=0.25, tile=256.0
)


@pytest.mark.parametrize(("width", "idle"), [(1024.0, 2.0), (256.0, 2.0), (128.0, 4.0), (64.0, 8.0)])
def test_experts(width: float, idle: float) -> None:
    """Thousands of rows and two idle ones for each of three experts, 4 operations each at 8; 6 bytes at 2; sorting.

    Of a slice narrower than a tile, idle rows are as wide as the tile: twice as many where it is half as wide.
    """
    found = experts_s(EXPERTS, rows=6e3, touched=3.0, width=width, depth=4.0, flops_per_row=4.0, moved_bytes=6.0)
    assert found == pytest.approx(1 + 3 * 4 + (0.5 * 4 + 0.25) * 6e3 + 6 / 2 + (6e3 + idle * 3) * 4 / 8, rel=1e-9)


def test_experts_of_few_rows_take_small_tiles() -> None:
    """At eight rows an expert, $1 - 1 / e$ of the idle ones are left; beside one row nearly none of many are."""
    few = {"width": 256.0, "depth": 0.0, "flops_per_row": 8.0, "moved_bytes": 0.0}
    law = EXPERTS._replace(start_s=0.0, quantize_s=0.0, row_s=0.0)
    assert experts_s(law, rows=24.0, touched=3.0, **few) == pytest.approx(24 + 6 * (1 - exp(-1)))
    many = law._replace(idle_rows=80.0)
    assert 1.0 < experts_s(many, rows=1.0, touched=1.0, **few) < 1.0 + 80 / 8


@pytest.mark.parametrize(("steps", "chunk"), [(1.0, 0.0), (1.5, 7.0), (2.0, 7.0)])
def test_passing_over_memory(steps: float, chunk: float) -> None:
    """Each kernel starts; bytes and operations; tokens in turn; and once what cuts a prompt into chunks."""
    law = StreamLaw(start_s=3.0, read=2.0, rate=4.0, sharpness=1.0, step_s=5.0, chunk_s=7.0)
    found = stream_s(law, launches=2.0, flops=8.0, moved_bytes=6.0, steps=steps)
    assert found == pytest.approx(2 * 3 + chunk + 6 / 2 + 8 / 4 + 5 * steps)


def test_a_message() -> None:
    """Waiting 1 + 2 × 4 s and sending 8 bytes at 2 a second, with half of the mean of 9 and 4: 9 + 4 + 3."""
    law = MessageLaw(start_s=1.0, hop_s=2.0, rate=2.0, ramp=0.5)
    assert message_s(law, steps=4, sent_bytes=8.0) == pytest.approx(16.0)


@given(experts=st.integers(1, 256), share=st.floats(0.01, 1), ranks=st.integers(1, 64))
def test_the_rank_that_touches_most_of_its_experts(experts: int, share: float, ranks: int) -> None:
    """It touches no fewer than the mean and no more than it has; alone it is the mean, and more ranks differ more."""
    touched = experts * share
    found = [most_touched(experts=experts, touched=touched, ranks=count) for count in (1, ranks, 2 * ranks)]
    assert touched * (1 - 1e-12) <= found[0] <= found[1] <= found[2] <= experts
    assert found[0] == pytest.approx(touched)
