"""How far apart the ranks of a group stand, by hand."""

import pytest

from calc.catalog import catalog
from calc.performance.exchanges import COPIES, EXPERT_COPIES, EXPERT_DATA, stride
from calc.performance.forward import CONTEXT, DATA, EXPERT, PIPELINE, TENSOR
from calc.training.reading import read_training


@pytest.mark.parametrize(
    ("group", "apart"),
    [
        (TENSOR, 1),
        (EXPERT, 1),
        (CONTEXT, 2),
        (DATA, 2),
        (COPIES, 16),  # groups of eight shards of two tensor ranks
        (EXPERT_DATA, 8),  # eight experts over two tensor ranks are four data ranks
        (EXPERT_COPIES, 16),
        (PIPELINE, 32),
    ],
)
def test_strides(group: str, apart: int) -> None:
    """64 devices: two tensor ranks side by side, 16 data ranks, and two stages farthest; shards of eight ranks."""
    plan = read_training(
        {
            "workload": "training",
            "model": "mixtral-8x7b",
            "parallelism": {"tensor": 2, "data": 16, "pipeline": 2, "expert": 8},
            "sharding": "zero-3",
            "shard_ranks": 8,
        },
        catalog(),
    ).plan
    assert stride(plan, group) == apart
