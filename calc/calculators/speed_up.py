"""What a speed-up is worth: times as fast, percent less time, pages a day, hours and money saved."""

from collections.abc import Callable

from calc.calculators.calculator import Calculator, Preset
from calc.calculators.html import table, text
from calc.calculators.inputs import Amount, Number, Report, whole
from calc.calculators.rendering import answer_html, facts_html, spoken
from calc.derivation import Warn
from calc.errors import ScenarioError
from calc.planning.speed_up import SpeedUp, payback_days, speed_up_steps
from calc.units import DAY_S, HOUR_S, show_count, show_dollars, show_number

LEAST_S, MOST_S, MOST_PRICE = 0.001, 10_000_000, 100_000_000

INPUTS = (
    Amount(
        "before_s", "Time before", "Seconds that one page, text or request takes.", "30", least=LEAST_S, most=MOST_S
    ),
    Amount(
        "after_s", "Time after", "Seconds that the same one takes on the new machine.", "4", least=LEAST_S, most=MOST_S
    ),
    Number("items", "How many a day", "Pages, texts or requests.", "1000", least=1, most=10_000_000_000),
    Amount(
        "before_per_hour",
        "An hour of the old machine",
        "In US dollars; empty if it costs nothing.",
        "",
        least=0,
        most=10**6,
    ),
    Amount(
        "after_per_hour",
        "An hour of the new machine",
        "In US dollars; empty if it costs nothing.",
        "",
        least=0,
        most=10**6,
    ),
    Amount(
        "price",
        "Price of the new machine",
        "In US dollars, to buy it; empty if it is rented.",
        "",
        least=0,
        most=MOST_PRICE,
    ),
)

PRESETS = (
    Preset("A website in 4 s in place of 30 s", {}),
    Preset("… of which there are 20 thousand a day", {"items": "20000"}),
    Preset(
        "… where the old machine costs 0.40 USD an hour, the new one 0.10 and 2,000 to buy",
        {"before_per_hour": "0.40", "after_per_hour": "0.10", "price": "2000"},
    ),
    Preset("An answer in 12 s in place of 15 s", {"before_s": "15", "after_s": "12"}),
)


def scenario(values: dict[str, object]) -> dict[str, object]:
    """Return the values; both times are needed."""
    for name in ("before_s", "after_s"):
        if name not in values:
            raise ScenarioError(name, f"must be a number of seconds from {LEAST_S} to {MOST_S:,}")
    return values


def compare(values: dict[str, object]) -> Report:
    """Return the report on two times."""
    numbers = {name: float(value) for name, value in values.items() if isinstance(value, int | float)}
    found = SpeedUp(numbers["before_s"], numbers["after_s"], whole(values, "items"))
    prices = [numbers.get(name, 0.0) for name in ("before_per_hour", "after_per_hour")]
    saved = found.saved_cost(*prices)
    price = numbers.get("price")
    return {
        "scenario": values,
        "model": {"id": None},
        "factor": found.factor,
        "reduction": found.reduction,
        "items": found.items,
        "saved_hours": found.saved_hours,
        "before": side(found, found.before_s, prices[0]),
        "after": side(found, found.after_s, prices[1]),
        "priced": any(name in numbers for name in ("before_per_hour", "after_per_hour")),
        "saved_cost": saved,
        "price": price,
        "payback_days": payback_days(price=price, saved_per_day=saved) if price else None,
        "speed": None,
        "steps": [step.as_dict() for step in speed_up_steps(found)],
        "warnings": list(warnings(found)),
    }


def side(found: SpeedUp, seconds: float, per_hour: float) -> Report:
    """Return what one of the two machines does, and what it costs."""
    hours = found.hours(seconds)
    return {
        "seconds": seconds,
        "an_hour": HOUR_S / seconds,
        "a_day": DAY_S / seconds,
        "hours": hours,
        "cost": hours * per_hour,
    }


def warnings(found: SpeedUp) -> list[Report]:
    """Return whether a day is too short for its items."""
    told = []
    for name, seconds in (("before", found.before_s), ("after", found.after_s)):
        if found.hours(seconds) > 24:
            message = f"one after another, {show_count(found.items)} take more than a day {name} the change"
            told.append(Warn(f"day-too-short-{name}", message, "items")._asdict())
    return told


def headline(report: Report) -> tuple[str, str]:
    """Return the answer in a headline and a sentence."""
    factor, share = report["factor"], report["reduction"]
    change = f"{100 * share:.1f} % less time" if share >= 0 else f"{-100 * share:.1f} % more time"
    hours = [show_number(report[name]["hours"]) for name in ("after", "before")]
    items = show_count(report["items"])
    rest = f"{items} a day take {hours[0]} hours in place of {hours[1]}."
    if report["priced"]:
        rest += f" {show_dollars(report['saved_cost'])} a day are saved."
    return f"{show_number(factor)} times as fast, {change}:", rest


def figures(report: Report) -> str:
    """Return both machines side by side."""
    rows: list[tuple[str, str, Callable[[float], str]]] = [
        ("Seconds for each", "seconds", show_number),
        ("In an hour", "an_hour", show_number),
        ("In a day without a pause", "a_day", show_number),
        (f"Hours for {show_count(report['items'])}", "hours", show_number),
    ]
    if report["priced"]:
        rows.append(("Cost of them", "cost", show_dollars))
    body = [[text(name), *(show(report[where][key]) for where in ("before", "after"))] for name, key, show in rows]
    return table(("Figure", "Before", "After"), body, caption="Before and after", class_="calc-parts")


def payback(report: Report) -> str:
    """Return when the new machine has paid for itself, as a list of facts; nothing without a price."""
    if not report["price"]:
        return ""
    days = report["payback_days"]
    if not days:
        return facts_html(["It never pays for its price: nothing is saved on a day."])
    return facts_html([f"It has paid for its price after <strong>{show_number(days)} days</strong> like this."])


def render(report: Report) -> str:
    """Return the answer's HTML."""
    assumptions = [
        "One after another: what is done several at a time, in a batch, needs a measurement of the batch.",
        "The times are means over pages like yours, measured alike on both machines.",
        "A machine costs only while it works; one that you own or rent by the month costs all day.",
    ]
    line = (None, *headline(report))
    return answer_html(line, report, facts=figures(report) + payback(report), assumptions=assumptions)


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    return (
        show_number(report["factor"]),
        f"{100 * report['reduction']:.1f} %",
        show_number(report["saved_hours"]),
    )


CALCULATOR = Calculator(
    id="speed-up",
    title="What is a speed-up worth?",
    question="How much is gained when one item takes less time?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=scenario,
    render=render,
    status=spoken(headline),
    headings=("Times as fast", "Less time", "Hours saved a day"),
    row=row,
    answer=compare,
)
