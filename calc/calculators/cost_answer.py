"""The answer about cost: which way to pay is cheaper and from when on, with the prices that it rests on."""

from calc.calculators.cost_report import (
    busy_hours,
    busy_hours_a_year,
    each,
    hour_costs,
    life_hours,
    million_hours,
    steps,
)
from calc.calculators.engines import devices
from calc.calculators.html import table, text
from calc.calculators.inputs import Report
from calc.calculators.prices import price_text
from calc.calculators.rendering import answer_html, facts_html
from calc.catalog import catalog
from calc.planning.ownership import HOURS_A_YEAR, break_even_busy_hours, break_even_share
from calc.units import show_count, show_dollars, show_number, show_tokens_per_s


def what(report: Report) -> str:
    """Return the devices in words."""
    scenario = report["scenario"]
    return devices(scenario["accelerators"], catalog().accelerator(scenario["accelerator"]).name)


def headline(report: Report) -> tuple[bool | None, str, str]:
    """Return which way to pay is cheaper, and from when on."""
    account, costs = report["account"], hour_costs(report)
    purse, use = account["purse"], account["use"]
    if purse is None or costs["owned"] is None:
        return None, "Not known:", f"no price of {what(report)} is in the catalogue; put in your own to buy."
    owned = f"{show_dollars(costs['owned'])} an hour of work on {what(report)} of your own"
    if costs["rent"] is None:
        return None, f"{owned}.", "No rent is in the catalogue to compare it with: put in your own."
    years = report["own"]["life_years"]
    shares = f"{report['own']['busy_percent']} % of all hours over {years} {'year' if years == 1 else 'years'}"
    against = f"{owned} against {show_dollars(costs['rent'])} of rent, busy {shares}."
    hours = break_even_busy_hours(purse=purse, use=use)
    if hours is None:
        return None, "Renting is cheaper:", f"{against} Electricity alone takes what the rent would."
    calendar = show_days(use.calendar_hours(hours))
    after = f"Buying is cheaper after {show_count(hours)} hours of work, {calendar} from the first day."
    cheaper = "Buying is cheaper:" if costs["owned"] < costs["rent"] else "Renting is cheaper:"
    return None, cheaper, f"{against} {after}"


def show_days(hours: float) -> str:
    """Return a long time in the unit that a reader would say.

    >>> show_days(30), show_days(2400), show_days(30000)
    ('30 hours', '100 days', '3.4 years')
    """
    if hours < 96:
        return f"{show_count(hours)} hours"
    return f"{show_count(hours / 24)} days" if hours < 2 * HOURS_A_YEAR else f"{hours / HOURS_A_YEAR:,.1f} years"


def costs_table(report: Report) -> str:
    """Return what an hour of work, a million tokens, a run and the whole life cost in the three ways to pay."""
    costs, own = hour_costs(report), report["own"]
    million, run = million_hours(report), own.get("run_hours")
    hours = [
        ("An hour of work", 1.0),
        *([("A million output tokens", million)] if million else []),
        *([(f"A run of {show_number(run) if run % 1 else show_count(run)} hours", run)] if run else []),
        ("A year", busy_hours_a_year(report)),
        ("The whole life", busy_hours(report)),
    ]
    kwh = report["account"]["use"].kwh_a_busy_hour
    rows = []
    for name, count in hours:
        cells = [show_dollars(cost * count) if cost is not None else "–" for cost in costs.values()]
        rows.append([text(name), *cells, show_number(kwh * count)])
    heads = ("Cost of", "Rented", "Own: electricity alone", "Own: with its price", "Energy, kWh")
    return table(heads, rows, caption="Rent against hardware of your own", class_="calc-parts")


def notes(report: Report) -> str:
    """Return the prices that the costs rest on, and from which use on buying is cheaper."""
    account = report["account"]
    rent, bought, tariff, purse, use = (account[name] for name in ("rent", "bought", "tariff", "purse", "use"))
    items = []
    if purse and rent:
        share = break_even_share(purse=purse, use=use, life_hours=life_hours(report))
        if share is None:
            items.append(f"Over {report['own']['life_years']} years, buying is not cheaper even if it is always busy")
        else:
            items.append(
                f"Buying is cheaper over its life if it is busy more than <strong>{100 * share:.0f} %</strong>"
            )
    if bought:
        items.append(f"A GPU to buy: <strong>{show_dollars(each(bought))}</strong> ({price_text(bought)})")
    if rent:
        items.append(f"A GPU for an hour: <strong>{show_dollars(each(rent))}</strong> ({price_text(rent)})")
    items.append(f"A kWh: <strong>{show_dollars(each(tariff))}</strong> ({price_text(tariff)})")
    items.append(f"Power while it works: <strong>{show_count(use.pue * use.busy_w)} W</strong>, the site's included")
    if not account["power_known"]:
        items.append("The maker states no power of this device: the energy is that of the rest of the machine alone.")
    if report["speed"] and "output_tokens_per_s" in report["speed"]:
        items.append(
            f"Written over the whole time: {show_tokens_per_s(report['speed']['output_tokens_per_s']['typical'])}"
        )
    else:
        whose = "model" if report["speed"] else "device"
        items.append(f"No speed is known of this {whose}, so no cost of tokens")
    return facts_html(items)


ASSUMPTIONS = [
    "Rent is paid for the hours of work alone; whoever rents for months pays for idle hours too, at a lower price.",
    "While they work the GPUs draw what their boards may at most: an upper end.",
    "The rest of the machine draws the same whether they work or wait.",
    "Money now is worth what it is worth later; there is no interest, tax, insurance or staff.",
    "Where a device is sold within a machine only, its price is the machine's.",
    "Nothing breaks. A part that fails costs its price and the hours without it.",
]


def render(report: Report) -> str:
    """Return the answer's HTML."""
    line = headline(report)
    shown = {**report, "steps": [step.as_dict() for step in steps(report)], "warnings": []}
    facts = costs_table(report) + notes(report)
    return answer_html(line, shown, facts=facts, assumptions=ASSUMPTIONS)


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    costs, million = hour_costs(report), million_hours(report)
    rented, owned = costs["rent"], costs["owned"]
    return (
        show_dollars(rented) if rented else "–",
        show_dollars(owned) if owned else "–",
        show_dollars(owned * million) if owned and million else "–",
    )
