"""Tables of prices: each with its day, what devices are rented and sold for, and what hosted models cost."""

import datetime
from collections.abc import Sequence

from calc.calculators.html import element, table, text
from calc.catalog import catalog
from calc.catalog.choices import PRICE_STALE_DAYS
from calc.catalog.records import Price
from calc.planning.cost import spreads
from calc.units import show_number
from macros.filtered import Bound, filtered, missing, sortable
from macros.markdown import unsearched

__all__ = ["hosted_table", "price_table", "purchase_table", "rent_table", "stale_days"]


def stale_days() -> str:
    """Return how old a price may be before it says so."""
    return f"{PRICE_STALE_DAYS} days"


def price_table(of: str) -> str:
    """Return the prices of "accelerators", "machines", "electricity" or "currencies", newest first; old ones say so."""
    facts = catalog()
    found = facts.prices(of)
    if not found:
        raise ValueError(f"the catalogue has no prices of {of!r}")
    today = datetime.date.today().isoformat()
    rows = []
    for price in found:
        if of in ("electricity", "currencies"):
            name = price.region or price.item
        else:
            name = (facts.accelerator if of == "accelerators" else facts.machine)(price.item).name
        amount = f"{show_number(price.each)} {price.currency}"
        old = f", older than {PRICE_STALE_DAYS} days" if price.is_stale(today) else ""
        day = element("a", text(price.checked), href=facts.source(price.source).url, rel="noopener")
        rows.append(
            [
                text(name),
                text(price.kind),
                sortable(price.each, text(amount)),
                text(price.per),
                text(price.seller or price.region) or missing(),
                sortable(price.checked, f"{day}{old}"),
            ]
        )
    headings = ("Of", "Kind", "Price", "Each", "Seller", "Asked on")
    caption = f"Prices of {of}, newest first"
    whole = filtered(table(headings, rows, caption=caption, words=(0, 1, 3, 4, 5)), things="prices")
    return unsearched(whole)  # the same names again and again


def rent_table() -> str:
    """Return the middle of the rents of each device that are not old, with lowest, highest, newest day and sellers."""
    today = datetime.date.today().isoformat()
    rents = [price for price in catalog().prices("accelerators") if price.per == "hour" and not price.is_stale(today)]
    if not rents:
        return element("p", text(f"No rent in the catalogue is newer than {PRICE_STALE_DAYS} days."))
    return middle_table(rents, caption="Rents of one device for an hour", things="rents")


def purchase_table() -> str:
    """Return the middle of what each device was sold for, new and used, as `middle_table` does."""
    sold = [price for price in catalog().prices("accelerators") if price.per == "piece" and price.kind != "launch"]
    return middle_table(sold, caption="Prices of one device", things="prices")


def middle_table(prices: Sequence[Price], *, caption: str, things: str) -> str:
    """Return median and spread of prices in dollars by device and kind, with the newest day, old or not."""
    rows, today = [], datetime.date.today().isoformat()
    for found in spreads(prices):
        values = (found.median, found.lowest, found.highest)
        cells = [sortable(value, text(f"{show_number(value)} USD")) for value in values]
        old = f", older than {PRICE_STALE_DAYS} days" if found.newest.is_stale(today) else ""
        cells.append(sortable(found.newest.checked, f"{text(found.newest.checked)}{old}"))
        name, sellers = catalog().accelerator(found.item).name, text(", ".join(found.sellers))
        rows.append([text(name), text(found.kind), *cells, sellers or missing()])
    headings = ("Device", "Kind", "Median", "Lowest", "Highest", "Newest", "Sellers")
    bounds = (Bound("Median", "USD", most=True),)
    whole = filtered(table(headings, rows, caption=caption, words=(0, 1, 5, 6)), things=things, bounds=bounds)
    return unsearched(whole)


def hosted_table() -> str:
    """Return what a million tokens of hosted models cost, read and written, newest first."""
    facts, today = catalog(), datetime.date.today().isoformat()
    rows = []
    for price in facts.prices("models"):
        old = f", older than {PRICE_STALE_DAYS} days" if price.is_stale(today) else ""
        day = element("a", text(price.checked), href=facts.source(price.source).url, rel="noopener")
        amounts = [
            missing() if amount is None else sortable(amount, text(f"{show_number(amount)} {price.currency}"))
            for amount in (price.price, price.cached_price, price.output_price)
        ]
        cells = [text(facts.model(price.item).name), *amounts, text(price.seller)]
        rows.append([*cells, sortable(price.checked, f"{day}{old}")])
    headings = ("Model", "Read", "Read before", "Written", "Seller", "Asked on")
    caption = "Prices of a million tokens of hosted models"
    return filtered(table(headings, rows, caption=caption, words=(0, 4, 5)), things="models")
