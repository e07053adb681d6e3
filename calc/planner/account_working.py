"""The working of what an option costs: from people to replicas, and from prices of a device to a month."""

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any

from calc.derivation import Step
from calc.planner.account import MONTHS_A_YEAR, Ledger
from calc.planner.fleet import ALIKE
from calc.units import show_number

METHOD = "pue-standard"
ROUNDED_UP = 1 + 5e-6  # half of its last digit shown: where replicas share a load to the last request, no more come out
Money = Mapping[str, Any]


def load_steps(ledger: Ledger, load: Money, replicas: int) -> Iterator[Step]:
    """Iterate over the steps from people or requests to replicas."""
    need, source = ledger.need, "little-law"
    peak, spare, each = need.peak_rate or 0.0, need.spare, load["capacity_requests_per_s"]
    if need.requests_each_hour is not None:
        formula = r"\frac{n \cdot h \cdot k}{3600}"
        asked = f"{need.users:,} × {need.requests_each_hour:g} × {need.peak_over_mean:g} / 3,600"
    else:
        formula, asked = r"m \cdot k", f"{need.requests_per_s:g} × {need.peak_over_mean:g}"
    yield Step("Requests in the busiest hour", formula, asked, peak, unit="/s", source=source)
    if each and ceil(peak / each * (1 - ALIKE)) + spare == replicas:
        shared = f"⌈{show_number(peak, 6)} / {show_number(each * ROUNDED_UP, 6)}⌉ + {spare}"
        formula = r"\lceil \frac{r}{r_{\text{each}}} \rceil + n_{\text{spare}}"
        yield Step("Replicas", formula, shared, replicas, unit="", source=source)
    here, comes = load["mean_requests"], load["requests_per_s"]
    stays = f"{show_number(here, 5)} / {show_number(comes, 5)}"
    name, formula = "Stay of a request in a replica", r"\frac{L}{r_{\text{each}}}"
    yield Step(name, formula, stays, here / comes, unit="s", source=source)


def rent_steps(ledger: Ledger, cost: Money) -> Iterator[Step]:
    """Iterate over the steps from the rent of a device to that of a month, and to what hosted tokens cost."""
    hours, number, rent = ledger.need.hours_a_month, ledger.fleet.number, cost["prices"]["rent"]
    if rent and cost["rent_per_month"] is not None:
        numbers = f"{rent['each']:g} × {number:,} × {show_number(hours, 5)}"
        source = rent["source"] or METHOD
        yield Step("Rent of a month", r"p \cdot n \cdot h", numbers, cost["rent_per_month"], unit="USD", source=source)
    hosted = cost["hosted"]
    if hosted and hosted["per_month"] is not None:
        requests = ledger.need.requests_a_month or 0.0
        numbers = f"{show_number(requests, 7)} × {show_number(hosted['per_request'], 5)}"
        source = hosted["source"] or METHOD
        name, month = "The same requests by the token, a month", hosted["per_month"]
        yield Step(name, r"n \cdot c", numbers, month, unit="USD", source=source)


def owning_steps(ledger: Ledger, cost: Money, energy: Money) -> Iterator[Step]:
    """Iterate over the steps from power and purchase to what owning costs a month, and emits."""
    account, hours, watts = ledger.account, ledger.need.hours_a_month, ledger.fleet.power_w
    if watts is None or energy["kwh_per_month"] is None:
        return
    kwh, grid = energy["kwh_per_month"], energy["grid"]
    numbers = f"{watts:g} / 1,000 × {ledger.pue:g} × {show_number(hours, 5)}"
    yield Step(
        "Energy of a month at the boards' limit",
        r"\frac{P}{1000} \cdot PUE \cdot h",
        numbers,
        kwh,
        unit="kWh",
        source=METHOD,
    )
    emitted = f"{show_number(kwh, 5)} × {grid['grams_per_kwh']:g} / 1,000"
    yield Step(
        "CO₂ of a month",
        r"\frac{E \cdot g}{1000}",
        emitted,
        energy["co2_kg_per_month"],
        unit="kg",
        source=str(grid["source"]),
    )
    bought, paid = cost["purchase"], cost["electricity_per_month"]
    if bought is None or paid is None:
        return
    lost = f"{show_number(bought, 7)} × (1 − {account.resale_share:g})"
    source = (cost["prices"]["purchase"] or {}).get("source") or METHOD
    numbers = f"{lost} / ({MONTHS_A_YEAR} × {account.life_years:g}) + {show_number(paid, 5)}"
    formula = r"\frac{C \cdot (1 - r)}{12 \cdot a} + e"
    yield Step("Month on devices of your own", formula, numbers, cost["owned_per_month"], unit="USD", source=source)
    if cost["break_even_months"] is not None:
        numbers = f"{lost} / ({show_number(cost['rent_per_month'], 6)} − {show_number(paid, 5)})"
        formula = r"\frac{C \cdot (1 - r)}{p - e}"
        yield Step(
            "Months after which buying is cheaper", formula, numbers, cost["break_even_months"], unit="", source=source
        )


def account_steps(
    ledger: Ledger, *, load: Money | None, replicas: int, cost: Money, energy: Money
) -> list[dict[str, object]]:
    """Return the working of an option's load and money, as a report has it."""
    steps = [*(load_steps(ledger, load, replicas) if load else ()), *rent_steps(ledger, cost)]
    return [step.as_dict() for step in (*steps, *owning_steps(ledger, cost, energy))]
