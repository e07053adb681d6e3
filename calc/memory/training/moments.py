"""Moments of a training step, and what a layer keeps between its forward and its backward."""

from typing import NamedTuple

from calc.architecture.layers import Architecture
from calc.architecture.stages import Stage, local_share
from calc.memory.training.elements import Held, Inventory
from calc.memory.training.plan import (
    FULL,
    PER_OPERATION,
    SELECTIVE,
    Plan,
)
from calc.memory.training.tape import Tape

FORWARD, LOSS, BACKWARD, STEP = "forward", "loss", "backward", "optimizer"
ID_BYTES, LABEL_BYTES, STATISTIC_BYTES, LOSS_BYTES = (
    8,
    8,
    4,
    8,
)  # a token id, a token's shifted label while logits become a loss, FP32
# statistics of the final norm, the loss and its weight
BUCKET_ELEMENTS = 500_000_000  # DeepSpeed: reduce_bucket_size and allgather_bucket_size
STEP_COUNTER_BYTES = 4
SUM_BYTES = 4  # gradients are added up, and masters updated, in FP32
PARTS = (
    "weights",
    "master_weights",
    "adapters",
    "gradients",
    "optimizer_states",
    "activations",
    "logits",
    "communication_buffers",
    "optimizer_workspace",
)


class Moment(NamedTuple):
    """The widest moment of a phase, and what happens then."""

    phase: str
    reason: str
    kept: int  # of the activations those that layers keep for their backward, the tables that they share included
    total: int  # all bytes alive
    static: dict[str, int]  # what stays through the step, by part
    beside: dict[str, int]  # what comes and goes and is not kept

    @property
    def parts(self) -> dict[str, int]:
        """All bytes alive, by part."""
        alive = {name: size + self.beside.get(name, 0) for name, size in self.static.items()}
        alive["activations"] += self.kept
        return alive

    @property
    def passing(self) -> int:
        """Bytes of activations and logits."""
        stays, beside = self.static, self.beside
        staying = stays["activations"] + stays["logits"]
        return staying + self.kept + beside.get("activations", 0) + beside.get("logits", 0)


class Kept(NamedTuple):
    """A layer's activations: what it keeps from forward to backward, and the widest moment of its backward."""

    kept: int
    forward: int  # beyond what it keeps, while it runs forward
    backward: int  # all of the layer's values at the widest moment, recomputed ones included
    gradients: int  # of its parameters at that moment
    held: Held  # its parameters
    outliving: int  # of what it keeps, not released after the operation that kept it


class Timeline(NamedTuple):
    """A device's step: what stays, and the moments."""

    stage: Stage
    position: int
    inventory: Inventory
    layers: tuple[Kept, ...]  # of each kind in the stage
    static: dict[str, int]
    host: int
    moments: tuple[Moment, ...]
    peak: Moment  # with most alive; of equals the earliest

    @property
    def stays(self) -> int:
        """Bytes on the device in every phase: weights, states, adapters, gradients that add up, fixed buffers."""
        return sum(self.static.values())

    @property
    def widest_pass(self) -> int:
        """Most bytes of activations and logits at any moment."""
        return max(moment.passing for moment in self.moments)


def local_outputs(architecture: Architecture, tensor_parallel: int) -> int:
    """Return the logits of one token on one device: tensor-parallel ranks divide the vocabulary, not few classes."""
    if architecture.output_size != architecture.vocab_size or not architecture.output_size:
        return architecture.output_size
    return local_share(architecture.embeddings[0], tensor_parallel)[1][0]


def kept_by_selection(tape: Tape, plan: Plan) -> int:
    """Return what selective checkpointing keeps of a layer.

    PyTorch's policy, per operation: the layer's input, outputs of attention kernels and of every second matrix, the
    rest is recomputed (torchtitan). Megatron-LM's (arXiv:2205.05198): everything but the attention scores.
    """
    return tape.every_second_bytes if plan.selective == PER_OPERATION else tape.saved_but_scores_bytes


def kept_of(tape: Tape, plan: Plan) -> int:
    """Return the bytes that a layer keeps from its forward to its backward under a plan's checkpointing."""
    if plan.checkpointing == FULL:
        return tape.sizes["input"]
    return min(kept_by_selection(tape, plan), tape.saved_bytes) if plan.checkpointing == SELECTIVE else tape.saved_bytes


def layer_kept(tape: Tape, plan: Plan, held: Held) -> Kept:
    """Return the activations of one layer with so many parameters under the plan's checkpointing."""
    keep = not (plan.in_backward or plan.gradients_stay)
    values, gradients = tape.backward_peak(keep_gradients=keep)
    kept = kept_of(tape, plan)
    again = kept if plan.checkpointing != "none" else 0
    recomputed = max(values, tape.forward_peak_bytes if again else 0)
    if plan.checkpointing == SELECTIVE and plan.selective == PER_OPERATION:
        again = tape.sizes["input"]
    return Kept(
        kept=kept,
        forward=max(tape.forward_peak_bytes - (0 if plan.checkpointing == FULL else kept), 0),
        backward=recomputed + (again if "input" not in tape.saved and plan.checkpointing != "none" else 0),
        gradients=gradients,
        held=held,
        outliving=tape.outliving_bytes,
    )
