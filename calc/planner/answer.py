"""The answer to a question: options, which of them no other beats, and what was left out and why."""

from collections.abc import Mapping
from math import inf
from time import perf_counter
from typing import Any

from calc.catalog import Catalog, catalog
from calc.planner.account import Ledger
from calc.planner.account_working import account_steps
from calc.planner.answer_warnings import warnings
from calc.planner.candidates import places
from calc.planner.devices import Devices
from calc.planner.need import Share
from calc.planner.options import Option, energy_of, rate_of, time_of, tokens_a_second, writes
from calc.planner.question import OF_A_RUN, Question, own_price, read_question
from calc.planner.ranking import OF_SPEED
from calc.planner.search import Search
from calc.planner.sharing import OF_FLEETS
from calc.planner.steps import Steps, finished, kept
from calc.planner.surer import change_for, surer_context
from calc.planning.cost import MILLION
from calc.scenario.fields import PUBLISHED
from calc.service.checkpoints import origin
from calc.units import HOUR_S, show_count, show_gib, show_large_count, show_number

Answer = dict[str, object]


def answer(asked: Mapping[str, object]) -> Answer:
    """Return the answer to a question; its fields are documented on the page "Plan"."""
    return finished(answering(asked))


def answering(asked: Mapping[str, object]) -> Steps[Answer]:
    """Look for the answer to a question, a candidate a step.

    Where a model serves nowhere as it is published, and nobody names a format, those are tried that its users go down
    to.
    """
    began, facts = perf_counter(), catalog()
    question = read_question(asked, facts)
    search, options, tried = yield from kept(searching(question, facts))
    if not options:
        search.check()
    unsaid = asked.get("weights") is None and as_published(question, facts)
    if smaller := unsaid and not served(question, options):
        question = question._replace(weights=())
        search, options, more = yield from kept(searching(question, facts))
        tried += more
    return {
        "options": [shown(question, search, option) for option in options],
        "likely": likely(question, search, options),
        "frontier": frontier(question, search, options),
        "rejected": search.rejections(options),
        "searched": {
            "candidates": tried,
            "estimated": search.estimated,
            "milliseconds": round(1000 * (perf_counter() - began), 1),
        },
        "warnings": warnings(question, search, options, unsaid=unsaid, smaller=smaller),
        "catalog": facts.version,
    }


def searching(question: Question, facts: Catalog) -> Steps[tuple[Search, list[Option], int]]:
    """Look for the best options, and count what is tried."""
    if question.trains and question.of not in OF_A_RUN:
        from calc.planner.training import best_training  # most questions ask of no training run

        return (yield from best_training(question, facts))
    if question.want == "limit" and question.of != "model":
        from calc.planner.most import most

        return (yield from most(question, facts))
    search, every = Search(question, facts), list(places(question, facts))
    options = yield from search.looking(search.within_limits(every))
    return search, options, sum(place.number for place in every)


def likely(question: Question, search: Search, options: list[Option]) -> Answer | None:
    """Return what may fit and would come before the first option by cost or devices; None where that is no surer."""
    found = search.may_fit
    if found is None or not options or not options[0].is_sure or question.rank_by not in OF_FLEETS:
        return None
    return shown(question, search, found) if search.value(found) < search.value(options[0]) else None


def served(question: Question, options: list[Option]) -> bool:
    """Return whether anything serves: of hardware that is looked for, which one need not have, something that fits."""
    return any(option.is_sure or question.want != "hardware" for option in options)


def as_published(question: Question, facts: Catalog) -> bool:
    """Return whether one model is asked for as it is published, and not a repository with a format of its own."""
    return not question.trains and question.weights == (PUBLISHED,) and question.models[0] in facts.ids("models")


def shown(question: Question, search: Search, option: Option) -> Answer:
    """Return an option as an answer has it; its scenario, asked again, gives the figures that it shows."""
    candidate, need, surer = option.candidate, question.need, option.surer or surer_context(option)
    ledger = Ledger(question.account, need, search.facts, search.fleet(candidate))
    given, replicas = load(question, candidate.share), candidate.replicas + need.spare
    if question.trains:
        money, energy = ledger.run(option.report, own_rent=own_price(question, "price_per_hour"))
    else:
        money, energy = (
            cost(question, option.report, ledger),
            ledger.energy(energy_of(option), writes=writes(option.typical)),
        )
    return {
        "scenario": scenario_of(option),
        "replicas": replicas,
        "load": given,
        "fits": True,
        "margin_bytes": option.spare_bytes,
        "chance": round(option.chance, 4),
        "counted": option.report["memory"].get("counted", True),
        "surer": surer,
        "weights_from": weights_from(option, search.facts),
        "speed": option.report["speed"],
        "cost": money,
        "energy": energy,
        "steps": []
        if question.trains
        else account_steps(ledger, load=given, replicas=replicas, cost=money, energy=energy),
        "why": why(question, search, option, surer),
    }


def weights_from(option: Option, facts: Catalog) -> Answer | None:
    """Return where the weights come from; None of what is trained, or of a model that brings its own config."""
    asked = scenario_of(option)
    name, engine = asked["model"], asked.get("engine", "none")
    if not isinstance(name, str) or engine == "none":
        return None
    return origin(name=name, weights=asked.get("weights"), engine=str(engine), facts=facts)._asdict()


def scenario_of(option: Option) -> dict[str, object]:
    """Return what was asked of `estimate`, with the engine that was found."""
    asked = {name: value for name, value in option.candidate.scenario.items() if value is not None}
    return {**asked, "engine": option.report["scenario"]["engine"]} if "engine" in asked else asked


def load(question: Question, share: Share | None) -> Answer | None:
    """Return what comes to each replica in the busiest hour, and what it could be given; None where nothing comes."""
    if share is None or share.requests_per_s is None:
        return None
    return {
        "requests_per_s": share.requests_per_s,
        "capacity_requests_per_s": share.capacity_per_s,
        "mean_requests": share.mean,
        "planned_requests": share.requests,
        "percentile": question.need.percentile,
    }


def cost(question: Question, report: dict[str, Any], ledger: Ledger) -> Answer:
    """Return what the devices cost to rent, to buy and to run, and what the same tokens cost elsewhere."""
    rent = ledger.rent(report)
    own_rent, own_tariff = (own_price(question, name) for name in ("price_per_hour", "electricity_per_kwh"))
    money = ledger.money(own_rent=own_rent, own_tariff=own_tariff)
    month = money["owned_per_month" if question.limits.buys else "rent_per_month"]
    return {
        **money,
        "per_million_output_tokens": rent.get("per_million_output_tokens"),
        "hosted": ledger.hosted(report["scenario"], month if isinstance(month, float) else None),
    }


def why(question: Question, search: Search, option: Option, surer: dict[str, int] | None) -> str:
    """Return in a sentence why an option is where it is, and how sure it is to fit."""
    report, devices = option.report, search.fleet(option.candidate)
    known = {
        "cost": ("price" if question.limits.buys else "rent of a month", search.price(option.candidate), "USD"),
        "devices": ("devices", devices.number, ""),
        "size": ("parameters", report["model"]["parameters_total"], ""),
        "margin": ("bytes left", option.spare_bytes, "B"),
    }
    spread, answers = question.need.mean_rate is not None, writes(option.typical)
    tokens = "output tokens" if answers else "tokens read"
    known["energy"] = (f"energy of a million {tokens}", energy_of(option), "kWh")
    written = "tokens a second of each answer" if spread else "tokens a second"
    read = "passes a second" if spread else "texts a second"
    known["speed"] = (written if answers else read, rate_of(question.need, option.candidate, option.typical), "/s")
    known["latency"] = ("time per output token s" if answers else "time of a pass s", time_of(option.typical), "s")
    if question.trains:
        known |= trained(question, option, devices)
    words, value, unit = known[question.rank_by]
    if question.want == "limit" and question.of != "model":
        name = "concurrency" if question.of == "users" else question.of
        words, value, unit = question.of.replace("_", " "), report["scenario"][name], ""
    counted = show_large_count if words == "parameters" else show_count
    said = "not known" if value is None else counted(value) if type(value) is int else show_number(value, 4)
    first = f"{words}: {said} {unit if value is not None else ''}".strip()
    rates, rate, _ = known["speed"]
    if rate is not None and question.rank_by not in OF_SPEED and not question.trains:
        first += f", {show_number(rate)} {rates}"
    if question.trains and (hosted := report["memory"]["host_bytes"]):
        first += f", with {show_gib(hosted)} in the host's memory"
    if option.is_sure:
        return f"{first}; fits with {show_gib(option.spare_bytes)} left"
    change = change_for(surer, trains=question.trains)
    return f"{first}; tight, with {show_gib(option.spare_bytes)} left: {change} make it sure"


def trained(question: Question, option: Option, fleet: Devices) -> dict[str, tuple[str, float | None, str]]:
    """Return what ranks a training run: its tokens a second, and rent and energy of the run or of a million tokens."""
    rate, tokens = tokens_a_second(option), option.report["scenario"].get("training_tokens")
    count, what = (tokens, "the run") if tokens else (MILLION, "a million tokens")
    hours = count / rate / HOUR_S if rate else None
    kwh = None if hours is None or fleet.power_w is None else hours * fleet.power_w / 1000
    found = {"speed": ("tokens a second", rate, "/s"), "energy": (f"energy of {what}", kwh, "kWh")}
    if not question.limits.buys:
        rent = None if hours is None or fleet.rent_per_hour is None else hours * fleet.rent_per_hour
        found["cost"] = (f"rent of {what}", rent, "USD")
    return found


def frontier(question: Question, search: Search, options: list[Option]) -> list[int]:
    """Return the options that no other beats in both cost and speed; what is not known is worst."""
    points = []
    for option in options:
        price = search.price(option.candidate)
        if question.trains:
            rate, rent = tokens_a_second(option), option.candidate.devices.rent_per_hour
            price = price if question.limits.buys or not rate or rent is None else rent / rate
        else:
            rate = rate_of(question.need, option.candidate, option.typical)
        points.append((inf if price is None else price, -rate if rate else inf))
    return [
        index
        for index, point in enumerate(points)
        if not any(other != point and other[0] <= point[0] and other[1] <= point[1] for other in points)
    ]
