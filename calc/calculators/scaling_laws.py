"""Scaling laws: which size and how many tokens spend a training budget best, how long it takes and what it costs."""

from calc.calculators.calculator import Calculator, Preset
from calc.calculators.html import element, table, text
from calc.calculators.inputs import Amount, Choice, Number, Report
from calc.calculators.rendering import answer_html, spoken
from calc.planning.scaling import scaling_report
from calc.units import show_count, show_large_count, show_number, show_power

LAWS = (
    ("besiroglu-2024", "Chinchilla, fitted again (Besiroglu et al. 2024)"),
    ("hoffmann-2022-frontier", "Chinchilla, approach 1 (Hoffmann et al. 2022)"),
    ("hoffmann-2022", "Chinchilla, approach 3 (Hoffmann et al. 2022)"),
    ("kaplan-2020", "Kaplan et al. 2020"),
)

INPUTS = (
    Choice(
        "given",
        "What is given",
        "A run has a size, below, and its tokens.",
        "zettaflop",
        options=(
            ("zettaflop", "Operations, in 10^21 FLOP"),
            ("pf-days", "Operations, in PF-days"),
            ("device-hours", "Hours of a GPU"),
            ("money", "US dollars of rent"),
            ("parameters", "A size, in billions of parameters"),
            ("run", "A run, in billions of tokens"),
        ),
    ),
    Amount("amount", "How much", "Of what is given.", "576", least=1e-9, most=1e12),
    Amount(
        "parameters",
        "A size of your own",
        "In billions of parameters; compared with the best. May stay empty.",
        "",
        least=1e-6,
        most=1e6,
    ),
    Choice(
        "law",
        "Law of the working",
        "The table has all of them.",
        "besiroglu-2024",
        options=LAWS,
        topic="Law and machine",
    ),
    Choice(
        "accelerator",
        "GPU",
        "Its dense 16-bit rate and its power count.",
        "h100-sxm-80gb",
        kind="accelerators",
        topic="Law and machine",
    ),
    Number(
        "accelerators",
        "Number of GPUs",
        "They share the work.",
        "1024",
        least=1,
        most=1_000_000,
        topic="Law and machine",
    ),
    Amount(
        "utilization",
        "Share of the peak",
        "Between 0 and 1. Empty: the usual one of large runs.",
        "",
        least=0.001,
        most=1,
        topic="Law and machine",
    ),
    Amount(
        "usage",
        "Power usage effectiveness",
        "What the building draws over what the GPUs draw.",
        "1.2",
        least=1,
        most=3,
        topic="Law and machine",
    ),
    Amount(
        "price_per_hour",
        "Price of a GPU for an hour",
        "In US dollars. Empty: the catalogue's rent.",
        "",
        least=0.001,
        most=1e6,
        topic="Law and machine",
    ),
)

PRESETS = (
    Preset("Gopher's budget, which trained Chinchilla", {"parameters": "280"}),
    Preset(
        "GPT-3: 175 billion parameters, 300 billion tokens",
        {"given": "run", "amount": "300", "parameters": "174.6", "accelerator": "v100-sxm-32gb"},
    ),
    Preset("Llama 3.1 8B: far more tokens than the best", {"given": "run", "amount": "15000", "parameters": "8.03"}),
    Preset("Llama 3.1 405B", {"given": "run", "amount": "15600", "parameters": "405.85", "accelerators": "16384"}),
    Preset("A week on eight H100", {"given": "device-hours", "amount": "1344", "accelerators": "8"}),
    Preset("A hundred thousand dollars", {"given": "money", "amount": "100000", "accelerators": "64"}),
)


def chosen(report: Report) -> Report:
    """Return the answer of the law that the working follows."""
    found: Report = next(answer for answer in report["laws"] if answer["id"] == report["scenario"]["law"])
    return found


def size(parameters: float) -> str:
    """Return a number of parameters or tokens in words."""
    return show_large_count(parameters) if parameters < 1e15 else show_power(parameters)


def headline(report: Report) -> tuple[str, str]:
    """Return the answer in a headline and a sentence."""
    best, run = chosen(report), report["run"]
    first = f"{size(best['parameters'])} parameters and {size(best['tokens'])} tokens"
    on = f"{show_count(report['scenario']['accelerators'])} GPUs"
    return (
        first,
        f"spend {show_power(report['flops'])} FLOP best by {best['name']}: {show_number(run['days'])} days on {on}.",
    )


def laws_html(report: Report) -> str:
    """Return the laws side by side, and what a size of one's own does by each."""
    rows = [
        [
            text(answer["name"]),
            text(answer["counted"]),
            size(answer["parameters"]),
            size(answer["tokens"]),
            show_number(answer["tokens_per_parameter"]),
            "–" if answer["loss"] is None else f"{answer['loss']:.3f}",
        ]
        for answer in report["laws"]
    ]
    headings = ("Law", "N counts", "Parameters", "Tokens", "Tokens per parameter", "Loss")
    found = table(headings, rows, caption="The best size by each law", words=2)
    own = [(answer["name"], answer["own"]) for answer in report["laws"] if answer["own"]]
    if not own:
        return found
    compared = [
        [
            text(name),
            size(mine["tokens"]),
            show_number(mine["tokens_per_parameter"]),
            "–" if mine["loss"] is None else f"{mine['loss']:.3f}",
            "–" if mine["wasted_share"] is None else f"{100 * mine['wasted_share']:.0f} %",
        ]
        for name, mine in own
    ]
    caption = f"{size(own[0][1]['parameters'])} parameters with the same operations"
    columns = ("Law", "Tokens", "Tokens per parameter", "Loss", "Operations that the best size would save")
    return found + table(columns, compared, caption=caption)


def run_html(report: Report) -> str:
    """Return what the run takes on the devices."""
    run, price = report["run"], report["price"]
    rows = [
        ["GPU-hours", show_count(run["device_hours"])],
        ["Days", show_number(run["days"])],
    ]
    if run["energy_kwh"] is not None:
        rows.append(["Energy, with the building", f"{show_count(run['energy_kwh'])} kWh"])
    if run["rent"] is not None:
        rows.append(
            [
                f"Rent at {price['each']:g} {text(price['currency'])} an hour",
                f"{show_count(run['rent'])} {text(price['currency'])}",
            ]
        )
    return table(("The run", "It takes"), rows, caption="On these GPUs", class_="calc-run")


def assumptions(report: Report) -> list[str]:
    """Return what the answer takes for granted."""
    scenario, price = report["scenario"], report["price"]
    share = f"{100 * scenario['utilization']:.0f} %"
    found = [
        "A run takes 6 operations for each parameter and token. Attention adds a few per cent at usual lengths.",
        f"The GPUs reach {share} of their dense 16-bit rate over the whole time, pauses included.",
        "A loss is comparable within one law: each was measured on its own text with its own tokenizer.",
        "GPUs draw what their boards may draw at most.",
    ]
    if price and price["date"]:
        found.append(f"The rent is {text(price['seller'])}'s ({text(price['kind'])}), asked on {price['date']}.")
    return found


def render(report: Report) -> str:
    """Return the answer's HTML."""
    line = (None, *headline(report))
    facts = laws_html(report) + element("div", run_html(report))
    return answer_html(line, report, facts=facts, assumptions=assumptions(report))


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    best = chosen(report)
    return (
        show_power(report["flops"]),
        size(best["parameters"]),
        size(best["tokens"]),
        show_count(report["run"]["device_hours"]),
    )


CALCULATOR = Calculator(
    id="scaling-laws",
    title="Scaling laws",
    question="Which size and how many tokens spend a training budget best, and what does the run take?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=dict,
    render=render,
    status=spoken(headline),
    headings=("FLOP", "Best size", "Tokens", "GPU-hours"),
    row=row,
    answer=scaling_report,
)
