"""The time of collectives: steps that wait for a latency each, and bytes over the slowest link between devices."""

from typing import NamedTuple

from calc.catalog.records import Accelerator

# Bytes a second in one direction, after encoding: 8, 16, 32, 64 GT/s a lane (PCI-SIG).
PCIE_LANE = {"3.0": 0.985e9, "4.0": 1.969e9, "5.0": 3.938e9, "6.0": 7.563e9}
NO_LINK = ("", "none")

ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, SEND = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "send",
)
RING, TREE, DIRECT = "ring", "tree", "direct"


class Fabric(NamedTuple):
    """What joins the devices: a link within a domain, and a network between domains. Rates are one way and reached."""

    link: float  # bytes a second of a device to its neighbours in the domain
    latency: float  # seconds of one step over it
    domain: int  # devices that the link joins
    network: float  # bytes a second of a device's share of the network between domains
    network_latency: float


class Way(NamedTuple):
    """What a group of devices has between its members."""

    ranks: int
    link: float
    latency: float
    across: bool  # it leaves the domain


def way(fabric: Fabric, *, ranks: int, stride: int = 1) -> Way:
    """Return what joins a group of `ranks` devices that are `stride` apart.

    A ring over several domains leaves each of them once, over the network of all its members there: eight of them in a
    machine with a port each have eight ports together, one has its own.

    >>> fabric = Fabric(link=450e9, latency=3e-6, domain=8, network=50e9, network_latency=1e-5)
    >>> [way(fabric, ranks=ranks, stride=stride).link / 1e9 for ranks, stride in ((8, 1), (64, 1), (8, 8))]
    [450.0, 400.0, 50.0]
    """
    inside = max(1, min(ranks, fabric.domain // stride))
    if ranks <= inside:
        return Way(ranks, fabric.link, fabric.latency, False)
    rate = inside * fabric.network
    return Way(ranks, min(rate, fabric.link) if inside > 1 else rate, fabric.network_latency, True)


def sent_bytes(operation: str, *, ranks: int, message_bytes: float) -> float:
    """Return the bytes that each device sends.

    The message is what a device has after an all-reduce or all-gather, and before a reduce-scatter or all-to-all.

    >>> sent_bytes(ALL_REDUCE, ranks=4, message_bytes=100), sent_bytes(ALL_GATHER, ranks=4, message_bytes=100)
    (150.0, 75.0)
    """
    if operation == SEND:
        return message_bytes
    share = (ranks - 1) / ranks * message_bytes
    return 2 * share if operation == ALL_REDUCE else share


def step_count(operation: str, *, ranks: int, algorithm: str) -> int:
    """Return the steps that wait for one another: around a ring, up and down a tree, or all at once over a switch.

    >>> [step_count(ALL_REDUCE, ranks=8, algorithm=algorithm) for algorithm in (RING, TREE, DIRECT)]
    [14, 6, 2]
    """
    if operation == SEND or ranks == 1:
        return int(operation == SEND)
    if operation == ALL_TO_ALL:
        return 1
    once = {RING: ranks - 1, TREE: (ranks - 1).bit_length(), DIRECT: 1}[algorithm]
    return 2 * once if operation == ALL_REDUCE else once


def collective_s(
    operation: str, *, ranks: int, message_bytes: float, link: float, latency: float, algorithm: str = RING
) -> float:
    r"""Return the seconds of a collective: $s \cdot \ell + \frac{B}{\text{link}}$, with $s$ steps and $B$ bytes sent.

    `link` is one way, in bytes a second. One device alone takes no time.

    >>> collective_s(ALL_REDUCE, ranks=2, message_bytes=450e9, link=450e9, latency=0)
    1.0
    """
    if ranks == 1 and operation != SEND:
        return 0.0
    steps = step_count(operation, ranks=ranks, algorithm=algorithm)
    return steps * latency + sent_bytes(operation, ranks=ranks, message_bytes=message_bytes) / link


def link_bytes_per_s(accelerator: Accelerator) -> float:
    """Return a device's bytes a second to its neighbours, in one direction: over its link, or over PCIe without one.

    A bridge is an accessory that joins two cards, and is not counted on.
    """
    both = accelerator.quantity("link_bandwidth")
    if is_linked(accelerator) and both:
        return both / 2
    generation, _, lanes = accelerator.text("pcie").partition(" x")
    return PCIE_LANE.get(generation, PCIE_LANE["4.0"]) * (int(lanes) if lanes.isdigit() else 16)


def is_linked(accelerator: Accelerator) -> bool:
    """Return whether devices have a link of their own that joins more than a pair."""
    link = accelerator.text("link")
    return link not in NO_LINK and "bridge" not in link


def all_reduce_s(*, ranks: int, message_bytes: float, link: float, latency: float) -> float:
    r"""Return the seconds of an all-reduce, one latency: $\ell + \frac{2 (n - 1)}{n} \cdot \frac{B}{\text{link}}$.

    >>> all_reduce_s(ranks=2, message_bytes=450e9, link=450e9, latency=0)
    1.0
    """
    if ranks == 1:
        return 0.0
    return latency + sent_bytes(ALL_REDUCE, ranks=ranks, message_bytes=message_bytes) / link


def exchange_s(*, ranks: int, active: int, message_bytes: float, link: float, latency: float) -> float:
    """Return the seconds in which expert ranks send their tokens to the experts, or take them back.

    A token goes to the ranks of its experts, at most to all others.
    """
    if ranks == 1:
        return 0.0
    return latency + message_bytes * min(active, ranks - 1) / link


def hand_over_s(*, message_bytes: float, link: float, latency: float) -> float:
    """Return the seconds to send hidden states to the next pipeline stage."""
    return latency + message_bytes / link
