"""Low-rank adapters that are served beside a model: what a device holds of them.

Each matrix with adapters has, for every place, an A and a B of the rank in 16 bit: an engine reserves as many places as
it is set up for, at the rank that it is set up for (vLLM's `max_loras` and `max_lora_rank`).
Sources: LoRA (arXiv:2106.09685); Punica (arXiv:2310.18547); vLLM's lora/layers.
"""

from math import prod
from typing import NamedTuple

from calc.architecture.stages import Stage, local_share
from calc.memory.training.elements import low_rank_tensors
from calc.memory.training.run import Adapters
from calc.units import show_count

ADAPTER_BYTES = 2  # of an element: as the model computes


class ServedAdapters(NamedTuple):
    """How many adapters are on the device at once, and what each is."""

    places: int
    each: Adapters


class Matrices(NamedTuple):
    """Matrices with adapters that multiply the same input on a rank, so that engines apply theirs together."""

    name: str
    inputs: int
    outputs: int
    down_elements: int  # of one adapter, for all of them
    up_elements: int

    @property
    def elements(self) -> int:
        """Elements of one adapter."""
        return self.down_elements + self.up_elements


def adapted(stage: Stage, each: Adapters, *, tensor_parallel: int, expert_parallel: int) -> list[tuple[Matrices, int]]:
    """Return a stage's matrices with adapters, joined by what they multiply, each with its number of layers."""
    found: list[tuple[Matrices, int]] = []
    for kind, layers in stage.kind_counts():
        joined: dict[tuple[str, int, str], Matrices] = {}
        for tensor in kind.tensors:
            name = tensor.name.removesuffix(".weight")
            if len(tensor.shape) != 2 or name == tensor.name or not each.covers(name):
                continue
            low = [local_share(extra, tensor_parallel, expert_parallel) for extra in low_rank_tensors(tensor, each)]
            down, up = (copies * prod(shape) for copies, shape in low)
            inputs, outputs = low[0][1][1], low[1][1][0]
            key = name.rpartition(".")[0], inputs, tensor.split
            old = joined.get(key, Matrices(key[0], inputs, 0, 0, up_elements=0))
            joined[key] = old._replace(
                outputs=old.outputs + outputs,
                down_elements=old.down_elements + down,
                up_elements=old.up_elements + up,
            )
        found += [(group, layers) for group in joined.values()]
    return found


def adapters_bytes(stage: Stage, served: ServedAdapters, *, tensor_parallel: int, expert_parallel: int) -> int:
    """Return the bytes that a rank of a stage holds of all adapters."""
    groups = adapted(stage, served.each, tensor_parallel=tensor_parallel, expert_parallel=expert_parallel)
    return served.places * ADAPTER_BYTES * sum(layers * group.elements for group, layers in groups)


def adapters_numbers(stage: Stage, served: ServedAdapters, *, tensor_parallel: int, expert_parallel: int) -> str:
    """Return the numbers of that sum: adapters, their elements by layers, and bytes of each."""
    groups = adapted(stage, served.each, tensor_parallel=tensor_parallel, expert_parallel=expert_parallel)
    terms = " + ".join(f"{layers} × {show_count(group.elements)}" for group, layers in groups)
    return f"{show_count(served.places)} × ({terms}) × {ADAPTER_BYTES}"
