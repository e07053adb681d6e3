"""What hardware for my model? Devices that hold it and are fast enough, how many of each, and what they cost."""

from calc.calculators.calculator import Calculator, Preset
from calc.calculators.html import element, text
from calc.calculators.inputs import Amount, Choice, Number, Report
from calc.calculators.options import (
    EACH,
    FORMAT,
    LEFT,
    POWER,
    amount,
    cost_words,
    each_answer,
    fleet,
    found_first,
    model_name,
    money,
    money_column,
    option_table,
    weights,
)
from calc.calculators.planned import (
    dollars,
    first_cells,
    likely_words,
    limited,
    maker,
    most_devices,
    most_servers,
    options_of,
    other_device,
    paid,
    pay,
    plan_html,
    planned,
    planning,
    plot,
    rows_of,
    segment,
    shown_count,
    so_fast,
    taken_out,
)
from calc.calculators.rendering import Verdict, spoken
from calc.calculators.serving_inputs import cache_formats
from calc.calculators.will_it_fit import CALCULATOR as WILL_IT_FIT
from calc.scenario.fields import USUAL

RANKS = (
    ("cost", "Least cost"),
    ("speed", "Tokens written a second"),
    ("latency", "Shortest wait for each token"),
    ("energy", "Least energy for a token"),
    ("devices", "Fewest devices"),
    ("margin", "Most memory left"),
)

INPUTS = (
    Choice("model", "Model", "The parameters follow from its config.json.", "llama-3.3-70b", kind="models"),
    Choice("weights", "Number format", "Of the weights.", "", kind="weights", empty="The most that serves"),
    Number("context_tokens", "Context", "Tokens of prompt and answer together.", "8192", least=1, most=100_000_000),
    Number("users", "Readers at once", "Each waits for an answer and holds a cache.", "1", least=1, most=1_000_000),
    so_fast(),
    Choice("rank_by", "Best first by", "What is not known comes last.", "cost", options=RANKS),
    other_device(),
    most_devices("Which GPUs"),
    most_servers("Which GPUs"),
    segment("Which GPUs"),
    maker("Which GPUs"),
    shown_count("Which GPUs", "15"),
    pay("Money"),
    dollars("price", "Price of all at most", "Money"),
    dollars("price_per_month", "Rent of a month at most", "Money"),
    Amount("power_w", "Power at most", "Watts of all boards; empty for any.", "", least=0, most=10**7, topic="Money"),
    Choice("engine", "Engine", "Which program runs it.", USUAL, kind="usual-engines", topic="Engine and cache"),
    *cache_formats("Engine and cache"),
)

PRESETS = (
    Preset("Llama 3.3 70B for one reader: least rent", {}),
    Preset("… on consumer cards to buy, at most two", {"segment": "consumer", "devices": "2", "pay": "buy"}),
    Preset("… where the memory is a computer's own", {"segment": "soc", "pay": "buy"}),
    Preset(
        "Five people, 128k of context, a 70B: per month",
        {"users": "5", "context_tokens": "131072", "tokens_per_s_each": "10"},
    ),
    Preset(
        "DeepSeek V3 as it is published, on 16 at most",
        {"model": "deepseek-v3", "weights": "published", "devices": "16"},
    ),
    Preset("gpt-oss 120B: fastest", {"model": "gpt-oss-120b", "rank_by": "speed"}),
    Preset("Why not an RTX 5090 for Llama 3.3 70B?", {"why_not": "rtx-5090"}),
)


def question(read: dict[str, object]) -> dict[str, object]:
    """Return the question that a form asks."""
    need = taken_out(read, ("users", "tokens_per_s_each"))
    limits = limited(read, ("devices", "servers", "vendor", "segment", "price", "price_per_month", "power_w", "pay"))
    read.setdefault("weights", "any")
    return {"want": "hardware", "need": need, "limits": limits, **read}


def headline(report: Report) -> Verdict:
    """Return the best devices, or that there are none."""
    listed, name = options_of(report), model_name(report["question"])
    if not listed:
        return False, f"Nothing serves {name} so.", "More devices, fewer bits or shorter texts would make a difference."
    first, words = listed[0], dict(RANKS)[report["question"]["rank_by"]].lower()
    field = "purchase" if paid(report)[1] == "purchase" else "rent_per_hour"
    if amount(first["cost"], field) is None:
        words = words.replace("least cost", "fewest devices")  # by which those without a price are ranked
    rest = f"{words}, {each_answer(first)} for each reader, {cost_words(first, field)}."
    rest = " ".join(filter(None, (rest[0].upper() + rest[1:], likely_words(report["plan"], field))))
    return found_first(first, f"{name}: {fleet(first)}.", rest)


def render(report: Report) -> str:
    """Return the answer's HTML."""
    price, field = paid(report)
    columns = (
        EACH,
        money_column("Rent, an hour", "rent_per_hour"),
        money_column("To buy", "purchase"),
        FORMAT,
        LEFT,
        money_column("Rent, million tokens", "per_million_output_tokens"),
        POWER,
    )
    caption = f"What serves {model_name(report['question'])}, best first"
    listed = option_table(rows_of(report["plan"]), "Devices", fleet, WILL_IT_FIT, columns=columns, caption=caption)
    drawn = plot(report, fleet, WILL_IT_FIT, cost=field, words=f"{price}, USD")
    return plan_html(headline(report), report, listed + drawn if options_of(report) else "", ASSUMPTIONS)


ASSUMPTIONS = [
    "Of each kind the fewest that serve, in the layout that its engine takes; more of them would be faster.",
    "Speeds are typical ones; each name leads to the case with its range and its working.",
    "Rent is the middle of what sellers ask: "
    + element("a", "every price with its day and source", href="../../reference/machines/"),
    "Power is what the boards may draw at most, without the machine around them.",
]


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    return first_cells(report, lambda one: text(fleet(one)), weights, lambda one: text(money(one, "rent_per_month")))


CALCULATOR = Calculator(
    id="what-hardware",
    title="What hardware for my model?",
    question="Which devices serve this model, how many of each, how fast, and for how much?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=question,
    render=render,
    status=spoken(headline),
    headings=("The first", "Format", "Rent of a month"),
    row=row,
    answer=planned,
    steps=planning,
)
