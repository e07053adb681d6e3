"""A training step as the list of its operations on one device: forward, recomputation, backward, reduction, update.

The forward pass is that of `forward`, with what a framework keeps and moves between its products from the layer's tape.
Everything else follows from it: a product has two more backward, one for the gradients of its input and one for those
of its weights, of which adapters leave out the second where weights are frozen (arXiv:2106.09685).
"""

from math import ceil, log2, prod
from typing import NamedTuple

from calc.architecture.stages import Stage, local_share
from calc.catalog import catalog
from calc.memory.budget import Layout
from calc.memory.training.elements import low_rank_tensors
from calc.memory.training.loss import FUSED
from calc.memory.training.moments import kept_of
from calc.memory.training.plan import FSDP, FULL, MEGATRON, NO_CHECKPOINTS, PARAMETERS, PER_OPERATION, SELECTIVE, Plan
from calc.performance.between_products import between, put_together
from calc.performance.exchanges import exchanges
from calc.performance.forward import Segment, forward
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
)
from calc.performance.rank_model import rank_model
from calc.performance.training_update import trained_tensors, updating

FP32 = 4
WRITTEN_OUT = SCORES, CONTEXT = "Scores", "Context"  # products of attention that no kernel fuses
CASTS = "Casts to FP8"
UNPACKING = "Weights unpacked"  # of a quantised base, before each product
SIXTEEN_BIT, ALIGNED = ("bf16", "fp16"), 8  # elements of 16 bytes
UNALIGNED = "unaligned"  # the kernel of a product in 16 bit whose rows do not begin at multiples of 16 bytes
NARROW, NARROW_SCHEME = "fp8", "fp8-mixed"
CAST_BYTES = 4.0  # of an element: read in 16 bit, written in 8 and written transposed
# Of an element whose tensor's largest sets the scale: read for that, read again, written in 8 bits; of gradients twice.
SCALED_BYTES, SCALED_GRADIENT_BYTES = 5.0, 6.0
# Number formats of products, others BF16.
MULTIPLIED = {"fp32": "tf32", "fp16-mixed": "fp16", "fp16-autocast": "fp16", "fp8-mixed": "fp8"}


class StepPasses(NamedTuple):
    """Operations of a training step on a device of a stage: of each micro-batch, and of the step."""

    forward: Pass
    again: Pass  # what checkpointing computes twice
    backward: Pass
    gathered: Pass  # once, before the first micro-batch
    reduced: Pass  # once, behind the backward pass of the last micro-batch
    updated: Pass  # once, after it
    hosted: Pass  # once, in the memory of the host
    in_turn: int  # tensors that the host updates one after the other

    @property
    def of_micro_batch(self) -> Pass:
        """All that each micro-batch does."""
        return self.forward + self.again + self.backward


def step_passes(plan: Plan, stage: Stage) -> StepPasses:
    """Return the operations of a step on a device of a pipeline stage."""
    sent = exchanges(plan, stage)
    multiplied = computed(plan, stage)
    adapted = adapters(plan, stage)
    first, moved, moved_back = between(plan, stage)
    unpacked = unpacking(plan, stage)
    whole = multiplied + adapted + unpacked + casts(plan, multiplied, backward=False)
    sent_on = tuple(one + put_together(plan, one) for one in (sent.forward, sent.again, sent.backward))
    return StepPasses(
        forward=whole + moved + first + recast(plan, multiplied) + offloaded(plan, stage) + sent_on[0],
        again=again(plan, whole, moved) + sent_on[1],
        backward=(
            *(found for item in multiplied for found in backward_of(plan, item)),
            *(found for item in adapted for found in both_gradients(item)),
            *(adapted if plan.sums_adapters else ()),
            *unpacked,
            *casts(plan, multiplied, backward=True),
            *moved_back,
            *offloaded(plan, stage),
            *sent_on[2],
        ),
        **updating(plan, stage, sent),
        in_turn=trained_tensors(plan, stage) if plan.method.optimizer.in_turn else 0,
    )


def computed(plan: Plan, stage: Stage) -> Pass:
    """Return the products, attentions and recurrences of one micro-batch forward through a stage."""
    facts, layout = catalog(), plan.layout
    plain = facts.number_format("fp32" if plan.scheme.compute == FP32 else "bf16")
    model = rank_model(
        stage=stage,
        weights=facts.number_format(MULTIPLIED.get(plan.scheme.id, "bf16")),
        group=None,
        keys=plain,
        values=plain,
        element_bytes=plan.scheme.compute,
        layout=Layout(tensor=layout.tensor, context=layout.context, expert=layout.expert),
        fuses=plan.core or plan.trainer == MEGATRON or plan.scheme.id == NARROW_SCHEME,
    )
    reads = plan.tokens if plan.architecture.has_encoder else 0
    outputs = plan.batch.tokens if stage.is_last else 0
    segment = Segment(plan.micro_batch, plan.tokens, 0, outputs, encoding=reads)
    listed = (item for item in forward(model, segment) if not isinstance(item.operation, Pointwise | Collective))
    return tuple(found for item in listed for found in as_attended(plan, as_aligned(plan, item)))


def as_aligned(plan: Plan, item: Counted) -> Counted:
    """Return a product with the kernel that its rows allow: of 16-bit elements those of a vocabulary of 50,257 are odd.

    A compiler fills them up (PyTorch's shape_padding), and so does Megatron-LM (make-vocab-size-divisible-by).
    """
    one, times = item
    filled = plan.choices.compiled or plan.trainer == MEGATRON
    if filled or not isinstance(one, Product) or one.kernel not in SIXTEEN_BIT or one.n % ALIGNED == 0:
        return item
    return Counted(one._replace(kernel=UNALIGNED), times)


def recast(plan: Plan, multiplied: Pass) -> Pass:
    """Return the casts of a frozen output matrix in FP32 that a fused loss reads piece by piece, under autocast.

    Autocast remembers what it cast of trained weights alone (PyTorch's autocast_mode.cpp), and each piece has two
    products. A piece is as many rows as make its logits the size of the stream, a power of two (Liger).
    """
    if plan.cross_entropy != FUSED or not plan.numerics.casts:
        return ()
    found = []
    for one, times in multiplied:
        if isinstance(one, Product) and one.name in heads(plan) and not trained(plan, one):
            rows = 2.0 ** ceil(log2(max(one.m / ceil(one.n / one.k), 1.0)))
            size = float(one.n * one.k * (FP32 + plan.scheme.compute))
            found.append(Counted(Pointwise("Output matrix in 16 bit", size, 1.0), 2 * times * max(one.m / rows, 1.0)))
    return tuple(found)


def as_attended(plan: Plan, item: Counted) -> tuple[Counted, ...]:
    """Return attention as it is computed; everything else as it is.

    Tiles skip what is masked, unless a mask is given, and what stands in another of the packed sequences. Written out,
    attention multiplies all queries with all keys.
    """
    one, times = item
    if not isinstance(one, Attention):
        return (item,)
    if plan.choices.flash and not plan.choices.mask:
        pieces = plan.tokens / plan.packed
        packed = one._replace(sequences=one.sequences * pieces, queries=one.queries / pieces, keys=one.keys / pieces)
        return (Counted(packed, times),)
    if plan.choices.flash:
        return (Counted(one._replace(causal=False, window=None), times),)
    rows, keys = one.sequences * one.heads * one.queries, int(one.keys + one.queries)
    kernel = MULTIPLIED.get(plan.scheme.id, "bf16").replace("fp8", "bf16")
    scores = Product(SCORES, rows, keys, one.key_dim, kernel=kernel, weight_bytes=0.0, io_bytes=0.0)
    return Counted(scores, times), Counted(scores._replace(name=CONTEXT, n=one.value_dim, k=keys), times)


def adapters(plan: Plan, stage: Stage) -> Pass:
    """Return the products of low-rank adapters forward, each of an A and a B.

    Adapters in FP32 multiply in FP32, whose products PyTorch does not round to TF32 unless told to, where nothing casts
    them to the type of the base.
    """
    if plan.adapters is None:
        return ()
    found, width, kernel = [], plan.scheme.compute, "bf16"
    if plan.scheme.adapter > width and not plan.numerics.autocast:
        width, kernel = plan.scheme.adapter, "fp32"
    for kind, count in stage.kind_counts():
        matrices = {one.name.removesuffix(".weight"): one for one in kind.tensors if one.name.endswith(".weight")}
        for name, tensor in matrices.items():
            together = [matrices[one] for one in plan.adapters.beside(name) if one in matrices]
            if not together or not plan.adapters.covers(name):
                continue
            tensor = tensor._replace(shape=(sum(one.shape[0] for one in together), *tensor.shape[1:]))
            rows = plan.batch.rows * float(tensor.copies)
            if tensor.active is not None:
                rows = plan.batch.rows * tensor.active / max(1.0, min(plan.layout.expert, plan.layout.tensor))
            for extra in low_rank_tensors(tensor, plan.adapters):
                held, shape = local_share(extra, plan.layout.tensor, plan.layout.expert)
                if len(shape) == 2:
                    size, moved = float(width * held * prod(shape)), width * rows * sum(shape)
                    found.append(Counted(Product(extra.name, rows, *shape, kernel, size, moved), count))
    return tuple(found)


def unpacking(plan: Plan, stage: Stage) -> Pass:
    """Return the unpacking of a quantised base, matrix by matrix: its bits are read, and 16 of them written."""
    if not plan.choices.unpacks:
        return ()
    elements = matrices = 0.0
    for kind, count in stage.kind_counts():
        for tensor in kind.tensors:
            if plan.method.quantizes(tensor):
                held, shape = local_share(tensor, plan.layout.tensor, plan.layout.expert)
                elements += count * held * prod(shape)
                matrices += count * held
    size = elements * (plan.method.base.bits / 8 + plan.scheme.compute)
    return (Counted(Pointwise(UNPACKING, size, matrices), 1),)


def casts(plan: Plan, multiplied: Pass, *, backward: bool) -> Pass:
    """Return the casts to 8 bits: of each product's input forward, and of its output's gradients backward.

    Each is read in 16 bit and written twice in 8, the second time transposed, for the gradients of the weights
    (arXiv:2209.05433; Transformer Engine). Ranks that divide the stream cast their own part, before it is gathered.
    PyTorch's own, compiled beside FSDP, scales by the tensor itself, keeps inputs in 16 bit and casts them again in the
    backward pass (torchao's float8_linear.py).
    """
    by_itself = plan.trainer == FSDP and plan.choices.compiled and not plan.core
    size, kernels, hidden = 0.0, 0.0, plan.architecture.hidden_size
    for one, times in multiplied:
        if isinstance(one, Product) and one.kernel == NARROW:
            each = [(one.n, SCALED_GRADIENT_BYTES if by_itself else CAST_BYTES)] if backward else []
            if by_itself or not backward:
                each.append((one.k, SCALED_BYTES if by_itself else CAST_BYTES))
            for width, moved in each:
                divided = plan.batch.stream_rows / plan.batch.rows if width == hidden else 1.0
                size += times * moved * one.m * width * divided
                kernels += times
    return (Counted(Pointwise(CASTS, size, kernels), 1),) if size else ()


def both_gradients(item: Counted) -> tuple[Counted, ...]:
    """Return the products that give the gradients of a product's input and of its weights."""
    one, times = item
    assert isinstance(one, Product)
    name, m, n, k, *_ = one
    inputs = one._replace(name=f"{name}, its input's gradients", n=k, k=n)
    weights = one._replace(name=f"{name}, its weights' gradients", m=float(n), n=k, k=max(int(m), 1))
    return Counted(inputs, times), Counted(weights, times)


def backward_of(plan: Plan, item: Counted) -> tuple[Counted, ...]:
    """Return what an operation of the forward pass has backward."""
    one, times = item
    if isinstance(one, Attention):
        return (Counted(AttentionBackward(one), times),)
    if isinstance(one, Recurrence):
        return (Counted(one._replace(flops=2 * one.flops, state_bytes=2 * one.state_bytes), times),)
    if isinstance(one, Experts):
        inputs = Counted(one._replace(name=f"{one.name}, their input's gradients"), times)
        weights = Counted(one._replace(name=f"{one.name}, their weights' gradients"), times)
    else:
        inputs, weights = both_gradients(item)
    written_out = isinstance(one, Product) and not one.weight_bytes  # scores and values have gradients both
    return (inputs, weights) if written_out or trained(plan, one) else (inputs,)


def trained(plan: Plan, one: Operation) -> bool:
    """Whether the weights of a product have gradients: all do, or those of modules saved beside adapters."""
    if plan.adapters is None or plan.choices.all_gradients:
        return True
    return any(part in plan.adapters.saved for part in one.name.replace("+", ".").split("."))


def again(plan: Plan, whole: Pass, moved: Pass) -> Pass:
    """Return what checkpointing computes twice of a forward pass; the output matrix is never among it.

    Per operation, PyTorch's policy keeps every second matrix product and attention (torchtitan); Megatron-LM's repeats
    the scores alone (arXiv:2205.05198).
    """
    if plan.checkpointing == NO_CHECKPOINTS:
        return ()
    layers = tuple(item for item in whole if item.operation.name not in heads(plan)) + moved
    if plan.checkpointing == FULL:
        return layers
    if plan.checkpointing == SELECTIVE and plan.selective == PER_OPERATION:
        halved = (Counted(one, times / 2 if isinstance(one, Product | Experts) else times) for one, times in layers)
        return tuple(item for item in halved if not isinstance(item.operation, Attention))
    return tuple(item for item in layers if isinstance(item.operation, Attention) or item[0].name in WRITTEN_OUT)


def heads(plan: Plan) -> tuple[str, ...]:
    """Return the names of products that give logits."""
    listed = (*plan.architecture.head, plan.architecture.embeddings[0])
    return tuple(tensor.name.removesuffix(".weight") for tensor in listed)


def offloaded(plan: Plan, stage: Stage) -> Pass:
    """Return what crosses PCIe in each direction of a micro-batch: activations that wait, and a layer's parameters."""
    found = []
    if "activations" in plan.offload:
        for kind, count in stage.kind_counts():
            found.append(Counted(HostCopy("Activations", float(kept_of(plan.tapes.of(kind), plan))), count))
    if "parameters" in plan.offload:
        total = plan.inventory(stage).total
        size = total.elements * plan.scheme.compute if plan.adapters is None else total.base_bytes
        found.append(Counted(HostCopy("Parameters", size / plan.degree(PARAMETERS)), 1))
    return tuple(found)
