"""What a trained parameter costs besides itself: precision schemes and optimizers, in bytes an element.

A scheme says in what the weights, their master copy, gradients and optimizer states are kept; an optimizer how many
states it has and what it needs beside them while it works.
"""

from math import prod
from typing import NamedTuple

from calc.architecture.tensors import Tensor


class Scheme(NamedTuple):
    """A precision scheme: bytes an element of what a framework really keeps."""

    id: str
    weight: int
    gradient: int  # default; `gradient_dtype` replaces it
    compute: int  # activations
    base: str  # number format of a frozen base
    source: str
    master: int = 0  # 0 where the weights themselves are updated
    autocast: bool = False  # FP32 weights and stream, 16-bit copies for matrices (torch.autocast)
    adapter: int = 4  # adapters and modules trained beside them

    @property
    def updated(self) -> int:
        """Bytes of the copy that the optimizer updates; its states have the same type."""
        return self.master or self.weight


SCHEMES = {
    scheme.id: scheme
    for scheme in (
        Scheme("fp32", weight=4, gradient=4, compute=4, base="fp32", source="torch-amp"),
        Scheme("bf16-mixed", weight=2, gradient=4, compute=2, base="bf16", source="megatron-optimizer", master=4),
        Scheme("fp16-mixed", weight=2, gradient=2, compute=2, base="fp16", source="zero", master=4),
        Scheme("bf16-autocast", weight=4, gradient=4, compute=2, base="fp32", source="torch-amp", autocast=True),
        Scheme("fp16-autocast", weight=4, gradient=4, compute=2, base="fp32", source="torch-amp", autocast=True),
        Scheme("bf16", weight=2, gradient=2, compute=2, base="bf16", source="torch-amp", adapter=2),
        Scheme("fp8-mixed", weight=2, gradient=4, compute=2, base="bf16", source="megatron-optimizer", master=4),
    )
}

ALL, MATRICES, FACTORED = "all", "matrices", "factored"
BLOCK_ELEMENTS, SMALLEST_QUANTIZED = 256, 4096  # bitsandbytes: a scale for each block, and none for small tensors


class Optimizer(NamedTuple):
    """An optimizer: its states, and what is alive beside them during its step."""

    id: str
    states: int  # tensors of the parameter's shape
    state_bytes: int | None = None  # None: as the parameter it updates
    kind: str = ALL  # MATRICES: matrices of the layers have one state less; FACTORED: a row and a column
    paged: bool = False  # states in host memory that the device pages in (arXiv:2305.14314)
    copies: int = 0  # copies of all parameters alive at once
    largest: int = 0  # copies of the largest parameter alive at once
    steps: bool = True  # a counter on the device for each tensor
    fused: bool = True  # one kernel reads and writes all once; else each operation is a kernel of its own
    # The host updates one tensor after the other while the device waits: bitsandbytes synchronizes after each (its
    # optimizer.py), transformers' Adafactor launches some thirty kernels for each.
    in_turn: bool = False
    source: str = "torch-optim"


OPTIMIZERS = {
    optimizer.id: optimizer
    for optimizer in (
        Optimizer("adamw", 2),
        Optimizer("adamw-foreach", 2, copies=1, steps=False, fused=False),
        Optimizer("adamw-foreach-2.0", 2, copies=2, steps=False, fused=False),
        Optimizer("adamw-for-loop", 2, largest=2, steps=False, fused=False),
        Optimizer("adamw-8bit", 2, 1, in_turn=True, source="bitsandbytes-8bit", steps=False),
        Optimizer("paged-adamw", 2, 4, paged=True, in_turn=True, source="qlora", steps=False),
        Optimizer("paged-adamw-8bit", 2, 1, paged=True, in_turn=True, source="qlora", steps=False),
        Optimizer("sgd", 0, steps=False),
        Optimizer("sgd-momentum", 1, steps=False),
        Optimizer("adafactor", 1, kind=FACTORED, largest=1, in_turn=True, source="adafactor", steps=False),
        Optimizer("lion", 1, largest=2, source="lion", steps=False),
        Optimizer("lion-8bit", 1, 1, in_turn=True, source="bitsandbytes-8bit", steps=False),
        Optimizer("adagrad", 1, steps=False),
        Optimizer("muon", 2, kind=MATRICES, largest=4, source="muon", steps=False),
    )
}


def state_bytes(*, optimizer: Optimizer, tensor: Tensor, shape: tuple[int, ...], updated_bytes: int) -> int:
    """Return the bytes of the states of one tensor of which a device updates `shape`.

    An 8-bit state has a 32-bit scale for each block of 256 elements: 2.03 bytes for AdamW's two; tensors below 4,096
    elements stay in FP32.
    """
    elements = prod(shape)
    width = updated_bytes if optimizer.state_bytes is None else optimizer.state_bytes
    if optimizer.kind == FACTORED and len(shape) >= 2:
        return (elements // shape[-1] + elements // shape[-2]) * width
    states = optimizer.states
    if optimizer.kind == MATRICES and tensor.quantizable:
        states -= 1
    if optimizer.state_bytes == 1:
        if elements < SMALLEST_QUANTIZED:
            return states * elements * 4
        return states * (elements + -(-elements // BLOCK_ELEMENTS) * 4)
    return states * elements * width
