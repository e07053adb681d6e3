"""The door to every answer: a scenario in, a report out, both plain JSON values. Names are fixed by the contract."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from calc.architecture.config import Config
from calc.architecture.families import left_out
from calc.architecture.parameters import model_counts
from calc.catalog import catalog
from calc.catalog.records import Accelerator
from calc.derivation import INFO, Part, Step, Warn
from calc.errors import read_whole
from calc.memory.budget import Demand, Layout
from calc.memory.correction import UNCORRECTED
from calc.memory.working import sum_step
from calc.planning.bare_report import Answer, bare, bare_fit, bare_parts, bare_totals
from calc.planning.fit import MOST_SEQUENCES
from calc.planning.support import Runs, what_runs
from calc.question import Asked, Question, read_question
from calc.scenario.doubts import name_doubts
from calc.scenario.fields import PUBLISHED, STAND_INS
from calc.scenario.reader import Reader
from calc.units import show_gib

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


def estimate(scenario: Mapping[str, object], *, repairs: bool = True) -> Report:
    """Return the report on a scenario: parameters, memory by part, whether it fits, and the working.

    Without `repairs` nothing is looked for that would make it fit, of which no other number has need.

    The fields of both are documented on the page "The scenario and the report". Bytes are integers.
    Raises ScenarioError, with the field and what is allowed, for a scenario that is wrong in any way.

    >>> report = estimate({"model": "llama-3.1-8b", "context_tokens": 8192})
    >>> report["memory"]["parts"][0]["bytes"]
    16060522496
    """
    facts = catalog()
    if isinstance(scenario, Mapping) and scenario.get("workload") == "training":
        from calc.training.report import training_report  # most scenarios, and the first page, need it not

        return training_report(scenario, facts, repairs=repairs)
    question = read_whole(read_question, scenario, STAND_INS)
    reader, asked, demand, accelerator = question.reader, question.asked, question.demand, question.accelerator
    layout = question.layout
    works = Runs(None, ())
    if serving := question.serving():
        found = under_engine(serving, asked, demand, layout, most=question.most)
        demand = found.demand
        works = runs_of(question)
        if works.runs is False:
            found = found._replace(speed=None, speed_steps=())
        chunk = demand.batched_tokens if "batched_tokens" in reader.given else demand.sequences * demand.prompt_tokens
        reader.filled["batched_tokens"] = found.prefill_tokens or chunk
    else:
        found = without_engine(bare(demand, layout, accelerator, most=question.most))
        demand = found.demand
    for name, record in (("kv_cache", demand.keys), ("kv_cache_v", demand.values)):
        reader.filled[name] = record.id
    if isinstance(reader.filled["weights"], str) and reader.filled["weights"] != PUBLISHED:
        reader.filled["weights"] = demand.weights.id
    priced = None if question.devices else accelerator  # a price is that of one kind
    used = asked.pools.devices if asked.pools else layout.devices
    cost, cost_steps = costs(found.speed, priced, used, question.prices)
    parts, steps = found.parts, [step for part in found.parts for step in part.steps]
    risks = [*works.warnings(), *warnings(demand, layout, accelerator, asked.context_limit), *found.warnings]
    risks += limits(question, demand, found.memory.get("max_sequences"))
    risks += draft_warnings(demand, found.speed)
    if demand.adapters is not None and found.speed is not None:
        message = "no published run stands behind the time of adapters: it is that of grouped products of their size"
        risks.append(Warn("adapters-not-measured", message, "adapters_served", INFO))
    if asked.pools is not None and found.speed is not None:
        message = (
            "first tokens of published servers with pools apart differ from it: see the range, which holds four of five"
        )
        risks.append(Warn("first-token-of-pools", message, "disaggregation", INFO))
    risks += of_host(question, found.memory.get("host_bytes"))
    risks += of_correction(asked, accelerator)
    return {
        "scenario": reader.filled,
        "defaults": reader.defaults,
        "model": {
            **model_counts(asked.model_id, asked.model_name, demand.architecture, trained=0),
            "weights": demand.weights.name,
        },
        "memory": {
            "parts": [{**part._asdict(), "steps": [step.as_dict() for step in part.steps]} for part in parts],
            **found.memory,
        },
        **works.as_dict(),
        "repairs": repairs_of(question, demand, found.memory, runs=works.runs is not False) if repairs else [],
        "speed": found.speed,
        "measured": found.measured,
        **({"cold_start": found.cold_start} if found.cold_start else {}),
        "cost": cost,
        "steps": [step.as_dict() for step in (*steps, sum_step(parts), *found.speed_steps, *cost_steps)],
        "warnings": [warning.as_dict() for warning in (*doubts(reader, layout.devices), *risks)],
        "catalog": facts.version,
    }


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
        )
        for device in question.devices or (question.accelerator,)
    ]
    return min(found_on, key=lambda one: (one.runs is not False, one.runs is not None))


def repairs_of(question: Question, demand: Demand, memory: Report, *, runs: bool) -> list[Report]:
    """Return the changes that would make it fit or run, least harm first; none where it does both."""
    apart = question.devices or question.asked.pools
    if question.accelerator is None or apart or (memory.get("fits") is not False and runs):
        return []
    from calc.planning.changes import Wanted  # what fits needs none
    from calc.planning.repairs import repairs

    wanted = Wanted(
        facts=catalog(),
        demand=demand,
        layout=question.layout,
        accelerator=question.accelerator,
        serving=question.serving(),
        runs=runs,
        needed=devices if isinstance(devices := memory.get("devices_needed"), int) else None,
    )
    return [repair._asdict() for repair in repairs(wanted)]


def of_host(question: Question, host_bytes: object) -> list[Warn]:
    """Return what is risky about the host, or was taken of it."""
    if question.host is None:
        return []
    from calc.service.host import host_warnings  # few scenarios leave anything to the host

    return host_warnings(question.reader, question.host, question.asked.placement, host_bytes)


def limits(question: Question, demand: Demand, room: object) -> list[Warn]:
    """Return at which limit the most sequences ended where it was not memory: the engine's own, or the search's."""
    if not question.most or room == 0:
        return []
    if demand.sequences >= MOST_SEQUENCES - 1:
        message = f"memory does not bound the sequences: the search for the most ended at {demand.sequences:,}"
    elif room is None or (isinstance(room, int) and demand.sequences < room):
        known = "memory does not bound the sequences" if room is None else f"memory has room for {room:,} sequences"
        message = f"{known}, and the engine runs {demand.sequences:,} at once unless sequence_slots says more"
    else:
        return []
    return [Warn("sequences-at-limit", message, "sequences", INFO)]


def draft_warnings(demand: Demand, speed: Report | None) -> list[Warn]:
    """Return whether drafting makes tokens come later."""
    gained = speed.get("speculation") if speed else None
    if not isinstance(gained, dict) or gained["gain"] >= 1:
        return []
    most = gained["helps_up_to_sequences"]
    message = f"drafts cost more than they gain for {demand.sequences:,} sequences at once: they help up to {most:,}"
    return [Warn("speculation-loses", message, "speculation")]


def without_engine(answer: Answer) -> Found:
    """Return what the mathematics alone needs."""
    return Found(answer.demand, bare_parts(answer), {**bare_totals(answer), **bare_fit(answer)})


def under_engine(serving: "Serving", asked: Asked, demand: Demand, layout: Layout, *, most: bool) -> Found:
    """Return what an engine needs, and how fast it is."""
    from calc.planning import serving_report as report
    from calc.planning.measured import MEMORY, SPEED, measured_report
    from calc.planning.served import serve, served_bucket
    from calc.planning.serving_speed import prefill_tokens, serving_speed
    from calc.planning.serving_warnings import serving_warnings

    served = serve(serving, demand, layout, most=most)
    memory, risks = {**report.serving_totals(served), **report.serving_fit(served)}, serving_warnings(served)
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
        found = serving_speed(served, asked.output_tokens, asked.cached_tokens)
    speed, steps = found or (None, [])
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
        parts=report.serving_parts(served),
        memory=memory,
        speed=speed,
        speed_steps=steps,
        warnings=risks,
        prefill_tokens=prefill_tokens(served.case),
        cold_start=starting,
        measured=measured_report(catalog(), served_bucket(served), speed=SPEED if speed else None, memory=MEMORY),
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


def of_correction(asked: Asked, accelerator: Accelerator | None) -> list[Warn]:
    """Return that the answer is corrected by a reader's own measurement, where it is."""
    if asked.correction == UNCORRECTED or asked.engine is None:
        return []
    from calc.service.correction import correction_warning  # few scenarios ask for it

    return [correction_warning(asked.correction, asked.engine, accelerator)]


def doubts(reader: Reader, devices: int) -> list[Warn]:
    """Return what a scenario leaves open and an answer has to choose."""
    found = name_doubts(reader, catalog(), devices)
    model = reader.given.get("model")
    if isinstance(model, Mapping) and (keys := left_out(Config(model["config"], "model.config"))):
        message = f"the config leaves out {', '.join(keys)}: the defaults of its family are taken"
        found.append(Warn("config-incomplete", message, "model.config", INFO))
    return found


def warnings(demand: Demand, layout: Layout, accelerator: Accelerator | None, context_limit: int | None) -> list[Warn]:
    """Return what cannot work natively or is risky about a scenario."""
    found = []
    if context_limit and demand.tokens > context_limit:
        message = f"{demand.tokens:,} tokens are more than the {context_limit:,} that the model is made for"
        found.append(Warn("context-beyond-trained", message, "context_tokens"))
    if accelerator is not None:
        native = demand.weights.native
        if native and native not in accelerator.facts:
            message = (
                f"{accelerator.name} does not compute in {demand.weights.name}: it is converted to another format first"
            )
            found.append(Warn("format-not-native", message, "weights"))
        if accelerator.segment == "soc" and "memory_usable" in accelerator.facts:
            sizes = (round(accelerator.quantity("memory") or 0), accelerator.capacity_bytes)
            message = f"of the {show_gib(sizes[0])} that {accelerator.name} shares with its system programs get "
            message += f"{show_gib(sizes[1])}; memory_limit says otherwise"
            found.append(Warn("memory-shared", message, "accelerator", INFO, sizes_bytes=sizes))
        elif accelerator.segment == "soc":
            message = f"{accelerator.name} shares its memory with the system, which leaves only part of it to a model"
            found.append(Warn("memory-shared", message, "accelerator"))
        elif accelerator.memory_fact.basis == "advertised":
            message = f"no driver report of {accelerator.name} is known: the advertised size stands in for it"
            found.append(Warn("capacity-advertised", message, "accelerator", INFO))
    if demand.sequences < layout.data:
        message = f"{demand.sequences} sequences leave some of the {layout.data} data-parallel ranks idle"
        found.append(Warn("ranks-idle", message, "parallelism.data", INFO))
    if layout.tensor > 1 and accelerator is not None:
        from calc.performance.fabric import tensor_warnings

        found += tensor_warnings(accelerator, layout.tensor)
    return found
