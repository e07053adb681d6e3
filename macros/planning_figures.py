"""Drawings of planning: what rent and purchase have cost after so many hours of work."""

from typing import Any

from calc.calculators import CALCULATORS
from calc.calculators.cost import what
from calc.planning.ownership import break_even_busy_hours
from calc.units import show_count
from macros.figures import Axis, Line, line_figure

HOURS = [(100.0, "100"), (1000.0, "1,000"), (10_000.0, "10,000"), (30_000.0, "30,000")]
DOLLARS = [(100.0, "$100"), (1000.0, "$1,000"), (10_000.0, "$10,000"), (30_000.0, "$30,000")]
POINTS = 40


def break_even_figure(shares: tuple[int, ...], **changed: object) -> str:
    """Return what rent and hardware of one's own have cost over hours of work, one line for each share of hours.

    `shares` are per cent of all hours in which it works, `changed` other inputs of *Cost and energy*.
    """
    first, last = HOURS[0][0], HOURS[-1][0]
    hours = [first * (last / first) ** (step / POINTS) for step in range(POINTS + 1)]
    lines: list[Line] = []
    told = []
    for share in shares:
        asked = {**{name: str(value) for name, value in changed.items()}, "busy_percent": str(share)}
        report: Any = CALCULATORS["cost"].report(asked)
        use, purse = report["account"]["use"], report["account"]["purse"]
        if purse is None or purse.rent_per_hour is None:
            raise ValueError(f"no price or no rent of {what(report)} is known: give purchase_price and price_per_hour")
        if not lines:
            lines.append(Line("rented", clipped([(hour, hour * purse.rent_per_hour) for hour in hours])))
        electricity = purse.electricity_per_kwh * use.kwh_a_busy_hour
        owned = [(hour, purse.written_off + hour * electricity) for hour in hours]
        lines.append(Line(f"own, busy {share} % of all hours", clipped(owned)))
        even = break_even_busy_hours(purse=purse, use=use)
        told.append(f"busy {share} %: {'never' if even is None else f'after {show_count(even)} hours'}")
    caption = f"What {what(report)} has cost after so many hours of work, rented and bought"
    summary = f"{caption}, over logarithmic axes. The lines cross, {'; '.join(told)}."
    return line_figure(lines, Axis("hours of work", HOURS), Axis("", DOLLARS), caption=caption, summary=summary)


def clipped(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points that lie within the axis of money."""
    return [point for point in points if DOLLARS[0][0] <= point[1] <= DOLLARS[-1][0]]
