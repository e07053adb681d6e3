"""What options cost: known sums of rent, purchase, electricity, hosted tokens and emissions."""

from typing import Any

import pytest

from calc import plan
from calc.calculators.mathml import mathml
from calc.catalog import catalog
from calc.planner.account import Ledger
from calc.planner.devices import Devices
from calc.planner.question import read_question
from calc.planning.cost import newest_electricity, newest_purchase, purchase_today
from tests.working import evaluated

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


def test_what_is_let_one_by_one_has_no_rent_of_several() -> None:
    """A marketplace lets a P40 alone: what two in a machine, or a million tokens on them, cost to rent nobody says."""
    for count in (1, 2):
        limits = {"accelerators": ["p40-24gb"], "devices": count}
        asked = {"want": "hardware", "model": "qwen3-32b", "weights": "q4_k_m" if count == 1 else "q8_0"}
        answer: Any = plan({**asked, "context_tokens": 8192, "limits": limits, "count": 1})
        cost = answer["options"][0]["cost"]
        assert answer["options"][0]["scenario"].get("accelerators", 1) == count
        for name in ("rent_per_hour", "rent_per_month", "per_million_output_tokens"):
            assert (cost[name] is None) == (count == 2)


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


def test_a_service_worked_by_hand() -> None:
    """A hundred people who ask ten times an hour, three times as often at the peak, on two times two H100 and a spare.

    1,000 requests an hour are 0.278 a second and 0.833 at the peak; ten hours a day are 304.17 a month. Four devices at
    3 USD are 3,650 USD; at 700 W and a PUE of 1.2 they draw 1,022 kWh, for 306.60 USD at 0.30. Of 100,000 USD a fifth
    comes back: 80,000 over 36 months are 2,222.22. 2,000 tokens read and 500 written at 0.50 and 0.80 USD a million are
    0.0014 USD, and 425.83 a month.
    """
    need = {"users": 100, "requests_each_hour": 10, "peak_over_mean": 3, "spare": 1, "hours_a_day": 10}
    own = {"pue": 1.2, "grid": "Germany", "life_years": 3, "resale_share": 0.2, "purchase_price": 25_000}
    hosted = {"hosted_price": 0.5, "hosted_output_price": 0.8}
    asked = {
        "want": "hardware",
        "model": "llama-3.3-70b",
        "weights": "fp8",
        "prompt_tokens": 2000,
        "output_tokens": 500,
    }
    asked |= {"price_per_hour": 3.0, "electricity_per_kwh": 0.3, "account": own | hosted}
    limits = {"accelerators": ["h100-sxm-80gb"]}
    answer: Any = plan({**asked, "need": {**need, "ttft_s": 2, "tokens_per_s_each": 10}, "limits": limits})
    (option,) = answer["options"]
    cost, energy, load = option["cost"], option["energy"], option["load"]
    assert devices(option) == 4 and option["replicas"] == 2 and load["requests_per_s"] == pytest.approx(1000 * 3 / 3600)
    assert cost["rent_per_month"] == pytest.approx(3650) and cost["purchase"] == 100_000
    assert energy["kwh_per_month"] == pytest.approx(1022) and cost["electricity_per_month"] == pytest.approx(306.6)
    assert cost["owned_per_month"] == pytest.approx(2222.22 + 306.6)
    assert cost["break_even_months"] == pytest.approx(80_000 / (3650 - 306.6))
    assert cost["hosted"]["per_month"] == pytest.approx(425.83, abs=0.01)
    assert cost["hosted"]["break_even_requests_per_month"] == pytest.approx(3650 / 0.0014)
    assert energy["co2_kg_per_month"] == pytest.approx(1022 * energy["grid"]["grams_per_kwh"] / 1000)


@pytest.mark.parametrize(
    "need",
    [
        {"requests_per_s": 1, "hours_a_day": 12},
        {"requests_per_s": 40, "peak_over_mean": 2, "spare": 2},
        {"users": 300, "requests_each_hour": 20, "ttft_s": 2, "tokens_per_s_each": 15},
        {"users": 20},
    ],
)
def test_the_working_comes_to_what_is_shown(need: dict[str, object]) -> None:
    """Whoever follows a step with a pencil gets its value, and the last of a kind is what the option shows."""
    answer: Any = plan({**QUESTION, "need": need})
    sources = catalog().ids("sources")
    for option in answer["options"]:
        steps = {step["name"]: step for step in option["steps"]}
        for step in steps.values():
            assert evaluated(step["substituted"]) == pytest.approx(step["value"], rel=0.005), step
            assert step["source"] in sources or step["source"].startswith("https://")
            assert mathml(step["formula"])
        assert steps["Rent of a month"]["value"] == option["cost"]["rent_per_month"]
        owned = steps.get("Month on devices of your own", {"value": None})  # none of a device without a known price
        assert owned["value"] == option["cost"]["owned_per_month"]
        if "users" not in need:
            assert steps["Replicas"]["value"] == option["replicas"]
        assert ("Replicas" in steps) == (option["load"] is not None)


def test_what_a_device_cost_once_buys_none() -> None:
    """A Quadro RTX 6000 came out at a price, and no shop has one: it can be rented, and not be bought."""
    facts = catalog()
    gone = facts.accelerator("quadro-rtx-6000")
    launched, used = newest_purchase(facts, gone), facts.accelerator("p40-24gb")
    assert launched is not None and launched.kind == "launch" and purchase_today(facts, gone) is None
    assert purchase_today(facts, used) == newest_purchase(facts, used) is not None
    asked = {"want": "hardware", "model": "llama-3.1-8b", "limits": {"buy": True, "accelerators": [gone.id, used.id]}}
    answer: Any = plan(asked)
    assert {option["scenario"]["accelerator"] for option in answer["options"]} == {used.id}
    assert "devices-alone" in [warning["code"] for warning in answer["warnings"]]
    old = facts.accelerator("p100-pcie-16gb")  # of which a guide of February 2026 says what used ones cost
    assert newest_purchase(facts, old) is not None and purchase_today(facts, old) is None
    rented: Any = plan({**asked, "limits": {"accelerators": [gone.id]}})
    assert rented["options"] and "devices-alone" not in str(rented["warnings"])


def test_a_run_and_a_month_worked_by_hand() -> None:
    """A run's energy and electricity are the site's, 1.5 times the boards'; with no tariff of one's own the newest."""
    facts = catalog()
    read = read_question({**QUESTION, "account": {"pue": 1.5, "grid": "Germany"}}, facts)
    pair = Devices(facts.accelerator("h100-sxm-80gb"), 2, 5.0, None)
    ledger = Ledger(read.account, read.need, facts, pair)
    cost = {
        "rent": {"per_run": {"typical": 30.0}, "per_million_tokens": {"typical": 3.0}},
        "energy_kwh": {"per_run": {"typical": 10.0}, "per_million_tokens": {"typical": 2.0}},
        "electricity": {"per_run": {"typical": 4.0}},
    }
    money, energy = ledger.run({"cost": cost}, own_rent=None)
    assert (money["rent_per_run"], money["rent_per_million_tokens"]) == ({"typical": 30.0}, {"typical": 3.0})
    assert money["electricity_per_run"] == {"typical": 6.0} and money["rent_per_hour"] == 5.0
    assert (energy["kwh_per_run"], energy["kwh_per_million_tokens"]) == ({"typical": 15.0}, {"typical": 3.0})
    grams = facts.grid("Germany").grams_per_kwh
    assert energy["co2_kg_per_run"] == {"typical": pytest.approx(15.0 * grams / 1000)}
    assert ledger.run({"cost": None}, own_rent=None)[1]["kwh_per_run"] is None
    newest = newest_electricity(facts)
    assert newest is not None
    month = ledger.money(own_rent=None, own_tariff=None)
    assert month["electricity_per_month"] == pytest.approx(newest.each * 1.4 * 1.5 * HOURS)  # two of 700 W
    assert ledger.money(own_rent=None, own_tariff=0.5)["electricity_per_month"] == pytest.approx(0.5 * 2.1 * HOURS)
