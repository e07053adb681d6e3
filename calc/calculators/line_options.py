"""Options of the planner for a question in one line, as a table whose rows lead to the calculators."""

from operator import itemgetter
from typing import Any

from calc.calculators import how_far, plan_fine_tune
from calc.calculators.asked import in_format
from calc.calculators.fine_tune import CALCULATOR as FINE_TUNE
from calc.calculators.how_far import CALCULATOR as HOW_FAR
from calc.calculators.html import ROOT, element, text
from calc.calculators.line_facts import fastest
from calc.calculators.line_link import every_field, form_values, link_to
from calc.calculators.options import (
    EACH,
    FORMAT,
    LEFT,
    MODEL,
    amount,
    case_name,
    cost_words,
    devices,
    each_answer,
    fleet,
    found_first,
    model_name,
    model_of,
    money,
    money_column,
    nearest_miss,
    option_table,
    rate,
)
from calc.calculators.planned import likely_words, rows_of
from calc.calculators.rendering import verdict_html, warnings_html
from calc.calculators.sizes import size_gib, with_sizes
from calc.calculators.will_it_fit import CALCULATOR as WILL_IT_FIT
from calc.estimate import estimate
from calc.lines.reading import LENGTHS, READ_PER_S
from calc.lines.settling import settled_question
from calc.lines.wording import BEST, CARDS, FOR_MEMORY, PERSONS, PURPOSE, RENT_OR_BUY, TASKS
from calc.planner.answer import answering as planning
from calc.planner.steps import Steps
from calc.scenario.fields import PUBLISHED
from calc.units import HOUR_S, show_count, show_large_count, show_number

HOME = ""  # addresses from the site's first page
Answered = tuple[str, str, dict[str, object]]  # HTML, the same in a sentence, and what was settled
MOST_OF = {"context_tokens": "The longest context", "sequences": "The most sequences at once"}
LISTED = 10
# Amounts of an option's costs, each with its column's heading.
RENT = (("rent_per_hour", "Rent, an hour"), ("rent_per_month", "Rent of a month"))
PURCHASE = (("purchase", "To buy"),)
GOOD_AT = "They are ranked by size: which is good at {} the guide does not know."
LEAST_RATE = 0.001  # requests a second, of which a replica serves any number up to what it could be given
NO_MORE = 3  # nearest misses that are named


def answering(reading: Any) -> Steps[Answered]:
    """Look for the planner's answer to a line's question, a way that is tried a step."""
    question, weights = settled_question(reading["question"])
    found: Any = yield from planning({**question, "count": 1 if question["want"] == "limit" else LISTED})
    settled = {} if weights is None else {"weights": weights}
    if not found["options"]:
        return *nothing(found), settled
    if question["want"] == "limit" and question.get("workload") == "training":
        made = largest(question, found) if question["of"] == "model" else longest(question["of"], found["options"][0])
        return *made, settled
    if question.get("workload") == "training":
        return *trained(question, found), settled
    if question["want"] == "limit":
        made = most(question, found["options"][0])
        people = question["of"] == "sequences" and PERSONS.search(reading["line"].lower())
        return *((yield from with_people(made, found["options"][0]["scenario"])) if people else made), settled
    purpose = PURPOSE.search(reading["line"].lower())
    note = GOOD_AT.format(purpose[0]) if purpose else ""
    if question["want"] == "models":
        which = "" if "models" in reading["question"] else ": models of the last two years"
        vectors = bool(TASKS["embeddings"].search(reading["line"].lower()))
        return *models(found, note, f"What runs, the largest first{which}", writes=not vectors), settled
    if "model" not in question:
        alone = best_card(question, reading["line"].lower())
        return *bought(question, found, note, alone=alone), settled
    line = reading["line"].lower()
    paid = owned(found["options"][0]) if RENT_OR_BUY.search(line) else ""
    return *hardware(question, found, memory=bool(FOR_MEMORY.search(line)), paid=paid), settled


def owned(option: Any) -> str:
    """Return from when on devices are cheaper bought than rented, in a sentence; empty where nobody says."""
    cost = option["cost"]
    if cost["break_even_months"] is None:
        return ""
    months = show_number(cost["break_even_months"])
    return f"Bought for {money(option, 'purchase')}, that is cheaper than rented from {months} months of such use on."


def nothing(found: Any) -> tuple[str, str]:
    """Return that nothing serves, and the nearest misses."""
    misses = [nearest_miss(entry["nearest"]) for entry in found["rejected"].values() if entry["nearest"]]
    said = "; ".join(misses[:NO_MORE]) or "nothing was found that could be tried"
    return verdict_html(False, "Nothing fits. The nearest:", f"{said}."), f"Nothing fits. The nearest: {said}."


def most(question: Any, option: Any) -> tuple[str, str]:
    """Return the most of a quantity, with the calculator's answer to the scenario that has it."""
    scenario, of = option["scenario"], question["of"]
    unit = "tokens" if of == "context_tokens" else "sequences"
    values = form_values(WILL_IT_FIT, scenario)
    report = WILL_IT_FIT.report(values)
    said = f"{show_count(report['scenario'][of])} {unit}"
    said += f" of {show_count(report['scenario']['context_tokens'])} tokens" if of == "sequences" else ""
    verdict = verdict_html(None, f"{MOST_OF[of]}: {said}.", f"{case_name(scenario)}.")
    html = verdict + link_to(WILL_IT_FIT, values, "Will it fit? Every field") + WILL_IT_FIT.render(report)
    return html, f"{MOST_OF[of]}: {said}. {case_name(scenario)}."


def with_people(made: tuple[str, str], scenario: Any) -> Steps[tuple[str, str]]:
    """Look for how many people with the habits of *Plan a service* devices serve, and say it behind an answer.

    Sequences at once are no people: most of these read, or write themselves.
    """
    from calc.calculators.plan_service import INPUTS  # few ask for people

    habits = {field.name: field.default for field in INPUTS}
    need = {name: float(habits[name]) for name in ("ttft_s", "tokens_per_s_each", "percentile")}
    lengths = {name: int(habits[name]) for name in ("prompt_tokens", "output_tokens")}
    have = {name: scenario[name] for name in ("accelerator", "accelerators", "pcie") if name in scenario}
    asked = {name: scenario[name] for name in ("model", "weights", "engine", "kv_cache") if name in scenario}
    answer: Any = yield from planning(
        {"want": "models", "have": have, **asked, **lengths, "need": {**need, "requests_per_s": LEAST_RATE}, "count": 1}
    )
    if not answer["options"] or not answer["options"][0]["load"]["capacity_requests_per_s"]:
        return made
    option, each = answer["options"][0], float(habits["requests_each_hour"]) * float(habits["peak_over_mean"])
    capacity = option["load"]["capacity_requests_per_s"] * option["replicas"]
    prompt, output = (show_count(tokens) for tokens in lengths.values())
    said = (
        f"Of people, about {show_count(int(capacity * HOUR_S / each))}: who ask {habits['requests_each_hour']} "
        f"times an hour, {habits['peak_over_mean']} times as often in the busiest one, each with {prompt} tokens and "
        f"{output} in answer, of which the first comes within {habits['ttft_s']} s and then "
        f"{habits['tokens_per_s_each']} a second."
    )
    verdict, end, rest = made[0].partition("</p>")
    return verdict + end + element("p", text(said), class_="ask-note") + rest, f"{made[1]} {said}"


def longest(of: str, option: Any) -> tuple[str, str]:
    """Return the longest sequence or the largest batch that trains, with the calculator's answer to it."""
    values = form_values(FINE_TUNE, option["scenario"])
    report = FINE_TUNE.report(values)
    why = option["why"].partition("; ")[2]
    tokens, batch = (show_count(report["scenario"][name]) for name in ("sequence_tokens", "micro_batch"))
    of_each = f"{'sequence' if batch == '1' else 'sequences'} of {tokens} tokens on each GPU"
    first = (
        f"The longest sequence: {tokens} tokens."
        if of == "sequence_tokens"
        else f"The largest batch: {batch} {of_each}."
    )
    rest = with_sizes(f"It {why if why.startswith('fits') else f'is {why}'}.", [option["margin_bytes"]])
    verdict = verdict_html(None, first, rest) + link_to(FINE_TUNE, values, every_field(FINE_TUNE))
    return verdict + FINE_TUNE.render(report).replace(f'"{ROOT}', '"'), f"{first} {rest}"


def largest(question: Any, found: Any) -> tuple[str, str]:
    """Return the largest models that devices train, by method, with a link to the form that asks for them."""
    report = {"plan": found, "question": question}
    right, first, rest = how_far.headline(report)
    values = form_values(HOW_FAR, {**question["have"], **question, "of": how_far.TUNED})
    link = link_to(HOW_FAR, values, every_field(HOW_FAR))
    shown = verdict_html(right, first, rest) + warnings_html(found["warnings"]) + link
    return shown + how_far.listed_most(report, HOME), f"{first} {rest}"


def trained(question: Any, found: Any) -> tuple[str, str]:
    """Return which devices end a training run in time, and how long it takes on them."""
    report = {"plan": found, "question": question}
    right, first, rest = plan_fine_tune.headline(report)
    said = f"{rest} That is for {show_large_count(question['training_tokens'])} tokens."
    return verdict_html(right, first, said) + plan_fine_tune.listed_ways(report, HOME), f"{first} {said}"


def models(found: Any, note: str, caption: str, *, writes: bool) -> tuple[str, str]:
    """Return what runs, the largest first."""
    listed, first = found["options"], found["options"][0]
    where, scenario = devices(first["scenario"]), first["scenario"]
    headline = f"The largest that runs on {where} is {model_name(scenario)}, {in_format(str(scenario['weights']))}."
    fast = f"It writes {each_answer(first)}." if writes else ""
    columns = (FORMAT, EACH, LEFT) if writes else (FORMAT, LEFT)
    shown = option_table(listed, "Model", model_of, WILL_IT_FIT, columns=columns, caption=caption, root=HOME)
    right, headline, fast = found_first(first, headline, fast)
    fast = " ".join(filter(None, (fast, as_one_reads(listed) if writes else "", note)))
    said = " ".join(filter(None, (headline, fast, f"{len(listed)} are listed.")))
    return verdict_html(right, headline, fast) + shown, said


def as_one_reads(listed: Any) -> str:
    """Return the largest of those listed that writes as fast as one reads, in a sentence, where the first does not."""
    quick = next((option for option in listed if (rate(option) or 0) >= READ_PER_S), None)
    if quick is None or quick is listed[0] or rate(listed[0]) is None:
        return ""
    return f"The largest that writes as fast as one reads is {model_name(quick['scenario'])}, {each_answer(quick)}."


def best_card(question: Any, line: str) -> str:
    """Return which card alone is the best for a sum and in what respect, where a line asks for one; else nothing."""
    price = question["limits"].get("price")
    return fastest(price) if price and BEST.search(line) and CARDS.search(line) else ""


def bought(question: Any, found: Any, note: str, *, alone: str) -> tuple[str, str]:
    """Return what money buys or rents, by the largest model that it runs, behind which card is the best `alone`."""
    first, scenario = found["options"][0], found["options"][0]["scenario"]
    prices = prices_of(question)
    headline = f"The largest that so much money runs is {model_name(scenario)}, {in_format(str(scenario['weights']))}."
    most = question["limits"]["devices"]
    kind = "One GPU is" if most == 1 else f"At most {show_count(most)} of a kind are"
    if alone:
        headline = f"{alone} {headline}"
    rest = f"On {fleet(first)}: {cost_words(first, *dict(prices))}. It writes {each_answer(first)}. {kind} tried."
    columns = (MODEL, FORMAT, EACH, *(money_column(heading, name) for name, heading in prices), LEFT)
    caption = "What the money buys, by the largest model that it runs: models of the last two years"
    shown = option_table(found["options"], "Devices", fleet, WILL_IT_FIT, columns=columns, caption=caption, root=HOME)
    right, headline, rest = found_first(first, headline, rest)
    rest = f"{rest} {note}".strip()
    return verdict_html(right, headline, rest) + shown, f"{headline} {rest}"


def prices_of(question: Any) -> tuple[tuple[str, str], ...]:
    """Return the amounts of what is paid: once, or as rent."""
    return PURCHASE if question.get("limits", {}).get("buy") else RENT


def hardware(question: Any, found: Any, *, memory: bool, paid: str) -> tuple[str, str]:
    """Return what a model needs, and which devices have it, the cheapest first; `memory` is what is asked for.

    `paid` says whether they are better bought than rented.
    """
    listed, prices = found["options"], prices_of(question)
    first, takes = listed[0], needs(question, found)
    best = "fastest" if question.get("rank_by") == "speed" else "cheapest"
    if best == "cheapest" and amount(first["cost"], prices[0][0]) is None:
        best = "least"  # those without a price are ranked by how many devices they are
    cheapest, runs = f"The {best} that serves is {fleet(first)}: {cost_words(first, *dict(prices))}.", runs_there(first)
    runs = " ".join(filter(None, (likely_words(found, *dict(prices)), paid, runs)))
    said = (takes, f"{cheapest} {runs}") if memory else (cheapest, f"{runs} {takes}")
    right, headline, rest = found_first(first, *said)
    caption = f"What serves, the {best} first: prices of the catalogue, with their days on the page Machines and prices"
    columns = (*(money_column(heading, name) for name, heading in prices), EACH, FORMAT, LEFT)
    shown = option_table(rows_of(found), "Devices", fleet, WILL_IT_FIT, columns=columns, caption=caption, root=HOME)
    return verdict_html(right, headline, rest) + shown, f"{headline} {rest}"


def runs_there(option: Any) -> str:
    """Return in which format an option runs and how fast it writes, in a sentence."""
    scenario = option["scenario"]
    writes = ""
    if rate(option):
        writes = f", and writes {each_answer(option)}"
        writes += " for each" if scenario.get("sequences", scenario.get("concurrency")) not in (None, 1) else ""
    return f"There it runs {in_format(str(scenario.get('weights', PUBLISHED)))}{writes}."


def needs(question: Any, found: Any) -> str:
    """Return what a model takes in the formats of the options, without an engine."""
    formats = dict.fromkeys([PUBLISHED, *(option["scenario"].get("weights", PUBLISHED) for option in found["options"])])
    asked = {name: question[name] for name in ("model", "kv_cache", *LENGTHS) if name in question}
    asked["sequences"] = question.get("need", {}).get("users", 1)
    sizes: dict[str, int] = {}
    for weights in formats:
        report: Any = estimate({**asked, "weights": weights})
        sizes[in_format(str(weights))] = report["memory"]["device_bytes"]
    takes = ", ".join(f"{size_gib(size)} {words}" for words, size in sorted(sizes.items(), key=itemgetter(1))[::-1])
    tokens = show_count(report["scenario"]["context_tokens"])
    times = f"{show_count(asked['sequences'])} × " if asked["sequences"] > 1 else ""
    return f"{model_name(question)} with {times}{tokens} tokens takes {takes}, without what an engine adds."
