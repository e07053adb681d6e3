"""Devices that a scenario runs on, with what they cost, draw and can do at most."""

from typing import NamedTuple

from calc.catalog.records import Accelerator

RATES = ("bf16", "fp16", "fp8", "fp4", "int8")


class Devices(NamedTuple):
    """So many of a kind, with what they cost; None where nobody says."""

    accelerator: Accelerator
    number: int
    rent_per_hour: float | None
    purchase: float | None

    def times(self, number: int) -> "Devices":
        """Return so many times as many."""
        rent, price = self.rent_per_hour, self.purchase
        return self._replace(
            number=number * self.number,
            rent_per_hour=None if rent is None else number * rent,
            purchase=None if price is None else number * price,
        )

    @property
    def power_w(self) -> float | None:
        """The limit of the boards."""
        each = self.accelerator.quantity("power")
        return self.number * each if each else None

    @property
    def room(self) -> int:
        """The memory of one device for programs."""
        return self.accelerator.capacity_bytes

    @property
    def seconds_each_byte(self) -> float:
        """The least time to read a byte that all of them share."""
        rate = self.accelerator.quantity("bandwidth")
        return 1 / (self.number * rate) if rate else 0.0

    @property
    def operations_per_s(self) -> float | None:
        """The most matrix operations a second in any number format; None where the maker says none."""
        rates = [self.accelerator.quantity(name) for name in RATES]
        return self.number * max((rate for rate in rates if rate), default=0.0) or None

    def rent_per_month(self, hours: float) -> float | None:
        """Return the rent of so many hours a month."""
        return None if self.rent_per_hour is None else self.rent_per_hour * hours
