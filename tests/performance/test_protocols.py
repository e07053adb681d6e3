"""A message by single protocols, worked by hand on a group of devices with round rates."""

from types import SimpleNamespace
from typing import Any

import pytest

from calc.catalog import catalog
from calc.catalog.records import Protocol
from calc.performance.collectives import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, SEND
from calc.performance.fabric import NETWORK, Joined
from calc.performance.transfers import by_protocol, large_rate, step_counts

LINK = next(iter(catalog().links()))
WIRE: Any = SimpleNamespace(bytes_per_s_one_way=7.0, step_wait=None)
WAITS = {"base": 100.0, "nvlink": 2.0, NETWORK: 5.0}
RING = Protocol("r", "Ring", "ring", 0.5, {}, WAITS, "s", "2026-01-01", "")
TREE, SWITCH = RING._replace(algorithm="tree"), RING._replace(algorithm="switch")
# Eight devices of one machine, and sixteen of four machines.
INSIDE = Joined("nvlink", LINK, 8, 8, 50.0, 40.0, 80.0, None, 0.0, 0.0)
ACROSS = Joined("nvlink", LINK, 16, 4, 50.0, 40.0, 0.0, WIRE, 2.0, 6.0)


@pytest.mark.parametrize(
    ("protocol", "joined", "kind", "steps", "rate"),
    [
        (RING, INSIDE, ALL_REDUCE, (14, 0), 20.0),
        (RING, INSIDE, ALL_GATHER, (7, 0), 20.0),
        (RING, INSIDE, SEND, (1, 0), 20.0),
        (SWITCH, INSIDE, ALL_REDUCE, (1, 0), 40.0),
        # 30 steps of a ring of 16, of which 6 go between four machines; four ports of 6 a second, half reached
        (RING, ACROSS, ALL_REDUCE, (24, 6), 12.0),
        (RING, ACROSS, ALL_GATHER, (12, 3), 12.0),
        (RING, ACROSS, SEND, (0, 1), 3.0),
        # twelve of fifteen others are outside, by a port of 6 a second: 7.5 in all
        (RING, ACROSS, ALL_TO_ALL, (0, 1), 3.75),
        # up and down three others in the machine, and two levels between machines
        (TREE, ACROSS, ALL_REDUCE, (6, 4), 12.0),
    ],
)
def test_ways(protocol: Protocol, joined: Joined, kind: str, steps: tuple[int, int], rate: float) -> None:
    """The base, 2 s a step inside and 5 s between machines, and the bytes at half of the rate of large messages."""
    found = by_protocol(kind, joined=joined, message_bytes=160.0, protocol=protocol)
    assert found is not None
    assert (found.steps, found.steps_between) == steps
    assert found.rate == pytest.approx(rate)
    assert found.waiting == 100 + 2 * steps[0] + 5 * steps[1]
    sent = (
        {ALL_REDUCE: 2, SEND: joined.ranks / (joined.ranks - 1)}.get(kind, 1) * (joined.ranks - 1) / joined.ranks * 160
    )
    assert found.sent == pytest.approx(sent)
    assert found.seconds == pytest.approx(found.waiting + sent / rate)
    assert found.bus_rate == pytest.approx(sent / found.seconds)
    assert (found.operation, found.joined, found.protocol, found.message_bytes) == (kind, joined, protocol, 160.0)


@pytest.mark.parametrize(
    ("protocol", "joined", "kind"),
    [
        (SWITCH, INSIDE, ALL_GATHER),  # switches add up, and that is all
        (SWITCH, INSIDE._replace(switch_rate=0.0), ALL_REDUCE),
        (TREE, INSIDE, ALL_REDUCE),  # within a machine rings are taken
        (TREE, ACROSS, ALL_GATHER),
        (RING, INSIDE._replace(kind="pcie"), ALL_REDUCE),  # nothing is known of its steps
        (RING._replace(waits={"base": 1.0, "nvlink": 2.0}), ACROSS, ALL_REDUCE),
    ],
)
def test_what_a_protocol_does_not_serve(protocol: Protocol, joined: Joined, kind: str) -> None:
    """Another one has to send it."""
    assert by_protocol(kind, joined=joined, message_bytes=1.0, protocol=protocol) is None


def test_machines_of_one_device_need_no_link_inside() -> None:
    """Four machines with one device each: only the network counts, whatever their kind of link."""
    alone = ACROSS._replace(kind="none", ranks=4, inside=1)
    found = by_protocol(ALL_REDUCE, joined=alone, message_bytes=8.0, protocol=RING)
    assert found is None
    alone = alone._replace(kind=NETWORK)
    found = by_protocol(ALL_REDUCE, joined=alone, message_bytes=8.0, protocol=RING._replace(waits={**WAITS}))
    assert found is not None
    assert (found.steps, found.steps_between, found.seconds) == (0, 6, 100 + 30 + 12 / 3)


def test_what_each_step_of_a_network_waits_more() -> None:
    """Three seconds more in each of six steps between machines, and none in those within one."""
    slow: Any = SimpleNamespace(bytes_per_s_one_way=7.0, step_wait=SimpleNamespace(value=3.0))
    plain, waiting = (
        by_protocol(ALL_REDUCE, joined=ACROSS._replace(network=wire), message_bytes=8.0, protocol=RING)
        for wire in (WIRE, slow)
    )
    assert plain is not None and waiting is not None
    assert waiting.seconds - plain.seconds == pytest.approx(6 * 3.0)


def test_what_large_messages_reach() -> None:
    """A ring over machines has all ports or its link, whichever is less; a send has its own port."""
    assert large_rate(ALL_REDUCE, INSIDE) == 40
    assert large_rate(ALL_REDUCE, ACROSS) == 24
    assert large_rate(ALL_REDUCE, ACROSS._replace(rate=20.0)) == 20
    assert large_rate(SEND, ACROSS) == 6
    # a slow link inside: three of fifteen parts at 0.5 a second take longer than twelve at 6
    assert large_rate(ALL_TO_ALL, ACROSS._replace(rate=0.5)) == pytest.approx(2.5)
    assert step_counts(ALL_REDUCE, ACROSS, "switch") == (1, 0)


def test_a_machine_gets_a_row_once() -> None:
    """Eight copies of a row meet 3.6 of four machines: 0.45 of twelve parts in fifteen go by the network, at 6."""
    assert large_rate(ALL_TO_ALL, ACROSS) == pytest.approx(6 / 0.8)
    assert large_rate(ALL_TO_ALL, ACROSS, 8) == pytest.approx(6 / (0.8 * 4 * (1 - 0.75**8) / 8))


def test_what_the_data_sheet_promises() -> None:
    """Bytes at the peak of the link; over machines at four times two ports of 7, or at the link's peak of 50."""
    one, many = (
        by_protocol(ALL_GATHER, joined=group, message_bytes=160.0, protocol=RING) for group in (INSIDE, ACROSS)
    )
    assert one is not None and many is not None
    assert one.least_seconds == pytest.approx(140 / 50)
    assert many.least_seconds == pytest.approx(150 / 50)
    slower = ACROSS._replace(ports=1.0)
    many = by_protocol(ALL_GATHER, joined=slower, message_bytes=160.0, protocol=RING)
    assert many is not None and many.least_seconds == pytest.approx(150 / 28)
