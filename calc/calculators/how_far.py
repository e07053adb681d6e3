"""How far can I push it? The most of one quantity that given devices serve: context, sequences, users, or the model."""

from calc.calculators.calculator import Calculator, Preset
from calc.calculators.html import text
from calc.calculators.inputs import Amount, Choice, Number, Report
from calc.calculators.options import (
    EACH,
    FORMAT,
    LEFT,
    NOT_KNOWN,
    devices,
    each_answer,
    model_name,
    model_of,
    option_table,
)
from calc.calculators.planned import options_of, plan_html, planned, planning, taken_out
from calc.calculators.rendering import spoken
from calc.calculators.speed import CALCULATOR as SPEED
from calc.calculators.will_it_fit import CALCULATOR as WILL_IT_FIT
from calc.scenario.fields import PUBLISHED, USUAL
from calc.units import show_count

LIMITS = (
    ("context_tokens", "Longest context"),
    ("sequences", "Most sequences at once"),
    ("users", "Most requests in the server"),
    ("model", "Largest model"),
)

INPUTS = (
    Choice("of", "The most of", "What is pushed until it no longer serves.", "context_tokens", options=LIMITS),
    Choice("accelerator", "GPU or computer", "What you have.", "rtx-4090", kind="accelerators"),
    Number("accelerators", "Number of them", "The model is divided over them.", "1", least=1, most=64),
    Choice("model", "Model", "Not asked for the largest.", "llama-3.1-8b", kind="models"),
    Choice("weights", "Number format", "Of the weights.", PUBLISHED, kind="weights"),
    Number("context_tokens", "Context", "Not asked for the longest.", "8192", least=1, most=100_000_000),
    Number("sequences", "Sequences at once", "Not asked for the most.", "1", least=1, most=1_000_000),
    Amount(
        "tokens_per_s_each",
        "At least so fast",
        "Tokens a second for each; empty for any.",
        "",
        least=0,
        most=100_000,
        topic="Speed and engine",
    ),
    Amount(
        "ttft_s",
        "First word within",
        "Seconds; of requests it is needed.",
        "5",
        least=0,
        most=100_000,
        topic="Speed and engine",
    ),
    Choice("engine", "Engine", "Which program runs it.", USUAL, kind="usual-engines", topic="Speed and engine"),
)

PRESETS = (
    Preset("The longest context of Llama 3.1 8B on an RTX 4090", {}),
    Preset("The most conversations on it, in 4 bit", {"of": "sequences", "weights": "q4_k_m"}),
    Preset("The most requests that an H100 answers in time", {"of": "users", "accelerator": "h100-sxm-80gb"}),
    Preset(
        "The largest model on a Mac with 64 GB",
        {"of": "model", "accelerator": "m4-max-64gb", "tokens_per_s_each": "10"},
    ),
)


def question(read: dict[str, object]) -> dict[str, object]:
    """Return the question that a form asks, without what is pushed."""
    have = taken_out(read, ("accelerator", "accelerators"))
    of = str(read["of"])
    need = taken_out(read, ("tokens_per_s_each",))
    first = taken_out(read, ("ttft_s",))
    if of == "users":
        need |= first
        read.pop("sequences")
    if of == "model":
        read |= {"models": "any", "weights": "any"}
        read.pop("model")
    else:
        read.pop(of, None)
    return {"want": "limit", "have": have, "need": need, **read}


def reached(report: Report) -> str:
    """Return the most of the quantity, with its unit."""
    of, scenario = report["question"]["of"], options_of(report)[0]["scenario"]
    if of == "model":
        return model_name(scenario)
    if of == "context_tokens":
        return f"{show_count(report['scenario']['context_tokens'])} tokens"
    many = scenario["concurrency"] if of == "users" else report["scenario"]["sequences"]
    return f"{show_count(many)} {'requests' if of == 'users' else 'sequences'}"


def headline(report: Report) -> tuple[bool | None, str, str]:
    """Return the most, or that nothing serves."""
    place, words = devices(report["question"]["have"]), dict(LIMITS)[report["question"]["of"]]
    if not options_of(report):
        return False, f"Nothing serves on {place}.", "What is in the way stands below."
    first = options_of(report)[0]
    return True, f"{words} on {place}: {reached(report)}.", f"Each answer is then written at {each_answer(first)}."


def render(report: Report) -> str:
    """Return the answer's HTML."""
    columns = (FORMAT, EACH, LEFT)
    caption = f"As far as {devices(report['question']['have'])} goes"
    listed = ""
    if options_of(report):
        opens = SPEED if report["question"]["of"] == "users" else WILL_IT_FIT
        listed = option_table(options_of(report), "Model", model_of, opens, columns=columns, caption=caption)
    return plan_html(headline(report), report, listed, ASSUMPTIONS)


ASSUMPTIONS = [
    "More of the quantity never serves better: the most is halved in upon.",
    "At the very edge a case is tight: leave room for what is not computed.",
]


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    listed = options_of(report)
    return (text(reached(report)), each_answer(listed[0])) if listed else ("none", NOT_KNOWN)


CALCULATOR = Calculator(
    id="how-far",
    title="How far can I push it?",
    question="What is the most that these devices serve: context, sequences, requests, or the model?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=question,
    render=render,
    status=spoken(headline),
    headings=("The most", "Each answer"),
    row=row,
    answer=planned,
    steps=planning,
)
