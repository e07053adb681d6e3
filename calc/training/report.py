"""The report on a training scenario: the peak of the fullest device, term by term, and the phase that makes it."""

from collections.abc import Mapping

from calc.architecture.parameters import model_counts
from calc.architecture.stages import stages
from calc.catalog import Catalog
from calc.derivation import Warn
from calc.errors import read_whole
from calc.memory.training.moments import Timeline
from calc.memory.training.reserve import Totals, device_bytes, totals
from calc.memory.training.working import parts_of, sum_step
from calc.planning.chance import is_sure
from calc.planning.measured import (
    TRAINING_MEMORY,
    TRAINING_SPEED,
    measured,
    measured_report,
    memory_bucket,
    training_bucket,
)
from calc.planning.training_fit import chance_on, devices_needed, fullest, hosted_bytes, room_on
from calc.scenario.doubts import name_doubts
from calc.scenario.fields import STAND_INS
from calc.training.checks import MISCOUNTED, expert_warnings, warnings
from calc.training.reading import Asked, overlaps, read_training, works_of
from calc.training.speed import timed

Report = dict[str, object]


def training_report(
    scenario: Mapping[str, object], facts: Catalog, *, repairs: bool = True, working: bool = True
) -> Report:
    """Return the report on a scenario of `workload: training`, with what makes it surely fit if `repairs` are asked."""
    asked = read_whole(lambda given: read_training(given, facts), scenario, STAND_INS)
    plan = asked.plan
    widest, by_stage = fullest(plan)
    sizes = totals(plan, widest, facts)
    parts = parts_of(plan=plan, timeline=widest, sizes=sizes, facts=facts)
    if not working:
        parts = [part._replace(steps=()) for part in parts]
    found, memory = timed(asked, facts), memory_of(asked, widest, by_stage, sizes, facts=facts)
    risky = risks(asked, sizes, facts)
    memory["counted"] = MISCOUNTED.isdisjoint(warning.code for warning in risky)
    if working and asked.accelerator is not None:
        needed = devices_needed(plan, room_on(asked.accelerator, facts), facts, fits=memory["fits"] is True)
        memory["devices_needed"] = needed.devices if needed else None
        memory["devices_needed_parallelism"] = needed._asdict() if needed else None
    works = works_of(asked, facts)
    if works.runs is False or not overlaps(asked, facts):
        found = found._replace(speed=None, cost=None, steps=[])
    steps = [*(step for part in parts for step in part.steps), sum_step(parts, widest), *found.steps]
    listed: list[dict[str, object]] = []
    if repairs and asked.accelerator is not None and not is_sure(memory):
        from calc.training.changes import sized
        from calc.training.repairs import listed_repairs  # a run that fits needs none

        read = {**scenario, "model": asked.model}  # not anew at every trial
        listed = listed_repairs(read, plan, room_on(asked.accelerator, facts), sized(plan, (widest, by_stage), facts))
    return {
        "scenario": asked.filled,
        "defaults": asked.defaults,
        "model": model_counts(asked.model.id, asked.model.name, plan.architecture, trained=trainable(asked, widest)),
        "memory": {
            "parts": [{**part._asdict(), "steps": [step.as_dict() for step in part.steps]} for part in parts],
            **memory,
        },
        **works.as_dict(),
        "repairs": listed,
        "speed": found.speed,
        "measured": measured_of(asked, facts, timed=found.speed is not None),
        "cost": found.cost,
        "steps": [step.as_dict() for step in steps] if working else [],
        "warnings": [warning.as_dict() for warning in (*works.warnings(), *risky)],
        "catalog": facts.version,
    }


def measured_of(asked: Asked, facts: Catalog, *, timed: bool) -> Report:
    """Return the report's field on measurements, of speed too where it is timed: who measured anything had it start."""
    memory = measured(facts, TRAINING_MEMORY, memory_bucket(asked.plan, asked.accelerator))
    speed = measured(facts, TRAINING_SPEED, training_bucket(asked.plan, asked.accelerator))
    return {**measured_report(memory, speed if timed else None), "started": bool(memory.rows or speed.rows)}


def risks(asked: Asked, sizes: Totals, facts: Catalog) -> list[Warn]:
    """Return what a scenario leaves open, and what is risky about it or has no effect."""
    doubts = name_doubts(asked.reader, facts, asked.plan.layout.devices)
    return [
        *doubts,
        *warnings(asked.plan, asked.model.context_tokens, asked.accelerator, sizes.device.typical),
        *expert_warnings(asked.plan, asked.filled.get("framework")),
    ]


def trainable(asked: Asked, timeline: Timeline) -> int:
    """Return the trained parameters of the whole model: all, or adapters and what is trained beside them."""
    plan = asked.plan
    if plan.layout.tensor == plan.layout.pipeline == plan.layout.expert == 1:
        return timeline.inventory.total.trained
    whole = plan._replace(layout=plan.layout._replace(tensor=1, pipeline=1, expert=1))
    stage = stages(plan.architecture, 1)[0]
    return whole.inventory(stage).total.trained


def memory_of(asked: Asked, timeline: Timeline, by_stage: list[Timeline], sizes: Totals, facts: Catalog) -> Report:
    """Return the totals, the phases, and whether it fits."""
    plan, peak = asked.plan, timeline.peak
    widest: dict[str, int] = {}
    for moment in timeline.moments:
        widest[moment.phase] = max(widest.get(moment.phase, 0), moment.total)
    report: Report = {"phase": peak.phase, "peak_reason": peak.reason, "phases": widest}
    for name, total in sizes._asdict().items():
        report[f"{name}_bytes"] = total.typical
        report[f"{name}_bytes_range"] = [total.low, total.high]
    report["sum_over_devices_bytes"] = (
        plan.layout.devices // plan.layout.pipeline * sum(device_bytes(plan, stage, facts) for stage in by_stage)
    )
    report["host_bytes"] = hosted_bytes(plan, by_stage)
    if asked.accelerator is not None:
        capacity = room_on(asked.accelerator, facts)
        report["capacity_bytes"] = report["limit_bytes"] = capacity
        report["fits"] = sizes.device.typical <= capacity
        report["headroom_bytes"] = capacity - sizes.device.typical
        report["chance"] = chance_on(sizes.device, capacity)
    return report
