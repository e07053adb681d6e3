"""Devices that a scenario runs on, with what they cost, draw and can do at most."""

from functools import cached_property
from typing import NamedTuple

from calc.catalog.records import Accelerator
from calc.planning.support import Place, place_of

RATES = ("bf16", "fp16", "fp8", "fp4", "int8")


class Counted(NamedTuple):
    """So many devices of a kind, or some that are not alike, with what they cost; None where nobody says."""

    accelerator: Accelerator  # of those that are not alike the first
    number: int
    rent_per_hour: float | None
    purchase: float | None
    unlike: tuple[Accelerator, ...] = ()  # each of them, where they are not alike
    rents_one: bool = False  # nobody says what several cost that stand in one machine


class Devices(Counted):
    """The same, with what follows from it, which a search asks for again and again."""

    def times(self, number: int) -> "Devices":
        """Return so many times as many."""
        if number == 1:
            return self
        rent, price = self.rent_per_hour, self.purchase
        return self._replace(
            number=number * self.number,
            rent_per_hour=None if rent is None else number * rent,
            purchase=None if price is None else number * price,
        )

    def together(self, number: int) -> "Devices":
        """Return so many in one machine."""
        several = self.times(number)
        return several._replace(rent_per_hour=None) if self.rents_one and number > 1 else several

    def total(self, name: str) -> float | None:
        """Return a fact of all devices together; None where one of them lacks it."""
        if not self.unlike:
            one = self.accelerator.quantity(name)
            return self.number * one if one else None
        known = [value for device in self.unlike if (value := device.quantity(name))]
        return sum(known) if len(known) == len(self.unlike) else None

    @cached_property
    def place(self) -> Place | None:
        """What facts on engines say of them by."""
        return place_of(self.accelerator)

    @cached_property
    def power_w(self) -> float | None:
        """The limit of the boards."""
        return self.total("power")

    @property
    def room(self) -> int:
        """The memory of one device for programs."""
        return self.accelerator.capacity_bytes

    @cached_property
    def whole_room(self) -> int:
        """The memory of all devices for programs."""
        if self.unlike:
            return sum(device.capacity_bytes for device in self.unlike)
        return self.number * self.room

    @cached_property
    def seconds_each_byte(self) -> float:
        """The least time to read a byte that all of them share."""
        rate = self.total("bandwidth")
        return 1 / rate if rate else 0.0

    @cached_property
    def operations_per_s(self) -> float | None:
        """The most matrix operations a second in any number format; None where the makers say none."""
        rates = [max(device.quantity(name) or 0.0 for name in RATES) for device in self.unlike or (self.accelerator,)]
        return (sum(rates) if self.unlike else self.number * rates[0]) or None

    def rent_per_month(self, hours: float) -> float | None:
        """Return the rent of so many hours a month."""
        return None if self.rent_per_hour is None else self.rent_per_hour * hours
