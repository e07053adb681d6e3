"""Answers to a question in one line from facts alone: what devices draw and cost, and which cards there are."""

from collections.abc import Collection, Iterator
from typing import Any

from calc.calculators.cost import CALCULATOR as COST
from calc.calculators.html import element, searched, table, text
from calc.calculators.line_link import every_field, link_to
from calc.calculators.rendering import verdict_html
from calc.calculators.sizes import size_gib
from calc.catalog import catalog
from calc.catalog.choices import VENDORS
from calc.catalog.records import Accelerator, Price
from calc.lines.makers import vendors
from calc.lines.own_device import NEAR
from calc.lines.wording import BEST, RENT_OR_BUY
from calc.planning.cost import newest_electricity, purchase_today, rents
from calc.planning.ownership import energy_cost, site_kwh
from calc.planning.power import boards_watts
from calc.units import GIB, show_count, show_gb_per_s, show_number

Answer = tuple[str, str]  # HTML, and the same in a sentence
Card = tuple[Accelerator, Price]
DAYS_A_MONTH = 365 / 12
OF_CARDS = ("consumer", "workstation", "data-center")  # segments of what is put into a computer
LISTED = 10
SOLD = "sold"  # of a card that its maker sells today


def said_in(reading: Any) -> dict[str, Any]:
    """Return what a line gives its fields."""
    return {chip["field"]: chip["value"] for chip in reading["chips"]}


def power(reading: Any) -> Answer:
    """Return what devices draw at most, and what that costs where they are busy all the time or so many hours a day."""
    said = said_in(reading)
    device, count = said["accelerator"], said.get("accelerators", 1)
    limit = said.get("power_limit")
    draws, month = drawn(device, count, hours=said.get("hours_a_day", 24), limit_w=limit)
    draws = " ".join(filter(None, (draws, left_of(said.get("supply_w"), device, count, limit_w=limit))))
    if not month:
        return unknown(draws)
    link = link_to(COST, {"accelerator": device, "accelerators": str(count)}, every_field(COST))
    return verdict_html(None, draws, month) + link, f"{draws} {month}"


def left_of(supply_w: int | None, device_id: str, count: int, *, limit_w: float | None = None) -> str:
    """Return what devices leave of a power supply, in a sentence; empty where a line names none, or nobody knows."""
    each = limit_w or catalog().accelerator(device_id).quantity("power")
    if supply_w is None or each is None:
        return ""
    left, supply = supply_w - round(boards_watts(count, each_w=each)), f"power supply of {show_count(supply_w)} W"
    if left <= 0:
        return f"A {supply} is too small."
    return f"Of a {supply} that leaves {show_count(left)} W for all else, and for peaks."


def drawn(device_id: str, count: int, *, hours: float, limit_w: float | None = None) -> tuple[str, str]:
    """Return what devices draw, at a limit below their own if there is one, and what a month of busy hours costs."""
    device = catalog().accelerator(device_id)
    each, tariff = limit_w or device.quantity("power"), newest_electricity(catalog())
    if each is None or tariff is None:
        return f"The guide does not know what {device.name} draws.", ""
    watts = boards_watts(count, each_w=each)
    kwh = site_kwh(watts=watts, hours=hours * DAYS_A_MONTH)
    cost = show_number(energy_cost(kwh, each_kwh=tariff.each))
    draw = f"draw{'s' if count == 1 else ''} {show_count(round(watts))} W at most"
    at = f"{show_number(tariff.each)} {tariff.currency} a kWh ({tariff.region or tariff.seller}, {tariff.checked})"
    month = f"Busy {hours:g} hours a day it is {show_count(round(kwh))} kWh a month,"
    return (
        f"{show_count(count)} × {device.name} {draw}, without the rest of the computer.",
        f"{month} {cost} {tariff.currency} at {at}.",
    )


def prices(reading: Any) -> Answer:
    """Return what devices cost to rent, on each market, and to buy, with the day of each price."""
    said = said_in(reading)
    device, count = catalog().accelerator(said["accelerator"]), said.get("accelerators", 1)
    rented = [
        f"{show_number(count * price.each)} {price.currency} an hour ({price.market or price.seller}, {price.checked})"
        for price in rents(catalog(), device)
    ]
    bought = purchase_today(catalog(), device)
    buy = f"{show_number(count * bought.each)} {bought.currency} ({bought.kind}, {bought.checked})" if bought else ""
    name = f"{show_count(count)} × {device.name}"
    if not rented and not buy:
        return unknown(f"The catalogue has no price of {device.name}.")
    first = f"{name} to rent: {', '.join(rented)}." if rented else f"The catalogue has no rent of {device.name}."
    rest = f"To buy: {buy}." if buy else f"The catalogue has no price of {device.name} to buy."
    values = {"accelerator": device.id, "accelerators": str(count)}
    if rented and buy and RENT_OR_BUY.search(reading["line"].lower()):
        rest = f"{rest} {COST.status(COST.report(values))}"
    link = link_to(COST, values, every_field(COST))
    return verdict_html(None, first, rest) + link, f"{first} {rest}"


def unknown(sentence: str) -> Answer:
    """Return that a fact is not in the catalogue."""
    return verdict_html(None, "No answer:", sentence), sentence


def sold(*, memory: float = 0, price: float | None = None, makers: Collection[str] = VENDORS) -> list[Card]:
    """Return the cards that one can buy, the cheapest first, with so much memory (bytes) and for so many dollars."""
    found = []
    for device in cards_of(makers):
        asked = purchase_today(catalog(), device)
        if asked is None or (price is not None and asked.each > price):
            continue
        if (device.quantity("memory") or 0) >= memory * (1 - NEAR):
            found.append((device, asked))
    return sorted(found, key=lambda card: card[1].each)


def unpriced(memory: float, makers: Collection[str]) -> str:
    """Return which cards with just so much memory (bytes) are sold for a price that nobody knows, in a sentence."""
    sized = (device for device in cards_of(makers) if abs((device.quantity("memory") or 0) / memory - 1) < NEAR)
    named = [one.name for one in sized if one.availability == SOLD and purchase_today(catalog(), one) is None]
    return f"It knows none of {', '.join(named)}, which have {memory / GIB:g} GiB." if named else ""


def cards_of(makers: Collection[str]) -> Iterator[Accelerator]:
    """Iterate over these makers' cards of which one may ask what they cost."""
    for device in catalog().accelerators():
        if device.vendor in makers and device.segment in OF_CARDS and is_card(device):
            yield device


def is_card(device: Accelerator) -> bool:
    """Return whether a device is a whole card for a computer, as its maker made it: no chip of a laptop, no module."""
    whole = device.text("form").startswith("PCIe") and not device.quantity("devices_per_package")
    return whole and device.availability != "modified"


def bandwidth(card: Card) -> float:
    """Return how many bytes a second a card reads of its memory, which sets how fast a model writes."""
    return card[0].quantity("bandwidth") or 0.0


def named(card: Card) -> str:
    """Return a card with its memory, how fast it reads that, and its price with its day."""
    device, price = card
    size, rate = f"{(device.quantity('memory') or 0) / GIB:g} GiB", show_gb_per_s(bandwidth(card))
    return f"{device.name}: {size} at {rate}, {asked_for(price)} ({price.kind}, {price.checked})"


def asked_for(price: Price) -> str:
    """Return what one costs."""
    return f"{show_number(price.each)} {price.currency}"


def fastest(price: float) -> str:
    """Return which card alone is the best for a sum and in what respect, in a sentence; empty where none is sold."""
    cards = sold(price=price)
    if not cards:
        return ""
    best = named(max(cards, key=bandwidth))
    return f"The card that reads its memory fastest, and so writes fastest what it holds, is {best}."


def cards(reading: Any) -> Answer:
    """Return the cards with a memory that a line asks for, the cheapest first, or the fastest for the best."""
    said = said_in(reading)
    makers = vendors((chip["field"], chip["value"]) for chip in reading["chips"]) or VENDORS
    found = sold(memory=said["card_memory"] * GIB, price=said.get("price"), makers=makers)
    size = f"{said['card_memory']} GiB or more"
    if not found:
        return unknown(f"The catalogue has no card of {size} that is sold for so much.")
    best = BEST.search(reading["line"].lower())
    ranked = sorted(found, key=bandwidth, reverse=True) if best else found
    kind = "fastest" if best else "cheapest"
    left_out = unpriced(said["card_memory"] * GIB, makers)
    known = " that the guide knows a price of" if left_out else ""
    first = " ".join(filter(None, (f"The {kind} card with {size}{known} is {named(ranked[0])}.", left_out)))
    caption = f"Cards with {size}, the {kind} first"
    rest = "How fast a model writes follows from how fast a card reads its memory."
    return verdict_html(None, first, rest) + listed(ranked[:LISTED], caption), f"{first} {rest}"


def listed(ranked: list[Card], caption: str) -> str:
    """Return cards as a table."""
    rows = [
        (
            text(device.name),
            size_gib(device.quantity("memory") or 0),
            show_gb_per_s(device.quantity("bandwidth") or 0),
            f"{show_count(device.quantity('power') or 0)} W",
            f"{asked_for(price)} {element('small', f'{price.kind}, {price.checked}')}",
        )
        for device, price in ranked
    ]
    return searched(table(("Card", "Memory", "Reads", "Power", "To buy"), rows, caption=caption), "cards")
