"""Paces: what the times of a report make of counts, such as the tokens a second that one of several readers gets."""

from collections.abc import Mapping


def tokens_per_s_each(token_s: Mapping[str, float]) -> dict[str, float]:
    """Return the tokens a second of one sequence, from the range of seconds that a token takes.

    The most seconds are the fewest tokens.

    >>> tokens_per_s_each({"low": 0.01, "typical": 0.02, "high": 0.05})
    {'low': 20.0, 'typical': 50.0, 'high': 100.0}
    """
    return {"low": 1 / token_s["high"], "typical": 1 / token_s["typical"], "high": 1 / token_s["low"]}


def last_token_s(*, sequences: int, output_tokens: int, tokens_per_s: float) -> float:
    """Return the seconds until sequences that are written at once are done, by the rate of all over the whole time.

    >>> last_token_s(sequences=8, output_tokens=500, tokens_per_s=400.0)
    10.0
    """
    return sequences * output_tokens / tokens_per_s


def passes_within(seconds: float, *, pass_s: float) -> int:
    """Return how many passes end in a time, one after the other, to the nearest whole one.

    >>> passes_within(60, pass_s=0.25)
    240
    """
    return round(seconds / pass_s)


def texts_per_s(count: int, *, pass_s: float) -> float:
    """Return the texts a second of passes that each read so many at once.

    >>> texts_per_s(32, pass_s=0.25)
    128.0
    """
    return count / pass_s


def share_left(speed: Mapping[str, float], own: Mapping[str, float]) -> float:
    """Return the share of a typical speed that another is, as under a limit of power.

    >>> share_left({"low": 10.0, "typical": 30.0, "high": 50.0}, {"low": 20.0, "typical": 40.0, "high": 60.0})
    0.75
    """
    return speed["typical"] / own["typical"]
