"""What a limit of its power leaves of a device's clock.

A chip that switches draws a current for each clock, at a voltage that rises with the clock from a floor on: power is
what memory and idle parts draw, and the clock times the square of the voltage. Kernels that wait for memory draw less
than those that keep matrix units busy, and are slowed later. The clock of memory stays.
"""

from typing import NamedTuple

from calc.catalog import Catalog, catalog
from calc.catalog.records import Accelerator
from calc.catalog.records.hardware import LIMIT
from calc.derivation import INFO, Warn

LEAST_CLOCK = 0.13  # of a board's own: 210 MHz of some 1,650, the lowest that NVIDIA's cards are seen at


class PowerLaw(NamedTuple):
    """How clocks follow power: shares of what a board may draw, and of its clock without a limit."""

    static: float  # of the power, whatever the clock
    floor: float  # of the clock, below which the voltage stays
    drawn: float  # of the power, by kernels without a limit
    reads: float  # exponent of the clock with which the rate of reading memory follows it

    def clock(self, share: float) -> float:
        """Return the share of its clock that a device keeps at a share of its board's power.

        >>> law = PowerLaw(static=0.26, floor=0.88, drawn=0.96, reads=0.1)
        >>> [round(law.clock(share), 2) for share in (1.0, 0.9, 0.8, 0.6, 0.3)]
        [1.0, 0.97, 0.92, 0.64, 0.13]
        """
        switched = max(share / self.drawn - self.static, 0.0) / (1.0 - self.static)
        clock = switched ** (1 / 3) if switched >= self.floor**3 else switched / self.floor**2
        return min(max(clock, LEAST_CLOCK), 1.0)


def power_law(facts: Catalog) -> PowerLaw:
    """Return the law that measured power limits gave."""
    return PowerLaw(*(facts.coefficient(f"power-{name}").value for name in PowerLaw._fields))


def limited_power(accelerator: Accelerator, watts: float, law: PowerLaw) -> Accelerator:
    """Return a device whose power is limited to so many watts, of the `power` in its facts."""
    clock = law.clock(watts / (accelerator.quantity("power") or watts))
    return accelerator.drawing(watts, clock=clock, reads=clock**law.reads)


def unlimited(accelerator: Accelerator) -> Accelerator:
    """Return a device as it is sold, at its own limit of power, of which a lower one leaves a share."""
    power = accelerator.facts.get("power")
    return accelerator if power is None or power.basis != LIMIT else catalog().accelerator(accelerator.id)


def power_warnings(accelerator: Accelerator | None) -> list[Warn]:
    """Return what is to be known of an answer for a device whose power is limited."""
    if accelerator is None or (sold := unlimited(accelerator)) is accelerator:
        return []
    own, watts = sold.quantity("power"), accelerator.quantity("power")
    assert own and watts
    clock = power_law(catalog()).clock(watts / own)
    message = (
        f"at {watts:g} of {own:g} W {accelerator.name} is taken to keep {clock:.0%} of its clock under full load, as "
        "NVIDIA's cards did whose limits were swept; what waits for memory is slowed less than that"
    )
    return [Warn("power-limited", message, "power_limit", INFO)]
