"""What is found for a scenario of inference: whether it runs, its memory, and under an engine its speed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from calc.catalog import catalog
from calc.catalog.support import LOADING
from calc.derivation import Part, Step, Warn
from calc.memory.budget import Demand
from calc.planning.bare_report import bare, bare_fit, bare_parts, bare_totals
from calc.planning.chance import chance_in
from calc.planning.refusals import Refusal, refusal, whole_first
from calc.planning.support import Runs, refused, told_of, what_runs
from calc.question import Question
from calc.scenario.fields import PUBLISHED

if TYPE_CHECKING:
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


def find(question: Question, serving: "Serving | None", *, speed: bool, working: bool) -> tuple[Runs, Found]:
    """Return whether a scenario runs, and what it needs: under its engine, or by the mathematics alone."""
    if serving is None:
        answer = bare(question.demand, question.layout, question.accelerator, most=question.most)
        return Runs(None, ()), Found(answer.demand, bare_parts(answer), {**bare_totals(answer), **bare_fit(answer)})
    works = runs_of(question)
    timed = speed and works.runs is not False
    return works, under_engine(serving, question, counted=speed or working, timed=timed, working=working)


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
    facts, demand = catalog(), question.demand
    if (said := facts.named_format(model)) and said.weights is not None:
        return None
    told = told_of(facts, engine.id, engine.version).get(LOADING, ())
    fact = next((fact for fact in told if demand.weights.id in fact.names), None)
    if fact is None:
        return None
    from calc.service.checkpoints import only_in_16_bit  # most formats are loaded as they are

    if not only_in_16_bit(facts.model(question.asked.model_id), demand.weights.id, facts):
        return None
    whole = demand._replace(weights=facts.number_format("bf16"))
    return whole_first(fact, engine, whole, layout=question.layout, device=device)


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
