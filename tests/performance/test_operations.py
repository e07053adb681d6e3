"""Operations: what single ones compute and move, worked out by hand."""

from hypothesis import given
from hypothesis import strategies as st

from calc.performance.collectives import ALL_REDUCE
from calc.performance.operations import Attention, Collective, Counted, Experts, Product, looked_at
from calc.performance.totals import total_bytes, total_flops, weights_read
from tests.performance.sent import total_sent


def attention(**changes: object) -> Attention:
    """Return attention of 32 query heads over 8 KV heads of 128."""
    found = Attention("Attention", 2, 100, 0, 32, 8, 128, 128, True, None, False, "bf16", 0.0)
    return found._replace(**changes)


def test_a_product_does_two_operations_for_each_of_its_elements() -> None:
    """3 × 4 times 4 × 5: sixty multiplications and sixty additions."""
    product = Product("x", 3, 5, 4, "bf16", 40, 54)
    assert product.flops == 120
    assert product.bytes == 94


def test_experts_work_on_the_tokens_sent_to_them() -> None:
    """Ten tokens, each to two experts of three matrices of 6 × 4."""
    experts = Experts("x", 10, 8, 8, 2, 6, 4, 3, "bf16", 8 * 144, 0)
    assert experts.flops == 10 * 2 * 3 * 2 * 6 * 4


def test_causal_attention_looks_at_half_of_the_square() -> None:
    """100 tokens look at 5,050 pairs, and at each of them 32 heads multiply 128 elements twice."""
    assert attention().flops == 2 * 2 * 5050 * 32 * 256
    assert attention(causal=False).pairs == 2 * 100 * 100
    assert attention(queries=1, keys=999).pairs == 2 * 1000


@given(st.integers(1, 60), st.integers(0, 60), st.integers(1, 60))
def test_pairs_are_those_that_a_mask_leaves(queries: int, keys: int, window: int) -> None:
    """Counted one by one: query i sees all before it and itself, of those the newest that the window holds."""
    seen = [min(keys + place + 1, window) for place in range(queries)]
    assert looked_at(queries=queries, keys=keys, window=window) == sum(seen)
    assert looked_at(queries=queries, keys=keys) == sum(keys + place + 1 for place in range(queries))


def test_totals_count_each_operation_as_often_as_it_is_done() -> None:
    """Two layers of a product and a sum over four ranks, of which each sends 3/4 of the message twice."""
    product, message = Product("x", 1, 5, 4, "bf16", 40, 18), Collective("y", ALL_REDUCE, 100, 4, "tensor")
    operations = (Counted(product, 2), Counted(message, 2))
    assert total_flops(operations) == 80
    assert total_bytes(operations) == 116
    assert weights_read(operations) == 80
    assert total_sent(operations) == total_sent(operations, "tensor") == 300
    assert total_sent(operations, "expert") == 0
