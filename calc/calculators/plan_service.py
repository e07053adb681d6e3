"""Plan a service: people and their habits to replicas that keep their times, with what they cost and draw."""

from calc.calculators.calculator import Calculator, Preset
from calc.calculators.html import element, text
from calc.calculators.inputs import Amount, Choice, Number, Report
from calc.calculators.options import (
    EACH,
    FORMAT,
    LEFT,
    NOT_KNOWN,
    POWER,
    cost_words,
    each_answer,
    fleet,
    found_first,
    model_name,
    money,
    money_column,
    option_table,
)
from calc.calculators.planned import (
    dollars,
    likely_words,
    limited,
    maker,
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
    taken_out,
)
from calc.calculators.rendering import Verdict, facts_html, spoken
from calc.calculators.speed import CALCULATOR as SPEED
from calc.scenario.fields import USUAL
from calc.units import show_count, show_number

RANKS = (("cost", "Least cost"), ("energy", "Least energy for a token"), ("devices", "Fewest devices"))
HABITS = (
    "users",
    "requests_each_hour",
    "ttft_s",
    "tokens_per_s_each",
    "peak_over_mean",
    "percentile",
    "spare",
    "hours_a_day",
)

INPUTS = (
    Choice("model", "Model", "The parameters follow from its config.json.", "llama-3.3-70b", kind="models"),
    Choice("weights", "Number format", "Of the weights.", "", kind="weights", empty="The most that serves"),
    Number("users", "People", "Who use the service in the same hours.", "100", least=1, most=1_000_000),
    Amount(
        "requests_each_hour", "Requests an hour, each", "As a mean over the hours of use.", "10", least=0, most=100_000
    ),
    Number(
        "prompt_tokens",
        "Prompt",
        "Tokens that are read before the first is written.",
        "2048",
        least=1,
        most=100_000_000,
    ),
    Number("output_tokens", "Output", "Tokens that are written in answer.", "256", least=1, most=100_000_000),
    Amount("ttft_s", "First word within", "Seconds; empty for any.", "2", least=0, most=100_000),
    Amount(
        "tokens_per_s_each",
        "Then at least so fast",
        "Tokens a second for each; empty for any.",
        "10",
        least=0,
        most=100_000,
    ),
    Amount(
        "peak_over_mean",
        "Peak over mean",
        "How many times more come in the busiest hour.",
        "3",
        least=1,
        most=1000,
        topic="Habits",
    ),
    Amount(
        "percentile",
        "Kept for",
        "Per cent of the requests that keep the times.",
        "95",
        least=50,
        most=99.99,
        topic="Habits",
    ),
    Number("spare", "Spare replicas", "Of which so many may fail.", "0", least=0, most=100, topic="Habits"),
    Amount(
        "hours_a_day", "Hours of use a day", "For which devices are rented.", "24", least=0.1, most=24, topic="Habits"
    ),
    Choice("rank_by", "Best first by", "What is not known comes last.", "cost", options=RANKS, topic="Which GPUs"),
    other_device("Which GPUs"),
    segment("Which GPUs"),
    maker("Which GPUs"),
    most_servers("Which GPUs"),
    shown_count("Which GPUs"),
    pay("Money"),
    dollars("price_per_month", "Rent of a month at most", "Money"),
    Choice("engine", "Engine", "Which program runs it.", USUAL, kind="usual-engines", topic="Engine"),
)

PRESETS = (
    Preset("A hundred people, Llama 3.3 70B", {}),
    Preset("… in office hours", {"hours_a_day": "9"}),
    Preset("… with a spare replica", {"spare": "1"}),
    Preset("A thousand people, Llama 3.1 8B", {"model": "llama-3.1-8b", "users": "1000", "requests_each_hour": "6"}),
    Preset(
        "Twenty programmers, long prompts",
        {"users": "20", "requests_each_hour": "60", "prompt_tokens": "16384", "ttft_s": "5"},
    ),
)


def question(read: dict[str, object]) -> dict[str, object]:
    """Return the question that a form asks."""
    need = taken_out(read, HABITS)
    limits = limited(read, ("vendor", "segment", "servers", "price_per_month", "pay"))
    read.setdefault("weights", "any")
    return {"want": "hardware", "need": need, "limits": limits, **read}


def headline(report: Report) -> Verdict:
    """Return the best fleet and its rent."""
    listed, name = options_of(report), model_name(report["question"])
    if not listed:
        return False, f"Nothing serves {name} so.", "What is in the way stands below."
    first = listed[0]
    rent = cost_words(first, "rent_per_month")
    rest = f"{rent[0].upper()}{rent[1:]}; {each_answer(first)} for each reader at a busy moment."
    rest = " ".join(filter(None, (rest, likely_words(report["plan"], "rent_per_month"))))
    return found_first(first, f"{name}: {fleet(first)}.", rest)


def load_facts(report: Report) -> str:
    """Return what comes to each replica of the first option, what hosted tokens cost, and what its site emits."""
    first = options_of(report)[0]
    items = []
    if load := first["load"]:
        comes, could = show_number(load["requests_per_s"]), show_number(load["capacity_requests_per_s"])
        items.append(
            text(f"To each replica in the busiest hour: {comes} requests a second, of {could} that it could be given")
        )
        many = f"{show_number(load['mean_requests'])} on average, planned for {show_count(load['planned_requests'])}"
        items.append(text(f"Requests in a replica at a time: {many}"))
    if hosted := first["cost"]["hosted"]:
        each = f"{show_number(hosted['price'])} and {show_number(hosted['output_price'])} USD a million tokens"
        month = f": {show_count(hosted['per_month'])} USD a month" if hosted["per_month"] else ""
        items.append(text(f"By the token, from {hosted['seller']} ({hosted['date']}), {each} read and written{month}"))
    if (energy := first["energy"]) and energy["kwh_per_month"] is not None:
        site = f"{show_count(energy['kwh_per_month'])} kWh and {show_count(energy['co2_kg_per_month'])} kg CO₂ a month"
        items.append(text(f"At the boards' limit, with the site's share: {site}"))
    if month := first["cost"]["break_even_months"]:
        items.append(text(f"Buying has cost less than renting after {show_number(month)} months"))
    return facts_html(items)


def render(report: Report) -> str:
    """Return the answer's HTML."""
    spent, field = paid(report)
    columns = (
        EACH,
        money_column("Rent of a month", "rent_per_month"),
        money_column("To buy", "purchase"),
        FORMAT,
        LEFT,
        POWER,
    )
    caption = f"What serves {model_name(report['question'])} to all, best first"
    listed = ""
    if options_of(report):
        listed = load_facts(report) + option_table(
            rows_of(report["plan"]), "Devices", fleet, SPEED, columns=columns, caption=caption
        )
        listed += plot(report, fleet, SPEED, cost=field, words=f"{spent}, USD")
    return plan_html(headline(report), report, listed, ASSUMPTIONS)


ASSUMPTIONS = [
    "Requests come at random, as many as people and habits say, and share the replicas evenly.",
    "A replica is given as many as keep the times asked for, for the per cent of the requests asked for.",
    "Its times are those of a busy moment, not of the mean; a name leads to them.",
    element("a", "How a load is shared", href="../../about/plan/#how-a-load-is-shared") + " has the reasoning.",
]


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    listed = options_of(report)
    return (text(fleet(listed[0])), text(money(listed[0], "rent_per_month"))) if listed else ("none", NOT_KNOWN)


CALCULATOR = Calculator(
    id="plan-service",
    title="Plan a service",
    question="How many of which devices answer all these people in time, and what do they cost a month?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=question,
    render=render,
    status=spoken(headline),
    headings=("The first", "Rent of a month"),
    row=row,
    answer=planned,
    steps=planning,
)
