"""Moments of a training step by hand, of Llama 3.2 1B: what layers, the loss and the optimizer hold beside what stays.

Its config: 16 layers of 2,048 with 32 query and 8 KV heads of 64 and a gated MLP of 8,192; 128,256 tokens, tied.
"""

from typing import Any

import pytest

from calc.architecture.stages import stages
from calc.catalog import catalog
from calc.memory.training.moments import BACKWARD, FORWARD, LOSS, STEP, Moment
from calc.memory.training.phases import Step, timelines
from calc.training.reading import read_training

LAYER = 2048 * (2048 + 512 + 512 + 2048) + 3 * 2048 * 8192 + 2 * 2048
TABLE = 128_256 * 2048
ALL = 16 * LAYER + TABLE + 2048


def steps(**changes: Any) -> list[Step]:
    """Return the walked steps of each pipeline stage."""
    asked = {"workload": "training", "model": "llama-3.2-1b", "sequence_tokens": 512, **changes}
    plan = read_training(asked, catalog()).plan
    found = [
        Step(plan, stage, position) for position, stage in enumerate(stages(plan.architecture, plan.layout.pipeline))
    ]
    for step in found:
        step.walk()
    return found


def beside(step: Step, reason: str) -> tuple[Moment, dict[str, int]]:
    """Return the moment of a reason, and what it has beside what stays."""
    moment = next(moment for moment in step.moments if reason in moment.reason)
    return moment, {name: size - step.static[name] for name, size in moment.parts.items() if size != step.static[name]}


@pytest.mark.parametrize(
    ("parallelism", "copied"), [({}, 0), ({"data": 2}, 4 * ALL), ({"context": 2}, 4 * ALL), ({"tensor": 2}, 0)]
)
def test_buckets_of_data_parallel_ranks_are_a_copy_of_the_gradients(parallelism: dict[str, int], copied: int) -> None:
    """PyTorch's DDP copies gradients into buckets of their type; one rank alone, or with tensor ranks, has none."""
    (step,) = steps(precision="bf16-autocast", parallelism=parallelism)
    assert step.total.trained == (ALL if parallelism != {"tensor": 2} else (ALL + 33 * 2048) // 2)
    assert step.static["communication_buffers"] == copied


@pytest.mark.parametrize(
    ("changes", "cached"),
    [
        ({"precision": "bf16-autocast", "checkpointing": "full"}, 2 * 16 * LAYER),
        ({"precision": "bf16-autocast"}, 0),
        (
            {"precision": "bf16-autocast", "offload": ["activations"]},
            2 * (16 - 2) * LAYER,
        ),  # two layers' are the graph's
        ({"precision": "bf16", "checkpointing": "full"}, 0),
        ({"precision": "bf16-autocast", "checkpointing": "full", "method": "lora", "lora": {"rank": 8}}, 0),
    ],
)
def test_autocast_keeps_its_copies_until_the_pass_ends(changes: dict[str, Any], cached: int) -> None:
    """Of the 16-bit copies of weights the cache keeps what the graph does not, on the device: a pass ends with all."""
    (step,) = steps(**changes)
    assert step.cast_cache() == cached
    moment, found = beside(step, "runs forward")
    kind = step.layers[0]
    assert moment.phase == FORWARD and found == {"activations": moment.kept + kind.forward + cached + step.earlier}


def test_only_the_last_stage_has_logits() -> None:
    """The first of two stages turns nothing into a loss; the last one holds logits until its layers are done."""
    first, last = steps(parallelism={"pipeline": 2}, gradient_accumulation=4)
    assert not any(moment.parts["logits"] or moment.phase == LOSS for moment in first.moments)
    _, found = beside(last, "layer 16 runs backward")
    assert found["logits"] == last.logits.held > 0


@pytest.mark.parametrize(
    ("changes", "gradient", "cast"),
    [
        ({"precision": "fp32"}, 4 * TABLE, None),
        ({"precision": "bf16"}, 2 * TABLE, None),
        ({"precision": "bf16-autocast"}, 2 * TABLE, (2 + 4) * TABLE),
        ({"precision": "bf16", "cross_entropy": "chunked"}, 3 * 2 * TABLE, None),
        ({"precision": "bf16", "method": "lora", "lora": {"rank": 8}}, 0, None),
    ],
)
def test_the_gradient_of_the_output_matrix(changes: dict[str, Any], gradient: int, cast: int | None) -> None:
    """In the weight's type; under autocast in 16 bit, then both while it is cast; three in pieces; none if frozen."""
    (step,) = steps(**changes)
    moment, found = beside(step, "the output matrix runs backward")
    assert moment.phase == LOSS and found.get("gradients", 0) == gradient
    casts = [moment for moment in step.moments if "is cast" in moment.reason]
    assert [moment.parts["gradients"] - step.static["gradients"] for moment in casts] == (
        [] if cast is None else [cast]
    )


@pytest.mark.parametrize(("apart", "sent"), [(False, 0), (True, 2 * TABLE)])
def test_the_output_matrix_as_a_unit_of_its_own_is_reduced_by_itself(apart: bool, sent: int) -> None:
    """Its gradient of 16 bit leaves from a buffer, where it is no part of the root, which is reduced at the end."""
    changes: dict[str, Any] = {"precision": "bf16", "parallelism": {"data": 2}, "sharding": "zero-3"}
    (step,) = steps(tables_apart=apart, **changes)
    before, _ = beside(step, "the loss runs backward")
    moment, _ = beside(step, "the output matrix runs backward")
    assert moment.parts["communication_buffers"] - before.parts["communication_buffers"] == sent


@pytest.mark.parametrize(
    ("changes", "room"),
    [
        ({"optimizer": "adamw"}, 0),
        ({"optimizer": "adamw-foreach"}, ALL * 4),
        ({"optimizer": "adamw-foreach", "offload": ["parameters"], "sharding": "zero-3"}, 0),
        ({"optimizer": "adamw-foreach", "offload": ["optimizer"]}, 0),
    ],
)
def test_what_an_update_needs_beside_the_states(changes: dict[str, Any], room: int) -> None:
    """A fused AdamW nothing, PyTorch's foreach one a copy of all FP32 parameters; on the host no room on the device."""
    (step,) = steps(precision="fp32", **changes)
    moment, found = beside(step, "the optimizer updates")
    assert moment.phase == STEP and found.get("optimizer_workspace", 0) == room


@pytest.mark.parametrize(("sequences", "tables", "rows"), [(1, 3, 0), (2, 3, 0), (4, 2, 200_000)])
def test_a_tied_table_gets_the_gradients_of_both_its_uses(sequences: int, tables: int, rows: int) -> None:
    """At the embedding both uses' gradients and their sum are alive, where they outweigh the hidden states.

    The table has 128,256 rows, as wide as these: of 200,000 the sum comes when they have gone.
    """
    (step,) = steps(precision="bf16", micro_batch=sequences, sequence_tokens=50_000)
    moment, found = beside(step, "the embedding runs backward")
    assert moment.phase == BACKWARD and found["gradients"] == 2 * 16 * LAYER + tables * 2 * TABLE
    assert found.get("activations", 0) == rows * 2048 * 2


def test_each_stage_is_walked_as_itself() -> None:
    """The peak of a timeline is the widest of the moments that are checked here."""
    (step,) = steps(precision="bf16")
    (timeline,) = timelines(step.plan, [step.stage])
    assert timeline.moments == tuple(step.moments)
