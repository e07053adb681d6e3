"""Cost and energy in the page: the table is the arithmetic of its working, and what is not known is said."""

import datetime
from typing import Any

import pytest

from calc import ScenarioError
from calc.calculators import CALCULATORS
from calc.calculators.cost_report import (
    busy_hours,
    busy_hours_a_year,
    hour_costs,
    million_hours,
    owned_costs,
)
from calc.catalog import catalog
from calc.planning.cost import newest_purchase
from calc.planning.ownership import HOURS_A_YEAR
from calc.units import show_dollars

COST = CALCULATORS["cost"]
OWN = {"price_per_hour": "1.0", "purchase_price": "3000", "electricity_per_kwh": "0.2", "machine_watts": "425"}
OWN |= {"busy_percent": "50", "life_years": "2", "idle_percent": "20", "accelerator": "rtx-5090"}


def report(**changes: str) -> Any:
    """Return the report with a reader's own prices."""
    return COST.report({**OWN, **changes})


def test_an_hour_s_costs_by_hand() -> None:
    """575 W and 425 W make 1 kWh busy; idle 115 and 425 W make 0.54, once for each busy hour: 1.54 kWh at 20 cents."""
    costs = hour_costs(report())
    assert costs["rent"] == 1
    assert costs["running"] == pytest.approx(0.308)
    assert costs["owned"] == pytest.approx(3000 / (2 * HOURS_A_YEAR / 2) + 0.308)


def test_the_verdict_says_which_is_cheaper_and_from_when_on() -> None:
    """3000 / (1 − 0.308) = 4,335 hours of work, 361 days at one hour in two."""
    said = COST.status(report())
    assert said.startswith("Buying is cheaper: $0.65 an hour of work")
    assert "after 4,335 hours of work, 361 days" in said
    assert COST.status(report(busy_percent="5")).startswith("Renting is cheaper")


def test_a_million_tokens_and_a_run_are_hours() -> None:
    """A million tokens take their hours at an hour's cost, and so does a run."""
    found = report(run_hours="100")
    hours = million_hours(found)
    rate = found["speed"]["output_tokens_per_s"]["typical"]
    assert hours == pytest.approx(1e6 / rate / 3600)
    html = COST.render(found)
    owned = hour_costs(found)["owned"]
    assert owned is not None and show_dollars(100 * owned) in html and show_dollars(hours * owned) in html
    assert busy_hours(found) == HOURS_A_YEAR


def test_pue_multiplies_all_electricity_and_nothing_else() -> None:
    """Twice the PUE is twice the running cost and the same rent."""
    one, two = (hour_costs(report(pue=pue)) for pue in ("1", "2"))
    assert two["running"] == pytest.approx(2 * (one["running"] or 0))
    assert two["rent"] == one["rent"]


def test_the_catalogue_s_prices_have_their_day_and_say_that_they_are_old() -> None:
    """Left empty, prices come with seller and day."""
    price = newest_purchase(catalog(), catalog().accelerator("rtx-5090"))
    assert price is not None
    html = COST.render(COST.report({"accelerator": "rtx-5090"}))
    end = "; older than 120 days" if price.is_stale(datetime.date.today().isoformat()) else ")"
    assert f"{price.seller}, {price.kind}, {price.checked}{end}" in html
    assert "your price" in COST.render(report())


def test_what_is_not_known_is_said() -> None:
    """No price, no rent, no power and no speed each have their sentence."""
    assert COST.status(COST.report({"accelerator": "l4-24gb"})).startswith("Not known:")
    rented = COST.report({"accelerator": "gb10", "engine": "llama.cpp", "weights": "q4_k_m"})
    assert "No rent is in the catalogue" in COST.status(rented)
    mac = COST.report({"accelerator": "m3-ultra-96gb", "engine": "llama.cpp", "weights": "q4_k_m"})
    assert "states no power" in COST.render(mac)
    assert "No speed is known" in COST.render(COST.report({"accelerator": "m4-max-128gb", "purchase_price": "4000"}))


@pytest.mark.parametrize(
    ("field", "typed"), [("pue", "0.5"), ("busy_percent", "0"), ("life_years", "0"), ("purchase_price", "-1")]
)
def test_a_wrong_figure_is_refused(field: str, typed: str) -> None:
    """A site draws at least what its machines draw; nothing is busy never."""
    with pytest.raises(ScenarioError, match=field):
        report(**{field: typed})


def test_what_one_s_own_costs_over_time() -> None:
    """A year and a life of work are its hours times an hour's cost; a life of several years is as many of a year."""
    found = report(life_years="3")
    hour, costs = hour_costs(found)["owned"], owned_costs(found)
    assert busy_hours_a_year(found) == 4380
    assert hour is not None and costs["year"] == pytest.approx(4380 * hour)
    assert costs["life"] == pytest.approx(3 * costs["year"])
