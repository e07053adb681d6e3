"""What options cost: known sums of rent, purchase, electricity, hosted tokens and emissions."""

from typing import Any

import pytest

from calc import plan
from calc.catalog import catalog

QUESTION: dict[str, Any] = {
    "want": "hardware",
    "model": "llama-3.3-70b",
    "weights": "fp8",
    "prompt_tokens": 1000,
    "output_tokens": 500,
    "need": {"requests_per_s": 1, "hours_a_day": 12},
    "limits": {"vendors": ["NVIDIA"], "segments": ["data-center"]},
    "price_per_hour": 2.0,
    "electricity_per_kwh": 0.2,
    "account": {"pue": 1.5, "grid": "Germany", "purchase_price": 20_000, "life_years": 5, "resale_share": 0.1},
    "count": 2,
}
HOURS = 12 * 365 / 12  # of a month


@pytest.fixture(name="option", scope="module")
def first_option() -> Any:
    """Return the first option of the question."""
    answer: Any = plan(QUESTION)
    return answer["options"][0]


def devices(option: Any) -> int:
    """Return the devices of all replicas."""
    return int(option["replicas"] * option["scenario"]["accelerators"])


def test_rent_is_of_all_devices(option: Any) -> None:
    """A month's rent is every device's hourly price for the hours of use."""
    assert option["cost"]["rent_per_hour"] == 2.0 * devices(option)
    assert option["cost"]["rent_per_month"] == pytest.approx(2.0 * devices(option) * HOURS)
    assert option["cost"]["prices"]["rent"]["kind"] == "own"


def test_owning_is_written_off_and_fed(option: Any) -> None:
    """Owned for five years, nine tenths of the price are lost over their months, and the site's electricity is paid."""
    kwh = option["energy"]["power_w"] / 1000 * 1.5 * HOURS
    assert option["energy"]["kwh_per_month"] == pytest.approx(kwh)
    assert option["cost"]["electricity_per_month"] == pytest.approx(0.2 * kwh)
    lost = 20_000 * devices(option) * 0.9
    assert option["cost"]["owned_per_month"] == pytest.approx(lost / 60 + 0.2 * kwh)
    saved = option["cost"]["rent_per_month"] - 0.2 * kwh
    assert option["cost"]["break_even_months"] == pytest.approx(lost / saved)


def test_emissions_are_of_the_grid(option: Any) -> None:
    """A month's energy emits what the grid's mean of the year says, which has a source."""
    grid = catalog().grid("Germany")
    assert option["energy"]["co2_kg_per_month"] == pytest.approx(
        option["energy"]["kwh_per_month"] * grid.grams_per_kwh / 1000
    )
    assert option["energy"]["grid"]["source"] == grid.source in catalog().ids("sources")
    assert catalog().grid("Sweden").grams_per_kwh < 100 < 500 < catalog().grid("India").grams_per_kwh


def test_calling_by_the_token(option: Any) -> None:
    """Hosted, a request costs what it reads and writes; from the rent over that many requests on devices cost less."""
    hosted = option["cost"]["hosted"]
    price = catalog().prices("models", "llama-3.3-70b")[0]
    assert price.output_price is not None
    each = (1000 * price.price + 500 * price.output_price) / 1e6
    assert hosted["per_request"] == pytest.approx(each) and hosted["date"] == price.checked
    assert hosted["per_month"] == pytest.approx(each * 3600 * HOURS)
    assert hosted["break_even_requests_per_month"] == pytest.approx(option["cost"]["rent_per_month"] / each)
    own = {**QUESTION, "account": {"hosted_price": 1, "hosted_output_price": 4}}
    answer: Any = plan(own)
    assert answer["options"][0]["cost"]["hosted"]["per_request"] == pytest.approx(0.003)


def test_sites_follow_the_devices() -> None:
    """Without a PUE of the reader's a data centre's is taken for what stands in one, and none for a card at home."""
    for accelerator, pue in (("h100-sxm-80gb", catalog().coefficient("pue").value), ("rtx-4090", 1.0)):
        answer: Any = plan({"want": "models", "model": "llama-3.1-8b", "have": {"accelerator": accelerator}})
        assert answer["options"][0]["energy"]["pue"] == pue
        assert answer["options"][0]["energy"]["grid"]["name"] == "The world"
