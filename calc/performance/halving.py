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


def by_lines(
    excess: Callable[[float], float], high: float, *, at_0: float, at_high: float, lines: int, close: float
) -> Callable[[float], bool]:
    """Return whether `excess`, which grows from below 0 at 0 to above it at `high`, is above 0 at a place.

    For who halves a range and asks for many places: what is known of a few tells of most. As many `lines` as are given
    narrow the range about where it is 0, each meeting 0 between both its ends; an end that stays while the other moves
    twice counts half from then on (Dowell and Jarratt, 1971: the Illinois method). Each is tried a little on the side
    of the end that stayed, so that both ends are soon relatively so `close`. From then on places are tried.

    >>> tried = []
    >>> grows = lambda x: tried.append(x) or x + x * x / 40 - 2
    >>> beyond = by_lines(grows, 8.0, at_0=-2.0, at_high=7.6, lines=5, close=1e-3)
    >>> round(halved(beyond, 8.0, close=1e-3)[0], 3), len(tried)  # where 12 are asked for
    (1.908, 7)
    """
    low, under, over, stayed = 0.0, at_0, at_high, 0

    def beyond(place: float) -> bool:
        nonlocal low, high, under, over, stayed, lines
        while low < place < high:
            at = place
            if lines and high - low > close * high:
                met = (low * over - high * under) / (over - under) * (1.0 - stayed * close / 2.0)
                at, lines = met if low < met < high else place, lines - 1
            if (found := excess(at)) > 0.0:
                high, over, under, stayed = at, found, under / 2 if stayed > 0 else under, 1
            else:
                low, under, over, stayed = at, found, over / 2 if stayed < 0 else over, -1
        return place >= high

    return beyond
