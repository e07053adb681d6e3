"""Plan a fine-tune: which method on which devices trains a model, in what time and for how much."""

from calc.calculators.calculator import Calculator, Preset
from calc.calculators.fine_tune import CALCULATOR as FINE_TUNE
from calc.calculators.html import ROOT, text
from calc.calculators.inputs import Amount, Choice, Number, Report
from calc.calculators.options import (
    LEFT,
    NOT_KNOWN,
    amount,
    cost_words,
    fleet,
    found_first,
    model_name,
    money,
    money_column,
    option_table,
    ordered,
)
from calc.calculators.planned import (
    dollars,
    first_cells,
    limited,
    maker,
    most_devices,
    options_of,
    other_device,
    plan_html,
    planned,
    planning,
    segment,
    shown_count,
    taken_out,
)
from calc.calculators.rendering import Verdict, spoken
from calc.calculators.training_inputs import FRAMEWORK
from calc.scenario.fields import USUAL_FRAMEWORK
from calc.units import show_seconds

RANKS = (("cost", "Least rent"), ("speed", "Soonest done"), ("energy", "Least energy"), ("devices", "Fewest devices"))
METHODS = (("qlora", "QLoRA"), ("lora", "LoRA"), ("full", "Full training"))

INPUTS = (
    Choice("model", "Model", "The parameters follow from its config.json.", "qwen3-32b", kind="models"),
    Choice("method", "Method", "What is trained.", "", options=METHODS, empty="Each of them"),
    FRAMEWORK._replace(default=USUAL_FRAMEWORK, topic="", empty="Not stated: any, of which little is sure"),
    Number("sequence_tokens", "Length of an example", "Tokens.", "2048", least=1, most=100_000_000),
    Number(
        "training_tokens",
        "Tokens in all",
        "Of all examples, times the passes over them.",
        "10000000",
        least=1,
        most=10**15,
    ),
    Choice("rank_by", "Best first by", "What is not known comes last.", "cost", options=RANKS),
    most_devices("Which GPUs"),
    other_device("Which GPUs"),
    segment("Which GPUs"),
    maker("Which GPUs"),
    shown_count("Which GPUs"),
    Amount("days", "Done within", "Days; empty for any.", "", least=0, most=10_000, topic="Time and money"),
    dollars("price_per_run", "Rent of the run at most", "Time and money"),
)

PRESETS = (
    Preset("A 32B on ten million tokens: least rent", {}),
    Preset("… on consumer cards", {"segment": "consumer"}),
    Preset("Llama 3.1 8B, all of its parameters", {"model": "llama-3.1-8b", "method": "full"}),
    Preset("Llama 3.3 70B by QLoRA, soonest", {"model": "llama-3.3-70b", "method": "qlora", "rank_by": "speed"}),
)


def question(read: dict[str, object]) -> dict[str, object]:
    """Return the question that a form asks."""
    need = taken_out(read, ("days",))
    limits = limited(read, ("devices", "vendor", "segment", "price_per_run"))
    return {"want": "hardware", "workload": "training", "need": need, "limits": limits, **read}


def method(option: Report) -> str:
    """Return an option's method, with how its states are divided."""
    scenario = option["scenario"]
    sharding = scenario.get("sharding", "none")
    return text(dict(METHODS)[scenario["method"]] + ("" if sharding == "none" else f", {sharding}"))


def lasts(option: Report) -> str:
    """Return how long an option's run takes."""
    seconds = run_seconds(option)
    return NOT_KNOWN if seconds is None else show_seconds(seconds)


def trains_at(option: Report) -> float | None:
    """Return the tokens a second that all devices of an option train on, at its typical speed."""
    each = amount(option["speed"] or {}, "tokens_per_s_per_device")
    return each * option["scenario"].get("accelerators", 1) if each else None


def run_seconds(option: Report) -> float | None:
    """Return the typical seconds of an option's run: its tokens over those of all devices a second."""
    rate = trains_at(option)
    return option["scenario"]["training_tokens"] / rate if rate else None


def headline(report: Report) -> Verdict:
    """Return the best way to train, its time and rent."""
    listed, name = options_of(report), model_name(report["question"])
    if not listed:
        return False, f"Nothing trains {name} so.", "What is in the way stands below."
    first = listed[0]
    buys = (report["question"].get("limits") or {}).get("buy")
    rest = f"{method(first)}: {lasts(first)}, {cost_words(first, 'purchase' if buys else 'rent_per_run')}."
    return found_first(first, f"{name}: {fleet(first)}.", rest)


def listed_ways(report: Report, root: str = ROOT) -> str:
    """Return the table of what trains; empty where nothing does."""
    listed = options_of(report)
    if not listed:
        return ""
    columns = (
        ("Method", method),
        ("Time", lambda option: ordered(run_seconds(option), lasts(option))),
        money_column("Rent of the run", "rent_per_run"),
        LEFT,
        money_column("Rent, an hour", "rent_per_hour"),
    )
    caption = f"What trains {model_name(report['question'])}, best first of each method"
    return option_table(listed, "Devices", fleet, FINE_TUNE, columns=columns, caption=caption, root=root)


def render(report: Report) -> str:
    """Return the answer's HTML."""
    return plan_html(headline(report), report, listed_ways(report), ASSUMPTIONS)


ASSUMPTIONS = [
    "Sharding, checkpointing and the micro-batch are looked for: of what surely fits the fastest is taken.",
    "What the framework does by itself decides most of the memory: without one it may be what any of them does.",
    "Times are typical ones of a run without breaks; each name leads to its memory, part by part.",
    "Rent is that of the run alone: loading, trying and failing come on top.",
]


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    return first_cells(report, lambda one: text(fleet(one)), method, lambda one: text(money(one, "rent_per_run")))


CALCULATOR = Calculator(
    id="plan-fine-tune",
    title="Plan a fine-tune",
    question="Which method on which devices trains this model, in what time, and for how much?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=question,
    render=render,
    status=spoken(headline),
    headings=("The first", "Method", "Rent of the run"),
    row=row,
    answer=planned,
    steps=planning,
)
