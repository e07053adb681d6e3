"""Messages between devices: published measurements, and what no message can do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.catalog import catalog
from calc.performance.collectives import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER, SEND
from calc.performance.fabric import joined
from calc.performance.transfers import Transfer, transfer

KIB, MIB, GIB = 2**10, 2**20, 2**30
OPERATIONS = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, SEND)
# Bus bandwidth by nccl-tests of eight H200, NCCL 2.30 (stas00/ml-engineering, network/benchmarks/README.md).
H200 = {
    32 * KIB: 3.20,
    64 * KIB: 6.26,
    128 * KIB: 12.40,
    256 * KIB: 24.63,
    512 * KIB: 48.30,
    MIB: 72.45,
    2 * MIB: 91.48,
    4 * MIB: 139.97,
    8 * MIB: 182.03,
    16 * MIB: 242.45,
    32 * MIB: 298.44,
    64 * MIB: 369.82,
    128 * MIB: 411.21,
    256 * MIB: 442.27,
    GIB: 464.0,
    16 * GIB: 480.7,
}


def sent(device: str, ranks: int, size: float, operation: str = ALL_REDUCE, link: str = "") -> Transfer:
    """Return a message between devices of a kind."""
    facts = catalog()
    group = joined(facts.accelerator(device), ranks=ranks, link=facts.link(link) if link else None)
    return transfer(operation, joined=group, message_bytes=size)


@pytest.mark.parametrize("size", H200)
def test_eight_h200_by_message_size(size: int) -> None:
    """Over four orders of magnitude of time no size is off by more than half; nothing was fitted to them."""
    assert sent("h200-sxm-141gb", 8, size).bus_rate / 1e9 == pytest.approx(H200[size], rel=0.5)


def test_eight_h200_on_the_whole() -> None:
    """The middle of the errors is below a fifth."""
    errors = sorted(abs(sent("h200-sxm-141gb", 8, size).bus_rate / 1e9 / known - 1) for size, known in H200.items())
    assert errors[len(errors) // 2] < 1 / 5


@pytest.mark.parametrize(
    ("device", "ranks", "size", "measured", "tolerance"),
    [
        # stas00/ml-engineering, network/README.md: the sources of what the links reach
        ("a100-sxm-80gb", 8, 4 * GIB, 235, 0.01),
        ("b200-sxm-180gb", 8, 8 * GIB, 838, 0.01),
        ("mi300x", 8, 4 * GIB, 312.9, 0.01),
        # the same, not used for them
        ("h200-sxm-141gb", 4, 8 * GIB, 363, 0.02),
        ("mi300x", 2, 4 * GIB, 47.67, 0.1),
        ("b200-sxm-180gb", 32, 16 * GIB, 381.8, 0.05),
        ("b200-sxm-180gb", 32, GIB, 362, 0.05),
        # NVIDIA/nccl issues 812 and 1639
        ("a100-sxm-40gb", 16, 4 * GIB, 192, 0.05),
        ("rtx-5090", 4, GIB, 35, 0.05),
        # NVIDIA/dgx-spark-playbooks, pull request 103
        ("gb10", 2, GIB, 23.7, 0.01),
    ],
)
def test_large_messages(device: str, ranks: int, size: int, measured: float, tolerance: float) -> None:
    """Bus bandwidth in GB/s of large all-reduces, as published."""
    assert sent(device, ranks, size).bus_rate / 1e9 == pytest.approx(measured, rel=tolerance)


def test_peer_access_is_worth_a_third_of_the_time() -> None:
    """Six RTX 4090 reach 24.5 GB/s with a driver that allows it (tinygrad/open-gpu-kernel-modules), less without."""
    facts = catalog()
    card = facts.accelerator("rtx-4090")
    peer = card._replace(facts={**card.facts, "peer_to_peer": card.facts["peer_to_peer"]._replace(value="yes")})
    with_it, without = (
        transfer(ALL_REDUCE, joined=joined(device, ranks=6), message_bytes=32 * MIB) for device in (peer, card)
    )
    assert with_it.bus_rate / 1e9 == pytest.approx(24.5, rel=0.05)
    assert without.seconds > 1.5 * with_it.seconds


def test_short_messages_wait() -> None:
    """8 bytes between eight RTX 4090 take 42 us (NVIDIA/nccl issue 1530), between eight RTX PRO 6000 25 (rtx6kpro)."""
    assert sent("rtx-4090", 8, 8).seconds == pytest.approx(42e-6, rel=0.05)
    assert sent("rtx-pro-6000-server-96gb", 8, 256).seconds == pytest.approx(24.6e-6, rel=0.2)


def test_short_messages_between_machines_by_way_of_the_host() -> None:
    """Two DGX Spark add up 16 KiB in 31 us and 32 KiB in 38, four of them 48 KiB in 59 (NVIDIA's playbooks, b12x)."""
    assert sent("gb10", 2, 2**14).seconds == pytest.approx(31e-6, rel=0.05)
    assert sent("gb10", 2, 2**15).seconds == pytest.approx(38e-6, rel=0.15)
    assert sent("gb10", 4, 48 * 2**10).seconds == pytest.approx(59e-6, rel=0.35)  # not used for what a step waits


def test_a_bridge_of_two_rtx_3090_against_two_rtx_4090() -> None:
    """56.25 against 31.5 GB/s on paper, and more of the paper is reached."""
    bridged, cards = sent("rtx-3090", 2, GIB, link="nvlink-3-bridge"), sent("rtx-4090", 2, GIB)
    assert bridged.joined.peak / cards.joined.peak == pytest.approx(1.786, rel=0.001)
    assert cards.seconds / bridged.seconds > 1.786


def test_sums_are_made_in_the_switch_of_more_than_four() -> None:
    """All-reduces alone, and none of four H200 or fewer (stas00/ml-engineering, SHARP)."""
    algorithms = {
        (ranks, operation): sent("h200-sxm-141gb", ranks, GIB, operation).protocol.algorithm
        for ranks, operation in ((4, ALL_REDUCE), (8, ALL_REDUCE), (8, ALL_GATHER))
    }
    assert list(algorithms.values()) == ["ring", "switch", "ring"]
    assert sent("h200-sxm-141gb", 8, 16 * GIB, ALL_GATHER).bus_rate / 1e9 == pytest.approx(361.4, rel=0.02)


def test_one_device_alone_sends_nothing() -> None:
    """And takes no time for it."""
    alone = sent("h100-sxm-80gb", 1, GIB)
    assert (alone.seconds, alone.sent, alone.bus_rate, alone.least_seconds) == (0, 0, 0, 0)


NAMES = st.sampled_from(["h100-sxm-80gb", "rtx-4090", "mi300x", "gb10", "rtx-pro-6000-server-96gb", "a100-pcie-80gb"])


@given(NAMES, st.sampled_from(OPERATIONS), st.integers(2, 128), st.floats(1, 1e11))
def test_no_message_is_quicker_than_its_link(name: str, operation: str, ranks: int, size: float) -> None:
    """But for sums in a switch, which need fewer bytes on the link than a ring."""
    found = sent(name, ranks, size, operation)
    assert found.seconds > found.waiting > 0
    if found.protocol.algorithm != "switch":
        assert found.seconds > found.least_seconds


@given(NAMES, st.sampled_from(OPERATIONS), st.integers(2, 128), st.floats(1, 1e10), st.floats(1, 1e10))
def test_more_bytes_take_longer(name: str, operation: str, ranks: int, size: float, more: float) -> None:
    """Whichever protocol is the quickest for each."""
    assert sent(name, ranks, size, operation).seconds <= sent(name, ranks, size + more, operation).seconds
