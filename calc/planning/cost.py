"""What tokens cost: the rent of the devices and their electricity, for the time that the tokens take."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from calc.catalog import Catalog
from calc.catalog.choices import MARKETS, RENTS
from calc.catalog.records import Accelerator, Price
from calc.derivation import Step
from calc.units import HOUR_S, KWH_J, show_number

Report = dict[str, object]
Range = Mapping[str, float]
LOWEST = RENTS[-1]
DOLLARS = "USD"  # in which plans add up; a price in other money says so
HALF_A_YEAR = 183  # days within which prices of several sellers are compared
SOLD = "sold"  # of devices that shops have new
LAUNCH = "launch"  # the price of the day on which a device came out
USED = "used"  # of what is second hand
BOUGHT = ("street", "retail", "list", USED, LAUNCH)  # of prices of pieces, what one pays before what is asked
MILLION = 1e6
ROOFLINE = "roofline"  # the source of the seconds, where a reader brought the price


class Paid(NamedTuple):
    """A price with what a reader needs to judge it; a reader's own has neither seller nor day."""

    each: float
    currency: str
    kind: str
    seller: str = ""
    region: str = ""
    date: str | None = None
    source: str | None = None
    market: str = ""
    elsewhere: tuple[Price, ...] = ()  # the middle ones of other markets

    def report(self) -> Report:
        """Return the price as a report has it."""
        others = [
            {"market": one.market, "each": one.each, "seller": one.seller, "date": one.checked, "source": one.source}
            for one in self.elsewhere
        ]
        return {**self._asdict(), "elsewhere": others}


class Spread(NamedTuple):
    """What sellers ask in dollars for one of an item, of one kind of price: its middle, its ends, and the newest."""

    item: str
    kind: str
    median: float
    lowest: float
    highest: float
    newest: Price
    sellers: tuple[str, ...]


def spreads(prices: Iterable[Price]) -> list[Spread]:
    """Return the spreads of prices in dollars by item and kind; of an even number the median is between two."""
    asked: dict[tuple[str, str], list[Price]] = {}
    for price in prices:
        if price.currency == DOLLARS:
            asked.setdefault((price.item, price.kind), []).append(price)
    found = []
    for (item, kind), mine in sorted(asked.items()):
        each, half = sorted(price.each for price in mine), len(mine) // 2
        found.append(
            Spread(
                item,
                kind,
                median=(each[half] + each[-1 - half]) / 2,
                lowest=each[0],
                highest=each[-1],
                newest=max(mine, key=lambda price: price.checked),
                sellers=tuple(sorted({price.seller for price in mine if price.seller})),
            )
        )
    return found


@lru_cache(maxsize=512)  # each answer about a device asks for the same
def rents(facts: Catalog, accelerator: Accelerator) -> list[Price]:
    """Return the middle ones of what sellers ask for a device by the hour, on demand where any does, by market.

    Clouds that do little else come first: what they ask is what people pay for an hour, while the large clouds' lists
    are where agreements for years begin, and offers of market places come and go. Each seller counts once, with its
    newest price, if that is of the half year before the newest of all. Of an even number it is the lower one of the two
    in the middle: what somebody asked, not a mean that nobody did.
    """
    known = [price for price in facts.prices("accelerators", accelerator.id) if price.per == "hour"]
    if not known:
        return []
    kind = min((price.kind for price in known), key=RENTS.index)
    newest: dict[tuple[str, str], Price] = {}
    for price in (price for price in known if price.kind == kind):  # newest first
        newest.setdefault((price.market, price.seller), price)
    last = next(iter(newest.values())).checked
    markets: dict[str, list[Price]] = {market: [] for market in (*MARKETS, "")}
    for price in newest.values():
        if price.age_days(last) <= HALF_A_YEAR:
            markets[price.market].append(price)
    found = (sorted(asked, key=lambda one: one.each) for asked in markets.values() if asked)
    return [asked[(len(asked) - 1) // 2] for asked in found]


def newest_rent(facts: Catalog, accelerator: Accelerator) -> Price | None:
    """Return the rent of a device on the first market that has it; None without one."""
    return next(iter(rents(facts, accelerator)), None)


def rent_of(facts: Catalog, accelerator: Accelerator, own: float | None) -> Paid | None:
    """Return a reader's own price of a device's hour, else the known one with those of other markets."""
    found = rents(facts, accelerator)
    paid = price_of(found[0] if found else None, own)
    return paid if paid is None or own is not None else paid._replace(elsewhere=tuple(found[1:]))


def newest_purchase(facts: Catalog, accelerator: Accelerator) -> Price | None:
    """Return the newest price of a device, else of a machine with one of it; None where none is known."""
    alone = [price for price in facts.prices("accelerators", accelerator.id) if price.per == "piece"]
    inside = [
        price
        for price in ([] if alone else facts.prices("machines"))
        if price.per == "piece"
        and (machine := facts.machine(price.item)).accelerator == accelerator.id
        and machine.devices == 1
    ]
    known = alone or inside
    newest = [price for price in known if price.checked == known[0].checked]
    return min(newest, key=lambda price: BOUGHT.index(price.kind), default=None)


def purchase_today(facts: Catalog, accelerator: Accelerator) -> Price | None:
    """Return the same in dollars; None where nobody sells it for so much any more.

    So it is with what a device cost as it came out, where no shop has it, and with what was asked for a used one half a
    year ago, the span within which sellers are compared: used prices move by as much as a quarter in six weeks.
    """
    found = newest_purchase(facts, accelerator)
    if found is None or found.currency != DOLLARS:
        return None
    old = found.kind == USED and found.age_days(facts.version) > HALF_A_YEAR
    past = found.kind == LAUNCH and accelerator.availability != SOLD
    return None if old or past else found


def newest_electricity(facts: Catalog) -> Price | None:
    """Return the newest price of a kWh; None where none is known."""
    return next((price for price in facts.prices("electricity") if price.per == "kWh"), None)


def million_tokens(each_s: float, rate: Range) -> dict[str, float]:
    """Return what a million tokens cost at low, typical and high, from what a second costs.

    >>> million_tokens(0.001, {"low": 50, "typical": 100, "high": 200})
    {'low': 5.0, 'typical': 10.0, 'high': 20.0}
    """
    ends = {"low": "high", "typical": "typical", "high": "low"}
    return {name: each_s * MILLION / rate[end] for name, end in ends.items()}


def price_of(known: Price | None, own: float | None) -> Paid | None:
    """Return a reader's own price, else the known one."""
    if own is not None:
        return Paid(own, DOLLARS, "own")
    if known is None:
        return None
    return Paid(
        each=known.each,
        currency=known.currency,
        kind=known.kind,
        seller=known.seller,
        region=known.region,
        date=known.checked,
        source=known.source,
        market=known.market,
    )


def cost_of(
    *,
    facts: Catalog,
    accelerator: Accelerator,
    devices: int,
    output_tokens_per_s: Range,
    price_per_hour: float | None,
    electricity_per_kwh: float | None,
) -> tuple[Report, list[Step]]:
    """Return rent, energy and electricity of a million output tokens, their prompts included, with the working.

    A part is None where its price or the device's power is not known. The energy is what the devices draw at the limit
    of their boards: an upper end, without the machine around them.
    """
    rate = output_tokens_per_s
    rent: Report | None = None
    energy: dict[str, float] | None = None
    electricity: Report | None = None
    steps = []
    if price := rent_of(facts, accelerator, price_per_hour):
        hourly = devices * price.each
        per_million = million_tokens(hourly / HOUR_S, rate)
        rent = {"price": price.report(), "per_hour": hourly, "per_million_output_tokens": per_million}
        steps.append(
            Step(
                "Rent for a million output tokens",
                r"\frac{n \cdot p}{3600} \cdot \frac{10^6}{r}",
                f"{devices:,} × {price.each:g} / 3,600 × 1,000,000 / {show_number(rate['typical'], 4)}",
                per_million["typical"],
                unit=price.currency,
                source=price.source or ROOFLINE,
            )
        )
    if watts := accelerator.quantity("power"):
        energy = million_tokens(devices * watts / KWH_J, rate)
        steps.append(
            Step(
                "Energy for a million output tokens",
                r"\frac{n \cdot P}{3.6 \cdot 10^6} \cdot \frac{10^6}{r}",
                f"{devices:,} × {watts:g} / 3,600,000 × 1,000,000 / {show_number(rate['typical'], 4)}",
                energy["typical"],
                unit="kWh",
                source=accelerator.facts["power"].source,
            )
        )
    tariff = price_of(newest_electricity(facts), electricity_per_kwh)
    if energy and tariff:
        costs = {name: kwh * tariff.each for name, kwh in energy.items()}
        electricity = {"price": tariff.report(), "per_million_output_tokens": costs}
        steps.append(
            Step(
                "Electricity for a million output tokens",
                r"E \cdot p",
                f"{show_number(energy['typical'], 4)} × {tariff.each:g}",
                costs["typical"],
                unit=tariff.currency,
                source=tariff.source or ROOFLINE,
            )
        )
    return {"rent": rent, "energy_kwh_per_million_output_tokens": energy, "electricity": electricity}, steps


def run_cost_of(
    *,
    facts: Catalog,
    accelerator: Accelerator,
    devices: int,
    tokens_per_s: Range,
    tokens: int | None,
    price_per_hour: float | None,
    electricity_per_kwh: float | None,
) -> tuple[Report, list[Step]]:
    """Return rent, energy and electricity of a million tokens of training, and of a run of `tokens`, with the working.

    A part is None where its price or the device's power is not known. The energy is what the devices draw at the limit
    of their boards, without the machine around them.
    """
    report: Report = {"rent": None, "energy_kwh": None, "electricity": None}
    steps: list[Step] = []

    def costs(each_s: float) -> dict[str, dict[str, float] | None]:
        million = million_tokens(each_s, tokens_per_s)
        run = {name: value * tokens / MILLION for name, value in million.items()} if tokens else None
        return {"per_million_tokens": million, "per_run": run}

    def working(
        name: str, formula: str, factor: str, of: dict[str, dict[str, float] | None], *, unit: str, source: str
    ) -> None:
        amount, shown = (tokens, of["per_run"]) if tokens else (int(MILLION), of["per_million_tokens"])
        what = "the run" if tokens else "a million tokens"
        numbers = f"{devices:,} × {factor} × {amount:,} / {show_number(tokens_per_s['typical'], 4)}"
        assert shown is not None
        steps.append(Step(f"{name} of {what}", formula, numbers, shown["typical"], unit=unit, source=source))

    price = rent_of(facts, accelerator, price_per_hour)
    if price:
        rent = costs(devices * price.each / HOUR_S)
        report["rent"] = {"price": price.report(), "per_hour": devices * price.each, **rent}
        source = price.source or ROOFLINE
        formula = r"\frac{n \cdot p}{3600} \cdot \frac{D}{r}"
        working("Rent", formula, f"{price.each:g} / 3,600", rent, unit=price.currency, source=source)
    watts = accelerator.quantity("power")
    if not watts:
        return report, steps
    energy = costs(devices * watts / KWH_J)
    report["energy_kwh"] = energy
    formula = r"\frac{n \cdot P}{3.6 \cdot 10^6} \cdot \frac{D}{r}"
    working("Energy", formula, f"{watts:g} / 3,600,000", energy, unit="kWh", source=accelerator.facts["power"].source)
    tariff = price_of(newest_electricity(facts), electricity_per_kwh)
    if tariff:
        paid = costs(devices * watts / KWH_J * tariff.each)
        report["electricity"] = {"price": tariff.report(), **paid}
        source = tariff.source or ROOFLINE
        factor = f"{watts:g} / 3,600,000 × {tariff.each:g}"
        working("Electricity", formula + r" \cdot p", factor, paid, unit=tariff.currency, source=source)
    return report, steps
