"""Which layouts a model allows, and what the fullest device of one has to hold."""

from collections.abc import Iterator
from functools import lru_cache

from calc.architecture.layers import Architecture
from calc.architecture.stages import Stage, stages
from calc.catalog.records import Engine
from calc.errors import ScenarioError
from calc.memory.budget import Budget, Demand, Layout, Load, load_budget, stage_load
from calc.planning.blocks import cut_blocks

MOST_DEVICES = 4096


@lru_cache(maxsize=2048)  # a plan asks of hundreds of models in turn
def tensor_degrees(architecture: Architecture) -> tuple[int, ...]:
    """Return the tensor-parallel degrees a model allows.

    They divide the heads of attention and the heads or channels of recurrent layers, and divide or repeat whole KV
    heads.
    """
    attentions = [kind.attention for kind in architecture.kinds if kind.attention is not None]
    divided = [attention.heads for attention in attentions]
    divided += [kind.recurrence.heads for kind in architecture.kinds if kind.recurrence is not None]
    return tuple(
        degree
        for degree in range(1, min((MOST_DEVICES, *divided)) + 1)
        if not any(heads % degree for heads in divided)
        and not any(attention.kv_heads % degree and degree % attention.kv_heads for attention in attentions)
    )


def check_layout(architecture: Architecture, layout: Layout, field: str = "parallelism") -> None:
    """Raise ScenarioError unless the model can be divided like that, naming the degrees that would work."""
    degrees = tensor_degrees(architecture)
    if layout.tensor not in degrees:
        shown = ", ".join(str(degree) for degree in degrees)
        message = f"{layout.tensor} does not divide the attention heads and their KV heads evenly; {shown} do"
        raise ScenarioError(f"{field}.tensor", message, instead=tuple(degrees[:2]))
    check_experts(architecture, layout, f"{field}.expert")
    if layout.pipeline > architecture.layer_count:
        message = f"{layout.pipeline} stages are more than the {architecture.layer_count} layers"
        raise ScenarioError(f"{field}.pipeline", message)


def check_experts(architecture: Architecture, layout: Layout, field: str) -> None:
    """Raise ScenarioError unless the model's experts can be divided over that many of the tensor and data ranks."""
    experts, ranks = architecture.experts, layout.tensor * layout.data
    if layout.expert == 1:
        return
    if not experts:
        raise ScenarioError(field, "must be 1: the model has no experts to divide")
    if layout.expert > experts:
        raise ScenarioError(field, f"must not be more than the {experts} experts of a layer, as {layout.expert} is")
    if ranks % layout.expert or (layout.tensor % layout.expert and layout.expert % layout.tensor):
        message = (
            f"{layout.expert} expert ranks cannot be taken out of {layout.tensor} tensor × {layout.data} data ranks"
        )
        raise ScenarioError(field, f"{message}: they divide the tensor ranks, or are a multiple of them")


@lru_cache(maxsize=256)
def distinct_stages(architecture: Architecture, pipeline: int) -> tuple[Stage, ...]:
    """Return the stages that can differ in memory: the first, the last, and of those between one of each content."""
    every = stages(architecture, pipeline)
    between = {stage.content: stage for stage in every[1:-1]}
    return tuple(dict.fromkeys((every[0], *between.values(), every[-1])))


@lru_cache(maxsize=256)
def fullest_stages(architecture: Architecture, pipeline: int) -> tuple[Stage, ...]:
    """Return those that can be the fullest: one between holds no more than the first or the last with its layers."""
    every = distinct_stages(architecture, pipeline)
    ends = {every[0].content, every[-1].content}
    return tuple(stage for stage in every if stage.is_first or stage.is_last or stage.content not in ends)


@lru_cache(maxsize=4096)  # a search asks for the same on many devices, and a report again
def fullest(demand: Demand, layout: Layout) -> tuple[Stage, Budget]:
    """Return the pipeline stage whose devices hold the most, with its budget."""
    budgets = [(load.stage, load_budget(demand=demand, load=load, layout=layout)) for load in loads(demand, layout)]
    return max(budgets, key=lambda pair: pair[1].total)


def loads(demand: Demand, layout: Layout) -> tuple[Load, ...]:
    """Return what the stages that can be fullest hold, which is the same for any number of sequences and replicas."""
    return tuple(
        stage_load(demand=demand, stage=stage, layout=layout)
        for stage in fullest_stages(demand.architecture, layout.pipeline)
    )


def sum_over_devices(demand: Demand, layout: Layout) -> int:
    """Return the bytes of all devices together, each counted as the fullest of its stage."""
    ranks = layout.devices // layout.pipeline
    found = [
        stage_load(demand=demand, stage=stage, layout=layout) for stage in stages(demand.architecture, layout.pipeline)
    ]
    return ranks * sum(load_budget(demand=demand, load=load, layout=layout).total for load in found)


def candidates(demand: Demand, devices: int, engine: Engine | None = None) -> list[Layout]:
    """Return the ways to divide a model over devices by tensor and pipeline parallelism, widest tensor first."""
    return list(divisions(demand, devices, engine))


def divisions(demand: Demand, devices: int, engine: Engine | None = None) -> Iterator[Layout]:
    """Iterate over the same.

    Tensor degrees are powers of two: engines start with few others, whatever the heads allow; and some with none that
    would cut blocks of the weights. For an engine that gives each device whole layers, that is the one way.
    """
    architecture = demand.architecture
    if engine is not None and engine.splits_layers:
        if devices <= architecture.layer_count:
            yield Layout(pipeline=devices)
        return
    whole = engine is not None and engine.needs_whole_blocks
    for degree in reversed(tensor_degrees(architecture)):
        if devices % degree or devices // degree > architecture.layer_count or degree.bit_count() > 1:
            continue
        if not (whole and cut_blocks(architecture, demand.weights, degree, 1)):
            yield Layout(tensor=degree, pipeline=devices // degree)


@lru_cache(maxsize=1024)  # a plan asks the same of all kinds of devices
def apart_layouts(architecture: Architecture, ranks: int) -> tuple[Layout, ...]:
    """Return the ways to let data ranks attend to their own sequences while all share the experts, most ranks first.

    There are some where tensor ranks would repeat a cache: that of latent attention, or of fewer KV heads than ranks.
    """
    repeated = any(
        kind.attention is not None and (kind.attention.latent or kind.attention.kv_heads < ranks)
        for kind in architecture.kinds
    )
    if ranks == 1 or not repeated or architecture.experts < ranks:
        return ()
    return tuple(
        Layout(tensor=tensor, data=ranks // tensor, expert=ranks)
        for tensor in tensor_degrees(architecture)
        if ranks % tensor == 0 and tensor < ranks
    )


def best_layout(demand: Demand, devices: int, engine: Engine | None = None) -> Layout | None:
    """Return the division over `devices` whose fullest device holds least, or None if there is none.

    Of equals the one with more tensor parallelism is taken: it is the faster one for a single answer.
    """
    ways = candidates(demand, devices, engine)
    if len(ways) < 2:  # nothing to compare
        return ways[0] if ways else None
    return min(ways, key=lambda layout: fullest(demand, layout)[1].total)


def division(layout: Layout) -> dict[str, int]:
    """Return a layout's degrees as a report names it: tensor and pipeline, and of the others those that divide."""
    return {name: degree for name, degree in layout._asdict().items() if degree > 1 or name in ("tensor", "pipeline")}
