"""What a format makes of one number: the nearest value that it can hold."""

from math import copysign, frexp, inf, ldexp
from struct import pack, unpack

# Significant bits of floating-point formats, with the one that is not stored (IEEE 754; BF16: Intel, 338302-001US).
SIGNIFICANT_BITS = {"fp32": 24, "fp16": 11, "bf16": 8}


def nearest_float(value: float, *, significant_bits: int) -> float:
    """Return the nearest number with so many significant bits, ties to even; the exponent is not bounded.

    >>> nearest_float(123.456789, significant_bits=24), nearest_float(123.456789, significant_bits=8)
    (123.456787109375, 123.5)
    """
    fraction, exponent = frexp(value)
    return ldexp(round(ldexp(fraction, significant_bits)), exponent - significant_bits)


def nearest_half(value: float) -> float:
    """Return the nearest FP16 number with its few exponents: small values become 0, large ones infinite (IEEE 754).

    >>> nearest_half(1e-8), nearest_half(6e-8), nearest_half(70_000)
    (0.0, 5.960464477539063e-08, inf)
    """
    try:
        return float(unpack("e", pack("e", float(value)))[0])
    except OverflowError:
        return copysign(inf, value)


def nearest_level(value: float, *, largest: float, bits: int) -> tuple[int, float]:
    r"""Return the whole number that a symmetric quantiser stores of a value, and what it is read back as.

    $q = \text{round}(x / s)$ with the scale $s$ chosen so that the `largest` of a group is the largest whole number.
    Source: LLM.int8() (arXiv:2208.07339), section 2.1.

    >>> nearest_level(1.0, largest=127.0, bits=8)
    (1, 1.0)
    """
    scale = largest / (2 ** (bits - 1) - 1)
    level = round(value / scale)
    return level, level * scale
