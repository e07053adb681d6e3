"""Numbers in prose that say how fast a model runs under an engine, each with its working and its range."""

from collections.abc import Callable
from typing import Any

from calc import estimate
from calc.calculators.html import element, table, text
from calc.catalog import catalog
from calc.performance.paces import share_left, tokens_per_s_each
from calc.performance.token_pass import TokenPass, token_pass
from calc.planning.power import limit_watts
from calc.units import show_count, show_number, show_seconds, show_times, show_tokens_per_s
from calc.validation.power_limits import limit_of
from calc.validation.power_limits import scores as limit_scores
from calc.validation.scores import by, line
from calc.validation.speculation import gains
from calc.validation.speculation import scores as speculation_scores
from macros.accuracy.page import source_names, whole_percent
from macros.inline import opening, step, steps_inline
from macros.links import calculator_link
from macros.markdown import block

__all__ = [
    "acceptance_table",
    "ceiling",
    "drafts_table",
    "faster",
    "gains_table",
    "limited_table",
    "limits_table",
    "multiplying",
    "readers_table",
    "reading",
    "speed",
    "speed_table",
    "start_table",
]

Report = dict[str, Any]
TIMED = ("s", "tokens/s", "USD", "kWh")
RATES = {"decode": "decode_tokens_per_s", "prefill": "prefill_tokens_per_s", "output": "output_tokens_per_s"}
TIMES = {"first": "time_to_first_token_s", "next": "time_per_output_token_s"}


def speed_report(scenario: dict[str, object]) -> Report:
    """Return the report on a scenario that has a speed. Raises ValueError where it has none."""
    report: Report = estimate(scenario, repairs=False)
    if not report["speed"]:
        raise ValueError("the scenario has no speed: it needs an engine, and a device whose rates are known")
    return report


def speed(what: str, **scenario: object) -> str:
    """Return a speed of a scenario, inline; a reader who presses it sees its range and the working.

    `what`: "decode", "prefill" or "output" (tokens a second of all sequences), "each" (tokens a second that one reader
    gets), "first" or "next" (seconds to the first and to each further token), "batch" (where reading weights and
    computing balance), "balance" (prefill devices for each that a scenario with pools apart has), "rent" (of a million
    output tokens).
    """
    report = speed_report(scenario)
    found = report["speed"]
    if what == "batch":
        return opening(f"{show_count(found['balanced_batch'])} sequences", working(report))
    if what == "balance":
        return opening(show_number(found["disaggregation"]["balance"], 2), working(report))
    if what == "rent":
        rent = report["cost"]["rent"]
        price, shown = rent["price"], f"{show_number(rent['per_million_output_tokens']['typical'])} USD"
        asked = f"{price['seller']}, {price['kind']}, asked on {price['date']}."
        return opening(shown, working(report) + element("span", text(asked), class_="calc-step"))
    show: Callable[[float], str] = show_tokens_per_s if what in RATES else show_seconds
    if what == "each":
        rate, show = tokens_per_s_each(found[TIMES["next"]]), show_tokens_per_s
    else:
        known = {**RATES, **TIMES}
        if what not in known:
            whats = ", ".join((*known, "each", "batch", "balance", "rent"))
            raise ValueError(f"what must be one of {whats}, not {what!r}")
        rate = found[known[what]]
    value, low, high = (rate[name] for name in ("typical", "low", "high"))
    line = f"Four of five measurements lie between {show(low)} and {show(high)}."
    return opening(show(value), element("span", text(line), class_="calc-step") + working(report))


def working(report: Report) -> str:
    """Return the steps of a report that have to do with time."""
    steps = [entry for entry in report["steps"] if entry["unit"] in TIMED]
    return element("span", steps_inline(steps))


def faster(what: str, larger: dict[str, object], smaller: dict[str, object]) -> str:
    """Return how many times a speed of one scenario is that of another, inline; `what` is a rate of `speed`."""
    first, second = (speed_report(scenario)["speed"][RATES[what]]["typical"] for scenario in (larger, smaller))
    shown = show_times(first, second)
    return opening(
        shown,
        step("How many times", r"\frac{a}{b}", f"{show_tokens_per_s(first)} / {show_tokens_per_s(second)}", shown),
    )


def readers_table(*batches: int, **scenario: object) -> str:
    """Return what sequences at once do to a speed: all together, each, the first token, and what bounds a step."""
    rows = []
    for count in batches:
        asked = {**scenario, "sequences": count}
        report = speed_report(asked)
        found = report["speed"]
        link = calculator_link("speed", show_count(count), **asked)
        rows.append(
            [
                link,
                show_tokens_per_s(found["decode_tokens_per_s"]["typical"]),
                show_tokens_per_s(tokens_per_s_each(found["time_per_output_token_s"])["typical"]),
                show_seconds(found["time_to_first_token_s"]["typical"]),
                text("memory" if found["bound_by"] == "memory" else str(found["bound_by"])),
                text("yes" if report["memory"]["fits"] else "no"),
            ]
        )
    model, device = catalog().model(str(scenario["model"])), catalog().accelerator(str(scenario["accelerator"]))
    caption = f"{model.name} on {device.name}, by sequences at once"
    headings = ("Sequences", "All together", "Each", "First token after", "A step is bound by", "Fits")
    return block(table(headings, rows, caption=caption, words=(0, 4, 5)))


def speed_table(*rows: tuple[str, dict[str, object]], caption: str = "Speed, typical") -> str:
    """Return scenarios side by side: words for each, then reading, writing, and the first token."""
    cells = []
    for words, scenario in rows:
        found = speed_report(scenario)["speed"]
        cells.append(
            [
                calculator_link("speed", words, **scenario),
                show_tokens_per_s(found["prefill_tokens_per_s"]["typical"]),
                show_tokens_per_s(found["decode_tokens_per_s"]["typical"]),
                show_tokens_per_s(tokens_per_s_each(found["time_per_output_token_s"])["typical"]),
                show_seconds(found["time_to_first_token_s"]["typical"]),
            ]
        )
    headings = ("Case", "Reads", "Writes, all together", "Writes, each", "First token after")
    return block(table(headings, cells, caption=caption, words=1))


def pass_of(model: str, weights: str, accelerator: str, tokens: int) -> TokenPass:
    """Return the pass of one token of a model in a number format, after a conversation of so many tokens."""
    report: Report = estimate(
        {"model": model, "weights": weights, "context_tokens": tokens, "accelerator": accelerator}
    )
    parts = {part["id"]: part["bytes"] for part in report["memory"]["parts"]}
    return token_pass(
        catalog().accelerator(accelerator),
        weights_bytes=parts["weights"],
        cache_bytes=parts.get("kv_cache", 0),
        parameters_active=report["model"]["parameters_active"],
    )


def reading(model: str, weights: str, accelerator: str, tokens: int = 1) -> str:
    """Return the least time to read a model's weights and a conversation's cache once, inline, with its working."""
    found = pass_of(model, weights, accelerator, tokens)
    shown, put_in = show_seconds(found.reading_s), f"{found.read_bytes:,.0f} / {found.bandwidth:.4g}"
    return opening(shown, step("Reading once", r"\frac{M}{BW}", put_in, shown))


def multiplying(model: str, accelerator: str) -> str:
    """Return the least time of one token's matrix products in 16 bit, inline, with its working."""
    found = pass_of(model, "bf16", accelerator, 1)
    shown, put_in = show_seconds(found.multiplying_s), f"{found.flops:,.0f} / {found.rate:.4g}"
    return opening(shown, step("Matrix products", r"\frac{2 N}{P}", put_in, shown))


def ceiling(model: str, weights: str, accelerator: str, tokens: int = 1) -> str:
    """Return the most tokens a second that one reader can get, inline: bandwidth over what each token reads."""
    found = pass_of(model, weights, accelerator, tokens)
    shown, put_in = show_tokens_per_s(found.most_tokens_per_s), f"{found.bandwidth:.4g} / {found.read_bytes:,.0f}"
    return opening(shown, step("At most", r"\frac{BW}{M}", put_in, shown))


METHODS = {"mtp": "its own layers", "eagle": "an EAGLE-3 head", "ngram": "the text"}


def drafts_table(*batches: int, methods: list[str], **scenario: object) -> str:
    """Return what drafts gain, by sequences at once: a column for each method, or for each model that drafts."""
    asked = [{"method": name} if name in METHODS else {"method": "draft", "model": name} for name in methods]
    rows = []
    for count in batches:
        plain = speed_report({**scenario, "sequences": count})["speed"]
        gained = [speed_report({**scenario, "sequences": count, "speculation": draft})["speed"] for draft in asked]
        cells = [f"{show_number(found['speculation']['gain'], 2)} times" for found in gained]
        each = show_tokens_per_s(tokens_per_s_each(plain["time_per_output_token_s"])["typical"])
        rows.append([calculator_link("speed", show_count(count), **scenario, sequences=count), each, *cells])
    heads = [METHODS.get(name) or catalog().model(name).name for name in methods]
    caption = "How many times as fast tokens come with three drafted in each step, by sequences at once"
    return block(table(("Sequences", "Each without", *heads), rows, caption=caption))


def acceptance_table() -> str:
    """Return the chance of a drafted token by method, with what it was measured on."""
    rows = []
    for method, name in {**METHODS, "draft": "a smaller model"}.items():
        known = catalog().coefficient(f"acceptance-{method}")
        spread = f"{known.low:g} to {known.high:g}"
        rows.append([text(name), f"{known.value:g}", spread, text(known.rows)])
    heads = ("Drafted by", "Taken", "Measured", "On")
    return block(table(heads, rows, caption="Chance of a drafted token", words=(0, 3)))


def gains_table() -> str:
    """Return measured gains of speculation beside those predicted, each source once."""
    names, rows = source_names(), []
    for source, found in gains(speculation_scores()[0]).items():
        ends = (found.measured, found.predicted)
        shown = [f"{show_number(low, 2)} to {show_number(high, 2)} times" for low, high in ends]
        link = names.get(source) or element("a", text(source.replace("_", " ")), href=found.address, rel="noopener")
        rows.append([link, show_count(found.rows), *shown, whole_percent(found.middle)])
    heads = ("Source", "Rows", "Measured", "Predicted", "Median error")
    return block(table(heads, rows, caption="Gains of speculation, by source"))


def limited_table(shares: tuple[float, ...], *devices: str, **scenario: object) -> str:
    """Return what limits of their power, in shares of it, leave of cards' speeds: of prompts, and of writing."""
    records = [catalog().accelerator(name) for name in devices]
    rows = [[whole_percent(share)] for share in shares]
    for device in records:
        asked = {**scenario, "accelerator": device.id}
        own = speed_report(asked)["speed"]
        for row, share in zip(rows, shares, strict=True):
            watts = limit_watts(share, each_w=device.quantity("power") or 0.0)
            found = speed_report({**asked, "power_limit": watts})["speed"]
            prompts, writing = (share_left(found[RATES[what]], own[RATES[what]]) for what in ("prefill", "decode"))
            row.append(calculator_link("speed", whole_percent(prompts), **asked, power_limit=watts))
            row.append(whole_percent(writing))
    heads = [f"{device.name}, {what}" for device in records for what in ("prompts", "writing")]
    return block(table(("Limit", *heads), rows, caption="Speed that a limit of power leaves"))


def limits_table() -> str:
    """Return the shares of speed that limits of power left, as measured and as computed, by source."""
    names, rows = source_names(), []
    for source, mine in by(limit_scores(), "source").items():
        limits = [limit_of(score.row) for score in mine]
        spans = [limits, [score.measured for score in mine], [score.predicted for score in mine]]
        shown = [f"{100 * min(span):.0f} to {whole_percent(max(span))}" for span in spans]
        rows.append([names[source], show_count(len(mine)), *shown, whole_percent(line(source, mine).middle)])
    heads = ("Source", "Rows", "Limits", "Speed left, measured", "Computed", "Median error")
    return block(table(heads, rows, caption="Speed under limits of power, by source"))


def start_table(*starts: tuple[str, dict[str, object]], **scenario: object) -> str:
    """Return the seconds of an engine's starts by part, side by side: words for each, and its `start`."""
    found = []
    for _, start in starts:
        report: Report = estimate({**scenario, "start": start})
        found.append(report["cold_start"])
    labels: dict[str, str] = {}
    for item in found:
        labels = {part["id"]: part["label"] for part in item["parts"]} | labels
    rows = []
    for name in ("fetching", "reading", "processes", "tracing", "compiling", "capturing", "warming"):
        seconds = [[part["seconds"] for part in item["parts"] if part["id"] == name] for item in found]
        rows.append([text(labels[name]), *(show_seconds(each[0]) if each else "–" for each in seconds)])
    rows.append([text("Until it is ready"), *(show_seconds(item["seconds"]["typical"]) for item in found)])
    return block(table(("Step", *(words for words, _ in starts)), rows, caption="Start of an engine"))
