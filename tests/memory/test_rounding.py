"""Rounding to formats agrees with what machines store."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from calc.memory.rounding import SIGNIFICANT_BITS, nearest_float, nearest_half, nearest_level

VALUES = st.floats(0.001, 1000) | st.floats(-1000, -0.001)


@given(VALUES)
def test_floats_are_those_of_the_machine(value: float) -> None:
    """FP32 and FP16 as the processor packs them."""
    for name, code in (("fp32", "f"), ("fp16", "e")):
        packed = struct.unpack(code, struct.pack(code, value))[0]
        assert nearest_float(value, significant_bits=SIGNIFICANT_BITS[name]) == packed


@given(VALUES)
def test_halves_are_floats_within_their_range(value: float) -> None:
    """Where FP16 has full precision, its nearest number is the one with eleven significant bits."""
    assert nearest_half(value) == nearest_float(value, significant_bits=11)


def test_halves_have_an_end() -> None:
    """The largest finite FP16 number is 65,504 and the smallest above zero is two to the power of −24 (IEEE 754)."""
    assert nearest_half(65_504.0) == 65_504.0
    assert nearest_half(-70_000.0) == float("-inf")
    assert nearest_half(2.0**-24) == 2.0**-24
    assert nearest_half(2.0**-26) == 0.0


@given(VALUES, st.floats(1000, 10_000), st.integers(2, 8))
def test_a_level_is_within_half_a_step(value: float, largest: float, bits: int) -> None:
    """What is read back is at most half a step away, and the level fits in its bits."""
    level, read = nearest_level(value, largest=largest, bits=bits)
    step = largest / (2 ** (bits - 1) - 1)
    assert abs(read - value) <= step / 2 * (1 + 1e-9)
    assert abs(level) < 2 ** (bits - 1)
