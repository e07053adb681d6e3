"""Where something begins to hold, in a range that is halved until it is narrow."""

from collections.abc import Callable


def halved(beyond: Callable[[float], bool], high: float, *, close: float) -> tuple[float, float]:
    """Return the ends, relatively so close, between which what does not hold at 0 begins to hold, or the upper end.

    >>> round(halved(lambda x: x * x > 2.0, 8.0, close=1e-6)[0], 5)
    1.41421
    """
    low = 0.0
    while high - low > close * high:
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return low, high
