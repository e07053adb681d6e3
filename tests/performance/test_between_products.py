"""What a training step moves between its products: bytes counted by hand for Llama 3.1 8B and 1,024 tokens."""

from typing import Any

import pytest

from calc.architecture.stages import Stage
from calc.catalog import catalog
from calc.performance.between_products import ADDED, BIASES, between, put_together
from calc.performance.exchanges import exchanges
from calc.performance.operations import Pointwise
from calc.training.reading import read_training

TOKENS, HIDDEN, VOCABULARY = 1024, 4096, 128_256
STREAM = TOKENS * HIDDEN * 2  # bytes of a layer's input in BF16
LOGITS = TOKENS * VOCABULARY * 4  # in FP32


def moved(*, first: int = 0, last: int = 32, **changes: Any) -> list[list[Pointwise]]:
    """Return what is moved by table and loss, by layers forward, and backward."""
    asked = {"workload": "training", "model": "llama-3.1-8b", "sequence_tokens": TOKENS} | changes
    plan = read_training(asked, catalog()).plan
    found = between(plan, Stage(plan.architecture, first, last))
    kinds = [[one.operation for one in counted] for counted in found]
    return [[operation for operation in kind if isinstance(operation, Pointwise)] for kind in kinds]


def test_the_table_is_read_and_written_once() -> None:
    """Each token's row is read and written, and its gradient is added to the table's by the same bytes."""
    first, _, back = moved()
    assert [one.bytes for one in first + back if one.name == "Token table"] == [2 * STREAM, 2 * STREAM]


@pytest.mark.parametrize(
    ("changes", "passes"), [({}, 6), ({"compile": True}, 3), ({"cross_entropy": "fused"}, 3)], ids=str
)
def test_the_loss_goes_over_its_logits(changes: dict[str, Any], passes: int) -> None:
    """Six readings and writings of FP32 logits, three where the loss is one kernel: half forward, half backward."""
    first, _, back = moved(**changes)
    assert [one.bytes for one in first + back if one.name == "Loss"] == [passes / 2 * LOGITS] * 2
    assert [one.kernels for one in first + back if one.name == "Loss"] == [passes] * 2


def test_a_compiled_layer_reads_and_writes_each_tensor_once() -> None:
    """Thirty streams: two norms 4, rotation of queries and keys 2.5, two additions 6, SiLU 7 and its product 10.5.

    The hidden layer of the MLP is 3.5 streams wide, keys are a quarter of one.
    """
    _, (layer,), _ = moved(compile=True)
    assert layer.bytes == (2 * 2 + 2 * 1.25 + 2 * 3 + 2 * 3.5 + 3 * 3.5) * STREAM


def test_casts_of_autocast_stand_beside_kernels_written_by_hand() -> None:
    """Each of five matrices behind a norm reads its input in FP32 and writes it in BF16; compiled none does."""
    changes = {"precision": "bf16-autocast", "compile": True}
    (_, (compiled,), _), (_, (by_hand,), _) = moved(**changes), moved(**changes, cross_entropy="fused")
    assert by_hand.bytes - compiled.bytes == 5 * (4 + 2) * TOKENS * HIDDEN
    assert by_hand.kernels - compiled.kernels == 5


def test_an_adapter_in_fp32_is_cast_around() -> None:
    """PEFT raises its input to FP32, and autocast takes it and both weights, of rank 16, back: four casts of 6 bytes.

    Where a framework keeps adapters in 16 bit, as DeepSpeed does, there is none.
    """
    changes: dict[str, Any] = {"method": "lora", "base_weights": "bf16", "precision": "bf16-autocast"}
    changes["lora"] = {"rank": 16, "targets": ["q_proj"]}
    (_, (wide, _), _), (_, (narrow, _), _) = (moved(**changes, adapter_dtype=dtype) for dtype in ("fp32", "bf16"))
    assert wide.bytes - narrow.bytes == 6 * (2 * TOKENS * HIDDEN + 16 * (HIDDEN + HIDDEN))
    assert wide.kernels - narrow.kernels == 4


def test_what_four_bits_give_is_cast_to_the_type_of_the_stream() -> None:
    """Under autocast the stream of QLoRA is FP32, and so are the values between its matrices, twice as large."""
    changes: dict[str, Any] = {"method": "qlora", "lora": {"rank": 8, "targets": ["q_proj"]}, "adapter_dtype": "bf16"}
    (_, (wide, _), _), (_, (narrow, _), _) = (moved(**changes, precision=one) for one in ("bf16-autocast", "bf16"))
    inner = 6 * TOKENS * 8192 * 2  # gate, its activation, and the product of it with the other: read and written
    assert wide.bytes - narrow.bytes > inner


def test_what_an_adapter_gives_is_scaled_and_added() -> None:
    """Forward two kernels read three values and write two, backward one reads and writes; without adapters none."""
    changes: dict[str, Any] = {"method": "lora", "precision": "bf16", "adapter_dtype": "bf16"}
    _, ahead, back = moved(**changes, lora={"rank": 8, "targets": ["q_proj"]})
    found = [[(one.bytes, one.kernels) for one in way if one.name == ADDED] for way in (ahead, back)]
    assert found == [[(5 * STREAM, 2)], [(2 * STREAM, 1)]]
    assert ADDED not in {one.name for way in moved()[1:] for one in way}


def test_what_adds_to_a_product_reads_it_once_more() -> None:
    """Unsloth's addmm_ scales and adds where the matrix's product stands; with dropout its own kernels do not serve."""
    changes: dict[str, Any] = {"method": "lora", "precision": "bf16", "adapter_dtype": "bf16", "framework": "unsloth"}
    lora: dict[str, Any] = {"rank": 8, "targets": ["q_proj"]}
    for dropout, expected in ((0, [[(STREAM, 0)], []]), (0.1, [[(5 * STREAM, 2)], [(2 * STREAM, 2)]])):
        _, ahead, back = moved(**changes, lora={**lora, "dropout": dropout})
        assert [[(one.bytes, one.kernels) for one in way if one.name == ADDED] for way in (ahead, back)] == expected


def test_dropout_of_adapters_is_a_kernel_of_each() -> None:
    """It reads and writes the adapter's input, with a mask of one byte an element that counts twice."""
    found = []
    for dropout in (0, 0.1):
        lora = {"rank": 8, "targets": ["q_proj"], "dropout": dropout}
        found.append(moved(method="lora", precision="bf16", adapter_dtype="bf16", lora=lora)[1][0])
    assert found[1].kernels - found[0].kernels == 1
    assert found[1].bytes - found[0].bytes == (2 + 2 + 2) * TOKENS * HIDDEN


def test_a_stage_in_the_middle_has_neither_table_nor_loss() -> None:
    """Only the first stage looks tokens up, and only the last has logits."""
    assert moved(first=8, last=16)[0] == []
    assert [one.name for one in moved(first=0, last=16)[0]] == ["Token table"]
    assert [one.name for one in moved(first=16, last=32)[0]] == ["Loss"]


def test_parts_that_are_run_one_by_one_move_more() -> None:
    """What an operation of several parts keeps for backward is written and read again where nothing joins them."""
    eager, compiled = (moved(compile=compiles)[1:] for compiles in (False, True))
    assert all(one.name for kind in (*eager, *compiled) for one in kind)
    for apart, joined in zip(eager, compiled, strict=True):
        assert sum(one.bytes for one in apart) > sum(one.bytes for one in joined)


def put_in_order(**changes: Any) -> float:
    """Return the bytes of the pieces that are put in order forward, two tensor ranks and two data ranks."""
    layout = {"parallelism": {"tensor": 2, "data": 2}, "sharding": "fsdp", "sequence_parallel": True}
    asked = {"workload": "training", "model": "llama-3.1-8b", "sequence_tokens": TOKENS} | layout | changes
    plan = read_training(asked, catalog()).plan
    sent = exchanges(plan, Stage(plan.architecture, 0, 32)).forward
    copies = (item for item in put_together(plan, sent) if isinstance(item.operation, Pointwise))
    return sum(times * one.bytes for one, times in copies)


def test_pieces_of_the_stream_are_put_in_order() -> None:
    """Two gathers and two scatters of each of 32 layers read the stream and write it."""
    assert put_in_order() == 32 * 4 * 2 * STREAM


@pytest.mark.parametrize(
    "changes", [{"sequence_parallel": False}, {"tensor_overlap": True}, {"framework": "megatron-lm"}], ids=str
)
def test_pieces_in_order_are_left(changes: dict[str, Any]) -> None:
    """Sums of the whole stream have no order, nor have pieces beside their products, nor Megatron-LM's tokens first."""
    assert put_in_order(**changes) == 0.0


def test_biases_of_experts_are_added_one_by_one() -> None:
    """Of gpt-oss 20B under Megatron Core: four rows a token, inside as wide as outside, eight experts on each of four.

    Forward each expert weighs and adds, and rows are joined, clamped by halves and joined: 14 times their bytes.
    Backward the bias and the scores have gradients, too. Other frameworks add them in a kernel, other models have none.
    """
    asked: dict[str, Any] = {"model": "gpt-oss-20b", "last": 24, "framework": "nemo"}
    asked["parallelism"] = {"data": 4, "expert": 4}
    rows = 4 * TOKENS * 2880 * 2
    _, ahead, back = moved(**asked)
    found = [[(one.bytes, one.kernels) for one in way if one.name == BIASES] for way in (ahead, back)]
    assert found[0] == [(14 * rows, 2 * 8 + 4)] * len(found[0])
    assert found[1] == [(18 * rows, 5 * 8 + 5)] * len(found[1])
    assert found[0]
    for changes in ({"framework": "trl"}, {"model": "qwen3-30b-a3b", "last": 48}):
        assert not [one for way in moved(**asked | changes) for one in way if one.name == BIASES]
