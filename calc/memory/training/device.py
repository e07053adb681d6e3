"""One device in a training step: what stays on it in every phase, and the buffers that it exchanges through."""

from functools import cached_property

from calc.architecture.stages import Stage
from calc.memory.training.elements import Held
from calc.memory.training.loss import COMPILED, CORE, DIVIDED, FULL, IN_PLACE, NARROW, Logits, logits
from calc.memory.training.moments import (
    BUCKET_ELEMENTS,
    ID_BYTES,
    PARTS,
    STEP_COUNTER_BYTES,
    SUM_BYTES,
    Kept,
    Moment,
    layer_kept,
    local_outputs,
)
from calc.memory.training.plan import (
    GRADIENTS,
    NONE,
    OPTIMIZER,
    PARAMETERS,
    Plan,
)


class Device:
    """One device of a pipeline stage, with the moments noted so far."""

    def __init__(self, plan: Plan, stage: Stage, position: int) -> None:
        self.plan, self.stage, self.position = plan, stage, position
        self.batch, self.numerics = plan.batch, plan.numerics
        self.inventory = plan.inventory(stage)
        self.total = self.inventory.total
        self.static, self.host = self.stays()
        self.staying = sum(self.static.values())
        self.moments: list[Moment] = []
        self.earlier = 0  # of the step before, what its operations have not released

    @cached_property
    def layers(self) -> list[Kept]:
        """The activations of each kind of layer."""
        tapes = self.plan.tapes
        return [layer_kept(tapes.of(kind), self.plan, held) for kind, held in self.inventory.layers]

    @cached_property
    def pattern(self) -> list[int]:
        """For each layer of the stage its place in `layers`."""
        order = {id(kind): index for index, (kind, _) in enumerate(self.inventory.layers)}
        kinds, pattern = self.stage.architecture.kinds, self.stage.architecture.pattern
        places = [order.get(id(kind), 0) for kind in kinds]
        return [places[index] for index in pattern[self.stage.first : self.stage.last]]

    def of_each(self, sizes: list[int]) -> list[int]:
        """Return of each layer of the stage the size that its kind has, as `layers` has them in order."""
        return list(map(sizes.__getitem__, self.pattern))

    def stays(self) -> tuple[dict[str, int], int]:
        """Return what is on the device in every phase, and what offloading puts on the host."""
        plan, total, method = self.plan, self.total, self.plan.method
        scheme = plan.scheme
        states = total.state_bytes + STEP_COUNTER_BYTES * total.tensors * method.optimizer.steps
        shards = plan.degree(OPTIMIZER)
        parts = dict.fromkeys(PARTS, 0)
        master = 0 if plan.adapters is not None else total.updated * scheme.master
        parts["weights"] = -(-total.base_bytes // plan.degree(PARAMETERS))
        parts["adapters"] = -(-total.added_bytes // plan.degree(PARAMETERS))
        parts["master_weights"] = -(-master // shards)
        parts["optimizer_states"] = -(-states // shards)
        parts["gradients"] = self.gradients()
        if plan.stays_gathered:
            parts["communication_buffers"] = total.elements * plan.gather_bytes
        several = plan.layout.data * plan.layout.context > 1
        if (several and plan.stage_of_zero < PARAMETERS) or plan.stage_of_zero == GRADIENTS:
            parts["communication_buffers"] = self.buckets()
        parts["activations"] = self.inputs()
        moved = []
        if method.optimizer.paged:
            moved.append("optimizer_states")
        if "optimizer" in plan.offload:
            moved += ["optimizer_states", "master_weights"]
        if "parameters" in plan.offload:
            moved += ["weights", "gradients"]
        host = sum(parts[name] for name in dict.fromkeys(moved))
        if "gradients" in moved or ("optimizer" in plan.offload and plan.stage_of_zero >= GRADIENTS):
            host += -(-total.gradient_bytes // plan.degree(GRADIENTS)) - parts["gradients"] * ("gradients" in moved)
        for name in moved:
            parts[name] = 0
        return parts, host

    def gradients(self) -> int:
        """Return the gradients that are alive in every phase: sums, and 16-bit ones that stay beside them."""
        plan, total = self.plan, self.total
        narrow = total.trained * plan.scheme.compute if plan.narrow_gradients else 0
        if not plan.gradients_stay:
            return narrow
        if plan.stays_gathered:
            return narrow + total.trained * SUM_BYTES
        ranks = 1 if plan.whole_gradients else plan.degree(GRADIENTS)
        return narrow + -(-total.gradient_bytes // ranks)

    @property
    def gradients_leave(self) -> bool:
        """Whether gradients go to the host as they are made."""
        offload = self.plan.offload
        return "parameters" in offload or ("optimizer" in offload and self.plan.stage_of_zero >= GRADIENTS)

    def inputs(self) -> int:
        """Return what a micro-batch comes with: token ids, a padding mask, and the frequencies of rotary positions."""
        plan, rotary = self.plan, self.stage.architecture.rotary
        ids = ID_BYTES * self.batch.rows * (2 if plan.choices.mask else 1)
        return ids + (4 * rotary.head_dim if rotary is not None else 0)

    def tables(self) -> int:
        """Return what is made of the input once and read by all layers, until the backward pass has left them.

        That is the rotary table, for each position a sine and a cosine of every element of a head, and where layers are
        recomputed the positions and the mask over all pairs of tokens, which they read again.
        """
        plan, batch, numerics = self.plan, self.batch, self.numerics
        size = 0
        rotary = self.stage.architecture.rotary
        if rotary is not None:
            size += 2 * batch.tokens * rotary.rotated * numerics.residual
        if plan.checkpointing != "none":
            size += ID_BYTES * batch.tokens
        if plan.checkpointing != "none" and (plan.choices.mask or not plan.choices.flash):
            pairs = batch.sequences * batch.tokens * batch.keys
            size += pairs if plan.choices.flash else pairs * numerics.residual
        if self.stage.is_first and any(kind.style.dropout for kind in self.stage.architecture.kinds):
            size += batch.stream_rows * self.stage.architecture.hidden_size
        return size

    def buckets(self) -> int:
        """Return buffers for reducing gradients: DDP's are a copy of all, ZeRO's a bucket of fixed size."""
        plan, trained = self.plan, self.total.trained
        if plan.stage_of_zero == NONE:
            return 0 if plan.scheme.master else self.total.gradient_bytes
        if plan.stage_of_zero == GRADIENTS:  # DeepSpeed makes the bucket in its full size, however little is trained
            return BUCKET_ELEMENTS * plan.scheme.compute
        return min(trained, BUCKET_ELEMENTS) * plan.scheme.compute

    def note(self, phase: str, reason: str, kept: int = 0, **beside: int) -> None:
        """Note a moment: what is kept, and what is alive beside it and what stays."""
        total = self.staying + kept + sum(beside.values())
        self.moments.append(Moment(phase, reason, kept=kept, total=total, static=self.static, beside=beside))

    def gathered(self, *units: Held) -> int:
        """Return the bytes of gathered units of sharded parameters, with the root unit, which stays gathered.

        What is no layer, the token table and the output matrix, is in the root unit unless a recipe sets it apart.
        """
        plan = self.plan
        if not plan.gathers:
            return 0
        if not plan.tables_apart:
            units += (self.inventory.embedding, self.inventory.head)
        if plan.adapters is None:
            return sum([unit.elements for unit in units]) * plan.gather_bytes
        return sum([unit.whole_bytes for unit in units])

    @property
    def root_gradients(self) -> int:
        """Return gradients that wait undivided for the root unit's end: those of the output matrix."""
        plan = self.plan
        waits = plan.gathers and not plan.tables_apart and not plan.gradients_stay and plan.adapters is None
        return self.inventory.head.trained * plan.gather_bytes if waits else 0

    @property
    def divided_away(self) -> int:
        """Return what dividing whole gradients over the ranks, after the last micro-batch, takes off a device."""
        whole = self.static["gradients"] if self.plan.whole_gradients else 0
        return whole - -(-whole // self.plan.degree(GRADIENTS))

    def reducing(self, elements: int) -> int:
        """Return the buffer from which a unit's gradients are reduced, in the type in which ranks exchange them."""
        plan = self.plan
        if plan.stage_of_zero < GRADIENTS or plan.adapters is not None or plan.shard_ranks == 1:
            return 0
        return elements * (plan.reduced_bytes if plan.scheme.autocast else plan.scheme.compute)

    @cached_property
    def growing(self) -> int:
        """Over how many ranks gradients are divided that are left here as the backward pass goes on; 0: none is."""
        plan = self.plan
        return 0 if plan.gradients_stay or plan.in_backward or self.gradients_leave else plan.degree(GRADIENTS)

    def grown(self, size_bytes: int) -> int:
        """Return what is left on this device of gradients of `size_bytes` once their layers are done."""
        return -(-size_bytes // self.growing) if self.growing else 0

    def exchanged(self) -> int:
        """Return buffers between ranks: a gathered input, tokens sent to experts and back, a stage's input, output."""
        plan, batch = self.plan, self.batch
        row = self.plan.architecture.hidden_size * plan.scheme.compute
        gathered = batch.rows * row if plan.sequence_parallel and plan.layout.tensor > 1 else 0
        if plan.layout.expert > 1:
            sent = max((t.active or 0 for kind, _ in self.inventory.layers for t in kind.tensors), default=0)
            gathered += 2 * batch.rows * sent * row
        return gathered + (2 * batch.stream_rows * row if plan.layout.pipeline > 1 else 0)

    @property
    def way_of_loss(self) -> str:
        """How the loss is computed: as asked, or as frameworks write that in special cases."""
        plan = self.plan
        if plan.cross_entropy != FULL:
            return CORE if plan.core and plan.cross_entropy == COMPILED else plan.cross_entropy
        if plan.layout.tensor > 1 and local_outputs(self.stage.architecture, plan.layout.tensor):
            megatron = plan.scheme.master > 0 and plan.stage_of_zero < PARAMETERS  # its usual sharding
            return IN_PLACE if megatron else DIVIDED
        return NARROW if plan.scheme.id == "fp16-mixed" and not self.stage.architecture.wide_logits else FULL

    @cached_property
    def logits(self) -> Logits:
        """The logits of one micro-batch on this device; tensor-parallel ranks divide the vocabulary."""
        plan, architecture = self.plan, self.stage.architecture
        return logits(
            elements=self.batch.rows * local_outputs(architecture, plan.layout.tensor),
            compute_bytes=plan.scheme.compute,
            way=self.way_of_loss,
            keep=plan.keep_logits,
            compiled=plan.loss_compiled,
            stream_bytes=self.batch.rows * architecture.hidden_size * plan.scheme.compute,
        )
