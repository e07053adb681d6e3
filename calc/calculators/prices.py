"""What is paid and to whom, in words: whose price it is and of which day, and what a million tokens cost."""

import datetime

from calc.calculators.html import table, text
from calc.calculators.inputs import Report
from calc.calculators.rendering import facts_html
from calc.catalog.choices import PRICE_STALE_DAYS
from calc.units import show_number

MARKET_WORDS = {"specialist": "GPU clouds", "large cloud": "large clouds", "marketplace": "market places"}


def price_text(price: Report) -> str:
    """Return whose price it is, and of which day; one that is older than prices stay true says so."""
    if price["kind"] == "own":
        return "your price"
    said = f"{price['seller'] or price['region'] or 'several sellers'}, {price['kind']}, {price['date']}"
    age = datetime.date.today() - datetime.date.fromisoformat(price["date"])
    stale = age.days > PRICE_STALE_DAYS
    old = f"; <strong>older than {PRICE_STALE_DAYS} days</strong>" if stale else ""
    others = [
        f"{MARKET_WORDS[one['market']]} {show_number(one['each'])}" for one in price["elsewhere"] if one["market"]
    ]
    return text(said) + old + text(f"; {', '.join(others)}" if others else "")


def costs(report: Report) -> str:
    """Return the table of what a million output tokens cost, with the prices that it rests on."""
    cost = report["cost"]
    if not cost:
        return ""
    rent, energy, electricity = cost["rent"], cost["energy_kwh_per_million_output_tokens"], cost["electricity"]
    rows, notes = [], []
    if rent:
        rows.append((f"Rent, {rent['price']['currency']}", rent["per_million_output_tokens"]))
        hourly = f"{show_number(rent['price']['each'])} {rent['price']['currency']}"
        notes.append(f"Rent of a GPU for an hour: <strong>{hourly}</strong> ({price_text(rent['price'])})")
    else:
        notes.append("The catalogue has no rent of this device for an hour: put in your own.")
    if energy:
        rows.append(("Energy, kWh", energy))
    else:
        notes.append("The maker states no power of this device: its energy is not known.")
    if electricity:
        rows.append((f"Electricity, {electricity['price']['currency']}", electricity["per_million_output_tokens"]))
        each = f"{show_number(electricity['price']['each'])} {electricity['price']['currency']}"
        notes.append(f"A kWh: <strong>{each}</strong> ({price_text(electricity['price'])})")
    body = [[name, *(show_number(values[key]) for key in ("low", "typical", "high"))] for name, values in rows]
    heads = ("A million output tokens", "Low", "Typical", "High")
    shown = table(heads, body, caption="Cost of a million output tokens, their prompts included", class_="calc-parts")
    return (shown if rows else "") + facts_html(notes)
