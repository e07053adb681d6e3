"""What tokens cost: the rent of the devices and their electricity, for the time that the tokens take."""

from collections.abc import Mapping

from calc.catalog import Catalog
from calc.catalog.records import Accelerator, Price
from calc.derivation import Step
from calc.units import HOUR_S, KWH_J, show_number

Report = dict[str, object]
Range = Mapping[str, float]
KINDS = ("on-demand", "reserved", "median", "interruptible")  # of rents, the one that a reader would ask for first
BOUGHT = ("street", "retail", "list", "used", "launch")  # of prices of pieces, what one pays before what is asked
MILLION = 1e6
ROOFLINE = "roofline"  # the source of the seconds, where a reader brought the price


def newest_rent(facts: Catalog, accelerator: Accelerator) -> Price | None:
    """Return the newest rent of a device for an hour, on demand where there is one; None where none is known."""
    rents = [price for price in facts.prices("accelerators", accelerator.id) if price.per == "hour"]
    return min(rents, key=lambda price: KINDS.index(price.kind) if price.kind in KINDS else len(KINDS), default=None)


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


def price_report(known: Price | None, own: float | None) -> Report | None:
    """Return a price with what a reader needs to judge it; a reader's own has neither seller nor day."""
    if own is not None:
        return {"each": own, "currency": "USD", "kind": "own", "seller": "", "region": "", "date": None, "source": None}
    if known is None:
        return None
    return {
        "each": known.each,
        "currency": known.currency,
        "kind": known.kind,
        "seller": known.seller,
        "region": known.region,
        "date": known.checked,
        "source": known.source,
    }


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
    price = price_report(newest_rent(facts, accelerator), price_per_hour)
    if price:
        each = float(str(price["each"]))
        hourly = devices * each
        per_million = million_tokens(hourly / HOUR_S, rate)
        rent = {"price": price, "per_hour": hourly, "per_million_output_tokens": per_million}
        steps.append(
            Step(
                "Rent for a million output tokens",
                r"\frac{n \cdot p}{3600} \cdot \frac{10^6}{r}",
                f"{devices:,} × {each:g} / 3,600 × 1,000,000 / {show_number(rate['typical'], 4)}",
                per_million["typical"],
                str(price["currency"]),
                str(price["source"] or ROOFLINE),
            )
        )
    watts = accelerator.quantity("power")
    if watts:
        energy = million_tokens(devices * watts / KWH_J, rate)
        steps.append(
            Step(
                "Energy for a million output tokens",
                r"\frac{n \cdot P}{3.6 \cdot 10^6} \cdot \frac{10^6}{r}",
                f"{devices:,} × {watts:g} / 3,600,000 × 1,000,000 / {show_number(rate['typical'], 4)}",
                energy["typical"],
                "kWh",
                accelerator.facts["power"].source,
            )
        )
    tariff = price_report(newest_electricity(facts), electricity_per_kwh)
    if energy and tariff:
        each = float(str(tariff["each"]))
        costs = {name: kwh * each for name, kwh in energy.items()}
        electricity = {"price": tariff, "per_million_output_tokens": costs}
        steps.append(
            Step(
                "Electricity for a million output tokens",
                r"E \cdot p",
                f"{show_number(energy['typical'], 4)} × {each:g}",
                costs["typical"],
                str(tariff["currency"]),
                str(tariff["source"] or ROOFLINE),
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

    def working(name: str, formula: str, factor: str, of: dict[str, dict[str, float] | None], *unit: str) -> None:
        amount, shown = (tokens, of["per_run"]) if tokens else (int(MILLION), of["per_million_tokens"])
        what = "the run" if tokens else "a million tokens"
        numbers = f"{devices:,} × {factor} × {amount:,} / {show_number(tokens_per_s['typical'], 4)}"
        assert shown is not None
        steps.append(Step(f"{name} of {what}", formula, numbers, shown["typical"], *unit))

    price = price_report(newest_rent(facts, accelerator), price_per_hour)
    if price:
        each = float(str(price["each"]))
        rent = costs(devices * each / HOUR_S)
        report["rent"] = {"price": price, "per_hour": devices * each, **rent}
        source = str(price["source"] or ROOFLINE)
        formula = r"\frac{n \cdot p}{3600} \cdot \frac{D}{r}"
        working("Rent", formula, f"{each:g} / 3,600", rent, str(price["currency"]), source)
    watts = accelerator.quantity("power")
    if not watts:
        return report, steps
    energy = costs(devices * watts / KWH_J)
    report["energy_kwh"] = energy
    formula = r"\frac{n \cdot P}{3.6 \cdot 10^6} \cdot \frac{D}{r}"
    working("Energy", formula, f"{watts:g} / 3,600,000", energy, "kWh", accelerator.facts["power"].source)
    tariff = price_report(newest_electricity(facts), electricity_per_kwh)
    if tariff:
        each = float(str(tariff["each"]))
        paid = costs(devices * watts / KWH_J * each)
        report["electricity"] = {"price": tariff, **paid}
        source = str(tariff["source"] or ROOFLINE)
        factor = f"{watts:g} / 3,600,000 × {each:g}"
        working("Electricity", formula + r" \cdot p", factor, paid, str(tariff["currency"]), source)
    return report, steps
