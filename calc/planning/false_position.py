"""Where a quantity that grows is what is wanted: by lines through both ends of a range."""

from collections.abc import Callable

ROUNDS = 40
CLOSE = 5e-3  # relative, of what is looked for


def where(value: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    """Return where between two numbers a value that grows is what is wanted, or the end that is nearer to it.

    By false position, where an end that stays is given half of its weight (the Illinois method: Dowell and Jarratt,
    1971). A value may jump: the place of the jump is then found.

    >>> round(where(lambda x: x * x, 2.0, 0.0, 2.0), 2)
    1.41
    """
    under, over = value(low) - wanted, value(high) - wanted
    if under >= 0 or over <= 0:
        return low if under >= 0 else high
    middle, side = high, 0
    for _ in range(ROUNDS):
        middle = (low * over - high * under) / (over - under)
        found = value(middle) - wanted
        if abs(found) <= CLOSE * wanted or high - low < CLOSE * low:
            break
        if found > 0:
            high, over = middle, found
            under, side = (under / 2 if side > 0 else under), 1
        else:
            low, under = middle, found
            over, side = (over / 2 if side < 0 else over), -1
    return middle
