"""What joins devices: the link of their own, PCIe, the way through the host's memory, the network between machines."""

from math import log2
from typing import NamedTuple

from calc.catalog import catalog
from calc.catalog.records import Accelerator, Link
from calc.derivation import Warn

DEVICE, HOST, STAGED, NETWORK = "device", "host", "staged", "network"  # kinds of way, by what a message waits for
MOST_SWITCHED = 4  # devices up to which a switch leaves sums to the devices (NCCL on an H200; five on a B200)
MOST_TOGETHER = 8  # devices of which large messages were measured
PLAIN_HOST, PLAIN_NETWORK, LINKED_NETWORK = "pcie-4-x16", "ethernet-100", "infiniband-ndr"
BESIDE = "nvlink-c2c"  # of a Grace processor and the GPUs beside it


class Joined(NamedTuple):
    """What a group of devices has between its members. Rates are of a device and one way, in bytes a second."""

    kind: str  # the way within a machine
    link: Link  # within a machine
    ranks: int
    inside: int  # ranks in a machine
    peak: float  # as the data sheet has it
    rate: float  # that large messages reach within a machine
    switch_rate: float  # of all-reduces that the switch adds up, 0 where it does not
    network: Link | None  # between machines, None where there is one
    ports: float  # of the network, for each device
    network_rate: float  # that large messages reach, for each device

    @property
    def both_ways(self) -> float:
        """What a device sends and gets at once within a machine, as the data sheet has it."""
        return 2 * self.peak

    @property
    def network_wait(self) -> float:
        """Seconds that a step between machines waits beyond what a protocol has for it, where that was measured."""
        found = self.network and self.network.step_wait
        return float(found.value) if found else 0.0

    @property
    def machines(self) -> int:
        """How many machines the group is spread over."""
        return -(-self.ranks // self.inside)

    @property
    def direct(self) -> bool:
        """Whether all members read each other's memory, so that engines can add up by kernels of their own: no NCCL.

        Over PCIe no more than two do. Source: vLLM's CustomAllreduce, which SGLang has too; TensorRT-LLM's
        `selectImplementation` asks for NVLink.
        """
        return self.machines == 1 and (self.kind == DEVICE or (self.kind == HOST and self.ranks == 2))

    @property
    def ring_rate(self) -> float:
        """The rate of a ring: over several machines, that of all ports of a machine, or of its link if that is less."""
        if self.machines == 1:
            return self.rate
        rate = self.inside * self.network_rate
        return min(rate, self.rate) if self.inside > 1 else rate

    @property
    def ring_peak(self) -> float:
        """What the data sheets promise a ring."""
        if self.network is None:
            return self.peak
        rate = self.inside * self.ports * self.network.bytes_per_s_one_way
        return min(rate, self.peak) if self.inside > 1 else rate


def own_links() -> dict[str, Link]:
    """Return the links that devices have of their own, by the id of the device."""
    facts = catalog()
    return facts.once("own links", lambda: {device: link for link in facts.links() for device in link.accelerators})


def own_link(accelerator: Accelerator) -> Link | None:
    """Return the link that devices of a kind have of their own, None where they have none."""
    return own_links().get(accelerator.id)


def host_link(accelerator: Accelerator) -> Link:
    """Return what joins a device to its host: on a superchip a link to the processor beside it, else PCIe."""
    if accelerator.text("form") == "superchip":
        return catalog().link(BESIDE)
    return slot(accelerator)


def slot(accelerator: Accelerator) -> Link:
    """Return the PCIe of a device; where no source says which, that of most."""
    generation, _, lanes = accelerator.text("pcie").partition(" x")
    name = f"pcie-{generation.partition('.')[0]}-x{lanes}"
    return catalog().link(name if catalog().lookup("links", name) else PLAIN_HOST)


def is_bridge(link: Link) -> bool:
    """Return whether a link is an accessory that joins a few cards."""
    return "bridge" in link.name


def usual_link(accelerator: Accelerator) -> Link:
    """Return what joins devices as they are sold: a link of their own, or PCIe. A bridge is bought apart."""
    own = own_link(accelerator)
    return slot(accelerator) if own is None or is_bridge(own) else own


def most_joined(accelerator: Accelerator, link: Link) -> int:
    """Return how many devices a link joins: its domain, or as many as stand in one machine of the catalogue."""
    if link.kind == "device":
        own = accelerator.quantity("link_domain") if accelerator.id in link.accelerators else None
        return int(own or (2 if is_bridge(link) else 8))
    if accelerator.shares_host_memory or not accelerator.text("pcie"):  # a computer of its own, such as a Mac
        return 1
    facts = catalog()
    return facts.once("most cards", lambda: max(m.devices for m in facts.machines() if m.topology == "pcie"))


def usual_network(accelerator: Accelerator, link: Link) -> tuple[Link, float]:
    """Return the network between machines of a device and its ports for each device.

    Taken from the machine of the catalogue with the fastest one, else from one of the same architecture. Else a port
    for each device that has a link of its own, and one for a machine of cards.
    """
    linked = link.kind == "device" and not is_bridge(link)
    for key in (accelerator.id, accelerator.architecture if linked else ""):
        if key in networks():
            return networks()[key]
    if linked:
        return catalog().link(LINKED_NETWORK), 1.0
    return catalog().link(PLAIN_NETWORK), 1 / most_joined(accelerator, link)


def networks() -> dict[str, tuple[Link, float]]:
    """Return the networks of machines and the ports for each device, by device and by architecture.

    The fastest that a device is sold with, the slowest of an architecture; what is bought before what is rented.
    """
    return catalog().once("networks", sold_networks)


def sold_networks() -> dict[str, tuple[Link, float]]:
    """Return the same, looked for."""
    facts, found = catalog(), dict[str, tuple[Link, float]]()
    listed = [machine for machine in facts.machines() if machine.network]
    for machine in sorted(listed, key=lambda machine: machine.kind == "cloud"):
        # A topology of network is that of machines of one device, with all their ports each.
        ports = machine.network_count / (1 if machine.topology == "network" else machine.devices)
        entry = facts.link(machine.network), ports
        device = facts.accelerator(machine.accelerator)
        if port_rate(entry) > port_rate(found.get(device.id)):
            found[device.id] = entry
        known = found.get(device.architecture)
        if known is None or (machine.kind != "cloud" and port_rate(entry) < port_rate(known)):
            found[device.architecture] = entry
    return found


def port_rate(entry: tuple[Link, float] | None) -> float:
    """Return what a network carries one way for each device; nothing where there is none."""
    return 0.0 if entry is None else entry[0].bytes_per_s_one_way * entry[1]


def reached_share(link: Link, kind: str, ranks: int = MOST_TOGETHER) -> float:
    """Return the share of its one-way rate that large messages reach over a link, measured on it or on others.

    Cards on PCIe share what is between them: two alone reach more than eight, and those between lie on a line over the
    logarithm of their number.
    """
    field = "reached_by_host" if kind == STAGED else "reached"
    many, two = link.share(field), link.share(f"{field}_by_two")
    if many is None:
        return catalog().coefficient(f"link-share-{kind}").value
    if two is None or ranks >= MOST_TOGETHER:
        return many
    return two + (many - two) * log2(ranks / 2) / log2(MOST_TOGETHER / 2)


def copied_share(link: Link) -> float:
    """Return the share of its one-way rate that copies between a device and its host reach over a link.

    Fewer lanes of a generation of PCIe reach what its sixteen do, where those were measured.
    """
    lanes = f"{link.id.rpartition('-x')[0]}-x16"
    known = catalog().link(lanes) if catalog().lookup("links", lanes) else link
    return reached_share(link if link.share("reached_by_two") else known, HOST, 2)


def joined(
    accelerator: Accelerator, *, ranks: int, link: Link | None = None, network: Link | None = None, stride: int = 1
) -> Joined:
    """Return what joins `ranks` devices, `stride` apart, over their usual link or another one.

    Devices beyond those that the link joins are reached over the network. Where each pair has a wire of its own, few
    devices have few wires. More cards than a bridge joins go over PCIe. GeForce cards may read each other's memory over
    a bridge alone, else by way of the host's.
    """
    link = link or usual_link(accelerator)
    if is_bridge(link) and ranks > most_joined(accelerator, link):
        link = slot(accelerator)
    own = accelerator.id in link.accelerators
    peak = accelerator.link_bytes_per_s_one_way if own else None
    peak = peak or link.bytes_per_s_one_way
    kind = DEVICE if link.kind == "device" else NETWORK if link.kind == "network" else HOST
    if kind == HOST and accelerator.text("peer_to_peer") in ("no", "bridge only"):
        kind = STAGED
    domain = 1 if kind == NETWORK else most_joined(accelerator, link)
    inside = max(1, min(ranks, domain // stride))
    share = reached_share(link, kind, max(inside, 2))
    if link.pair is not None and inside < domain:
        peak = min(peak, max(1, inside - 1) * float(link.pair.value))
    switch = link.share("reached_in_switch") if MOST_SWITCHED < inside == ranks else None
    between, ports, network_rate = None, 0.0, 0.0
    if inside < ranks:
        usual, ports = usual_network(accelerator, link) if kind != NETWORK else (link, 1.0)
        between = network or usual
        network_rate = ports * between.bytes_per_s_one_way * reached_share(between, NETWORK)
    return Joined(
        kind,
        link,
        ranks,
        inside,
        peak=peak,
        rate=peak * share,
        switch_rate=peak * (switch or 0.0),
        network=between,
        ports=ports,
        network_rate=network_rate,
    )


def tensor_warnings(accelerator: Accelerator, tensor: int) -> list[Warn]:
    """Return what is slow about the way between tensor ranks: PCIe, or the network between machines."""
    found = []
    group = joined(accelerator, ranks=tensor)
    if tensor > 1 and accelerator.text("link") == "none":
        message = f"{accelerator.name} has no link of its own: tensor parallelism goes over PCIe and is slow"
        found.append(Warn("tensor-over-pcie", message, "parallelism.tensor"))
    if group.network is not None:
        together = f"{group.link.name} joins {group.inside} of them" if group.inside > 1 else "each is a machine"
        message = (
            f"{tensor} tensor ranks are more than stand in one machine ({together}): they exchange over the network,"
            f" here {group.network.name}, {ports_text(group)}"
        )
        found.append(Warn("tensor-over-network", message, "parallelism.tensor"))
    return found


def ports_text(group: Joined) -> str:
    """Return how many ports of the network there are."""
    if group.ports >= 1:
        return "a port for each device" if group.ports == 1 else f"{group.ports:g} ports for each device"
    return f"a port for {1 / group.ports:.0f} devices"
