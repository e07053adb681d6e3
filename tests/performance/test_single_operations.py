"""What each kind of operation computes, moves and launches, in numbers worked by hand."""

import pytest

from calc.performance.collectives import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    REDUCE_SCATTER,
    RING,
    SEND,
    TREE,
    sent_bytes,
    step_count,
)
from calc.performance.operations import (
    Attention,
    AttentionBackward,
    Collective,
    Counted,
    Experts,
    HostCopy,
    Operation,
    Pass,
    Pointwise,
    Product,
    Recurrence,
    looked_at,
)
from calc.performance.pipeline import pipelined
from calc.performance.totals import total_bytes, total_flops, total_launches, weights_read

PRODUCT = Product("p", 3, 5, 7, "bf16", 70.0, 72.0)
EXPERTS = Experts("e", 10, 4, 8, 2, 6, 4, 3, "bf16", 576.0, 160.0)
ATTENTION = Attention("a", 2, 3, 4, 8, 2, 16, 12, True, None, False, "bf16", 900.0)
MESSAGE = Collective("m", ALL_REDUCE, 100.0, 4, "tensor")


@pytest.mark.parametrize(
    ("operation", "flops", "moved", "launches"),
    [
        (PRODUCT, 2 * 3 * 5 * 7, 142, 1),
        (EXPERTS, 2 * 10 * 2 * 3 * 6 * 4, 736, 10),
        # two sequences of 3 × 4 pairs with the cache and 6 among themselves; 8 heads of 16 and 12 elements
        (ATTENTION, 2 * (2 * (12 + 6)) * 8 * 28, 900, 1),
        (AttentionBackward(ATTENTION), 5 * (2 * (12 + 6)) * 8 * 28, 1800, 3),
        (Recurrence("r", "state", 5, 5, 11.0, 13.0), 11, 13, 2),
        (Recurrence("r", "state", 5, 1, 11.0, 13.0), 11, 13, 12),  # a prompt, in chunks
        (Recurrence("r", "short convolution", 5, 1, 11.0, 13.0), 11, 13, 2),
        (Pointwise("n", 17.0, 4.0), 0, 17, 4),
        (MESSAGE, 0, 0, 1),
        (HostCopy("h", 5.0), 0, 0, 0),
    ],
)
def test_each_kind(operation: Operation, flops: float, moved: float, launches: float) -> None:
    """Operations, bytes of device memory, and kernels; backward there are five products where forward are two."""
    assert (operation.flops, operation.bytes, operation.launches) == (flops, moved, launches)


def test_the_gradients_of_attention_have_its_name() -> None:
    """A table says whose gradients they are."""
    assert AttentionBackward(ATTENTION).name == "a, gradients"


@pytest.mark.parametrize(
    ("queries", "keys", "causal", "window", "pairs"),
    [
        (4, 0, True, None, 10),
        (4, 10, True, None, 50),
        (4, 10, True, 14, 50),  # a window that all fit into
        (4, 10, True, 13, 49),  # the last query sees one less
        (4, 2, True, 3, 12),  # 3, then 3 of 4, 5, 6
        (4, 1, True, 3, 2 + 3 + 3 + 3),
        (4, 3, True, 3, 12),
        (4, 10, True, 2, 8),
        (4, 10, False, None, 56),
        (4, 10, False, 6, 24),
        (4, 1, False, 6, 20),
    ],
)
def test_pairs(queries: int, keys: int, causal: bool, window: int | None, pairs: int) -> None:
    """Counted on paper: a query sees the cache, those before it and itself, or the window's part of them."""
    assert looked_at(queries=queries, keys=keys, causal=causal, window=window) == pairs


def test_totals() -> None:
    """Of a product three times, experts twice and two messages, by kind."""
    done: Pass = (
        Counted(PRODUCT, 3),
        Counted(EXPERTS, 2),
        Counted(MESSAGE, 2),
        Counted(MESSAGE._replace(kind=SEND, group="pipeline"), 5),
        Counted(Pointwise("n", 17.0, 4.0), 2),
    )
    assert total_flops(done) == 3 * 210 + 2 * 2880
    assert total_flops(done, Product) == 630
    assert total_flops(done, Product, Experts) == 6390
    assert total_bytes(done) == 3 * 142 + 2 * 736 + 2 * 17
    assert total_bytes(done, Experts, Pointwise) == 2 * 736 + 34
    assert total_launches(done) == 3 + 20 + 2 + 5 + 8
    assert weights_read(done) == 3 * 70 + 2 * 576
    assert (total_flops(()), total_bytes(()), total_launches(()), weights_read(())) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("kind", "ring", "tree", "sent"),
    [
        (ALL_REDUCE, 14, 6, 175.0),
        (ALL_GATHER, 7, 3, 87.5),
        (REDUCE_SCATTER, 7, 3, 87.5),
        (ALL_TO_ALL, 1, 1, 87.5),
        (SEND, 1, 1, 100.0),
    ],
)
def test_collectives_of_eight(kind: str, ring: int, tree: int, sent: float) -> None:
    """Thakur and others (2005): seven steps around a ring, three levels of a tree, twice for an all-reduce."""
    assert [step_count(kind, ranks=8, algorithm=algorithm) for algorithm in (RING, TREE)] == [ring, tree]
    assert sent_bytes(kind, ranks=8, message_bytes=100.0) == sent


@pytest.mark.parametrize(("ranks", "levels"), [(2, 1), (3, 2), (4, 2), (5, 3), (9, 4)])
def test_levels_of_a_tree(ranks: int, levels: int) -> None:
    """As many as it takes to double up to all of them."""
    assert step_count(ALL_GATHER, ranks=ranks, algorithm=TREE) == levels


@pytest.mark.parametrize("kind", [ALL_REDUCE, ALL_GATHER, ALL_TO_ALL])
def test_a_group_of_one_takes_no_step(kind: str) -> None:
    """There is nobody to send to."""
    assert step_count(kind, ranks=1, algorithm=RING) == 0


def test_stages_of_different_lengths() -> None:
    """Two stages of 1 s and one of 3 s: four micro-batches keep the slowest for 12 s, the others make it wait 2."""
    assert pipelined([(1.0, 2), (3.0, 1)], micro_batches=4) == (14.0, 2.0)
    assert pipelined([(1.0, 2), (3.0, 1)], micro_batches=4, virtual_stages=2) == (13.0, 1.0)
    assert pipelined([(3.0, 1)], micro_batches=4) == (12.0, 0.0)
