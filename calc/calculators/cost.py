"""Cost and energy: rent against hardware of one's own, over its life, for an hour of work, a million tokens, a run."""

from typing import Any

from calc.calculators.arriving import FIELDS as ARRIVALS
from calc.calculators.calculator import Calculator, Preset
from calc.calculators.engines import devices
from calc.calculators.hosting import FIELDS as ON_HOST
from calc.calculators.html import table, text
from calc.calculators.inputs import Amount, Number
from calc.calculators.rendering import Report, answer_html, facts_html, spoken
from calc.calculators.serving_inputs import scenario
from calc.calculators.several import FIELDS as SEVERAL
from calc.calculators.speed import INPUTS as SPEED_INPUTS
from calc.calculators.speed import price_text
from calc.catalog import catalog
from calc.derivation import Step
from calc.estimate import estimate
from calc.planning.cost import MILLION, newest_electricity, newest_purchase, price_of, rent_of
from calc.planning.ownership import (
    HOURS_A_YEAR,
    Purse,
    Use,
    break_even_busy_hours,
    break_even_share,
    owned_per_busy_hour,
)
from calc.scenario.reader import MOST_PRICE
from calc.units import HOUR_S, show_count, show_dollars, show_number, show_tokens_per_s

OWNED = (
    Amount(
        "purchase_price",
        "Price of a GPU to buy",
        "In US dollars. Empty: the newest in the catalogue, with its day.",
        "",
        least=0,
        most=MOST_PRICE,
        topic="If you buy",
    ),
    Amount(
        "machine_price",
        "Price of the machine around them",
        "In US dollars: case, processor, memory, supply. Empty: nothing.",
        "",
        least=0,
        most=MOST_PRICE * 10,
        topic="If you buy",
    ),
    Number(
        "life_years", "Years of use", "After them it is sold or thrown away.", "4", least=1, most=20, topic="If you buy"
    ),
    Number(
        "resale_percent",
        "Resale",
        "Per cent of the price that come back at the end.",
        "0",
        least=0,
        most=100,
        topic="If you buy",
    ),
    Number(
        "busy_percent",
        "Busy",
        "Per cent of all hours in which it works.",
        "50",
        least=1,
        most=100,
        topic="Use and power",
    ),
    Number(
        "machine_watts",
        "Power of the rest of the machine",
        "Watts of all but the GPUs.",
        "150",
        least=0,
        most=1_000_000,
        topic="Use and power",
    ),
    Number(
        "idle_percent",
        "Idle power",
        "Per cent of the GPUs' power that they draw while they wait.",
        "15",
        least=0,
        most=100,
        topic="Use and power",
    ),
    Amount(
        "pue",
        "PUE",
        "Power of the site for each watt of the machine: 1 where nothing is cooled apart.",
        "1.0",
        least=1,
        most=5,
    ),
    Amount(
        "run_hours",
        "Hours of a run",
        "A job whose cost you want to know, such as a fine-tune.",
        "24",
        least=0,
        most=MOST_PRICE,
    ),
)
OWNED_NAMES = tuple(field.name for field in OWNED)
DEFAULTS = {"sequences": "8", "weights": "awq", "engine": "vllm", "accelerator": "rtx-5090"}
INPUTS = (
    *(
        field._replace(default=DEFAULTS.get(field.name, field.default))
        for field in SPEED_INPUTS
        if field.name not in ARRIVALS | ON_HOST | SEVERAL
    ),
    *OWNED,
)

PRESETS = (
    Preset("Llama 3.1 8B for 8 readers on an RTX 5090", {}),
    Preset("… busy one hour in ten", {"busy_percent": "10"}),
    Preset("… in a data centre that cools", {"pue": "1.58"}),
    Preset(
        "Llama 3.3 70B for 32 readers on eight H100 of a server at your price",
        {
            "model": "llama-3.3-70b",
            "weights": "bf16",
            "accelerator": "h100-sxm-80gb",
            "accelerators": "8",
            "sequences": "32",
            "purchase_price": "25000",
            "machine_price": "60000",
            "machine_watts": "4600",
            "pue": "1.3",
        },
    ),
    Preset(
        "gpt-oss 120B on a DGX Spark, one reader",
        {
            "model": "gpt-oss-120b",
            "weights": "mxfp4",
            "engine": "llama.cpp",
            "accelerator": "gb10",
            "sequences": "1",
            "machine_watts": "100",
        },
    ),
)


def account(read: dict[str, object]) -> Report:
    """Return the report on a scenario, with the prices, the use and the purse that costs follow from as `account`."""
    asked = {name: value for name, value in read.items() if name not in OWNED_NAMES}
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
    calendar = show_days(hours / use.busy_share)
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
        ("A year", busy_hours(report) / own["life_years"]),
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


CALCULATOR = Calculator(
    id="cost",
    title="Cost and energy",
    question="What do these GPUs cost, rented or bought, and from when on is buying cheaper?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=scenario,
    render=render,
    status=spoken(headline),
    headings=("An hour rented", "An hour of one's own", "A million tokens of one's own"),
    row=row,
    answer=account,
)
