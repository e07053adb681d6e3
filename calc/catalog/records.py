"""What the catalogue holds: accelerators, models, number formats; each fact with unit, basis, source and date."""

import datetime
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from calc.catalog.schema import PRICE_STALE_DAYS
from calc.units import from_base, show_number

T = TypeVar("T")


class Source(NamedTuple):
    """A document that facts were taken from."""

    id: str
    title: str
    publisher: str
    kind: str
    url: str
    note: str
    checked: str
    dated: str = ""  # year, month or day of its publication, where that is known


class Fact(NamedTuple):
    """One value with where it is from. A quantity is in its base unit; `unit` is the one it is printed in."""

    value: float | str
    unit: str
    basis: str
    source: str
    checked: str
    note: str
    sparse: float = 0  # the maker's rate with structured sparsity, where it prints one

    def show(self) -> str:
        """Return the value as a reader expects it, in the unit of its source."""
        if isinstance(self.value, str):
            return self.value
        value = from_base(self.value, self.unit)
        text = f"{value:,.0f}" if value == int(value) else show_number(value, 4).rstrip("0").rstrip(".")
        return f"{text} {self.unit}"


class Disagreement(NamedTuple):
    """A second source that says something else, and why it was not followed."""

    field: str
    value: float | str
    unit: str
    source: str
    note: str


class Mismatch(NamedTuple):
    """Two published facts of one device that do not agree with each other, and why."""

    check: str  # one of CROSS_CHECKS
    field: str
    reason: str


class Accelerator(NamedTuple):
    """What software sees as one device, with its own memory. `facts` are found by the names in `ACCELERATOR_FACTS`.

    Where a package or board holds several such devices, every fact is one device's share, and `devices_per_package`
    says how many there are.
    """

    id: str
    name: str
    aliases: tuple[str, ...]
    vendor: str
    segment: str
    architecture: str
    released: str
    availability: str  # one of AVAILABILITY
    facts: dict[str, Fact]
    also: tuple[Disagreement, ...]
    exceptions: tuple[Mismatch, ...] = ()

    def quantity(self, field: str) -> float | None:
        """Return the fact `field` in its base unit, None where it is not known."""
        fact = self.facts.get(field)
        return None if fact is None or isinstance(fact.value, str) else fact.value

    def text(self, field: str) -> str:
        """Return the text fact `field`, empty where it is not known."""
        fact = self.facts.get(field)
        return fact.value if fact is not None and isinstance(fact.value, str) else ""

    @property
    def memory_fact(self) -> Fact:
        """The memory a program can count on: what it is given where that is known, or what the driver reports."""
        return self.facts.get("memory_usable") or self.facts.get("memory_reported") or self.facts["memory"]

    @property
    def capacity_bytes(self) -> int:
        """`memory_fact` in bytes."""
        return int(self.memory_fact.value)

    def limited_to(self, size_bytes: int, source: str) -> "Accelerator":
        """Return the device with that much of its memory for programs."""
        limit = self.memory_fact._replace(value=size_bytes, unit="GiB", basis="program", source=source, note="")
        return self._replace(facts={**self.facts, "memory_usable": limit})

    def on_pcie(self, way: str) -> "Accelerator":
        """Return the device in a slot of a generation and so many lanes: "4.0 x8"."""
        slot = self.facts.get("pcie", self.facts["memory"])._replace(value=way, unit="", basis="")
        return self._replace(facts={**self.facts, "pcie": slot})

    @property
    def sixteen_bit(self) -> Fact | None:
        """The dense matrix rate in 16 bit: of BF16 where the device has it, else of FP16; None if neither is known."""
        return self.facts.get("bf16") or self.facts.get("fp16")

    @property
    def devices_per_package(self) -> int:
        """How many such devices make up what one buys: a package or a board."""
        return int(self.quantity("devices_per_package") or 1)

    @property
    def link_bytes_per_s_one_way(self) -> float | None:
        """What the device's link carries in one direction, all its ports together: half of `link_bandwidth`."""
        both = self.quantity("link_bandwidth")
        return None if both is None else both / 2


class Coefficient(NamedTuple):
    """Something measured that no formula gives: a size in bytes, or a ratio with the range of its measurements."""

    id: str
    name: str
    value: float
    unit: str
    low: float
    high: float
    summary: str
    rows: str  # the measurements it comes from
    source: str
    checked: str


class Model(NamedTuple):
    """A published model with the sizes from its `config.json`."""

    id: str
    name: str
    repositories: tuple[str, ...]
    finetunes: tuple[str, ...]  # repositories of others with the same shape under names of their own
    aliases: tuple[str, ...]
    organization: str
    licence: str
    released: str
    gated: bool
    context_tokens: int
    config: dict[str, object]
    source: str
    checked: str
    note: str
    published: dict[
        str, dict[str, object]
    ]  # those of the repositories that store it otherwise, with what they say of it


class NumberFormat(NamedTuple):
    """How weights or cache entries are stored: bits of an element and what is stored beside a group of them."""

    id: str
    name: str
    aliases: tuple[str, ...]
    bits: float
    scope: str  # one of SCOPES: which tensors it is for where nothing else is said
    group: int  # elements that share a scale; 0 if none do
    group_rows: int  # rows over which a group extends: 1, or the height of a block
    group_bits: int  # scale and zero point of a group
    outer_group: int  # groups that share a second scale; 0 if none do
    outer_bits: int
    row_bits: int  # stored for each output feature
    column_bits: int  # stored for each input feature
    tensor_bytes: int  # stored once for each tensor
    flattened: bool  # groups run over the whole tensor, not along each row
    cache: bool  # engines keep KV caches in it
    native: str  # the accelerator fact that shows the hardware computes in it; empty if it is unpacked to 16 bit
    kernel: str  # how matrices in it are multiplied: a law of kernels.toml
    suffixes: tuple[str, ...]  # ends of repository names that say so
    summary: str
    source: str
    checked: str


class EngineCoefficient(NamedTuple):
    """A number that an engine's code sets or that measurements gave: where it is from, and what it stands for."""

    value: float
    unit: str
    versions: str
    rows: tuple[str, ...]  # ids of the measured rows that it was estimated from
    source: str
    checked: str
    reason: str


class Era(NamedTuple):
    """Versions of an engine that work alike."""

    id: str  # as coefficients name it
    name: str
    first: str  # version
    measured: str  # versions of its measurements, empty where there are none
    reason: str
    source: str

    def reached(self, version: tuple[int, ...]) -> bool:
        """Return whether a version is of this era or a later one."""
        return version >= version_numbers(self.first)


def version_numbers(version: str) -> tuple[int, ...]:
    """Return a version's numbers, to be compared.

    >>> version_numbers("0.19.0"), version_numbers("b9849")
    ((0, 19, 0), (9849,))
    """
    return tuple(int(number) for number in re.findall(r"\d+", version))


OF_GRAPHS = ("cuda_graphs", "cuda_graph_layer", "captured_sequences")  # what recorded graphs hold and spare


class Engine(NamedTuple):
    """A program that runs models, with what it takes on top of the mathematics."""

    id: str
    name: str
    aliases: tuple[str, ...]
    versions: str
    summary: str
    usual_on: tuple[str, ...]  # segments of devices on which most people take it
    formats: tuple[str, ...]  # number formats that its users go down to, one after the other
    drafters: tuple[str, ...]  # ways to draft tokens ahead that it has
    platforms: str  # the source that lists the devices it runs on
    source: str
    checked: str
    coefficients: dict[str, EngineCoefficient]
    values: dict[str, float]  # the coefficients' values alone, in base units
    eras: tuple[Era, ...] = ()  # oldest first
    era: str = ""  # the one that is asked of
    version: str = ""  # the one that is asked of; empty for the newest
    latents: str = ""  # the version that first cached latent vectors as they are; empty: all did
    graphs: bool = True  # it records graphs of its kernels

    def of_version(self, version: str | None = None) -> "Engine":
        """Return the engine in the era of a version; None: the newest that has measurements."""
        if not self.eras:
            return self._replace(version=version or "")
        numbers = version_numbers(version or "")
        known = (era.id for era in reversed(self.eras) if (era.reached(numbers) if version else era.measured))
        found = self._replace(era=next(known, self.eras[0].id), version=version or "")
        return found._replace(coefficients=found.as_of_era(self.coefficients)).valued(self.values)

    @property
    def from_era(self) -> tuple[str, ...]:
        """The ids of the engine's era and of those after it; none where no era is asked of."""
        known = tuple(era.id for era in self.eras)
        return known[known.index(self.era) :] if self.era else ()

    def as_of_era(self, named: Mapping[str, T]) -> dict[str, T]:
        """Return what is named, as of the engine's era: of what changed, the first from there on.

        `name@era` holds for an era and those before it that name none.
        """
        found = dict(named)
        for era in reversed(self.from_era):
            end = f"@{era}"
            found |= {name.removesuffix(end): value for name, value in named.items() if name.endswith(end)}
        return found

    def valued(self, values: Mapping[str, float]) -> "Engine":
        """Return the engine with other values, as of its era; without graphs, none holds memory or spares launches."""
        found = self.as_of_era(values)
        return self._replace(
            values=found if self.graphs else found | {name: 0.0 for name in OF_GRAPHS if name in found}
        )

    def coefficient(self, name: str) -> EngineCoefficient:
        """Return a coefficient with its source, as of the engine's era."""
        return self.coefficients[name]

    @property
    def is_timed(self) -> bool:
        """Whether measurements say how fast it is."""
        return "weights_factor" in self.values

    @property
    def splits_layers(self) -> bool:
        """Whether the engine gives each device whole layers, unless it is told to divide each of them."""
        return bool(self.values.get("splits_layers"))

    @property
    def expands_latents(self) -> bool:
        """Whether the version that is asked of caches keys and values of all heads in place of latent vectors."""
        return bool(self.latents and self.version) and version_numbers(self.version) < version_numbers(self.latents)

    @property
    def needs_whole_blocks(self) -> bool:
        """Whether the engine starts only where tensor parallelism cuts no block of the weights."""
        return bool(self.values.get("whole_blocks"))

    def whole(self, name: str) -> int:
        """Return a coefficient that counts bytes, tokens or sequences."""
        return round(self.values[name])


class KernelFamily(NamedTuple):
    """Devices that kernels run alike on: of an architecture and class, with the family that it is like."""

    id: str
    name: str
    covers: tuple[str, ...]  # "architecture/class", or a maker's name for what no other family covers
    measured: tuple[str, ...]  # ids of the devices whose kernels were measured
    like: str  # the family whose laws serve where this one has none
    matrix_factor: float  # on the share of the rate that the family it is like reaches
    memory_factor: float  # the same of the bandwidth
    operations_per_byte: float  # of bandwidth, where the maker publishes no rate
    least_rows: float  # of a product that the smallest matrix instruction works on, however few there are
    reason: str
    source: str
    checked: str


class KernelLaw(NamedTuple):
    """How long a kind of kernel takes on a family of devices: numbers by name, for `calc.performance.kernel_laws`."""

    id: str
    name: str
    family: str
    kind: str
    kernels: tuple[str, ...]
    engines: tuple[str, ...]  # whose own kernels these are; empty: those of most
    rate: str  # the accelerator fact that arithmetic is measured against
    values: dict[str, float]
    error: float  # median of |log(computed / measured)| on shapes that were left out of the fit
    rows: int  # measurements behind it, 0 where nobody measured it
    reason: str
    source: str
    checked: str


class Mixture(NamedTuple):
    """What llama.cpp stores a whole model in: the name of rules that choose a number format for each tensor."""

    id: str
    name: str
    aliases: tuple[str, ...]
    base: str  # the number format of tensors that no rule gives another one
    importance_matrix: bool  # whether the file is made with one, which some rules look at
    summary: str
    source: str
    checked: str
    stored_as: Callable[[str], NumberFormat]  # finds a number format by its id
    native: str = ""  # no device computes in one: weights are unpacked
    perplexity: float = 0.0  # added to that of Llama 3 8B; 0 where nobody measured it


class Rule(NamedTuple):
    """Which tensors of a recipe are in another number format: by their block, or by the names that modules have."""

    number_format: NumberFormat
    block: str = ""
    pattern: str = ""  # a regular expression
    layers: frozenset[int] | None = None  # None: all
    in_layer: bool = False  # the pattern is for a name within a layer, not for one from the model down
    by_number: bool = False  # the pattern looks at numbers of layers


class Recipe(NamedTuple):
    """What a repository stores a model in: one number format, and where it has another one; the last rule decides."""

    id: str
    name: str
    base: NumberFormat
    plain: NumberFormat  # of what no format is for: embeddings, norms, and what is left out
    rules: tuple[Rule, ...]

    @property
    def native(self) -> str:
        """The accelerator fact that shows that the hardware computes in its number format."""
        return self.base.native


WeightsFormat = NumberFormat | Mixture  # what the catalogue has a name for
ModelFormat = WeightsFormat | Recipe


class Link(NamedTuple):
    """A way between devices, between a device and its host, or between machines."""

    id: str
    name: str
    aliases: tuple[str, ...]
    kind: str
    one_way: Fact
    both_ways: Fact
    pair: Fact | None  # what two devices alone have, where that is less than one device has to all others
    reached: Fact | None  # by large messages
    reached_by_two: Fact | None  # where two devices alone reach more than eight
    reached_by_host: Fact | None  # by large messages that go through the host's memory
    reached_by_host_by_two: Fact | None
    reached_in_switch: Fact | None  # by large all-reduces that the switch adds up
    latency: Fact | None
    accelerators: tuple[str, ...]  # ids of those that have it
    source: str
    checked: str
    note: str

    @property
    def bytes_per_s_one_way(self) -> float:
        """What it carries in one direction."""
        return float(self.one_way.value)

    def share(self, field: str) -> float | None:
        """Return what was reached, as a share of what the link carries one way; None where nobody measured it."""
        fact = getattr(self, field)
        return None if fact is None else float(fact.value) / self.bytes_per_s_one_way


class Protocol(NamedTuple):
    """A way in which a library sends messages, with what its makers expect it to wait for and to reach."""

    id: str
    name: str
    algorithm: str
    share: float  # of the rate that large messages reach
    facts: dict[str, Fact]  # seconds: `base` once, and of a step by the kind of way
    waits: dict[str, float]  # their values alone
    source: str
    checked: str
    note: str


class Machine(NamedTuple):
    """What holds accelerators: a server, a workstation, a Mac. One without `accelerator` is a maker's claim."""

    id: str
    name: str
    aliases: tuple[str, ...]
    maker: str
    kind: str
    topology: str
    accelerator: str  # id, empty where the maker does not say
    devices: int  # as software counts them
    link: str  # id of the link between its accelerators, empty if there is none but the host's
    host_link: str
    network: str
    network_count: int
    cpu: str
    claim: str
    facts: dict[str, Fact]
    source: str
    checked: str
    note: str

    def quantity(self, field: str) -> float | None:
        """Return the fact `field` in its base unit, None where it is not known."""
        fact = self.facts.get(field)
        return None if fact is None else float(fact.value)


class Processor(NamedTuple):
    """A host's processor, as far as it matters to models: how fast it reads its memory, and how fast it computes."""

    id: str
    name: str
    aliases: tuple[str, ...]
    vendor: str
    kind: str
    cores: int  # that llama.cpp gives threads to: of unlike ones the large ones
    released: str
    facts: dict[str, Fact]
    source: str
    checked: str
    usual: bool = False  # what stands beside accelerators of its time unless a scenario says otherwise

    @property
    def bandwidth(self) -> float:
        """Bytes a second of all channels, of 64 bits each."""
        return float(self.facts["memory_channels"].value) * 64 * float(self.facts["memory_rate"].value) / 8

    @property
    def rate(self) -> float:
        """Operations a second of all cores on 8-bit numbers."""
        return self.cores * float(self.facts["clock"].value) * float(self.facts["operations_per_clock"].value)


class Price(NamedTuple):
    """What somebody asked on a day; `checked` is that day, and no price is true for long."""

    id: str
    of: str
    item: str  # id of the accelerator or machine, empty for electricity
    pieces: int  # how many of the item the price buys
    kind: str
    price: float
    currency: str
    per: str
    seller: str
    region: str
    source: str
    checked: str
    note: str
    output_price: float | None = None  # of what a hosted model writes; `price` is of what it reads
    cached_price: float | None = None  # of what it has read before
    market: str = ""  # one of MARKETS, of rents

    @property
    def each(self) -> float:
        """The price of one."""
        return self.price / self.pieces

    def age_days(self, today: str) -> int:
        """Return how many days old the price is on a day written 2026-11-21."""
        return (datetime.date.fromisoformat(today) - datetime.date.fromisoformat(self.checked)).days

    def is_stale(self, today: str) -> bool:
        """Return whether the price is too old to be shown without saying so."""
        return self.age_days(today) > PRICE_STALE_DAYS


class StoredWeights(NamedTuple):
    """Weights as they lie in a file that a reader brought: bytes by where they stand in the model."""

    embeddings: int
    layers: int
    head: int
    id: str = "stored"
    name: str = "the formats of the file"
    native: str = ""  # what the device computes in, a file does not say

    def bytes_by_place(self) -> dict[str, int]:
        """Return the bytes of the embeddings, the layers and the output head."""
        return {"embeddings": self.embeddings, "layers": self.layers, "head": self.head}


Weights = ModelFormat | StoredWeights
