"""What an engine's kernels have to themselves, against those that the laws were measured with."""

from collections.abc import Mapping
from typing import NamedTuple


class OwnKernels(NamedTuple):
    """An engine's own kernels; zeros where it takes those of libraries."""

    fuses_casts: bool = False  # laws of its own products, in which casts stand apart, do not hold
    integer_share: float = 0.0  # of a device's rate on 8-bit integers, as which packed weights are multiplied
    vector_start_s: float = 0.0  # of kernels for a few rows
    state_share: float = 0.0  # of a device's FP32 rate, at which states are updated token by token
    state_step_s: float = 0.0  # of a token, which waits for the one before it
    experts_in_turn: float = 0.0  # 1: packed weights of experts are multiplied by a kernel for each, in a graph too
    emulated_factor: float = 0.0  # times that arithmetic takes longer on a device without circuits for their format
    key_walk_s: float = 0.0  # of an element of keys and values, where one unit walks over all keys of a head


LIBRARIES = OwnKernels()


def own_kernels(values: Mapping[str, float], attention: str) -> OwnKernels:
    """Return what an engine's coefficients say of its kernels, with attention done one way."""
    numbers = {name: values.get(name, 0.0) for name in OwnKernels._fields[1:-1]}
    return OwnKernels(bool(values["fuses_casts"]), **numbers, key_walk_s=values.get(f"key_walk_s_{attention}", 0.0))
