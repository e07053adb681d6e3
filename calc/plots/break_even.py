"""What rent and hardware of one's own have cost after so many hours of work."""

from typing import Any

from calc.calculators import CALCULATORS
from calc.calculators.cost_answer import what
from calc.errors import ScenarioError
from calc.planning.ownership import break_even_busy_hours
from calc.plots.plot import (
    Plot,
    Row,
    Spec,
    across,
    layer,
    logarithmic,
    powers,
    series,
    specification,
    tooltip,
    upward,
)
from calc.units import show_count

HOURS = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000)
LEGEND_LINE, REST = 22, 300  # of the height

Report = dict[str, Any]


def draw(*, shares: tuple[int, ...], **changed: object) -> Plot:
    """Return the cost of renting and of owning over hours of work, one line for each share of hours.

    `shares` are per cent of all hours in which it works, `changed` other inputs of *Cost and energy*.
    """
    inputs = {name: str(value) for name, value in changed.items()}
    costs: dict[str, list[float]] = {}
    told = []
    for share in shares:
        report: Report = CALCULATORS["cost"].report({**inputs, "busy_percent": str(share)})
        use, purse = report["account"]["use"], report["account"]["purse"]
        if purse is None or purse.rent_per_hour is None:
            message = f"no price or no rent of {what(report)} is known: give purchase_price and price_per_hour"
            raise ScenarioError("accelerator", message)
        costs["Rented"] = [hours * purse.rent_per_hour for hours in HOURS]
        electricity = purse.electricity_per_kwh * use.kwh_a_busy_hour
        costs[owned(share)] = [purse.written_off + hours * electricity for hours in HOURS]
        even = break_even_busy_hours(purse=purse, use=use)
        told.append(f"busy {share} %: {'never' if even is None else f'after {show_count(even)} hours'}")
    points = [point(name, hours, cost) for name, line in costs.items() for hours, cost in zip(HOURS, line, strict=True)]
    caption = f"What {what(report)} has cost after so many hours of work, rented and bought"
    summary = f"{caption}, over logarithmic axes. The lines cross, {'; '.join(told)}."
    rows = [
        [show_count(hours), *(f"${show_count(line[place])}" for line in costs.values())]
        for place, hours in enumerate(HOURS)
    ]
    return Plot(
        caption, summary, drawing(list(costs)), {"points": points}, headings=("Hours of work", *costs), rows=rows
    )


def owned(share: int) -> str:
    """Return the name of the line of hardware that is busy so many per cent of all hours."""
    return f"Own, busy {share} % of all hours"


def point(name: str, hours: int, cost: float) -> Row:
    """Return a point of a line, with its words."""
    return {"series": name, "hours": hours, "cost": cost, "after": show_count(hours), "shown": f"${show_count(cost)}"}


def drawing(names: list[str]) -> Spec:
    """Return the specification: lines told apart by dots and colours, with a legend."""
    x = across("hours", "Hours of work", scale=logarithmic(), axis=powers())
    y = upward("cost", "US dollars", scale=logarithmic(), axis=powers())
    told = tooltip(series="Paid for", after="Hours of work", shown="Has cost")
    apart = series(shapes=True, names=names, legend={"columns": 1})
    return specification(
        layer("points", "line", {"x": x, "y": y, "color": apart["color"]}),
        layer("points", "point", {"x": x, "y": y, **apart, **told}, filled=True, size=55, opacity=1),
        height=REST + LEGEND_LINE * len(names),
    )
