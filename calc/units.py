"""Units: what a symbol stands for, and how a number is shown.

Inside `calc` a quantity is a plain number in a base unit named in its identifier (`_bytes`, `_tokens`, `_flops`).
Symbols are read when the catalogue is loaded and written when a number is shown, nowhere else.
"""

import re
from math import inf

KB, MB, GB, TB = 10**3, 10**6, 10**9, 10**12
KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40
MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400
KWH_J = 3.6e6

# Symbol: (dimension, size in the dimension's base unit). Links and memory buses are decimal, memory is either.
UNITS: dict[str, tuple[str, float]] = {
    "B": ("bytes", 1),
    "KiB": ("bytes", KIB),
    "MiB": ("bytes", MIB),
    "GiB": ("bytes", GIB),
    "MB": ("bytes", MB),
    "GB": ("bytes", GB),
    "TB": ("bytes", TB),
    "GB/s": ("bytes_per_s", 1e9),
    "TB/s": ("bytes_per_s", 1e12),
    "TFLOPS": ("operations_per_s", 1e12),
    "PFLOPS": ("operations_per_s", 1e15),
    "TOPS": ("operations_per_s", 1e12),
    "W": ("watts", 1),
    "MHz": ("hertz", 1e6),
    "Gb/s": ("bits_per_s", 1e9),
    "bits": ("bits", 1),
    "us": ("seconds", 1e-6),
    "operations": ("operations", 1),
    "devices": ("count", 1),
    "lanes": ("count", 1),
    "channels": ("count", 1),
    "SMs": ("count", 1),
    "threads": ("count", 1),
    "CUs": ("count", 1),
    "Xe cores": ("count", 1),
    "GPU cores": ("count", 1),
    "TensorCores": ("count", 1),
    "NeuronCores": ("count", 1),
    "MMEs": ("count", 1),
    "dies": ("count", 1),
}


def to_base(value: float, unit: str) -> float:
    """Return `value` given in `unit` as a number in the base unit of its dimension; bytes come back as an integer.

    Raises KeyError for a symbol that is not in `UNITS`.

    >>> to_base(24, "GiB")
    25769803776
    """
    dimension, size = UNITS[unit]
    base = value * size
    return round(base) if dimension == "bytes" else base


def from_base(value: float, unit: str) -> float:
    """Return `value`, a number in a base unit, in `unit`.

    >>> from_base(25769803776, "GiB")
    24.0
    """
    return value / UNITS[unit][1]


def show_number(value: float, digits: int = 3) -> str:
    """Return `value` with at least `digits` significant digits, thousands separated and no exponent.

    >>> show_number(14.9575), show_number(1036.4), show_number(0.04883), show_number(24)
    ('15.0', '1,036', '0.0488', '24.0')
    """
    if value == 0:
        return "0"
    whole_digits = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    if whole_digits:
        decimals = max(digits - whole_digits, 0)
    else:
        decimals = digits
        scaled = abs(value)
        while scaled < 0.1 and decimals < 12:
            scaled *= 10
            decimals += 1
    return f"{value:,.{decimals}f}"


def show_times(first: float, second: float, digits: int = 2) -> str:
    """Return how many times one number is another.

    >>> show_times(3.0, 2.0), show_times(100, 8, digits=3)
    ('1.5 times', '12.5 times')
    """
    return f"{show_number(first / second, digits)} times"


def show_larger(value: float, than: float) -> str:
    """Return by how much of another one a number is larger, in percent.

    >>> show_larger(1024, 1000)
    '2.4 %'
    """
    return f"{100 * (value - than) / than:.1f} %"


def show_count(value: float) -> str:
    """Return a whole number with its thousands separated.

    >>> show_count(8030261248)
    '8,030,261,248'
    """
    return f"{value:,.0f}"


def show_term(number: float) -> str:
    """Return a number as it is put into a formula: a whole one with its thousands separated, others as they are.

    >>> show_term(2048), show_term(0.125)
    ('2,048', '0.125')
    """
    return show_count(number) if float(number).is_integer() else f"{number:g}"


def show_large_count(value: float) -> str:
    """Return a count in words a reader says aloud, to three significant digits.

    >>> show_large_count(8030261248), show_large_count(124439808), show_large_count(2048)
    ('8.03 billion', '124 million', '2,048')
    """
    for size, word in ((TB, "trillion"), (GB, "billion"), (MB, "million")):
        if value >= size:
            return f"{show_number(value / size)} {word}"
    return show_count(value)


def show_flop(operations: float) -> str:
    """Return operations in the unit in which a pass is said.

    >>> show_flop(16.06e9), show_flop(2.5e13)
    ('16.1 GFLOP', '25.0 TFLOP')
    """
    size, name = (1e12, "TFLOP") if operations >= 1e12 else (1e9, "GFLOP")
    return f"{show_number(operations / size)} {name}"


def show_power(value: float) -> str:
    """Return a number as people write large ones, to three significant digits.

    >>> show_power(5.76e23), show_power(9.999e20)
    ('5.76 × 10²³', '1.00 × 10²¹')
    """
    return with_powers(f"{value:.2e}")


def with_powers(numbers: str) -> str:
    """Return arithmetic with its powers of ten as people write them.

    >>> with_powers("64 × 3.64e-05 + 1.344e+11")
    '64 × 3.64 × 10⁻⁵ + 1.344 × 10¹¹'
    """
    return EXPONENT.sub(lambda found: f" × 10{str(int(found[1])).translate(RAISED)}", numbers)


def show_any(value: float) -> str:
    """Return a number of any size to three significant digits: a very small one by its power of ten, infinity in words.

    >>> show_any(0.001), show_any(1.013e-6), show_any(float("inf"))
    ('0.001', '1.01 × 10⁻⁶', 'infinite')
    """
    return with_powers(f"{value:.3g}") if abs(value) < inf else "infinite"


def show_gib(size_bytes: float) -> str:
    """Return a size in GiB to two decimals: the precision at which a device's limit is read.

    >>> show_gib(16060522496)
    '14.96 GiB'
    """
    return f"{size_bytes / GIB:,.2f} GiB"


def show_gb(size_bytes: float) -> str:
    """Return a size in GB to two decimals.

    >>> show_gb(16060522496)
    '16.06 GB'
    """
    return f"{size_bytes / GB:,.2f} GB"


def show_binary(size_bytes: float) -> str:
    """Return a size in the largest binary unit of which it holds one, to four significant digits.

    >>> show_binary(131072), show_binary(1073741824), show_binary(12)
    ('128.0 KiB', '1.000 GiB', '12 B')
    """
    for size, symbol in ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if abs(size_bytes) >= size:
            return f"{show_number(size_bytes / size, 4)} {symbol}"
    return f"{show_count(size_bytes)} B"


def show_decimal(size_bytes: float) -> str:
    """Return a size in the largest decimal unit of which it holds one, to four significant digits.

    >>> show_decimal(131072), show_decimal(1073741824)
    ('131.1 kB', '1.074 GB')
    """
    for size, symbol in ((TB, "TB"), (GB, "GB"), (MB, "MB"), (KB, "kB")):
        if abs(size_bytes) >= size:
            return f"{show_number(size_bytes / size, 4)} {symbol}"
    return f"{show_count(size_bytes)} B"


def show_seconds(seconds: float) -> str:
    """Return a time in the unit that a reader would say.

    >>> show_seconds(17.9e-6), show_seconds(0.0077), show_seconds(4.47), show_seconds(600), show_seconds(20_000)
    ('17.9 µs', '7.70 ms', '4.47 s', '10.0 min', '5.56 h')
    >>> show_seconds(864_000)
    '10.0 days'
    """
    if not seconds:
        return "0 s"
    for size, unit, below in ((1e-6, "µs", 1e-3), (1e-3, "ms", 1), (1, "s", 120), (MINUTE_S, "min", 2 * HOUR_S)):
        if seconds < below:
            return f"{show_number(seconds / size)} {unit}"
    if seconds < 2 * DAY_S:
        return f"{show_number(seconds / HOUR_S)} h"
    return f"{show_number(seconds / DAY_S)} days"


def show_days(value: float) -> str:
    """Return a number of days, whole ones without a point; less than one in hours.

    >>> show_days(2), show_days(1), show_days(0.25), show_days(12.5)
    ('2 days', '1 day', '6.00 hours', '12.5 days')
    """
    if value < 1:
        return f"{show_number(24 * value)} hours"
    return f"{show_number(value) if value % 1 else show_count(value)} day{'' if value == 1 else 's'}"


def show_tokens_per_s(rate: float) -> str:
    """Return a rate of tokens.

    >>> show_tokens_per_s(104.5)
    '104 tokens/s'
    """
    return f"{show_number(rate)} tokens/s"


def show_gb_per_s(bytes_per_s: float) -> str:
    """Return a rate of bytes in GB/s, without zeros at its end.

    >>> show_gb_per_s(56.25e9), show_gb_per_s(450e9), show_gb_per_s(1.8e12)
    ('56.25 GB/s', '450 GB/s', '1,800 GB/s')
    """
    value = bytes_per_s / GB
    return f"{value:,.0f} GB/s" if value >= 1000 else f"{value:.4g} GB/s"


def show_dollars(amount: float) -> str:
    """Return an amount of US dollars: to the cent at least, and less than one to three significant digits.

    >>> show_dollars(0.04391), show_dollars(0.98), show_dollars(12.5), show_dollars(12345)
    ('$0.0439', '$0.98', '$12.50', '$12,345')
    """
    if 1 <= abs(amount) < 1000:
        return f"${amount:,.2f}"
    return "$" + BELOW_CENTS.sub(r"\1", show_number(amount))


BELOW_CENTS = re.compile(r"(\.\d\d\d*?)0+$")  # zeros that say nothing
EXPONENT = re.compile(r"(?<=\d)e([+-]\d+)")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
COUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([kmbt]?)")
POWERS = {"": 0, "k": 1, "m": 2, "b": 3, "t": 4}


def read_count(text: str, *, binary: bool) -> int | None:
    """Return a count as people write it: 8,192, 8k, 1.5M, 70B, 15T; None where it is none.

    In `binary` a k is 1,024 and an M is its square, as makers count contexts.

    >>> read_count("128K", binary=True), read_count("1M", binary=False), read_count("8 192", binary=True)
    (131072, 1000000, 8192)
    """
    found = COUNT.fullmatch(re.sub(r"(?<=\d)[,_ ](?=\d)", "", text.strip().casefold()))
    if found is None:
        return None
    power = POWERS[found[2]]
    value = float(found[1]) * (1024 if binary and power < POWERS["b"] else 1000) ** power
    return int(value) if value.is_integer() else None
