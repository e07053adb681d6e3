"""From people to sequences and machines: how many are served at once, and how many copies of a model that takes."""

from math import ceil

from calc.units import HOUR_S


def sequences_at_once(*, requests_per_s: float, seconds_each: float) -> float:
    r"""Return how many requests are in progress on average: $L = \lambda \cdot W$ (Little, 1961).

    It holds for averages over a long time, whatever the order in which requests come and are served.

    >>> sequences_at_once(requests_per_s=2, seconds_each=7.5)
    15.0
    """
    return requests_per_s * seconds_each


def requests_per_s(*, users: float, requests_each_hour: float, peak_over_mean: float = 1.0) -> float:
    """Return the requests a second of so many users in their busiest hour.

    >>> requests_per_s(users=1800, requests_each_hour=10, peak_over_mean=2)
    10.0
    """
    return users * requests_each_hour * peak_over_mean / HOUR_S


def peak_of_all(each_flops: float, *, devices: int) -> float:
    """Return the operations a second that devices could do together.

    >>> peak_of_all(1e15, devices=8)
    8000000000000000.0
    """
    return each_flops * devices


def useful_share(*, tokens_per_s: float, active_parameters: float, peak_flops: float) -> float:
    """Return the share of a device's operations that a model needs: two for each parameter that a token uses.

    What people call MFU, without the operations of attention.

    >>> useful_share(tokens_per_s=100, active_parameters=5e9, peak_flops=1e13)
    0.1
    """
    return 2 * tokens_per_s * active_parameters / peak_flops


def replicas_needed(*, sequences: float, sequences_each: int, full_share: float = 1.0) -> int:
    """Return the copies of a model that serve so many sequences, each filled to a share of what it holds.

    >>> replicas_needed(sequences=100, sequences_each=32)
    4
    >>> replicas_needed(sequences=100, sequences_each=32, full_share=0.7)
    5
    """
    return ceil(sequences / (sequences_each * full_share))
