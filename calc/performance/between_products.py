"""What a training step moves between its products: norms, activations, additions, the table, the loss, what is sent.

The bytes are those of a layer's tape, which also says what a layer keeps.
"""

from collections import Counter, defaultdict
from functools import lru_cache

from calc.architecture.identity import Same
from calc.architecture.layers import Layer
from calc.architecture.stages import Stage
from calc.memory.training.loss import FULL as FULL_LOSS
from calc.memory.training.moments import local_outputs
from calc.memory.training.plan import FSDP, Plan
from calc.memory.training.recorder import SCALED
from calc.memory.training.tape import KERNEL, MATMUL, VIEW, Op, Tape
from calc.performance.forward import TENSOR
from calc.performance.operations import Collective, Counted, Pass, Pointwise

LOGIT_BYTES = 4  # logits are FP32 in the loss
LAYERS, ADDED = "Norms, activations and additions", "Adapters scaled and added"
BIASES = "Biases of experts"  # which Megatron Core adds expert by expert, in a loop
SCORES = ("scores", "context")  # products of attention that is written out
PARTS_BACKWARD = 2  # kernels, of the gradients of an operation's two inputs
LOSS_PASSES, FUSED_PASSES = 6, 3  # readings and writings of FP32 logits from their cast to their gradient


def between(plan: Plan, stage: Stage) -> tuple[Pass, Pass, Pass]:
    """Return what is moved between products: by table and loss forward, by layers forward, and all of it backward."""
    moved: list[Counted] = []
    back: list[Counted] = []
    tapes = plan.tapes
    for kind, count in stage.kind_counts():
        ahead, behind = of_layer(Same(kind), Same(tapes.of(kind)), plan.choices.compiled, plan.sums_adapters)
        ahead_of, behind_of = biases_of(plan, kind)
        moved += [Counted(one, count) for one in ahead + ahead_of]
        back += [Counted(one, count) for one in behind + behind_of]
    first: list[Counted] = []
    if stage.is_first:  # the table's rows are read, and their gradients added up
        rows = plan.batch.rows * plan.architecture.hidden_size * float(plan.scheme.compute)
        first.append(Counted(Pointwise("Token table", 2 * rows, 1.0), 1))
        back.append(first[0])
    if stage.is_last and plan.architecture.output_size:
        logits = LOGIT_BYTES * plan.batch.rows * float(local_outputs(plan.architecture, plan.layout.tensor))
        passes = FUSED_PASSES if plan.choices.compiled or plan.cross_entropy != FULL_LOSS else LOSS_PASSES
        loss = Counted(Pointwise("Loss", passes / 2 * logits, float(passes)), 1)
        first.append(loss)
        back.append(loss)
    return tuple(first), tuple(moved), tuple(back)


def biases_of(plan: Plan, kind: Layer) -> tuple[tuple[Pointwise, ...], tuple[Pointwise, ...]]:
    """Return what experts with biases move besides under Megatron Core, forward and backward: those of gpt-oss.

    The bias of what an expert gives is weighted by each token's score and added, and all experts' rows are joined; gate
    and value are clamped, and joined before the activation that is fused (TEGroupedMLP._apply_bias and
    weighted_bias_quick_geglu_impl). Backward each has the gradients of its bias and of the scores, and joins what was
    split.
    """
    down = next((one for one in kind.tensors if one.active and one.name.endswith(".down_proj.bias")), None)
    if not plan.core or down is None:
        return (), ()
    sizes, experts = plan.tapes.of(kind).sizes, down.copies / plan.layout.expert
    outer, inner = float(sizes["mlp.experts:down"]), float(sizes["mlp.experts:product"])
    ahead = Pointwise(BIASES, 6 * outer + 8 * inner, 2 * experts + 4)
    return (ahead,), (Pointwise(BIASES, 8 * outer + 10 * inner, 5 * experts + 5),)


def put_together(plan: Plan, sent: Pass) -> Pass:
    """Return the copies of the stream that PyTorch's tensor parallelism makes where it gathers or scatters it.

    Its collectives join along the first dimension, and tokens are the second: pieces are put in order after a gather
    and before a scatter (torch.distributed._functional_collectives). Megatron-LM's tokens are first, and what goes in
    pieces beside products needs no order.
    """
    if not plan.sequence_parallel or plan.trainer != FSDP or plan.core or plan.tensor_overlap:
        return ()
    return tuple(
        Counted(Pointwise("Pieces of the stream in order", 2.0 * one.message_bytes, 1.0), times)
        for one, times in sent
        if isinstance(one, Collective) and one.group == TENSOR
    )


@lru_cache(maxsize=256)  # a tape is the same however many ranks share what is trained
def of_layer(layer: Same[Layer], written: Same[Tape], fused: bool, summed: bool) -> tuple[tuple[Pointwise, ...], ...]:
    """Return what a layer moves between its products, forward and backward: of the layer, and of its adapters.

    A product that adds to what is there reads it once more, and that is all of its adapter's part.
    """
    kind, tape = layer.value, written.value
    sizes, kernels = ([defaultdict[str, float](float) for _ in range(2)] for _ in range(2))
    for op in tape.ops:
        takes_time = own_time(op, kind)
        name = ADDED if any(one.endswith(SCALED) for one in (op.output, *op.inputs)) else LAYERS
        if summed and name == ADDED:
            sizes[0][ADDED] += float(tape.sizes[op.output]) * (op.kind == VIEW)
            continue
        for way, backward in enumerate((False, True)):
            if takes_time:
                sizes[way][name] += op_bytes(op, tape, fused=fused, backward=backward)
                kernels[way][name] += op_kernels(op, fused=fused, backward=backward)
            sizes[way][LAYERS] += op.cast_bytes
            kernels[way][LAYERS] += op.casts
    if not fused:  # gradients of biases are sums over rows, and those of a value that several operations read added up
        kernels[1][LAYERS] += sum(op.kernels - 1 for op in tape.ops if op.kind == MATMUL)
        kernels[1][LAYERS] += sum(
            times - 1 for times in Counter(name for op in tape.ops for name in op.inputs).values()
        )
    return tuple(
        tuple(Pointwise(name, size, kernels[way][name]) for name, size in sizes[way].items()) for way in range(2)
    )


def own_time(op: Op, layer: Layer) -> bool:
    """Return whether the bytes of an operation take time of their own.

    Those of matrices are counted with their operations, and attention in tiles is not bound by its bytes. Written out
    it writes and reads its scores.
    """
    if op.kind == KERNEL:
        return layer.attention is None
    return op.kind != MATMUL or op.output in SCORES


def op_kernels(op: Op, *, fused: bool, backward: bool) -> int:
    """Return the kernels of an operation that is no matrix product: fused one; else each part has about two backward.

    The gradient of a sum is that of its parts, and takes none.
    """
    if op.kind == VIEW:
        return int(len(op.inputs) > 1 and (fused or not backward))
    if fused or op.kernels == 1:
        return 1
    return PARTS_BACKWARD * op.kernels if backward else op.kernels


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
