"""What the planner's forms share: an answer as a report, its options as a table and a plot, and why not others."""

from collections.abc import Callable, Sequence
from typing import Any

from calc.calculators.calculator import Calculator
from calc.calculators.html import element, text
from calc.calculators.inputs import Amount, Choice, Number, Report, whole_if
from calc.calculators.options import NOT_KNOWN, address, amount, cost_words, devices, fleet, nearest_miss
from calc.calculators.rendering import Verdict, answer_html, details
from calc.calculators.scatter import Point, scatter_html
from calc.catalog import catalog
from calc.catalog.choices import VENDORS
from calc.estimate import estimate
from calc.planner.answer import answering
from calc.planner.question import MOST_DEVICES
from calc.planner.steps import Steps, finished
from calc.units import show_count

SEGMENTS = (
    ("data-center", "Data centre"),
    ("workstation", "Workstation"),
    ("consumer", "Consumer"),
    ("soc", "With memory shared by a whole computer"),
    ("cloud", "In a cloud alone"),
)
PAID = (("rent", "Rent"), ("buy", "To buy"))
REASONS = {
    "memory": "It does not fit",
    "tight": "It is likely to fit, and not certain",
    "speed": "It is too slow",
    "load": "It answers too few at a time",
    "runs": "It does not run",
    "engine": "No engine runs it there",
    "context": "It is made for shorter texts",
    "layout": "It cannot be divided so",
    "field": "It has not what was asked for",
    "price": "Its price is not known, or too high",
    "rent": "Its rent is not known, or too high",
    "power": "It draws too much",
}


def maker(topic: str) -> Choice:
    """Return the input of the makers whose devices are tried."""
    options = tuple((vendor, vendor) for vendor in VENDORS)
    return Choice("vendor", "Maker", "Of the devices that are tried.", "", options=options, empty="Any", topic=topic)


def segment(topic: str) -> Choice:
    """Return the input of what devices are made for."""
    return Choice(
        "segment", "Made for", "Where makers mean them to stand.", "", options=SEGMENTS, empty="Anything", topic=topic
    )


def pay(topic: str) -> Choice:
    """Return the input of whether devices are rented or bought."""
    help_ = "Cost is the rent of a month, or the price."
    return Choice("pay", "Pay by", help_, "", options=PAID, empty="Rent", topic=topic)


def dollars(name: str, label: str, topic: str) -> Amount:
    """Return the input of the most that may be spent."""
    return Amount(name, label, "US dollars; empty for any.", "", least=0, most=10**9, topic=topic)


def most_devices(topic: str, many: str = "8") -> Number:
    """Return the input of how many devices of a kind are tried."""
    help_ = "Kinds of which it takes more are left out."
    return Number("devices", "Most GPUs", help_, many, least=1, most=64, topic=topic)


def most_servers(topic: str) -> Amount:
    """Return the input of how many servers may share a load."""
    help_ = "Each is a computer of its own; empty for as many as it takes."
    return Amount("servers", "Most servers", help_, "", least=1, most=MOST_DEVICES, topic=topic)


def shown_count(topic: str, many: str = "10") -> Number:
    """Return the input of how many options are listed."""
    return Number("count", "Show", "Options, best first.", many, least=1, most=100, topic=topic)


def other_device(topic: str = "") -> Choice:
    """Return the input of a device that is asked for beside the list."""
    help_ = "What a device lacks that is not in the list."
    return Choice("why_not", "Why not …?", help_, "", kind="accelerators", empty="None", topic=topic)


def taken_out(read: dict[str, object], names: Sequence[str]) -> dict[str, object]:
    """Return those of a form's values, which are then no longer in it."""
    return {name: read.pop(name) for name in names if name in read}


def limited(read: dict[str, object], names: Sequence[str]) -> dict[str, object]:
    """Return a question's limits of a form's values: makers and segments, money, power, rent or purchase."""
    limits = taken_out(read, names)
    for name in ("vendor", "segment"):
        if name in limits:
            limits[f"{name}s"] = [limits.pop(name)]
    if "servers" in limits:
        limits["servers"] = whole_if(limits["servers"])
    if pay := limits.pop("pay", None):
        limits[str(pay)] = True
    return limits


def planned(question: dict[str, object]) -> Report:
    """Return the planner's answer with the report on its first option, whose working a reader can follow."""
    return finished(planning(question))


def planning(question: dict[str, object]) -> Steps[Report]:
    """Look for the same, a candidate a step; beside it what stands against a device that was asked for."""
    other = question.pop("why_not", None)
    asked = {name: value for name, value in question.items() if value not in ({}, None)}
    said = (yield from instead(asked, str(other))) if other else ""  # first: a name that is none is refused at once
    found: Any = yield from answering(asked)
    first: Any = estimate(found["options"][0]["scenario"]) if found["options"] else None
    plan = {"question": question, "plan": found, "warnings": found["warnings"], "other": said}
    whole = {**(first or nothing(question)), **plan}
    return {**whole, "steps": [*whole["steps"], *(found["options"][0]["steps"] if first else [])]}


def instead(asked: dict[str, Any], other: str) -> Steps[str]:
    """Look for the best that a device does that was asked for, or for what is in its way, and say it."""
    kept = {name: value for name, value in asked.get("limits", {}).items() if name not in ("vendors", "segments")}
    found: Any = yield from answering({**asked, "limits": {**kept, "accelerators": [other]}, "count": 1})
    name = catalog().accelerator(other).name
    if found["options"]:
        return text(f"{name}: {fleet(found['options'][0])} would do. {found['options'][0]['why']}.")
    reasons = (said_of(reason, entry) for reason, entry in found["rejected"].items())
    return f"{text(name)}: {' '.join(f'{text(said)}.' for said in reasons) or text('nothing was tried.')}"


def nothing(question: dict[str, object]) -> Report:
    """Return what a report has to say where there is no option: the model that was asked about, if it is one."""
    model = question.get("model")
    known: Report = estimate({"model": model}) if model else {"model": {"id": None}}
    return {"steps": [], "scenario": {"model": model}, "model": known["model"], "speed": None}


def so_fast(many: str = "", more: str = "") -> Amount:
    """Return the input of how fast each answer has to be at least, with what is said of it beside."""
    help_ = f"Tokens a second for each reader; empty for any.{more}"
    return Amount("tokens_per_s_each", "At least so fast", help_, many, least=0, most=100_000)


def first_cells(report: Report, *cells: Callable[[Any], str]) -> tuple[str, ...]:
    """Return the cells of the table of presets: of the first option, or that there is none."""
    listed = options_of(report)
    return tuple(cell(listed[0]) for cell in cells) if listed else ("none", *[NOT_KNOWN] * (len(cells) - 1))


def options_of(report: Report) -> list[Any]:
    """Return the options of a report."""
    listed: list[Any] = report["plan"]["options"]
    return listed


def rows_of(plan: Any) -> list[Any]:
    """Return the options of a plan, last what may fit and would come first, where it is none of them."""
    listed, likely = plan["options"], plan["likely"]
    scenarios = [option["scenario"] for option in listed]
    return [*listed, likely] if likely and likely["scenario"] not in scenarios else listed


def likely_words(plan: Any, *fields: str) -> str:
    """Return in a sentence what may fit for less than the first option, with its cost; empty where nothing does."""
    option = plan["likely"]
    if option is None:
        return ""
    fits = f"it fits with a chance of {int(100 * option['chance'])} %"
    return f"{fleet(option)} would likely do too, {cost_words(option, *fields)}: {fits}."


def paid(report: Report) -> tuple[str, str]:
    """Return what a question's cost is, in words and as a field of an option's costs."""
    bought = report["question"]["limits"].get("buy")
    return ("To buy", "purchase") if bought else ("Rent of a month", "rent_per_month")


def plot(report: Report, name: Callable[[Any], str], opens: Calculator, *, cost: str, words: str) -> str:
    """Return the options as points of cost against speed, those that no other beats joined."""
    points = []
    for place, option in enumerate(options_of(report)):
        spent, fast = amount(option["cost"], cost), amount(option["speed"] or {}, "decode_tokens_per_s")
        href = address(opens, option)
        if spent and fast and href:
            best = place in report["plan"]["frontier"]
            points.append(Point(cost=spent, speed=fast, name=name(option), address=href, best=best))
    return scatter_html(points, words) if len(points) > 1 else ""


def why_not(report: Report) -> str:
    """Return what was left out and why, each with its nearest miss."""
    items = []
    for reason, entry in report["plan"]["rejected"].items():
        items.append(element("li", text(said_of(reason, entry) + ".")))
    return details("What was left out, and why", "why-not", element("ul", "".join(items))) if items else ""


def said_of(reason: str, entry: dict[str, Any]) -> str:
    """Return how many ways a reason stands against, with the nearest of them."""
    nearest = f". The nearest is {nearest_miss(entry['nearest'])}" if entry["nearest"] else ""
    return f"{REASONS[reason]}: {show_count(entry['count'])}{nearest}"


def plan_html(verdict: Verdict, report: Report, listed: str, assumptions: Sequence[str]) -> str:
    """Return a plan's whole answer; its working is that of the first option."""
    tried = report["plan"]["searched"]["candidates"]
    counted = element("p", text(f"{show_count(tried)} ways were looked at."), class_="calc-help")
    working = f"The working is that of the first option: {devices(options_of(report)[0]['scenario'])}" if listed else ""
    said = [*assumptions, *([text(working + ".")] if working else [])]
    other = element("p", report["other"]) if report["other"] else ""
    return answer_html(verdict, report, facts=other + listed + why_not(report) + counted, assumptions=said)
