"""Prices: what their entries must look like, and checking them."""

from calc.catalog.checking.check import Check, Rules, with_fields
from calc.catalog.choices import MARKETS, RENTS
from calc.catalog.entries import Entry, Tables, sold_with

PRICE_OF = ("accelerators", "machines", "models", "electricity", "currencies")
PRICE_KINDS = (
    "list",
    "launch",
    "street",
    "used",
    "retail",
    "hosted",
    "reference",  # of a currency, as a central bank sets it
)
BEFORE_SALE = ("list", "launch")  # prices of what cannot be had yet
PRICE_PER = {  # of what, per what: a possible range in any currency that is like a dollar
    ("accelerators", "hour"): (0.005, 50),
    ("machines", "hour"): (0.05, 1_000),
    ("accelerators", "piece"): (20, 100_000),
    ("machines", "piece"): (200, 10_000_000),
    ("electricity", "kWh"): (0.01, 2),
    ("models", "million tokens"): (0.001, 1_000),
    ("currencies", "unit"): (0.00001, 5),
}
PRICE_RULES: Rules = {
    "of": (str,),
    "item?": (str,),
    "pieces?": (int,),
    "kind": (str,),
    "price": (int, float),  # of what a model reads, where it is hosted
    "output_price?": (int, float),  # of what it writes
    "cached_price?": (int, float),  # of what it has read before
    "currency": (str,),
    "per": (str,),
    "seller?": (str,),
    "market?": (str,),
    "region?": (str,),
    "source": (str,),
    "checked": (str,),
    "note?": (str,),
}


@with_fields(PRICE_RULES)
def check_price(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one price: of what, how many, in which currency, for how long, seen on which day."""
    check.choice(f"{where}.kind", entry["kind"], RENTS if entry["per"] == "hour" else PRICE_KINDS)
    check.choice(f"{where}.per", entry["per"], {per: None for _, per in PRICE_PER})
    check.choice(f"{where}.of", entry["of"], PRICE_OF)
    if entry["of"] in ("accelerators", "machines", "models"):
        sold = [other for name, known in tables["accelerators"].items() for other in sold_with(name, known)]
        others = sold if entry["of"] == "accelerators" else []
        check.choice(f"{where}.item", entry.get("item", ""), [*tables[str(entry["of"])], *others])
        item = tables[str(entry["of"])].get(str(entry.get("item")), {})
        if item.get("availability") == "announced" and entry["kind"] not in BEFORE_SALE:
            check.problem(f"{where}.kind", f"nobody asks a price of this kind for {entry['item']}, which is announced")
    if (entry["of"] == "electricity") != (entry["per"] == "kWh"):
        check.problem(f"{where}.per", "electricity is sold by the kWh, and nothing else is")
    if (entry["of"] == "models") != (entry["per"] == "million tokens"):
        check.problem(f"{where}.per", "models are sold by the million tokens, and nothing else is")
    if (entry["of"] == "currencies") != (entry["per"] == "unit"):
        check.problem(f"{where}.per", "currencies are changed by the unit, and nothing else is")
    if (entry["of"] == "models") != (entry["kind"] == "hosted"):
        check.problem(f"{where}.kind", "models are hosted, and nothing else is")
    if (entry["of"] == "models") != ("output_price" in entry):
        check.problem(f"{where}.output_price", "a hosted model has a price of what it writes, and nothing else has one")
    if "market" in entry or (entry["of"], entry["kind"]) == ("accelerators", "on-demand"):
        check.choice(f"{where}.market", entry.get("market"), MARKETS)
    check_price_itself(check, where, entry)


def check_price_itself(check: Check, where: str, entry: Entry) -> None:
    """Check what is asked: a currency, and an amount that is possible for one piece."""
    if not isinstance(entry["currency"], str) or not (entry["currency"].isupper() and len(entry["currency"]) == 3):
        check.problem(f"{where}.currency", f"must be three letters like USD, not {entry['currency']!r}")
    pieces = entry.get("pieces", 1)
    if not isinstance(pieces, int) or pieces < 1:
        check.problem(f"{where}.pieces", f"must be at least 1, not {pieces}")
        return
    least, most = PRICE_PER.get((str(entry["of"]), str(entry["per"])), (0.0, 0.0))
    for field in ("price", "output_price", "cached_price"):
        price = entry.get(field, least)
        if not isinstance(price, int | float) or not least <= price / (pieces if field == "price" else 1) <= most:
            check.problem(f"{where}.{field}", f"{price} {entry['currency']} is not possible per {entry['per']}")
