"""Tables and drawings of links: what they must show, and what stops a build."""

import re

import pytest

from calc.catalog import catalog
from macros.link_figures import cards_figure, ring_figure, switched_figure
from macros.link_tables import (
    left_on_a_card,
    link_fact,
    link_ratio,
    link_share,
    link_table,
    linked_table,
    pair_table,
    peer_table,
    sending,
)
from macros.markdown import unmarked


def words(html: str) -> str:
    """Return what a reader sees of HTML."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", unmarked(html)))


def test_every_linked_device_stands_in_the_table() -> None:
    """Who is linked with whom: no device with a link is missing."""
    shown = words(linked_table())
    for device in catalog().accelerators():
        if device.quantity("link_bandwidth"):
            assert device.name in shown


def test_two_rtx_3090_with_a_bridge_stand_above_two_rtx_4090() -> None:
    """One way and both ways, as the white paper and PCI-SIG have them."""
    shown = words(pair_table(("rtx-3090", "nvlink-3-bridge"), ("rtx-4090", "")))
    first, second = shown.index("56.25 GB/s 112.5 GB/s"), shown.index("31.5 GB/s 63 GB/s")
    assert first < second
    assert "by the host" in shown[first:]


def test_columns_without_an_entry_are_left_out() -> None:
    """PCIe has no wire for each pair; xGMI has."""
    assert "Two alone" not in link_table("pcie-4-x16") and "Two alone" in link_table("xgmi-mi300x")


def test_ratios_are_those_of_the_data_sheets() -> None:
    """112.5 against 63, and 600 against 63 GB/s."""
    assert words(link_ratio("nvlink-3-bridge", "pcie-4-x16")).strip().startswith("1.8 times")
    assert words(link_ratio("nvlink-3", "pcie-4-x16")).strip().startswith("9.5 times")
    assert words(link_share("nvlink-4")).strip().startswith("82 %")


def test_peer_access_is_said_of_each_card() -> None:
    """Over the bridge, not at all, or freely."""
    shown = words(peer_table("rtx-3090", "rtx-4090", "rtx-6000-ada"))
    assert "over the bridge only" in shown and " no " in shown and " yes " in shown


def test_a_runtime_leaves_less_than_the_driver_reports() -> None:
    """Of the 23.99 GiB of an RTX 4090."""
    shown = words(
        left_on_a_card(
            model="llama-3.3-70b",
            weights="q4_k_m",
            accelerator="rtx-4090",
            accelerators=2,
            engine="llama.cpp",
            context_tokens=8192,
        )
    )
    assert 21 < float(shown.split()[0]) < 23.99


@pytest.mark.parametrize("drawn", [ring_figure(), switched_figure(), cards_figure()])
def test_drawings_can_be_heard(drawn: str) -> None:
    """Each has a text in its place and words under it, and no colour of its own."""
    assert 'role="img"' in drawn and re.search(r'aria-label="[^"]{60,}"', drawn)
    assert "<figcaption>" in drawn
    assert "fill=" not in drawn and "style=" not in drawn


def test_a_wrong_name_stops_the_build() -> None:
    """With what there is."""
    with pytest.raises(ValueError, match="nvlink-1 has no reached"):
        link_share("nvlink-1")
    with pytest.raises(ValueError, match="no latency"):
        link_fact("nvlink-1", "latency")
    with pytest.raises(ValueError, match="there are time"):
        sending("speed")
