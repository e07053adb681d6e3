"""Power, heat, and how many are served at once: figures that others publish."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.planning.load import replicas_needed, requests_per_s, sequences_at_once
from calc.planning.power import (
    air_m3_per_h,
    btu_per_h,
    circuit_watts,
    circuits_needed,
    machine_watts,
    machines_in_rack,
    supply_watts,
)


def test_a_circuit_of_15_amperes_carries_1440_watts_for_hours() -> None:
    """The 80 % rule of the National Electrical Code: 120 V × 15 A × 0.8; 1,920 W of 20 A."""
    assert circuit_watts(volts=120, amperes=15) == 1440
    assert circuit_watts(volts=120, amperes=20) == 1920


def test_a_kilowatt_is_3412_btu_an_hour() -> None:
    """NIST SP 811, appendix B.8: a BTU of the International Table an hour is 0.2930711 W."""
    assert btu_per_h(watts=1000) == pytest.approx(1000 / 0.2930711, rel=1e-6)


def test_air_of_a_kilowatt() -> None:
    """The rule of thumb of server rooms: 1.76 cubic feet a minute for each watt and kelvin, of 0.02832 m³."""
    assert air_m3_per_h(watts=1000, warmer_k=10) == pytest.approx(1.76 * 100 * 0.0283168 * 60, rel=0.01)


def test_a_supply_of_850_watts_for_a_card_of_450() -> None:
    """NVIDIA recommends 850 W for an RTX 4090 of 450 W: loaded to 80 % it leaves 230 W for the rest."""
    assert supply_watts(boards_w=450, rest_w=230, loaded_share=0.8) == 850


def test_three_servers_of_10_2_kw_in_a_rack_of_40() -> None:
    """Whole machines alone, and as many circuits as they need."""
    assert machines_in_rack(rack_w=40_000, machine_w=10_200) == 3
    assert circuits_needed(watts=2000, circuit_w=1440) == 2
    assert machine_watts(boards_w=900, rest_w=0, supply_efficiency=0.9) == pytest.approx(1000)


def test_little_s_law() -> None:
    """Little (1961): 10 that arrive a second and stay for 12 seconds are 120 at once."""
    assert sequences_at_once(requests_per_s=10, seconds_each=12) == 120
    assert requests_per_s(users=360, requests_each_hour=10) == 1


@given(sequences=st.floats(0.1, 1e5), each=st.integers(1, 512), share=st.floats(0.1, 1))
def test_replicas_hold_what_is_asked(sequences: float, each: int, share: float) -> None:
    """So many hold the sequences at the share asked for, and one fewer do not."""
    count = replicas_needed(sequences=sequences, sequences_each=each, full_share=share)
    assert count * each * share >= sequences * (1 - 1e-9)
    assert (count - 1) * each * share < sequences
