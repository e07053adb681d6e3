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


def largest_level(bits: int) -> int:
    """Return the largest whole number of a symmetric quantiser: one less than half of all that the bits tell apart.

    >>> largest_level(8), largest_level(4)
    (127, 7)
    """
    return int(2 ** (bits - 1)) - 1


def rounding_error(value: float, read: float) -> float:
    """Return by how much a number is off that is read back.

    >>> rounding_error(2.5, 2.25)
    0.25
    """
    return abs(read - value)


def after_updates(weight: float, change: float, *, counts: tuple[int, ...], significant_bits: int) -> list[float]:
    """Return what becomes of a weight to which a change is added so many times, rounded after each.

    A change below half of the last bit is lost however often it comes: from 1 on, BF16 has steps of 1/128.

    >>> after_updates(1.0, 0.003, counts=(1, 1000), significant_bits=8)
    [1.0, 1.0]
    >>> after_updates(1.0, 0.0078125, counts=(1, 2), significant_bits=8)
    [1.0078125, 1.015625]
    """
    kept, found = nearest_float(weight, significant_bits=significant_bits), []
    for count in range(1, max(counts) + 1):
        kept = nearest_float(kept + change, significant_bits=significant_bits)
        if count in counts:
            found.append(kept)
    return found


def exact_updates(weight: float, change: float, *, counts: tuple[int, ...]) -> list[float]:
    """Return what a weight is after a change that many times, without rounding.

    >>> exact_updates(1.0, 0.5, counts=(1, 100))
    [1.5, 51.0]
    """
    return [weight + count * change for count in counts]


def scaled_half(value: float, *, scale_bits: int) -> tuple[float, float]:
    """Return what FP16 makes of a number times a power of two, and that divided again, as loss scaling does.

    Source: Mixed Precision Training (arXiv:1710.03740), section 3.2.

    >>> nearest_half(2**-26), scaled_half(2**-26, scale_bits=16)
    (0.0, (0.0009765625, 1.4901161193847656e-08))
    """
    scaled = nearest_half(ldexp(value, scale_bits))
    return scaled, ldexp(scaled, -scale_bits)


def nearest_level(value: float, *, largest: float, bits: int) -> tuple[int, float]:
    r"""Return the whole number that a symmetric quantiser stores of a value, and what it is read back as.

    $q = \text{round}(x / s)$ with the scale $s$ chosen so that the `largest` of a group is the largest whole number.
    Source: LLM.int8() (arXiv:2208.07339), section 2.1.

    >>> nearest_level(1.0, largest=127.0, bits=8)
    (1, 1.0)
    """
    scale = largest / largest_level(bits)
    level = round(value / scale)
    return level, level * scale
