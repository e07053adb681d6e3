"""On how few devices an engine serves a demand, and over how many ranks and stages it is divided there."""

from functools import cache
from math import inf

from calc.architecture.stages import Stage
from calc.memory.budget import Demand, Layout
from calc.memory.engines import run
from calc.memory.runtime import Case
from calc.planning.fit import fewest
from calc.planning.layout import MOST_DEVICES, candidates, fullest, fullest_stages, tensor_degrees
from calc.planning.serving import Serving


def devices_needed(serving: Serving, demand: Demand, asked: Layout, *, fits: bool) -> Layout | None:
    """Return the layout of the fewest devices that serve the demand; None if `MOST_DEVICES` do not.

    Tried are the engine's usual layouts of each number of devices, and the one asked for, of which `fits` says
    whether it serves. A computer of one's own stands alone, unless several of them are asked for.
    """
    engine, device = serving.engine, serving.accelerator
    if device is None or serving.placement.on_host or serving.devices:
        return None
    own = asked if fits else None
    tensor = 1 if engine.splits_layers else max(tensor_degrees(demand.architecture))
    most = own.devices - 1 if own else min(demand.architecture.layer_count * tensor, MOST_DEVICES)
    if asked.devices == 1 and not device.sold_in_multiples:
        most = min(most, 1)
    most = int(min(most, engine.most_devices))
    if most < 1 or not serving.fits_host(demand):
        return own
    least = max(1, fullest(demand, Layout())[1].held // max(device.capacity_bytes, 1))
    enough = cache(lambda tensor: least_stages(serving, demand, tensor))
    beyond = set[tuple[int, object]]()  # tensor ranks, and layers of a stage between others that are too much for them

    def fits_on(layout: Layout) -> bool:
        """Return whether a layout serves; layers that were too much in fewer stages still are."""
        every = fullest_stages(demand.architecture, layout.pipeline)
        if not beyond.isdisjoint((layout.tensor, stage.content) for stage in every):
            return False
        full = serving.beyond(serving.full_cases(demand, layout))
        if full is not None and not full.stage.is_first and not full.stage.is_last and is_too_much(serving, full):
            beyond.add((layout.tensor, full.stage.content))
        return full is None

    def fitting(count: int) -> Layout | None:
        ways = candidates(demand, count, engine)
        likely = (layout for layout in ways if layout.pipeline == 1 or layout.pipeline >= enough(layout.tensor))
        return next((layout for layout in likely if fits_on(layout)), None)

    return fewest(least, most, fitting) or own


def is_too_much(serving: Serving, case: Case) -> bool:
    """Return whether a stage needs more than an engine's share of the device, which more ranks do not make larger."""
    if case.overfull:
        return True
    runtime = serving.runtime(case)
    return runtime.limit is not None and runtime.needed > runtime.limit


def least_stages(serving: Serving, demand: Demand, tensor: int) -> float:
    """Return the fewest stages, of two and more, in which so many tensor ranks may serve a demand; inf where none.

    Stages share what the layers hold of weights and cache; what stands before the first layer is left out, as some
    engines keep it elsewhere.
    """
    architecture, halves = demand.architecture, Layout(tensor=tensor, pipeline=2)
    if is_beyond(serving, demand, halves):
        return inf
    shared = serving.case(demand, halves, Stage(architecture, 1, architecture.layer_count))
    return (shared.budget.weights + shared.budget.kv_cache) / max(shared.visible or 0, 1)


def is_beyond(serving: Serving, demand: Demand, halves: Layout) -> bool:
    """Return whether the last layer with the output matrix is too much in two stages, and so in any number of them.

    More of them lessen neither what it takes, nor what stands beside an engine's share of the device; the share itself
    some engines make smaller, by the number of ranks, until it fits: a stage for each layer has the smallest one.
    """
    layers = demand.architecture.layer_count
    last = Stage(demand.architecture, layers - 1, layers)
    few = run(serving.case(demand, halves, last))
    assert few.limit is not None
    if few.fits or few.needed > few.limit:
        return not few.fits
    many = run(serving.case(demand, halves._replace(pipeline=layers), last))
    assert many.limit is not None
    return many.needed <= many.limit and not many.fits
