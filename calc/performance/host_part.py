"""What of a model stands in the host's memory and what on devices, as operations of a pass."""

from collections.abc import Mapping
from typing import NamedTuple

from calc.architecture.routing import experts_reached
from calc.architecture.stages import Stage
from calc.memory.budget import Demand, Layout
from calc.memory.placement import Host, Placement
from calc.performance.forward import Segment, forward, rank_of
from calc.performance.operations import Experts, HostCopy, Pass, Product
from calc.performance.processor import ProcessorLaw, processor_law
from calc.performance.rank_model import RankModel
from calc.performance.totals import state_bytes


def only(operations: Pass, kinds: tuple[type, ...]) -> Pass:
    """Return the operations of some kinds; all of them where none is named."""
    return tuple(item for item in operations if isinstance(item.operation, kinds)) if kinds else operations


class HostPart(NamedTuple):
    """What stands in the host's memory, and how fast its processor works on it."""

    models: tuple[RankModel, ...]
    law: ProcessorLaw
    crossings: int  # of a pass, from the device to the host and back
    pinned: bool = False  # it stands in pinned memory, and is copied to a device without a buffer between
    spread: float = 0.0  # of experts' loads, of which those alone are copied that a pass reaches; 0: all are copied

    def copied(self, away: Pass) -> HostCopy:
        """Return the copy to a device of what a pass on the host's part reads."""
        size = state_bytes(away)
        for operation, times in away:
            if isinstance(operation, Product | Experts):
                size += times * operation.weight_bytes * self.reached(operation)
        return HostCopy("What the host keeps, to the device", size, pinned=self.pinned, read=self.law.read)

    def reached(self, operation: Product | Experts) -> float:
        """Return the share of an operation's weights that a text reaches."""
        if not self.spread or isinstance(operation, Product):
            return 1.0
        one = operation.experts, operation.active, operation.tokens, self.spread
        return min(experts_reached(*one) / operation.touched, 1.0)

    def operations(self, segments: tuple[Segment, ...]) -> Pass:
        """Return the operations of a pass on what stands here."""
        return tuple(item for model in self.models for item in forward(model, *segments))


def device_layers(demand: Demand, placement: Placement) -> Stage:
    """Return the layers that stand on devices."""
    architecture = demand.architecture
    return Stage(architecture, placement.first(architecture), architecture.layer_count)


def device_model(stage: Stage, demand: Demand, layout: Layout, placement: Placement, *, fuses: bool) -> RankModel:
    """Return what of some layers stands on devices, as if pipeline stages were one."""
    model = rank_of(stage, demand, layout, fuses=fuses)
    apart = placement.apart(stage)
    if apart.last > apart.first:
        kept = rank_of(stage._replace(first=apart.last), demand, layout, fuses=fuses).experts
        model = model._replace(experts=kept)
    return model


def host_models(demand: Demand, placement: Placement, *, fuses: bool) -> tuple[RankModel, ...]:
    """Return what of a model stands in the host's memory: whole layers, and the experts of others."""
    architecture = demand.architecture
    away = placement.host_layers(architecture)
    found = [rank_of(away, demand, Layout(), fuses=fuses)] if away.last else []
    apart = placement.apart(Stage(architecture, away.last, architecture.layer_count))
    if apart.last > apart.first:
        model = rank_of(apart, demand, Layout(), fuses=fuses)
        found.append(model._replace(matrices=(), looks=(), states=(), pointwork=(), reductions=()))
    return tuple(found)


def crossings(demand: Demand, placement: Placement) -> int:
    """Return how often a pass goes from device to host or back: around experts of a layer, and after host layers."""
    architecture = demand.architecture
    first = placement.first(architecture)
    apart = placement.apart(Stage(architecture, first, architecture.layer_count))
    mixtures = sum(
        count for kind, count in apart.kind_counts() if any(tensor.active is not None for tensor in kind.tensors)
    )
    return 2 * mixtures + (1 if first else 0)


def absorbed(model: RankModel, values: Mapping[str, float]) -> RankModel:
    """Return a model whose prompts look at latent vectors themselves, as far as an engine has it."""
    if not (values.get("absorbs_latents") or values.get("absorbs_chosen")):
        return model
    return model.absorbing(all_looks=bool(values.get("absorbs_latents")))


def worked_on(host: Host, values: Mapping[str, float], demand: Demand, placement: Placement) -> HostPart:
    """Return what a host works on under an engine's coefficients."""
    away = host_models(demand, placement, fuses=bool(values["fuses"]))
    return HostPart(
        models=tuple(absorbed(model, values) for model in away),
        law=processor_law(host, values),
        crossings=crossings(demand, placement),
        pinned=host.pinned,
        spread=values.get("expert_spread", 0.0),
    )
