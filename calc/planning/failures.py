"""Failures: how often parts of a machine fail, and how often to save the state of a run."""

from math import sqrt

HOURS_A_DAY = 24.0


def days_between_failures(*, failures: float, days: float, devices: float, own_devices: float) -> float:
    """Return the mean days between failures, from how many there were elsewhere, if parts fail alike.

    >>> days_between_failures(failures=10, days=5, devices=100, own_devices=50)
    1.0
    """
    return days * devices / (failures * own_devices)


def hours_between_checkpoints(*, write_minutes: float, days_between_failures: float) -> float:
    r"""Return the hours between checkpoints at which writing them and losing work cost least.

    $\sqrt{2 \cdot w \cdot m}$, the first-order optimum of Young (1974), where writing is short against the time
    between failures.

    >>> hours_between_checkpoints(write_minutes=3, days_between_failures=10)
    4.898979485566356
    """
    return sqrt(2 * write_minutes / 60 * days_between_failures * HOURS_A_DAY)
