"""What the facts of one accelerator say of each other: a sheet read wrongly contradicts itself."""

from collections.abc import Iterator
from math import inf

from calc.catalog.checking.check import Check
from calc.catalog.checking.device_rules import TOGETHER
from calc.catalog.entries import Entry

TOLERANCE = 0.02  # makers round
FROM_DRIVER, FROM_SHARED = 0.9, 0.75  # of the advertised memory, what a driver reports at least; a system takes more
MOST_ANNOUNCED = 12  # months after its release in which a device is sold nowhere
NARROW = ("fp8", "fp6", "fp4")
LEAST_OTHER = 0.2  # of one 16-bit rate, which the other is not slower than
LANES = (64, 128, 192, 256)  # that an SM or CU adds and multiplies FP32 numbers on
LEAST_NARROW = 0.45  # of the full 16-bit rate, which no narrower format is slower than


def check_agreement(check: Check, where: str, entry: Entry) -> None:
    """Check that facts which follow from each other agree, or that the entry says why they do not."""
    found = {(kind, field): message for kind, field, message in contradictions(entry)}
    listed = entry.get("exceptions", [])
    exceptions = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    named = sorted((str(item.get("check")), str(item.get("field"))) for item in exceptions)
    for (kind, field), message in found.items():
        if (kind, field) not in named:
            why = f'or say why in `exceptions` (check = "{kind}", field = "{field}")'
            check.problem(f"{where}.{field}", f"{message}: correct what is wrong, {why}")
    for kind, field in named:
        if (kind, field) not in found:
            check.problem(f"{where}.exceptions", f"names {kind} of {field}, which agrees")
    for field, other in TOGETHER.items():
        if field in entry and other not in entry:
            check.problem(f"{where}.{other}", f"is missing, and {field} says nothing without it")
    check_announced(check, where, entry)
    check_reported(check, where, entry)
    check_narrow(check, where, entry)
    check_link_facts(check, where, entry)


def contradictions(entry: Entry) -> Iterator[tuple[str, str, str]]:
    """Yield the check and field of every pair of facts that do not agree, and how far they are apart."""
    stated, computed = number(entry, "bandwidth"), number(entry, "memory_bus") * number(entry, "memory_rate") / 8
    if differ(stated, computed):
        yield "bandwidth", "bandwidth", f"is {stated / computed:.2f} times what memory_bus and memory_rate give"
    units, operations = number(entry, "compute_units"), number(entry, "operations_per_clock")
    clock, field = "matrix_clock" if "matrix_clock" in entry else "clock", "bf16" if "bf16" in entry else "fp16"
    stated, computed = number(entry, field), units * operations * number(entry, clock)
    if differ(stated, computed):
        parts = f"compute_units, operations_per_clock and {clock}"
        yield "rate", field, f"is {stated / computed:.2f} times what {parts} give"
    lanes = number(entry, "fp32") / (2 * units * number(entry, "clock") or inf)
    if lanes and not any(abs(lanes / known - 1) <= TOLERANCE for known in LANES):
        yield "lanes", "fp32", f"takes {lanes:.1f} lanes of each unit, which have {', '.join(map(str, LANES))}"
    for name, fact in entry.items():
        sparse = fact.get("sparse") if isinstance(fact, dict) else None
        if isinstance(sparse, int | float) and differ(sparse, 2 * number(entry, name)):
            yield "sparse", name, f"is {number(entry, name) / sparse:.2f} times the sparse rate beside it, not half"


def number(entry: Entry, field: str) -> float:
    """Return the value of a fact in its base unit; 0 where it is not known."""
    fact = entry.get(field)
    value = fact.get("value") if isinstance(fact, dict) else None
    return float(value) if isinstance(value, int | float) else 0.0


def differ(first: float, second: float) -> bool:
    """Return whether two figures are known and further apart than the tolerance."""
    return bool(first and second) and abs(first / second - 1) > TOLERANCE


def check_announced(check: Check, where: str, entry: Entry) -> None:
    """Check that what is announced is not long out: a year after it came, somebody sells it or rents it out."""
    released, looked = str(entry.get("released", ""))[:7], str(entry.get("checked", ""))[:7]
    if entry.get("availability") == "announced" and len(released) == len(looked) == 7:
        months = 12 * (int(looked[:4]) - int(released[:4])) + int(looked[5:]) - int(released[5:])
        if months > MOST_ANNOUNCED:
            check.problem(f"{where}.availability", f"is announced, and out since {released}")


def check_reported(check: Check, where: str, entry: Entry) -> None:
    """Check that a driver reports a little less than is advertised: more, or much less, is another device's figure."""
    advertised, reported = number(entry, "memory"), number(entry, "memory_reported")
    least = FROM_SHARED if entry.get("segment") == "soc" else FROM_DRIVER
    if advertised and reported and not least * advertised <= reported <= 1.005 * advertised:
        check.problem(f"{where}.memory_reported", f"is {reported / advertised:.2f} times the advertised memory")
    if advertised and number(entry, "memory_usable") > advertised:
        check.problem(f"{where}.memory_usable", "is more than the advertised memory")
    if number(entry, "memory_free") > number(entry, "memory_usable"):
        check.problem(f"{where}.memory_free", "is more than a program may use")


def check_narrow(check: Check, where: str, entry: Entry) -> None:
    """Check that a narrower format is as fast as the full 16-bit rate, or faster; how much, `check_ratios` says.

    Both 16-bit formats are equally fast, or one is half as fast at most: BF16 of the MI100, FP16 of the Gaudi 3.
    """
    slow, fast = sorted(number(entry, name) for name in ("bf16", "fp16"))
    if differ(slow, fast) and not LEAST_OTHER * fast <= slow <= (0.5 + TOLERANCE) * fast:
        check.problem(f"{where}.fp16", f"is neither as fast as bf16 nor half as fast: {slow / fast:.2f}")
    full = number(entry, "fp16_accumulate") or number(entry, "bf16") or number(entry, "fp16")
    for field in NARROW:
        rate = number(entry, field)
        if full > 0 and rate and rate < LEAST_NARROW * full:
            check.problem(f"{where}.{field}", f"is {rate / full:.2f} times the 16-bit rate")


def check_link_facts(check: Check, where: str, entry: Entry) -> None:
    """Check how a device is linked: without a link there is no bandwidth and nothing joined."""
    link = entry.get("link")
    if isinstance(link, dict) and link.get("value") == "none":
        for field in ("link_bandwidth", "link_domain"):
            if field in entry:
                check.problem(f"{where}.{field}", "is of a device without a link")
