"""Owning against renting: what hardware of one's own costs over its life, and from which use on it is cheaper.

Rent is paid for busy hours alone, as one pays for what is given back when idle. Of one's own the purchase is paid once,
and electricity for busy and idle hours alike.
"""

from typing import NamedTuple

HOURS_A_YEAR = 8760.0  # 365 days of 24 hours
WATTS_A_KW = 1000.0


def site_kwh(*, watts: float, hours: float, pue: float = 1.0) -> float:
    """Return the energy of hardware that draws so much, with that of its site: PUE is the ratio of the two."""
    return pue * watts / WATTS_A_KW * hours


def energy_cost(kwh: float, *, each_kwh: float) -> float:
    """Return what energy costs.

    >>> energy_cost(2.5, each_kwh=0.2)
    0.5
    """
    return kwh * each_kwh


class Use(NamedTuple):
    """Hardware in use: what it draws, how often it works, and what surrounds it."""

    busy_w: float  # drawn from the socket while it works
    idle_w: float  # while it waits
    busy_share: float  # of all hours, above 0 and at most 1
    pue: float  # power of the whole site for each watt of the hardware, at least 1

    @property
    def mean_w(self) -> float:
        """The mean draw over all hours, without the site."""
        return self.busy_share * self.busy_w + (1 - self.busy_share) * self.idle_w

    def kwh(self, hours: float) -> float:
        r"""Return the energy of so many hours, the site's included: $E = PUE \cdot \bar P \cdot t$.

        PUE is a site's energy over that of its hardware (ISO/IEC 30134-2).

        >>> Use(busy_w=1000, idle_w=0, busy_share=0.5, pue=1.5).kwh(8)
        6.0
        """
        return site_kwh(watts=self.mean_w, hours=hours, pue=self.pue)

    def calendar_hours(self, busy_hours: float) -> float:
        """Return the hours that pass, busy and idle, until so many of them were of work.

        >>> Use(busy_w=1000, idle_w=0, busy_share=0.25, pue=1.0).calendar_hours(100)
        400.0
        """
        return busy_hours / self.busy_share

    @property
    def kwh_a_busy_hour(self) -> float:
        """The energy that goes with an hour of work: the hour's own, and that of the idle hours around it."""
        return self.kwh(1) / self.busy_share


class Purse(NamedTuple):
    """What is paid: to buy, to run, and to rent instead."""

    purchase: float
    resale_share: float  # of the purchase, that comes back at the end
    electricity_per_kwh: float
    rent_per_hour: float | None  # of all devices; None where none is known

    @property
    def written_off(self) -> float:
        """What of the purchase does not come back."""
        return self.purchase * (1 - self.resale_share)


def owned_per_busy_hour(*, purse: Purse, use: Use, life_hours: float) -> float:
    r"""Return what an hour of work costs on one's own hardware, over its life.

    $c = \frac{C (1 - r)}{u \cdot L} + e \cdot E_{\text{busy hour}}$
    """
    return purse.written_off / (use.busy_share * life_hours) + purse.electricity_per_kwh * use.kwh_a_busy_hour


def break_even_busy_hours(*, purse: Purse, use: Use) -> float | None:
    r"""Return the hours of work after which buying has cost less than renting; None where it never does.

    $h = \frac{C (1 - r)}{p - e \cdot E_{\text{busy hour}}}$

    >>> use = Use(busy_w=1000, idle_w=0, busy_share=1, pue=1)
    >>> break_even_busy_hours(purse=Purse(1900, 0, 0.1, 2.0), use=use)
    1000.0
    """
    if purse.rent_per_hour is None:
        return None
    saved = purse.rent_per_hour - purse.electricity_per_kwh * use.kwh_a_busy_hour
    return purse.written_off / saved if saved > 0 else None


def break_even_share(*, purse: Purse, use: Use, life_hours: float) -> float | None:
    r"""Return the share of all hours from which on buying is cheaper over a life; None where all hours are too few.

    $u = \frac{C (1 - r) / L + e_{\text{idle}}}{p - e_{\text{busy}} + e_{\text{idle}}}$; $e$: electricity an hour.
    """
    if purse.rent_per_hour is None:
        return None
    busy, idle = (purse.electricity_per_kwh * use.pue * watts / WATTS_A_KW for watts in (use.busy_w, use.idle_w))
    saved = purse.rent_per_hour - busy + idle
    share = (purse.written_off / life_hours + idle) / saved if saved > 0 else 2.0
    return share if share <= 1 else None
