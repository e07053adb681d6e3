"""The products of adapters that are served: down to the rank and up again, each request's with its own adapter.

Kernels that gather each request's adapter (SGMV: Punica, arXiv:2310.18547) read those that any request asks for once,
and take as long as products of that size. What they add to a step is mostly their number: two for each group of
matrices that multiply the same input.
"""

from typing import NamedTuple

from calc.memory.served_adapters import ADAPTER_BYTES, Matrices, ServedAdapters
from calc.performance.operations import Counted, Pass, Product


class Served(NamedTuple):
    """Adapters on a rank: their matrices, each with its number of layers."""

    adapters: ServedAdapters
    groups: tuple[tuple[Matrices, int], ...]

    def products(self, *, tokens: float, sequences: float) -> Pass:
        """Return the low-rank products of a pass; requests ask for each adapter alike."""
        places, rank = self.adapters.places, self.adapters.each.rank
        read = places * (1.0 - (1.0 - 1.0 / places) ** sequences) * ADAPTER_BYTES
        found: list[Counted] = []
        for group, layers in self.groups:
            down, up = group.down_elements, group.up_elements
            inner = down // group.inputs  # the ranks of all matrices of the group
            moved = tokens * ADAPTER_BYTES
            first = Product(
                f"Adapters down, {group.name}",
                tokens,
                inner,
                group.inputs,
                kernel="bf16",
                weight_bytes=read * down,
                io_bytes=moved * group.inputs,
            )
            second = Product(
                f"Adapters up, {group.name}",
                tokens,
                group.outputs,
                rank,
                kernel="bf16",
                weight_bytes=read * up,
                io_bytes=moved * 2 * group.outputs,
            )
            found += [Counted(first, layers), Counted(second, layers)]
        return tuple(found)
