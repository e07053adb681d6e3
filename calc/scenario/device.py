"""The accelerator of a scenario: how it is plugged in, what may be used of it, and its rates."""

import math
import re
import sys

from calc.catalog import Catalog
from calc.catalog.records import Accelerator
from calc.errors import ScenarioError
from calc.performance.power import limited_power, power_law
from calc.scenario.fields import OF_ACCELERATOR
from calc.scenario.reader import Reader, read_flag, whole
from calc.units import show_gib

PCIE = re.compile(r"(?:pcie )?(\d)(?:\.0)? ?x(\d{1,2})")


SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([kmgt]i?b)")


WATTS = re.compile(r"(\d{1,5}(?:\.\d)?)\s*w(?:atts?)?")
LEAST_POWER = 0.25  # of a board's power: what any does below is in no measurement, and most refuse well above it


RATE = re.compile(r"(\d{1,5}(?:\.\d{1,6})?)\s*([gt])b/s")


LEAST_RATE, MOST_RATE = 10**8, 10**13  # bytes a second


SIZE_UNITS = {
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", 1)},
}


def read_accelerator(reader: Reader, catalog: Catalog) -> Accelerator | None:
    """Return the accelerator with what a program may use of it, None where the scenario names none."""
    value = reader.given.get("accelerator")
    if value is None:
        for name, asked in OF_ACCELERATOR.items():
            if reader.given.get(name):
                raise ScenarioError(name, f"needs an accelerator: {asked}?")
        return None
    if not isinstance(value, str):
        raise ScenarioError("accelerator", f"must be a catalogue id or a market name, not {value!r:.60}")
    accelerator = catalog.accelerator(value)
    reader.filled["accelerator"] = accelerator.id
    return limited(reader, throttled(reader, plugged(reader, accelerator, catalog), catalog), catalog)


def plugged(reader: Reader, accelerator: Accelerator, catalog: Catalog) -> Accelerator:
    """Return a device on the PCIe that a scenario gives it, of which it uses no more than it has itself."""
    value = reader.given.get("pcie")
    if value is None:
        return accelerator
    found = PCIE.fullmatch(value.casefold().strip()) if isinstance(value, str) else None
    own = PCIE.fullmatch(accelerator.text("pcie"))
    if found is None or not catalog.lookup("links", f"pcie-{found[1]}-x{found[2]}"):
        known = ", ".join(
            link.id.removeprefix("pcie-").replace("-", ".0 ") for link in catalog.links() if link.kind == "host"
        )
        raise ScenarioError("pcie", f"must be a generation and lanes, one of {known}, not {value!r:.60}")
    if own is None and accelerator.shares_host_memory:
        raise ScenarioError("pcie", f"does not apply: {accelerator.name} is no card")
    least = [min(int(asked), int(has)) for asked, has in zip(found.groups(), (own or found).groups(), strict=True)]
    reader.filled["pcie"] = f"{found[1]}.0 x{found[2]}"
    return accelerator.on_pcie(f"{least[0]}.0 x{least[1]}")


def throttled(reader: Reader, accelerator: Accelerator, catalog: Catalog) -> Accelerator:
    """Return a device at the power limit that a scenario gives it, not above what its board may draw."""
    value, power = reader.given.get("power_limit"), accelerator.quantity("power")
    if value is None:
        return accelerator
    if not accelerator.sold_in_multiples:
        raise ScenarioError("power_limit", f"does not apply: {accelerator.name} has no limit of its own to be set")
    if power is None:
        raise ScenarioError("power_limit", f"does not apply: what {accelerator.name} may draw is in no source")
    watts = read_watts(value)
    least = math.ceil(power * LEAST_POWER)
    if not least <= watts <= power:
        message = f"must be from {least:,} to the {power:,.0f} W that {accelerator.name} may draw, not {watts:g} W"
        raise ScenarioError("power_limit", message)
    reader.filled["power_limit"] = watts
    return limited_power(accelerator, watts, power_law(catalog))


def read_watts(value: object) -> float:
    """Return watts from a number of them, or from a text such as "250 W"."""
    found = WATTS.fullmatch(value.strip().casefold()) if isinstance(value, str) else None
    watts = float(found[1]) if found else value
    if isinstance(watts, bool) or not isinstance(watts, int | float) or not abs(watts) <= sys.float_info.max:
        raise ScenarioError("power_limit", f'must be watts, or a text such as "250 W", not {value!r:.60}')
    return int(watts) if watts == int(watts) else watts


def limited(reader: Reader, accelerator: Accelerator, catalog: Catalog) -> Accelerator:
    """Return a device with as much memory as the scenario leaves to programs: a limit, and less where a display is."""
    size, whole_memory = None, int(accelerator.facts["memory"].value)
    if "memory_limit" in reader.given:
        size = read_size(reader.given["memory_limit"], "memory_limit")
        if size > whole_memory:
            message = (
                f"must not be more than the {show_gib(whole_memory)} of {accelerator.name}, as {show_gib(size)} is"
            )
            raise ScenarioError("memory_limit", message)
        reader.filled["memory_limit"] = size
    if read_flag(reader.given.get("display", False), "display"):
        reader.filled["display"] = True
        taken = catalog.coefficient("display")
        size = max((accelerator.capacity_bytes if size is None else size) - round(taken.value), 0)
    return accelerator if size is None else accelerator.limited_to(size, accelerator.memory_fact.source)


def read_size(value: object, field: str) -> int:
    """Return bytes from a whole number of them, or from a text such as "48 GiB" or "48GB"."""
    if isinstance(value, str):
        found = SIZE.fullmatch(value.strip().casefold())
        if found is None or found[2] not in SIZE_UNITS:
            raise ScenarioError(field, f'must be bytes, or a text such as "48 GiB", not {value!r:.60}')
        value = round(float(found[1]) * SIZE_UNITS[found[2]])
    return whole(value, field, 2**20, 2**50)


def read_rate(value: object, field: str) -> int:
    """Return bytes a second from a number of them, or from a text such as "80 GB/s"."""
    if isinstance(value, str):
        found = RATE.fullmatch(value.strip().casefold())
        if found is None:
            raise ScenarioError(field, f'must be bytes a second, or a text such as "80 GB/s", not {value!r:.60}')
        value = round(float(found[1]) * {"g": 10**9, "t": 10**12}[found[2]])
    return whole(value, field, LEAST_RATE, MOST_RATE)
