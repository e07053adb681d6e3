"""The work of a training step on one device: operations of matrices and attention, bytes moved, messages sent.

All of it is of one micro-batch through one pipeline stage, and follows from the tensors of a layer and from its tape.
"""

from math import prod
from typing import NamedTuple

from calc.architecture.layers import Attention, Layer
from calc.architecture.stages import Stage, local_heads, local_share
from calc.architecture.tensors import QUANTIZED_BLOCKS
from calc.memory.training.elements import low_rank_tensors
from calc.memory.training.loss import FP32
from calc.memory.training.loss import FULL as FULL_LOSS
from calc.memory.training.moments import local_outputs
from calc.memory.training.plan import FULL, NO_CHECKPOINTS, OPTIMIZER, PER_OPERATION, SELECTIVE, Plan
from calc.memory.training.tape import KERNEL, MATMUL, VIEW, Op, Tape
from calc.performance.exchanges import Exchanges, exchanges

MULTIPLIED = (*QUANTIZED_BLOCKS, "router", "shared_expert_gate")
# Of what the forward pass of attention in tiles does, its backward pass does 2.5 times: five products of scores and
# values, and not two, because it makes the scores again (arXiv:2205.14135, algorithm 4). Written out it does twice.
BACKWARD_TILES, BACKWARD_WRITTEN = 2.5, 2.0
SCORES = ("scores", "context")  # products of attention that is written out
LOSS_PASSES, FUSED_PASSES = 6, 3  # readings and writings of FP32 logits from their cast to their gradient


class Pass(NamedTuple):
    """What is done in one direction: operations by kind, bytes that are not a matrix product's, and kernels."""

    matrix_flops: float = 0.0
    matrix_bytes: float = 0.0  # operands and results
    attention_flops: float = 0.0
    moved_bytes: float = 0.0
    kernels: float = 0.0
    unpacked: float = 0.0  # elements of a quantised base that are unpacked

    def plus(self, other: "Pass", times: float = 1.0) -> "Pass":
        """Return both together, the other `times` times."""
        return Pass(*(mine + times * theirs for mine, theirs in zip(self, other, strict=True)))


class LayerWork(NamedTuple):
    """One layer forward, what of it is computed again, and its backward without that."""

    forward: Pass
    again: Pass
    backward: Pass


class StageWork(NamedTuple):
    """One micro-batch through a stage, and what the stage's device holds and sends."""

    forward: Pass
    again: Pass
    backward: Pass
    layers: int
    elements: float  # parameters of the device, before sharding
    trained: float
    updated_bytes: float  # read and written by the optimizer, after sharding
    exchanges: Exchanges

    @property
    def whole(self) -> Pass:
        """All of a micro-batch."""
        return self.forward.plus(self.again).plus(self.backward)


def reach_of(attention: Attention, keys: int, *, written_out: bool, causal: bool) -> float:
    """Return the keys that a query is multiplied with: half of them on average where later ones are skipped.

    Written out, attention multiplies with all and masks afterwards.
    """
    reach = keys / 2 if causal and not written_out else float(keys)
    window = attention.window_tokens
    return min(reach, float(window)) if window and not written_out else reach


def attention_flops(layer: Layer, plan: Plan) -> float:
    """Return the operations of softmax(QK)V forward: two for each element of a head, query and key, twice."""
    attention, batch = layer.attention, plan.batch
    if attention is None:
        return 0.0
    reach = reach_of(attention, batch.keys, written_out=not plan.choices.flash, causal=attention.causal)
    width = attention.head_dim + (attention.value_dim or attention.head_dim)
    return 2.0 * batch.rows * reach * local_heads(attention.heads, batch.tensor) * width


def matrix_work(layer: Layer, plan: Plan) -> tuple[Pass, float, float]:
    """Return the matrix products of a layer forward, and how many times the forward its backward does of them.

    Each matrix costs two operations for each element and token; experts those of the tokens sent to them. Adapters are
    matrices too. The last figure is the share of operations whose weights have gradients.
    """
    batch, width = plan.batch, plan.scheme.compute
    flops = size = trained = unpacked = 0.0
    for tensor in layer.tensors:
        if tensor.block not in MULTIPLIED or len(tensor.shape) != 2 or not tensor.name.endswith(".weight"):
            continue
        held, shape = local_share(tensor, batch.tensor, batch.expert)
        rows = float(batch.rows)
        if tensor.active is None:
            rows *= tensor.copies
        else:  # tokens of all expert ranks, each to its experts, divide evenly over them
            rows *= tensor.active / max(1.0, min(batch.expert, batch.tensor))
        done = 2.0 * rows * prod(shape)
        flops += done
        size += width * (rows * sum(shape) + held * prod(shape))
        if plan.adapters is None:
            trained += done
            continue
        unpacked += held * prod(shape) if plan.choices.unpacks else 0.0
        if plan.adapters.covers(tensor.name.removesuffix(".weight")):
            for extra in low_rank_tensors(tensor, plan.adapters):
                _, part = local_share(extra, batch.tensor, batch.expert)
                if len(part) == 2:
                    added = 2.0 * rows * prod(part)
                    flops, trained = flops + added, trained + added
                    size += width * rows * sum(part)
    return Pass(matrix_flops=flops, matrix_bytes=size, unpacked=unpacked), flops + trained, trained


def op_bytes(op: Op, tape: Tape, *, fused: bool, backward: bool) -> float:
    """Return the bytes that an operation which is no matrix product reads and writes.

    One by one, an operation of several parts writes what it keeps and reads it again; fused it reads its inputs and
    writes its output. Backward it reads its gradient and what it kept, and writes the gradients of its inputs.
    """
    ends = float(sum(tape.sizes[name] for name in op.inputs) + tape.sizes[op.output])
    if op.kind == VIEW:  # an addition, or nothing
        return ends if len(op.inputs) > 1 and not backward else 0.0
    kept = sum(tape.sizes[name] for name in op.saves if name not in (*op.inputs, op.output))
    if backward:
        return ends + sum(tape.sizes[name] for name in op.saves) + (0.0 if fused else 2.0 * op.work_bytes)
    return ends + (0.0 if fused else 2.0 * kept)


def counted(op: Op, layer: Layer) -> bool:
    """Return whether the bytes of an operation take time of their own.

    Those of matrices are counted with their operations, and attention in tiles is not bound by its bytes. Written out
    it writes and reads its scores.
    """
    if op.kind == KERNEL:
        return layer.attention is None
    return op.kind != MATMUL or op.output.endswith(SCORES)


def layer_work(layer: Layer, plan: Plan) -> LayerWork:
    """Return the work of a layer on one micro-batch."""
    tape, compiled = plan.tape(layer), plan.choices.compiled
    done, backward_flops, trained = matrix_work(layer, plan)
    tiles = BACKWARD_TILES if plan.choices.flash else BACKWARD_WRITTEN
    attention = attention_flops(layer, plan)
    moved = [0.0, 0.0]
    kernels = 0
    for op in tape.ops:
        kernels += op.kind != VIEW or len(op.inputs) > 1
        if counted(op, layer):
            for way in (0, 1):
                moved[way] += op_bytes(op, tape, fused=compiled, backward=bool(way))
    forward = done._replace(attention_flops=attention, moved_bytes=moved[0], kernels=float(kernels))
    backward = Pass(
        matrix_flops=backward_flops,
        matrix_bytes=done.matrix_bytes * backward_flops / max(done.matrix_flops, 1.0),
        attention_flops=tiles * attention,
        moved_bytes=moved[1],
        kernels=kernels * (1.0 + trained / max(done.matrix_flops, 1.0)),
        unpacked=done.unpacked,
    )
    return LayerWork(forward, again(forward, plan), backward)


def again(forward: Pass, plan: Plan) -> Pass:
    """Return what checkpointing computes twice of a layer's forward.

    Per operation, PyTorch's policy keeps every second matrix product and attention (torchtitan); Megatron-LM's repeats
    the scores alone (arXiv:2205.05198).
    """
    if plan.checkpointing == NO_CHECKPOINTS:
        return Pass()
    if plan.checkpointing == FULL:
        return forward
    if plan.checkpointing == SELECTIVE and plan.selective == PER_OPERATION:
        half = forward.matrix_flops / 2
        return forward._replace(matrix_flops=half, matrix_bytes=forward.matrix_bytes / 2, attention_flops=0.0)
    return Pass(attention_flops=forward.attention_flops, kernels=4.0)


def head_work(plan: Plan) -> LayerWork:
    """Return the output matrix and the loss. Both directions read and write the FP32 logits several times."""
    outputs, batch = local_outputs(plan.architecture, plan.layout.tensor), plan.batch
    hidden, width = plan.architecture.hidden_size, plan.scheme.compute
    flops = 2.0 * batch.rows * outputs * hidden
    size = width * (batch.rows * float(outputs + hidden) + outputs * hidden)
    passes = FUSED_PASSES if plan.choices.compiled or plan.cross_entropy != FULL_LOSS else LOSS_PASSES
    forward = Pass(flops, size, 0.0, passes / 2 * FP32 * batch.rows * outputs, passes)
    trained = plan.adapters is None or bool(plan.adapters.saved)
    return LayerWork(
        forward,
        Pass(),
        forward._replace(matrix_flops=flops * (2.0 if trained else 1.0)),
    )


def stage_work(plan: Plan, stage: Stage) -> StageWork:
    """Return the work of one micro-batch on a device of a pipeline stage."""
    forward, repeated, backward = Pass(), Pass(), Pass()
    for kind, count in stage.kind_counts():
        work = layer_work(kind, plan)
        forward, repeated = forward.plus(work.forward, count), repeated.plus(work.again, count)
        backward = backward.plus(work.backward, count)
    if stage.is_last and plan.architecture.output_size:
        work = head_work(plan)
        forward, backward = forward.plus(work.forward), backward.plus(work.backward)
    if stage.is_first:  # the table's rows are read, and their gradients added up
        rows = plan.batch.rows * plan.architecture.hidden_size * float(plan.scheme.compute)
        forward = forward.plus(Pass(moved_bytes=2 * rows))
    total = plan.inventory(stage).total(stage)
    return StageWork(
        forward,
        repeated,
        backward,
        stage.last - stage.first,
        float(total.elements),
        float(total.trained),
        optimizer_bytes(plan, stage),
        exchanges(plan, stage),
    )


def optimizer_bytes(plan: Plan, stage: Stage) -> float:
    """Return the bytes that the optimizer's step reads and writes: states and masters both, gradients, weights."""
    total, scheme = plan.inventory(stage).total(stage), plan.scheme
    masters = total.updated * scheme.master if plan.adapters is None else 0
    weights = total.added_bytes if plan.adapters is not None else total.base_bytes
    size = 2.0 * total.state_bytes + 2.0 * masters + total.gradient_bytes + (1.0 if masters else 2.0) * weights
    return size / plan.degree(OPTIMIZER)


class TokenFlops(NamedTuple):
    """Operations for one token forward, as utilization counts them."""

    parameters: float  # that the token is multiplied with, the output matrix among them
    head: float  # of these the output matrix
    attention: float
    passes: int  # as many times the forward as all of a step is: 3, or 2 with frozen parameters
    repeated: float  # operations of checkpointing

    @property
    def model(self) -> float:
        """Operations of a step's mathematics."""
        return 2 * self.passes * self.parameters + 3 * self.attention

    @property
    def hardware(self) -> float:
        """Operations of a step with what checkpointing computes twice."""
        return self.model + self.repeated


def token_flops(plan: Plan) -> TokenFlops:
    r"""Return the operations for one token: $6 N + 12 L H d T$ in full training (PaLM, arXiv:2204.02311, appendix B).

    Attention counts all pairs of positions: halving them, because later tokens are masked, is not usual in this figure.
    Under adapters the frozen matrices have no gradients of their own: $4 N$.
    """
    architecture = plan.architecture
    active = attention = 0.0
    for kind, count in architecture.kind_counts():
        for tensor in kind.tensors:
            if tensor.block in MULTIPLIED and len(tensor.shape) == 2 and tensor.name.endswith(".weight"):
                active += count * tensor.active_elements
        if kind.attention is not None:
            keys = min(plan.tokens, kind.attention.window_tokens or plan.tokens)
            width = kind.attention.head_dim + (kind.attention.value_dim or kind.attention.head_dim)
            attention += count * 2.0 * kind.attention.heads * width * keys
    repeated = {
        NO_CHECKPOINTS: 0.0,
        FULL: 2 * active + attention,
        SELECTIVE: active if plan.selective == PER_OPERATION else attention,
    }[plan.checkpointing]
    head = float(architecture.hidden_size * architecture.output_size)
    return TokenFlops(active + head, head, attention, 3 if plan.adapters is None else 2, repeated)
