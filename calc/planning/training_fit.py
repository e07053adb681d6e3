"""Searching for the fewest devices that a training run fits on."""

from calc.architecture.stages import stages
from calc.catalog import Catalog
from calc.memory.budget import Layout
from calc.memory.training.moments import Timeline
from calc.memory.training.phases import timelines
from calc.memory.training.plan import Plan
from calc.memory.training.reserve import totals
from calc.planning.layout import tensor_degrees

MOST_DEVICES = 4096
WIDEST_TENSOR = 8  # devices of one node, beyond which tensor parallelism is slow


def fullest(plan: Plan) -> tuple[Timeline, list[Timeline]]:
    """Return the step on the fullest device, and on one device of each pipeline stage."""
    found = timelines(plan, stages(plan.architecture, plan.layout.pipeline))
    return max(found, key=lambda timeline: timeline.peak.total), found


def divided(plan: Plan, devices: int) -> Plan | None:
    """Return the plan on that many devices, None where it cannot be divided so.

    With sharding they are data-parallel ranks that share one copy; without it tensor parallelism as wide as a node and
    the model allow, and pipeline stages beyond.
    """
    if plan.stage_of_zero:
        return plan._replace(layout=Layout(data=devices), shard_ranks=devices, sequence_parallel=False)
    degrees = [degree for degree in tensor_degrees(plan.architecture) if degree <= WIDEST_TENSOR]
    tensor = max(degree for degree in degrees if devices % degree == 0)
    pipeline = devices // tensor
    if pipeline > plan.architecture.layer_count:
        return None
    return plan._replace(
        layout=Layout(tensor=tensor, pipeline=pipeline),
        shard_ranks=1,
        accumulation=max(plan.accumulation, pipeline),
        sequence_parallel=plan.sequence_parallel and tensor > 1,
    )


def devices_needed(plan: Plan, capacity_bytes: int, facts: Catalog) -> tuple[int, Layout] | None:
    """Return the fewest devices on which the run fits, with the layout; None if `MOST_DEVICES` do not.

    Powers of two are tried first; sharding then takes any number between the last two.
    """

    def fits(devices: int) -> Layout | None:
        asked = divided(plan, devices)
        if asked is None or (asked.in_backward and asked.accumulation > 1):
            return None
        size = totals(asked, fullest(asked)[0], facts)
        return asked.layout if size.device.typical <= capacity_bytes else None

    devices = 1
    while devices <= MOST_DEVICES and not (layout := fits(devices)):
        devices *= 2
    if devices > MOST_DEVICES or layout is None:
        return None
    low = devices // 2
    while plan.stage_of_zero and devices - low > 1:
        middle = (low + devices) // 2
        found = fits(middle)
        if found:
            devices, layout = middle, found
        else:
            low = middle
    return devices, layout
