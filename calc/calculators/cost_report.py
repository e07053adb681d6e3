"""What the answer about cost rests on: prices, use, what an hour of work costs in each way to pay, and its working."""

from typing import Any

from calc.calculators.inputs import Report
from calc.calculators.owning import FIELDS
from calc.catalog import catalog
from calc.derivation import Step
from calc.estimate import estimate
from calc.planning.cost import MILLION, newest_electricity, newest_purchase, price_of, rent_of
from calc.planning.ownership import (
    HOURS_A_YEAR,
    Purse,
    Use,
    break_even_busy_hours,
    owned_per_busy_hour,
)
from calc.units import HOUR_S, show_number


def account(read: dict[str, object]) -> Report:
    """Return the report on a scenario, with the prices, the use and the purse that costs follow from as `account`."""
    asked = {name: value for name, value in read.items() if name not in FIELDS}
    own: Any = read
    report: Any = estimate(asked)
    facts = catalog()
    device, count = facts.accelerator(report["scenario"]["accelerator"]), report["scenario"]["accelerators"]
    rent = rent_of(facts, device, own.get("price_per_hour"))
    bought = price_of(newest_purchase(facts, device), own.get("purchase_price"))
    tariff = price_of(newest_electricity(facts), own.get("electricity_per_kwh"))
    assert tariff is not None  # the catalogue has a price of electricity: a test holds it
    boards = count * (device.quantity("power") or 0.0)
    use = Use(
        busy_w=boards + own["machine_watts"],
        idle_w=boards * own["idle_percent"] / 100 + own["machine_watts"],
        busy_share=own["busy_percent"] / 100,
        pue=own.get("pue") or 1.0,
    )
    purse = None
    if bought:
        price = count * bought.each + (own.get("machine_price") or 0.0)
        purse = Purse(price, own["resale_percent"] / 100, tariff.each, count * rent.each if rent else None)
    prices = {"rent": rent, "bought": bought, "tariff": tariff}
    shown = {name: found and found.report() for name, found in prices.items()}
    found = {**shown, "use": use, "purse": purse, "power_known": boards > 0}
    return {**report, "account": found, "own": own}


def each(price: Any) -> float:
    """Return what one costs."""
    return float(price["each"])


def life_hours(report: Report) -> float:
    """Return the hours of the hardware's life, busy and idle."""
    return float(report["own"]["life_years"] * HOURS_A_YEAR)


def busy_hours(report: Report) -> float:
    """Return the hours of work in the hardware's life."""
    return life_hours(report) * float(report["account"]["use"].busy_share)


def busy_hours_a_year(report: Report) -> float:
    """Return the hours of work in a year of the hardware's life."""
    return float(busy_hours(report) / report["own"]["life_years"])


def owned_costs(report: Report) -> dict[str, float]:
    """Return what one's own hardware costs in a year, in its life, for a million tokens; none without a price."""
    each, million = hour_costs(report)["owned"], million_hours(report)
    if each is None:
        return {}
    hours = {"year": busy_hours_a_year(report), "life": busy_hours(report), **({"million": million} if million else {})}
    return {name: each * count for name, count in hours.items()}


def hour_costs(report: Report) -> dict[str, float | None]:
    """Return what an hour of work costs in the three ways to pay; None where a price is not known."""
    account = report["account"]
    use, purse, tariff = account["use"], account["purse"], account["tariff"]
    rented = report["scenario"]["accelerators"] * each(account["rent"]) if account["rent"] else None
    running = each(tariff) * use.kwh_a_busy_hour
    owned = owned_per_busy_hour(purse=purse, use=use, life_hours=life_hours(report)) if purse else None
    return {"rent": rented, "running": running, "owned": owned}


def million_hours(report: Report) -> float | None:
    """Return the hours in which a million output tokens are written; None without a speed."""
    speed = report["speed"]
    rate = speed.get("output_tokens_per_s") if speed else None
    return MILLION / rate["typical"] / HOUR_S if rate else None


def steps(report: Report) -> list[Step]:
    """Return the working of the costs."""
    account, own = report["account"], report["own"]
    use, purse, tariff = account["use"], account["purse"], account["tariff"]
    busy = use.busy_share
    found = [
        Step(
            "Energy of an hour of work, with the idle hours around it",
            r"\frac{PUE \cdot (u \cdot P_{\text{busy}} + (1 - u) \cdot P_{\text{idle}})}{1000 \cdot u}",
            f"{use.pue:g} × ({busy:g} × {use.busy_w:g} + {1 - busy:g} × {use.idle_w:g}) / (1,000 × {busy:g})",
            use.kwh_a_busy_hour,
            unit="kWh",
            source="pue-standard",
        )
    ]
    if purse is None:
        return found
    price, back, energy = each(tariff), own["resale_percent"] / 100, use.kwh_a_busy_hour
    life = life_hours(report)
    found.append(
        Step(
            "Hour of work on hardware of your own",
            r"\frac{C \cdot (1 - r)}{u \cdot L} + e \cdot E",
            f"{purse.purchase:,.2f} × (1 − {back:g}) / ({busy:g} × {life:,.0f}) + {price:g} × {show_number(energy, 4)}",
            owned_per_busy_hour(purse=purse, use=use, life_hours=life),
            unit="USD",
            source=str(tariff["source"] or "pue-standard"),
        )
    )
    hours = break_even_busy_hours(purse=purse, use=use)
    if hours is not None and purse.rent_per_hour is not None:
        found.append(
            Step(
                "Hours of work after which buying is cheaper",
                r"\frac{C \cdot (1 - r)}{p - e \cdot E}",
                f"{purse.purchase:,.2f} × (1 − {back:g}) / "
                f"({purse.rent_per_hour:g} − {price:g} × {show_number(energy, 4)})",
                hours,
                unit="h",
                source=str((account["rent"] or {}).get("source") or "pue-standard"),
            )
        )
    return found
