"""Options of the planner as a table: what each is, its figures, the case that its name opens, and how it is started."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from calc.calculators.asked import METHODS, device_words, format_words
from calc.calculators.calculator import Calculator
from calc.calculators.certainty import UNCOUNTED, surely
from calc.calculators.html import ROOT, element, searched, table, text
from calc.calculators.line_link import address_of, can_list, form_values
from calc.calculators.rendering import Verdict
from calc.calculators.sizes import size_gib, with_sizes
from calc.calculators.starting import launch_button
from calc.catalog import catalog
from calc.planning.cost import USED
from calc.scenario.fields import PUBLISHED
from calc.units import show_count, show_number, show_tokens_per_s

NOT_KNOWN = "–"
# What stands behind an amount of an option's costs in a sentence.
COSTS = {"purchase": "to buy", "rent_per_hour": "an hour", "rent_per_month": "a month", "rent_per_run": "of rent"}
ORIGINS = {"loaded": "converted as it loads", "reader": "to be found or made"}  # of weights that are no file yet
WORDED = ("Model", "Format", "Method")  # columns of words beside that of the names
Column = tuple[str, Callable[[Any], str]]  # a heading, and an option's cell


def model_name(scenario: Any) -> str:
    """Return a scenario's model by name."""
    model = scenario["model"]
    return catalog().model(model).name if isinstance(model, str) else str(model.get("name", "Your model"))


def devices(scenario: Any, replicas: int = 1) -> str:
    """Return how many of which device a scenario has, and how many times; its processor where that works alone."""
    if "accelerator" not in scenario:
        processor = scenario["host"].get("processor")
        return str(catalog().entries("processors")[processor]["name"]) if processor else "a processor alone"
    if isinstance(scenario["accelerator"], list):
        return device_words(scenario)
    count, name = scenario.get("accelerators", 1), catalog().accelerator(scenario["accelerator"]).name
    if replicas == 1:
        return f"{show_count(count)} × {name}"
    each = f"with one {name} each" if count == 1 else f"of {show_count(count)} × {name}"
    return f"{show_count(replicas)} servers {each}"


def format_of(scenario: Any) -> str:
    """Return a scenario's number format of the weights in words, of training its method."""
    if "method" in scenario:
        return METHODS[scenario["method"]]
    return format_words(scenario.get("weights", PUBLISHED))


def case_name(scenario: Any) -> str:
    """Return a scenario's model, format and devices in words."""
    return f"{model_name(scenario)} ({format_of(scenario)}) on {devices(scenario)}"


def fleet(option: Any) -> str:
    """Return an option's devices, of all its replicas."""
    return devices(option["scenario"], option["replicas"])


def model_of(option: Any) -> str:
    """Return an option's model by name."""
    return model_name(option["scenario"])


def amount(figures: Any, name: str) -> float | None:
    """Return a figure, or the typical one of a range."""
    found = figures.get(name)
    value: float | None = found["typical"] if isinstance(found, dict) else found
    return value


def rate(option: Any) -> float | None:
    """Return the tokens a second of each sequence."""
    step = amount(option["speed"] or {}, "time_per_output_token_s")
    return 1 / step if step else None


def each_answer(option: Any) -> str:
    """Return the tokens a second of each sequence in words."""
    found = rate(option)
    return show_tokens_per_s(found) if found else NOT_KNOWN


def money(option: Any, name: str) -> str:
    """Return an amount of an option's costs; a range has its typical one shown."""
    spent = amount(option["cost"], name)
    return NOT_KNOWN if spent is None else f"{show_number(spent)} {option['cost']['currency']}"


def weights(option: Any) -> str:
    """Return an option's number format of the weights, how one comes by it, and what of it is in the host's memory."""
    scenario, place = option["scenario"], ORIGINS.get((option["weights_from"] or {}).get("way", ""), "")
    if experts := scenario.get("experts_on_host"):
        place = f"experts of {show_count(experts)} layers on the host"
    elif layers := scenario.get("gpu_layers"):
        place = f"{show_count(layers)} layers on the GPU"
    return text(format_of(scenario)) + (f" {element('small', place)}" if place else "")


def ordered(value: float | None, words: str) -> str:
    """Return a cell that a reader can sort by its value, whatever its words, which are HTML already."""
    return NOT_KNOWN if value is None else element("data", words, value=f"{value:.6g}")


def left(option: Any) -> str:
    """Return what is left on the fullest device, and whether that is sure."""
    doubt = "" if is_sure(option) else f" {element('small', 'tight')}"
    return ordered(option["margin_bytes"], size_gib(option["margin_bytes"]) + doubt)


def is_sure(option: Any) -> bool:
    """Return whether an option surely fits; else it is tight."""
    return surely(option["chance"]) is True and option["counted"] is True


def tight(option: Any) -> str:
    """Return in a sentence how tight an option is and what makes it sure; empty where it is."""
    if surely(option["chance"]) is True:
        return "" if option["counted"] else UNCOUNTED
    why = with_sizes(option["why"].partition("; ")[2], [option["margin_bytes"]])
    return f"It is {why}."


def found_first(option: Any, headline: str, rest: str) -> Verdict:
    """Return the verdict on what was found, with the first option's doubt, and what a reader has to make for it."""
    made = ""
    if (option["weights_from"] or {}).get("way") == "reader":
        made = f"Nobody is known to publish it in {format_of(option['scenario'])}: that is to be found or made."
    return is_sure(option) or "tight", headline, " ".join(filter(None, (rest, tight(option), made)))


def drawn(option: Any) -> str:
    """Return what an option's boards may draw, all together."""
    watts = (option["energy"] or {}).get("power_w")
    return NOT_KNOWN if watts is None else ordered(watts, f"{show_count(watts)} W")


def money_column(heading: str, name: str) -> Column:
    """Return the column of an amount of the options' costs; of a purchase, whether it is second hand."""

    def cell(option: Any) -> str:
        price = option["cost"]["prices"][name] if name == "purchase" else None
        hand = f" {element('small', 'second hand')}" if price and price["kind"] == USED else ""
        return ordered(amount(option["cost"], name), text(money(option, name)) + hand)

    return heading, cell


def cost_words(option: Any, *names: str) -> str:
    """Return amounts of an option's costs in words; where none is known, that, and of a rent what buying it costs."""
    known = [f"{money(option, name)} {COSTS[name]}" for name in names if amount(option["cost"], name) is not None]
    if known or "purchase" in names:
        return ", ".join(known) or "no price of it is known"
    bought = amount(option["cost"], "purchase") is not None
    return "no rent of it is known" + (f", {cost_words(option, 'purchase')}" if bought else "")


MODEL: Column = ("Model", lambda option: text(model_of(option)))
FORMAT: Column = ("Format", weights)
EACH: Column = ("Each answer", lambda option: ordered(rate(option), each_answer(option)))
LEFT: Column = ("Left on each device", left)
POWER: Column = ("Power", drawn)


def address(calculator: Calculator, option: Any, root: str = ROOT) -> str | None:
    """Return the address of a calculator that asks an option's very case; None where its form cannot ask it.

    Of requests that come it asks those that come to one replica in the busiest hour.
    """
    scenario, load = option["scenario"], option["load"]
    values = form_values(calculator, scenario)
    if not isinstance(scenario["model"], str) or ("concurrency" in scenario and "concurrency" not in values):
        return None
    if not can_list(calculator, scenario.get("accelerator")) or scenario.get("parallelism", {}).get("expert", 1) > 1:
        return None
    if load and "concurrency" in values:  # texts that are only read are asked as passes
        del values["concurrency"]
        values["requests_per_s"] = f"{load['requests_per_s']:.6f}".rstrip("0").rstrip(".")
    return root + address_of(calculator, values)


def start_button(option: Any) -> str:
    """Return the button for the command that starts an option."""
    asked = {"scenario": option["scenario"], "replicas": option["replicas"]}
    return launch_button(json.dumps(asked, separators=(",", ":")), "Command", case_name(option["scenario"]))


def option_table(
    options: Sequence[Any],
    heading: str,
    name: Callable[[Any], str],
    opens: Calculator,
    *,
    columns: Sequence[Column],
    caption: str,
    root: str = ROOT,
) -> str:
    """Return the table of options, which a reader can sort and filter; a row's name opens its case."""
    rows = []
    for option in options:
        href = address(opens, option, root)
        named = element("a", text(name(option)), href=href) if href else text(name(option))
        rows.append([f"{named} {start_button(option)}", *(cell(option) for _, cell in columns)])
    headings = (heading, *(words for words, _ in columns))
    worded = [place for place, words in enumerate(headings) if words in (heading, *WORDED)]
    listed = table(headings, rows, caption=caption, words=worded, class_="calc-parts calc-offers")
    return searched(listed, "options")


def nearest_miss(miss: Any) -> str:
    """Return what the nearest miss of a reason is, and what it lacks, its sizes in either unit."""
    return f"{case_name(miss['scenario'])}: {with_sizes(miss['lacks'], miss['sizes_bytes'])}"
