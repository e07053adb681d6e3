"""Searching for the fewest devices that a training run fits on."""

from bisect import bisect_left
from collections.abc import Callable, Sequence

from calc.catalog import Catalog
from calc.catalog.records import Accelerator
from calc.memory.budget import Layout
from calc.memory.runtime import visible_bytes
from calc.memory.training.moments import Timeline
from calc.memory.training.phases import stays_bytes, timelines
from calc.memory.training.plan import Plan
from calc.memory.training.reserve import Total, device_bytes
from calc.planning.chance import chance_of_fitting
from calc.planning.layout import tensor_degrees

MOST_DEVICES = 4096
WIDEST_TENSOR = 8  # devices of one node, beyond which tensor parallelism is slow


def fullest(plan: Plan) -> tuple[Timeline, list[Timeline]]:
    """Return the step on the fullest device, and on one device of each pipeline stage."""
    found = timelines(plan, plan.stages)
    return max(found, key=lambda timeline: timeline.peak.total), found


def fullest_within(plan: Plan, capacity_bytes: int) -> tuple[Timeline, list[Timeline]] | None:
    """Return the same, None where it is soon seen that a device of such a capacity does not hold it."""
    found = timelines(plan, plan.stages, most_bytes=capacity_bytes)
    return (max(found, key=lambda timeline: timeline.peak.total), found) if found else None


def hosted_bytes(plan: Plan, by_stage: Sequence[Timeline]) -> int:
    """Return what waits in the memory of all hosts together."""
    return plan.layout.devices // plan.layout.pipeline * sum(stage.host for stage in by_stage)


def room_on(device: Accelerator, facts: Catalog) -> int:
    """Return the bytes of a device that a training program sees, as one that serves does."""
    return visible_bytes(device, facts.engine("transformers"))


def chance_on(needed: Total, capacity: int) -> float:
    """Return how likely so much fits a device."""
    spare, upper = capacity - needed.typical, needed.high - needed.typical
    return chance_of_fitting(room_bytes=capacity, spare_bytes=spare, upper_bytes=upper)


def stays_beyond(plan: Plan, capacity_bytes: int) -> bool:
    """Whether what stays on the first stage's device through a step is too much by itself."""
    return stays_bytes(plan, plan.stages[0]) > capacity_bytes


def divided(plan: Plan, devices: int, part: Layout) -> Plan | None:
    """Return the plan on that many devices, None where it cannot be divided so.

    With sharding they are data-parallel ranks that share one copy, each of the devices that `part` divides the model
    over; without it tensor parallelism as wide as a node and the model allow, and pipeline stages beyond.
    """
    if plan.stage_of_zero:
        layout = part._replace(data=devices // (part.devices // part.data))
        shards = layout.data * layout.context
    else:
        degrees = [degree for degree in tensor_degrees(plan.architecture) if degree <= WIDEST_TENSOR]
        tensor = max(degree for degree in degrees if devices % degree == 0)
        layout, shards = Layout(tensor=tensor, pipeline=devices // tensor), 1
    if layout.pipeline > plan.architecture.layer_count:
        return None
    return plan.on(layout)._replace(
        shard_ranks=shards,
        accumulation=max(plan.accumulation, layout.pipeline),
        sequence_parallel=plan.sequence_parallel and layout.tensor > 1,
    )


def devices_needed(plan: Plan, capacity_bytes: int, facts: Catalog, *, fits: bool) -> Layout | None:
    """Return the layout of the fewest devices on which the run fits; None if `MOST_DEVICES` do not.

    The devices are divided as `divided` says; where the model is divided otherwise in the plan, in that way too.
    `fits` says whether the run fits as it is planned.
    """

    def holds(asked: Plan | None) -> bool:
        if asked is None or (asked.in_backward and asked.accumulation > 1):
            return False
        found = fullest_within(asked, capacity_bytes)
        return found is not None and device_bytes(asked, found[0], facts) <= capacity_bytes

    own = plan.layout._replace(data=1)
    ways = [Layout()] if own.devices == 1 or not plan.stage_of_zero or own.expert > 1 else [Layout(), own]
    found = [fewest(plan, part, holds) for part in ways]
    if fits:
        found.append(plan.layout)
    layouts = [layout for layout in found if layout is not None]
    return min(layouts, key=lambda layout: layout.devices, default=None)


def fewest(plan: Plan, part: Layout, fits: Callable[[Plan | None], bool]) -> Layout | None:
    """Return the layout of fewest devices that fits: powers of two first, then with sharding any number between."""

    def on(ranks: int) -> Plan | None:
        return divided(plan, ranks * part.devices, part)

    most = MOST_DEVICES // part.devices
    if plan.stage_of_zero and not fits(on(1 << most.bit_length() - 1)):
        return None  # more ranks to share a copy never need more
    ranks = 1
    while ranks <= most and not fits(on(ranks)):
        ranks *= 2
    if ranks > most:
        return None
    if plan.stage_of_zero:
        few = ranks // 2 + 1
        ranks = few + bisect_left(range(few, ranks), True, key=lambda between: fits(on(between)))
    last = on(ranks)
    return last.layout if last else None
