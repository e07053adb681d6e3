"""The door to every answer: a scenario in, a report out, both plain JSON values. Names are fixed by the contract."""

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING

from calc.architecture.parameters import model_counts
from calc.catalog import catalog
from calc.catalog.records import Accelerator
from calc.derivation import Step
from calc.errors import Scenario, ScenarioError, read_whole
from calc.found import Found, Report, find, memory_of
from calc.memory.published_formats import is_eight_bit
from calc.memory.working import sum_step
from calc.planning.chance import is_sure
from calc.question import Question, read_question
from calc.question_warnings import answer_warnings, doubts, length_doubts, warnings
from calc.scenario.fields import PUBLISHED, STAND_INS, USUAL
from calc.scenario.formats import known_published
from calc.scenario.model import read_model

if TYPE_CHECKING:
    from calc.planning.changes import Repair
    from calc.planning.serving import Serving


def estimate(scenario: Scenario, *, repairs: bool = True, speed: bool = True, working: bool = True) -> Report:
    """Return the report on a scenario: parameters, memory by part, whether it fits, and the working.

    Without `repairs` nothing is looked for that would make it fit, without `speed` inference has no time and no cost,
    and without `working` nothing says how a number came about, nor on how few devices it would fit. Without both, it is
    not said how many sequences would fit either. No other number has need of any of them.

    The fields of both are documented on the page "The scenario and the report". Bytes are integers.
    Raises ScenarioError, with the field and what is allowed, for a scenario that is wrong in any way.

    >>> report = estimate({"model": "llama-3.1-8b", "context_tokens": 8192})
    >>> report["memory"]["parts"][0]["bytes"]
    16060522496
    """
    facts = catalog()
    if isinstance(scenario, Mapping) and scenario.get("workload") == "training":
        from calc.training.report import training_report  # most scenarios, and the first page, need it not

        return training_report(scenario, facts, repairs=repairs, working=working)
    question = read_whole(read_question, scenario, STAND_INS)
    return report_on(question, question.serving(), repairs=repairs, speed=speed, working=working)


def report_on(
    question: Question, serving: "Serving | None", *, repairs: bool, speed: bool = True, working: bool
) -> Report:
    """Return the report on a scenario of inference that was read, under its engine on its devices."""
    asked, accelerator, layout = question.asked, question.accelerator, question.layout
    works, found = find(question, serving, speed=speed, working=working)
    fill_in(question, found, by_engine=serving is not None)
    priced = None if question.devices else accelerator  # a price is that of one kind
    used = asked.pools.devices if asked.pools else layout.devices
    cost, cost_steps = costs(found.speed, priced, used, question.prices)
    memory = memory_of(found)
    steps = list[Step]()
    if working:
        steps = [*(step for part in found.parts for step in part.steps), sum_step(found.parts)]
        steps += [*found.speed_steps, *cost_steps]
    risks = [
        *doubts(question.reader, layout.devices),
        *works.warnings(),
        *length_doubts(asked, found.demand.tokens),
        *warnings(found.demand, layout, accelerator),
        *found.warnings,
        *answer_warnings(question, found.demand, found.memory, found.speed),
    ]
    return {
        "scenario": question.reader.filled,
        "defaults": question.reader.defaults,
        "model": {
            **model_counts(asked.model_id, asked.model_name, found.demand.architecture, trained=0),
            "weights": found.demand.weights.name,
        },
        "memory": memory,
        **works.as_dict(),
        "repairs": repairs_of(question, serving, found, memory, runs=works.runs is not False) if repairs else [],
        "speed": found.speed,
        "measured": found.measured,
        **({"cold_start": found.cold_start} if found.cold_start else {}),
        "cost": cost,
        "steps": [step.as_dict() for step in steps],
        "warnings": [warning.as_dict() for warning in risks],
        "catalog": catalog().version,
    }


def fill_in(question: Question, found: Found, *, by_engine: bool) -> None:
    """Fill in what an answer alone says: the tokens of a pass over prompts, and the ids of number formats."""
    filled, demand = question.reader.filled, found.demand
    if by_engine:
        said = "batched_tokens" in question.reader.given
        chunk = demand.batched_tokens if said else demand.sequences * demand.prompt_tokens
        filled["batched_tokens"] = found.prefill_tokens or chunk
    filled["kv_cache"], filled["kv_cache_v"] = demand.keys.id, demand.values.id
    if isinstance(filled["weights"], str) and filled["weights"] != PUBLISHED:
        filled["weights"] = demand.weights.id


def repairs_of(
    question: Question, serving: "Serving | None", answer: Found, memory: Report, *, runs: bool
) -> list[Report]:
    """Return the changes that would make it surely fit, or run; none where it does."""
    apart, fits = question.devices or question.asked.pools, memory.get("fits") is not False and runs
    if question.accelerator is None or apart or (fits and is_sure(memory)):
        return []
    from calc.planning.changes import HARDWARE, Wanted  # what fits needs none
    from calc.planning.repairs import repairs

    wanted = Wanted(
        facts=catalog(),
        demand=answer.demand,
        layout=question.layout,
        accelerator=question.accelerator,
        serving=serving,
        runs=runs,
        fits=fits,
        needed=least_devices(memory, serving),
        weights=sum(part.bytes for part in answer.parts if part.id == "weights"),
        held=sum(part.bytes for part in answer.parts if part.id in ("weights", "kv_cache")),
    )
    given = question.reader.given
    asked_again = {"engine", "accelerator"} if given.get("engine") == USUAL else {"engine"}  # which a device decides

    def is_decided_anew(change: Scenario) -> bool:
        if change.get("weights") == "fp8":  # of a model that is published in it, its own
            return is_eight_bit(known_published(read_model(given["model"], catalog()), catalog()))
        return bool(asked_again & change.keys())

    said = (as_asked(given, one) for one in repairs(wanted))
    every = (under_other(given, one) if one and is_decided_anew(one.change) else one for one in said)
    found = [repair for repair in every if repair is not None]

    def place(repair: "Repair") -> tuple[bool, bool, bool]:
        """Return how far down it stands: what is to be bought comes last, of that what is tight or takes the most."""
        count = repair.change.get("accelerators")
        many = isinstance(count, int) and count > 2 * question.layout.devices
        return repair.cost == HARDWARE, not repair.sure, many

    return [repair._asdict() for repair in sorted(found, key=place)]


def least_devices(memory: Report, serving: "Serving | None") -> float:
    """Return how many devices a report says are needed, infinitely many where it found none to be enough; else 1."""
    devices = memory.get("devices_needed", 1)
    if isinstance(devices, int):
        return devices
    return 1 if serving is not None and serving.placement.on_host else inf  # where none are looked for


def as_asked(scenario: Scenario, repair: "Repair") -> "Repair | None":
    """Return a change in the words of a scenario that asks for requests, None where it does not go with them."""
    if "arrivals" in scenario:
        from calc.service.traffic import INSTEAD

        return repair if repair.change.keys().isdisjoint(INSTEAD) else None
    if "concurrency" in scenario and "sequences" in repair.change:
        return repair._replace(change={"concurrency": repair.change["sequences"]})
    return repair


def under_other(scenario: Scenario, repair: "Repair") -> "Repair | None":
    """Return a change with the room that its answer has under another engine, None where it is refused or does not fit.

    Another engine may lack what a scenario asks for, and load weights in another format. FP8 of a model that is
    published in it has scales for blocks, which not every number of ranks divides.
    """
    changed = {**scenario, **repair.change}
    try:
        question = read_whole(read_question, changed, STAND_INS)
        works, found = find(question, question.serving(), speed=False, working=False)
    except ScenarioError:
        return None
    if not found.memory["fits"] or works.runs is False:
        return None
    memory = memory_of(found)
    room = memory["headroom_bytes"]
    assert isinstance(room, int)
    return repair._replace(headroom_bytes=room, sure=is_sure(memory))


def costs(
    speed: Report | None, accelerator: Accelerator | None, devices: int, prices: Mapping[str, float | None]
) -> tuple[Report | None, list[Step]]:
    """Return what the devices cost, with its working; nothing where no tokens are written."""
    rate = speed.get("output_tokens_per_s") if speed else None
    if accelerator is None or not isinstance(rate, dict):
        return None, []
    from calc.planning.cost import cost_of

    return cost_of(facts=catalog(), accelerator=accelerator, devices=devices, output_tokens_per_s=rate, **prices)
