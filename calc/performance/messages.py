"""What a model's devices send each other: the messages of a pass or a step, by the way in which they share the work."""

from typing import NamedTuple

from calc.architecture.layers import Architecture
from calc.architecture.parameters import parameters_active, parameters_total
from calc.catalog import catalog
from calc.catalog.records import Accelerator
from calc.memory.budget import Layout
from calc.performance.collectives import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER, SEND
from calc.architecture.stages import Stage
from calc.performance.forward import EXPERT, PIPELINE, TENSOR as TENSOR_RANKS, Segment, forward
from calc.performance.kernels import kernels
from calc.performance.operations import Collective, Experts, Product, total_flops, weights_read
from calc.performance.rank_model import rank_model

TENSOR, SHARDED, GRADIENTS, STAGES, EXPERTS = "tensor", "sharded", "gradients", "stages", "experts"
SHARINGS = (TENSOR, SHARDED, GRADIENTS, STAGES, EXPERTS)
TRAINED = (SHARDED, GRADIENTS)  # what happens in a training step; the others are of one forward pass


class Messages(NamedTuple):
    """Messages of one size, sent one after the other."""

    operation: str
    repeats: int
    message_bytes: float
    formula: str  # of the size
    substituted: str
    source: str


def messages(
    sharing: str, *, architecture: Architecture, devices: int, tokens: int, element_bytes: float
) -> list[Messages]:
    """Return what devices send in a forward pass over `tokens`, or in a training step.

    Tensor ranks reduce hidden states twice a layer (Megatron-LM, arXiv:1909.08053). Sharded parameters are gathered for
    the forward and for the backward pass and their gradients scattered (ZeRO, arXiv:1910.02054, section 7.2);
    replicas reduce their gradients. Stages hand hidden states on. Expert ranks send each token to its experts and back.
    """
    hidden, layers = architecture.hidden_size, architecture.layer_count
    if sharing == TENSOR:
        size = tokens * hidden * element_bytes
        numbers = f"{tokens:,} × {hidden:,} × {element_bytes:g}"
        return [Messages(ALL_REDUCE, 2 * layers, size, r"T \cdot d \cdot b", numbers, "megatron-lm")]
    if sharing == STAGES:
        size = tokens * hidden * element_bytes
        numbers = f"{tokens:,} × {hidden:,} × {element_bytes:g}"
        return [Messages(SEND, devices - 1, size, r"T \cdot d \cdot b", numbers, "gpipe")]
    if sharing == EXPERTS:
        active = max(tensor.active or 0 for kind in architecture.kinds for tensor in kind.tensors)
        mixed = sum(
            count for kind, count in architecture.kind_counts() if any(tensor.active for tensor in kind.tensors)
        )
        size = tokens / devices * active * hidden * element_bytes
        numbers = f"{tokens:,} / {devices:,} × {active} × {hidden:,} × {element_bytes:g}"
        return [Messages(ALL_TO_ALL, 2 * mixed, size, r"\frac{T}{n} \cdot k \cdot d \cdot b", numbers, "gshard")]
    parameters = parameters_total(architecture)
    size = parameters * element_bytes / layers
    numbers = f"{parameters:,} × {element_bytes:g} / {layers}"
    formula = r"\frac{N \cdot b}{L}"
    if sharing == GRADIENTS:
        return [Messages(ALL_REDUCE, layers, size, formula, numbers, "zero")]
    return [
        Messages(ALL_GATHER, 2 * layers, size, formula, numbers, "zero"),
        Messages(REDUCE_SCATTER, layers, size, formula, numbers, "zero"),
    ]


class Arithmetic(NamedTuple):
    """The seconds that devices compute between their messages, and how they come about."""

    flops: float  # of one device
    read_bytes: float  # weights of one device
    rate: float  # that good kernels reach
    bandwidth: float
    numbers: str  # of the operations

    @property
    def seconds(self) -> float:
        """The longer of computing and reading the weights."""
        return max(self.flops / self.rate, self.read_bytes / self.bandwidth)


def arithmetic(
    sharing: str, *, architecture: Architecture, accelerator: Accelerator, devices: int, tokens: int
) -> Arithmetic | None:
    """Return what devices compute beside the messages; None where a device's rates are not known.

    Two operations for each active parameter and token, three times as many in training. Attention is left out. `tokens`
    are of all devices together in a forward pass, and of each of them in training.
    """
    plain = catalog().number_format("bf16")
    found = machine(accelerator=accelerator, weights=plain, values=catalog().engine(KERNELS).values, layout=Layout())
    if found is None:
        return None
    active, total = parameters_active(architecture), parameters_total(architecture)
    times, share = (3, 1) if sharing in TRAINED else (1, 1 if sharing == STAGES else devices)
    flops = times * 2.0 * active * tokens / share
    numbers = f"{2 * times} × {active:,} × {tokens:,}" + (f" / {share:,}" if share > 1 else "")
    read = 2.0 * total / share
    return Arithmetic(
        flops, read, found.matrix_rate * found.matrix_share, found.bandwidth * found.weights_share, numbers
    )
