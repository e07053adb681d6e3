"""What joins devices: known machines, and what more devices can never have."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import estimate
from calc.catalog import catalog
from calc.performance.collectives import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, SEND
from calc.performance.engine_passes import kernel_classes
from calc.performance.fabric import (
    DEVICE,
    HOST,
    NETWORK,
    STAGED,
    host_link,
    joined,
    most_joined,
    own_link,
    usual_link,
    usual_network,
)
from calc.performance.kernels import Kernels
from calc.performance.operations import Collective
from calc.performance.own_kernels import own_kernels
from calc.performance.speed import passes_for
from calc.planning.served import serve
from calc.planning.serving_question import speed_question
from calc.question import read_question
from calc.validation.bases import basis_of

DEVICES = [device for device in catalog().accelerators() if device.quantity("link_bandwidth")]


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.id)
def test_a_device_has_one_link_with_its_bandwidth(device: object) -> None:
    """Every device with a link is listed by one link, which carries what the devices of a package carry together."""
    record = catalog().accelerator(device.id)  # type: ignore[attr-defined]
    listed = [link for link in catalog().links() if record.id in link.accelerators]
    assert len(listed) == 1
    whole = (record.link_bytes_per_s_one_way or 0) * record.devices_per_package
    assert listed[0].bytes_per_s_one_way in (
        pytest.approx(whole, rel=0.01),
        pytest.approx(record.link_bytes_per_s_one_way, rel=0.01),
    )


def test_peer_access_decides_the_way() -> None:
    """GeForce goes through the host's memory, a bridge or not bought; a workstation card of that die need not."""
    facts = catalog()
    kinds = {name: joined(facts.accelerator(name), ranks=2).kind for name in ("rtx-4090", "rtx-3090", "rtx-6000-ada")}
    assert kinds == {"rtx-4090": STAGED, "rtx-3090": STAGED, "rtx-6000-ada": HOST}
    assert joined(facts.accelerator("rtx-3090"), ranks=2, link=facts.link("nvlink-3-bridge")).kind == DEVICE
    assert joined(facts.accelerator("h100-sxm-80gb"), ranks=2, link=facts.link("infiniband-ndr")).kind == NETWORK


MIB = 2.0**20


@pytest.mark.parametrize(
    ("engine", "version", "card", "ranks", "size", "own"),
    [
        ("vllm", "0.6.3", "h100-sxm-80gb", 8, 8 * MIB, True),
        ("vllm", "0.6.3", "h100-sxm-80gb", 8, 9 * MIB, False),
        ("vllm", "0.14.0", "h100-sxm-80gb", 8, 64 * MIB, True),  # in symmetric memory
        ("vllm", "0.14.0", "h100-sxm-80gb", 8, 65 * MIB, False),
        ("vllm", "0.14.0", "h100-sxm-80gb", 4, 33 * MIB, False),
        ("vllm", "0.14.0", "b200-sxm-180gb", 2, 9 * MIB, False),
        ("vllm", "0.14.0", "b200-sxm-180gb", 8, 128 * MIB, True),
        ("vllm", "0.14.0", "a100-sxm-80gb", 8, 9 * MIB, False),
        ("vllm", "0.14.0", "h100-sxm-80gb", 16, MIB / 64, False),  # two machines
        ("vllm", "0.2.0", "a100-sxm-80gb", 2, MIB / 64, False),  # before 0.3 it had none
        ("vllm", "0.6.3", "mi300x", 8, MIB / 64, False),
        ("vllm", "0.14.0", "mi300x", 8, MIB / 64, True),
        ("vllm", "0.14.0", "rtx-6000-ada", 2, 8 * MIB, True),
        ("vllm", "0.14.0", "rtx-6000-ada", 4, MIB / 64, False),  # "not supported on more than two PCIe-only GPUs"
        ("vllm", "0.14.0", "rtx-4090", 2, MIB / 64, False),  # the driver lets none read another's memory
        ("sglang", "0.5.9", "h100-sxm-80gb", 8, 9 * MIB, False),
        ("sglang", "0.5.10", "mi300x", 8, 16 * MIB, True),
        ("sglang", "0.5.16", "h100-sxm-80gb", 8, 16 * MIB, True),
        ("tensorrt-llm", "1.0.0", "h100-sxm-80gb", 2, 16e6, True),
        ("tensorrt-llm", "1.0.0", "h100-sxm-80gb", 4, 16e6, False),
    ],
)
def test_engines_add_up_themselves_what_is_small(
    engine: str, version: str, card: str, ranks: int, size: float, own: bool
) -> None:
    """Among devices that reach each other, up to the size in an engine's code; all else has NCCL's own time."""
    accelerator, message = catalog().accelerator(card), Collective("sum", ALL_REDUCE, size, ranks, "tensor")
    values = catalog().engine(engine).of_version(version, accelerator.vendor).values
    kernels = Kernels(accelerator, engine, own_kernels(values, "flash", kernel_classes(accelerator), ranks=ranks))
    assert kernels.is_own(message) == own
    basis, library = basis_of(kernels, message), Kernels(accelerator)
    if basis is None:  # no law: of another maker, or over a network
        assert kernels.seconds(message) == library.seconds(message)
    else:
        assert basis.law.engines == ((engine,) if own else ())
        assert (kernels.seconds(message) == library.seconds(message)) != own


def test_other_messages_are_a_library_s() -> None:
    """Engines have no gathering of their own, and send tokens to experts by DeepEP's kernels only if they are told to.

    vLLM's `all2all_backend` is "allgather_reducescatter", SGLang's `moe_a2a_backend` "none"; TensorRT-LLM writes into
    other devices' memory (NVLinkOneSided) before it tries DeepEP.
    """
    kernels = Kernels(catalog().accelerator("h100-sxm-80gb"), "vllm")
    kinds = (ALL_GATHER, SEND, ALL_TO_ALL)
    assert [kernels.is_own(Collective("m", kind, MIB, 2, "tensor")) for kind in kinds] == [False, False, False]


def test_the_ranks_of_a_layout_say_what_is_small() -> None:
    """TensorRT-LLM's buffers hold 16 MB of two ranks and 8 of more."""
    found = []
    for tensor in (2, 4):
        scenario = {"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "parallelism": {"tensor": tensor}}
        question = read_question({**scenario, "engine": "tensorrt-llm"})
        serving = question.asked.serving(question.accelerator)
        assert serving is not None
        served = serve(serving, question.demand, question.layout, most=False)
        asked = speed_question(served, 100, 0)
        assert asked is not None
        passes = passes_for(asked, serving.engine.values)
        assert passes is not None and passes.kernels is not None
        found.append(passes.kernels.own.sum_bytes)
    assert found == [16e6, 8e6]


@pytest.mark.parametrize(
    ("card", "host", "others"),
    [
        ("gb200-186gb", "NVLink-C2C", "NVLink 5"),
        ("gb300-desktop-252gb", "NVLink-C2C", "PCIe 4.0 x16"),
        ("h100-sxm-80gb", "PCIe 5.0 x16", "NVLink 4"),
    ],
)
def test_a_superchip_has_its_host_beside_it(card: str, host: str, others: str) -> None:
    """A Grace processor is reached over a link of its own, other devices as ever."""
    accelerator = catalog().accelerator(card)
    assert (host_link(accelerator).name, usual_link(accelerator).name) == (host, others)


def test_a_bridge_is_bought_apart() -> None:
    """An RTX 3090 is sold without one: PCIe 4.0 x16 carries 31.5 GB/s one way, a bridge 56.25 (GA102 white paper)."""
    card = catalog().accelerator("rtx-3090")
    assert usual_link(card) == host_link(card) == catalog().link("pcie-4-x16")
    assert joined(card, ranks=2).peak == 31.5e9
    assert joined(card, ranks=2, link=own_link(card)).peak == 56.25e9


@pytest.mark.parametrize(
    ("card", "link", "count"),
    [
        ("h200-nvl-141gb", "nvlink-bridge-h200", 4),
        ("rtx-3090", "nvlink-3-bridge", 2),
        ("rtx-4090", "nvlink-3-bridge", 2),  # which it is not sold with
        ("h100-sxm-80gb", "nvlink-4", 8),
        ("rtx-4090", "nvlink-4", 8),
        ("rtx-4090", "pcie-4-x16", 8),  # of the largest machine that the catalogue has
        ("m2-ultra-192gb", "pcie-4-x16", 1),
    ],
)
def test_how_many_a_link_joins(card: str, link: str, count: int) -> None:
    """A bridge joins two cards where its own say nothing else, a link of devices eight, PCIe those of a machine."""
    assert most_joined(catalog().accelerator(card), catalog().link(link)) == count


@pytest.mark.parametrize(
    ("card", "network", "ports"),
    [("rtx-3090", "ethernet-100", 1 / 8), ("m2-ultra-192gb", "ethernet-100", 1.0), ("mi300x", "infiniband-ndr", 1.0)],
)
def test_a_machine_of_cards_has_one_port(card: str, network: str, ports: float) -> None:
    """Where no machine is known of: each device with a link of its own has a port, and eight cards share one."""
    known = catalog().accelerator(card)
    assert usual_network(known, usual_link(known)) == (catalog().link(network), ports)


def test_two_of_eight_with_wires_for_each_pair_have_one_wire() -> None:
    """Two MI300X have 64 GB/s between them and eight have 448 (stas00/ml-engineering, network)."""
    card = catalog().accelerator("mi300x")
    assert [joined(card, ranks=ranks).peak / 1e9 for ranks in (2, 4, 8)] == [64, 192, 448]


def test_a_ring_over_machines_has_all_their_ports() -> None:
    """Eight ports of 400 Gb/s are 400 GB/s, of which 94 % are reached; one of them for a rank of each machine."""
    card = catalog().accelerator("h100-sxm-80gb")
    ring, apart = joined(card, ranks=32), joined(card, ranks=4, stride=8)
    assert (ring.machines, ring.network, ring.ring_peak) == (4, catalog().link("infiniband-ndr"), 400e9)
    assert ring.ring_rate == pytest.approx(0.94 * 400e9) or ring.ring_rate == ring.rate
    assert (apart.machines, apart.ring_peak) == (4, 50e9)
    assert joined(catalog().accelerator("gb200-186gb"), ranks=64).machines == 1


def test_computers_are_joined_by_a_network() -> None:
    """A Mac and a DGX Spark are machines of one device; two Sparks have a port of 200 Gb/s each."""
    assert joined(catalog().accelerator("m3-ultra-512gb"), ranks=2).machines == 2
    pair = joined(catalog().accelerator("gb10"), ranks=2)
    assert (pair.network, pair.ports, pair.ring_peak) == (catalog().link("ethernet-200"), 1, 25e9)


def test_cards_share_what_is_between_them() -> None:
    """Four RTX 5090 reach 35 GB/s (NVIDIA/nccl issue 1639), which lies between what two and eight of them reach."""
    rates = [joined(catalog().accelerator("rtx-5090"), ranks=ranks).rate / 1e9 for ranks in (2, 4, 8)]
    assert rates == [pytest.approx(43), pytest.approx(35, rel=0.02), pytest.approx(28)]


@given(st.sampled_from([device.id for device in catalog().accelerators()]), st.integers(1, 512), st.integers(1, 16))
def test_what_is_reached_is_less_than_promised(name: str, ranks: int, stride: int) -> None:
    """For every device and number of them; and the ranks stand in as many machines as hold them."""
    group = joined(catalog().accelerator(name), ranks=ranks, stride=stride)
    assert 0 < group.rate <= group.peak
    assert group.ring_rate <= group.ring_peak
    assert group.inside * (group.machines - 1) < ranks <= group.inside * group.machines
    assert (group.network is None) == (group.machines == 1)


def test_a_ring_takes_as_long_whatever_was_asked_before() -> None:
    """64 data ranks in eight machines, before and after a run whose eight data ranks stand in eight machines."""
    base: dict[str, Any] = {"workload": "training", "model": "llama-2-13b", "accelerator": "h100-sxm-80gb"}
    wide = {**base, "sharding": "fsdp", "parallelism": {"data": 64}}
    apart = {**base, "parallelism": {"tensor": 8, "data": 8}}
    first: Any = estimate(wide)["speed"]
    assert estimate(apart)["speed"]
    assert estimate(wide)["speed"] == first
