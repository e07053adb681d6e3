"""What would make it fit, by where it stands: another engine or layout, the host's memory, more or other devices."""

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from math import ceil

from calc.catalog import Catalog
from calc.catalog.records import Accelerator, Engine
from calc.memory.budget import Layout
from calc.memory.placement import ON_DEVICES, Placement
from calc.planning.changes import HARDWARE, NONE, SPEED, Repair, Trial, Wanted, under
from calc.planning.layout import apart_layouts, best_layout
from calc.planning.serving import Serving
from calc.planning.usual_engine import usual_engine
from calc.units import GIB, show_count

MOST_BUILT = 16  # devices of two machines
LAPTOP = "laptop"
NOT_OFFERED = ("announced", "modified")
LEFT_TO_SYSTEM = 8  # GiB of a memory that a GPU shares, beside what it is given


def of_layout(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over divisions of as many devices that the engine starts with: with whole experts, or fewer ranks."""
    demand, layout, engine = wanted.demand, wanted.layout, wanted.engine
    ranks = layout.tensor * layout.data
    whole = layout._replace(expert=ranks) if 1 < ranks <= demand.architecture.experts else None
    best = best_layout(wanted.serving.in_pieces(demand) if wanted.serving else demand, layout.devices, engine)
    for other, how in ((whole, "Leave experts whole, on ranks of their own"), (best, "")):
        if other is None or other == layout or not wanted.able(engine, demand.weights, layout=other):
            continue
        words = how or f"Divide it over {other.tensor} tensor ranks and {other.pipeline} pipeline stages"
        yield from wanted.fitting(wanted.trial(demand, other), {"parallelism": other._asdict()}, words, NONE)


def of_shared_memory(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over a larger part of a memory that processor and GPU share, which the driver gives where it is told to.

    A Mac gives three quarters until `iogpu.wired_limit_mb` says otherwise, Linux on AMD a half until `ttm.pages_limit`.
    """
    device = wanted.accelerator
    if not device.shares_host_memory or "memory_usable" not in device.facts or is_limited(wanted):
        return
    most = int(device.facts["memory"].value) // GIB - LEFT_TO_SYSTEM
    now = wanted.trial(wanted.demand, whole=True)
    for short in (now.lacking, now.missing):
        if (size := ceil((device.capacity_bytes + max(short, -now.room)) / GIB)) <= most:
            given = device.limited_to(size * GIB, device.memory_fact.source)
            words = f"Let the driver give the GPU {size} GiB of the memory that they share"
            yield from wanted.fitting(
                on_device(wanted, given).trial(wanted.demand), {"memory_limit": f"{size} GiB"}, words, NONE
            )


def of_attention(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over data parallelism of attention, where tensor ranks repeat what one cache holds.

    Each data rank caches its own sequences alone, and all ranks share the experts, as DeepSeek-V3 is served
    (arXiv:2412.19437).
    """
    layout, engine = wanted.layout, wanted.engine
    if layout.data > 1 or layout.context > 1 or (engine is not None and engine.splits_layers):
        return
    for apart in apart_layouts(wanted.demand.architecture, layout.tensor):
        apart = apart._replace(pipeline=layout.pipeline)
        message = f"Let {show_count(apart.data)} ranks cache sequences of their own (data parallelism of attention)"
        change: dict[str, object] = {"parallelism": apart._asdict(), "accelerators": None}
        left = wanted.trial(wanted.demand, apart)
        yield from wanted.fitting(left, change, f"{message}, and divide the experts over all", NONE)


def of_engine(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the engine that runs the model as it is, where the one asked for, or its version, does not."""
    demand, engine = wanted.demand, wanted.engine
    other = usual_engine(
        facts=wanted.facts,
        device=wanted.accelerator,
        weights=demand.weights,
        architecture=demand.architecture,
        caches=demand.cache_formats,
    )
    if other is None or wanted.serving is None or (engine is not None and engine.id == other.id and not engine.version):
        return
    serving = in_place_of(wanted.serving, other)
    layout = best_layout(serving.in_pieces(demand), wanted.layout.devices, other)
    if layout is not None and wanted.able(other, demand.weights, layout=layout):
        trial = wanted.trial(demand, layout, serving)
        yield from wanted.fitting(trial, change_to(other, layout), f"Run it under {other.name}", NONE)


def in_place_of(serving: Serving, engine: Engine) -> Serving:
    """Return a demand under another engine, without what was said of the first."""
    return under(serving, engine=engine, fraction=None, placement=ON_DEVICES, host=None, batched_tokens=None)


def change_to(engine: Engine, layout: Layout) -> dict[str, object]:
    """Return the change of a scenario to another engine."""
    of_another = ("memory_fraction", "gpu_layers", "experts_on_host", "host", "engine_version", "backend")
    left_out = dict[str, object].fromkeys((*of_another, "batched_tokens", "graphs", "videos"))
    return {"engine": engine.id, **left_out, "parallelism": layout._asdict() if layout.devices > 1 else None}


def of_experts(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the fewest layers whose experts stay in host memory under llama.cpp, the rest on the device."""
    serving, demand = wanted.serving, wanted.demand
    if serving is None or not leaves_nothing(wanted) or not demand.architecture.experts:
        return
    layers = demand.architecture.layer_count

    def held(whole: int) -> Trial:  # one layer fewer with its experts, as none may be the most
        return wanted.trial(demand, serving=under(serving, placement=Placement(None, layers + 1 - whole)))

    for whole, left in wanted.most(held, 1, layers):
        away = layers + 1 - whole
        message = f"Leave the experts of {away} of {layers} layers in the host's memory"
        yield from wanted.fitting(left, {"experts_on_host": away}, message, SPEED)


def leaves_nothing(wanted: Wanted) -> bool:
    """Return whether an engine could leave parts of a model in the host's memory, and leaves none so far."""
    serving, layout = wanted.serving, wanted.layout
    if serving is None or serving.engine.id != "llama.cpp" or serving.placement.on_host:
        return False
    if wanted.accelerator.shares_host_memory:  # whose memory the host's is
        return False
    if wanted.demand.draft is not None or wanted.demand.adapters is not None:  # which need the whole device
        return False
    return layout.devices == layout.pipeline


def of_layers(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the most layers that stand on the device under llama.cpp, the others in host memory."""
    serving, demand = wanted.serving, wanted.demand
    if serving is None or not leaves_nothing(wanted):
        return
    layers = demand.architecture.layer_count

    def held(count: int) -> Trial:
        return wanted.trial(demand, serving=under(serving, placement=Placement(count)))

    for most, left in wanted.most(held, 1, layers - 1):
        message = f"Leave {layers - most} of {layers} layers in the host's memory"
        yield from wanted.fitting(left, {"gpu_layers": most}, message, SPEED)


def of_devices(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over more devices of the kind, in numbers that machines and engines are made for.

    Where whole layers are tight on some of them and do not surely fit on the most either, they do on none.
    """
    engine, now = wanted.engine, wanted.layout.devices
    if not wanted.accelerator.sold_in_multiples or wanted.needed > MOST_BUILT:
        return
    by_layers = engine is not None and engine.splits_layers
    demand = wanted.serving.in_pieces(wanted.demand) if wanted.serving else wanted.demand
    built = range(now + 1, MOST_BUILT + 1) if by_layers else (2, 4, 8, MOST_BUILT)
    counts, most = [count for count in built if count > now and count >= wanted.needed], None
    for count in counts:
        if (layout := best_layout(demand, count, engine)) is None:
            continue
        left = wanted.trial(wanted.demand, layout)
        change: dict[str, object] = {"accelerators": count, "parallelism": layout._asdict()}
        yield from wanted.fitting(left, change, f"Take {show_count(count)} of them", HARDWARE)
        if by_layers and most is None and left.fits and not left.sure:
            most = next(found for more in reversed(counts) if (found := best_layout(demand, more, engine)))
            if not wanted.trial(wanted.demand, most).sure:
                return


def of_other_devices(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over devices of the same maker and kind with more memory, the smallest that hold it first.

    Where the one with the most memory does not hold it, none does. Where it surely holds it there, others on which that
    is tight are no help: those are left out that cannot do better, by what a smaller one has shown.
    """
    device, layout = wanted.accelerator, wanted.layout

    def is_able(other: Accelerator) -> bool:
        return not wanted.too_small(other, wanted.held) and wanted.able(wanted.engine, wanted.demand.weights, other)

    found = of_kind(wanted.facts, device.vendor, device.segment, laptop=device.text("form") == LAPTOP)
    larger = found[bisect_right(found, device.capacity_bytes, key=lambda other: other.capacity_bytes) :]
    others = [other for other in larger if layout.devices == 1 or other.sold_in_multiples]
    largest = next(filter(is_able, reversed(others)), None)
    most = on_device(wanted, largest).trial(wanted.demand) if largest else None
    if most is None or not most.fits:
        return
    said = ("memory_limit", "display", "power_limit") if is_limited(wanted) else ()
    left_out, least = dict[str, object].fromkeys(said), 0
    for other in others:
        if other.capacity_bytes < least or not is_able(other):
            continue
        there = on_device(wanted, other)
        left = there.trial(wanted.demand)
        if most.sure and left.fits and not left.sure:
            least = there.surely_on_larger()
        yield from wanted.fitting(left, {"accelerator": other.id, **left_out}, f"Take {other.name}", HARDWARE)


@lru_cache(maxsize=64)
def of_kind(facts: Catalog, vendor: str, segment: str, *, laptop: bool) -> list[Accelerator]:
    """Return a maker's devices of a kind that one can have as it made them, those with the least memory first."""
    found = [
        other
        for other in facts.accelerators()
        if (other.vendor, other.segment) == (vendor, segment)
        and (other.text("form") == LAPTOP) == laptop
        and other.availability not in NOT_OFFERED
    ]
    return sorted(found, key=lambda other: (other.capacity_bytes, other.released))


def is_limited(wanted: Wanted) -> bool:
    """Return whether a scenario says of the device what is not so of another one: of its memory, or its power."""
    return wanted.accelerator != wanted.facts.accelerator(wanted.accelerator.id)


def on_device(wanted: Wanted, other: Accelerator) -> Wanted:
    """Return the same on another device."""
    return wanted._replace(
        accelerator=other, serving=under(wanted.serving, accelerator=other) if wanted.serving else None
    )
