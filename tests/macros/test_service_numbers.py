"""Numbers of a service in prose: those of *Plan a service*, each with the steps that lead to it."""

import re

import pytest

from calc.calculators.page import report_of
from calc.calculators.planned import options_of
from calc.units import show_count
from macros.links import stand_on
from macros.service_numbers import STEPS, service


@pytest.fixture(autouse=True)
def _on_a_page() -> None:
    """Links are relative to a page."""
    stand_on("planning/cost/")


@pytest.mark.parametrize("what", STEPS)
def test_a_number_opens_to_its_steps(what: str) -> None:
    """Each name has a number, and the steps that are said to lead to it are those of the option."""
    html = service(what)
    assert re.search(r'class="calc-number"[^>]*>[^<]+<', html)
    assert all(name in html for name in STEPS[what])


def test_rent_and_tokens_are_those_of_the_form() -> None:
    """Also with a value changed: fewer requests cost less by the token, and the turn is where both cost the same."""
    changed = {"requests_each_hour": "1"}
    for fields in ({}, changed):
        cost = options_of(report_of("plan-service", fields))[0]["cost"]
        assert f">{show_count(cost['rent_per_month'])} USD<" in service("rent", **fields)
        assert f">{show_count(cost['hosted']['per_month'])} USD<" in service("hosted", **fields)
        turn = cost["hosted"]["break_even_requests_per_month"]
        assert turn * cost["hosted"]["per_request"] == pytest.approx(cost["rent_per_month"])


def test_an_unknown_number_is_named() -> None:
    """A mistake in a page stops the build with what there is."""
    with pytest.raises(ValueError, match="there are requests, devices"):
        service("power")
