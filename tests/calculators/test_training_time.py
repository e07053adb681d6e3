"""Training time: what the answer says of a run, and that memory answers say it too."""

import pytest

from calc.calculators import CALCULATORS
from calc.calculators.training_speed import SHARES
from tests.calculators.asking import ask

CALCULATOR = CALCULATORS["training-time"]


def test_a_run_of_twice_the_tokens_takes_twice_as_long() -> None:
    """Time, rent and energy are in proportion to the tokens."""
    one = CALCULATOR.report({"training_tokens": "1,000,000"})
    two = CALCULATOR.report({"training_tokens": "2,000,000"})
    assert two["speed"]["duration_s"]["typical"] == pytest.approx(2 * one["speed"]["duration_s"]["typical"])
    for part in ("rent", "energy_kwh", "electricity"):
        assert two["cost"][part]["per_run"]["high"] == pytest.approx(2 * one["cost"][part]["per_run"]["high"])


def test_the_answer_says_where_a_step_goes() -> None:
    """One bar is the longest and says so; shares that are nothing are left out."""
    html = ask("training-time")["html"]
    assert html.count('class="part-peak"') == 1
    assert SHARES["compute"] in html and ", the most" in html
    assert SHARES["pipeline"] not in html
    assert "Bound by arithmetic" in html
    assert "GPU-hours" in html and "Rent, USD" in html and "older than 120 days" in html


def test_a_run_that_does_not_fit_says_so_first() -> None:
    """The time is that of a run that would fit."""
    found = ask("training-time", sharding="none", model="llama-3.1-70b")
    assert 'data_fits="no"' in found["html"] or 'data-fits="no"' in found["html"]
    assert "If it did:" in found["status"]


def test_one_s_own_prices_replace_the_catalogue_s() -> None:
    """They have no date and are never old."""
    html = ask("training-time", price_per_hour="1.50", electricity_per_kwh="0.10")["html"]
    assert html.count("your price") == 2
    assert "older than" not in html


def test_a_slow_network_is_what_bounds_a_run() -> None:
    """One Gb/s for each GPU."""
    report = CALCULATOR.report({"network_gbit_per_s": "1"})
    assert report["speed"]["bound_by"] == "links"
    assert report["speed"]["duration_s"]["typical"] > 3 * CALCULATOR.report({})["speed"]["duration_s"]["typical"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"network_gbit_per_s": "0"}, "network_gbit_per_s"),
        ({"training_tokens": "many"}, "training_tokens"),
        ({"tensor": "3"}, "tensor"),
        ({"price_per_hour": "-1"}, "price_per_hour"),
    ],
)
def test_what_cannot_be_comes_back_by_field(fields: dict[str, str], field: str) -> None:
    """An error stands at the input that causes it."""
    found = ask("training-time", **fields)
    assert not found["ok"]
    assert [error["field"] for error in found["errors"]] == [field]


@pytest.mark.parametrize("name", ["fine-tune", "pre-training"])
def test_memory_answers_say_how_long_a_run_takes(name: str) -> None:
    """Speed, time and cost stand below the parts of memory."""
    html = ask(name, training_tokens="1,000,000")["html"]
    assert html.index("Memory of the fullest device, by part") < html.index("1.00 million tokens take")
    assert "Cost of the run" in html
    assert "If it did fit" not in html


def test_a_run_that_does_not_fit_is_timed_as_if_it_did() -> None:
    """The sentence says so."""
    assert "If it did fit: " in ask("fine-tune", method="full")["html"]
