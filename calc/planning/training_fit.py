"""Searching for the fewest devices that a training run fits on."""

from collections.abc import Callable, Sequence
from math import inf

from calc.catalog import Catalog
from calc.catalog.records import Accelerator
from calc.memory.budget import Layout
from calc.memory.runtime import visible_bytes
from calc.memory.training.moments import Timeline
from calc.memory.training.phases import stays_bytes, timelines
from calc.memory.training.plan import Plan
from calc.memory.training.reserve import Total, device_bytes
from calc.planning.chance import chance_of_fitting
from calc.planning.fit import first_that_fits
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

    def lacking(asked: Plan | None) -> float:
        if asked is None or (asked.in_backward and asked.accumulation > 1):
            return inf
        found = fullest_within(asked, capacity_bytes)
        return inf if found is None else device_bytes(asked, found[0], facts) - capacity_bytes

    own = plan.layout._replace(data=1)
    alike = own.devices == 1 or not plan.stage_of_zero or own.expert > 1
    ways = [Layout()] if alike or own.devices > MOST_DEVICES else [Layout(), own]
    found = [fewest(plan, part, lacking) for part in ways]
    if fits:
        found.append(plan.layout)
    layouts = [layout for layout in found if layout is not None]
    return min(layouts, key=lambda layout: layout.devices, default=None)


def fewest(plan: Plan, part: Layout, lacking: Callable[[Plan | None], float]) -> Layout | None:
    """Return the layout of fewest devices on which nothing is lacking: any number with sharding, else powers of two."""

    def on(ranks: int) -> Plan | None:
        return divided(plan, ranks * part.devices, part)

    doublings = (MOST_DEVICES // part.devices).bit_length()
    if plan.stage_of_zero:
        place = first_that_fits(lambda place: lacking(on(place + 1)), lambda place: 1 / (place + 1), 1 << doublings - 1)
        found = None if place is None else on(place + 1)
    else:
        ways = (on(1 << doubling) for doubling in range(doublings))
        found = next((asked for asked in ways if lacking(asked) <= 0), None)
    return found.layout if found else None
