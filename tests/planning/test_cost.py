"""Cost: what a million tokens take of rent, energy and electricity, worked out by hand, and whose price it is."""

from typing import Any

import pytest

from calc import ScenarioError, estimate
from calc.calculators import CALCULATORS
from calc.calculators.prices import price_text
from calc.catalog import catalog
from calc.planning.cost import newest_rent, spreads

SERVED = {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "h100-sxm-80gb", "sequences": 16}


def report(**changes: object) -> Any:
    """Return the report of 16 readers on an H100."""
    return estimate({**SERVED, **changes})


def test_rent_is_the_hour_s_price_over_the_hour_s_tokens() -> None:
    """At 3.60 USD an hour a second costs a tenth of a cent, and a million tokens as many seconds as they take."""
    found = report(price_per_hour=3.6)
    rate, rent = found["speed"]["output_tokens_per_s"], found["cost"]["rent"]
    assert rent["per_hour"] == 3.6
    assert rent["per_million_output_tokens"]["typical"] == pytest.approx(1000 / rate["typical"])
    assert rent["per_million_output_tokens"]["high"] == pytest.approx(1000 / rate["low"])


def test_energy_is_power_times_time() -> None:
    """700 W for a million tokens' seconds, in kWh of 3.6 million joules; electricity is that at its price."""
    found = report(electricity_per_kwh=0.5)
    cost, rate = found["cost"], found["speed"]["output_tokens_per_s"]["typical"]
    kwh = cost["energy_kwh_per_million_output_tokens"]["typical"]
    assert kwh == pytest.approx(700 * 1e6 / rate / 3.6e6)
    assert cost["electricity"]["per_million_output_tokens"]["typical"] == pytest.approx(kwh / 2)


def test_every_device_is_paid() -> None:
    """Two devices cost twice as much an hour."""
    one, two = (report(accelerators=count)["cost"]["rent"]["per_hour"] for count in (1, 2))
    assert two == pytest.approx(2 * one)


def test_a_price_of_the_catalogue_has_its_day_and_one_s_own_has_none() -> None:
    """Of what specialised clouds ask on demand the middle is taken: as many of them ask less as more, or one less."""
    known = newest_rent(catalog(), catalog().accelerator("h100-sxm-80gb"))
    assert known is not None and known.kind == "on-demand"
    asked = [price for price in catalog().prices("accelerators", "h100-sxm-80gb") if price.kind == "on-demand"]
    recent = [price for price in asked if price.age_days(asked[0].checked) <= 183 and price.market == "specialist"]
    newest = {price.seller: price.each for price in reversed(recent)}
    assert known.market == "specialist" and len(newest) >= 3
    below = sum(each < known.each for each in newest.values())
    assert below in ((len(newest) - 1) // 2, len(newest) // 2)
    price = report()["cost"]["rent"]["price"]
    assert (price["each"], price["date"], price["source"]) == (known.each, known.checked, known.source)
    assert report(price_per_hour=1)["cost"]["rent"]["price"]["date"] is None


def test_an_old_price_says_so() -> None:
    """A price of last year is marked, one's own is not."""
    old = {"kind": "on-demand", "seller": "A", "region": "", "date": "2024-12-31", "elsewhere": []}
    assert "older than 120 days" in price_text(old)
    assert price_text({"kind": "own"}) == "your price"


def test_the_working_ends_in_the_costs() -> None:
    """The steps have the report's typical values."""
    found = report()
    values = {step["name"]: step["value"] for step in found["steps"]}
    cost = found["cost"]
    assert values["Rent for a million output tokens"] == cost["rent"]["per_million_output_tokens"]["typical"]
    assert values["Energy for a million output tokens"] == cost["energy_kwh_per_million_output_tokens"]["typical"]


def test_what_no_source_says_is_not_guessed() -> None:
    """An Apple chip has no rent by the hour and no stated power; nothing has a cost without a speed."""
    cost = estimate({"model": "llama-3.1-8b", "engine": "llama.cpp", "accelerator": "m2-max-96gb"})["cost"]
    assert cost == {"rent": None, "energy_kwh_per_million_output_tokens": None, "electricity": None}
    assert estimate({"model": "llama-3.1-8b", "accelerator": "rtx-4090"})["cost"] is None


@pytest.mark.parametrize("value", [-1, 1e9, float("nan"), "2", True])
def test_a_wrong_price_is_refused(value: object) -> None:
    """Prices are numbers from 0 on."""
    with pytest.raises(ScenarioError, match="price_per_hour"):
        report(price_per_hour=value)


@pytest.mark.parametrize("typed", ["2,50", "-1", ".", "1e3", "two", "1.2.3", "²"])
def test_a_price_is_typed_with_a_point(typed: str) -> None:
    """A comma is refused: it is read in two ways."""
    with pytest.raises(ScenarioError, match="with a point"):
        CALCULATORS["speed"].report({"price_per_hour": typed})


def test_a_price_may_be_left_out_or_be_typed_short() -> None:
    """Nothing is the catalogue's price, and .5 is a half."""
    speed = CALCULATORS["speed"]
    assert speed.report({"price_per_hour": " "})["cost"]["rent"]["price"]["kind"] != "own"
    assert speed.report({"price_per_hour": ".5"})["cost"]["rent"]["per_hour"] == 0.5


def test_other_markets_stand_beside_a_rent() -> None:
    """An H100's rent is that of GPU clouds; large clouds ask more and market places less, and both are said."""
    price = report()["cost"]["rent"]["price"]
    beside = {one["market"]: one["each"] for one in price["elsewhere"]}
    assert price["market"] == "specialist" and set(beside) == {"large cloud", "marketplace"}
    assert beside["marketplace"] < price["each"] < beside["large cloud"]
    assert "large clouds" in price_text(price) and "market places" in price_text(price)
    assert report(price_per_hour=1)["cost"]["rent"]["price"]["elsewhere"] == []


def test_a_spread_is_of_one_kind_in_dollars() -> None:
    """Of five prices the middle one, of two their mean; a pack of four is priced by the piece, euros are left out."""
    known = catalog().prices("accelerators")[0]._replace(item="a", pieces=1, currency="USD", kind="used", seller="")
    asked = [
        known._replace(price=price, checked=f"2026-0{price}-01", seller=f"S{price % 2}") for price in (3, 1, 2, 9, 7)
    ]
    new = [known._replace(kind="retail", price=8, pieces=4), known._replace(kind="retail", price=3)]
    retail, used = spreads([*asked, *new, known._replace(price=9, currency="EUR")])
    assert (used.item, used.kind, used.lowest, used.median, used.highest) == ("a", "used", 1, 3, 9)
    assert used.newest.checked == "2026-09-01" and used.sellers == ("S0", "S1")
    assert (retail.kind, retail.lowest, retail.median, retail.highest, retail.sellers) == ("retail", 2, 2.5, 3, ())
