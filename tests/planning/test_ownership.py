"""Owning against renting: sums worked out by hand, and what must hold for every use."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from calc.planning.ownership import (
    HOURS_A_YEAR,
    Purse,
    Use,
    break_even_busy_hours,
    break_even_share,
    owned_per_busy_hour,
)

USES = st.builds(
    Use,
    busy_w=st.floats(100, 20_000),
    idle_w=st.floats(0, 100),
    busy_share=st.floats(0.01, 1),
    pue=st.floats(1, 3),
)
PURSES = st.builds(
    Purse,
    purchase=st.floats(100, 1e6),
    resale_share=st.floats(0, 0.9),
    electricity_per_kwh=st.floats(0, 1),
    rent_per_hour=st.floats(0.1, 100),
)


def test_energy_is_power_times_hours_times_pue() -> None:
    """A server of 10.2 kW for a day at the mean PUE of 1.58 (Uptime Institute, 2023): 10.2 × 24 × 1.58 kWh."""
    assert Use(busy_w=10_200, idle_w=10_200, busy_share=1, pue=1.58).kwh(24) == pytest.approx(386.784)


def test_idle_hours_are_paid_by_the_hours_of_work() -> None:
    """Busy one hour in four at 800 W, else at 200 W: an hour of work takes 0.8 kWh and three idle ones 0.6."""
    use = Use(busy_w=800, idle_w=200, busy_share=0.25, pue=1)
    assert use.mean_w == 350
    assert use.kwh_a_busy_hour == pytest.approx(1.4)


def test_an_hour_of_one_s_own() -> None:
    """8,760 dollars over a year of 8,760 hours, half of them busy: 2 dollars, and 0.5 kWh at 20 cents."""
    use = Use(busy_w=500, idle_w=0, busy_share=0.5, pue=1)
    purse = Purse(purchase=8760, resale_share=0, electricity_per_kwh=0.2, rent_per_hour=None)
    assert owned_per_busy_hour(purse=purse, use=use, life_hours=HOURS_A_YEAR) == pytest.approx(2.1)
    assert break_even_busy_hours(purse=purse, use=use) is None
    assert break_even_share(purse=purse, use=use, life_hours=HOURS_A_YEAR) is None


def test_rent_that_is_electricity_alone_is_never_beaten() -> None:
    """A rent of exactly the electricity saves nothing an hour, so no hour pays for the purchase."""
    use = Use(busy_w=1000, idle_w=0, busy_share=1, pue=1)
    purse = Purse(purchase=100, resale_share=0, electricity_per_kwh=0.5, rent_per_hour=0.5)
    assert break_even_share(purse=purse, use=use, life_hours=HOURS_A_YEAR) is None


@given(purse=PURSES, use=USES)
def test_both_have_cost_the_same_at_the_break_even(purse: Purse, use: Use) -> None:
    """At the hours of the break-even, purchase and electricity are what the rent was."""
    hours = break_even_busy_hours(purse=purse, use=use)
    assume(hours is not None)
    assert hours is not None and purse.rent_per_hour is not None
    owned = purse.written_off + hours * purse.electricity_per_kwh * use.kwh_a_busy_hour
    assert owned == pytest.approx(hours * purse.rent_per_hour)


@given(purse=PURSES, use=USES, years=st.integers(1, 10))
def test_the_share_of_the_break_even_is_where_an_hour_costs_its_rent(purse: Purse, use: Use, years: int) -> None:
    """Busy just so often, an hour of one's own costs what it costs to rent."""
    life = years * HOURS_A_YEAR
    share = break_even_share(purse=purse, use=use, life_hours=life)
    assume(share is not None)
    assert share is not None
    cost = owned_per_busy_hour(purse=purse, use=use._replace(busy_share=share), life_hours=life)
    assert cost == pytest.approx(purse.rent_per_hour)


@given(purse=PURSES, use=USES)
def test_more_use_makes_an_hour_cheaper(purse: Purse, use: Use) -> None:
    """What is busy more often has a cheaper hour, never a dearer one."""
    busier = use._replace(busy_share=(1 + use.busy_share) / 2)
    costs = [owned_per_busy_hour(purse=purse, use=each, life_hours=HOURS_A_YEAR) for each in (use, busier)]
    assert costs[1] <= costs[0] * (1 + 1e-9)


def test_electricity_dearer_than_rent_never_pays() -> None:
    """At 50 cents a kWh a machine of 5 kW costs 2.50 an hour to run: a rent of 2 is never caught up with."""
    use = Use(busy_w=5000, idle_w=0, busy_share=1, pue=1)
    purse = Purse(1000, 0, 0.5, 2.0)
    assert break_even_busy_hours(purse=purse, use=use) is None
    assert break_even_share(purse=purse, use=use, life_hours=HOURS_A_YEAR) is None
