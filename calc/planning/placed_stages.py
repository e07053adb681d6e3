"""The layers of a model on the stages of a layout: of devices alike or not, and beside those in a host's memory."""

from itertools import pairwise

from calc.architecture.stages import Stage, stages
from calc.catalog.records import Accelerator, Engine
from calc.memory.budget import Demand, Layout
from calc.memory.context import context_bytes
from calc.memory.placement import Placement, split_layers
from calc.memory.runtime import visible_bytes
from calc.planning.layout import distinct_stages


class PlacedStages:
    """Which layers stand on which devices under an engine."""

    def __init__(
        self, engine: Engine, *, placement: Placement, devices: tuple[Accelerator, ...], split: tuple[float, ...]
    ) -> None:
        self.engine, self.placement = engine, placement
        self.devices, self.split = devices, split  # where they are not alike, and the layers' shares on them

    @property
    def placed(self) -> bool:
        """Whether it is said which layers stand where: on devices that are not alike, or some in the host's memory."""
        return bool(self.devices) or (self.placement.on_host and not self.placement.alone)

    def stages(self, demand: Demand, layout: Layout) -> tuple[Stage, ...]:
        """Return the stages that can differ; the last layers alone, where only some stand on the devices."""
        if self.placed:
            return tuple(self.placed_stages(demand, layout))
        return distinct_stages(demand.architecture, layout.pipeline)

    def placed_stages(self, demand: Demand, layout: Layout) -> list[Stage]:
        """Return the stages of all layers that stand on devices."""
        architecture, first = demand.architecture, self.placement.first(demand.architecture)
        if self.devices:
            return [stage for _, stage in self.places(demand)]
        if not first:
            return stages(architecture, layout.pipeline)
        layers = architecture.layer_count - first
        count = min(layout.pipeline, layers)
        cuts = [first + layers * part // count for part in range(count + 1)]
        return [Stage(architecture, start, end) for start, end in pairwise(cuts)]

    def places(self, demand: Demand) -> list[tuple[Accelerator, Stage]]:
        """Return the layers of each device where they are not alike: by `split`, or by their free memory."""
        if not self.devices:
            return []
        architecture, start = demand.architecture, self.placement.first(demand.architecture)
        free = [
            max(visible_bytes(device, self.engine) - context_bytes(self.engine, device), 0) for device in self.devices
        ]
        found = []
        counts = split_layers(architecture.layer_count - start, self.split or free)
        for device, count in zip(self.devices, counts, strict=True):
            if count:
                found.append((device, Stage(architecture, start, start + count)))
            start += count
        return found

    def key(self, stage: Stage) -> tuple[object, ...]:
        """Return what stages have in common that hold the same."""
        apart, place = self.placement.apart(stage), stage.first if self.devices else 0
        return stage.is_first, stage.is_last, stage.content, apart.last - apart.first, place
