"""A training step by hand: small tapes forward and backward, ways of the loss, what a layer keeps, and reserves."""

from types import SimpleNamespace
from typing import Any

import pytest

from calc import estimate
from calc.architecture.stages import stages
from calc.catalog import catalog
from calc.memory.training.elements import Held
from calc.memory.training.loss import logits
from calc.memory.training.moments import Moment, Timeline, kept_by_selection, layer_kept, local_outputs
from calc.memory.training.phases import stays_bytes, timelines
from calc.memory.training.plan import PER_OPERATION, SCORES, Plan, held_micro_batches, usually_compiled
from calc.memory.training.reserve import ranged, slack_name, unused
from calc.memory.training.tape import KERNEL, MATMUL, POINTWISE, VIEW, Op, Tape
from calc.training.reading import read_training

FACTS = catalog()


def chain(*, keep: bool = True) -> Tape:
    """Return two matrices and an activation: input 10, a 20 (kept), b 30 (kept), output 40; gradients 5 and 7."""
    tape = Tape()
    for name, size in (("input", 10), ("a", 20), ("b", 30), ("out", 40)):
        tape.value(name, size)
    tape.add(Op(MATMUL, ("input",), "a", ("input",), weight_grad_bytes=5))
    tape.add(Op(POINTWISE, ("a",), "b", ("a",) if keep else (), work_bytes=3))
    tape.add(Op(MATMUL, ("b",), "out", ("b",), weight_grad_bytes=7))
    return tape


def test_what_a_chain_keeps() -> None:
    """Input, a and b, each once however many ask for it; nothing of size 0."""
    tape = chain()
    assert (tape.saved, tape.saved_bytes) == ({"input": 10, "a": 20, "b": 30}, 60)
    tape = chain()
    tape.value("nothing", 0)
    tape.add(Op(VIEW, ("out",), "end", ("a", "nothing")))
    assert tape.saved == {"input": 10, "a": 20, "b": 30}


def test_a_chain_forward() -> None:
    """Beside the first value: input is kept (10), then a (20), b (30) and the output (40) are all alive at the end."""
    assert chain().forward_peak_bytes == 10 + 20 + 30 + 40
    assert chain(keep=False).forward_peak_bytes == 10 + 30 + 40  # a is let go once b is there: 10 + 20 + 30 before


def test_a_value_that_nothing_keeps_lives_until_it_was_read() -> None:
    """Of a large one in the middle the moment with the next is the widest."""
    tape = Tape()
    for name, size in (("input", 1), ("large", 100), ("small", 2), ("end", 3)):
        tape.value(name, size)
    tape.add(Op(POINTWISE, ("input",), "large"))
    tape.add(Op(POINTWISE, ("large",), "small"))
    tape.add(Op(POINTWISE, ("small",), "end"))
    assert tape.forward_peak_bytes == 102


def test_a_chain_backward() -> None:
    """All is kept and the output's gradient there (100); b's gradient with the matrix's (30 + 7) is the widest moment.

    Then 60 kept less b, b's gradient 30, a's 20 and 3 of work; at last input, a's and input's gradients.
    """
    assert chain().backward_peak() == (60 + 40 + 30, 7)
    assert chain().backward_peak(keep_gradients=False) == (130, 7)


def test_a_layer_without_blocks_holds_nothing() -> None:
    """Some layers of Nemotron Ultra have neither attention nor MLP: what comes in goes out."""
    assert (Tape().backward_peak(), Tape().forward_peak_bytes, Tape().saved_bytes) == ((0, 0), 0, 0)


def test_gradients_that_stay_add_up() -> None:
    """With a large matrix at the beginning, its own gradient and that of the one before are alive together."""
    tape = chain()
    tape.ops[0] = tape.ops[0]._replace(weight_grad_bytes=500)
    assert tape.backward_peak() == (10 + 20 + 10, 507)
    assert tape.backward_peak(keep_gradients=False) == (40, 500)


def test_work_is_alive_during_its_operation_alone() -> None:
    """A thousand bytes while the activation runs backward: 30 kept, b's gradient, a's, and the matrix's 7."""
    tape = chain()
    tape.ops[1] = tape.ops[1]._replace(work_bytes=1000)
    assert tape.backward_peak() == (10 + 20 + 30 + 20 + 1000, 7)


def test_a_sum_gives_both_sides_one_gradient() -> None:
    """A view shares the storage of what it was given: no byte more, until the two meet in the same value."""
    tape = Tape()
    for name, size in (("input", 8), ("branch", 8), ("sum", 8)):
        tape.value(name, size)
    tape.add(Op(POINTWISE, ("input",), "branch", ("input",)))
    tape.add(Op(VIEW, ("input", "branch"), "sum"))
    # Kept 8 and one gradient of 8; the branch makes one for input (16 + 8), and adding both takes a third.
    assert tape.backward_peak() == (24, 0)


def test_a_value_read_twice_adds_up_in_a_new_tensor() -> None:
    """Two matrices read one input of 10: at the second's backward there are the input, a gradient of each, and q's."""
    tape = Tape()
    for name, size in (("input", 10), ("q", 1), ("k", 1), ("out", 1)):
        tape.value(name, size)
    tape.add(Op(MATMUL, ("input",), "q", ("input",)))
    tape.add(Op(MATMUL, ("input",), "k", ("input",)))
    tape.add(Op(KERNEL, ("q", "k"), "out"))
    assert tape.backward_peak() == (10 + 10 + 10 + 1, 0)
    small = tape.backward_peak()[0] - 1
    tape = Tape()
    for name, size in (("input", 10), ("q", 1), ("k", 1), ("out", 1)):
        tape.value(name, size)
    tape.add(Op(MATMUL, ("input",), "q"))
    tape.add(Op(MATMUL, ("input",), "k"))
    tape.add(Op(KERNEL, ("q", "k"), "out"))
    assert tape.backward_peak() == (small, 0)  # nothing kept: both gradients and their sum


def test_what_is_not_read_gives_no_gradient() -> None:
    """A branch whose output nobody reads is not run backward."""
    tape = chain()
    tape.value("aside", 1000)
    tape.ops.insert(0, Op(MATMUL, ("input",), "aside", (), weight_grad_bytes=9999))
    assert tape.backward_peak() == (130, 7)


def test_kept_values_that_outlive_their_backward() -> None:
    """Their bytes, each once."""
    tape = chain()
    tape.outliving |= {"a", "b"}
    assert tape.outliving_bytes == 50


@pytest.mark.parametrize(
    ("way", "keep", "compiled", "kept", "forward", "backward", "after", "held"),
    [
        ("full", False, False, 400, 200 + 400 + 400, 400 + 800, 200, 0),
        ("full", True, False, 600, 1000, 200 + 400 + 800, 400, 200),
        ("full-shifted", False, False, 400, 200 + 400 + 400 + 400, 400 + 800, 200, 0),
        ("full-16-bit", False, False, 200, 200 + 200, 200 + 400, 200, 0),
        ("divided", False, False, 400, 200 + 400 + 800, 400 + 1200, 200, 0),
        ("in place", False, False, 400, 600, 600, 200, 0),
        ("compiled", False, False, 200, 200, 400, 200, 0),
        ("chunked", False, False, 400, 400 + 125, 525, 200, 0),
        ("chunked", False, True, 200, 200 + 25, 225, 200, 0),
        ("fused", False, False, 60, 60 + 60 + 120, 60, 60, 0),
    ],
)
def test_ways_of_the_loss(
    way: str, keep: bool, compiled: bool, kept: int, forward: int, backward: int, after: int, held: int
) -> None:
    """Of 100 logits in 16 bit and a stream of 60 bytes: logits, their FP32 copy, log-softmax, gradients, pieces."""
    found = logits(elements=100, compute_bytes=2, way=way, keep=keep, compiled=compiled, stream_bytes=60)
    assert found == (kept, forward, backward, after, held)


def test_the_loss_in_fp32() -> None:
    """No copy is made: logits and log-softmax, and two gradients; fused no more than there are."""
    full = logits(elements=100, compute_bytes=4, way="full", keep=False, compiled=False, stream_bytes=60)
    assert full == (400, 800, 1200, 400, 0)
    fused = logits(elements=10, compute_bytes=4, way="fused", keep=False, compiled=False, stream_bytes=60)
    assert fused == (60, 60 + 40 + 40, 60, 60, 0)


def plan(**changes: Any) -> Plan:
    """Return a run of Llama 3.2 1B."""
    asked = {"workload": "training", "model": "llama-3.2-1b", "sequence_tokens": 512, **changes}
    return read_training(asked, FACTS).plan


def test_selection_by_operation() -> None:
    """PyTorch's policy keeps the input, what attention gives, and every second matrix: q, v, gate and down of seven."""
    run = plan(checkpointing="selective")._replace(selective=PER_OPERATION)
    tape = run.tapes.of(run.architecture.kinds[0])
    names = ["input", "context", "log-sums", "kernel state", "q", "v", "mlp:gate", "mlp:down"]
    assert kept_by_selection(tape, run) == sum(tape.sizes[name] for name in names)


def test_selection_without_scores() -> None:
    """Megatron-LM's keeps all but the scores of attention."""
    run = plan(checkpointing="selective", attention="eager")._replace(selective=SCORES)
    tape = run.tapes.of(run.architecture.kinds[0])
    scores = sum(size for name, size in tape.saved.items() if name in ("softmax", "weights"))
    assert scores > 0
    assert kept_by_selection(tape, run) == tape.saved_bytes - scores


def test_a_layer_that_is_computed_again() -> None:
    """It keeps its input alone, and at its backward all of its values are there again."""
    plain, again = (plan(checkpointing=way) for way in ("none", "full"))
    kind = plain.architecture.kinds[0]
    tape = plain.tapes.of(kind)
    (_, held), *_ = plain.inventory(stages(plain.architecture, 1)[0]).layers
    first, second = (layer_kept(run.tapes.of(kind), run, held) for run in (plain, again))
    assert first.kept == tape.saved_bytes
    assert second.kept == tape.sizes["input"] == 512 * 2048 * 2
    assert first.forward == tape.forward_peak_bytes - tape.saved_bytes
    assert second.forward == tape.forward_peak_bytes
    keeps = not plain.gradients_stay
    assert (first.backward, first.gradients) == tape.backward_peak(keep_gradients=keeps)
    assert second.backward == max(tape.backward_peak(keep_gradients=keeps)[0], tape.forward_peak_bytes) + second.kept
    assert first.held == held


def test_a_layer_is_recorded_once_for_each_way_to_compute_it() -> None:
    """Runs that differ in their optimizer share its tape, those that differ in their batch do not."""
    first, other, wider = plan(), plan(optimizer="sgd"), plan(micro_batch=2)
    kind = first.architecture.kinds[0]
    assert other.tapes.of(kind) is first.tapes.of(kind)
    assert wider.tapes.of(kind) is not first.tapes.of(kind)


def test_logits_of_a_token_on_a_device() -> None:
    """Ranks divide a vocabulary, not few classes."""
    llama = plan().architecture
    assert [local_outputs(llama, ranks) for ranks in (1, 2, 3)] == [128256, 64128, 42752]
    bert = plan(model="bart-large-mnli").architecture
    assert [local_outputs(bert, ranks) for ranks in (1, 2)] == [3, 3]


@pytest.mark.parametrize(
    ("position", "pipeline", "micro_batches", "virtual", "held"),
    [(0, 4, 16, 1, 4), (3, 4, 16, 1, 1), (1, 4, 2, 1, 2), (0, 4, 16, 2, 5.5), (3, 4, 16, 2, 2.5), (0, 4, 3, 2, 3)],
)
def test_micro_batches_that_wait(position: int, pipeline: int, micro_batches: int, virtual: int, held: float) -> None:
    """1F1B fills the stages behind; with two pieces the first holds 1 + 3 / 8 times as much; no more than there are."""
    found = held_micro_batches(
        position=position, pipeline=pipeline, micro_batches=micro_batches, virtual_stages=virtual
    )
    assert found == held


def test_what_usually_is_compiled() -> None:
    """Runs that divide layers or sequences, and FP8."""
    assert not usually_compiled(plan().scheme, plan().layout)
    assert not usually_compiled(plan().scheme, plan(parallelism={"data": 8}).layout)
    for name in ("tensor", "pipeline", "context"):
        assert usually_compiled(plan().scheme, plan(parallelism={name: 2}, gradient_accumulation=2).layout)
    assert usually_compiled(plan(precision="fp8-mixed").scheme, plan().layout)


def test_groups_add_up() -> None:
    """Two groups more: all sums, and the larger of the largest tensors."""
    one, two = Held(*range(1, 11)), Held(*range(10, 110, 10))
    assert one.plus(two, 2) == (21, 42, 63, 84, 105, 126, 147, 168, 90, 210)
    assert two.plus(one) == (11, 22, 33, 44, 55, 66, 77, 88, 90, 110)


def moment(phase: str, *, weights: int, **beside: int) -> Moment:
    """Return a moment with these bytes beside weights that stay."""
    static = {"activations": 0, "logits": 0, "optimizer_workspace": 0, "weights": weights}
    return Moment(phase, "", 0, weights + sum(beside.values()), static, beside)


def timeline() -> Timeline:
    """Return 100 bytes that stay, and a peak of 160."""
    none: Any = None
    moments = (
        moment("forward", weights=100, activations=50, logits=5),
        moment("loss", weights=100, activations=20, logits=40),
        moment("optimizer", weights=100, optimizer_workspace=60),
    )
    return Timeline(none, 0, none, (), {"weights": 100}, 0, moments, peak=moments[1])


def test_the_peak_and_the_widest_pass() -> None:
    """All that stays, and the most of activations and logits."""
    found = timeline()
    assert (found.stays, found.peak.total, found.widest_pass) == (100, 160, 60)


def facts(**values: float) -> Any:
    """Return a catalogue with coefficients."""
    known = {name.replace("_", "-"): SimpleNamespace(value=value, low=0.5, high=2.0) for name, value in values.items()}
    return SimpleNamespace(coefficient=lambda name: known[name])


@pytest.mark.parametrize(
    ("rest", "varied", "size"), [(7.0, 0.0, 7 + 10 + 15), (99.0, 0.0, 60 + 25), (7.0, 1.0, 32 + 30)]
)
def test_blocks_that_nothing_uses(rest: float, varied: float, size: int) -> None:
    """A rest up to what moves, a tenth of what stays, a quarter of what moves; half of a pass if batches vary."""
    known = facts(
        training_allocator_rest=rest,
        training_allocator_rounding=0.1,
        training_allocator_varied=0.5,
        training_allocator_slack=0.25,
    )
    run = plan(checkpointing="full")._replace(varied_lengths=bool(varied))
    assert slack_name(run) == "training-allocator-slack"
    assert unused(run, timeline(), known) == size


def test_without_recomputation_blocks_are_found_again() -> None:
    """A tenth of what stays and a tenth of what moves; where lengths differ, a rest and half of a pass besides."""
    known = facts(
        training_allocator_rest=7.0,
        training_allocator_rounding=0.1,
        training_allocator_varied=0.5,
        training_allocator_slack_few=0.1,
    )
    run = plan(checkpointing="none")
    assert slack_name(run) == "training-allocator-slack-few"
    assert unused(run, timeline(), known) == 10 + 6
    assert unused(run._replace(varied_lengths=True), timeline(), known) == 10 + 6 + 7 + 30


def test_segments_that_grow_leave_little() -> None:
    """A tenth of what stays and a tenth of what moves: no rest, and no blocks of other lengths."""
    known = facts(
        training_allocator_rest=99.0,
        training_allocator_rounding=0.1,
        training_allocator_varied=0.5,
        training_allocator_slack_few=0.1,
    )
    run = plan(expandable_segments=True, varied_lengths=True)
    assert slack_name(run) == "training-allocator-slack-few"
    assert unused(run, timeline(), known) == 10 + 6


def test_a_range_of_what_stays_and_what_does_not() -> None:
    """80 bytes are certain to 10 %, the other 20 lie between half and twice; all of a smaller figure is certain."""
    stays = SimpleNamespace(low=0.9, high=1.1)
    rest = SimpleNamespace(low=0.5, high=2.0)
    known: Any = SimpleNamespace(coefficient=lambda name: stays if name == "training-stays" else rest)
    assert ranged(100, 80, "training-device", known) == (100, 72 + 10, 88 + 40)
    assert ranged(50, 80, "training-device", known) == (50, 45, 55)


def test_stages_that_are_alike_share_a_step() -> None:
    """Of four stages of a 16-layer model the two in the middle hold the same; the earlier one stands for both."""
    run = plan(parallelism={"pipeline": 4}, gradient_accumulation=8)
    every = stages(run.architecture, 4)
    found = timelines(run, every)
    assert [step.position for step in found] == [0, 1, 1, 3]
    assert stays_bytes(run, every[0]) == sum(found[0].static.values())
    for step in found:
        assert step.peak == max(step.moments, key=lambda moment: moment.total)
        assert step.peak.total == sum(step.peak.parts.values())


def test_an_optimizer_counts_its_steps_once_for_each_tensor() -> None:
    """Llama 3.1 8B has nine tensors in each of 32 layers, two tables and a last norm; counted to the byte."""
    tensors = 32 * 9 + 3
    scenario = {"workload": "training", "model": "llama-3.1-8b", "method": "full", "accelerator": "h100-sxm-80gb"}
    report: Any = estimate(scenario)
    (part,) = (part for part in report["memory"]["parts"] if part["id"] == "optimizer_states")
    assert part["bytes"] == 8_030_261_248 * 8 + 4 * tensors
    assert part["steps"][0]["substituted"] == f"8,030,261,248 × 8 + 4 × {tensors}"
