"""Power and heat: what a supply has to give, what a circuit carries, and what a room has to get rid of."""

from math import ceil

BTU_PER_H_A_WATT = 3.412142  # of the International Table, NIST SP 811
CONTINUOUS_SHARE = 0.8  # of a breaker's rating, for a load of three hours or more: National Electrical Code 210.20(A)


def boards_watts(count: float, *, each_w: float) -> float:
    """Return what so many boards draw at most.

    >>> boards_watts(8, each_w=700)
    5600
    """
    return count * each_w


def limit_watts(share: float, *, each_w: float) -> int:
    """Return a limit of power that is so much of what a board may draw, in whole watts.

    >>> limit_watts(0.7, each_w=350)
    245
    """
    return round(share * each_w)


def machine_watts(*, boards_w: float, rest_w: float, supply_efficiency: float = 1.0) -> float:
    """Return what a machine draws from the socket: its boards and the rest, over what the supply passes on.

    >>> machine_watts(boards_w=450, rest_w=270, supply_efficiency=0.9)
    800.0
    """
    return (boards_w + rest_w) / supply_efficiency


def supply_watts(*, boards_w: float, rest_w: float, loaded_share: float) -> float:
    """Return the rating of a supply that is loaded to a share of it when all draw what they may.

    >>> supply_watts(boards_w=450, rest_w=230, loaded_share=0.8)
    850.0
    """
    return (boards_w + rest_w) / loaded_share


def circuit_watts(*, volts: float, amperes: float, continuous_share: float = CONTINUOUS_SHARE) -> float:
    """Return what a circuit carries for hours on end.

    >>> circuit_watts(volts=120, amperes=15)
    1440.0
    """
    return volts * amperes * continuous_share


def btu_per_h(*, watts: float) -> float:
    """Return heat as those state it who sell air conditioning; a machine turns all that it draws into heat.

    >>> round(btu_per_h(watts=1000))
    3412
    """
    return watts * BTU_PER_H_A_WATT


def air_m3_per_h(*, watts: float, warmer_k: float) -> float:
    r"""Return the air that carries heat away while getting so much warmer.

    $\dot V = \frac{P}{\rho \cdot c_p \cdot \Delta T}$, with air of 20 °C at sea level: 1.204 kg a cubic metre, and
    1,006 J a kilogram and kelvin.
    """
    return watts / (1.204 * 1006 * warmer_k) * 3600


def machines_in_rack(*, rack_w: float, machine_w: float) -> int:
    """Return how many machines a rack's supply carries.

    >>> machines_in_rack(rack_w=40_000, machine_w=10_200)
    3
    """
    return int(rack_w // machine_w)


def circuits_needed(*, watts: float, circuit_w: float) -> int:
    """Return how many circuits a machine takes, if its supplies can be divided over them."""
    return ceil(watts / circuit_w)
