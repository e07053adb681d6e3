"""What a reader should know of an answer as a whole: what was not asked, what ended the search, what prices are."""

from math import ceil

from calc.catalog import Catalog
from calc.derivation import INFO, Warn
from calc.planner.offered import MACHINE
from calc.planner.options import Option, time_of, writes
from calc.planner.question import Question
from calc.planner.search import Search
from calc.planner.sharing import OF_FLEETS
from calc.planning.cost import USED, purchase_today
from calc.units import show_number

OF_OPTIONS = ("experts-not-quantized",)  # warnings of options that the whole answer has, once
# What MLPerf's server of Llama 2 70B keeps, the first as people read 240 words a minute; source:
# https://mlcommons.org/2024/03/mlperf-llama2-70b/
READ_PER_S, BEGUN_S = 5.0, 2.0


def warnings(
    question: Question, search: Search, options: list[Option], *, unsaid: bool, smaller: bool
) -> list[dict[str, object]]:
    """Return what a reader should know of the answer as a whole."""
    found: list[Warn] = []
    if not options:
        reasons = ", ".join(f"{reason} ({entry.count})" for reason, entry in search.rejected.items())
        message = f"nothing that was tried serves; what stood against it: {reasons or 'nothing was tried'}"
        found.append(Warn("no-option", message, "want"))
    if options and smaller:
        message = "as it is published nothing surely serves it so: each option says in which format it does"
        found.append(Warn("fewer-bits", message, "weights"))
    if options and unsaid and not smaller and question.rank_by in OF_FLEETS:
        message = 'it is held as it is published: weights "any" tries fewer bits too, of which fewer devices hold more'
        found.append(Warn("as-published", message, "weights", INFO))
    if options and (search.ended or (question.of == "model" and not search.rejected)):
        message = "nothing that was tried is too much: the model's own limit, or the end of the search, is what ends it"
        found.append(Warn("limit-not-met", message, "of", INFO))
    if slow := slower_than_read(question, options):
        found.append(Warn("speed-not-asked", slow, "need", INFO))
    if question.rank_by == "cost" and any(search.price(option.candidate) is None for option in options):
        message = "options whose price is in no source come last"
        found.append(Warn("price-not-known", message, "rank_by", INFO))
    if question.limits.buys and any(stands_in_a_computer(option) for option in options):
        first = options[0].candidate  # a board has slots for as many as machines of them have
        computers = (first.replicas + question.need.spare) * ceil(first.devices.number / MACHINE)
        message = "prices are those of the devices alone, without the computers that they stand in"
        message += f": {computers:,} of them for the first option" if computers > 1 else ""
        found.append(Warn("devices-alone", message, "limits.buy", INFO))
    if question.limits.buys and (used := second_hand(question, search.facts, options)):
        message = f"second hand are the prices of {', '.join(used)}: what was asked for them in one place, on one day"
        found.append(Warn("second-hand", message, "limits.buy", INFO))
    kept = (warning for option in options for warning in option.report["warnings"] if warning["code"] in OF_OPTIONS)
    return [*(warning.as_dict() for warning in found), *list(kept)[:1]]


def slower_than_read(question: Question, options: list[Option]) -> str:
    """Return in a sentence how slow options are where people share them and said no time; empty where one reads so."""
    if not question.need.shared or question.need.timed:
        return ""
    written = [option.typical for option in options if writes(option.typical)]
    slowest = max((time for speed in written if (time := time_of(speed))), default=0.0)
    latest = max((speed.get("time_to_first_token_s", 0.0) for speed in written), default=0.0)
    said = (
        [f"the slowest of these writes {show_number(1 / slowest)} tokens a second to each"]
        if slowest > 1 / READ_PER_S
        else []
    )
    said += [f"the last to begin does so after {show_number(latest)} s"] if latest > BEGUN_S else []
    if not said:
        return ""
    return (
        f"no speed is asked for, and {', '.join(said)}: MLPerf's server of Llama 2 70B keeps "
        f"{READ_PER_S:g} a second, as people read, and begins within {BEGUN_S:g} s; need.tokens_per_s_each and "
        "need.ttft_s ask for that"
    )


def second_hand(question: Question, facts: Catalog, options: list[Option]) -> list[str]:
    """Return the devices of options, by name, that no shop has a price of; none where the reader gave one."""
    if question.account.purchase_price is not None:
        return []
    kinds = {option.candidate.devices.accelerator.id: option.candidate.devices.accelerator for option in options}
    prices = ((kind.name, purchase_today(facts, kind)) for kind in kinds.values())
    return [name for name, price in prices if price is not None and price.kind == USED]


def stands_in_a_computer(option: Option) -> bool:
    """Return whether devices are cards or modules of a computer, and not one themselves."""
    return not option.candidate.devices.accelerator.shares_host_memory
