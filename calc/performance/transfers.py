"""The time of one message between devices: by each way in which a library can send it, the quickest taken."""

from typing import NamedTuple

from calc.catalog import catalog
from calc.catalog.records import Protocol
from calc.performance.collectives import ALL_REDUCE, ALL_TO_ALL, RING, SEND, TREE, sent_bytes, step_count
from calc.performance.fabric import NETWORK, Joined

SWITCH = "switch"


class Transfer(NamedTuple):
    """A message that a group of devices sends, and the protocol that takes least time for it."""

    operation: str
    joined: Joined
    protocol: Protocol
    message_bytes: float
    sent: float  # by each device
    steps: int  # one after the other, within a machine
    steps_between: int  # and between machines
    waiting: float  # seconds: the protocol's base and its steps
    rate: float  # bytes a second that the protocol reaches with large messages
    seconds: float

    @property
    def bus_rate(self) -> float:
        """Bytes a second on the link; what nccl-tests calls the bus bandwidth."""
        return self.sent / self.seconds if self.seconds else 0.0

    @property
    def least_seconds(self) -> float:
        """The seconds at the rate of the data sheet, with nothing to wait for."""
        return self.sent / self.joined.ring_peak if self.seconds else 0.0


def transfer(operation: str, *, joined: Joined, message_bytes: float) -> Transfer:
    """Return how a group sends a message. One device alone sends nothing.

    The message is what a device has after an all-reduce or all-gather, and before a reduce-scatter or all-to-all.
    """
    return min(ways(operation, joined, message_bytes), key=lambda way: way.seconds)


def ways(operation: str, joined: Joined, message_bytes: float, *, copies: int = 1) -> list[Transfer]:
    """Return how each protocol that serves sends a message; what it waits for and reaches is the same for any size.

    Of the `copies` of each row in an all-to-all, a machine gets one and hands it on to its devices (DeepEP, HybridEP).
    """
    found = (by_protocol(operation, joined, message_bytes, one, copies=copies) for one in catalog().protocols())
    return [way for way in found if way is not None]


def by_protocol(
    operation: str, joined: Joined, message_bytes: float, protocol: Protocol, *, copies: int = 1
) -> Transfer | None:
    """Return how a group sends a message by one protocol, None where it does not serve.

    Rings serve everything. Trees serve all-reduces between machines, and switches those within one.
    """
    across, waits = joined.machines > 1, protocol.waits
    if joined.kind not in waits and not (joined.kind == NETWORK and joined.inside == 1):
        return None
    if across and NETWORK not in waits:
        return None
    if protocol.algorithm == SWITCH and (operation != ALL_REDUCE or not joined.switch_rate):
        return None
    if protocol.algorithm == TREE and (operation != ALL_REDUCE or not across):
        return None
    if joined.ranks == 1:
        return Transfer(
            operation,
            joined,
            protocol,
            message_bytes,
            sent=0.0,
            steps=0,
            steps_between=0,
            waiting=0.0,
            rate=0.0,
            seconds=0.0,
        )
    sent = sent_bytes(operation, ranks=joined.ranks, message_bytes=message_bytes)
    inner, outer = step_counts(operation, joined, protocol.algorithm)
    waiting = waits["base"] + inner * waits.get(joined.kind, 0.0) + outer * between_s(joined, protocol)
    rate = protocol.share * (
        joined.switch_rate if protocol.algorithm == SWITCH else large_rate(operation, joined, copies)
    )
    return Transfer(
        operation,
        joined,
        protocol,
        message_bytes,
        sent=sent,
        steps=inner,
        steps_between=outer,
        waiting=waiting,
        rate=rate,
        seconds=waiting + sent / rate,
    )


def between_s(joined: Joined, protocol: Protocol) -> float:
    """Return the seconds that a step between machines waits."""
    return protocol.waits.get(NETWORK, 0.0) + joined.network_wait


def step_counts(operation: str, joined: Joined, algorithm: str) -> tuple[int, int]:
    """Return the steps that wait for one another, within machines and between them."""
    if algorithm == SWITCH:
        return 1, 0
    if algorithm == TREE:
        return 2 * (joined.inside - 1), step_count(operation, ranks=joined.machines, algorithm=TREE)
    steps = step_count(operation, ranks=joined.ranks, algorithm=RING)
    if joined.machines == 1:
        return steps, 0
    if operation in (SEND, ALL_TO_ALL):
        return 0, steps
    between = step_count(operation, ranks=joined.machines, algorithm=RING)
    return steps - between, between


def large_rate(operation: str, joined: Joined, copies: int = 1) -> float:
    """Return the bytes a second that a device reaches with large messages.

    A ring over machines uses all ports of each of them. What a device alone sends, and what each sends to each other,
    goes by its own port; of `copies` of a row, each machine gets one by the network.
    """
    if joined.machines == 1:
        return joined.rate
    if operation == SEND:
        return joined.network_rate
    if operation == ALL_TO_ALL:
        outside = (joined.ranks - joined.inside) / (joined.ranks - 1)
        once = machines_of(copies, joined.machines) / copies
        return 1 / max(outside * once / joined.network_rate, (1 - outside * once) / joined.rate)
    return joined.ring_rate


def machines_of(copies: int, machines: int) -> float:
    """Return how many machines the copies of a row go to, if each goes to any of them alike.

    >>> machines_of(1, 8), round(machines_of(8, 4), 2)
    (1.0, 3.6)
    """
    return machines * (1.0 - (1.0 - 1.0 / machines) ** copies)
