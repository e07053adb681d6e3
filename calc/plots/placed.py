"""A scenario on its devices, asked again and again with other lengths and other numbers of sequences."""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from calc.catalog import catalog
from calc.catalog.records import Accelerator
from calc.errors import ScenarioError
from calc.memory.budget import Budget, Demand, Layout
from calc.memory.placement import Host
from calc.planning.fit import most_sequences
from calc.planning.layout import fullest
from calc.question import Asked, read_asked, read_hosted, settle_layout
from calc.scenario.device import read_accelerator
from calc.scenario.fields import MOST_TOKENS
from calc.scenario.reader import Reader, whole

if TYPE_CHECKING:
    from calc.planning.serving import Serving

LENGTHS = ("context_tokens", "prompt_tokens", "output_tokens", "cached_tokens")


class Need(NamedTuple):
    """What is needed of a device, and what may be: all that it reports, or an engine's share and what lies outside."""

    used_bytes: int  # cache that an engine sets aside is not needed until it is used
    limit_bytes: int | None  # None without a device

    @property
    def fits(self) -> bool:
        """Whether the device has it."""
        return self.limit_bytes is not None and self.used_bytes <= self.limit_bytes


class Placed(NamedTuple):
    """A scenario with the layout of its devices, which stays as it is while other things change."""

    scenario: Mapping[str, object]
    asked: Asked
    demand: Demand
    layout: Layout
    accelerator: Accelerator | None
    host: Host | None

    def serving(self, **changes: object) -> "Serving | None":
        """Return the scenario's engine on its devices with something else asked of it, None without an engine."""
        return self.asked._replace(**changes).serving(self.accelerator, self.host)  # type: ignore[arg-type]

    def demand_of(self, *, tokens: int, sequences: int) -> Demand:
        """Return the demand with another context and another number of sequences, as a scenario of them has it."""
        others = {name: value for name, value in self.scenario.items() if name not in LENGTHS}
        return read_asked(Reader({**others, "context_tokens": tokens})).demand._replace(sequences=sequences)

    def budget(self, demand: Demand) -> Budget:
        """Return what a demand needs of the fullest device by the mathematics."""
        return fullest(demand, self.layout)[1]

    def need(self, demand: Demand) -> Need:
        """Return what a demand needs of the fullest device, under the scenario's engine if there is one."""
        serving = self.serving()
        if serving is None:
            return Need(self.budget(demand).total, self.accelerator and self.accelerator.capacity_bytes)
        runtime = serving.fullest(demand, self.layout)[1]
        return Need(runtime.used, runtime.usable)

    def most_sequences(self, tokens: int) -> int:
        """Return the most sequences of a length that fit at once, 0 where none does or without a device."""
        demand = self.demand_of(tokens=tokens, sequences=1)
        serving = self.serving()
        if serving is not None:
            return serving.most_sequences(demand, self.layout) * self.layout.data
        return most_sequences(demand, self.layout, self.accelerator.capacity_bytes) if self.accelerator else 0

    def where(self) -> str:
        """Return on what the model stands, in words; empty without a device."""
        if self.accelerator is None:
            return ""
        engine = f" under {self.asked.engine.name}" if self.asked.engine else ""
        devices = self.layout.devices
        return f" on {f'{devices} × ' if devices > 1 else ''}{self.accelerator.name}{engine}"


def place(scenario: Mapping[str, object]) -> Placed:
    """Return a scenario of inference on its devices. Raises ScenarioError for whatever is wrong with it."""
    if isinstance(scenario.get("accelerator"), list):
        raise ScenarioError("accelerator", "lists devices that are not alike: this plot is of one kind")
    reader = Reader(scenario)
    asked = read_asked(reader)
    accelerator = read_accelerator(reader, catalog())
    sequences = asked.concurrency or whole(reader.take("sequences"), "sequences", 1, MOST_TOKENS)
    demand = asked.demand._replace(sequences=sequences)
    layout = settle_layout(reader, demand, asked, accelerator)
    host = read_hosted(reader, asked, layout, accelerator)
    used = None if asked.placement.alone else accelerator
    return Placed(scenario, asked, demand, layout=layout, accelerator=used, host=host)


def in_words(sequences: int) -> str:
    """Return a number of sequences in words."""
    return "1 sequence" if sequences == 1 else f"{sequences:,} sequences"


def last(holds: Callable[[int], bool], low: int, high: int, guess: int) -> int:
    """Return the last number for which something holds that holds for `low` and not for `high`.

    A guess that is right, or nearly, saves most of the search.

    >>> last(lambda number: number <= 70, 0, 1000, 70), last(lambda number: number <= 70, 0, 1000, 3)
    (70, 70)
    """
    for place in (guess, guess + 1):
        if low < place < high:
            low, high = (place, high) if holds(place) else (low, place)
    return low + bisect_left(range(low + 1, high), True, key=lambda number: not holds(number))
