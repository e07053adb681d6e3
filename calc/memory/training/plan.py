"""A training run on a layout: every choice that its memory depends on."""

from typing import NamedTuple

from calc.architecture.identity import Same
from calc.architecture.layers import Architecture
from calc.architecture.stages import Stage, stages
from calc.memory.budget import Layout
from calc.memory.training.elements import Inventory, Method, take_inventory
from calc.memory.training.recording import Tapes, tapes_of
from calc.memory.training.run import Adapters, Batch, Choices, Numerics
from calc.memory.training.states import Scheme

NONE, OPTIMIZER, GRADIENTS, PARAMETERS = 0, 1, 2, 3  # what sharding divides, each with what stands before it (ZeRO)
NO_CHECKPOINTS, SELECTIVE, FULL = "none", "selective", "full"
PER_OPERATION, SCORES = "per-op", "attention"  # what "selective" recomputes: in PyTorch, in Megatron-LM
# Kinds of schedule: sharded layer by layer (FSDP, ZeRO-3); several parallelisms with kernels of their own (Megatron-LM,
# NeMo); a program that XLA compiles as a whole (JAX); one device or copies of it (PyTorch, DeepSpeed, transformers).
LAYERS, WHOLE_STEP = "layers", "step"  # what CUDA graphs of a step hold
FSDP, MEGATRON, XLA, PLAIN = "fsdp", "megatron", "xla", "plain"
RING, HEADS = "ring", "heads"  # what context ranks hand each other: keys and values, or heads for tokens
FIRST_TILES, USUAL_TILES, NEWEST_TILES = "1", "2", "3"  # generations of FlashAttention


class Plan(NamedTuple):
    """A training run."""

    architecture: Architecture
    method: Method
    scheme: Scheme
    layout: Layout
    stage_of_zero: int
    shard_ranks: int  # data-parallel ranks that share one copy; fewer than all with hybrid sharding
    micro_batch: int
    tokens: int
    accumulation: int
    in_backward: bool
    checkpointing: str
    selective: str
    choices: Choices
    compile_stated: bool  # otherwise whether it is compiled follows from the layout
    by_xla: bool  # the program of a step is compiled as a whole
    cross_entropy: str
    loss_compiled: bool  # a loss in pieces keeps 16-bit logits, not FP32 ones
    keep_logits: bool
    offload: tuple[str, ...]
    reduced_last: bool  # micro-batches add up whole gradients, which the last one divides over the ranks ("no_sync")
    varied_lengths: bool  # batches differ in length, so that blocks of one fit no other
    expandable_segments: bool  # the allocator's segments grow, so that free blocks beside each other are one
    stated: bool  # what frameworks do differently is stated, not taken as usual
    gather_bytes: int  # an element of a sharded parameter as it is gathered
    reduced_bytes: int  # an element of a gradient as ranks exchange it
    narrow_gradients: bool  # 16-bit gradients stay beside their FP32 sums
    tables_apart: bool  # sharded, the token table and the output matrix are units of their own
    adapters_apart: bool  # sharded, each matrix of an adapter is a unit of its own
    sequence_parallel: bool
    core: bool  # Megatron Core runs it, on however few devices
    graphs: str  # what of a step the host replays as captured CUDA graphs: nothing (""), layers without experts, all
    packed: int  # tokens of the sequences that are packed into one of `tokens`, as many where none are
    packed_apart: bool  # their queries and keys are turned by position one sequence after the other
    tensor_overlap: bool  # sums of tensor ranks go in pieces beside the products that they belong to
    context_exchange: str  # what context ranks hand each other
    tiles: str  # generation of FlashAttention where it is stated, else ""
    stage_split: str  # how layers are given to the stages of a pipeline
    virtual_stages: int  # pieces of the model that each stage of a pipeline has (arXiv:2104.04473, section 2.2)

    @property
    def adapters(self) -> Adapters | None:
        """The adapters, None when the model itself is trained."""
        return self.method.adapters

    @property
    def sums_adapters(self) -> bool:
        """Whether there are adapters, and products add what they give."""
        return self.adapters is not None and self.adapters.summed

    @property
    def numerics(self) -> Numerics:
        """Bytes of what a layer works with.

        What is gathered in the compute type is not cast again, nor is a frozen base that is stored in it.
        """
        scheme = self.scheme
        wide = self.adapters is None or self.method.base.bits != 8 * scheme.compute
        cast = scheme.autocast and wide and (self.stage_of_zero < PARAMETERS or self.gather_bytes > scheme.compute)
        mixed = scheme.autocast or scheme.master > 0  # else adapters of another type multiply in it
        weight = scheme.weight if cast or not scheme.autocast else scheme.compute
        return Numerics(
            compute=scheme.compute,
            residual=scheme.weight if cast else scheme.compute,
            weight=weight,
            gradient=weight if self.adapters is None else scheme.adapter,
            autocast=cast or (mixed and self.adapters is not None and scheme.adapter != scheme.compute),
            adapter=scheme.adapter,
        )

    @property
    def batch(self) -> Batch:
        """What one device works on of a micro-batch."""
        return Batch(
            sequences=self.micro_batch,
            tokens=-(-self.tokens // self.layout.context),
            keys=self.tokens,
            tensor=self.layout.tensor,
            sequence_parallel=self.sequence_parallel,
            expert=self.layout.expert,
        )

    @property
    def stages(self) -> list[Stage]:
        """The stages of the pipeline, all layers in one where there is none."""
        return stages(self.architecture, self.layout.pipeline, self.stage_split)

    def on(self, layout: Layout) -> "Plan":
        """Return the plan on another layout, compiled as is usual there unless it was stated."""
        plan = self._replace(layout=layout)
        if self.compile_stated:
            return plan
        return plan._replace(choices=self.choices._replace(compiled=usually_compiled(self.scheme, layout)))

    @property
    def tapes(self) -> Tapes:
        """The tapes of the model's layers."""
        return tapes_of(
            Same(self.architecture),
            numerics=self.numerics,
            batch=self.batch,
            choices=self.choices,
            adapters=self.adapters,
        )

    def inventory(self, stage: Stage) -> Inventory:
        """Return what a device of a stage holds before sharding."""
        return take_inventory(
            Same(stage.architecture),
            first=stage.first,
            last=stage.last,
            method=self.method,
            tensor_parallel=self.layout.tensor,
            expert_parallel=self.layout.expert,
        )

    def degree(self, what: int) -> int:
        """Return how many ranks share what stands at `what`: optimizer states, gradients or parameters."""
        return self.shard_ranks if self.stage_of_zero >= what else 1

    @property
    def trainer(self) -> str:
        """The kind of schedule that runs with such choices have."""
        if self.by_xla:
            return XLA
        if self.stage_of_zero >= PARAMETERS:
            return FSDP
        layout = self.layout
        beyond = max(layout.tensor, layout.pipeline, layout.context, layout.expert) > 1
        return MEGATRON if beyond or self.scheme.id.startswith("fp8") else PLAIN

    @property
    def attention_kernel(self) -> str:
        """The generation of FlashAttention: Megatron-LM, NeMo and JAX have the newest, PyTorch's own is the second."""
        return self.tiles or (NEWEST_TILES if self.trainer in (MEGATRON, XLA) else USUAL_TILES)

    @property
    def stays_gathered(self) -> bool:
        """Whether sharded parameters stay gathered and gradients whole until the step's last micro-batch.

        FSDP2 does so in a pipeline, where gathering them for each micro-batch would be too slow (torchtitan).
        """
        return self.layout.pipeline > 1 and self.stage_of_zero >= PARAMETERS and self.shard_ranks > 1

    @property
    def gathers(self) -> bool:
        """Whether parameters are divided over ranks, or wait on the host, and are gathered unit by unit."""
        elsewhere = self.shard_ranks > 1 or "parameters" in self.offload
        return self.stage_of_zero >= PARAMETERS and elsewhere and not self.stays_gathered

    @property
    def whole_gradients(self) -> bool:
        """Whether gradients of all micro-batches but the last add up undivided, as FSDP's `no_sync` has it."""
        return self.reduced_last and self.accumulation > 1 and not self.in_backward

    @property
    def flat_partition(self) -> bool:
        """Whether a rank updates its share as one flat tensor: ZeRO-1 and 2 with a master copy (arXiv:1910.02054)."""
        divided = self.stage_of_zero in (OPTIMIZER, GRADIENTS)
        return divided and self.scheme.master > 0 and self.adapters is None

    @property
    def gradients_stay(self) -> bool:
        """Whether gradients of all parameters are alive from the first micro-batch to the step's end.

        They are when micro-batches add up, and where a framework keeps a buffer for them: Megatron-LM's FP32 sums.
        """
        buffer = self.scheme.master > 0 and self.stage_of_zero < GRADIENTS and self.adapters is None
        return (self.accumulation > 1 or buffer) and not self.in_backward


def usually_compiled(scheme: Scheme, layout: Layout) -> bool:
    """Return whether what trains so fuses pointwise operations: frameworks of pre-training, and FP8, which needs it."""
    return max(layout.tensor, layout.pipeline, layout.context) > 1 or scheme.id.startswith("fp8")


def keeps_no_scores(architecture: Architecture, scheme: Scheme, *, mask: bool) -> bool:
    """Return whether PyTorch computes attention in tiles where it is asked to.

    In FP32 it has tiles for queries that each have a key of their own. Fewer keys are handed over as they are, which
    only the kernel takes that writes the scores out; with a mask they are repeated first (transformers'
    use_gqa_in_sdpa, since 4.54). Measured with tests/measure/one_device.py.
    """
    shared = any(kind.attention is not None and kind.attention.kind in ("GQA", "MQA") for kind in architecture.kinds)
    return mask or scheme.id != "fp32" or not shared


def held_micro_batches(*, position: int, pipeline: int, micro_batches: int, virtual_stages: int = 1) -> float:
    """Return how many micro-batches' activations a pipeline stage holds at most.

    1F1B (arXiv:2104.04473) fills the stages after it. With several pieces of the model a stage begins more of them
    before the first one comes back, each a part of its layers (arXiv:2205.05198, section 4.2.3: 1 + (p - 1) / (p v)
    times as much on the first stage).

    >>> [held_micro_batches(position=position, pipeline=4, micro_batches=16) for position in (0, 3)]
    [4, 1]
    >>> held_micro_batches(position=0, pipeline=4, micro_batches=16, virtual_stages=2)
    5.5
    """
    after = pipeline - position - 1
    if virtual_stages == 1:
        return min(after + 1, micro_batches)
    begun = 2 * after + (virtual_stages - 1) * pipeline + 1
    return min(begun / virtual_stages, micro_batches)
