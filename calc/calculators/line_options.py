"""Options of the planner for a question in one line, as a table whose rows lead to the calculators."""

from typing import Any

from calc.calculators.html import element, table, text
from calc.calculators.line_link import address_of, form_values, link_to
from calc.calculators.rendering import format_words, verdict_html
from calc.calculators.will_it_fit import CALCULATOR as WILL_IT_FIT
from calc.catalog import catalog
from calc.estimate import estimate
from calc.lines.settling import settled_question
from calc.planner.answer import answer
from calc.units import show_count, show_dollars, show_gib, show_tokens_per_s

Answered = tuple[str, str, dict[str, object]]  # HTML, the same in a sentence, and what was settled
MOST_OF = {"context_tokens": "The longest context", "sequences": "The most sequences at once"}
LISTED = 10
NO_MORE = 3  # nearest misses that are named


def answered(reading: Any) -> Answered:
    """Return the planner's answer to a line's question."""
    question, weights = settled_question(reading["question"])
    found: Any = answer({**question, "count": 1 if question["want"] == "limit" else LISTED})
    settled = {} if weights is None else {"weights": weights}
    if not found["options"]:
        return *nothing(found), settled
    if question["want"] == "limit":
        return *most(question, found["options"][0]), settled
    return *(models(found) if question["want"] == "models" else hardware(question, found)), settled


def nothing(found: Any) -> tuple[str, str]:
    """Return that nothing serves, and the nearest misses."""
    misses = [
        f"{name_of(entry['nearest']['scenario'])}: {entry['nearest']['lacks']}"
        for entry in found["rejected"].values()
        if entry["nearest"]
    ]
    said = "; ".join(misses[:NO_MORE]) or "nothing was found that could be tried"
    return verdict_html(False, "Nothing fits. The nearest:", f"{said}."), f"Nothing fits. The nearest: {said}."


def name_of(scenario: Any) -> str:
    """Return the model and the devices of a scenario in words."""
    device = catalog().accelerator(scenario["accelerator"]).name
    count = scenario.get("accelerators", 1)
    place = f"{count} × {device}" if count > 1 else device
    return f"{model_name(scenario['model'])} ({format_words(scenario.get('weights', 'published'))}) on {place}"


def model_name(model: object) -> str:
    """Return a model's name."""
    return catalog().model(model).name if isinstance(model, str) else "the model"


def most(question: Any, option: Any) -> tuple[str, str]:
    """Return the most of a quantity, with the calculator's answer to the scenario that has it."""
    scenario, of = option["scenario"], question["of"]
    unit = "tokens" if of == "context_tokens" else "sequences"
    values = form_values(WILL_IT_FIT, scenario)
    report = WILL_IT_FIT.report(values)
    said = f"{show_count(report['scenario'][of])} {unit}"
    verdict = verdict_html(None, f"{MOST_OF[of]}: {said}.", f"{name_of(scenario)}.")
    html = verdict + link_to(WILL_IT_FIT, values, "Will it fit? Every field") + WILL_IT_FIT.render(report)
    return html, f"{MOST_OF[of]}: {said}. {name_of(scenario)}."


def models(found: Any) -> tuple[str, str]:
    """Return what runs, the largest first."""
    first = found["options"][0]["scenario"]
    name, weights = model_name(first["model"]), format_words(first.get("weights", "published"))
    headline = f"The largest that runs is {name} in {weights}."
    rest = "Smaller ones run too, faster and with more room. Models of the last two years are tried."
    rows = [
        [linked(option, model_name(option["scenario"]["model"])), *cells(option), spare(option)]
        for option in found["options"]
    ]
    headings = ("Model", "Format", "Each answer", "Left on each GPU")
    listed = table(headings, rows, caption="What runs, the largest first", words=(0, 1), class_="calc-parts")
    return verdict_html(True, headline, rest) + listed, f"{headline} {len(rows)} are listed."


def hardware(question: Any, found: Any) -> tuple[str, str]:
    """Return what a model needs, and which devices have it, the cheapest first."""
    first = found["options"][0]["scenario"]
    headline = f"The cheapest that serves is {devices(first)}."
    rest = f"{needs(question, found)} {tight(found['options'][0])}".strip()
    bought = bool(question.get("limits", {}).get("buy"))
    rows = [
        [linked(option, devices(option["scenario"])), *cells(option), spare(option), price(option, bought=bought)]
        for option in found["options"]
    ]
    headings = ("Devices", "Format", "Each answer", "Left on each GPU", "To buy" if bought else "Rent, an hour")
    caption = (
        "What serves, the cheapest first: prices of the catalogue, with their days on the page Machines and prices"
    )
    listed = table(headings, rows, caption=caption, words=(0, 1), class_="calc-parts")
    return verdict_html(True, headline, rest) + listed, f"{headline} {rest}"


def needs(question: Any, found: Any) -> str:
    """Return what a model takes in the formats of the options, without an engine."""
    formats = dict.fromkeys(
        ["published", *(option["scenario"].get("weights", "published") for option in found["options"])]
    )
    asked = {
        name: question[name] for name in ("model", "kv_cache", "context_tokens", "prompt_tokens") if name in question
    }
    asked["sequences"] = question.get("need", {}).get("users", 1)
    sizes = []
    for weights in formats:
        report: Any = estimate({**asked, "weights": weights})
        sizes.append(f"{show_gib(report['memory']['device_bytes'])} {said_format(str(weights))}")
    tokens = show_count(report["scenario"]["context_tokens"])
    times = f"{show_count(asked['sequences'])} × " if asked["sequences"] > 1 else ""
    return f"{model_name(question['model'])} with {times}{tokens} tokens takes {', '.join(sizes)}, without an engine."


def said_format(weights: str) -> str:
    """Return a number format as it stands in a sentence."""
    return "as published" if weights == "published" else f"in {format_words(weights)}"


def tight(option: Any) -> str:
    """Return that an option is likely to fit, and not certain; empty where it is."""
    return f"It is {option['why'].partition('; ')[2]}." if "tight" in option["why"] else ""


def devices(scenario: Any) -> str:
    """Return how many devices of which kind a scenario has."""
    return f"{scenario.get('accelerators', 1)} × {catalog().accelerator(scenario['accelerator']).name}"


def linked(option: Any, label: str) -> str:
    """Return a row's heading, which leads to the calculator with its scenario."""
    return element("a", text(label), href=address_of(WILL_IT_FIT, form_values(WILL_IT_FIT, option["scenario"])))


def cells(option: Any) -> list[str]:
    """Return an option's format and how fast each answer is written."""
    speed = option["speed"] or {}
    each = speed.get("time_per_output_token_s")
    weights = text(format_words(option["scenario"].get("weights", "published")))
    return [weights, show_tokens_per_s(1 / each["typical"]) if each else "–"]


def spare(option: Any) -> str:
    """Return what an option leaves on the fullest device."""
    return show_gib(option["margin_bytes"])


def price(option: Any, *, bought: bool) -> str:
    """Return what an option's devices cost."""
    cost = option["cost"]["purchase" if bought else "rent_per_hour"]
    return "not known" if cost is None else show_dollars(cost)
