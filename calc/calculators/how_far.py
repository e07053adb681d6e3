"""How far can I push it? The most of one quantity that given devices serve, or train: texts, requests, the model."""

from typing import Any

from calc.calculators.calculator import Calculator, Preset
from calc.calculators.fine_tune import CALCULATOR as FINE_TUNE
from calc.calculators.html import ROOT, text
from calc.calculators.inputs import Amount, Choice, Number, Report
from calc.calculators.options import (
    EACH,
    FORMAT,
    LEFT,
    NOT_KNOWN,
    devices,
    each_answer,
    found_first,
    model_name,
    model_of,
    option_table,
    ordered,
)
from calc.calculators.plan_fine_tune import METHODS, method, trains_at
from calc.calculators.planned import options_of, plan_html, planned, planning, taken_out
from calc.calculators.rendering import Verdict, spoken
from calc.calculators.speed import CALCULATOR as SPEED
from calc.calculators.training_inputs import FRAMEWORK
from calc.calculators.will_it_fit import CALCULATOR as WILL_IT_FIT
from calc.planner.offered import MOST_OWN
from calc.scenario.fields import PUBLISHED, USUAL, USUAL_FRAMEWORK
from calc.units import show_count, show_large_count, show_tokens_per_s

SERVED = (
    ("context_tokens", "Longest context"),
    ("sequences", "Most sequences at once"),
    ("users", "Most requests in the server"),
    ("model", "Largest model"),
)
TUNED = "tuned_model"  # of a form that asks for the largest of both
TRAINED = (
    (TUNED, "Largest model to train"),
    ("sequence_tokens", "Longest training sequence"),
    ("training_tokens", "Most training tokens"),
)
LIMITS = (*SERVED, *TRAINED)
TRAINING, SPEED_AND_ENGINE = "Training", "Speed and engine"
OF_SERVING = ("weights", "context_tokens", "sequences", "tokens_per_s_each", "ttft_s", "engine")
OF_TRAINING = ("method", "framework", "sequence_tokens", "days")

INPUTS = (
    Choice("of", "The most of", "What is pushed until it no longer serves.", "context_tokens", options=LIMITS),
    Choice("accelerator", "GPU or computer", "What you have.", "rtx-4090", kind="accelerators"),
    Number("accelerators", "Number of them", "The model is divided over them.", "1", least=1, most=MOST_OWN),
    Choice("model", "Model", "Not asked for the largest.", "llama-3.1-8b", kind="models"),
    Choice("weights", "Number format", "Of the weights that serve.", PUBLISHED, kind="weights"),
    Number("context_tokens", "Context", "Not asked for the longest.", "8192", least=1, most=100_000_000),
    Number("sequences", "Sequences at once", "Not asked for the most.", "1", least=1, most=1_000_000),
    Choice("method", "Method", "What is trained.", "", options=METHODS, empty="Each of them", topic=TRAINING),
    FRAMEWORK._replace(default=USUAL_FRAMEWORK, topic=TRAINING),
    Number(
        "sequence_tokens",
        "Length of an example",
        "Tokens; not asked for the longest.",
        "2048",
        least=1,
        most=100_000_000,
        topic=TRAINING,
    ),
    Amount("days", "Train for", "Days; of tokens it is needed.", "7", least=0, most=10_000, topic=TRAINING),
    Amount(
        "tokens_per_s_each",
        "At least so fast",
        "Tokens a second for each; empty for any.",
        "",
        least=0,
        most=100_000,
        topic=SPEED_AND_ENGINE,
    ),
    Amount(
        "ttft_s",
        "First word within",
        "Seconds; of requests it is needed.",
        "5",
        least=0,
        most=100_000,
        topic=SPEED_AND_ENGINE,
    ),
    Choice("engine", "Engine", "Which program runs it.", USUAL, kind="usual-engines", topic=SPEED_AND_ENGINE),
)

PRESETS = (
    Preset("The longest context of Llama 3.1 8B on an RTX 4090", {}),
    Preset("The most conversations on it, in 4 bit", {"of": "sequences", "weights": "q4_k_m"}),
    Preset("The most requests that an H100 answers in time", {"of": "users", "accelerator": "h100-sxm-80gb"}),
    Preset(
        "The largest model on a Mac with 64 GB",
        {"of": "model", "accelerator": "m4-max-64gb", "tokens_per_s_each": "10"},
    ),
    Preset("The largest model that an RTX 4090 fine-tunes", {"of": TUNED}),
    Preset(
        "The longest examples to tune a 32B on, on an H100",
        {"of": "sequence_tokens", "model": "qwen3-32b", "accelerator": "h100-sxm-80gb"},
    ),
    Preset(
        "A week of two RTX 3090 in tokens, by QLoRA",
        {"of": "training_tokens", "accelerator": "rtx-3090", "accelerators": "2", "method": "qlora"},
    ),
)


def question(read: dict[str, object]) -> dict[str, object]:
    """Return the question that a form asks, without what is pushed, and what the other workload alone has."""
    have = taken_out(read, ("accelerator", "accelerators"))
    of = str(read["of"])
    if of in dict(TRAINED):
        return {"want": "limit", "workload": "training", "have": have, **trained(read, of)}
    taken_out(read, OF_TRAINING)
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


def trained(read: dict[str, object], of: str) -> dict[str, object]:
    """Return the fields of a question about training: the largest model has no other, and tokens alone take time."""
    taken_out(read, OF_SERVING)
    need = taken_out(read, ("days",))
    if of == TUNED:
        read |= {"of": "model", "model": None, "models": "any"}
    if of == "sequence_tokens":
        del read[of]
    return {**read, "need": need if of == "training_tokens" else {}}


def trains(asked: Any) -> bool:
    """Return whether a question is about training."""
    return "workload" in asked


def words_of(asked: Any) -> str:
    """Return what a question wants the most of, in words."""
    return dict(LIMITS)[TUNED if trains(asked) and asked["of"] == "model" else asked["of"]]


def reached(asked: Any, option: Any) -> str:
    """Return the most of the quantity that an option serves or trains, with its unit."""
    of, scenario = asked["of"], option["scenario"]
    if of == "model":
        return model_name(scenario)
    if of == "context_tokens":
        return f"{show_count(scenario['prompt_tokens'] + scenario['output_tokens'])} tokens"
    if trains(asked):
        show = show_large_count if of == "training_tokens" else show_count
        return f"{show(scenario[of])} tokens"
    many = scenario["concurrency"] if of == "users" else scenario["sequences"]
    return f"{show_count(many)} {'requests' if of == 'users' else 'sequences'}"


def headline(report: Report) -> Verdict:
    """Return the most, or that nothing serves."""
    asked, listed = report["question"], options_of(report)
    place, does = devices(asked["have"]), "trains" if trains(asked) else "serves"
    if not listed:
        return False, f"Nothing {does} on {place}.", "What is in the way stands below."
    first = listed[0]
    said = f"{words_of(asked)} on {place}: {reached(asked, first)}."
    if not trains(asked):
        return found_first(first, said, f"Each answer is then written at {each_answer(first)}.")
    right, said, rest = found_first(first, said, f"By {method(first)}.")
    return right, said, " ".join([rest, *(f"{method(option)}: {reached(asked, option)}." for option in listed[1:])])


def render(report: Report) -> str:
    """Return the answer's HTML."""
    asked = report["question"]
    return plan_html(headline(report), report, listed_most(report), TRAINED_SO if trains(asked) else SERVED_SO)


def listed_most(report: Report, root: str = ROOT) -> str:
    """Return the table of what goes so far; empty where nothing does."""
    asked, listed = report["question"], options_of(report)
    if not listed:
        return ""
    caption = f"As far as {devices(asked['have'])} goes"
    if trains(asked):
        pushed = () if asked["of"] == "model" else ((words_of(asked), lambda option: text(reached(asked, option))),)
        columns, opens = (("Method", method), *pushed, TRAINS, LEFT), FINE_TUNE
    else:
        columns, opens = (FORMAT, EACH, LEFT), SPEED if asked["of"] == "users" else WILL_IT_FIT
    return option_table(listed, "Model", model_of, opens, columns=columns, caption=caption, root=root)


def trained_at(option: Any) -> str:
    """Return the tokens a second that all devices of an option train on."""
    found = trains_at(option)
    return ordered(found, show_tokens_per_s(found)) if found else NOT_KNOWN


TRAINS = ("Trains on", trained_at)
SERVED_SO = [
    "More of the quantity never serves better: the most is halved in upon.",
    "At the very edge a case is tight: leave room for what is not computed.",
]
TRAINED_SO = [
    "Sharding is looked for, and where nothing else fits, what can wait in the host's memory: that has to be there.",
    "What the framework does by itself decides most of the memory: without one it may be what any of them does.",
    "The largest model surely fits. For the longest sequence all is recomputed, and at the very edge it is tight.",
]


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    asked, listed = report["question"], options_of(report)
    if not listed:
        return "none", NOT_KNOWN
    return text(reached(asked, listed[0])), trained_at(listed[0]) if trains(asked) else each_answer(listed[0])


CALCULATOR = Calculator(
    id="how-far",
    title="How far can I push it?",
    question="What is the most that these devices serve or train: texts, requests, or the model?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=question,
    render=render,
    status=spoken(headline),
    headings=("The most", "Each answer, or all that trains"),
    row=row,
    answer=planned,
    steps=planning,
)
