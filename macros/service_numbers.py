"""Numbers of *Plan a service* in prose: what its first option costs, beside the same requests by the token."""

from calc.calculators.html import element, text
from calc.calculators.options import fleet
from calc.calculators.page import report_of
from calc.calculators.planned import options_of
from calc.units import show_count, show_number
from macros.inline import opening, steps_inline

__all__ = ["service"]

STEPS = {  # the steps of an option that lead to a number; of its devices all that the load takes
    "requests": ("Requests in the busiest hour",),
    "devices": ("Requests in the busiest hour", "Replicas"),
    "rent": ("Replicas", "Rent of a month"),
    "hosted": ("The same requests by the token, a month",),
    "turn": ("Rent of a month", "The same requests by the token, a month"),
    "price": ("The same requests by the token, a month",),
    "kwh": ("Energy of a month at the boards' limit",),
    "co2": ("Energy of a month at the boards' limit", "CO₂ of a month"),
}


def service(what: str, **changed: object) -> str:
    """Return a number of *Plan a service*'s first option with some of its inputs changed, inline, with its working.

    `what`: "devices"; "rent" or "hosted", dollars of a month; "turn", the requests of a month from which on the
    devices cost less, if they serve as many; "price" of a million tokens read and written; "kwh" or "co2" of a month.
    """
    option = options_of(report_of("plan-service", {name: str(value) for name, value in changed.items()}))[0]
    hosted, energy = option["cost"]["hosted"], option["energy"]
    found = {
        "requests": f"{show_number(option['load']['requests_per_s'])} a second",
        "devices": fleet(option),
        "rent": f"{show_count(option['cost']['rent_per_month'])} USD",
        "hosted": f"{show_count(hosted['per_month'])} USD",
        "turn": f"{show_count(hosted['break_even_requests_per_month'])} requests",
        "price": f"{show_number(hosted['price'])} and {show_number(hosted['output_price'])} USD",
        "kwh": f"{show_count(energy['kwh_per_month'])} kWh",
        "co2": f"{show_count(energy['co2_kg_per_month'])} kg",
    }
    if what not in found:
        raise ValueError(f"{what!r} is not a number of a service; there are {', '.join(found)}")
    steps = [step for step in option["steps"] if step["name"] in STEPS[what]]
    asked = text(f"Asked on {hosted['date']}, of {hosted['seller']}.") if what in ("hosted", "turn", "price") else ""
    return opening(found[what], steps_inline(steps) + (element("span", asked, class_="calc-step") if asked else ""))
