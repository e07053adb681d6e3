"""What can my money run? Devices that it buys or rents, each with the largest model that it runs."""

from calc.calculators.asked import in_format
from calc.calculators.calculator import Calculator, Preset
from calc.calculators.html import text
from calc.calculators.inputs import Amount, Choice, Number, Report
from calc.calculators.options import (
    EACH,
    FORMAT,
    LEFT,
    MODEL,
    POWER,
    cost_words,
    each_answer,
    fleet,
    found_first,
    model_of,
    money_column,
    option_table,
)
from calc.calculators.planned import (
    PAID,
    first_cells,
    limited,
    maker,
    most_devices,
    options_of,
    paid,
    plan_html,
    planned,
    planning,
    segment,
    shown_count,
    so_fast,
    taken_out,
)
from calc.calculators.rendering import Verdict, spoken
from calc.calculators.serving_inputs import cache_formats
from calc.calculators.will_it_fit import CALCULATOR as WILL_IT_FIT
from calc.catalog import catalog
from calc.planner.wanted import recent
from calc.scenario.fields import PUBLISHED, USUAL

SPENT = {"buy": "price", "rent": "price_per_month"}  # limits of a question

INPUTS = (
    Amount("money", "To spend", "US dollars: for the devices, or a month of their rent.", "2000", least=1, most=10**9),
    Choice("pay", "Pay by", "A price once, or rent each month.", "buy", options=PAID),
    so_fast("10", " People read five to ten."),
    Number("context_tokens", "Context", "Tokens of prompt and answer together.", "8192", least=1, most=100_000_000),
    Number("users", "Readers at once", "Each waits for an answer and holds a cache.", "1", least=1, most=1_000_000),
    most_devices("Which GPUs", "2"),
    segment("Which GPUs"),
    maker("Which GPUs"),
    shown_count("Which GPUs", "15"),
    Choice(
        "weights",
        "Number format",
        "Of the weights.",
        "",
        kind="weights",
        empty="The most that serves",
        topic="Format and engine",
    ),
    Choice("engine", "Engine", "Which program runs it.", USUAL, kind="usual-engines", topic="Format and engine"),
    *cache_formats("Format and engine"),
)

PRESETS = (
    Preset("Two thousand dollars", {}),
    Preset("… and room for eight cards", {"devices": "8"}),
    Preset("Five hundred, for one consumer's card", {"money": "500", "devices": "1", "segment": "consumer"}),
    Preset("Five thousand, for a computer with memory of its own", {"money": "5000", "segment": "soc"}),
    Preset("Three hundred a month of rent", {"money": "300", "pay": "rent"}),
    Preset("Three thousand a month of rent, in a server", {"money": "3000", "pay": "rent", "devices": "8"}),
)


def question(read: dict[str, object]) -> dict[str, object]:
    """Return the question that a form asks."""
    need = taken_out(read, ("users", "tokens_per_s_each"))
    limits = limited(read, ("devices", "vendor", "segment"))
    spent = taken_out(read, ("money", "pay"))
    pay = str(spent["pay"])
    limits |= {SPENT[pay]: spent["money"], pay: True}
    read.setdefault("weights", "any")
    return {"want": "hardware", "models": recent(catalog()), "need": need, "limits": limits, **read}


def headline(report: Report) -> Verdict:
    """Return the largest model that the money runs, and on what; or that it runs none."""
    listed = options_of(report)
    if not listed:
        return False, "So much money runs no model so.", "Slower answers, shorter texts or more devices would help."
    first, (_, field) = listed[0], paid(report)
    said = f"{model_of(first)} {in_format(first['scenario'].get('weights', PUBLISHED))} on {fleet(first)}."
    rest = f"The largest that it runs: {each_answer(first)} for each reader, {cost_words(first, field)}."
    return found_first(first, said, rest)


def render(report: Report) -> str:
    """Return the answer's HTML."""
    rent, bought = money_column("Rent of a month", "rent_per_month"), money_column("To buy", "purchase")
    first, other = (bought, rent) if paid(report)[1] == "purchase" else (rent, bought)
    columns = (MODEL, FORMAT, EACH, first, other, LEFT, POWER)
    caption = "What the money buys, by the largest model that it runs"
    listed = option_table(options_of(report), "Devices", fleet, WILL_IT_FIT, columns=columns, caption=caption)
    return plan_html(headline(report), report, listed if options_of(report) else "", ASSUMPTIONS)


ASSUMPTIONS = [
    "Of each kind of device the largest model that it runs, of those that came out in the last two years.",
    "The format has the most bits that fit and are fast enough, not below four.",
    "Speeds are typical ones; each name leads to the case with its range and its working.",
    "Power is what the boards may draw at most, without the machine around them.",
]


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    return first_cells(report, lambda one: text(fleet(one)), lambda one: text(model_of(one)), each_answer)


CALCULATOR = Calculator(
    id="what-budget",
    title="What can my money run?",
    question="Which devices does so much money buy or rent, and which models do they run?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=question,
    render=render,
    status=spoken(headline),
    headings=("The first", "Its largest model", "Each answer"),
    row=row,
    answer=planned,
    steps=planning,
)
