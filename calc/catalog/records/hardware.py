"""Hardware: accelerators, the machines that hold them, processors, and what joins them."""

from typing import NamedTuple

from calc.catalog.records.facts import Disagreement, Fact, Mismatch

LIMIT = "limit"  # what a fact of power is then: not the board's own
CLOCKED = ("clock", "fp32", "tf32", "bf16", "fp16", "fp16_accumulate", "fp8", "fp6", "fp4", "int8")  # rates of units


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

    def __hash__(self) -> int:
        """Return the hash of the id, as `facts` have none: equal devices have the same."""
        return hash(self.id)

    def quantity(self, field: str) -> float | None:
        """Return the fact `field` in its base unit, None where it is not known."""
        fact = self.facts.get(field)
        return None if fact is None or isinstance(fact.value, str) else fact.value

    def text(self, field: str) -> str:
        """Return the text fact `field`, empty where it is not known."""
        fact = self.facts.get(field)
        return fact.value if fact is not None and isinstance(fact.value, str) else ""

    @property
    def shares_host_memory(self) -> bool:
        """Whether it is a part of a computer whose one memory its processor uses too, as in a Mac."""
        return self.segment == "soc"

    @property
    def sold_in_multiples(self) -> bool:
        """Whether several of it work together in one machine: not a part of a computer, nor a desktop's superchip."""
        alone = self.text("form") == "laptop" or (self.text("form") == "superchip" and self.text("link") == "none")
        return not self.shares_host_memory and not alone

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

    def drawing(self, watts: float, *, clock: float, reads: float) -> "Accelerator":
        """Return the device at a limit of its power, with shares of its clock and of the rate it reads memory at."""
        shares = dict.fromkeys(CLOCKED, clock) | {"bandwidth": reads}
        slower = {
            name: self.facts[name]._replace(value=value * share)
            for name, share in shares.items()
            if (value := self.quantity(name)) is not None
        }
        return self._replace(
            facts={**self.facts, **slower, "power": self.facts["power"]._replace(value=watts, basis=LIMIT)}
        )

    @property
    def sixteen_bit(self) -> Fact | None:
        """The dense matrix rate in 16 bit: of BF16 where the device has it, else of FP16; None if neither is known."""
        return self.facts.get("bf16") or self.facts.get("fp16")

    def of_all_units(self, field: str) -> float | None:
        """Return what all compute units have of a fact that is given for one of them; None where it is not known."""
        units, each = self.quantity("compute_units"), self.quantity(field)
        return None if units is None or each is None else units * each

    @property
    def devices_per_package(self) -> int:
        """How many such devices make up what one buys: a package or a board."""
        return int(self.quantity("devices_per_package") or 1)

    @property
    def link_bytes_per_s_one_way(self) -> float | None:
        """What the device's link carries in one direction, all its ports together: half of `link_bandwidth`."""
        both = self.quantity("link_bandwidth")
        return None if both is None else both / 2


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
    step_wait: Fact | None  # of a network whose adapters do not reach the devices' memory
    accelerators: tuple[str, ...]  # ids of those that have it
    source: str
    checked: str
    note: str

    @property
    def bytes_per_s_one_way(self) -> float:
        """What it carries in one direction."""
        return float(self.one_way.value)

    def seconds_one_way(self, size_bytes: float) -> float:
        """Return the seconds in which so much goes over it in one direction, at its peak."""
        return size_bytes / self.bytes_per_s_one_way

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

    def whole_bytes(self, each_bytes: float) -> float:
        """Return what all its devices have together, of so much in each."""
        return self.devices * each_bytes


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
    def bits_per_s(self) -> float:
        """Bits a second of a pin of its memory."""
        return float(self.facts["memory_rate"].value)

    @property
    def bandwidth(self) -> float:
        """Bytes a second of all channels, of 64 bits each."""
        return float(self.facts["memory_channels"].value) * 64 * self.bits_per_s / 8

    @property
    def rate(self) -> float:
        """Operations a second of all cores on 8-bit numbers."""
        return self.cores * float(self.facts["clock"].value) * float(self.facts["operations_per_clock"].value)

    @property
    def memory_most(self) -> int | None:
        """Bytes of the largest of what it is sold with, where its memory is soldered; None where anybody adds some."""
        fact = self.facts.get("memory_most")
        return int(float(fact.value)) if fact else None
