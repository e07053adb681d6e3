"""What the planner's forms share: an answer as a report, its options as a table and a plot, and why not others."""

from collections.abc import Callable, Sequence
from typing import Any

from calc.calculators.calculator import Calculator
from calc.calculators.html import element, table, text
from calc.calculators.inputs import Amount, Choice, Number
from calc.calculators.line_link import address_of, form_values
from calc.calculators.rendering import Report, answer_html, details, format_words
from calc.calculators.scatter import Point, scatter_html
from calc.catalog import catalog
from calc.catalog.schema import VENDORS
from calc.estimate import estimate
from calc.planner.answer import answer
from calc.scenario import PUBLISHED
from calc.units import show_count, show_gib, show_number, show_tokens_per_s

ROOT = "../../"  # every page with a calculator stands two deep
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
    "speed": "It is too slow",
    "load": "It answers too few at a time",
    "runs": "It does not run",
    "engine": "No engine runs it there",
    "context": "It is made for shorter texts",
    "layout": "It cannot be divided so",
    "price": "Its price is not known, or too high",
    "rent": "Its rent is not known, or too high",
    "power": "It draws too much",
}
Column = tuple[str, Callable[[Any], str]]  # a heading, and an option's cell
NOT_KNOWN = "–"


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


def most_devices(topic: str) -> Number:
    """Return the input of how many devices of a kind are tried."""
    help_ = "Kinds of which it takes more are left out."
    return Number("devices", "Most GPUs", help_, "8", least=1, most=64, topic=topic)


def shown_count(topic: str, many: str = "10") -> Number:
    """Return the input of how many options are listed."""
    return Number("count", "Show", "Options, best first.", many, least=1, most=100, topic=topic)


def taken_out(read: dict[str, object], names: Sequence[str]) -> dict[str, object]:
    """Return those of a form's values, which are then no longer in it."""
    return {name: read.pop(name) for name in names if name in read}


def limited(read: dict[str, object], names: Sequence[str]) -> dict[str, object]:
    """Return a question's limits of a form's values: makers and segments, money, power, rent or purchase."""
    limits = taken_out(read, names)
    for name in ("vendor", "segment"):
        if name in limits:
            limits[f"{name}s"] = [limits.pop(name)]
    if pay := limits.pop("pay", None):
        limits[str(pay)] = True
    return limits


def planned(question: dict[str, object]) -> Report:
    """Return the planner's answer with the report on its first option, whose working a reader can follow."""
    found: Any = answer({name: value for name, value in question.items() if value not in ({}, None)})
    first: Any = estimate(found["options"][0]["scenario"]) if found["options"] else None
    return {**(first or nothing(question)), "question": question, "plan": found, "warnings": found["warnings"]}


def nothing(question: dict[str, object]) -> Report:
    """Return what a report has to say where there is no option: the model that was asked about, if it is one."""
    model = question.get("model")
    known: Report = estimate({"model": model}) if model else {"model": {"id": None}}
    return {"steps": [], "scenario": {"model": model}, "model": known["model"], "speed": None}


def options_of(report: Report) -> list[Any]:
    """Return the options of a report."""
    listed: list[Any] = report["plan"]["options"]
    return listed


def model_name(scenario: Any) -> str:
    """Return a scenario's model by name."""
    model = scenario["model"]
    return catalog().model(model).name if isinstance(model, str) else str(model.get("name", "Your model"))


def devices(scenario: Any, replicas: int = 1) -> str:
    """Return how many of which device a scenario has, and how many times."""
    each = f"{show_count(scenario.get('accelerators', 1))} × {catalog().accelerator(scenario['accelerator']).name}"
    return f"{show_count(replicas)} of {each}" if replicas > 1 else each


def fleet(option: Any) -> str:
    """Return an option's devices, of all its replicas."""
    return devices(option["scenario"], option["replicas"])


def model_of(option: Any) -> str:
    """Return an option's model by name."""
    return model_name(option["scenario"])


def paid(report: Report) -> tuple[str, str]:
    """Return what a question's cost is, in words and as a field of an option's costs."""
    bought = report["question"]["limits"].get("buy")
    return ("To buy", "purchase") if bought else ("Rent of a month", "rent_per_month")


def weights(option: Any) -> str:
    """Return an option's number format of the weights."""
    return text(format_words(option["scenario"].get("weights", PUBLISHED)))


def margin(option: Any) -> str:
    """Return what is left on the fullest device, and whether that is sure."""
    return show_gib(option["margin_bytes"]) + (f" {element('small', 'tight')}" if "tight" in option["why"] else "")


def each_answer(option: Any) -> str:
    """Return the tokens a second of each sequence."""
    each = (option["speed"] or {}).get("time_per_output_token_s")
    return show_tokens_per_s(1 / each["typical"]) if each else NOT_KNOWN


def money(option: Any, name: str) -> str:
    """Return an amount of an option's costs; a range has its typical one shown."""
    spent = amount(option["cost"], name)
    return NOT_KNOWN if spent is None else f"{show_number(spent)} {option['cost']['currency']}"


def power(option: Any) -> str:
    """Return what an option's boards may draw, all together."""
    drawn = (option["energy"] or {}).get("power_w")
    return f"{show_count(drawn)} W" if drawn else NOT_KNOWN


def address(calculator: Calculator, option: Any) -> str | None:
    """Return the address of a calculator that asks an option's very case; None where its form cannot ask it.

    Of requests that come it asks those that come to one replica in the busiest hour.
    """
    scenario, load = option["scenario"], option["load"]
    values = form_values(calculator, scenario)
    if not isinstance(scenario["model"], str) or ("concurrency" in scenario and "concurrency" not in values):
        return None
    if load:
        del values["concurrency"]
        values["requests_per_s"] = f"{load['requests_per_s']:.6f}".rstrip("0").rstrip(".")
    return ROOT + address_of(calculator, values)


def linked(label: str, calculator: Calculator, option: Any) -> str:
    """Return a link to a calculator with an option's case filled in, or its name alone."""
    href = address(calculator, option)
    return element("a", text(label), href=href) if href else text(label)


def option_table(
    report: Report,
    heading: str,
    name: Callable[[Any], str],
    opens: Calculator,
    *,
    columns: Sequence[Column],
    caption: str,
) -> str:
    """Return the table of options; a row's name opens a calculator with its scenario."""
    rows = [
        [linked(name(option), opens, option), *(cell(option) for _, cell in columns)] for option in options_of(report)
    ]
    headings = (heading, *(words for words, _ in columns))
    return table(headings, rows, caption=caption, words=(0, 1), class_="calc-parts calc-offers")


def plot(report: Report, name: Callable[[Any], str], opens: Calculator, *, cost: str, words: str) -> str:
    """Return the options as points of cost against speed, those that no other beats joined."""
    points = []
    for place, option in enumerate(options_of(report)):
        spent, fast = amount(option["cost"], cost), amount(option["speed"] or {}, "decode_tokens_per_s")
        href = address(opens, option)
        if spent and fast and href:
            best = place in report["plan"]["frontier"]
            points.append(Point(cost=spent, speed=fast, name=name(option), address=href, best=best))
    return scatter_html(points, words, "Tokens a second") if len(points) > 1 else ""


def amount(figures: Any, name: str) -> float | None:
    """Return a figure, or the typical one of a range."""
    found = figures.get(name)
    value: float | None = found["typical"] if isinstance(found, dict) else found
    return value


def why_not(report: Report) -> str:
    """Return what was left out and why, each with its nearest miss."""
    items = []
    for reason, entry in report["plan"]["rejected"].items():
        said = f"{REASONS[reason]}: {show_count(entry['count'])}"
        if miss := entry["nearest"]:
            scenario = miss["scenario"]
            nearest = (
                f"{model_name(scenario)} ({format_words(scenario.get('weights', 'published'))}) on {devices(scenario)}"
            )
            said += f". The nearest is {nearest}: {miss['lacks']}"
        items.append(element("li", text(said + ".")))
    return details("What was left out, and why", "why-not", element("ul", "".join(items))) if items else ""


def plan_html(verdict: tuple[bool | None, str, str], report: Report, listed: str, assumptions: Sequence[str]) -> str:
    """Return a plan's whole answer; its working is that of the first option."""
    tried = report["plan"]["searched"]["candidates"]
    counted = element("p", text(f"{show_count(tried)} ways were looked at."), class_="calc-help")
    working = f"The working is that of the first option: {devices(options_of(report)[0]['scenario'])}" if listed else ""
    said = [*assumptions, *([text(working + ".")] if working else [])]
    return answer_html(verdict, report, facts=listed + why_not(report) + counted, assumptions=said)


def spoken(headline: Callable[[Report], tuple[bool | None, str, str]]) -> Callable[[Report], str]:
    """Return what says a headline as one sentence."""

    def status(report: Report) -> str:
        _, first, rest = headline(report)
        return f"{first} {rest}"

    return status
