"""A training run on a number of devices: how long it takes, what it draws and what it costs, from its operations."""

from typing import NamedTuple

from calc.units import DAY_S, HOUR_S, KWH_J


def days(seconds: float) -> float:
    """Return a time in days.

    >>> days(129_600)
    1.5
    """
    return seconds / DAY_S


def device_hours(seconds: float, *, devices: int) -> float:
    """Return the hours of all devices together that work for so long.

    >>> device_hours(7200, devices=8)
    16.0
    """
    return seconds * devices / HOUR_S


class Run(NamedTuple):
    """What a training run takes. Costs are None where a price, energy where the power is not known."""

    flops: float
    device_s: float
    duration_s: float
    energy_kwh: float | None
    rent: float | None

    @property
    def device_hours(self) -> float:
        """Hours of all devices together."""
        return device_hours(self.device_s, devices=1)

    @property
    def days(self) -> float:
        """Days from the first step to the last, without pauses."""
        return days(self.duration_s)


def run_of(
    *,
    flops: float,
    peak_flops_per_s: float,
    utilization: float,
    devices: int,
    power_w: float | None,
    usage: float,
    price_per_hour: float | None,
) -> Run:
    """Return what a run of `flops` takes on devices that reach the share `utilization` of their peak.

    `usage` is the data centre's power usage effectiveness: what it draws over what its devices draw. `price_per_hour`
    is of one device.

    >>> run = run_of(flops=3.6e21, peak_flops_per_s=1e15, utilization=0.4, devices=10, power_w=700, usage=1.0,
    ...     price_per_hour=2.0)
    >>> run.device_hours, round(run.energy_kwh), run.rent
    (2500.0, 1750, 5000.0)
    """
    device_s = flops / (peak_flops_per_s * utilization)
    energy = None if power_w is None else device_s * power_w * usage / KWH_J
    rent = None if price_per_hour is None else device_s / HOUR_S * price_per_hour
    return Run(flops, device_s, device_s / devices, energy, rent=rent)


def utilization_of(*, flops: float, device_hours: float, peak_flops_per_s: float) -> float:
    """Return the share of the devices' peak that a run reached: the model FLOPs utilization of its whole time.

    >>> round(utilization_of(flops=3.8e25, device_hours=30.84e6, peak_flops_per_s=989.5e12), 2)  # Llama 3.1 405B
    0.35
    """
    return flops / (device_hours * HOUR_S * peak_flops_per_s)
