"""The part of a report without an engine: the memory that the mathematics alone needs, and what fits."""

from typing import NamedTuple

from calc.architecture.stages import Stage
from calc.catalog.records import Accelerator
from calc.derivation import Part
from calc.errors import ScenarioError
from calc.memory.budget import Budget, Demand, Layout
from calc.memory.working import parts_of
from calc.planning.fit import devices_needed, most_sequences
from calc.planning.layout import division, fullest, sum_over_devices

Report = dict[str, object]


class Answer(NamedTuple):
    """A demand on the fullest device."""

    demand: Demand
    layout: Layout
    stage: Stage
    budget: Budget
    accelerator: Accelerator | None


def bare(demand: Demand, layout: Layout, accelerator: Accelerator | None, *, most: bool) -> Answer:
    """Return a demand on the fullest device, with as many sequences as fit where `most` asks for them."""
    if most:
        demand = fill_device(demand, layout, accelerator)
    return Answer(demand, layout, *fullest(demand, layout), accelerator)


def fill_device(demand: Demand, layout: Layout, accelerator: Accelerator | None) -> Demand:
    """Return the demand with as many sequences as fit on the devices."""
    if accelerator is None:
        raise ScenarioError("sequences", '"max" needs an accelerator: as many as fit on what?')
    local = most_sequences(demand._replace(sequences=1), layout._replace(data=1), accelerator.capacity_bytes)
    return demand._replace(sequences=max(local * layout.data, 1))


def bare_parts(answer: Answer) -> list[Part]:
    """Return the parts of the fullest device's memory."""
    return parts_of(demand=answer.demand, layout=answer.layout, stage=answer.stage, budget=answer.budget)


def bare_totals(answer: Answer) -> Report:
    """Return the three totals that people read. Without an engine nothing is reserved, so they are one exact number."""
    total = answer.budget.total
    report: Report = {"phase": answer.budget.peak_phase}
    for name in ("allocated_bytes", "reserved_bytes", "device_bytes"):
        report[name] = total
        report[f"{name}_range"] = [total, total]
    report["sum_over_devices_bytes"] = sum_over_devices(answer.demand, answer.layout)
    report["sequences"] = answer.demand.sequences
    return report


def bare_fit(answer: Answer) -> Report:
    """Return how the fullest device's memory compares to what it has, and how many devices the demand needs."""
    if answer.accelerator is None:
        return {}
    capacity, budget, demand = answer.accelerator.capacity_bytes, answer.budget, answer.demand
    sequences = demand.sequences_on(answer.layout)
    sequence = (budget.kv_cache + (sequences - 1) * budget.shared) // sequences
    room = max(capacity - budget.total + budget.kv_cache, 0)
    needed = devices_needed(demand, capacity)
    if budget.total <= capacity and (needed is None or needed.devices > answer.layout.devices):
        needed = answer.layout
    return {
        "capacity_bytes": capacity,
        "limit_bytes": capacity,
        "fits": budget.total <= capacity,
        "headroom_bytes": capacity - budget.total,
        "kv_pool_bytes": room,
        "kv_pool_tokens": room * demand.tokens // sequence if sequence else 0,
        "max_sequences": most_sequences(demand, answer.layout, capacity),
        "devices_needed": needed.devices if needed else None,
        "devices_needed_parallelism": division(needed) if needed else None,
    }
