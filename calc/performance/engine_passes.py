"""The passes of a demand under an engine: its coefficients, the devices of a layout, a host's part, and what drafts."""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from calc.architecture.stages import Stage
from calc.catalog import catalog
from calc.catalog.records import Accelerator
from calc.memory.budget import Demand, Layout
from calc.memory.correction import UNCORRECTED, Correction
from calc.memory.drafts import Draft
from calc.memory.placement import ON_DEVICES, Host, Placement
from calc.performance.device_rates import device_class
from calc.performance.expert_ranks import expert_ranks
from calc.performance.fabric import joined
from calc.performance.forward import CONTEXT, EXPERT, PIPELINE, TENSOR
from calc.performance.host_part import absorbed, device_layers, device_model, worked_on
from calc.performance.kernels import Kernels, kernels
from calc.performance.own_kernels import OwnKernels, first_of, own_kernels
from calc.performance.passes import Passes
from calc.performance.schedules import Schedule, schedule_of, ways_of

if TYPE_CHECKING:
    from calc.memory.served_adapters import ServedAdapters
    from calc.performance.served_adapters import Served


class Setup(NamedTuple):
    """An engine as it is started: the coefficients of its version, and the kernels that it attends with."""

    engine: str
    era: str
    values: Mapping[str, float]
    attention: str
    backend: str = ""
    serves: bool = False  # requests, of which each token is chosen and sent; else nothing is chosen


def passes_of(
    setup: Setup,
    *,
    demand: Demand,
    layout: Layout,
    accelerator: Accelerator | None,
    placement: Placement = ON_DEVICES,
    host: Host | None = None,
    places: tuple[tuple[Accelerator, Stage], ...] = (),
    correction: Correction = UNCORRECTED,
) -> Passes | None:
    """Return a demand's passes under an engine's coefficients, None where a device's rates are not known.

    `places` are the layers of each device where these are not alike.
    """
    if len(places) > 1:
        one = partial(passes_of, setup, demand=demand, placement=placement)
        return one_behind_another(one, layout, host, places=places, correction=correction)
    values = setup.values
    found, schedule = kernels_and_schedule(setup, demand, layout, accelerator, alone=placement.alone)
    if found is None and not placement.alone:
        return None
    fuses = bool(values["fuses"])
    stage = places[0][1] if places else device_layers(demand, placement)
    model = device_model(stage, demand, layout, placement, fuses=fuses)
    if layout.expert > 1:
        model = model._replace(expert_ranks=expert_ranks(values, demand, layout, accelerator))
    model = absorbed(model, values)
    classes = kernel_classes(accelerator, setup.backend) if accelerator else ()
    model = model.with_kernels(
        mixing=first_of(values, "stream_kernels", classes), indexing=first_of(values, "indexing_kernels", classes)
    )
    part = worked_on(host, values, demand, placement) if host is not None and placement.on_host else None
    passes = Passes(
        demand, layout, model, found, schedule=schedule, host=part, name=accelerator.id if accelerator else ""
    )
    passes = passes._replace(correction=correction)
    if demand.adapters is not None:
        passes = passes._replace(adapters=served_on(demand, demand.adapters, layout))
    return passes if demand.draft is None else with_drafter(passes, demand.draft, fuses=fuses)


def kernels_and_schedule(
    setup: Setup, demand: Demand, layout: Layout, accelerator: Accelerator | None, *, alone: bool = False
) -> tuple[Kernels | None, Schedule]:
    """Return the kernels of a device, and the schedule in which they run there.

    There are none where its rates are not known, or its host's processor works `alone`.
    """
    found, device = None, None if alone else accelerator
    classes = kernel_classes(device, setup.backend) if device else ()
    engine = catalog().engine(setup.engine)._replace(era=setup.era)
    ways = ways_of(engine, demand.architecture, classes, serves=setup.serves)
    if device is not None:
        own = own_kernels(
            setup.values, setup.attention, classes, ways.triton, ranks=layout.tensor, longest=demand.longest
        )
        found = device_kernels(device, layout, setup.engine, own)
    schedule = schedule_of(
        setup.values,
        era=setup.era,
        weights=demand.weights,
        accelerator=accelerator if found else None,
        market=device_class(accelerator) if accelerator else "",
        backend=setup.backend,
        attention=setup.attention,
        layout=layout,
        ways=ways,
    )
    return found, schedule


def one_behind_another(
    one: Callable[..., Passes | None],
    layout: Layout,
    host: Host | None,
    *,
    places: tuple[tuple[Accelerator, Stage], ...],
    correction: Correction,
) -> Passes | None:
    """Return the passes through devices that are not alike; what stages send, and the host's part, are the first's."""
    found = [
        one(
            layout=Layout() if place else layout,
            host=None if place else host,
            accelerator=device,
            places=((device, stage),),
        )
        for place, (device, stage) in enumerate(places)
    ]
    whole = [passes for passes in found if passes is not None]
    if len(whole) < len(places):
        return None
    return whole[0]._replace(behind=tuple(whole[1:]), correction=correction)


def with_drafter(passes: Passes, draft: Draft, *, fuses: bool) -> Passes:
    """Return passes with those of what drafts: on the same ranks, in the same step or each behind the host."""
    passes = passes._replace(draft=draft)
    if draft.architecture is None or draft.weights is None:
        return passes
    demand = passes.demand._replace(architecture=draft.architecture, weights=draft.weights, group=None, draft=None)
    demand = demand._replace(adapters=None)
    layout = passes.layout._replace(pipeline=1, context=1)
    schedule = passes.schedule._replace(weights=draft.weights, found={}, found_grouped={})
    if not schedule.of("drafts_apart"):
        schedule = schedule._replace(step_s=0.0, sequence_s=0.0)
    model = device_model(device_layers(demand, ON_DEVICES), demand, layout, ON_DEVICES, fuses=fuses)
    return passes._replace(drafter=Passes(demand, layout, model, passes.kernels, schedule=schedule))


def kernel_classes(accelerator: Accelerator, backend: str = "") -> tuple[str, ...]:
    """Return what an engine's own kernels may differ by on a device, the narrowest first."""
    kind, vendor = accelerator.architecture, accelerator.vendor
    classes = f"{kind} {backend}", f"{vendor} {backend}", f"{kind} {device_class(accelerator)}", kind, vendor
    return classes if accelerator.quantity("dies") is None else (f"{vendor} of two dies", *classes)


@lru_cache(maxsize=512)  # a search asks for those of each model and number format, which have the same laws
def device_kernels(accelerator: Accelerator, layout: Layout, engine: str, own: OwnKernels) -> Kernels | None:
    """Return the kernels of a device whose ranks are joined as a layout has it."""
    found = kernels(accelerator, engine=engine, own=own)
    if found is None:
        return None
    if layout.tensor > 1 or layout.pipeline > 1:
        found.group(TENSOR, joined(accelerator, ranks=layout.tensor))
        found.group(PIPELINE, joined(accelerator, ranks=2, stride=layout.tensor))
        found.group(CONTEXT, joined(accelerator, ranks=layout.context, stride=layout.tensor))
        found.group(EXPERT, joined(accelerator, ranks=layout.expert))
    return found


def served_on(demand: Demand, adapters: "ServedAdapters", layout: Layout) -> "Served":
    """Return the adapters of a demand on one rank, as if its pipeline stages were one."""
    from calc.memory.served_adapters import adapted  # few scenarios ask for it
    from calc.performance.served_adapters import Served

    whole = Stage(demand.architecture, 0, demand.architecture.layer_count)
    groups = adapted(whole, adapters.each, tensor_parallel=layout.tensor, expert_parallel=layout.expert)
    return Served(adapters, tuple(groups))
