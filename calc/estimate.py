"""The door to every answer: a scenario in, a report out, both plain JSON values. Names are fixed by the contract."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from calc.architecture.parameters import model_counts
from calc.catalog import catalog
from calc.catalog.records import Accelerator
from calc.derivation import Part, Step, Warn
from calc.errors import Scenario, ScenarioError, read_whole
from calc.memory.budget import Demand
from calc.memory.published_formats import is_eight_bit
from calc.memory.working import sum_step
from calc.planning.bare_report import bare, bare_fit, bare_parts, bare_totals
from calc.planning.chance import chance_in, is_sure
from calc.planning.refusals import Refusal, refusal, whole_first
from calc.planning.support import Runs, refused, what_runs
from calc.question import Question, read_question
from calc.question_warnings import answer_warnings, doubts, length_doubts, warnings
from calc.scenario.fields import PUBLISHED, STAND_INS, USUAL
from calc.scenario.formats import known_published
from calc.scenario.model import read_model

if TYPE_CHECKING:
    from calc.planning.changes import Repair
    from calc.planning.serving import Serving

Report = dict[str, object]


class Found(NamedTuple):
    """What was found for a scenario: memory by part, and under an engine its speed."""

    demand: Demand
    parts: list[Part]
    memory: Report
    speed: Report | None = None
    speed_steps: Sequence[Step] = ()
    warnings: Sequence[Warn] = ()
    prefill_tokens: int | None = None  # of a pass; None where whole prompts pass at once
    cold_start: Report | None = None
    measured: Mapping[str, object] = {"rows": 0, "sources": 0}  # nothing stands behind what shapes alone decide


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


def find(question: Question, serving: "Serving | None", *, speed: bool, working: bool) -> tuple[Runs, Found]:
    """Return whether a scenario runs, and what it needs: under its engine, or by the mathematics alone."""
    if serving is None:
        answer = bare(question.demand, question.layout, question.accelerator, most=question.most)
        return Runs(None, ()), Found(answer.demand, bare_parts(answer), {**bare_totals(answer), **bare_fit(answer)})
    works = runs_of(question)
    timed = speed and works.runs is not False
    return works, under_engine(serving, question, counted=speed or working, timed=timed, working=working)


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


def memory_of(found: Found) -> Report:
    """Return what a report says of memory, with how likely it fits."""
    memory: Report = {
        "parts": [{**part._asdict(), "steps": [step.as_dict() for step in part.steps]} for part in found.parts],
        **found.memory,
    }
    if "fits" in memory:
        memory["chance"] = chance_in(memory)
    return memory


def runs_of(question: Question) -> Runs:
    """Return whether the engine runs what is asked on the devices: of several kinds, on the least certain."""
    found_on = [
        what_runs(
            facts=catalog(),
            engine=question.asked.engine,
            device=device,
            weights=question.demand.weights,
            architecture=question.demand.architecture,
            layout=question.layout,
            caches=question.demand.cache_formats,
        )
        for device in question.devices or (question.accelerator,)
    ]
    works = min(found_on, key=lambda one: (one.runs is not False, one.runs is not None))
    asked = question.asked
    against = asked.engine and refusal(asked.engine, question.demand, asked.attention, asked.own_tokens)
    against = against or converted_late(question)
    if not against or works.runs is False:
        return works
    if not against.told:
        return refused(works, (against.message, against.source))
    known = works.because if works.runs is None else ()
    return Runs(None, ((against.message, against.source), *known), works.on_device)


def converted_late(question: Question) -> Refusal | None:
    """Return what stands against weights that a scenario asks to be converted as they are loaded; None for others.

    A name of a repository that says its format is of one that holds the weights so.
    """
    engine, device, model = question.asked.engine, question.accelerator, question.reader.given.get("model")
    weights = question.reader.given.get("weights")
    if engine is None or device is None or not isinstance(model, str) or weights in (None, PUBLISHED):
        return None
    if (said := catalog().named_format(model)) and said.weights is not None:
        return None
    return whole_first(catalog(), engine, question.asked.model_id, question.demand, question.layout, device)


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


def under_engine(serving: "Serving", question: Question, *, counted: bool, timed: bool, working: bool) -> Found:
    """Return what an engine needs, where they are `counted` the sequences that fit, its speed, and the `working`."""
    from calc.planning import serving_report as report
    from calc.planning.served import measured_of, serve
    from calc.planning.serving_question import prefill_tokens
    from calc.planning.serving_speed import serving_speed
    from calc.planning.serving_warnings import length_warnings, serving_warnings

    asked = question.asked
    served = serve(serving, question.demand, question.layout, most=question.most, counted=counted)
    memory = {**report.serving_totals(served), **report.serving_fit(served, fewest=working)}
    stated = not question.reader.given.keys().isdisjoint(("context_tokens", "prompt_tokens", "output_tokens"))
    risks = [*serving_warnings(served), *length_warnings(served, stated=stated, longest=asked.own_tokens)]
    if asked.pools is not None and asked.concurrency is not None:
        from calc.planning.serving_pools import pooled_speed, prefill_pool  # few scenarios ask for it

        found = pooled_speed(
            served,
            asked.pools,
            concurrency=asked.concurrency,
            output_tokens=asked.output_tokens,
            cached_tokens=asked.cached_tokens,
        )
        first = memory["prefill_pool"] = prefill_pool(serving, served, asked.pools.prefill)
        if memory["fits"] and not first["fits"]:
            memory["fits"] = False
    else:
        found = serving_speed(served, asked.output_tokens, asked.cached_tokens, working=working) if timed else None
    speed, steps = found if found and timed else (None, [])
    if asked.store is not None:
        from calc.planning.cache_store import restored, store_warnings, stored  # few scenarios ask for it

        memory |= stored(served, asked.store)
        if speed is not None:
            back, more = restored(served, asked.store)
            speed, steps = speed | back, [*steps, *more]
            risks += store_warnings(served, speed)
    starting: Report | None = None
    if asked.start is not None:
        from calc.planning.starting import cold_start  # few scenarios ask for it

        starting, more = cold_start(served, asked.start)
        steps = [*steps, *more]
    return Found(
        demand=served.demand,
        parts=report.serving_parts(served, working=working),
        memory=memory,
        speed=speed,
        speed_steps=steps,
        warnings=risks,
        prefill_tokens=prefill_tokens(served.case),
        cold_start=starting,
        measured=measured_of(served, catalog(), timed=speed is not None),
    )


def costs(
    speed: Report | None, accelerator: Accelerator | None, devices: int, prices: Mapping[str, float | None]
) -> tuple[Report | None, list[Step]]:
    """Return what the devices cost, with its working; nothing where no tokens are written."""
    rate = speed.get("output_tokens_per_s") if speed else None
    if accelerator is None or not isinstance(rate, dict):
        return None, []
    from calc.planning.cost import cost_of

    return cost_of(facts=catalog(), accelerator=accelerator, devices=devices, output_tokens_per_s=rate, **prices)
